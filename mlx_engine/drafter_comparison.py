"""Comparison of a target's drafters with each other, with lookup, and with plain decoding."""

import secrets
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Protocol

from mlx_engine import memory
from mlx_engine.comparison import NO_MEMORY, collect, worst_pair
from mlx_engine.errors import EngineText, UserError
from mlx_engine.events import (
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
from mlx_engine.loading import LoadedPair
from mlx_engine.pairs.library import model_name
from mlx_engine.pairs.speeds import MeasuredSpeeds, speed_key
from mlx_engine.requests import CompareDrafters, GenerationRequest
from mlx_engine.tuning.calibration import calibrate

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
    """Generate replies with each drafter in turn, with one seed, and compare them with plain ones.

    The loaded drafter comes first. Speeds are saved, so that the fastest drafter can be loaded later.

    Yields:
        The events of loading, calibration, and replies, a `DrafterRun` before each reply, and a `DrafterResult` after the last
        reply of each kind. The last event is `DraftersCompared`, unless `cancel` was set or plain decoding failed.

    Raises:
        UserError: no drafter could be loaded, or memory ran out while comparing.
    """
    seed = secrets.randbits(32) if request.request.seed is None else request.request.seed
    runs = _Runs(engine, replace(request, request=replace(request.request, seed=seed, reuse=False)), cancel)
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
    yield DraftersCompared(tuple(results[one] for one in order))


class _Runs:
    """The runs of a comparison.

    Attributes:
        plain: replies without drafts, empty until the first drafter is loaded.
    """

    def __init__(self, engine: Loader, request: CompareDrafters, cancel: threading.Event) -> None:
        self._engine, self._request, self._cancel = engine, request, cancel
        self._index, self._total = 0, (2 + len(request.drafters)) * max(request.repeats, 1)
        self.plain: list[CompletedReply] = []

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
        """Generate the replies of one kind. Return None if canceled, or if plain decoding failed."""
        pair = self._engine.pair
        info, common = pair.info, self._request.request
        asked = replace(common, mode="plain" if proposer == "plain" else "dflash")
        if proposer == "lookup":
            asked = replace(asked, lookup_only=True, width=None)
        result = DrafterResult(proposer)
        if proposer == "drafter":
            assert pair.drafter is not None
            size = sum(array.nbytes for array in pair.drafter.parameters())
            result = DrafterResult(proposer, info.drafter_kind, info.drafter, info.drafter_folder, size)
        replies: list[CompletedReply] = []
        for _ in range(max(self._request.repeats, 1)):
            if self._index:
                self._cancel.wait(self._request.pause_s)  # a cancel also ends the next run
            yield DrafterRun(proposer, info.drafter_kind, result.folder, self._index, self._total)
            self._index += 1
            events: list[Event] = []
            for event in self._engine.generate(asked, self._cancel):
                events.append(event)
                if not isinstance(event, Failed):
                    yield event
            end = events[-1]
            if isinstance(end, Failed) and proposer != "plain":
                return replace(result, problem=end)
            if not isinstance(end, Finished) or end.reason == "cancelled":
                if isinstance(end, Failed):
                    yield end
                return None
            replies.append(collect(events, end))
        self.plain = self.plain or replies
        self._save_speeds(proposer, replies)
        rates = [reply.stats.decode_tok_s for reply in replies if reply.stats.decode_tok_s]
        with memory.enough_for(NO_MEMORY):
            _, reply, difference = worst_pair(pair, common, self.plain, replies)
        result = replace(result, reply=reply, tok_s=median(rates) if rates else None)
        if difference is None:
            return result
        verdict: ComparisonVerdict = "tie" if difference.tie and not common.exact else "different"
        return replace(result, first_difference=difference.at, margin=difference.margin, verdict=verdict)

    def _save_speeds(self, proposer: Proposer, replies: Sequence[CompletedReply]) -> None:
        """Save the speeds of replies that are as the user's, with the width chosen and in the usual mode."""
        if proposer == "lookup" or self._request.request.exact or self._request.request.width:
            return
        speeds, folders = MeasuredSpeeds(), self._engine.folders
        assert folders is not None
        if any([speeds.record(speed_key(*folders), reply.stats) for reply in replies]):
            speeds.save()
