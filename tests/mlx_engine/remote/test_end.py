"""The end of a remote engine's event loop."""

import asyncio
import gc
import logging
import threading
from collections.abc import AsyncIterator

import pytest

from mlx_engine.contract.events import Event
from mlx_engine.contract.requests import Endpoint, GenerationRequest
from mlx_engine.remote.remote_engine import RemoteEngine


def test_each_run_ends_once_even_if_it_is_canceled_before_it_starts() -> None:
    engine, events, ended = RemoteEngine(Endpoint("http://127.0.0.1:9")), list[Event | None](), threading.Event()

    def deliver(event: Event | None) -> None:
        events.append(event)
        if event is None:
            ended.set()

    held, go_on = threading.Event(), threading.Event()
    engine._loop.call_soon_threadsafe(lambda: (held.set(), go_on.wait(120)))
    assert held.wait(120)
    engine.submit(GenerationRequest(), deliver).cancel()
    go_on.set()
    assert ended.wait(10)
    assert engine.wait(120)
    assert events.count(None) == 1


def test_closing_ends_response_bodies_that_were_not_read_to_the_end(caplog: pytest.LogCaptureFixture) -> None:
    engine = RemoteEngine(Endpoint("http://127.0.0.1:9"))
    ended, entered = threading.Event(), threading.Event()

    async def body() -> AsyncIterator[bytes]:
        try:
            yield b"data: garbage"
        finally:
            await asyncio.sleep(0.2)
            ended.set()

    async def read() -> None:
        async for _ in body():
            break
        entered.set()

    engine._loop.call_soon_threadsafe(lambda: engine._loop.create_task(read()))
    assert entered.wait(120)
    with caplog.at_level(logging.ERROR, "asyncio"):
        assert engine.wait(120)
        gc.collect()
    assert ended.is_set() and not caplog.records
