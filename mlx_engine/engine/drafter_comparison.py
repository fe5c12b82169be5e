"""Comparison of a target's drafters, lookup, and plain decoding."""

import secrets
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Protocol

from mlx_engine.calibration.calibration import calibrate
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import (
    ComparisonVerdict,
    CompletedReply,
    DrafterResult,
    DrafterRun,
    DraftersCompared,
    Event,
    Failed,
    Finished,
    LoadProgress,
    PairInfo,
    Proposer,
)
from mlx_engine.contract.requests import CompareDrafters, GenerationRequest
from mlx_engine.contract.whole_replies import fold
from mlx_engine.engine.comparison import NO_MEMORY, TextDifference, worst_pair
from mlx_engine.hardware import memory
from mlx_engine.loading.loaded_pair import LoadedPair
from mlx_engine.models.library.library import model_name
from mlx_engine.models.library.speeds import record_speeds, speed_key

_NOT_LOADED = EngineText.of("no_drafter_to_compare", "None of the drafters could be loaded, so there is nothing to compare.")


class Loader(Protocol):
    """The part of an engine that a comparison of drafters needs."""

    @property
    def folders(self) -> tuple[Path, Path | None] | None: ...

    @property
    def pair(self) -> LoadedPair: ...

    def load(
        self, target: Path, drafter: Path | None, drafter_bits: int | None = None, tuned: bool = True
    ) -> Iterator[LoadProgress | PairInfo]: ...

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]: ...


def compare_drafters(engine: Loader, request: CompareDrafters, cancel: threading.Event) -> Iterator[Event]:
    """Generate replies with each drafter, and compare them with plain ones.

    The loaded drafter comes first. Speeds are saved, so that the fastest drafter can be loaded later. If there are several
    prompts, those that can't be answered plainly are left out.

    Yields:
        The events of loading, calibration, and replies, a `DrafterRun` before each reply, and a `DrafterResult` after the last
        reply of each kind. The last event is `DraftersCompared`, unless `cancel` was set or plain decoding failed.

    Raises:
        UserError: no drafter could be loaded, or memory ran out while comparing.
    """
    runs = _Runs(engine, request, cancel)
    results: dict[Path | Proposer, DrafterResult] = {}
    for drafter in sorted(request.drafters, key=lambda one: engine.folders != (request.target, one)):
        try:
            yield from runs.load(drafter)
        except UserError as error:
            results[drafter] = DrafterResult("drafter", "", model_name(drafter), drafter, problem=error.text)
            yield results[drafter]
            continue
        baselines: tuple[Proposer, ...] = () if runs.plain else ("plain", "lookup")
        for proposer in (*baselines, "drafter"):
            result = None if cancel.is_set() else (yield from runs.run(proposer))
            if result is None:
                return
            results[proposer if proposer != "drafter" else drafter] = result
            yield result
    if not runs.plain:
        raise UserError.of(_NOT_LOADED)
    order: tuple[Path | Proposer, ...] = ("plain", "lookup", *request.drafters)
    yield DraftersCompared(tuple(results[one] for one in order), tuple(runs.left_out))


class _Runs:
    """The runs of a comparison.

    Attributes:
        plain: replies without drafts to each prompt, empty until the first drafter is loaded.
        left_out: index of each prompt that couldn't be answered plainly, and why.
    """

    def __init__(self, engine: Loader, request: CompareDrafters, cancel: threading.Event) -> None:
        self._engine, self._request, self._cancel = engine, request, cancel
        self._repeats = max(request.repeats, 1)
        self._prompts = [
            replace(one, seed=secrets.randbits(32) if one.seed is None else one.seed, reuse=False) for one in request.requests
        ]
        self._done = 0
        self.plain: list[list[CompletedReply]] = []
        self.left_out: list[tuple[int, EngineText]] = []

    def load(self, drafter: Path) -> Iterator[Event]:
        """Load a drafter, and measure its costs if they aren't known."""
        target = self._request.target
        tuned = self._request.tuned
        if self._engine.folders != (target, drafter) or (self._engine.pair.info.tuned and not tuned):
            for event in self._engine.load(target, drafter, self._request.drafter_bits, tuned):
                yield event
                if self._cancel.is_set():
                    return
        if not self._engine.pair.history.costs.table.reliable:
            yield from calibrate(self._engine.pair, self._cancel)

    def run(self, proposer: Proposer) -> Generator[Event, None, DrafterResult | None]:
        """Generate the replies of one kind, or return None if that failed."""
        pair = self._engine.pair
        info = pair.info
        result = DrafterResult(proposer)
        if proposer == "drafter":
            assert pair.drafter is not None
            size = sum(array.nbytes for array in pair.drafter.parameters())
            result = DrafterResult(proposer, info.drafter_kind, info.drafter, info.drafter_folder, size)
        answered: list[GenerationRequest] = []
        replies: list[list[CompletedReply]] = []
        for index, asked in enumerate(self._prompts):
            found = yield from self._answer(proposer, asked, result.folder)
            if isinstance(found, Failed) and proposer == "plain":
                self.left_out.append((index, EngineText(found.code, found.message, found.values)))
            elif isinstance(found, Failed):
                return replace(result, problem=found)
            elif found is None:
                return None
            else:
                answered.append(asked)
                replies.append(found)
        if not replies:
            yield Failed.because(UserError.of(self.left_out[0][1]))
            return None
        if proposer == "plain":
            self._prompts, self.plain = answered, replies
        self._save_speeds(proposer, replies)
        with memory.enough_for(NO_MEMORY):
            return self._compared(result, replies)

    def _answer(
        self, proposer: Proposer, asked: GenerationRequest, folder: Path | None
    ) -> Generator[Event, None, list[CompletedReply] | Failed | None]:
        """Generate replies to a prompt. Return why not, or None if canceled."""
        asked = replace(asked, mode="plain" if proposer == "plain" else "dflash")
        if proposer == "lookup":
            asked = replace(asked, lookup_only=True, width=None)
        replies: list[CompletedReply] = []
        for _ in range(self._repeats):
            if self._done:
                self._cancel.wait(self._request.pause_s)  # a cancel also ends the next run
            total = (2 + len(self._request.drafters)) * self._repeats * len(self._request.requests)
            yield DrafterRun(proposer, self._engine.pair.info.drafter_kind, folder, self._done, total)
            self._done += 1
            events: list[Event] = []
            for event in self._engine.generate(asked, self._cancel):
                events.append(event)
                if not isinstance(event, Failed):
                    yield event
            end = events[-1]
            if isinstance(end, Failed):
                return end
            if not isinstance(end, Finished) or end.reason == "cancelled":
                return None
            replies.append(fold(events))
        return replies

    def _compared(self, result: DrafterResult, replies: Sequence[Sequence[CompletedReply]]) -> DrafterResult:
        """Return a result with these replies, compared with the plain ones."""
        shown: list[CompletedReply] = []
        worst: tuple[int, TextDifference] | None = None
        identical, tokens, seconds = 0, 0, 0.0
        for index, (asked, plain, found) in enumerate(zip(self._prompts, self.plain, replies, strict=True)):
            _, reply, difference = worst_pair(self._engine.pair, asked, plain, found)
            shown.append(reply)
            identical += difference is None
            if difference is not None and (worst is None or (worst[1].tie and not difference.tie)):
                worst = index, difference
            rates = [one.stats.decode_tok_s for one in found if one.stats.decode_tok_s]
            if rates:
                tokens += reply.stats.tokens - 1
                seconds += (reply.stats.tokens - 1) / median(rates)
        result = replace(result, replies=tuple(shown), tok_s=tokens / seconds if seconds else None, identical=identical)
        if worst is None:
            return result
        index, difference = worst
        is_tie = difference.tie and not self._prompts[index].exact
        verdict: ComparisonVerdict = "tie" if is_tie else "different"
        differs = replace(result, different_in=index, first_difference=difference.at, margin=difference.margin)
        return replace(differs, verdict=verdict)

    def _save_speeds(self, proposer: Proposer, replies: Sequence[Sequence[CompletedReply]]) -> None:
        """Save the speeds of replies in the usual mode, as the user's."""
        if proposer == "lookup" or any(one.exact or one.width for one in self._prompts):
            return
        assert self._engine.folders is not None
        record_speeds(speed_key(*self._engine.folders), [reply.stats for each in replies for reply in each])
