"""DFlash decoding: draft a block, verify it in one pass of the target, keep what the target would have chosen itself."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import cast

import mlx.core as mx

from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.step import Step
from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.events import Source
from mlx_engine.targets.target import Caches, Target

_FREE_EVERY = 64  # rounds after which MLX's spare buffers are freed


@dataclass(frozen=True)
class _Block:
    """An anchor, [1] uint32, and the drafts that follow it, [rows - 1] or None at one row; `noise` [rows, V] unless greedy."""

    anchor: mx.array
    drafts: mx.array | None
    noise: mx.array | None


@dataclass(frozen=True)
class Rounds:
    """What the rounds of one reply share.

    Between two rounds `caches` and `context` hold every position before the anchor, which stands at `context.position`.
    """

    target: Target
    drafter: Drafter
    caches: Caches
    context: DraftContext
    chooser: Chooser
    penalties: Penalties

    def run(self, first: int, limit: int, width: int, ends: frozenset[int]) -> Generator[Step, None, None]:
        """Yield up to `limit` tokens after `first`, a round of at most `width` rows at a time, until one of `ends` comes.

        Every token is the target's own choice; drafts decide only how many of them one pass yields. At width 1 this is plain
        decoding that keeps the drafter's context. On a GPU the next draft is queued before a step is handed out, so that the device
        works while the host deals with the text.
        """
        left, rounds = limit, 0
        block = self._draft(first, min(width, left + 1))
        while True:
            step = self._verify(block, ends)
            tokens = step.tokens[:left]
            self.penalties.add(tokens)
            left -= len(tokens)
            rounds += 1
            over = left == 0 or not ends.isdisjoint(tokens)
            if not over:
                block = self._draft(tokens[-1], min(width, left + 1))
            if rounds % _FREE_EVERY == 0:
                mx.clear_cache()
            yield step if len(tokens) == len(step.tokens) else _cut(step, len(tokens))
            if over:
                return

    def _draft(self, anchor: int, rows: int) -> _Block:
        """The drafter's proposals for the `rows - 1` positions after the anchor, queued where the device is not the host itself."""
        start = mx.array([anchor], dtype=mx.uint32)
        noise = self.chooser.noise(self.context.position + 1, rows, self.target.vocabulary)
        if rows == 1:
            return _Block(start, None, noise)
        drafts = self.drafter.propose(self.context, start, rows, self.chooser, noise)
        if mx.default_device().type == mx.gpu:  # a CPU has no time of its own to work in while the host goes on
            mx.async_eval(drafts)
        return _Block(start, drafts, noise)

    def _verify(self, block: _Block, ends: frozenset[int]) -> Step:
        """One pass of the target over the block; what it confirms goes into caches and context, the rest leaves no trace.

        Nor does what it confirms after an end: there the next turn goes on.
        """
        tokens = block.anchor if block.drafts is None else mx.concatenate([block.anchor, block.drafts])
        logits, features = self.target.forward_tapped(tokens, self.caches)
        choices = self.chooser.pick(self.penalties.apply(logits, block.drafts), block.noise)
        # All rows are injected in the same pass and the rejected ones dropped after, so that the device need not wait for the host
        self.drafter.inject(self.context, features)
        mx.eval(choices, self.context.state)
        chosen = cast(list[int], choices.tolist())
        drafted = [] if block.drafts is None else cast(list[int], block.drafts.tolist())
        accepted = 0
        while accepted < len(drafted) and drafted[accepted] == chosen[accepted]:
            accepted += 1
        kept = accepted + 1
        held = next((at + 1 for at, token in enumerate(chosen[:kept]) if token in ends), kept)
        self.caches.rewind(len(chosen) - held)
        self.context.drop(len(chosen) - held)
        return Step(
            tokens=tuple(chosen[:kept]),
            sources=cast(tuple[Source, ...], ("drafter",) * accepted + ("target",)),
            width=len(chosen),
            drafted=len(drafted),
            tested=min(kept, len(drafted)),
            accepted=accepted,
        )


def _cut(step: Step, count: int) -> Step:
    return Step(step.tokens[:count], step.sources[:count], step.width, step.drafted, step.tested, step.accepted)
