"""Comparison of a request's replies with and without DFlash."""

import dataclasses
import secrets
import threading
from collections.abc import Iterator, Sequence
from itertools import product
from math import isfinite
from typing import cast

import mlx.core as mx

from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import CompareResult, CompareRun, CompletedReply, Event, Finished, Generate
from mlx_engine.contract.requests import CompareRequest, GenerationRequest, Mode, Sampling
from mlx_engine.contract.whole_replies import first_difference, fold, order_of_modes, speed_ratio
from mlx_engine.decoding.prefill import prefill
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.formats import chat_prompt
from mlx_engine.hardware import memory
from mlx_engine.loading.loaded_pair import LoadedPair

_TYPICAL_LOGIT = 16.0
_FLOAT32_TIE = 1e-3  # passes of 1 and n rows differ by about 1e-5 with OpenBLAS
NO_MEMORY = EngineText.of(
    "no_memory_to_compare", "There isn't enough memory to compare the replies. Quit other apps, or load a smaller model."
)


def compare(
    pair: LoadedPair,
    generate: Generate,
    request: CompareRequest,
    cancel: threading.Event,
) -> Iterator[Event]:
    """Generate replies in both modes with one seed, and compare them.

    Yields:
        A `CompareRun` and the events of each run. The last event is a `CompareResult`, or the `Failed` or canceled `Finished` of
        a run.

    Raises:
        UserError: memory ran out while comparing.
    """
    seed = secrets.randbits(32) if request.request.seed is None else request.request.seed
    common = dataclasses.replace(request.request, seed=seed, reuse=False)  # same conditions for every run
    replies: dict[Mode, list[CompletedReply]] = {"plain": [], "dflash": []}
    order = order_of_modes(request.repeats)
    for index, mode in enumerate(order):
        if index:
            cancel.wait(request.pause_s)  # a cancel also ends the next run
        yield CompareRun(mode, index, len(order))
        events: list[Event] = []
        for event in generate(dataclasses.replace(common, mode=mode), cancel):
            events.append(event)
            yield event
        end = events[-1]
        if not isinstance(end, Finished) or end.reason == "cancelled":
            return
        replies[mode].append(fold(events))
    with memory.enough_for(NO_MEMORY):
        plain, dflash, difference = worst_pair(pair, common, replies["plain"], replies["dflash"])
    yield CompareResult(
        plain=plain,
        dflash=dflash,
        ratio=speed_ratio(replies["plain"], replies["dflash"]),
        first_difference=difference.at if difference else None,
        margin=difference.margin if difference else None,
        verdict="identical" if difference is None else "tie" if difference.tie and not common.exact else "different",
    )


@dataclasses.dataclass(frozen=True)
class TextDifference:
    """The first difference of two replies.

    Attributes:
        at: index of the token.
        margin: change of the target's logits that would select the other token; None if no change would.
        tie: whether rounding alone can change the logits that much.
    """

    at: int
    margin: float | None
    tie: bool


def difference(pair: LoadedPair, request: GenerationRequest, a: Sequence[int], b: Sequence[int], at: int) -> TextDifference:
    """Measure the difference of two replies that share the tokens before index `at`.

    Runs the target again, in prefill passes. The margin is None if one reply ends at `at` or a filter removed one of the tokens.
    """
    if at >= min(len(a), len(b)):
        return TextDifference(at, None, False)
    prompt = chat_prompt.render(pair.tokenizer, request).tokens
    chooser = Chooser(request.sampling, request.seed or 0)
    penalties = Penalties(request.sampling, prompt, request.logit_bias)
    penalties.add(a[:at])
    shared = [*prompt, *a[:at]]
    caches = pair.target.caches()
    for _ in prefill(pair.target, caches, shared, None, None):
        pass
    logits = pair.target.forward(mx.array(shared[-1:]), caches)
    scores = chooser.scores(penalties.apply(logits), chooser.noise(len(shared), 1, logits.shape[-1]))[0].astype(mx.float32)
    # scores are logits divided by the temperature, plus the same noise for both replies
    margin = abs(cast(float, (scores[a[at]] - scores[b[at]]).item())) * (1.0 if chooser.greedy else request.sampling.temperature)
    if not isfinite(margin):
        return TextDifference(at, None, False)
    largest = cast(float, mx.abs(logits.astype(mx.float32)).max().item())
    return TextDifference(at, margin, margin <= tie_margin(pair.dtype, largest, request.sampling))


def tie_margin(dtype: mx.Dtype, largest: float, sampling: Sampling) -> float:
    """Return the largest margin of two penalized logits that rounding alone can flip.

    This is one rounding of the row's largest logit, or of 16 if larger. The repetition penalty scales the margin like
    the logits.
    """
    rounding = _FLOAT32_TIE if dtype == mx.float32 else _TYPICAL_LOGIT * mx.finfo(dtype).eps
    penalty = max(sampling.repetition_penalty, 1 / sampling.repetition_penalty)
    return rounding * max(largest / _TYPICAL_LOGIT, 1.0) * penalty


def worst_pair(
    pair: LoadedPair, request: GenerationRequest, plain: Sequence[CompletedReply], dflash: Sequence[CompletedReply]
) -> tuple[CompletedReply, CompletedReply, TextDifference | None]:
    """Return two replies that differ, or those with the median rates if none do."""
    worst: tuple[CompletedReply, CompletedReply, TextDifference] | None = None
    for one, other in product(_distinct(plain), _distinct(dflash)):
        at = first_difference(one.tokens, other.tokens)
        if at is not None and (worst is None or worst[2].tie):
            found = difference(pair, request, one.tokens, other.tokens, at)
            if worst is None or not found.tie:
                worst = one, other, found
    return worst or (_median(plain), _median(dflash), None)


def _distinct(replies: Sequence[CompletedReply]) -> list[CompletedReply]:
    """Return one reply per text, preferably the one with the median rate."""
    return list({reply.tokens: reply for reply in (*replies, _median(replies))}.values())


def _median(replies: Sequence[CompletedReply]) -> CompletedReply:
    return sorted(replies, key=lambda reply: reply.stats.decode_tok_s or 0.0)[len(replies) // 2]
