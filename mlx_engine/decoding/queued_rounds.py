"""Rounds that are queued before the previous round is read.

A round needs only its anchor and the anchor's position. The previous round computes both, and they can stay on the device: draft,
verify, acceptance, and injection use positions for which the host knows only bounds. The device therefore runs the next round while
the host reads, delivers, and queues. If the reply ends in a round, the round queued after it is discarded.

A drafter's confidence doesn't set the width of these rounds. The host would have to read it before it builds the verify, and the
device would wait.
"""

from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.width import WidthChoice
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.formats.logprobs import Report, RowLogprobs, read
from mlx_engine.hardware.device import DevicePosition
from mlx_engine.kernels.block_verify import BlockVerdict
from mlx_engine.targets.target import Caches, Target


@dataclass(frozen=True)
class QueuedRound:
    """A round that the host has not read yet."""

    choice: WidthChoice
    rows: int  # verified rows
    verdict: BlockVerdict
    report: Report
    anchor: mx.array  # of the next round, [1] uint32
    position: mx.array  # of the next round's anchor, [1] int32
    kept: mx.array  # number of rows that precede the next round, [1] int32
    ahead: bool  # whether the round was queued before the previous one was read


class RoundQueue:
    """Queue of drafter rounds.

    Before the first round, caches and context end at the anchor, and the context isn't empty. The request has no active penalties.
    """

    def __init__(
        self, target: Target, drafter: Drafter, caches: Caches, context: DraftContext, chooser: Chooser, penalties: Penalties
    ) -> None:
        self._target, self._drafter, self._chooser, self._penalties = target, drafter, chooser, penalties
        self._caches, self._context = caches, context

    def put(self, choice: WidthChoice, rows: int, anchor: mx.array, after: QueuedRound | None = None) -> QueuedRound:
        """Queue a round of `rows` rows, including the anchor.

        Args:
            anchor: first token of the block, [1] uint32.
            after: the unread round that precedes this one and computes its anchor, or None. Only one round can be queued this way.
        """
        start = self._caches.length
        at = DevicePosition.known(start)
        if after is not None:
            at = DevicePosition(after.position, start + 1, start + after.rows, after.kept)
        span = at.span(rows)
        self._context.place(span)
        following = (at.value + 1).astype(mx.uint32)  # position of the token that row 0 chooses
        noise = self._chooser.noise(following, rows, self._target.vocabulary)
        drafts = self._drafter.propose(self._context, anchor, rows, self._chooser, noise)
        tokens = mx.concatenate([anchor, drafts])
        logits, features = self._target.forward_tapped(tokens, self._caches, span)
        verdict = self._chooser.verify(self._penalties.apply(logits), drafts, following, noise)
        report = self._chooser.report(logits, verdict.choices)
        self._drafter.inject(self._context, features, tokens)
        count = verdict.count()
        kept = (count[:1] + 1).astype(mx.int32)
        position = at.value + kept
        mx.async_eval(verdict.choices, drafts, count, position, self._context.state, report)
        return QueuedRound(choice, rows, verdict, report, count[1:], position, kept, after is not None)

    def read(self, queued: QueuedRound, ends: frozenset[int]) -> tuple[tuple[int, ...], int, tuple[RowLogprobs, ...]]:
        """Wait for the first unread round, and return what it adds to the reply.

        Returns:
            The accepted drafts, the next token, and the log-probabilities of both.

        Caches and context then end after the accepted tokens or after the first of `ends`, where the next turn continues. While
        another round is queued, some caches are updated only by `close`.
        """
        accepted, token = queued.verdict.read()
        tokens = (*accepted, token)
        held = next((at + 1 for at, token in enumerate(tokens) if token in ends), len(tokens))
        self._caches.settle(self._caches.length + held)
        self._context.settle(self._caches.length)
        return accepted, token, read(queued.report, len(tokens))

    def close(self) -> None:
        """Move caches and context to the end of the last read round; discard later rounds."""
        self._caches.finish()
        if self._context.span is not None:
            self._context.settle(self._caches.length)
