"""The thread that owns the engine: one thread, no lost news, no exception that escapes."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Slot
from pytestqt.qtbot import QtBot

from app.engine_thread import TURN_S, EngineThread, News
from mlx_engine.events import Failed, Finished, PairInfo, TokenCount
from mlx_engine.requests import CountTokens, GenerationRequest, LoadPair, Message
from tests.app.conftest import PATIENCE_MS, Running
from tests.app.scripted_engine import ScriptedEngine, answer, commit, refuse

PAIR = LoadPair(Path("target"), Path("drafter"))
ASK = GenerationRequest(messages=(Message("user", "Hello"),))


class Ear(QObject):
    """Keeps all news and the thread that brought them."""

    def __init__(self, thread: EngineThread) -> None:
        super().__init__()
        self.news: list[News] = []
        self.batches = 0
        self.threads: set[int] = set()
        thread.happened.connect(self.hear)

    @Slot(list)
    def hear(self, news: list[News]) -> None:
        self.news += news
        self.batches += 1
        self.threads.add(threading.get_ident())

    def of(self, job: int) -> list[object]:
        return [item.event for item in self.news if item.job == job]

    def over(self, job: int) -> bool:
        return bool(self.of(job)) and self.of(job)[-1] is None


def test_everything_that_touches_the_engine_happens_on_one_other_thread(qtbot: QtBot) -> None:
    engine = ScriptedEngine()
    made_on: list[int] = []

    def make() -> ScriptedEngine:
        made_on.append(threading.get_ident())
        return engine

    thread = EngineThread(make)
    ear = Ear(thread)
    jobs = [thread.submit(request) for request in (PAIR, ASK, CountTokens(ASK.messages))]
    qtbot.waitUntil(lambda: ear.over(jobs[-1]), timeout=PATIENCE_MS)
    assert thread.wait(120)
    assert engine.threads == set(made_on) and threading.get_ident() not in engine.threads
    assert ear.threads == {threading.get_ident()}
    assert engine.unloaded
    assert isinstance(ear.of(jobs[0])[-2], PairInfo)
    assert isinstance(ear.of(jobs[2])[0], TokenCount)


def test_the_running_app_does_not_wait_long_for_python(start: Callable[..., Running]) -> None:
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(0.005)
        start()
        assert sys.getswitchinterval() == pytest.approx(TURN_S) == pytest.approx(0.001)
    finally:
        sys.setswitchinterval(before)


def test_news_come_in_batches_whole_and_in_order(qtbot: QtBot) -> None:
    engine = ScriptedEngine([answer(" ".join(str(number) for number in range(3000)))])
    thread = EngineThread(lambda: engine)
    ear = Ear(thread)
    job = thread.submit(ASK)
    qtbot.waitUntil(lambda: ear.over(job), timeout=PATIENCE_MS)
    assert thread.wait(120)
    events = ear.of(job)
    text = "".join(event.text for event in events if hasattr(event, "text"))
    assert text == " ".join(str(number) for number in range(3000))
    assert isinstance(events[-2], Finished)
    assert ear.batches < len(events) / 10


@pytest.mark.parametrize("where", ["load", "generate", "make"])
def test_a_bug_is_logged_and_told_in_one_sentence_and_the_thread_lives_on(
    qtbot: QtBot, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    bug = ZeroDivisionError("secret detail")
    engine = ScriptedEngine([[bug]] if where == "generate" else [], load_error=bug if where == "load" else None)
    failures = [bug] if where == "make" else []

    def make() -> ScriptedEngine:
        if failures:
            raise failures.pop()
        return engine

    thread = EngineThread(make, "/logs/slipstream.log")
    ear = Ear(thread)
    first = thread.submit(PAIR if where == "load" else ASK)
    second = thread.submit(ASK)
    qtbot.waitUntil(lambda: ear.over(second), timeout=PATIENCE_MS)
    assert thread.wait(120)
    (failed,) = [event for event in ear.of(first) if isinstance(event, Failed)]
    assert failed.message == "Something went wrong inside Slipstream; the details are in /logs/slipstream.log."
    assert "secret detail" in caplog.text
    assert any(isinstance(event, Finished) for event in ear.of(second))


def test_a_user_error_is_told_in_its_own_words(qtbot: QtBot) -> None:
    thread = EngineThread(lambda: ScriptedEngine(load_error=refuse("The drafter does not fit this target.")))
    ear = Ear(thread)
    job = thread.submit(PAIR)
    qtbot.waitUntil(lambda: ear.over(job), timeout=PATIENCE_MS)
    assert Failed("error", "The drafter does not fit this target.") in ear.of(job)
    assert thread.wait(120)


def test_shutting_down_in_mid_reply_ends_the_thread_and_frees_the_models(qtbot: QtBot) -> None:
    engine = ScriptedEngine([[commit("a"), threading.Event(), commit("never")]])
    thread = EngineThread(lambda: engine)
    ear = Ear(thread)
    job = thread.submit(ASK)
    qtbot.waitUntil(lambda: bool(ear.of(job)), timeout=PATIENCE_MS)
    with qtbot.waitSignal(thread.stopped, timeout=PATIENCE_MS):
        thread.shut_down()
    assert engine.unloaded and engine.closed_early == 1
    assert ear.of(job)[-1] is None


def test_what_is_asked_after_the_end_is_not_begun(qtbot: QtBot) -> None:
    engine = ScriptedEngine()
    thread = EngineThread(lambda: engine)
    assert thread.wait(120)
    thread.submit(ASK)
    assert engine.requests == []
