"""Comparison of a server's replies with and without speculation."""

import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from statistics import median

from mlx_engine.contract.events import Commit, CompareResult, CompareRun, CompletedReply, Event, Finished
from mlx_engine.contract.requests import CompareRequest, GenerationRequest, Mode

Generate = Callable[[GenerationRequest], AsyncIterator[Event]]


async def compare(generate: Generate, request: CompareRequest) -> AsyncIterator[Event]:
    """Generate replies in both modes in turn, with one seed, and compare them.

    If a server sends no tokens, or other models reply here, characters are compared.

    Yields:
        A `CompareRun` and the events of each run, then a `CompareResult`.
    """
    seed = secrets.randbits(31) if request.request.seed is None else request.request.seed
    replies: dict[Mode, list[CompletedReply]] = {"plain": [], "dflash": []}
    order: list[Mode] = []
    for repeat in range(max(request.repeats, 1)):
        order += ["plain", "dflash"] if repeat % 2 == 0 else ["dflash", "plain"]
    for index, mode in enumerate(order):
        yield CompareRun(mode, index, len(order))
        commits: list[Commit] = []
        async for event in generate(replace(request.request, mode=mode, seed=seed)):
            yield event
            if isinstance(event, Commit):
                commits.append(event)
            elif isinstance(event, Finished):
                replies[mode].append(_whole(commits, event))
    rates = [(plain.stats.decode_tok_s, dflash.stats.decode_tok_s) for plain, dflash in zip(*replies.values(), strict=True)]
    ratios = [dflash / plain for plain, dflash in rates if plain and dflash]
    by_token = request.here is None and all(reply.tokens for mode in replies for reply in replies[mode])
    pairs = [(plain, dflash, _first_difference(plain, dflash, by_token)) for plain, dflash in zip(*replies.values(), strict=True)]
    plain, dflash, at = next((pair for pair in pairs if pair[2] is not None), pairs[0])
    yield CompareResult(
        plain=plain,
        dflash=dflash,
        ratio=median(ratios) if ratios else None,
        first_difference=at,
        margin=None,
        verdict="identical" if at is None else "different",
        in_characters=not by_token,
    )


def _whole(commits: list[Commit], end: Finished) -> CompletedReply:
    texts = {channel: "".join(commit.text for commit in commits if commit.channel == channel) for channel in ("answer", "thinking")}
    tokens = tuple(token for commit in commits for token in commit.tokens)
    return CompletedReply(texts["answer"], texts["thinking"], tokens, end.reason, end.stats)


def _first_difference(a: CompletedReply, b: CompletedReply, by_token: bool) -> int | None:
    """Return the index of the first token or character that differs."""
    first, second = (a.tokens, b.tokens) if by_token else (a.thinking + a.text, b.thinking + b.text)
    if first == second:
        return None
    return next((at for at, (x, y) in enumerate(zip(first, second, strict=False)) if x != y), min(len(first), len(second)))
