"""The end of a remote engine's event loop."""

import asyncio
import gc
import logging
import threading
from collections.abc import AsyncIterator

import pytest

from mlx_engine.contract.requests import Endpoint
from mlx_engine.remote.remote_engine import RemoteEngine


def test_closing_ends_response_bodies_that_were_not_read_to_the_end(caplog: pytest.LogCaptureFixture) -> None:
    engine = RemoteEngine(Endpoint("http://127.0.0.1:9"))
    ended, begun = threading.Event(), threading.Event()

    async def body() -> AsyncIterator[bytes]:
        try:
            yield b"data: garbage"
        finally:
            await asyncio.sleep(0.2)
            ended.set()

    async def read() -> None:
        async for _ in body():
            break
        begun.set()

    engine._loop.call_soon_threadsafe(lambda: engine._loop.create_task(read()))
    assert begun.wait(120)
    with caplog.at_level(logging.ERROR, "asyncio"):
        assert engine.wait(120)
        gc.collect()
    assert ended.is_set() and not caplog.records
