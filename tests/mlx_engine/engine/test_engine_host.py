"""The engine's thread survives bugs of front ends, and requests after closing end."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Event
from mlx_engine.contract.requests import CountTokens, GenerationRequest, MeasureMachine, Message
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.host import EngineHost, _HostRun
from tests.engine_double import EngineDouble

REQUEST = CountTokens(GenerationRequest((Message("user", "Hello"),)))


class Counter(EngineDouble):
    def count_tokens(self, request: CountTokens) -> TokenCount:
        return TokenCount(1, 2)

    def unload(self) -> None:
        pass


@pytest.fixture
def host() -> Any:
    host = EngineHost(Counter)  # type: ignore[arg-type]
    yield host
    assert host.wait(120)


def test_a_bug_in_a_front_end_does_not_end_the_thread(host: EngineHost, caplog: pytest.LogCaptureFixture) -> None:
    def deliver(event: object) -> None:
        raise ZeroDivisionError

    host.submit(REQUEST, deliver)
    assert list(to_iter(host, REQUEST))[-1] == TokenCount(1, 2)
    assert "ZeroDivisionError" in caplog.text


def test_a_request_after_closing_ends_without_events(host: EngineHost) -> None:
    assert host.wait(120)
    assert list(to_iter(host, REQUEST)) == []


def test_a_run_that_is_canceled_before_its_turn_starts_no_engine() -> None:
    made: list[int] = []
    host = EngineHost(lambda: made.append(1))  # type: ignore[arg-type, func-returns-value, return-value]
    seen: list[object] = []
    run = _HostRun(REQUEST, seen.append)
    run.cancel()
    host._queue.put(run)
    assert host.wait(120) and seen == [None] and not made


def test_a_canceled_run_does_not_keep_others_waiting_while_a_reply_runs() -> None:
    """A measurement runs alone. A message cancels it, and must not wait until programs have their replies."""
    ended = threading.Event()

    class Replying(Counter):
        def generate(self, request: GenerationRequest, cancel: threading.Event) -> Iterator[Event]:
            while not (cancel.is_set() or request.foreground):
                yield TokenCount(0, 0)
                time.sleep(0.001)
            yield TokenCount(1, 2)

    host = EngineHost(Replying)  # type: ignore[arg-type]
    seen: list[Event | None] = []
    reply = host.submit(GenerationRequest(prompt_text="a"), seen.append)
    while not seen:
        time.sleep(0.001)
    host.submit(MeasureMachine(), lambda event: ended.set() if event is None else None).cancel()
    assert list(to_iter(host, GenerationRequest(prompt_text="b", foreground=True))) == [TokenCount(1, 2)]
    assert ended.wait(120) and None not in seen
    reply.cancel()
    assert host.wait(120)


def test_every_close_is_answered(host: EngineHost) -> None:
    assert host.wait(120)
    closed = threading.Event()
    host.close(closed.set)
    assert closed.wait(120)


def test_a_failure_is_raised_where_events_are_read() -> None:
    class Refusing(Counter):
        def count_tokens(self, request: CountTokens) -> TokenCount:
            raise UserError("test_refusal", "No {what}.", what="tokens")

    host = EngineHost(Refusing)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="No tokens") as raised:
        list(to_iter(host, REQUEST))
    assert raised.value.text.code == "test_refusal"
    assert host.wait(120)
