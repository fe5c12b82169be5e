"""The engine of rank 0, whose target several ranks run."""

import logging
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Event, LoadProgress, PairInfo
from mlx_engine.contract.requests import Calibrate, Compare, GenerationRequest, MeasureMachine, Request, SelectKernels, TuneDrafter
from mlx_engine.decoding.scheduler import Scheduler
from mlx_engine.decoding.stream import Stream
from mlx_engine.decoding.turns import ReplyTurns
from mlx_engine.engine.engine import Engine
from mlx_engine.engine.generation import Events
from mlx_engine.engine.memory_use import no_memory
from mlx_engine.hardware import memory
from mlx_engine.hardware.memory import OutOfMemory
from mlx_engine.loading.loaded_pair import LoadedPair
from mlx_engine.loading.target_model import TargetModel, read_target
from mlx_engine.targets.sharded import ShardedTarget
from mlx_engine.targets.sharding import Sharding

log = logging.getLogger(__name__)

NOT_SHARDED = EngineText.of("not_sharded", "This isn't available with a model that runs on several computers.")


class Ring(Protocol):
    """The other ranks."""

    def connect(self, target: Path) -> Generator[LoadProgress, None, Sharding]:
        """Connect to the other ranks, which begin to read the target.

        Those that don't have it get a copy first.
        """

    def wait_until_loaded(self, sharding: Sharding) -> None:
        """Wait until the other ranks have read it, and watch them from now on."""

    def give_up(self, reason: EngineText | None) -> None:
        """End this process for a reason, because rank 0 has failed."""


class _LedScheduler(Scheduler):
    """The scheduler of rank 0; see `_LedTurns`."""

    def __init__(self, give_up: Callable[[], object]) -> None:
        super().__init__()
        self._give_up = give_up

    def _lose(self, streams: Sequence[Stream], error: Exception) -> None:
        self._give_up()


class _LedTurns(ReplyTurns):
    """The turns of rank 0, where an error of a pass can't be survived.

    The other ranks would take the next pass for the rest of the one that failed.
    """

    def __init__(self, give_up: Callable[[], object]) -> None:
        self._give_up = give_up
        super().__init__()

    def new_scheduler(self) -> Scheduler:
        return _LedScheduler(self._give_up)

    @property
    def faults(self) -> int:
        return 0

    @faults.setter
    def faults(self, count: int) -> None:
        if count:
            self._give_up()


class LedEngine(Engine):
    """The engine of rank 0.

    Prompts aren't saved on disk, and kernels and costs of this computer alone aren't used. Exact mode isn't available: the sums of
    several ranks depend on a row's place.

    Args:
        make_ring: returns the other ranks; called once, when the first pair is loaded.
    """

    def __init__(self, make_ring: Callable[[], Ring]) -> None:
        super().__init__()
        self._make_ring = make_ring
        self._ring: Ring | None = None
        self._turns = _LedTurns(self._give_up)

    def run(self, request: Request, cancel: threading.Event | None = None) -> Iterator[Event]:
        if isinstance(request, Calibrate | MeasureMachine | SelectKernels | TuneDrafter):
            raise UserError.of(NOT_SHARDED)
        events = super().run(request, cancel)
        return self._guarded(events) if isinstance(request, Compare) else events

    def _guarded(self, events: Iterator[Event]) -> Iterator[Event]:
        with self._giving_up():
            yield from events

    def save_prompts(self, folder: Path | None, quota: int | None = None) -> None:
        """Save nothing: other ranks have parts of what would be saved."""

    def forget_prompts(self, chats: tuple[str, ...] | None, runs: bool = True) -> bool:
        is_done = super().forget_prompts(chats, runs)
        if self._pair is not None and isinstance(self._pair.target, ShardedTarget):
            self._pair.target.free_everywhere()
        return is_done

    def steps(
        self, request: GenerationRequest, cancel: threading.Event | None = None, submitted: float | None = None
    ) -> Generator[Events, None, None]:
        if request.exact:
            raise UserError("sharded_not_exact", "Exact mode isn't available on several computers. Turn it off.")
        with self._giving_up():
            yield from super().steps(request, cancel, submitted)

    @contextmanager
    def _giving_up(self) -> Iterator[None]:
        """End this process after an error in this block.

        The other ranks wait for the rest of a pass.
        """
        try:
            yield
        except Exception as error:
            if self._ring is None or (isinstance(error, UserError) and not isinstance(error, OutOfMemory)):
                raise
            self._give_up(error.text if isinstance(error, OutOfMemory) else None)

    def _give_up(self, reason: EngineText | None = None) -> None:
        log.exception("Rank 0 has failed")
        if self._ring is not None:
            self._ring.give_up(reason)

    def _read(self, target: Path, drafter: Path | None) -> Generator[LoadProgress, None, TargetModel]:
        known = self._pair.model if self._pair is not None else None
        if known is not None and known.is_of(target):
            self._free()
            return known
        if self._ring is not None:
            raise UserError("sharded_other_target", "On several computers, only drafters of the loaded target can be compared.")
        yield LoadProgress(0.05, EngineText.of("connecting_workers", "Connecting to the other computers"))
        self._ring = self._make_ring()
        sharding = yield from self._ring.connect(target)
        memory.bound_spare_buffers()
        with memory.enough_for(no_memory(target, drafter)):
            source = yield from read_target(target, sharding)
        with self._giving_up():
            self._ring.wait_until_loaded(sharding)
        return source

    def _combine(
        self, source: TargetModel, drafter: Path | None, drafter_bits: int | None, tuned: bool
    ) -> Iterator[LoadProgress | PairInfo]:
        with self._giving_up():
            yield from super()._combine(source, drafter, drafter_bits, tuned)

    def _with_measurements(self, pair: LoadedPair) -> PairInfo:
        assert pair.model.sharding is not None
        return replace(pair.info, calibrated=True, kernels_selected=True, computers=pair.model.sharding.group.size())
