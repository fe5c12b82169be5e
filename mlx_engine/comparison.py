"""The same request plainly and with DFlash: one after the other, never at once, with one seed and alternating order."""

import dataclasses
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import isfinite
from statistics import median
from typing import cast

import mlx.core as mx

from mlx_engine import chat, memory
from mlx_engine.decoding.prefill import prefill
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.errors import UserError
from mlx_engine.events import Commit, CompareResult, CompareRun, CompletedReply, Event, Failed, Finished
from mlx_engine.loading import LoadedPair
from mlx_engine.requests import CompareRequest, GenerationRequest, Mode, Sampling

_USUAL_LOGIT = 16.0
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
    replies: dict[Mode, list[CompletedReply]] = {"plain": [], "dflash": []}
    repeats = max(request.repeats, 1)
    order: list[Mode] = []
    for repeat in range(repeats):
        order += ["plain", "dflash"] if repeat % 2 == 0 else ["dflash", "plain"]
    for index, mode in enumerate(order):
        if index:
            cancel.wait(request.pause_s)  # a cancel ends the run that follows, as it ends any
        yield CompareRun(mode, index, len(order))
        events: list[Event] = []
        for event in generate(dataclasses.replace(asked, mode=mode), cancel):
            events.append(event)
            yield event
        ended = events[-1]
        if not isinstance(ended, Finished) or ended.reason == "cancelled":
            return
        replies[mode].append(collect(events, ended))
    rates = [
        b.stats.decode_tok_s / a.stats.decode_tok_s
        for a, b in zip(replies["plain"], replies["dflash"], strict=True)
        if a.stats.decode_tok_s and b.stats.decode_tok_s
    ]
    try:
        with memory.enough_for("to look at where the two texts part"):
            plain, drafted, parted = _worst(pair, asked, replies["plain"], replies["dflash"])
    except UserError as error:
        yield Failed.because(error)
        return
    yield CompareResult(
        plain=plain,
        dflash=drafted,
        ratio=median(rates) if rates else None,
        first_difference=parted.at if parted else None,
        margin=parted.margin if parted else None,
        verdict="identical" if parted is None else "tie" if parted.tie else "different",
    )


def collect(events: Sequence[Event], ended: Finished) -> CompletedReply:
    """A whole reply from its events."""
    commits = [event for event in events if isinstance(event, Commit)]
    return CompletedReply(
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


@dataclasses.dataclass(frozen=True)
class Parting:
    """Where two replies part: the index of the token, and `margin`, by how much the target's logits would have to change there for
    it to choose the other token; None when there is no such gap. `tie`: rounding alone can have changed them by so much."""

    at: int
    margin: float | None
    tie: bool


def parting(pair: LoadedPair, request: GenerationRequest, a: Sequence[int], b: Sequence[int], at: int) -> Parting:
    """How two replies part at index `at`, after what they share.

    The target is asked afresh, in prefill's passes. There is no gap when one reply ends there or a filter left one token out.
    """
    if at >= min(len(a), len(b)):
        return Parting(at, None, False)
    prompt = chat.render(pair.tokenizer, request).tokens
    chooser = Chooser(request.sampling, request.seed or 0)
    penalties = Penalties(request.sampling, prompt)
    penalties.add(a[:at])
    whole = [*prompt, *a[:at]]
    *_, logits = prefill(pair.target, pair.target.caches(), whole, None, None)
    assert isinstance(logits, mx.array)
    scores = chooser.scores(penalties.apply(logits), chooser.noise(len(whole), 1, logits.shape[-1]))[0].astype(mx.float32)
    # a score is a logit over the temperature, and noise that is the same on both sides
    gap = abs(cast(float, (scores[a[at]] - scores[b[at]]).item())) * (1.0 if chooser.greedy else request.sampling.temperature)
    if not isfinite(gap):
        return Parting(at, None, False)
    largest = cast(float, mx.abs(logits.astype(mx.float32)).max().item())
    return Parting(at, gap, gap <= rounding(pair.dtype, largest, request.sampling))


def rounding(dtype: mx.Dtype, largest: float, sampling: Sampling) -> float:
    """The largest gap between two penalised logits that rounding alone may turn: one rounding, in the target's format, of the
    largest logit of the row, or of 16 where none is as large. The repetition penalty stretches it as it stretches logits."""
    once = _TIE_FLOAT32 if dtype == mx.float32 else _USUAL_LOGIT * mx.finfo(dtype).eps
    stretched = max(sampling.repetition_penalty, 1 / sampling.repetition_penalty)
    return once * max(largest / _USUAL_LOGIT, 1.0) * stretched


def _worst(
    pair: LoadedPair, request: GenerationRequest, plain: Sequence[CompletedReply], drafted: Sequence[CompletedReply]
) -> tuple[CompletedReply, CompletedReply, Parting | None]:
    """Of all runs a plain one and one of DFlash that part, rather by a difference than by a tie; where none do, those of median
    rate, and None."""
    worst: tuple[CompletedReply, CompletedReply, Parting] | None = None
    for one, other in product(_texts(plain), _texts(drafted)):
        at = first_difference(one.tokens, other.tokens)
        if at is not None and (worst is None or worst[2].tie):
            found = parting(pair, request, one.tokens, other.tokens, at)
            if worst is None or not found.tie:
                worst = one, other, found
    return worst or (_middle(plain), _middle(drafted), None)


def _texts(replies: Sequence[CompletedReply]) -> list[CompletedReply]:
    """One reply of each text, if possible that of median rate."""
    return list({reply.tokens: reply for reply in (*replies, _middle(replies))}.values())


def _middle(replies: Sequence[CompletedReply]) -> CompletedReply:
    """The reply of median rate."""
    return sorted(replies, key=lambda reply: reply.stats.decode_tok_s or 0.0)[len(replies) // 2]
