"""Rounds that are queued before the previous round has been read.

A round starts from its anchor and the anchor's position. The previous round computes both, and they can stay on the device:
drafts, verify, comparison and injection follow from them, at positions for which the host knows only bounds. The device therefore
goes from one round to the next while the host reads tokens, sends them out and queues work. If the reply ends in a round, the
round queued after it is discarded.
"""

from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.decoding.sampling import Chooser
from mlx_engine.decoding.width import WidthChoice
from mlx_engine.device import DevicePosition
from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.kernels.block_verify import BlockVerdict
from mlx_engine.targets.target import Caches, Target


@dataclass(frozen=True)
class QueuedRound:
    """An unread round of `rows` rows; `ahead` if queued before the previous one was read."""

    choice: WidthChoice
    rows: int
    verdict: BlockVerdict
    anchor: mx.array  # of the next round, [1] uint32
    position: mx.array  # of the next round's anchor, [1] int32
    kept: mx.array  # rows of this round that precede the next round, [1] int32
    ahead: bool


class RoundQueue:
    """Queues rounds and reads their results; caches and context end before the first one.

    Args:
        target: the model that `caches` belong to.
        drafter: the drafter that `context` belongs to. The context is not empty.
        chooser: the chooser of a request without penalties.
    """

    def __init__(self, target: Target, drafter: Drafter, caches: Caches, context: DraftContext, chooser: Chooser) -> None:
        self._target, self._drafter, self._chooser = target, drafter, chooser
        self._caches, self._context = caches, context

    def put(self, choice: WidthChoice, rows: int, anchor: mx.array, after: QueuedRound | None = None) -> QueuedRound:
        """Queue a round.

        Args:
            rows: rows of its verify, including the anchor's.
            anchor: the first token, [1] uint32.
            after: the unread round that precedes this one and computes its anchor; at most one round can be queued this way.
        """
        start = self._caches.length
        at = DevicePosition.known(start)
        if after is not None:
            at = DevicePosition(after.position, start + 1, start + after.rows, after.kept)
        span = at.span(rows)
        self._context.place(span)
        following = (at.value + 1).astype(mx.uint32)  # position of the first chosen token
        noise = self._chooser.noise(following, rows, self._target.vocabulary)
        drafts = self._drafter.propose(self._context, anchor, rows, self._chooser, noise)
        logits, features = self._target.forward_tapped(mx.concatenate([anchor, drafts]), self._caches, span)
        verdict = self._chooser.verify(logits, drafts, following, noise)
        self._drafter.inject(self._context, features)
        count = verdict.count()
        kept = (count[:1] + 1).astype(mx.int32)
        position = at.value + kept
        mx.async_eval(verdict.choices, drafts, count, position, self._context.state)
        return QueuedRound(choice, rows, verdict, count[1:], position, kept, after is not None)

    def read(self, queued: QueuedRound, ends: frozenset[int]) -> tuple[tuple[int, ...], int]:
        """Wait for the first unread round, and return its accepted drafts and next token.

        Caches and context then hold the accepted tokens, up to the first of `ends`: the next turn continues there. While another
        round is queued, some caches are only brought up to date by `close`.
        """
        accepted, token = queued.verdict.read()
        tokens = (*accepted, token)
        held = next((at + 1 for at, token in enumerate(tokens) if token in ends), len(tokens))
        self._caches.settle(self._caches.length + held)
        self._context.settle(self._caches.length)
        return accepted, token

    def close(self) -> None:
        """Bring caches and context up to the last round read, and discard an unread round."""
        self._caches.finish()
        if self._context.span is not None:
            self._context.settle(self._caches.length)
