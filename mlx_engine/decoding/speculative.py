"""DFlash decoding: draft a block, verify it in one pass of the target, keep what the target would have chosen itself.

Before every pass a controller says how wide it is to be and who proposes. A pass of one row is plain decoding, queued as there.
"""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

import mlx.core as mx

from mlx_engine.decoding.queued_rounds import Queue, QueuedRound
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.step import Step
from mlx_engine.decoding.width import Choice, Controller, Outcome
from mlx_engine.drafters.backlog import Backlog
from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.lookup import Offer
from mlx_engine.targets.target import Caches, Target

_FREE_EVERY = 64  # passes after which MLX's spare buffers are freed


class Copies(Protocol):
    """A proposer that looks at tokens alone; `mlx_engine.drafters.lookup.Lookup` is one."""

    def add(self, tokens: tuple[int, ...]) -> None:
        """These tokens of the reply are final."""
        ...

    def offer(self) -> Offer | None:
        """What it could propose now."""
        ...

    def propose(self, count: int) -> list[int]:
        """At most `count` tokens of what was offered, at least one."""
        ...


@dataclass(frozen=True)
class _Block:
    """An anchor, [1] uint32, and the drafts that follow it, [rows - 1]; `noise` [rows, V] unless greedy."""

    choice: Choice
    anchor: mx.array
    drafts: mx.array
    noise: mx.array | None
    offer: Offer | None


@dataclass(frozen=True)
class _PlainPass:
    """A queued pass of one row: the token it chooses, [1] uint32. `ahead`: it was queued before the token before it was read."""

    choice: Choice
    token: mx.array
    ahead: bool
    rows = 1


@dataclass
class Rounds:
    """What the passes of one reply share.

    Between two of them `caches` hold every position before the anchor, which stands at `caches.length`; `context` holds them too,
    but for what waits in the backlog.
    """

    target: Target
    drafter: Drafter
    caches: Caches
    context: DraftContext
    chooser: Chooser
    penalties: Penalties
    controller: Controller
    copies: Copies | None = None
    clock: Callable[[], float] = time.perf_counter
    lag: bool = False  # queue a round of the drafter's before the one before it is read, where nothing needs its tokens
    _backlog: Backlog = field(init=False)
    _queue: Queue | None = field(init=False, default=None)
    _decided: Choice | None = field(init=False, default=None)  # what comes next, if it was asked for and could not be queued ahead
    _ended: float = field(init=False, default=0.0)  # when the last pass ended
    _aside: float = field(init=False, default=0.0)  # seconds since then that were spent on the backlog

    def run(self, first: int, limit: int, ends: frozenset[int]) -> Generator[Step, None, None]:
        """Yield up to `limit` tokens after `first`, a pass at a time, until one of `ends` comes.

        Every token is the target's own choice; drafts decide only how many of them one pass yields. What comes next is prepared,
        and on a GPU queued, before a step is handed out, so that the device works while the host deals with the text.
        """
        self._backlog = Backlog(self.drafter, self.context)
        if self.lag and not self.penalties.active:
            self._queue = Queue(self.target, self.drafter, self.caches, self.context, self.chooser)
        self._ended = self.clock()
        left, passes = limit, 0
        try:
            now = self._begin(first, left)
            while True:
                ahead = self._ahead(now, left)
                if isinstance(now, _PlainPass):
                    step = Step((cast(int, now.token.item()),), ("target",), why=now.choice.why, trial=now.choice.trial)
                elif isinstance(now, _Block):
                    step = self._verify(now, ends)
                else:
                    assert self._queue is not None
                    step = _round(now.choice, *self._queue.read(now, ends), now.rows)
                self._tell(now, step)
                tokens = step.tokens[:left]
                self.penalties.add(tokens)
                if self.copies is not None:
                    self.copies.add(tokens)
                left -= len(tokens)
                passes += 1
                over = left == 0 or not ends.isdisjoint(tokens)
                if not over:
                    now = ahead or self._begin(tokens[-1], left)
                if passes % _FREE_EVERY == 0:
                    mx.clear_cache()
                yield replace(step, tokens=tokens, sources=step.sources[: len(tokens)])
                if over:
                    return
        finally:
            if self._queue is not None:
                self._queue.close()
            self._backlog.flush()

    def _begin(self, anchor: int, left: int) -> _Block | QueuedRound | _PlainPass:
        """Ask what comes next, and queue it where the device is not the host itself."""
        offer = None if self.copies is None else self.copies.offer()
        choice, self._decided = self._decided or self.controller.choose(self.caches.length, offer), None
        start = mx.array([anchor], dtype=mx.uint32)
        if choice.kind.width == 1:
            return self._plainly(choice, start, ahead=False)
        self._catch_up()
        rows = min(choice.kind.width, left + 1)
        if self._queue is not None and choice.kind.proposer == "drafter":
            return self._queue.put(choice, rows, start)
        copied = None
        if choice.kind.proposer == "lookup" and self.copies is not None:
            copied = mx.array(self.copies.propose(rows - 1), dtype=mx.uint32)
            rows = copied.size + 1
        noise = self.chooser.noise(self.caches.length + 1, rows, self.target.vocabulary)
        if copied is not None:
            return _Block(choice, start, copied, noise, offer)
        drafts = self.drafter.propose(self.context, start, rows, self.chooser, noise)
        if mx.default_device().type == mx.gpu:  # a CPU has no time of its own to work in while the host goes on
            mx.async_eval(drafts)
        return _Block(choice, start, drafts, noise, offer)

    def _ahead(self, now: _Block | QueuedRound | _PlainPass, left: int) -> QueuedRound | _PlainPass | None:
        """What comes after this, queued before this is read, if it is of the same kind: a plain step, or a round of the drafter's.

        Penalties, and a lookup that is to be followed, need the tokens first; so does a round that the reply's end may cut short.
        """
        if self.penalties.active or isinstance(now, _Block) or left <= now.rows:
            return None
        offer = None if self.copies is None else self.copies.offer()
        choice = self.controller.choose(self.caches.length, offer)
        if isinstance(now, _PlainPass):
            return self._plainly(choice, now.token, ahead=True) if choice.kind.width == 1 else None
        if choice.kind.proposer == "lookup":
            return None
        if self._queue is None or choice.kind.width == 1 or choice.kind.width > left - now.rows + 1:
            self._decided = choice
            return None
        return self._queue.put_after(now, choice, choice.kind.width)

    def _plainly(self, choice: Choice, anchor: mx.array, ahead: bool) -> _PlainPass:
        logits, features = self.target.forward_tapped(anchor, self.caches)
        position = self.caches.length  # of the token that is chosen now
        noise = self.chooser.noise(position, 1, logits.shape[-1])
        token = self.chooser.choose(self.penalties.apply(logits), position, noise)
        mx.async_eval(token)
        self._backlog.add(features)
        return _PlainPass(choice, token, ahead)

    def _catch_up(self) -> None:
        """Bring the drafter's context up to the anchor; how long that takes is no part of what a round costs."""
        began = self.clock()
        if self._backlog.flush():
            mx.eval(self.context.state)
            self._aside += self.clock() - began

    def _verify(self, block: _Block, ends: frozenset[int]) -> Step:
        """One pass of the target over the block; what it confirms goes into caches and context, the rest leaves no trace.

        Nor does what it confirms after an end: there the next turn goes on.
        """
        following = self.caches.length + 1
        logits, features = self.target.forward_tapped(mx.concatenate([block.anchor, block.drafts]), self.caches)
        verdict = self.chooser.verify(self.penalties.apply(logits, block.drafts), block.drafts, following, block.noise)
        # All rows are injected in the same pass and the rejected ones dropped after, so that the device need not wait for the host
        self.drafter.inject(self.context, features)
        mx.eval(verdict.choices, self.context.state)
        confirmed, token = verdict.read()
        tokens, width = (*confirmed, token), block.drafts.size + 1
        held = next((at + 1 for at, token in enumerate(tokens) if token in ends), len(tokens))
        self.caches.rewind(width - held)
        self.context.drop(width - held)
        return _round(block.choice, confirmed, token, width)

    def _tell(self, now: _Block | QueuedRound | _PlainPass, step: Step) -> None:
        """The controller hears what the pass gave, and how long it was until its end since the end of the one before it."""
        at = self.clock()
        seconds: float | None = at - self._ended - self._aside
        self._ended, self._aside = at, 0.0
        match, kind = 0, now.choice.kind
        if isinstance(now, _Block):
            match = now.offer.match if now.offer else 0
        elif not now.ahead and not self.penalties.active:
            seconds = None  # the next one will be quicker
        if step.width != kind.width:
            seconds = None  # the reply's end cut it short
        self.controller.saw(Outcome(now.choice, self.caches.length, seconds, step.tested, step.accepted, match))


def _round(choice: Choice, confirmed: tuple[int, ...], token: int, width: int) -> Step:
    """What a round of `width` rows yields: the drafts that were confirmed, and the target's choice after them."""
    proposer, accepted = choice.kind.proposer, len(confirmed)
    return Step(
        tokens=(*confirmed, token),
        sources=(*(proposer for _ in range(accepted)), "target"),
        width=width,
        drafted=width - 1,
        tested=min(accepted + 1, width - 1),
        accepted=accepted,
        proposer=proposer,
        trial=choice.trial,
    )
