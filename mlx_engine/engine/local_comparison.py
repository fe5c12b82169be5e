"""Comparisons on this computer, and whether rounding explains a difference."""

import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Protocol, cast

import mlx.core as mx

from mlx_engine.calibration.calibration import calibrate
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import CompletedReply, ContestantResult, Event, PairInfo, TextDifference
from mlx_engine.contract.requests import Compare, GenerationRequest, LoadPair, Sampling
from mlx_engine.decoding.prefill import prefill
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.engine.comparison import Comparison, play
from mlx_engine.engine.prepare import sight_of
from mlx_engine.engine.reply_images import ReplyImages
from mlx_engine.formats import chat_prompt
from mlx_engine.hardware import memory
from mlx_engine.loading.loaded_pair import LoadedPair
from mlx_engine.models.library.speeds import record_speeds, speed_key

_TYPICAL_LOGIT = 16.0
_FLOAT32_TIE = 1e-3  # passes of 1 and n rows differ by about 1e-5 with OpenBLAS
_NO_MEMORY = EngineText.of(
    "no_memory_to_compare", "There isn't enough memory to compare the replies. Quit other apps, or load a smaller model."
)


class Loader(Protocol):
    """The part of an engine that a comparison needs."""

    @property
    def folders(self) -> tuple[Path, Path | None] | None: ...

    @property
    def pair(self) -> LoadedPair: ...

    def run(self, request: LoadPair, cancel: threading.Event) -> Iterator[Event]: ...

    def steps(self, request: GenerationRequest, cancel: threading.Event) -> Generator[Sequence[Event], None, None]: ...


def compare(engine: Loader, request: Compare, cancel: threading.Event) -> Iterator[Event]:
    """Run a comparison on this computer; see `Comparison`.

    If drafters are loaded, their speeds are saved, so that the fastest one can be loaded later. Speeds of replies that ran at the
    same time, and of several computers, aren't.
    """

    def is_loaded(pair: LoadPair) -> bool:
        return engine.folders == (pair.target, pair.drafter) and (pair.tuned or not engine.pair.info.tuned)

    def is_alone() -> bool:
        return engine.pair.model.sharding is None

    def load(pair: LoadPair) -> Iterator[Event]:
        if not is_loaded(pair):
            for event in engine.run(pair, cancel):
                yield event
                if cancel.is_set():
                    return
        if is_alone() and not engine.pair.history.costs.table.reliable:
            yield from calibrate(engine.pair, cancel)

    def measure(asked: GenerationRequest, baseline: CompletedReply, reply: CompletedReply, at: int) -> TextDifference:
        with memory.enough_for(_NO_MEMORY):
            return difference(engine.pair, asked, baseline.tokens, reply.tokens, at)

    comparison = Comparison(request, cancel, partial(_info, engine), measure, is_loaded)
    usual = request.pairs and not request.together and not any(one.exact or one.width for one in request.requests)
    for event in play(comparison.steps(), load, lambda asked: engine.steps(asked, cancel)):
        if usual and isinstance(event, ContestantResult) and event.runs and event.proposer != "lookup" and is_alone():
            assert engine.folders is not None
            record_speeds(speed_key(*engine.folders), event.runs)
        yield event


def _info(engine: Loader) -> PairInfo:
    """Return the loaded pair, with the memory of its drafter's weights."""
    drafter = engine.pair.drafter
    return replace(engine.pair.info, drafter_bytes=sum(array.nbytes for array in drafter.parameters()) if drafter else 0)


def difference(pair: LoadedPair, request: GenerationRequest, a: Sequence[int], b: Sequence[int], at: int) -> TextDifference:
    """Measure the difference of two replies that share the tokens before index `at`.

    Runs the target again, in prefill passes. The margin is None if one reply ends at `at` or a filter removed one of the tokens.
    """
    if at >= min(len(a), len(b)):
        return TextDifference(at)
    rendered = chat_prompt.render(pair.tokenizer, request, sight=sight_of(pair, request.messages))
    prompt, images = rendered.tokens, ReplyImages(pair.images, rendered, threading.Event())
    chooser = Chooser(request.sampling, request.seed or 0)
    penalties = Penalties(request.sampling, prompt, request.logit_bias)
    penalties.add(a[:at])
    shared = [*prompt, *a[:at]]
    caches = pair.target.caches()
    pace = pair.exact_pace if request.exact else pair.pace
    done, chunks = 0, prefill(pair.target, caches, shared, None, None, (), pace, images.prompt)
    while done < len(shared) - 1:
        for _ in images.read_before(done):
            pass
        done = next(chunks)
    logits = pair.target.forward(mx.array(shared[-1:]), caches)
    scores = chooser.scores(penalties.apply(logits), chooser.noise(len(shared), 1, logits.shape[-1]))[0].astype(mx.float32)
    # scores are logits divided by the temperature, plus the same noise for both replies
    margin = abs(cast(float, (scores[a[at]] - scores[b[at]]).item())) * (1.0 if chooser.greedy else request.sampling.temperature)
    if not isfinite(margin):
        return TextDifference(at)
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
