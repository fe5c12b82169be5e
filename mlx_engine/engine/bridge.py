"""From the engine's thread to others: events in batches.

Waking for every event would slow decoding on a CPU by 3 %.
"""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from typing import Generic, TypeVar

from mlx_engine.contract.client import Deliver, EngineClient, Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Event, Failed
from mlx_engine.contract.requests import Request

_BATCH_S = 0.02
_WAKE_S = 0.1

R = TypeVar("R", bound=Request)
T = TypeVar("T")


class Inbox(Generic[T]):
    """Items from other threads.

    Args:
        ring: called on the sender's thread with the first item of each batch.
    """

    def __init__(self, ring: Callable[[], object]) -> None:
        self._ring = ring
        self._items: list[T] = []
        self._lock = threading.Lock()

    def put(self, item: T) -> None:
        with self._lock:
            self._items.append(item)
            is_first = len(self._items) == 1
        if is_first:
            self._ring()

    def take(self) -> list[T]:
        """Return all items since the last call."""
        with self._lock:
            items, self._items = self._items, []
        return items


def to_iter(client: EngineClient, request: Request, started: Callable[[Run], None] = lambda run: None) -> Iterator[Event]:
    """Submit a request and yield its events. Closing the iterator cancels the run.

    Args:
        started: receives the run, so that it can be canceled from elsewhere.

    Raises:
        UserError: the request failed.
    """
    arrived = threading.Event()
    inbox = Inbox[Event | None](arrived.set)
    run = client.submit(request, inbox.put)
    started(run)
    try:
        while True:
            while not arrived.wait(_WAKE_S):  # Ctrl-C doesn't interrupt an endless wait if another thread receives the signal
                pass
            arrived.clear()
            for event in inbox.take():
                if event is None:
                    return
                if isinstance(event, Failed):
                    raise UserError.of(event)
                yield event
            time.sleep(_BATCH_S)
    finally:
        run.cancel()


async def to_async(submit: Callable[[R, Deliver], Run], request: R, quiet_s: float | None = None) -> AsyncGenerator[list[Event]]:
    """Submit a request and yield its events in batches, until closed.

    A batch is empty if `quiet_s` seconds passed without an event.
    """
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()

    def ring() -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(arrived.set)

    inbox = Inbox[Event | None](ring)
    run = submit(request, inbox.put)
    try:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(quiet_s):
                    await arrived.wait()
            arrived.clear()
            batch = inbox.take()
            yield [event for event in batch if event is not None]
            if None in batch:
                return
            if batch:
                await asyncio.sleep(_BATCH_S)
    finally:
        run.cancel()
