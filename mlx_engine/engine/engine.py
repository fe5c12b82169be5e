"""The engine: a loaded pair that answers requests.

MLX arrays belong to the thread that created them, so one thread creates an `Engine` and makes all calls. Other threads may only set
`cancel` events.
"""

import logging
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import mlx.core as mx

from mlx_engine.calibration import calibration, kernel_selection, roofline
from mlx_engine.contract import limits
from mlx_engine.contract.errors import EngineText, UserError, WorkCancelled
from mlx_engine.contract.events import Event, Failed, Finished, LoadProgress, PairInfo, PrefillProgress, PromptsSaved
from mlx_engine.contract.machine_events import MemoryUse, ReliefStep
from mlx_engine.contract.requests import (
    Calibrate,
    Compare,
    Connect,
    CountTokens,
    ForgetPrompts,
    GenerationRequest,
    KeepPrompts,
    LoadPair,
    MeasureMachine,
    Message,
    ReadMemory,
    Request,
    Rest,
    SavePrompts,
    SelectKernels,
    TuneDrafter,
    UnloadPair,
)
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.contract.urgency import Urgency
from mlx_engine.decoding.turns import ReplyClock, ReplyTurns
from mlx_engine.engine import prepare
from mlx_engine.engine.generation import NO_MEMORY, Events, generate_reply
from mlx_engine.engine.local_comparison import compare
from mlx_engine.engine.memory_use import check_weights, memory_ledger, memory_use, no_memory
from mlx_engine.engine.relief import Relief
from mlx_engine.formats.template_sandbox import renderer
from mlx_engine.hardware import gpu_faults, memory
from mlx_engine.hardware.ledger import MemoryLedger
from mlx_engine.loading.loaded_pair import LoadedPair, load
from mlx_engine.loading.target_model import TargetModel, read_target
from mlx_engine.media import media_process
from mlx_engine.models.files.loadable import check_loadable
from mlx_engine.models.files.tuning_files import delete_runs
from mlx_engine.models.fit import snapshot_budget
from mlx_engine.models.library.installed import auto_drafters
from mlx_engine.models.library.library import model_name
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.prefix.fingerprint import fingerprint
from mlx_engine.prefix.part_store import PrefixStore
from mlx_engine.prefix.snapshots import Snapshots
from mlx_engine.tuning.tuner import tune

log = logging.getLogger(__name__)

_CHECKING = EngineText.of("checking_files", "Checking files")
_BUSY = EngineText.of("engine_busy", "A reply is still being generated. Stop it or wait for it to finish, then try again.")


class Engine:
    """An engine that runs one pair at a time."""

    def __init__(self) -> None:
        self._pair: LoadedPair | None = None
        self._snapshots: Snapshots | None = None
        self._ledger: MemoryLedger | None = None
        self._turns = ReplyTurns()
        self._store: PrefixStore | None = None
        self._fingerprint = ""

    @property
    def pair(self) -> LoadedPair:
        """The loaded pair.

        Raises:
            UserError: no pair is loaded.
        """
        if self._pair is None:
            raise UserError("no_pair_loaded", "No model is loaded. Load one first.")
        return self._pair

    @property
    def folders(self) -> tuple[Path, Path | None] | None:
        """The folders of the loaded pair, if any."""
        return self._pair.folders if self._pair is not None else None

    @property
    def snapshots(self) -> Snapshots:
        """Snapshots of past prompts of the loaded pair, for later turns."""
        assert self._snapshots is not None
        return self._snapshots

    def run(self, request: Request, cancel: threading.Event | None = None) -> Iterator[Event]:
        """Run any request, and yield its events.

        Raises:
            UserError: the request can't be run.
        """
        cancel = cancel or threading.Event()
        match request:
            case LoadPair():
                target, drafter = (request.target, request.drafter) if request.target else demo_pair()
                if request.auto:
                    return self._load_fastest(target, drafter, request)
                return self.load(target, drafter, request.drafter_bits, request.tuned)
            case UnloadPair():
                self.unload()
                return iter(())
            case GenerationRequest():
                return self.generate(request, cancel)
            case Compare():
                return self._without_rest(compare(self, request, cancel))
            case Rest(share=share):
                self._turns.let_rest(share)
                return iter(())
            case CountTokens():
                with suppress(WorkCancelled):
                    return iter((self.count_tokens(request, cancel),))
                return iter(())
            case SavePrompts(folder=folder, quota=quota):
                self.save_prompts(folder, quota)
                return iter((self._prompts_saved(),))
            case ForgetPrompts(chats=chats, runs=runs):
                is_done = self.forget_prompts(chats, runs)
                return iter((replace(self._prompts_saved(), undeleted=not is_done),))
            case KeepPrompts(chats=chats):
                if self._store is not None:
                    self._store.keep_only(chats)
                return iter((self._prompts_saved(),))
            case MeasureMachine(again=again):
                return roofline.measure(self._idle_pair(), cancel, again)
            case Calibrate():
                return calibration.calibrate(self._idle_pair(), cancel)
            case TuneDrafter():
                return tune(self._idle_pair(), self.generate, request, cancel)
            case SelectKernels(again=again, seconds=seconds):
                return self._without_rest(
                    kernel_selection.select(self._idle_pair(), partial(compare, self), cancel, again, seconds)
                )
            case Connect() | ReadMemory():
                raise TypeError("EngineSwitch connects to servers, and EngineHost reads memory")

    def load(
        self, target: Path, drafter: Path | None, drafter_bits: int | None = None, tuned: bool = True
    ) -> Iterator[LoadProgress | PairInfo]:
        """Replace the loaded pair. The current pair stays if the new files are refused.

        A target that is already loaded isn't read again, unless its files have changed.

        Args:
            target: folder with config.json, weights, and tokenizer.
            drafter: folder of the drafter, or None for plain decoding.
            drafter_bits: 4 or 8 quantizes the drafter's matrices, 16 keeps the published weights, None chooses automatically.
            tuned: whether to use the drafter's LoRA weights for this target, if there are any.

        Yields:
            `LoadProgress` events, then the `PairInfo`.

        Raises:
            UserError: the pair can't be run.
        """
        yield LoadProgress(0.0, _CHECKING)
        check_loadable(target, drafter)
        source = yield from self._read(target, drafter)
        yield from self._combine(source, drafter, drafter_bits, tuned)

    def _load_fastest(self, target: Path, drafter: Path | None, request: LoadPair) -> Iterator[LoadProgress | PairInfo]:
        """Load a target with the drafter that was fastest here.

        If a drafter can't be loaded, the next candidate is tried, and plain decoding last. See `load`.
        """
        yield LoadProgress(0.0, _CHECKING)
        check_loadable(target, None)
        source: TargetModel | None = None
        left_out: list[tuple[Path, EngineText]] = []  # not the errors, whose frames hold weights
        for candidate in (*auto_drafters(target, drafter), None):
            try:
                check_loadable(target, candidate)
            except UserError as error:
                assert candidate is not None
                left_out.append((candidate, error.text))
                continue
            source = source or (yield from self._read(target, candidate))
            try:
                for event in self._combine(source, candidate, request.drafter_bits, request.tuned):
                    if isinstance(event, PairInfo) and left_out:
                        event = replace(event, why_not_fastest=_why_not_fastest(*left_out[0], candidate))
                    yield event
                return
            except UserError as error:
                if candidate is None:
                    raise
                left_out.append((candidate, error.text))

    def _read(self, target: Path, drafter: Path | None) -> Generator[LoadProgress, None, TargetModel]:
        """Free the pair, and return the model of the next one's target."""
        known = self._pair.model if self._pair is not None else None
        check_weights(target, drafter)
        self._free()
        memory.bound_spare_buffers()
        if known is not None and known.is_of(target):
            return known
        known = None
        with memory.enough_for(no_memory(target, drafter)):
            return (yield from read_target(target))

    def _combine(
        self, source: TargetModel, drafter: Path | None, drafter_bits: int | None, tuned: bool
    ) -> Iterator[LoadProgress | PairInfo]:
        target = source.folder
        with memory.enough_for(no_memory(target, drafter)):
            for event in load(source, drafter, drafter_bits, tuned):
                if not isinstance(event, LoadedPair):
                    yield event
                    continue
                info = self._with_measurements(event)
                self._pair = event
                self._turns.forget_speeds()
                self._snapshots = Snapshots(event.target, event.drafter, *snapshot_budget(memory.working_set(), event.held))
                self._fingerprint = _fingerprint(target, drafter, event)
                self._snapshots.use_store(self._store, self._fingerprint)
                self._ledger = memory_ledger(event)
                yield info

    def _with_measurements(self, pair: LoadedPair) -> PairInfo:
        """Use what was measured for a pair on this computer, and return what to report."""
        return kernel_selection.restored(pair)

    def unload(self) -> None:
        """Free the pair and its snapshots, and end idle child processes."""
        self._free()
        renderer.end_idle()
        media_process.end_idle()

    def _free(self) -> None:
        """Free the pair and its snapshots. Replies in progress end without more events."""
        for reply in list(self._turns.replies):
            reply.close()
        self._turns.replies.clear()
        if self._snapshots is not None:
            self._snapshots.use_store(None, "")
        self._snapshots = self._ledger = None
        if self._pair is not None:
            self._pair.target.release()
            self._pair = None
        mx.clear_cache()

    def save_prompts(self, folder: Path | None, quota: int | None = None) -> None:
        """Save prompts in a folder, and read saved ones; see `SavePrompts`."""
        before, self._store = self._store, PrefixStore(folder, quota) if folder is not None else None
        if self._snapshots is not None:
            self._snapshots.use_store(self._store, self._fingerprint)
        if before is not None:
            before.close()

    def forget_prompts(self, chats: tuple[str, ...] | None, runs: bool = True) -> bool:
        """Delete saved prompts, on disk and in memory; see `ForgetPrompts`.

        Returns:
            False if deleting all failed, else True.
        """
        if chats is None and runs:
            delete_runs()
        if self._snapshots is not None:
            self._snapshots.forget(chats)
        if chats != () and self._pair is not None and self._pair.images is not None:
            self._pair.images.forget()
        if self._store is not None and chats is None:
            return self._store.clear()
        if self._store is not None and chats:
            self._store.forget(*chats)
        return True

    def _prompts_saved(self) -> PromptsSaved:
        if self._store is None:
            return PromptsSaved()
        use = self._store.use()
        return PromptsSaved(use.bytes, use.quota, use.saved_tokens)

    def save_next(self) -> float | None:
        """Save a part of a past prompt on disk, between replies.

        Returns:
            The seconds after which to call this again, or None if everything is saved.
        """
        if self._snapshots is None:
            return None
        try:
            return self._snapshots.save_next()
        except (RuntimeError, ValueError) as error:
            if (fault := gpu_faults.find(error)) is None:
                raise
        log.warning("GPU error while a prompt was saved: %s", fault.message)
        self._turns.faults += 1
        memory.settle()
        self.free_memory()  # the failed work may have computed any snapshot; the next turn computes the prompt again
        return None

    def free_memory(self, count: int | None = None) -> int:
        """Free memory between two events: snapshots, then MLX's unused buffers.

        Args:
            count: bytes of snapshots to free, least recently used first; None for all, and for what images need.

        Returns:
            The number of bytes freed.
        """
        before = memory.held()
        if self._snapshots is not None:
            self._snapshots.drop(count)
        if count is None and self._pair is not None and self._pair.images is not None:
            self._pair.images.release()
        mx.clear_cache()
        return before - memory.held()

    def give_back(self, step: ReliefStep, narrows: bool = True) -> None:
        """Take the engine's part of the steps up to this one.

        Call it between two steps of replies.

        Args:
            step: the last step to take.
            narrows: whether replies may be paused or ended.
        """
        if step >= ReliefStep.SNAPSHOTS and self._snapshots is not None:
            if step >= ReliefStep.BACKGROUND or self._turns.replies:
                self._snapshots.drop()
            else:  # or every turn would compute its whole chat while a warning lasts, which can take hours
                self._snapshots.drop_older()
        if step >= ReliefStep.BUFFERS:
            images = self._pair.images if self._pair is not None else None
            if images is not None and not images.prompts:  # or a prompt would load the tower for each of its images
                images.release()
            mx.clear_cache()
        if self._ledger is not None:
            self._ledger.narrow(narrows and step >= ReliefStep.CACHES, narrows and step >= ReliefStep.BACKGROUND)
            if narrows and step == ReliefStep.ENDING:
                self._ledger.end_youngest()

    @property
    def can_give_back(self) -> bool:
        """Whether memory is held that nothing in progress needs."""
        return mx.get_cache_memory() > 0 or (self._snapshots is not None and self._snapshots.nbytes > 0)

    def memory_use(self, relief: Relief, tuning: int | None) -> MemoryUse:
        """Return what holds memory now; see `memory_use.memory_use`."""
        return memory_use(self._pair, self._snapshots, self._ledger, self._turns, relief, tuning)

    def count_tokens(self, request: CountTokens, cancel: threading.Event | None = None) -> TokenCount:
        """Return the number of tokens of a chat.

        Raises:
            UserError: the chat is rejected, or so long that counting would take long.
        """
        self._turns.scheduler.interrupt()
        return prepare.count_tokens(self.pair, request, cancel)

    def read_sizes(self, messages: Sequence[Message], cancel: threading.Event) -> Iterator[None]:
        """Read the sizes of images, step by step, before a request with them runs.

        Another process reads them. Without this, the request waits for it in its first step, and other replies with it.

        Raises:
            UserError: an image can't be read, or the pair can't see images.
        """
        if self._pair is None or not any(message.images for message in messages):
            return
        reader = self._pair.images
        limits.check_images(messages, reader is not None, self._pair.info.why_cannot_see)
        assert reader is not None
        with suppress(WorkCancelled):  # the request finds that it is canceled
            yield from reader.read_sizes(messages, cancel, lambda: not self._turns.replies)

    def awaits_memory(self, urgency: Urgency) -> bool:
        """Return whether a reply waits for memory that goes before this urgency."""
        return self._ledger is not None and self._ledger.is_awaited(urgency)

    def gains(self, running: int) -> bool:
        """Return whether more replies would be faster together, if measured."""
        return self._turns.scheduler.gain.expected(running)

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Generator[Event, None, None]:
        """Generate a reply, and yield its events. See `steps`."""
        with closing(self.steps(request, cancel)) as steps:
            for events in steps:
                yield from events

    def steps(
        self, request: GenerationRequest, cancel: threading.Event | None = None, submitted: float | None = None
    ) -> Generator[Events, None, None]:
        """Generate a reply step by step.

        If memory runs out before the first token, the reply is retried once after other replies have ended. Steps of several
        replies can alternate, but exact ones only with each other.

        Args:
            request: the reply to generate.
            cancel: ends the reply after the current step.
            submitted: time of the request, from `time.perf_counter`; None means now.

        Yields:
            The events of each step: `PrefillProgress`, then `Round` and `Commit`, then `Finished`; or `Failed`. A step of a reply
            that waits for memory has none. Closing the generator ends the reply.
        """
        if self._turns.replies and request.exact != (self.pair.running_exactly is not None):
            yield [Failed.because(UserError.of(_BUSY))]
            return
        cancel = cancel or threading.Event()
        clock = ReplyClock(self._turns, submitted)
        for retry in (True, False):
            reply, began, failure, ledger = None, False, NO_MEMORY, self._ledger
            try:
                pair = self.pair
                assert ledger is not None
                reply = generate_reply(pair, self.snapshots, request, cancel, clock, ledger)
                self._turns.replies.append(reply)
                with memory.wired(), closing(reply):
                    for events in reply:
                        began = began or not all(isinstance(event, PrefillProgress) for event in events)
                        operations = pair.operations
                        clock.pause()
                        yield events
                        clock.resume()
                        if not any(isinstance(event, Finished) for event in events):
                            clock.rest(cancel)
                        if pair.operations is not operations:
                            pair.run_operations(operations)
                return
            except UserError as error:
                retry, failure = False, error.text  # not the error, whose traceback holds this frame
            except (RuntimeError, MemoryError) as error:
                if not memory.exhausted(error):
                    raise
            finally:
                if reply in self._turns.replies:
                    self._turns.replies.remove(reply)
                if ledger is not None:
                    ledger.release(clock)
            if failure is NO_MEMORY:
                self._turns.faults += 1
                self.free_memory()  # outside the handler, because its traceback holds the failed pass's arrays
            if began or not retry:
                yield [Failed.because(UserError.of(failure))]
                return
            others = list(self._turns.replies)  # hold the memory; later replies don't count
            while any(other in self._turns.replies for other in others) and not cancel.is_set():
                clock.pause()
                yield []
                clock.resume()

    def _without_rest(self, events: Iterator[Event]) -> Iterator[Event]:
        """Yield the events of a measurement, which runs alone, without resting."""
        share = self._turns.rest_share
        self._turns.let_rest(0.0)
        try:
            yield from events
        finally:
            self._turns.let_rest(share)

    def _idle_pair(self) -> LoadedPair:
        if self._turns.replies:
            raise UserError.of(_BUSY)
        return self.pair


def _why_not_fastest(drafter: Path, reason: EngineText, used: Path | None) -> EngineText:
    name = model_name(drafter)
    if used is None:
        template = "No drafter can be loaded, so DFlash is off. “{drafter}”: {reason}"
        return EngineText.of("no_drafter_usable", template, drafter=name, reason=reason)
    template = "The drafter “{drafter}” can't be loaded, so another one is used. {reason}"
    return EngineText.of("drafter_skipped", template, drafter=name, reason=reason)


def _fingerprint(target: Path, drafter: Path | None, pair: LoadedPair) -> str:
    """Return the pair's fingerprint, or "" if its files can't be read."""
    drafter_weights = pair.info.drafter_weights + (" tuned" if pair.info.tuned else "")
    settings = [drafter_weights, str(pair.dtype), str(mx.device_info().get("device_name", "CPU"))]
    if pair.images is not None:
        settings += [version("pillow"), version("pi-heif")]  # which decode images
    try:
        return fingerprint((target, drafter), settings)
    except OSError:
        return ""
