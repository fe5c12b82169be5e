"""DFlash decoding: draft a block, verify it in one pass of the target, keep what the target would have chosen itself.

Before every pass a controller says how wide it is to be and who proposes. A pass of one row is plain decoding, queued as there.
"""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

import mlx.core as mx

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
    _backlog: Backlog = field(init=False)
    _ended: float = field(init=False, default=0.0)  # when the last pass ended
    _aside: float = field(init=False, default=0.0)  # seconds since then that were spent on the backlog

    def run(self, first: int, limit: int, ends: frozenset[int]) -> Generator[Step, None, None]:
        """Yield up to `limit` tokens after `first`, a pass at a time, until one of `ends` comes.

        Every token is the target's own choice; drafts decide only how many of them one pass yields. What comes next is prepared,
        and on a GPU queued, before a step is handed out, so that the device works while the host deals with the text.
        """
        self._backlog = Backlog(self.drafter, self.context)
        self._ended = self.clock()
        left, passes = limit, 0
        try:
            now = self._begin(first, left)
            while True:
                ahead = None
                if isinstance(now, _PlainPass):
                    ahead = self._ahead(now, left)
                    step = Step((cast(int, now.token.item()),), ("target",), why=now.choice.why, trial=now.choice.trial)
                else:
                    step = self._verify(now, ends)
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
            self._backlog.flush()

    def _begin(self, anchor: int, left: int) -> _Block | _PlainPass:
        """Ask what comes next, and queue it where the device is not the host itself."""
        offer = None if self.copies is None else self.copies.offer()
        choice = self.controller.choose(self.caches.length, offer)
        start = mx.array([anchor], dtype=mx.uint32)
        if choice.kind.width == 1:
            return self._plainly(choice, start, ahead=False)
        self._catch_up()
        rows = min(choice.kind.width, left + 1)
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

    def _ahead(self, now: _PlainPass, left: int) -> _PlainPass | None:
        """The plain step after this one, queued before this one's token is read; None if something else is to come.

        Penalties, and a lookup that is to be followed, need the token first.
        """
        if self.penalties.active or left == 1:
            return None
        offer = None if self.copies is None else self.copies.offer()
        choice = self.controller.choose(self.caches.length, offer)
        return self._plainly(choice, now.token, ahead=True) if choice.kind.width == 1 else None

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
        tokens, width, accepted = (*confirmed, token), block.drafts.size + 1, len(confirmed)
        held = next((at + 1 for at, token in enumerate(tokens) if token in ends), len(tokens))
        self.caches.rewind(width - held)
        self.context.drop(width - held)
        proposer = block.choice.kind.proposer
        return Step(
            tokens=tokens,
            sources=(*(proposer for _ in range(accepted)), "target"),
            width=width,
            drafted=width - 1,
            tested=min(accepted + 1, width - 1),
            accepted=accepted,
            proposer=proposer,
            trial=block.choice.trial,
        )

    def _tell(self, now: _Block | _PlainPass, step: Step) -> None:
        """The controller hears what the pass gave, and how long it was until its end since the end of the one before it."""
        at = self.clock()
        seconds: float | None = at - self._ended - self._aside
        self._ended, self._aside = at, 0.0
        match, kind = 0, now.choice.kind
        if isinstance(now, _PlainPass):
            if not now.ahead and not self.penalties.active:
                seconds = None  # the next one will be quicker
        else:
            match = now.offer.match if now.offer else 0
            if step.width != kind.width:
                seconds = None  # the reply's end cut it short
        self.controller.saw(Outcome(now.choice, self.caches.length, seconds, step.tested, step.accepted, match))
