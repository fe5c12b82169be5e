"""The start page's example, from the message to the answer, with the real calculator."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.app.conftest import Session
from tests.app.scripted_engine import PAIR, ScriptedEngine, answer
from tests.app.tools_in_chat import PRODUCT, calling, decide


def test_the_example_calls_the_calculator_after_approval(begin: Callable[..., Session], tmp_path: Path) -> None:
    engine = ScriptedEngine([calling(PRODUCT, text=""), answer("4817 × 392 = 1888264")], replace(PAIR, can_call_tools=True))
    app = begin(engine, data=tmp_path)
    app.session.send("What is 4817 × 392?", example="calculator")
    app.until(lambda: bool(app.reply_runner.asking))
    assert engine.requests[0].tools[0].name == "calculator" and len(engine.requests) == 1
    (record,) = app.reply.calls
    assert record.result == "" and record.server == "Calculator"  # nothing runs before the user decides
    decide(app, "once")
    app.idle()
    assert engine.requests[1].messages[-1].content == "1888264"
    assert app.answer == "4817 × 392 = 1888264"
    assert app.tools.approvals.always() == ()
