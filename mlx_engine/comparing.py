"""The same request plainly and with DFlash: one after the other, never at once, with one seed and alternating order."""

import dataclasses
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from statistics import median
from typing import cast

import mlx.core as mx

from mlx_engine import chat
from mlx_engine.decoding.prefill import prefill
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.errors import UserError
from mlx_engine.events import (
    Commit,
    CompareRequest,
    CompareResult,
    CompareRun,
    Event,
    Failed,
    Finished,
    GenerationRequest,
    Mode,
    Reply,
)
from mlx_engine.loading import LoadedPair

_TIE_FLOAT32 = 1e-3  # passes of 1 and of n rows differ by about 1e-5 under OpenBLAS; a closer decision than this can turn on that


def compare(
    pair: LoadedPair,
    generate: Callable[[GenerationRequest, threading.Event], Iterator[Event]],
    request: CompareRequest,
    cancel: threading.Event,
) -> Iterator[Event]:
    """Run the comparison with `generate`; see `Engine.compare`."""
    seed = secrets.randbits(32) if request.request.seed is None else request.request.seed
    asked = dataclasses.replace(request.request, seed=seed, reuse=False)  # every run under the same conditions
    replies: dict[Mode, list[Reply]] = {"plain": [], "dflash": []}
    repeats = max(request.repeats, 1)
    order: list[Mode] = []
    for repeat in range(repeats):
        order += ["plain", "dflash"] if repeat % 2 == 0 else ["dflash", "plain"]
    for index, mode in enumerate(order):
        if index and cancel.wait(request.pause_s):
            return
        yield CompareRun(mode, index, len(order))
        events: list[Event] = []
        for event in generate(dataclasses.replace(asked, mode=mode), cancel):
            events.append(event)
            yield event
        ended = events[-1]
        if not isinstance(ended, Finished) or ended.reason == "cancelled":
            return
        replies[mode].append(collect(events, ended))
    plain, drafted = _middle(replies["plain"]), _middle(replies["dflash"])
    rates = [
        b.stats.decode_tok_s / a.stats.decode_tok_s
        for a, b in zip(replies["plain"], replies["dflash"], strict=True)
        if a.stats.decode_tok_s and b.stats.decode_tok_s
    ]
    at = first_difference(plain.tokens, drafted.tokens)
    try:
        gap = None if at is None else margin(pair, asked, plain.tokens, drafted.tokens, at)
    except UserError as error:
        yield Failed(str(error))
        return
    yield CompareResult(
        plain=plain,
        dflash=drafted,
        ratio=median(rates) if rates else None,
        first_difference=at,
        margin=gap,
        verdict="identical" if at is None else "tie" if gap is not None and gap <= rounding(pair) else "different",
    )


def collect(events: Sequence[Event], ended: Finished) -> Reply:
    """A whole reply from its events."""
    commits = [event for event in events if isinstance(event, Commit)]
    return Reply(
        text="".join(commit.text for commit in commits if commit.channel == "answer"),
        thinking="".join(commit.text for commit in commits if commit.channel == "thinking"),
        tokens=tuple(token for commit in commits for token in commit.tokens),
        reason=ended.reason,
        stats=ended.stats,
    )


def first_difference(a: Sequence[int], b: Sequence[int]) -> int | None:
    """Index of the first token in which two replies differ, None when they are the same."""
    if tuple(a) == tuple(b):
        return None
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def margin(pair: LoadedPair, request: GenerationRequest, a: Sequence[int], b: Sequence[int], at: int) -> float | None:
    """Gap between the scores of two replies' tokens at index `at`, after what they share; None when there is no such gap.

    The target is asked afresh, in prefill's passes. There is no gap when one reply ends there or a filter left one token out.
    """
    if at >= min(len(a), len(b)):
        return None
    prompt = chat.render(pair.tokenizer, request).tokens
    chooser = Chooser(request.sampling, request.seed or 0)
    penalties = Penalties(request.sampling, prompt)
    penalties.add(a[:at])
    whole = [*prompt, *a[:at]]
    *_, logits = prefill(pair.target, pair.target.caches(), whole, None, None)
    assert isinstance(logits, mx.array)
    scores = chooser.scores(penalties.apply(logits), chooser.noise(len(whole), 1, logits.shape[-1]))[0].astype(mx.float32)
    gap = abs(cast(float, (scores[a[at]] - scores[b[at]]).item()))
    return gap if isfinite(gap) else None


def rounding(pair: LoadedPair) -> float:
    """The largest gap between two scores that rounding alone may turn: one rounding of a score of 16 in the target's format."""
    return _TIE_FLOAT32 if pair.dtype == mx.float32 else 16 * mx.finfo(pair.dtype).eps


def _middle(replies: list[Reply]) -> Reply:
    """The reply of median rate."""
    return sorted(replies, key=lambda reply: reply.stats.decode_tok_s or 0.0)[len(replies) // 2]
