"""The passes of replies that are decoded at the same time.

In its turn, a reply makes a pass over the rows of all replies that are ready, then reads its own rows. The others read theirs in
their turns. A reply joins or leaves between two passes, without touching another one's caches. While replies are decoding, chunks
of others' prompts alternate with passes. A reply that a user waits for keeps its share of the time; see `front_share`.
"""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

import mlx.core as mx

from mlx_engine.contract.urgency import Urgency
from mlx_engine.decoding.costs import PassLoad
from mlx_engine.decoding.front_share import FrontShare
from mlx_engine.decoding.shared_widths import share_widths
from mlx_engine.decoding.step import Step
from mlx_engine.decoding.stream import Stream, accept, propose, run_pass
from mlx_engine.decoding.stream_gain import StreamGain
from mlx_engine.decoding.width import ALONE
from mlx_engine.hardware import gpu_faults
from mlx_engine.targets.target import StreamRows, Target

log = logging.getLogger(__name__)

_CLEAR_EVERY = 256  # tokens between frees of MLX's unused buffers, as in mlx-lm
_LONGEST_WAIT = 64  # turns that a chunk or a stream waits while no pass is made, and passes that a chunk of low urgency waits
_SAVES_AFTER = 16  # passes that a chunk waits before the reply that a user waits for makes its passes alone, to earn the chunk
_PATIENCE = 2  # turns per other stream, one to read the pass that they share, and one for a prompt in between


class PassesLost(Exception):
    """Unread passes are worthless after an error, perhaps of another stream."""


class _Chunk:
    """A chunk of a prompt that waits.

    Attributes:
        urgency: of the prompt; normal after a long wait.
        since: number of passes when the wait began.
    """

    def __init__(self, urgency: Urgency, since: int) -> None:
        self.urgency, self.since = urgency, since


class Scheduler:
    """The streams that are being decoded.

    Args:
        clock: returns seconds.

    Attributes:
        gain: what another stream would gain.
        queues_ahead: whether a shared pass may be made before the end of the turn that reads the one before it.
    """

    def __init__(self, clock: Callable[[], float] = lambda: time.perf_counter()) -> None:
        self._clock = clock
        self._streams: dict[Stream, Callable[[float], None]] = {}
        self._fronts = 0  # streams that a user waits for
        self._passes = 0  # made so far
        self._passes_at_chunk = -1  # when the latest chunk of a prompt was made
        self._chunks = deque[_Chunk]()  # that wait, in order of arrival
        self._prompts = Counter[Urgency]()  # in progress
        self._front = FrontShare()
        self.gain = StreamGain()
        self.queues_ahead = True
        self._read: PassLoad | None = None  # shared pass that was read last
        self._read_at: float | None = None  # when; None if anything else ran since

    def join(self, stream: Stream, credit: Callable[[float], None]) -> None:
        """Let a stream share passes until `leave`.

        Args:
            stream: the stream.
            credit: called with the seconds of each turn of another reply in which a pass over the stream's rows ran.
        """
        if stream.foreground and not self._fronts:
            self._front.begin()
        self._fronts += stream.foreground
        self._streams[stream] = credit

    def leave(self, stream: Stream) -> None:
        """Make no more passes for a stream in others' turns."""
        if self._streams.pop(stream, None) is not None:
            self._fronts -= stream.foreground

    @contextmanager
    def prompt(self, urgency: Urgency) -> Iterator[None]:
        """Let prompts of low urgency wait during the block, which computes a prompt."""
        self.interrupt()
        self._prompts[urgency] += 1
        try:
            yield
        finally:
            self._prompts[urgency] -= 1

    def before_chunk(self, urgency: Urgency = Urgency.NORMAL) -> Iterator[None]:
        """Yield in each turn in which a chunk of a prompt must wait.

        A stream waits for one chunk only, whichever prompt it is of. Prompts of the same urgency take turns. Each wait has an end,
        whatever other prompts and replies do.
        """
        self.interrupt()
        own = _Chunk(urgency, self._passes)
        self._chunks.append(own)
        passes, idle = self._passes, 0
        try:
            while idle < _LONGEST_WAIT and not self._admits(own):
                yield
                passes, idle = self._passes, idle + 1 if self._passes == passes else 0
                if passes - own.since >= _LONGEST_WAIT:
                    own.urgency = min(own.urgency, Urgency.NORMAL)
        finally:
            self._chunks.remove(own)
        self._passes_at_chunk = self._passes
        self.interrupt()

    def _admits(self, chunk: _Chunk) -> bool:
        """Return whether a chunk may be computed now."""
        if chunk.urgency == Urgency.LOW and self._prompts.total() > self._prompts[Urgency.LOW]:
            return False
        if not self._streams:
            return True
        if self._passes == self._passes_at_chunk or min(self._chunks, key=lambda each: each.urgency) is not chunk:
            return False
        return chunk.urgency == Urgency.FRONT or self._fronts == 0 or self._front.affords_chunk

    def interrupt(self) -> None:
        """Don't time the pass in progress, because other work runs, such as an image."""
        self._read_at = None

    @contextmanager
    def chunk(self) -> Iterator[None]:
        """Time the chunk of this block."""
        began = self._clock()
        yield
        self._front.record_chunk(seconds := self._clock() - began)
        self._spend(seconds)

    def _ran(self, stream: Stream, step: Step, seconds: float) -> None:
        """Count a turn in which a stream has read a pass."""
        self.gain.record(len(self._streams), len(step.tokens), seconds)
        if stream.foreground:
            self._front.earn(step.width)
        self._spend(seconds)

    def _spend(self, seconds: float) -> None:
        if self._fronts:
            self._front.spend(seconds)

    def holds(self, stream: Stream) -> bool:
        """Return whether a stream must wait for a reply that a user waits for."""
        return self._fronts > 0 and not stream.foreground and self._front_is_alone

    @property
    def _front_is_alone(self) -> bool:
        """Whether the reply that a user waits for makes its next pass alone."""
        saves = any(self._passes - chunk.since >= _SAVES_AFTER for chunk in self._chunks if chunk.urgency != Urgency.LOW)
        return self._front.is_behind or (saves and not self._front.affords_chunk)

    def partners(self, stream: Stream, target: Target) -> list[Stream]:
        """Return the other streams that can share passes with this one."""
        if not target.packs or len(self._streams) < 2 or stream not in self._streams or not stream.can_share:
            return []
        if stream.foreground and self._front_is_alone:
            return []
        kernels = stream.chooser.operations
        others = [other for other in self._streams if other is not stream and other.chooser.operations is kernels]
        return [other for other in others if other.can_share]

    def step(self, stream: Stream, partners: Sequence[Stream], target: Target) -> Step:
        """Make the stream's next passes, shared with partners, and read one.

        Raises:
            PassesLost: a shared pass failed, but not by an error of the GPU. It may be the fault of any of the streams.
        """
        began, passes = self._clock(), self._passes
        ready = [stream, *(other for other in partners if other.unread <= stream.unread)]
        if all(each.can_plan for each in ready):
            share_widths([(each.controller, each.caches.length, each.foreground) for each in ready], target.shared_rows)
        try:
            if not stream.unread:
                self._read_at = began
                self._make_pass(ready, target)
            if self.queues_ahead and not self.holds(stream) and None not in propose(ready):
                self._make_pass(ready, target)
            made, load = self._passes > passes, stream.unread_load
            step = stream.read()
        except Exception as error:
            self._lose(ready, error)
            raise
        self._ran(stream, step, seconds := self._clock() - began)
        if load is not None and load is not self._read:  # each pass has one time
            if self._read_at is not None:
                stream.controller.record_shared(load, began + seconds - self._read_at)
            self._read, self._read_at = load, began + seconds
        for other in ready[1:] if made else ():
            self._streams[other](seconds)
        return step

    def step_alone(self, stream: Stream, target: Target, alone: bool) -> Step:
        """Make a stream's next pass, and read it.

        Args:
            stream: the stream.
            target: makes the pass.
            alone: whether no other reply runs before the next step.
        """
        self._passes += 1
        self.interrupt()
        stream.controller.company = ALONE
        began = self._clock()
        queues = alone and not stream.opens
        try:
            if not stream.unread:
                run_pass(stream, target)
            if queues:
                run_pass(stream, target)
            step = stream.read()
        except Exception as error:
            self._lose([stream], error)
            raise
        seconds = self._clock() - began
        if step.streams == 1 and stream.foreground:
            self._front.record_alone(step.width, seconds)
        self._ran(stream, step, seconds)
        # A step is yielded before a pass that fails
        if queues and not (stream.ended or stream.unread or stream.penalties.stuck):
            rows = stream.propose()
            if rows is not None and rows.can_wait:
                run_pass(stream, target)
        return step

    def _lose(self, streams: Sequence[Stream], error: Exception) -> None:
        """End no stream by an error in a shared pass, which may be another's fault.

        Raises:
            PassesLost: the streams of the pass must repeat their passes.
        """
        if len(streams) < 2 and not streams[0].unread_is_shared:
            return
        for each in self._streams:
            each.lost = each.lost or each in streams or each.unread_is_shared
        if gpu_faults.find(error) is None:
            log.warning("A shared pass failed. Its replies continue in passes of their own.", exc_info=True)
            error.__traceback__ = None  # it holds the pass's arrays
            raise PassesLost from None

    def _make_pass(self, streams: Sequence[Stream], target: Target) -> None:
        """Make the next pass of streams that can propose rows, as far as they fit."""
        self._passes += 1
        parts, load = list[StreamRows](), PassLoad()
        for stream, rows in zip(streams, propose(streams), strict=True):
            assert rows is not None
            if parts and load.rows + rows.tokens.size > target.shared_rows:
                break  # the others have a pass in a later turn
            parts.append(StreamRows(rows.tokens, stream.caches, rows.span))
            load = load.plus(rows.load(stream.caches.length))
        streams = streams[: len(parts)]
        if len(streams) == 1:
            self.interrupt()
            run_pass(streams[0], target)
            return
        for stream in streams:
            stream.join_pass(load)
        accept(streams, target.forward_packed(parts, any(stream.context is not None for stream in streams)))


def decode(
    stream: Stream,
    target: Target,
    scheduler: Scheduler | None = None,
    alone: Callable[[], bool] = lambda: True,
    credit: Callable[[float], None] = lambda seconds: None,
) -> Generator[Step | None, None, None]:
    """Run a stream, and yield the step of each pass until the reply ends.

    Every token is the target's own choice; drafts determine only how many tokens a pass yields. The next pass is prepared, and
    queued if it can wait, before a step is yielded, so that the device works while the host processes the text. If other replies
    only have their turns in between, a pass begins and ends in one turn, so that its time is known.

    Args:
        stream: the reply.
        target: the target that the stream's caches belong to.
        scheduler: has the streams to share passes with.
        alone: returns whether no other reply runs before the next step.
        credit: see `Scheduler.join`.

    Yields:
        None in a turn in which other streams must first read the pass that they share.
    """
    scheduler = scheduler or Scheduler()
    scheduler.join(stream, credit)
    fresh = 0  # tokens since unused buffers were freed
    waits = 0  # turns since the latest step
    try:
        while not stream.ended:
            partners = scheduler.partners(stream, target)
            held = scheduler.holds(stream) and not stream.unread
            late = any(other.unread > stream.unread for other in partners)
            if waits < (_LONGEST_WAIT if held else _PATIENCE * len(partners)) and (held or late):
                waits += 1
                yield None
                continue
            waits = 0
            step = scheduler.step(stream, partners, target) if partners else scheduler.step_alone(stream, target, alone())
            fresh += len(step.tokens)
            if fresh >= _CLEAR_EVERY:
                mx.clear_cache()
                fresh = 0
            yield step
            stream.joined = stream.has_begun and not alone()
    except GeneratorExit:
        stream.close()
        raise
    finally:
        scheduler.leave(stream)
    stream.close()  # not after an error, which leaves nothing to continue
