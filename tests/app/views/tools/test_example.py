"""The start page's example, from the click to the answer, with the real calculator."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.app.conftest import Running, reply_views
from tests.app.scripted_engine import PAIR, ScriptedEngine, answer
from tests.app.tools_in_chat import PRODUCT, calling, cards, choose


def test_the_example_calls_the_calculator_after_approval(start: Callable[..., Running], tmp_path: Path) -> None:
    engine = ScriptedEngine([calling(PRODUCT, text=""), answer("4817 × 392 = 1888264")], replace(PAIR, can_call_tools=True))
    app = start(engine, data=tmp_path)
    app.window.transcript.welcome.calculation.click()
    app.until(lambda: app.reply_runner.waiting)
    assert engine.requests[0].tools[0].name == "calculator" and len(engine.requests) == 1
    (card,) = cards(app)
    assert card.record.result == "" and card.record.server == "Calculator"  # nothing runs before the user decides
    choose(app, card, 0)
    app.until(lambda: not app.activity.busy)
    assert engine.requests[1].messages[-1].content == "1888264"
    assert reply_views(app.window.transcript)[-1].turn.reply.answer == "4817 × 392 = 1888264"
    assert app.tools.approvals.always() == ()
