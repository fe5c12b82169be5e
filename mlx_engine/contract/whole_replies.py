"""Whole replies: from their events, and what comparisons of them share."""

from collections.abc import Iterable, Sequence

from mlx_engine.contract.events import Commit, CompletedReply, Event, Finished


def fold(events: Iterable[Event]) -> CompletedReply:
    """Return the whole reply from its events, which end with `Finished`."""
    texts, tokens, event = {"answer": "", "thinking": ""}, list[int](), None
    for event in events:
        if isinstance(event, Commit):
            texts[event.channel] += event.text
            tokens += event.tokens
    assert isinstance(event, Finished)
    return CompletedReply(texts["answer"], texts["thinking"], tuple(tokens), event.reason, event.stats)


def first_difference(a: Sequence[object], b: Sequence[object]) -> int | None:
    """Return the index of the first token or character that differs, or None."""
    if a == b:
        return None
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
