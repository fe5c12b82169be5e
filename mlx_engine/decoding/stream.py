"""One reply on the device: the rows of its passes, and the tokens they add.

Every pass of the target is made between `Stream.propose` and `Stream.accept` by the caller, the scheduler. A pass of
one row is a plain step. A round has more: the anchor, then drafts of a drafter, of lookup, or of both.

Some passes are *queued*: made before the previous one is read, so that the device works while the host reads, delivers, and builds
the next pass. A plain step needs only the token before it, which can stay on the device. A round also needs its position. The
previous round computes both, and draft, verify, acceptance, and injection use positions for which the host knows only bounds. If
the reply ends in a round, the round queued after it is discarded. A drafter's confidence doesn't set the width of queued rounds:
the host would have to read it first, and the device would wait.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import cast

import mlx.core as mx

from mlx_engine.contract.events import Source
from mlx_engine.decoding.appending import Copies, append_copies
from mlx_engine.decoding.costs import PLAIN_STEP, PassKind, PassLoad
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.step import Step
from mlx_engine.decoding.width import FixedWidth, PassOutcome, WidthChoice, WidthController
from mlx_engine.drafters.drafter import Backlog, Drafter
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.parts.draft_requests import Block, ContextRows
from mlx_engine.formats.logprobs import Report, read
from mlx_engine.hardware.device import DevicePosition, DeviceSpan
from mlx_engine.kernels.block_verify import BlockVerdict
from mlx_engine.targets.target import Caches, Target

Planning = Generator[Block, mx.array, "Rows | None"]
"""Yields a block to draft, if the next rows need one, receives its drafts, and returns the rows; see `Stream.propose`."""

_OPENING = WidthChoice(PassKind("prefill", 1))  # the pass over the last token of the prompt


@dataclass(slots=True, eq=False)
class Rows:
    """The rows of one stream in a pass of the target.

    Attributes:
        tokens: the anchor, then the drafts, uint32 [R]. The host may not have read them.
        span: where the rows are, if only the device knows; None for the positions after the cached tokens.
        choice: what the controller has chosen.
        drafts: uint32 [R - 1]; None for a plain step.
        following: position of the token that row 0 chooses; [1] uint32 if only the device knows it.
        noise: of the tokens that the rows choose, [R, V]; None if greedy or not made yet.
        ahead: whether the previous pass was unread.
        shared: what all streams bring to the pass, if it has rows of others. Its time isn't that of this width.
        drafted: rows of the block that a drafter drafted; 0 without one. Confidence or a grammar may have narrowed it.
    """

    tokens: mx.array
    span: DeviceSpan | None
    choice: WidthChoice
    drafts: mx.array | None
    following: int | mx.array
    noise: mx.array | None = None
    ahead: bool = False
    shared: PassLoad | None = None
    drafted: int = 0

    def load(self, depth: int) -> PassLoad:
        """Return what the stream brings to a pass after `depth` tokens."""
        return PassLoad(self.tokens.size, self.drafted, 1, depth)

    @property
    def can_wait(self) -> bool:
        """Whether the result can stay unread while the next rows are proposed."""
        return self.drafts is None or self.span is not None


@dataclass(slots=True, eq=False)
class _Unread:
    """A pass that the host has not read yet, and where the next one begins."""

    rows: Rows
    verdict: BlockVerdict
    report: Report
    anchor: mx.array  # [1] uint32
    position: mx.array | None = None  # of that anchor, [1] int32, if only the device knows it
    kept: mx.array | None = None  # number of rows that precede it, [1] int32


@dataclass(eq=False)
class Stream:
    """One reply: its caches, its drafter's context, and its sampling.

    Between passes, `caches` end before the anchor, whose position is `caches.length`. So does `context`, once the backlog of plain
    steps is injected.

    Attributes:
        caches: contain the prompt without its last token, the first anchor.
        vocabulary: number of the target's logits.
        anchor: last token that the host has read.
        limit: tokens that may still be added.
        ends: tokens that end the reply.
        drafter: proposes tokens, and reads `context`.
        context: the drafter's context; None if neither a draft nor a later turn needs it.
        copies: proposes copies of earlier text.
        queue_ahead: whether to queue drafter rounds.
        opens: whether the next pass is that of the prompt's last token, which is a plain step in no statistics.
        foreground: whether a user waits for the reply.
        joined: whether another reply ran since the next pass began, so that the pass isn't timed.
        ended: whether the limit or one of `ends` was reached.
        lost: whether nothing continues caches and context, so that `close` does nothing.
        shares: whether passes may have rows of other streams.
        pass_rows: numbers of rows of the latest two passes, with those of other streams. No earlier pass is unread.
    """

    caches: Caches
    vocabulary: int
    chooser: Chooser
    penalties: Penalties
    controller: WidthController
    anchor: int
    limit: int
    ends: frozenset[int] = frozenset()
    drafter: Drafter | None = None
    context: DraftContext | None = None
    copies: Copies | None = None
    clock: Callable[[], float] = time.perf_counter
    queue_ahead: bool = False
    opens: bool = True
    foreground: bool = False
    joined: bool = False
    ended: bool = False
    lost: bool = False
    shares: bool = True
    pass_rows: deque[int] = field(init=False, default_factory=lambda: deque(maxlen=2))
    _backlog: Backlog | None = field(init=False, default=None)
    _proposed: Rows | None = field(init=False, default=None)
    _unread: deque[_Unread] = field(init=False, default_factory=deque)
    _must_read: bool = field(init=False, default=False)  # before the next pass is proposed
    _decided: WidthChoice | None = field(init=False, default=None)  # choice for the next pass, if it couldn't be queued
    _ended_at: float = field(init=False, default=0.0)  # when the latest pass was read
    _aside: float = field(init=False, default=0.0)  # seconds spent on the backlog since

    def __post_init__(self) -> None:
        if self.drafter is not None and self.context is not None:
            self._backlog = Backlog(self.drafter, self.context)
        self.queue_ahead = self.queue_ahead and self.context is not None and not self.penalties.active

    @property
    def unread(self) -> int:
        """Number of passes that are made and unread."""
        return len(self._unread)

    @property
    def unread_is_shared(self) -> bool:
        """Whether a pass that is made and unread has rows of other streams."""
        return any(unread.rows.shared is not None for unread in self._unread)

    @property
    def can_share(self) -> bool:
        """Whether the next pass may have rows of other streams."""
        return self.shares and not (self.ended or self.lost or self.penalties.stuck)

    @property
    def unread_load(self) -> PassLoad | None:
        """What all streams bring to the oldest unread pass, if it has rows of others."""
        return self._unread[0].rows.shared if self._unread else None

    def join_pass(self, load: PassLoad) -> None:
        """Note that the proposed rows are in a pass with others, which has this load."""
        assert self._proposed is not None
        self._proposed.shared = load
        self.pass_rows.append(load.rows)

    @property
    def has_begun(self) -> bool:
        """Whether the next pass to read is proposed or made."""
        return self._proposed is not None or bool(self._unread)

    def propose(self) -> Rows | None:
        """Return the rows of the next pass. The device may still compute drafts.

        Returns:
            The same rows until `accept`; or None until `read` if a pass must be read first: with penalties, for lookup, after a
            round that isn't queued, and before a pass that the end of the reply may cut short.
        """
        [rows] = propose([self])
        return rows

    def accept(self, logits: mx.array, features: mx.array | None = None) -> None:
        """Choose tokens, compare drafts, and inject the rows. `read` waits for it.

        The device starts immediately.

        Args:
            logits: of the proposed rows, [R, V].
            features: of these rows, [R, taps * H]; None without `context`.
        """
        accept([self], [(logits, features)])

    @property
    def can_plan(self) -> bool:
        """Whether the next rows can be chosen before a pass is read."""
        if self._must_read or self._proposed is not None or not self._unread:
            return not self._must_read
        rows = self._unread[-1].rows
        may_end = self.limit <= rows.tokens.size
        return rows.can_wait and len(self._unread) == 1 and not (self.opens or self.penalties.active or may_end)

    def plan(self) -> Planning:
        """Choose the next rows; see `propose`."""
        return self._after(self._unread[-1]) if self._unread else self._next()

    def choose(self, logits: mx.array, features: mx.array | None) -> tuple[list[mx.array], ContextRows | None]:
        """Choose tokens and compare drafts for the proposed rows, as in `accept`.

        Returns:
            Arrays for the device to compute, and rows to inject.
        """
        rows, self._proposed = self._proposed, None
        assert rows is not None
        drafts = rows.drafts if rows.drafts is not None and rows.drafts.size else None
        noise = self.chooser.noise(rows.following, *logits.shape) if rows.noise is None else rows.noise
        verdict = self.chooser.verify(self.penalties.apply(logits, drafts), drafts, rows.following, noise)
        report = self.chooser.report(logits, verdict.choices)
        unread, started, injected = _Unread(rows, verdict, report, verdict.choices), [verdict.choices, *report], None
        if rows.drafts is not None and features is not None and self.drafter is not None and self.context is not None:
            # Inject all rows now and drop the rejected ones later, so that the device need not wait for the host
            injected = ContextRows(self.context, features, rows.tokens)
        if rows.span is not None and drafts is not None:
            count = verdict.count()
            kept = (count[:1] + 1).astype(mx.int32)
            position = rows.span.start.value + kept
            unread = _Unread(rows, verdict, report, count[1:], position, kept)
            started += [drafts, count, position]
        if rows.drafts is None and features is not None and self._backlog is not None:
            # As a copy, because rows of a shared pass would keep all rows in memory
            self._backlog.add(features if rows.shared is None else mx.contiguous(features), rows.tokens)
        self._unread.append(unread)
        return started, injected

    def read(self) -> Step:
        """Wait for the oldest unread pass, and return the tokens that it adds.

        Caches and context then end after these tokens, or before the first of `ends`, where the next turn continues. While another
        round is queued, some caches are updated only by `close`.
        """
        current, self._must_read = self._unread.popleft(), False
        rows, choice = current.rows, current.rows.choice
        drafted = rows.tokens.size - 1
        accepted, token = current.verdict.read()
        tokens = (*accepted, token)
        held = len(tokens) if self.ends.isdisjoint(tokens) else next(at + 1 for at, each in enumerate(tokens) if each in self.ends)
        if rows.span is not None and self.context is not None:
            self.caches.settle(self.caches.length + held)
            self.context.settle(self.caches.length)
        elif rows.drafts is not None:
            mx.eval([] if self.context is None else self.context.state)
            self.caches.rewind(drafted + 1 - held)
            if self.context is not None:
                self.context.drop(drafted + 1 - held)
        logprobs = read(current.report, len(tokens))
        tested = min(len(accepted) + 1, drafted)
        first_copy = max(choice.kind.block - 1, 0)
        self._record(rows, tested, len(accepted))
        proposer: Source = "target" if choice is _OPENING else choice.kind.proposer
        sources: list[Source] = [proposer if at < first_copy else "lookup" for at in range(len(accepted))]
        last: Source = "prefill" if choice is _OPENING else "target"
        count = min(held, self.limit)
        tokens = tokens[:count]
        self.penalties.add(tokens)
        if self.copies is not None:
            self.copies.add(tokens)
        self.anchor, self.limit, self.opens = tokens[-1], self.limit - count, False
        self.ended = self.limit == 0 or self.anchor in self.ends
        return Step(
            tokens=tokens,
            sources=(*sources, last)[:count],
            width=drafted + 1,
            drafted=drafted,
            tested=tested,
            accepted=len(accepted),
            copies_tested=max(tested - first_copy, 0),
            copies_accepted=max(len(accepted) - first_copy, 0),
            proposer=proposer,
            why=choice.why,
            trial=choice.trial,
            streams=1 if rows.shared is None else rows.shared.streams,
            logprobs=logprobs[:count],
        )

    def close(self) -> None:
        """Move caches and context to where the next turn continues.

        They end after the last read pass and the unread plain steps. Of an unread round, only the anchor stays, and queued rounds
        are discarded.
        """
        if self.lost:
            return
        for unread in self._unread:
            if unread.rows.drafts is not None and unread.rows.span is None:  # no other pass is unread
                self.caches.rewind(unread.rows.drafts.size)
                if self.context is not None:
                    self.context.drop(unread.rows.drafts.size)
        if self.queue_ahead and self.context is not None:
            self.caches.finish()
            # Without a span if the round was proposed before an earlier one was read
            if self.context.span is not None or any(unread.rows.span is not None for unread in self._unread):
                self.context.settle(self.caches.length)
        if self._backlog is not None:
            self._backlog.flush()

    def _next(self) -> Planning:
        """Choose and draft the rows after an anchor that the host has read."""
        start, anchor = self.caches.length, mx.array([self.anchor], dtype=mx.uint32)
        if self.opens:
            return Rows(anchor, None, _OPENING, None, start + 1)
        offer = None if self.copies is None else self.copies.offer()
        choice, self._decided = self._decided or self.controller.choose(start, offer), None
        most = self.limit + 1
        rows = min(choice.kind.width, most)
        if rows < 2:
            return Rows(anchor, None, choice if choice.kind.width == 1 else WidthChoice(PLAIN_STEP), None, start + 1)
        self._flush_backlog()
        if choice.kind.proposer == "lookup" and self.copies is not None:
            drafts = mx.array(self.copies.propose(rows - 1), dtype=mx.uint32)
            return self._block(choice, anchor, drafts, None, 0)
        assert self.drafter is not None and self.context is not None
        if self.queue_ahead and not choice.appends:
            return (yield from self._queued(choice, rows, anchor, DevicePosition.known(start), ahead=False))
        if widest := self.controller.widest(choice) if self.drafter.config.confident else 0:
            rows = min(widest, most)
        noise = self.chooser.noise(start + 1, rows, self.vocabulary)
        drafts = yield Block(self.context, anchor, rows, self.chooser, noise)
        if widest:
            if self.context.confidence is not None:
                choice = self.controller.fit(choice, start, cast(list[float], self.context.confidence.tolist()))
            drafts = drafts[: min(choice.kind.width, rows) - 1]
        if choice.appends and self.copies is not None:
            choice, copied = append_copies(choice, cast(list[int], drafts.tolist()), self.copies, self.controller, start)
            if copied := copied[: most - 1 - drafts.size]:
                drafts, noise = mx.concatenate([drafts, mx.array(copied, mx.uint32)]), None
        if mx.default_device().type == mx.gpu:  # a CPU doesn't run in parallel to the host
            mx.async_eval(drafts)
        return self._block(choice, anchor, drafts, noise, rows)

    def _block(self, choice: WidthChoice, anchor: mx.array, drafts: mx.array, noise: mx.array | None, rows: int) -> Rows:
        """Return a round that is read before the next one; `rows` is `Rows.drafted`."""
        drafts = self.penalties.usable(drafts)
        noise = None if noise is None else noise[: drafts.size + 1]
        return Rows(mx.concatenate([anchor, drafts]), None, choice, drafts, self.caches.length + 1, noise, drafted=rows)

    def _after(self, current: _Unread) -> Planning:
        """Choose and draft the rows after an unread pass; see `propose`."""
        if not self.can_plan:
            return None
        rows = current.rows.tokens.size
        offer = None if self.copies is None else self.copies.offer()
        choice = self.controller.choose(self.caches.length, offer)
        width = choice.kind.width
        if current.position is None:
            return Rows(current.anchor, None, choice, None, self.caches.length + 1, ahead=True) if width == 1 else None
        if choice.kind.proposer == "lookup" or choice.appends:
            return None
        if width == 1 or width > self.limit - rows + 1:
            self._decided = choice
            return None
        start = self.caches.length
        at = DevicePosition(current.position, start + 1, start + rows, current.kept)
        return (yield from self._queued(choice, width, current.anchor, at, ahead=True))

    def _queued(self, choice: WidthChoice, rows: int, anchor: mx.array, at: DevicePosition, ahead: bool) -> Planning:
        """Return the rows of a round after at most one unread round.

        Only the device may know their position.
        """
        assert self.drafter is not None and self.context is not None
        span = at.span(rows)
        self.context.place(span)
        following = (at.value + 1).astype(mx.uint32)
        noise = self.chooser.noise(following, rows, self.vocabulary)
        drafts = yield Block(self.context, anchor, rows, self.chooser, noise)
        return Rows(mx.concatenate([anchor, drafts]), span, choice, drafts, following, noise, ahead=ahead, drafted=rows)

    def _flush_backlog(self) -> None:
        """Inject the backlog into the drafter's context, outside the round's timing."""
        if self._backlog is not None and self.context is not None:
            began = self.clock()
            if self._backlog.flush():
                mx.eval(self.context.state)
                self._aside += self.clock() - began

    def _record(self, rows: Rows, tested: int, accepted: int) -> None:
        """Report a pass to the controller, timed from the end of the previous pass."""
        at = self.clock()
        seconds: float | None = at - self._ended_at - self._aside
        self._ended_at, self._aside = at, 0.0
        if rows.choice is _OPENING:
            return
        waits = self.queue_ahead and rows.choice.appends and not rows.choice.kind.copied
        if waits or (rows.can_wait and not rows.ahead and not self.penalties.active):
            seconds = None  # includes a wait that queued passes avoid
        if self.joined or rows.shared is not None or rows.tokens.size != rows.choice.kind.width:
            seconds = None  # ran during another reply's turn, or cut short by the end of the reply
        self.controller.record(PassOutcome(rows.choice, self.caches.length, seconds, tested, accepted))


def propose(streams: Sequence[Stream]) -> list[Rows | None]:
    """Return the rows of each stream's next pass; see `Stream.propose`.

    Their blocks are drafted in one pass. Streams after one that must read a pass first propose nothing.
    """
    found: list[Rows | None] = [None] * len(streams)
    drafting: list[tuple[int, Planning]] = []
    blocks = []
    for index, stream in enumerate(streams):
        if stream._must_read:
            break
        if (rows := stream._proposed) is None:
            planning = stream.plan()
            try:
                blocks.append(next(planning))
            except StopIteration as end:
                if (rows := end.value) is None:
                    stream._must_read = True
                    break
            else:
                drafting.append((index, planning))
        found[index] = stream._proposed = rows
    if not blocks:
        return found
    drafter = streams[drafting[0][0]].drafter
    assert drafter is not None
    try:
        for (index, planning), drafts in zip(drafting, drafter.propose_packed(blocks), strict=True):
            try:
                planning.send(drafts)
            except StopIteration as end:
                found[index] = streams[index]._proposed = end.value
    except BaseException:
        for index, _ in drafting:  # whose contexts may be placed
            streams[index].lost = True
        raise
    return found


def accept(streams: Sequence[Stream], results: list[tuple[mx.array, mx.array | None]]) -> None:
    """Choose tokens and compare drafts of each stream; see `Stream.accept`.

    All rows are injected in one pass.

    Args:
        streams: of the latest pass.
        results: logits and features of each. The list is emptied: it would keep buffers that the next pass writes in place.
    """
    started, injected, drafter = list[mx.array](), list[ContextRows](), None
    for stream in reversed(streams):
        arrays, rows = stream.choose(*results.pop())
        started += arrays
        if rows is not None:
            injected.append(rows)
            drafter = stream.drafter
    if injected:
        assert drafter is not None
        drafter.inject_packed(injected)
        for rows in injected:
            started += rows.context.state
    mx.async_eval(started)


def queued_rounds(target: Target, drafter: Drafter, caches: Caches, context: DraftContext, chooser: Chooser, width: int) -> Stream:
    """Return a stream of queued rounds of one width, to time or warm them up."""
    parts = (caches, target.vocabulary, chooser, Penalties(chooser.sampling, ()), FixedWidth(width))
    unlimited = 1 << 30
    return Stream(*parts, 0, unlimited, drafter=drafter, context=context, queue_ahead=True, opens=False)


def run_pass(stream: Stream, target: Target) -> bool:
    """Make a stream's next pass, unless an earlier one must be read first."""
    rows = stream.propose()
    if rows is None:
        return False
    stream.pass_rows.append(rows.tokens.size)
    # No variable holds the results: they would keep buffers that the next pass writes in place
    if stream.context is None:
        stream.accept(target.forward(rows.tokens, stream.caches, rows.span))
    else:
        stream.accept(*target.forward_tapped(rows.tokens, stream.caches, rows.span))
    return True
