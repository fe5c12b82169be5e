"""Speculative decoding: draft a block, verify it in one pass, accept a prefix.

A controller chooses the width and proposer of each pass. A pass of one row is a plain step, queued ahead as in `plain`.
"""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import cast

import mlx.core as mx

from mlx_engine.decoding.plain import Step
from mlx_engine.decoding.queued_rounds import QueuedRound, RoundQueue
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.width import AutomaticWidth, PassOutcome, WidthChoice, WidthController
from mlx_engine.drafters.drafter import Backlog, Drafter
from mlx_engine.drafters.lookup import Lookup
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.formats.logprobs import Report, RowLogprobs, read
from mlx_engine.targets.target import Caches, Target

_CLEAR_EVERY = 64  # passes between frees of MLX's unused buffers


@dataclass(frozen=True)
class _Block:
    """A drafted block, ready to verify."""

    choice: WidthChoice
    anchor: mx.array  # [1] uint32
    drafts: mx.array  # [rows - 1] uint32
    noise: mx.array | None  # [rows, V]; None if greedy
    match: int  # length of the match that lookup's drafts continue


@dataclass(frozen=True)
class _PlainPass:
    """A queued plain step.

    `ahead` tells whether the step was queued before the previous token was read.
    """

    choice: WidthChoice
    token: mx.array
    report: Report
    ahead: bool
    rows = 1


@dataclass
class Rounds:
    """The passes of one reply.

    Between passes, `caches` end before the anchor, whose position is `caches.length`. So does `context`, once the backlog is
    injected.
    """

    target: Target
    drafter: Drafter
    caches: Caches
    context: DraftContext
    chooser: Chooser
    penalties: Penalties
    controller: WidthController
    copies: Lookup | None = None
    clock: Callable[[], float] = time.perf_counter
    queue_ahead: bool = False  # queue a drafter round before the previous one is read, if nothing needs its tokens
    alone: Callable[[], bool] = lambda: True  # whether no other reply runs before the next step
    keeps_context: bool = True  # False if neither a draft nor a later turn needs the drafter's context
    _backlog: Backlog = field(init=False)
    _queue: RoundQueue | None = field(init=False, default=None)
    _decided: WidthChoice | None = field(init=False, default=None)  # choice for the next pass, if it couldn't be queued ahead
    _ended: float = field(init=False, default=0.0)
    _aside: float = field(init=False, default=0.0)  # seconds spent on the backlog since `_ended`
    _joined: bool = field(init=False, default=False)  # another reply began after the current pass was queued

    def run(self, first: int, limit: int, ends: frozenset[int]) -> Generator[Step, None, None]:
        """Yield up to `limit` tokens after `first`, pass by pass, until one of `ends`.

        Every token is the target's own choice; drafts determine only how many tokens a pass yields. The next pass is prepared, and
        on a GPU queued, before a step is yielded, so that the device works while the host processes the text. If other replies have
        their turns in between, a pass begins and ends in one turn, so that its time is known.
        """
        self._backlog = Backlog(self.drafter, self.context)
        if self.queue_ahead and not self.penalties.active:
            self._queue = RoundQueue(self.target, self.drafter, self.caches, self.context, self.chooser, self.penalties)
        self._ended = self.clock()
        left, passes = limit, 0
        try:
            current = self._begin(first, left)
            while True:
                alone = self.alone()
                ahead = self._queue_next(current, left) if alone else None
                if isinstance(current, _PlainPass):
                    token, choice = cast(int, current.token.item()), current.choice
                    step = Step((token,), ("target",), why=choice.why, trial=choice.trial, logprobs=read(current.report, 1))
                elif isinstance(current, _Block):
                    step = self._verify(current, ends)
                else:
                    assert self._queue is not None
                    step = _round_step(current.choice, current.rows, *self._queue.read(current, ends))
                self._record(current, step)
                tokens = step.tokens[:left]
                self.penalties.add(tokens)
                if self.copies is not None:
                    self.copies.add(tokens)
                left -= len(tokens)
                passes += 1
                done = left == 0 or not ends.isdisjoint(tokens)
                waits = done or not alone or self.penalties.stuck  # the step is yielded before the next pass fails
                following = ahead or (None if waits else self._begin(tokens[-1], left))
                if passes % _CLEAR_EVERY == 0:
                    mx.clear_cache()
                yield replace(step, tokens=tokens, sources=step.sources[: len(tokens)], logprobs=step.logprobs[: len(tokens)])
                if done:
                    return
                self._joined = following is not None and not self.alone()
                current = following or self._begin(tokens[-1], left)
        finally:
            if self._queue is not None:
                self._queue.close()
            self._backlog.flush()

    def _begin(self, anchor: int, left: int) -> _Block | QueuedRound | _PlainPass:
        """Choose and prepare the pass after an anchor that the host has read."""
        offer = None if self.copies is None else self.copies.offer()
        choice, self._decided = self._decided or self.controller.choose(self.caches.length, offer), None
        start = mx.array([anchor], dtype=mx.uint32)
        if choice.kind.width == 1:
            return self._plain_pass(choice, start, ahead=False)
        self._flush_backlog()
        rows = min(choice.kind.width, left + 1)
        if self._queue is not None and choice.kind.proposer == "drafter":
            return self._queue.put(choice, rows, start)
        copied = None
        if choice.kind.proposer == "lookup" and self.copies is not None:
            copied = mx.array(self.copies.propose(rows - 1), dtype=mx.uint32)
            rows = copied.size + 1
        fits = copied is None and self.drafter.config.confident and not choice.trial
        controller = self.controller if fits and isinstance(self.controller, AutomaticWidth) else None
        if controller is not None:
            rows = min(controller.block, left + 1)
        noise = self.chooser.noise(self.caches.length + 1, rows, self.target.vocabulary)
        match = offer.match if offer else 0
        if copied is not None:
            return _Block(choice, start, copied, noise, match)
        drafts = self.drafter.propose(self.context, start, rows, self.chooser, noise)
        if controller is not None and self.context.confidence is not None:
            confidence = cast(list[float], self.context.confidence.tolist())
            choice = controller.fit(choice, self.caches.length, confidence)
            rows = min(choice.kind.width, rows)
            drafts, noise = drafts[: rows - 1], None if noise is None else noise[:rows]
        if mx.default_device().type == mx.gpu:  # a CPU doesn't run in parallel to the host
            mx.async_eval(drafts)
        return _Block(choice, start, drafts, noise, match)

    def _queue_next(self, current: _Block | QueuedRound | _PlainPass, left: int) -> QueuedRound | _PlainPass | None:
        """Queue the pass after `current` before reading `current`, if possible.

        Returns:
            None if the next pass is of another kind, or if it needs the tokens of `current`: with penalties, for lookup, and for a
            round that the end of the reply may cut short.
        """
        if self.penalties.active or isinstance(current, _Block) or left <= current.rows:
            return None
        offer = None if self.copies is None else self.copies.offer()
        choice = self.controller.choose(self.caches.length, offer)
        if isinstance(current, _PlainPass):
            return self._plain_pass(choice, current.token, ahead=True) if choice.kind.width == 1 else None
        if choice.kind.proposer == "lookup":
            return None
        if self._queue is None or choice.kind.width == 1 or choice.kind.width > left - current.rows + 1:
            self._decided = choice
            return None
        return self._queue.put(choice, choice.kind.width, current.anchor, after=current)

    def _plain_pass(self, choice: WidthChoice, anchor: mx.array, ahead: bool) -> _PlainPass:
        logits, features = self.target.forward_tapped(anchor, self.caches)
        position = self.caches.length  # of the chosen token
        noise = self.chooser.noise(position, 1, logits.shape[-1])
        token = self.chooser.choose(self.penalties.apply(logits), position, noise)
        report = self.chooser.report(logits, token)
        mx.async_eval(token, report)
        if self.keeps_context:
            self._backlog.add(features, anchor)
        return _PlainPass(choice, token, report, ahead)

    def _flush_backlog(self) -> None:
        """Inject the backlog into the drafter's context, outside the round's timing."""
        began = self.clock()
        if self._backlog.flush():
            mx.eval(self.context.state)
            self._aside += self.clock() - began

    def _verify(self, block: _Block, ends: frozenset[int]) -> Step:
        """Verify a block in one pass.

        Caches and context then end after the accepted tokens or after the first of `ends`, where the next turn continues.
        """
        following = self.caches.length + 1
        drafts = self.penalties.usable(block.drafts)
        width = drafts.size + 1
        tokens, noise = mx.concatenate([block.anchor, drafts]), None if block.noise is None else block.noise[:width]
        logits, features = self.target.forward_tapped(tokens, self.caches)
        verdict = self.chooser.verify(self.penalties.apply(logits, drafts), drafts if drafts.size else None, following, noise)
        report = self.chooser.report(logits, verdict.choices)
        # Inject all rows now and drop the rejected ones later, so that the device need not wait for the host
        if self.keeps_context:
            self.drafter.inject(self.context, features, tokens)
        mx.eval(verdict.choices, self.context.state, report)
        accepted, token = verdict.read()
        chosen = (*accepted, token)
        held = next((at + 1 for at, token in enumerate(chosen) if token in ends), len(chosen))
        self.caches.rewind(width - held)
        if self.keeps_context:
            self.context.drop(width - held)
        return _round_step(block.choice, width, accepted, token, read(report, len(chosen)))

    def _record(self, current: _Block | QueuedRound | _PlainPass, step: Step) -> None:
        """Report a pass to the controller, timed from the end of the previous pass."""
        at = self.clock()
        seconds: float | None = at - self._ended - self._aside
        self._ended, self._aside = at, 0.0
        if not isinstance(current, _Block) and not current.ahead and not self.penalties.active:
            seconds = None  # includes a wait that queued passes avoid
        if self._joined:
            seconds = None  # ran during another reply's turn
        if step.width != current.choice.kind.width:
            seconds = None  # cut short by the end of the reply
        match = current.match if isinstance(current, _Block) else 0
        self.controller.record(PassOutcome(current.choice, self.caches.length, seconds, step.tested, step.accepted, match))


def _round_step(choice: WidthChoice, width: int, accepted: tuple[int, ...], token: int, logprobs: tuple[RowLogprobs, ...]) -> Step:
    """Return the step of a round: the accepted drafts and the target's next choice."""
    proposer = choice.kind.proposer
    return Step(
        tokens=(*accepted, token),
        sources=(*(proposer for _ in accepted), "target"),
        width=width,
        drafted=width - 1,
        tested=min(len(accepted) + 1, width - 1),
        accepted=len(accepted),
        proposer=proposer,
        trial=choice.trial,
        logprobs=logprobs,
    )
