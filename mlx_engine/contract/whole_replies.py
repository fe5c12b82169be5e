"""Whole replies: from their events, and what comparisons of them share."""

from collections.abc import Iterable, Sequence
from statistics import median

from mlx_engine.contract.events import Commit, CompletedReply, Event, Finished
from mlx_engine.contract.requests import Mode


def fold(events: Iterable[Event]) -> CompletedReply:
    """Return the whole reply from its events, which end with `Finished`."""
    texts, tokens, event = {"answer": "", "thinking": ""}, list[int](), None
    for event in events:
        if isinstance(event, Commit):
            texts[event.channel] += event.text
            tokens += event.tokens
    assert isinstance(event, Finished)
    return CompletedReply(texts["answer"], texts["thinking"], tuple(tokens), event.reason, event.stats)


def order_of_modes(repeats: int) -> list[Mode]:
    """Return the modes of a comparison's runs, with the first one alternating."""
    order: list[Mode] = []
    for repeat in range(max(repeats, 1)):
        order += ["plain", "dflash"] if repeat % 2 == 0 else ["dflash", "plain"]
    return order


def speed_ratio(plain: Sequence[CompletedReply], dflash: Sequence[CompletedReply]) -> float | None:
    """Return the median DFlash rate / plain rate, or None if unmeasured."""
    rates = [(one.stats.decode_tok_s, other.stats.decode_tok_s) for one, other in zip(plain, dflash, strict=True)]
    ratios = [other / one for one, other in rates if one and other]
    return median(ratios) if ratios else None


def first_difference(a: Sequence[object], b: Sequence[object]) -> int | None:
    """Return the index of the first token or character that differs, or None."""
    if a == b:
        return None
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
