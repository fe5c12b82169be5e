"""Generation of a reply: prefill, decoding, events, and statistics."""

import logging
import secrets
import threading
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace

import mlx.core as mx

from mlx_engine.calibration import kernel_selection
from mlx_engine.contract.errors import EngineText, UserError, WorkCancelled
from mlx_engine.contract.events import Commit, Event, Finished, PrefillProgress, Round, StopReason
from mlx_engine.contract.limits import PREFILL_ROWS
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.decoding.low_acceptance import likely_cause
from mlx_engine.decoding.pair_history import PairHistory
from mlx_engine.decoding.prefill import chunk_end, prefill
from mlx_engine.decoding.scheduler import PassesLost, decode
from mlx_engine.decoding.stream import Stream
from mlx_engine.decoding.turns import ReplyClock, ReplyTurns
from mlx_engine.engine.prepare import Prepared, mode_of, prepare
from mlx_engine.engine.reply_images import ReplyImages
from mlx_engine.engine.reply_stream import reply_stream
from mlx_engine.engine.shared_prompts import PromptInProgress, PromptWait, live_branches
from mlx_engine.engine.tally import Tally
from mlx_engine.formats.reply_text import ReplyText
from mlx_engine.hardware import gpu_faults, memory
from mlx_engine.hardware.gpu_faults import GpuFault
from mlx_engine.hardware.ledger import MemoryLedger, MemoryPlace, MemoryShort
from mlx_engine.kernels.operations import PLAIN, most_rows, runs
from mlx_engine.kernels.verify_attention import ROWS
from mlx_engine.loading.loaded_pair import LoadedPair
from mlx_engine.prefix.branch import Branch
from mlx_engine.prefix.snapshots import KnownPrefix, Snapshots

log = logging.getLogger(__name__)

NO_MEMORY = EngineText.of(
    "reply_memory", "There isn't enough memory for this reply. Quit other apps, start a new chat, or load a smaller model."
)

Events = Sequence[Event]


def generate_reply(
    pair: LoadedPair,
    snapshots: Snapshots,
    request: GenerationRequest,
    cancel: threading.Event,
    clock: ReplyClock,
    ledger: MemoryLedger,
) -> Generator[Events, None, None]:
    """Yield the events of each step of a reply, `Finished` last.

    Closing the generator ends the reply. A step is a chunk of the prompt or a pass of decoding. Other replies may have steps
    in between. After an error of the GPU, the reply continues with MLX's own operations; see `_Reply.run`.

    Args:
        pair: the pair that runs the reply.
        snapshots: snapshots of earlier prompts.
        request: the reply to generate.
        cancel: ends the reply after the current step.
        clock: measures the reply's time, without that of other replies between its steps.
        ledger: memory reserved for all replies. Steps are empty while the reply waits for memory.

    Raises:
        UserError: the request can't be run, or the GPU failed again.
    """
    if request.exact:  # without snapshots, so that a prompt is always computed in the same chunks
        request = replace(request, reuse=False)
    with pair.exactly() if request.exact else nullcontext(pair.history) as history:
        seed = secrets.randbits(32) if request.seed is None else request.seed
        mode, why_plain = mode_of(pair, request)
        tally = Tally(clock, mode, seed, why_plain, request.exact)
        if mode == "dflash" and not request.lookup_only:
            tally.drafter = pair.info.drafter, pair.info.drafter_kind, pair.info.tuned
        try:
            block = history.block if pair.drafter else None
            prepared = prepare(pair, request, block, request.reuse and snapshots.needs_marks, cancel)
        except WorkCancelled:
            yield [Finished("cancelled", tally.stats())]
            return
        clock.turns.scheduler.interrupt()
        length = len(prepared.prompt.tokens)
        images = pair.images.bytes(prepared.prompt.spans) if pair.images else 0
        if not ledger.fits(length, images):
            raise UserError.of(NO_MEMORY)
        wait = _wait_for_others(snapshots, prepared, clock.turns)
        while wait is not None and wait.pays():
            if cancel.is_set():
                yield [Finished("cancelled", tally.stats())]
                return
            yield []
        known, wait = wait.known if wait else None, None  # a wait holds the branches of others
        place = MemoryPlace(ledger, clock, length + prepared.limit, lambda: snapshots.nbytes, images, request.urgency)
        yield from place.wait(cancel)
        if not place.is_taken:
            yield [Finished("cancelled", tally.stats())]
            return
        if not request.exact:
            pair.run_at(length)
        reply = _Reply(pair, snapshots, prepared, history, tally, cancel, known, place)
        try:
            yield from reply.run()
        except (GeneratorExit, UserError):  # such as an image that can't be decoded
            reply.keep()
            raise
        finally:
            reply.drop_suspects()
            pair.run_at(length)  # an error of the GPU may have changed the operations
        reply.keep()
        yield reply.finish()


def _wait_for_others(snapshots: Snapshots, prepared: Prepared, turns: ReplyTurns) -> PromptWait | None:
    """Return the wait for prompts that are being computed, if there are any."""
    request, prompt = prepared.request, prepared.prompt
    if not request.reuse or all(other.is_complete for other in turns.prompts):
        return None
    keys, chat = prompt.keys(), None if request.private else request.chat
    known = snapshots.known(keys, chat, prompt.spans, live_branches(turns.prompts))
    return PromptWait(snapshots, turns.prompts, keys, prompt.spans, known, request.foreground)


class _Reply:
    """A reply that has its memory: events of its steps, and what later turns keep.

    Args:
        history: speed and acceptance for the choice of widths.
        tally: statistics of the reply.
        cancel: ends the reply after the current step.
        known: what is known of the prompt, if that was searched.
        place: the reply's place in the ledger of memory.
    """

    def __init__(
        self,
        pair: LoadedPair,
        snapshots: Snapshots,
        prepared: Prepared,
        history: PairHistory,
        tally: Tally,
        cancel: threading.Event,
        known: KnownPrefix | None,
        place: MemoryPlace,
    ) -> None:
        self._place, self._has_paused = place, False
        self._pair, self._snapshots, self._prepared, self._history = pair, snapshots, prepared, history
        self._tally, self._cancel, self._known, self._turns = tally, cancel, known, tally.clock.turns
        request = prepared.request
        self._text = ReplyText(pair.tokenizer, prepared.prompt, request.stop, request.tools, request.one_call)
        self._tokens = list(prepared.prompt.tokens)  # and those of the reply
        self._length = len(self._tokens)
        self._keys = prepared.prompt.keys()  # of the prompt; prefixes are matched by them
        self._images = ReplyImages(pair.images, prepared.prompt, cancel, tally.clock.alone)
        self._branch: Branch | None = None  # caches that are filled with the tokens; None if they can't be trusted
        self._stream: Stream | None = None  # continues the branch
        self._shares = True  # whether other replies' rows may be in its passes
        # For all passes of an attempt: kernels may break ties differently than MLX
        self._operations = pair.running_exactly if request.exact and pair.running_exactly else pair.operations
        if request.exact and self._operations is not pair.exact_operations:  # an error of the GPU has turned kernels off
            tally.exact = False
        self._pace = pair.exact_pace if request.exact else pair.pace
        self._shrunk_rows = PREFILL_ROWS  # smallest size of chunks after one that took too long
        self._faults = self._turns.faults  # of the device, after which unread passes are worthless
        self._reason: StopReason | None = None
        self._rows: Sequence[int] = ()  # that a pass may have that wasn't read
        self._pass_rows: Collection[int] = ()  # of the latest passes, which replies may share
        self._retried_at: int | None = None  # number of tokens at the latest retry
        self._suspects: tuple[GpuFault, Sequence[str]] | None = None  # kernels to turn off if the retry passes
        tally.prompt_tokens, tally.cut_tokens = self._length, self._prepared.cut_tokens
        tally.images, tally.image_tokens = len(prepared.prompt.spans), sum(span.size for span in prepared.prompt.spans)

    def run(self) -> Generator[Events, None, None]:
        """Yield the events of each step until the reply ends.

        After an error of the GPU, nothing that was computed for the reply can be trusted. Its tokens can: they were read before. So
        they are computed again, by MLX's own operations, and the reply continues with the same text. A complete reply needs no more
        than its tokens.

        A reply that must pause gives up everything but its tokens, too. Its caches are read from disk or computed again.

        Raises:
            UserError: the GPU fails without kernels, too, or a pausing reply's memory is needed before its caches are saved.
        """
        while self._reason is None:
            fault: GpuFault | None = None
            pauses = False
            try:
                yield from self._attempt()
                return
            except MemoryShort:
                pauses = self._has_paused = True
            except PassesLost:
                self._shares = self._shares and self._faults != self._turns.faults
                memory.settle()
                mx.clear_cache()
            except (RuntimeError, ValueError, MemoryError) as error:
                fault = gpu_faults.find(error)
                if fault is None and (self._reason is None or not memory.exhausted(error)):
                    raise
                self._turns.faults += 1
            # Outside the handler, because its traceback holds the failed pass's arrays
            if pauses:
                yield from self._pause()
            else:
                self._branch, self._stream, self._faults = None, None, self._turns.faults
                self._images.forget()
                self.drop_suspects()
            if fault is not None:
                self._survive(fault)
            self._prepared = self._prepared.restarted(self._pair.tokenizer)

    def _pause(self) -> Generator[Events, None, None]:
        """Give up all memory, and wait until the reply may have it again."""
        branch, is_ended = self._take_branch(), False
        self._images.release()
        if branch is not None:
            with self._surviving(), closing(self._snapshots.save(branch)) as parts:
                for seconds in parts:
                    is_ended = self._place.is_ended
                    if is_ended or self._cancel.is_set():
                        break
                    self._place.rest(seconds, self._cancel)
                    yield []
        branch = None
        mx.clear_cache()
        if is_ended:
            yield list(self._text.finish(False))
            template = "The reply was stopped, because memory was almost full. Quit other apps, then try again."
            raise UserError("memory_ended_reply", template)
        if not self._cancel.is_set():
            yield from self._place.wait(self._cancel)
        self._faults = self._turns.faults
        if self._cancel.is_set():
            self._reason = "cancelled"

    def keep(self) -> None:
        """Keep the branch for later turns, if the request allows it."""
        if (branch := self._take_branch()) is not None:
            with self._surviving():
                self._snapshots.put(branch)

    def _take_branch(self) -> Branch | None:
        """Return the branch, which the reply gives up, or None if it can't be kept.

        Caches and context must hold the same tokens.
        """
        branch, stream, self._branch, self._stream = self._branch, self._stream, None, None
        is_lost = self._faults != self._turns.faults or (stream is not None and stream.lost)
        if branch is None or not self._prepared.request.reuse or is_lost:
            return None
        branch.tokens = list(self._all_keys())  # the reply may go on
        self._turns.scheduler.interrupt()
        return branch

    @contextmanager
    def _surviving(self) -> Iterator[None]:
        """Survive errors of the device in the block.

        A later prompt is then computed again.
        """
        try:
            yield
        except (RuntimeError, ValueError, MemoryError) as error:
            if gpu_faults.find(error) is None and not memory.exhausted(error):
                raise
            self._turns.faults += 1
            memory.settle()

    def finish(self) -> Events:
        """Return the events after the last step."""
        tally, info = self._tally, self._pair.info
        tally.snapshot_bytes = self._snapshots.nbytes
        if self._pair.drafter is not None:
            temperature = self._prepared.request.sampling.temperature
            facts = (self._pair.drafter.config, info.drafter_weights, len(self._tokens), temperature)
            tally.few_accepted = likely_cause(tally.rounds, *facts)
        rest, reason = list(self._text.finish(self._reason == "eos")), self._reason or "length"
        if self._text.stopped or (self._text.called and reason == "eos"):
            reason = "stop_string" if self._text.stopped else "tool_calls"
        return [*rest, Finished(reason, tally.stats(), self._text.stopped)]

    def _attempt(self) -> Generator[Events, None, None]:
        """Compute the tokens so far, and continue the reply."""
        request = self._prepared.request
        if self._retried_at is None and not request.exact:  # another reply's error may have turned kernels off
            self._pair.run_at(self._length)
            self._operations = self._pair.operations
        elif request.exact and self._pair.running_exactly not in (None, self._operations):
            self._operations, self._tally.exact = self._pair.running_exactly, False
        chat = None if request.private else request.chat
        keys, spans = self._all_keys(), self._prepared.prompt.spans
        known, self._known = self._known, None  # valid for the first attempt
        if request.reuse:  # no variable holds the branches of others, which may end before this reply
            branch = self._snapshots.take(keys, chat, spans, live_branches(self._turns.prompts), known)
        else:
            branch = self._snapshots.new_branch(keys)
        self._branch = branch
        if len(self._tokens) == self._length:
            self._tally.reused_tokens, self._tally.disk_tokens = branch.reused, branch.from_disk
        stream = reply_stream(self._pair, self._history, self._prepared, branch, self._tokens, self._tally, self._operations)
        stream.shares, self._stream, self._pass_rows = self._shares, stream, stream.pass_rows
        stops = self._snapshots.stops(self._prepared.prompt.boundaries, self._length, spans)
        prompt = PromptInProgress(branch, lambda: self._faults == self._turns.faults and not stream.lost, branch.reused, stops)
        if request.reuse:
            self._turns.prompts.append(prompt)
        self._turns.branches.append(branch)
        try:
            with self._turns.scheduler.prompt(request.urgency), self._images.in_use():
                yield from self._prefill(prompt, stream)
            if self._reason is None:
                yield from self._decode(branch, stream)
        finally:
            self._turns.branches.remove(branch)
            if prompt in self._turns.prompts:
                self._turns.prompts.remove(prompt)

    def _all_keys(self) -> list[int]:
        """Return what prefixes of the tokens so far are matched by."""
        return [*self._keys, *self._tokens[self._length :]] if self._prepared.prompt.spans else self._tokens

    def _survive(self, fault: GpuFault) -> None:
        """Prepare another attempt after an error of the GPU.

        Raises:
            UserError: another attempt would probably fail, too.
        """
        log.warning("GPU error after %d tokens: %s", len(self._tokens), fault.message)
        memory.settle()
        mx.clear_cache()
        if self._reason is not None:
            return
        if self._cancel.is_set():
            self._reason = "cancelled"
            return
        kernels = {*self._operations.kernels, *self._pair.operations.kernels}
        smaller = fault.too_slow and self._chunks_shrank()
        if not (kernels or smaller) and (fault.by_kernel or self._retried_at == len(self._tokens)):
            raise fault.error
        if kernels:
            if fault.by_kernel and (used := self._used(kernels)):
                self._suspects = fault, used
                self._pair.suspended += 1
            self._run_plain()
        self._retried_at = len(self._tokens)
        self._tally.gpu_error = EngineText.of("gpu_error_survived", "Continued after a GPU error: {reason}", reason=fault.reason)

    def _chunks_shrank(self) -> bool:
        """Return whether a chunk failed and the next ones are smaller than ever."""
        before, self._shrunk_rows = self._shrunk_rows, min(self._shrunk_rows, self._pace.rows)
        return self._pace.rows < min([before, *self._rows])

    def _used(self, kernels: Collection[str]) -> list[str]:
        """Return the kernels that may have run in the passes that weren't read."""
        if not self._rows:
            return []
        rows = {*self._rows, *self._pass_rows}
        used = [
            name
            for name in kernels
            if any(each <= most_rows(name) and runs(each, self._operations.kernel(name).rows) for each in rows)
        ]
        return sorted(name for name in kernels if name == "kv_injection" or name in used)

    def _run_plain(self) -> None:
        """Run MLX's own operations until the reply ends."""
        exact = self._prepared.request.exact
        self._pair.run_operations(PLAIN)
        self._operations = replace(PLAIN, row_exact=True) if exact else PLAIN
        if exact:
            self._pair.run_exactly(self._operations)
            self._tally.exact = False  # other operations have chosen the first tokens

    def drop_suspects(self) -> None:
        """Let other replies run the suspected kernels again, if there are any."""
        if self._suspects is not None:
            self._suspects = None
            self._pair.suspended -= 1

    def _blame_kernels(self) -> Events:
        """Turn off the suspected kernels, because the retry passed without them."""
        if self._suspects is None:
            return []
        fault, names = self._suspects
        self.drop_suspects()
        template = (
            "Continued without Metal kernels after a GPU error: {reason}. They stay off until you choose Test Kernels in This Mac."
        )
        self._tally.gpu_error = EngineText.of("kernels_turned_off", template, reason=fault.reason)
        found = kernel_selection.turn_off(self._pair, names, fault.message)
        self._run_plain()
        return [found]

    def _progress(self, branch: Branch, done: int) -> list[Event]:
        """Return the progress of the prompt, or nothing after the reply began."""
        if len(self._tokens) > self._length:
            return []
        return [PrefillProgress(done, self._length, branch.reused, self._prepared.left_out, self._prepared.cut)]

    def _prefill(self, in_progress: PromptInProgress, stream: Stream) -> Generator[Events, None, None]:
        branch, last = in_progress.branch, len(self._tokens) - 1
        yield self._progress(branch, branch.reused)
        self._check(stream)
        marks = in_progress.stops
        # Exact passes have at most `ROWS` rows, except those of the prompt
        blocks = range(self._length - 1, last, ROWS) if self._prepared.request.exact else ()
        stops, pace = sorted({*marks, *blocks}), self._pace
        scheduler = self._turns.scheduler
        parts = (self._pair.target, branch.caches, self._tokens, stream.drafter, stream.context)
        done, chunks = branch.reused, prefill(*parts, stops, pace, self._images.prompt)
        while True:
            began = self._tally.clock()
            self._rows = ()  # the tower runs no kernels
            for _ in self._images.read_before(done, stops):
                scheduler.interrupt()
                yield []
                self._check(stream)
            if len(self._tokens) == self._length:  # later attempts aren't part of the prompt's time
                self._tally.image_s += self._tally.clock() - began
            if self._cancel.is_set():
                self._reason = "cancelled"
                return
            for _ in scheduler.before_chunk(self._prepared.request.urgency) if done < last else ():
                yield []
                self._check(stream)
                if self._cancel.is_set():
                    self._reason = "cancelled"
                    return
            self._rows = [chunk_end(done, last, stops, pace, self._images.prompt) - done]
            with scheduler.chunk() if done < last else nullcontext():
                following = next(chunks, None)  # also places the caches if no chunk is left
            if following is None:
                return
            done = following
            if done in marks:
                branch.mark()
            in_progress.computed = done
            yield self._progress(branch, done)
            self._check(stream)

    def _decode(self, branch: Branch, stream: Stream) -> Generator[Events, None, None]:
        tally, text = self._tally, self._text
        progress = self._progress(branch, self._length)
        self._rows = range(1, self._history.block + 1) if tally.mode == "dflash" else [1]  # wider copies: see `_pass_rows`
        alone = tally.clock.alone if tally.mode == "dflash" else lambda: not self._turns.rest_share  # plain passes aren't timed
        scheduler = self._turns.scheduler
        with closing(decode(stream, self._pair.target, scheduler, alone, tally.clock.credit)) as steps:
            for step in steps:
                if step is None:
                    yield []
                    self._check(stream)
                    if self._cancel.is_set():
                        self._reason = "cancelled"
                        return
                    continue
                at_s = tally.clock()
                if step.sources[0] == "prefill" and self._retried_at is None and not self._has_paused:
                    self._snapshots.prefilled(self._length - branch.reused, at_s - tally.image_s)
                self._tokens += step.tokens
                added = list(text.add(step.tokens, step.sources, step.logprobs, at_s))
                tally.add(step, sum(len(part.tokens) for part in added if isinstance(part, Commit)), at_s)
                if step.drafted:
                    progress.append(Round(step.width, step.proposer, step.tested, step.accepted, at_s))
                if text.ended or step.tokens[-1] in stream.ends:
                    self._reason = "stop_string" if text.stopped else "eos"
                elif not stream.limit:
                    self._reason = "length"
                if self._reason is not None:
                    scheduler.leave(stream)
                yield [*progress, *added, *self._blame_kernels()]
                progress = []
                if self._reason in (None, "length") and self._cancel.is_set():
                    scheduler.leave(stream)
                    if stream.unread < 2:  # with more, the caches would have a token that the host hasn't read
                        self._reason = "cancelled"
                self._check(stream)
                if self._reason is not None:
                    return

    def _check(self, stream: Stream) -> None:
        """Check that the reply can go on after other replies' steps.

        Raises:
            PassesLost: another reply's error concerns this reply's passes or kernels.
            MemoryShort: the reply must pause.
        """
        if stream.lost:
            raise PassesLost
        if self._reason is None and self._place.is_paused:
            raise MemoryShort
        if self._faults != self._turns.faults:
            if stream.has_begun or not {*self._operations.kernels} <= {*self._pair.at(self._length).kernels}:
                stream.lost = True
                raise PassesLost
            self._faults = self._turns.faults
