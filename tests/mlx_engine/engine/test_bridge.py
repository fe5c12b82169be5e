"""Events cross threads in batches: none is lost, and the receiver is woken once per batch."""

import asyncio
import threading
from contextlib import aclosing
from typing import Any

from mlx_engine.contract.client import Deliver, Run
from mlx_engine.contract.events import Queued
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Request
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.engine.bridge import Inbox, to_async


def test_an_inbox_rings_once_per_batch_and_loses_nothing() -> None:
    rung = threading.Semaphore(0)
    inbox = Inbox[tuple[int, int]](rung.release)
    senders = [threading.Thread(target=lambda own=own: [inbox.put((own, at)) for at in range(1000)]) for own in range(4)]
    for sender in senders:
        sender.start()
    batches = list[list[tuple[int, int]]]()
    while sum(map(len, batches)) < 4000:
        assert rung.acquire(timeout=60)
        batches.append(inbox.take())
    assert not rung.acquire(blocking=False) and all(batches)
    for own in range(4):
        assert [at for batch in batches for sender, at in batch if sender == own] == list(range(1000))


class Silent:
    def __init__(self) -> None:
        self.runs: list[Run] = []

    def submit(self, request: Request, deliver: Deliver) -> Run:
        self.runs.append(Run(request, deliver))
        return self.runs[-1]


def test_batches_end_with_the_run_and_are_empty_while_it_is_quiet() -> None:
    async def read() -> list[list[Any]]:
        client, found = Silent(), []
        async with aclosing(to_async(client.submit, CountTokens(GenerationRequest(())), quiet_s=0.01)) as batches:
            async for batch in batches:
                if not found:
                    for event in (Queued(1), TokenCount(1, 2), None):
                        client.runs[0].deliver(event)
                found.append(batch)
        assert client.runs[0].cancelled.is_set()
        return found

    assert asyncio.run(read()) == [[], [Queued(1), TokenCount(1, 2)]]


def test_closing_the_batches_cancels_the_run() -> None:
    async def leave() -> Run:
        client = Silent()
        batches = to_async(client.submit, CountTokens(GenerationRequest(())), quiet_s=0.01)
        assert await anext(batches) == [] and not client.runs[0].cancelled.is_set()
        await batches.aclose()
        return client.runs[0]

    assert asyncio.run(leave()).cancelled.is_set()
