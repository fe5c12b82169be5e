"""The one door to decoding: load a pair, answer requests, compare, unload.

Single-threaded by contract: MLX arrays belong to the thread that made them, so one thread builds an `Engine` and makes every call.
Only the `cancel` events that requests carry may be set from elsewhere.
"""

import secrets
import threading
import time
from collections.abc import Collection, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import mlx.core as mx

from mlx_engine import chat, limits, memory
from mlx_engine.comparison import compare
from mlx_engine.decoding import queued_rounds
from mlx_engine.decoding.costs import ASSUMED, Table
from mlx_engine.decoding.plain import plain
from mlx_engine.decoding.prefill import prefill
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.speculative import Rounds
from mlx_engine.decoding.step import Step
from mlx_engine.decoding.width import Automatic, Controller, Experience, Fixed
from mlx_engine.drafters.backlog import Backlog
from mlx_engine.drafters.lookup import Lookup
from mlx_engine.errors import UserError
from mlx_engine.events import (
    Calibrated,
    CalibrationProgress,
    Event,
    Failed,
    Finished,
    KernelsSelected,
    KernelTrial,
    LoadProgress,
    PairInfo,
    PrefillProgress,
    Roofline,
    Round,
    StopReason,
    TokenCount,
)
from mlx_engine.kernels.operations import with_kernels
from mlx_engine.loading import LoadedPair, check, load
from mlx_engine.pairs.checkpoint import weight_bytes
from mlx_engine.pairs.demo import demo_pair
from mlx_engine.prefix.boundaries import boundaries
from mlx_engine.prefix.snapshots import Branch, Snapshots
from mlx_engine.reply_stats import Tally
from mlx_engine.requests import (
    Calibrate,
    CompareRequest,
    CountTokens,
    GenerationRequest,
    LoadPair,
    MeasureMachine,
    Mode,
    Request,
    SelectKernels,
)
from mlx_engine.tuning import calibration, kernel_trials, roofline
from mlx_engine.tuning.readiness import ready
from mlx_engine.tuning.trial_bench import Bench


class Engine:
    """Runs one pair at a time.

    Args:
        snapshot_bytes: for what later turns may reuse; None: half of what the weights leave of this machine's working set.
        lookup: whether automatic rounds may also test copies of prompt and reply.
    """

    def __init__(self, snapshot_bytes: int | None = None, lookup: bool = True) -> None:
        self._lookup = lookup
        self._snapshot_bytes = snapshot_bytes
        self._pair: LoadedPair | None = None
        self._experience = Experience(1)
        self._snapshots: Snapshots | None = None
        self._running: Generator[Event, None, None] | None = None
        self._trials: list[KernelTrial] = []  # of a stopped `prove` of this pair

    @property
    def pair(self) -> LoadedPair:
        """The loaded pair.

        Raises:
            UserError: none is.
        """
        if self._pair is None:
            raise UserError("No pair is loaded. Load one first.")
        return self._pair

    @property
    def snapshots(self) -> Snapshots:
        """What is kept of the loaded pair's chats.

        Raises:
            UserError: no pair is loaded.
        """
        if self._snapshots is None:
            raise UserError("No pair is loaded. Load one first.")
        return self._snapshots

    def load(self, target: Path, drafter: Path | None, drafter_bits: int | None = None) -> Iterator[LoadProgress | PairInfo]:
        """Load a pair in place of the present one, which stays if the new one is refused by its files.

        Args:
            target: folder with config.json, weights and tokenizer.
            drafter: folder of its DFlash drafter, or None to decode plainly only.
            drafter_bits: what the drafter's matrices are quantised to, 4 or 8; 16 for as published; None for what usually suits.

        Yields:
            Progress, and last the `PairInfo`.

        Raises:
            UserError: the pair cannot be run; the sentence says why.
        """
        yield LoadProgress(0.0, "Checking the files")
        check(target, drafter)
        self.unload()
        memory.bound_spare_buffers()
        weights = (weight_bytes(target) + (weight_bytes(drafter) if drafter else 0)) / 1e9
        with memory.enough_for(f"for this pair: its weights are {weights:,.1f} GB of files"):
            for event in load(target, drafter, drafter_bits):
                if isinstance(event, LoadedPair):
                    self._take(event)
                    plain = event.drafter is None
                    yield replace(
                        event.info,
                        calibrated=plain or self._experience.costs.table.settled,
                        proved=plain or not kernel_trials.possible() or bool(kernel_trials.known(event)),
                    )
                else:
                    yield event

    def _take(self, pair: LoadedPair) -> None:
        budget = memory.snapshot_budget(pair.held) if self._snapshot_bytes is None else self._snapshot_bytes
        table = ready(pair)
        self._trials = []
        self._experience = Experience(pair.info.block_size, table or ASSUMED, self._lookup)
        self._pair, self._snapshots = pair, Snapshots(pair.target, pair.drafter, budget)

    def run(self, request: Request, cancel: threading.Event) -> Iterator[Event]:
        """Run a request of any kind.

        Raises:
            UserError: the request can't be run, with what to do.
        """
        match request:
            case LoadPair(target=None):
                yield from self.load(*demo_pair())
            case LoadPair(target=Path() as target, drafter=drafter):
                yield from self.load(target, drafter)
            case GenerationRequest():
                yield from self.generate(request, cancel)
            case CompareRequest():
                yield from self.compare(request, cancel)
            case CountTokens():
                yield self.count_tokens(request)
            case MeasureMachine(again=again):
                yield from self.roofline(cancel, again)
            case Calibrate():
                yield from self.calibrate(cancel)
            case SelectKernels():
                yield from self.prove(cancel)

    def unload(self) -> None:
        """Free the pair and all that was kept of its chats; a reply that is still being written ends without a word."""
        if self._running is not None:
            self._running.close()
            self._running = None
        self._snapshots = None
        if self._pair is not None:
            self._pair.target.release()
            self._pair = None
        mx.clear_cache()

    def relieve(self, wanted: int | None = None) -> int:
        """Give memory back between two events: what later turns could have reused, then MLX's spare buffers.

        Args:
            wanted: bytes; the least recently used goes until that many are free. None: everything.

        Returns:
            Bytes that went.
        """
        before = memory.held()
        if self._snapshots is not None:
            self._snapshots.drop(wanted)
        mx.clear_cache()
        return before - memory.held()

    def count_tokens(self, request: CountTokens) -> TokenCount:
        """How many tokens a chat takes, and how many the target can hold."""
        tokens = chat.template(self.pair.tokenizer, request.messages, request.thinking)
        return TokenCount(len(tokens), self.pair.info.context_limit)

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        """Answer a request.

        Yields:
            `PrefillProgress`, then `Round` and `Commit`, then `Finished`; or `Failed` with a sentence, after which the engine is
            ready for the next request. Closing the generator ends the reply.
        """
        if self._running is not None:
            yield Failed("engine_busy", "A reply is still being generated. Stop it or wait until it is done, then try again.")
            return
        running = self._running = self._relieved(request, cancel or threading.Event())
        try:
            with memory.wired():
                yield from running
        except UserError as error:
            yield Failed.because(error)
        finally:
            running.close()
            if self._running is running:
                self._running = None

    def _relieved(self, request: GenerationRequest, cancel: threading.Event) -> Generator[Event, None, None]:
        """The reply; where memory runs out before its first word, once more with all the rest of it free."""
        for last in (False, True):
            begun = False
            try:
                with closing(self._generate(request, cancel)) as events:
                    for event in events:
                        begun = begun or not isinstance(event, PrefillProgress)
                        yield event
                return
            except (RuntimeError, MemoryError) as error:
                if not memory.exhausted(error):
                    raise
            self.relieve()  # here, where the error's traceback no longer holds what the failed pass had made
            if begun or last:
                yield Failed(
                    "reply_memory",
                    "There is not enough memory for this reply. Close other programs, start a new chat, or pick a smaller pair.",
                )
                return

    def reckon_with(self, table: Table) -> None:
        """Choose widths, and whether rounds are queued ahead, by these costs from the next reply on.

        Raises:
            UserError: no pair is loaded.
        """
        self._experience = Experience(self.pair.info.block_size, table, self._lookup)

    def calibrate(self, cancel: threading.Event | None = None, keep: bool = True) -> Iterator[CalibrationProgress | Calibrated]:
        """Measure what passes cost for the loaded pair, in a few seconds, so that widths are chosen well from the first round on.

        The result is kept for later starts if `keep`. Without any costs are learnt from the rounds themselves.

        Yields:
            Progress, and last what was measured; nothing more once `cancel` is set.

        Raises:
            UserError: no pair is loaded, it has no drafter, or a reply is being written.
        """
        pair = self.pair
        if self._running is not None:
            raise UserError("A reply is still being written. Stop it or wait for its end, then calibrate.")
        with memory.enough_for("to calibrate"):
            for event in calibration.measure(pair, cancel or threading.Event()):
                if isinstance(event, CalibrationProgress):
                    yield event
                    continue
                self.reckon_with(event)
                kept = keep and calibration.keep(pair, event)
                yield Calibrated(event.depths, event.widths, event.plain, event.verify, event.draft, kept)

    def prove(self, cancel: threading.Event | None = None) -> Iterator[CalibrationProgress | KernelsSelected]:
        """Find out which Metal kernels make the loaded pair quicker and leave its text alone, in about a minute, and run those.

        Yields:
            Progress, and last what became of every kernel; nothing more once `cancel` is set, and the pair runs what it ran before.
            A later call goes on with the kernel that was being tried.

        Raises:
            UserError: no pair is loaded, it has no drafter, there is no Metal, or a reply is being written.
        """
        pair, cancel = self.pair, cancel or threading.Event()
        if self._running is not None:
            raise UserError("A reply is still being written. Stop it or wait for its end, then try the kernels.")
        if pair.drafter is None:
            raise UserError("There is nothing to try: this pair has no drafter, so it decodes plainly.")
        if not kernel_trials.possible():
            raise UserError("There is no Metal here, so there are no kernels to try.")
        wanted = pair.operations
        try:
            yield CalibrationProgress(0.0, "Checking the kernels")
            done, self._trials = self._trials, []
            with memory.enough_for("to try the kernels"):
                for found in kernel_trials.prove(Bench(pair, self.generate, cancel), done=done):
                    if isinstance(found, tuple):
                        self._trials = []
                        wanted = with_kernels(tuple(trial.kernel for trial in found if trial.used))
                        kept = kernel_trials.keep(pair, found)
                        yield KernelsSelected(found, kept)
                    else:
                        self._trials.append(found)
                        yield CalibrationProgress(
                            len(self._trials) / (len(kernel_trials.KERNELS) + 1), f"{found.kernel}: {found.why}"
                        )
        except kernel_trials.Stopped:
            return
        finally:
            if self._pair is pair:
                pair.use(wanted)

    def roofline(self, cancel: threading.Event | None = None, again: bool = False) -> Iterator[CalibrationProgress | Roofline]:
        """Hold the loaded pair's passes against what this machine can do at most, in a few seconds.

        The machine itself is measured the first time only, unless `again`.

        Yields:
            Progress, and last the `Roofline`; nothing more once `cancel` is set.

        Raises:
            UserError: no pair is loaded, or a reply is being written.
        """
        pair = self.pair
        if self._running is not None:
            raise UserError("A reply is still being written. Stop it or wait for its end, then measure.")
        with memory.enough_for("to measure"), memory.wired():
            yield from roofline.measure(pair, cancel or threading.Event(), again)

    def compare(self, request: CompareRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        """Answer a request plainly and with DFlash, with one seed, in turn.

        Yields:
            For each run a `CompareRun` and its events; last a `CompareResult`, or `Failed`, or `Finished` of a cancelled run.
        """
        try:
            pair = self.pair
        except UserError as error:
            yield Failed.because(error)
            return
        yield from compare(pair, self.generate, request, cancel or threading.Event())

    def _generate(self, request: GenerationRequest, cancel: threading.Event) -> Generator[Event, None, None]:
        began = time.perf_counter()
        pair, snapshots = self.pair, self.snapshots
        plan = _plan(request, pair)
        prompt = plan.prompt.tokens
        branch = snapshots.start(prompt) if request.reuse else snapshots.fresh(prompt)
        marks = boundaries(pair.tokenizer, request, prompt) if request.reuse and snapshots.marked else ()
        tally = Tally(began, plan.mode, len(prompt), branch.reused, plan.chooser.seed, plan.why_plain)
        reply = chat.ReplyText(pair.tokenizer, plan.prompt, request.stop)
        steps = _steps(pair, plan, branch, marks, self._experience, cancel)
        reason: StopReason = "length"
        whole = False  # between two passes, where caches and context say the same
        try:
            for step in steps:
                if isinstance(step, PrefillProgress):
                    yield step
                    continue
                now = tally.elapsed()
                branch.tokens += step.tokens
                tokens = _through_end(step.tokens, plan.ends)
                commits = list(reply.add(tokens, step.sources[: len(tokens)]))
                tally.step(step, sum(len(commit.tokens) for commit in commits), now)
                if step.drafted:
                    yield Round(step.width, step.proposer, step.tested, step.accepted, now)
                yield from commits
                if reply.stopped:
                    reason = "stop_string"
                elif tokens[-1] in plan.ends:
                    reason = "eos"
                elif cancel.is_set():
                    reason = "cancelled"
                else:
                    continue
                break
            else:
                reason = "length" if tally.tokens else "cancelled"  # only a cancelled prefill yields nothing
            whole = True
        except GeneratorExit:
            whole = True
            raise
        finally:
            steps.close()
            if whole and request.reuse:
                snapshots.keep(branch)
        yield from reply.finish()
        yield Finished("stop_string" if reply.stopped else reason, tally.stats())


@dataclass(frozen=True)
class _Plan:
    """A request, checked and made definite for one pair."""

    mode: Mode
    why_plain: str
    prompt: chat.Prompt
    budget: int
    width: int | None
    chooser: Chooser
    penalties: Penalties
    ends: frozenset[int]
    kept: bool  # what is computed may be of use to a later turn


def _plan(request: GenerationRequest, pair: LoadedPair) -> _Plan:
    limits.check(request, pair.target.vocabulary, pair.info.block_size if pair.drafter else None)
    prompt = chat.render(pair.tokenizer, request)
    drafting = request.mode == "dflash" and pair.drafter is not None
    return _Plan(
        mode="dflash" if drafting else "plain",
        why_plain="" if drafting else (pair.info.why_plain if request.mode == "dflash" else "DFlash is off"),
        prompt=prompt,
        budget=_budget(request, len(prompt.tokens), pair),
        width=request.width,
        chooser=Chooser(request.sampling, secrets.randbits(32) if request.seed is None else request.seed, pair.operations),
        penalties=Penalties(request.sampling, prompt.tokens),
        ends=frozenset() if request.ignore_eos else frozenset(pair.tokenizer.eos_token_ids),
        kept=request.reuse,
    )


def _steps(
    pair: LoadedPair,
    plan: _Plan,
    branch: Branch,
    marks: Collection[int],
    experience: Experience,
    cancel: threading.Event,
) -> Generator[Step | PrefillProgress, None, None]:
    """Prefill, the token it yields, and the decoding loop."""
    target, drafter = pair.target, pair.drafter
    caches, context, reused = branch.caches, branch.context, branch.reused
    position = len(plan.prompt.tokens)
    yield PrefillProgress(reused, position, reused)
    unread = plan.mode == "plain" and not plan.kept  # by any round, and by any later turn
    for done in prefill(target, caches, plan.prompt.tokens, *((None, None) if unread else (drafter, context)), marks):
        if isinstance(done, int):
            if done in marks:
                branch.mark()
            if cancel.is_set():
                return
            yield PrefillProgress(done, position, reused)
            continue
        noise = plan.chooser.noise(position, 1, done.shape[-1])
        first = cast(int, plan.chooser.choose(plan.penalties.apply(done), position, noise).item())
    plan.penalties.add((first,))
    yield PrefillProgress(position, position, reused)
    yield Step((first,), ("prefill",))
    if plan.budget == 1:
        return
    if drafter is None or context is None:
        yield from plain(target, caches, first, position, plan.chooser, plan.penalties, plan.budget - 1)
    elif plan.mode == "plain":
        backlog = Backlog(drafter, context) if plan.kept else None  # else no later turn will read the drafter's context
        try:
            yield from plain(target, caches, first, position, plan.chooser, plan.penalties, plan.budget - 1, backlog)
        finally:
            if backlog is not None:
                backlog.flush()
    else:
        shared = (target, drafter, caches, context, plan.chooser, plan.penalties)
        lag = queued_rounds.pays() and experience.costs.table.queued
        automatic = plan.width is None
        copies = Lookup((*plan.prompt.tokens, first), experience.block - 1) if automatic and experience.lookup else None
        controller: Controller = Automatic(experience) if plan.width is None else Fixed(plan.width)
        rounds = Rounds(*shared, controller, copies, lag=lag)
        yield from rounds.run(first, plan.budget - 1, plan.ends)


def _through_end(tokens: tuple[int, ...], ends: frozenset[int]) -> tuple[int, ...]:
    """The tokens up to and including the first that ends the reply."""
    return next((tokens[: i + 1] for i, token in enumerate(tokens) if token in ends), tokens)


def _budget(request: GenerationRequest, length: int, pair: LoadedPair) -> int:
    """How many tokens the reply may have: what was asked for, as far as the context reaches."""
    room = pair.info.context_limit - length
    if room < 1:
        raise UserError(
            f"The chat is {length:,} tokens long; this target holds {pair.info.context_limit:,}. Shorten it or start a new chat."
        )
    return min(request.max_tokens, room)
