"""The engine host behind its Qt adapter: one thread, no lost events, no escaping exceptions."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from pytestqt.qtbot import QtBot

from app.session.engine_adapter import SWITCH_INTERVAL_S, Delivery, EngineAdapter
from mlx_engine.contract.client import Run
from mlx_engine.contract.events import Failed, Finished, PairInfo
from mlx_engine.contract.requests import CountTokens, GenerationRequest, LoadPair, Message, Request
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.engine.host import EngineHost
from tests.app.conftest import PATIENCE_MS, Running
from tests.app.scripted_engine import ScriptedEngine, answer, commit, refuse

PAIR = LoadPair(Path("target"), Path("drafter"))
ASK = GenerationRequest(messages=(Message("user", "Hello"),))


class Recorder:
    """Submits requests and keeps what each job delivers, and on which thread."""

    def __init__(self, make_engine: Callable[[], ScriptedEngine], log_file: str = "the log") -> None:
        self.host = EngineHost(make_engine, log_file)  # type: ignore[arg-type]
        self.adapter = EngineAdapter(self.host)
        self.deliveries: dict[Run, list[Delivery]] = {}
        self.batches = 0
        self.threads: set[int] = set()

    def submit(self, request: Request) -> Run:
        mine: list[Delivery] = []

        def receive(deliveries: list[Delivery]) -> None:
            mine.extend(deliveries)
            self.batches += 1
            self.threads.add(threading.get_ident())

        run = self.adapter.submit(request, receive)
        self.deliveries[run] = mine
        return run

    def of(self, run: Run) -> list[object]:
        return [delivery.event for delivery in self.deliveries[run]]

    def over(self, run: Run) -> bool:
        return bool(self.of(run)) and self.of(run)[-1] is None


def test_the_engine_runs_on_one_other_thread(qtbot: QtBot) -> None:
    engine = ScriptedEngine()
    made_on: list[int] = []

    def make() -> ScriptedEngine:
        made_on.append(threading.get_ident())
        return engine

    recorder = Recorder(make)
    runs = [recorder.submit(request) for request in (PAIR, ASK, CountTokens(GenerationRequest(ASK.messages)))]
    qtbot.waitUntil(lambda: recorder.over(runs[-1]), timeout=PATIENCE_MS)
    assert recorder.host.wait(120)
    assert engine.threads == set(made_on) and threading.get_ident() not in engine.threads
    assert recorder.threads == {threading.get_ident()}
    assert engine.unloaded
    assert isinstance(recorder.of(runs[0])[-2], PairInfo)
    assert isinstance(recorder.of(runs[2])[0], TokenCount)


def test_the_running_app_does_not_wait_long_for_python(start: Callable[..., Running]) -> None:
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(0.005)
        start()
        assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL_S) == pytest.approx(0.001)
    finally:
        sys.setswitchinterval(before)


def test_events_arrive_in_batches_complete_and_in_order(qtbot: QtBot) -> None:
    engine = ScriptedEngine([answer(" ".join(str(number) for number in range(3000)))])
    recorder = Recorder(lambda: engine)
    run = recorder.submit(ASK)
    qtbot.waitUntil(lambda: recorder.over(run), timeout=PATIENCE_MS)
    assert recorder.host.wait(120)
    events = recorder.of(run)
    text = "".join(event.text for event in events if hasattr(event, "text"))
    assert text == " ".join(str(number) for number in range(3000))
    assert isinstance(events[-2], Finished)
    assert recorder.batches < len(events) / 10


def test_replies_that_take_turns_get_one_batch_each(qtbot: QtBot) -> None:
    """Each event of a reply was a batch, and so a refresh of its view."""
    adapter = EngineAdapter(SimpleNamespace())  # type: ignore[arg-type]
    got: list[tuple[str, list[object]]] = []
    receivers = [lambda batch, name=name: got.append((name, [one.event for one in batch])) for name in "ab"]
    events = [commit(str(number)) for number in range(6)]
    adapter._receive([(receivers[number % 2], Delivery(event, 0.0)) for number, event in enumerate(events)])
    assert got == [("a", events[::2]), ("b", events[1::2])]


@pytest.mark.parametrize("where", ["load", "generate", "make"])
def test_a_bug_is_logged_and_reported_and_the_thread_survives(qtbot: QtBot, caplog: pytest.LogCaptureFixture, where: str) -> None:
    bug = ZeroDivisionError("secret detail")
    engine = ScriptedEngine([[bug]] if where == "generate" else [], load_error=bug if where == "load" else None)
    failures = [bug] if where == "make" else []

    def make() -> ScriptedEngine:
        if failures:
            raise failures.pop()
        return engine

    recorder = Recorder(make, "/logs/slipstream.log")
    first = recorder.submit(PAIR if where == "load" else ASK)
    second = recorder.submit(ASK)
    qtbot.waitUntil(lambda: recorder.over(second), timeout=PATIENCE_MS)
    assert recorder.host.wait(120)
    (failed,) = [event for event in recorder.of(first) if isinstance(event, Failed)]
    assert failed.message == "Something went wrong in Slipstream. Details are in /logs/slipstream.log."
    assert "secret detail" in caplog.text
    assert any(isinstance(event, Finished) for event in recorder.of(second))


def test_a_user_error_is_delivered_with_its_message(qtbot: QtBot) -> None:
    recorder = Recorder(lambda: ScriptedEngine(load_error=refuse("The drafter does not fit this target.")))
    run = recorder.submit(PAIR)
    qtbot.waitUntil(lambda: recorder.over(run), timeout=PATIENCE_MS)
    (failed,) = [event for event in recorder.of(run) if isinstance(event, Failed)]
    assert failed.message == "The drafter does not fit this target."
    assert recorder.host.wait(120)


def test_shutting_down_during_a_reply_ends_the_thread_and_frees_the_models(qtbot: QtBot) -> None:
    engine = ScriptedEngine([[commit("a"), threading.Event(), commit("never")]])
    recorder = Recorder(lambda: engine)
    run = recorder.submit(ASK)
    qtbot.waitUntil(lambda: bool(recorder.of(run)), timeout=PATIENCE_MS)
    with qtbot.waitSignal(recorder.adapter.stopped, timeout=PATIENCE_MS):
        recorder.adapter.close()
    assert engine.unloaded and engine.closed_early == 1
    assert recorder.of(run)[-1] is None


def test_requests_after_closing_do_not_start(qtbot: QtBot) -> None:
    engine = ScriptedEngine()
    recorder = Recorder(lambda: engine)
    assert recorder.host.wait(120)
    recorder.submit(ASK)
    assert engine.requests == []
