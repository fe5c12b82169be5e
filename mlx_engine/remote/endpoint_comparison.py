"""Comparison of a server's replies with and without speculation."""

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

from mlx_engine.contract.events import CompareResult, CompareRun, CompletedReply, Event
from mlx_engine.contract.requests import CompareRequest, GenerationRequest, Mode
from mlx_engine.contract.whole_replies import first_difference, fold, order_of_modes, speed_ratio

Generate = Callable[[GenerationRequest], AsyncIterator[Event]]


async def compare(generate: Generate, request: CompareRequest) -> AsyncIterator[Event]:
    """Generate replies in both modes in turn, with one seed, and compare them.

    If a server sends no tokens, or other models reply here, characters are compared.

    Yields:
        A `CompareRun` and the events of each run, then a `CompareResult`.
    """
    seed = secrets.randbits(31) if request.request.seed is None else request.request.seed
    replies: dict[Mode, list[CompletedReply]] = {"plain": [], "dflash": []}
    order = order_of_modes(request.repeats)
    for index, mode in enumerate(order):
        yield CompareRun(mode, index, len(order))
        events: list[Event] = []
        async for event in generate(replace(request.request, mode=mode, seed=seed)):
            yield event
            events.append(event)
        replies[mode].append(fold(events))
    by_token = request.here is None and all(reply.tokens for mode in replies for reply in replies[mode])
    pairs = [(*both, first_difference(*(_text(one, by_token) for one in both))) for both in zip(*replies.values(), strict=True)]
    plain, dflash, at = next((pair for pair in pairs if pair[2] is not None), pairs[0])
    yield CompareResult(
        plain=plain,
        dflash=dflash,
        ratio=speed_ratio(*replies.values()),
        first_difference=at,
        margin=None,
        verdict="identical" if at is None else "different",
        in_characters=not by_token,
    )


def _text(reply: CompletedReply, by_token: bool) -> Sequence[object]:
    return reply.tokens if by_token else reply.thinking + reply.text
