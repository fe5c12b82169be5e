"""Labels of slow replies in the window, with the conditions that were read during them."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QTimer

from app.session.background_work import Background
from app.session.conditions_watch import ConditionsWatch
from app.storage.slow_wording import slow_chip
from app.views.transcript.reply_charts import SpeedChart
from app.views.transcript.stats_line import StatsDetails
from mlx_engine.contract.conditions import UNKNOWN, Conditions
from mlx_engine.contract.events import Finished
from mlx_engine.hardware import sensors
from tests.app.conftest import Begin, Start, reply_views, wait_until
from tests.app.scripted_engine import Script, ScriptedEngine, commit, stats

HOT = Conditions(heat="critical")


def reply_of(tok_s: float, gate: threading.Event | None = None, **figures: object) -> Script:
    """A reply of 100 tokens, which waits at a gate."""
    found = replace(stats(tokens=100, decode_tok_s=tok_s), **figures)  # type: ignore[arg-type]
    return [commit("One"), *([gate] if gate else []), commit(" two."), Finished("eos", found)]


@pytest.fixture
def computer(monkeypatch: pytest.MonkeyPatch) -> list[Conditions]:
    """The conditions that are read, the last of them again and again."""
    found = [UNKNOWN]
    monkeypatch.setattr(sensors, "read", lambda: found.pop(0) if len(found) > 1 else found[0])
    return found


def test_the_worst_conditions_of_a_reply_explain_it(begin: Begin, computer: list[Conditions]) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([reply_of(50.0, gate), reply_of(50.0)]))
    computer[:] = [Conditions("normal", pressure="warning"), Conditions("serious", on_battery=True, charge=0.5)]
    looked: list[Conditions] = []
    app.services.conditions.looked.connect(lambda: looked.append(app.services.conditions.now))
    app.send("Hi")
    app.until(lambda: len(looked) == 1 and bool(app.answer))
    app.services.conditions.look()
    app.until(lambda: len(looked) == 2)
    gate.set()
    app.idle()
    assert app.reply.conditions == Conditions("serious", None, True, 0.5, "warning") and app.reply.slow_cause == "heat"
    computer[:] = [Conditions("normal")]
    app.ask("Again")
    assert app.reply.slow_cause is None, "what was read long ago says nothing"


def test_a_label_and_the_history_survive_a_restart(start: Start, tmp_path: Path, computer: list[Conditions]) -> None:
    gate = threading.Event()
    engine = ScriptedEngine([reply_of(50.0), reply_of(52.0), reply_of(48.0), reply_of(20.0, gate), reply_of(20.0)])
    app = start(engine, data=tmp_path)
    for _ in range(3):
        app.ask("Hi")
    assert not app.reply.stats.cause.isVisible()
    looked: list[bool] = []
    app.services.conditions.looked.connect(lambda: looked.append(True))
    computer[:] = [Conditions(saves_power=True)]
    app.send("Hi")
    app.until(lambda: bool(looked))
    assert not app.reply.stats.cause.isVisible()
    gate.set()
    app.idle()
    computer[:] = [UNKNOWN]
    app.ask("Hi")
    chat = app.session.chat.id
    assert not app.reply.stats.cause.isVisible(), "nothing explains it"
    app.quit()
    app.wait_for_end()
    again = start(data=tmp_path)
    again.until(lambda: chat in again.library.entries)
    again.session.open_chat(chat)
    again.until(lambda: len(again.session.chat.turns) == 5)
    slow, last = reply_views(again.window.transcript)[-2:]
    cause = slow.stats.cause
    assert cause.isVisible() and cause.text() == "Slower: Low Power Mode"
    explanation = "Replies usually reach 50 tok/s. Low Power Mode was on. Turn it off in your system's settings for full speed."
    assert cause.toolTip() == cause.accessibleDescription() == explanation
    last.buttons.details.click()
    (details,) = again.window.findChildren(StatsDetails)
    chart = details.findChild(SpeedChart)
    assert [(point.number, point.tok_s, point.cause) for point in chart.points][2:] == [
        (3, 48.0, None),
        (4, 20.0, "power_mode"),
        (5, 20.0, None),
    ]
    assert chart.legend == ("Speed (max 52 tok/s)", "Slower for a known reason")
    assert chart.accessibleDescription() == "50 tok/s, 52 tok/s, 48 tok/s, 20 tok/s, 20 tok/s"


def test_the_first_reply_of_a_chat_has_no_history(start: Start) -> None:
    app = start(ScriptedEngine([reply_of(50.0)]))
    app.ask("Hi")
    app.reply.buttons.details.click()
    (details,) = app.window.findChildren(StatsDetails)
    assert details.findChild(SpeedChart) is None


def test_replies_are_compared_with_the_speeds_of_this_computer(
    begin: Begin, computer: list[Conditions], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_now(
        self: Background, work: Callable[[], Any], then: Callable[[Any], object] | None = None, *_: object, **options: object
    ) -> None:
        found = work()
        if then is not None:
            then(found)

    monkeypatch.setattr(Background, "run", run_now)
    computer[:] = [Conditions(on_battery=True)]
    app = begin(ScriptedEngine([*[reply_of(50.0)] * 3, reply_of(30.0)]))
    for _ in range(3):
        app.ask("Hi")
    app.session.new_chat()
    app.ask("Hi")
    assert (app.reply.slow_cause, app.reply.usual_tok_s) == ("battery", 50.0)
    assert slow_chip(app.reply) == "Slower: on battery"


def test_conditions_are_read_only_while_something_needs_them(qapp: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.session.conditions_watch.INTERVAL_MS", 1)
    count = 0

    def read() -> Conditions:
        nonlocal count
        count += 1
        return HOT

    watch = ConditionsWatch(read=read)
    watch.set_needed("a", True)
    watch.set_needed("b", True)
    wait_until(lambda: count > 2 and watch.now == HOT)
    watch.set_needed("a", False)
    before = count
    wait_until(lambda: count > before + 2)
    watch.set_needed("b", False)
    assert not any(timer.isActive() for timer in watch.findChildren(QTimer))
    wait_until(lambda: watch.now == HOT)  # unknown while a reading takes longer than the interval
    watch.close()


def test_a_short_purpose_next_to_another_reads_the_conditions(qapp: object) -> None:
    found = [HOT, Conditions(on_battery=True)]
    watch = ConditionsWatch(read=lambda: found.pop(0))
    watch.set_needed("quiet mode", True)
    wait_until(lambda: watch.now == HOT)
    watch.set_needed("replies", True)
    wait_until(lambda: watch.now.on_battery is True)
    watch.close()


def test_a_driver_that_does_not_answer_blocks_nothing(qapp: object) -> None:
    gate, readings = threading.Event(), [HOT, HOT]

    def read() -> Conditions:
        if len(readings) < 2:
            assert gate.wait(120)
        return readings.pop()

    watch = ConditionsWatch(read=read)
    watch.look()
    wait_until(lambda: watch.now == HOT)
    watch.look()
    watch.look()
    assert watch.now == UNKNOWN
    gate.set()
    wait_until(lambda: watch.now == HOT)
    watch.close()


def test_a_failing_reading_is_unknown(qapp: object) -> None:
    def read() -> Conditions:
        raise ZeroDivisionError

    watch, looked = ConditionsWatch(read=read), list[bool]()
    watch.looked.connect(lambda: looked.append(True))
    watch.look()
    wait_until(lambda: bool(looked))
    assert watch.now == UNKNOWN
    watch.close()
