"""Rounds that are queued before the one before them has been read.

What a round starts from, its anchor and where that stands, is made by the round before it and need not leave the device: drafts,
verify, comparison and injection follow from them, at places that the host only has bounds of. So the device goes from one round to
the next while the host reads, hands out and queues. If a reply ends in a round, the one behind it was in vain, and leaves no trace.
"""

from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.decoding.sampling import Chooser
from mlx_engine.decoding.width import Choice
from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.placed import PlacedContext
from mlx_engine.kernels.block_verify import Verdict
from mlx_engine.positions import Place
from mlx_engine.targets.target import Caches, Target


def pays() -> bool:
    """Whether the device has time of its own to work in while the host goes on; where it is the host's processor it has none."""
    return mx.default_device().type == mx.gpu


@dataclass(frozen=True)
class QueuedRound:
    """A round of `rows` rows that nobody has read. `ahead`: it was queued before the one before it was read."""

    choice: Choice
    rows: int
    verdict: Verdict
    anchor: mx.array  # of the round after it, [1] uint32
    position: mx.array  # where that one stands, [1] int32
    kept: mx.array  # rows of this round that are before that one, [1] int32
    ahead: bool


class Queue:
    """Queues rounds and says what came of them; caches and context stand at the anchor of the first that nobody has read.

    Args:
        target: whose `caches` these are.
        drafter: whose `context` this is, which has something in it.
        caches: up to the anchor.
        context: up to the anchor.
        chooser: of the request, which has no penalties.
    """

    def __init__(self, target: Target, drafter: Drafter, caches: Caches, context: DraftContext, chooser: Chooser) -> None:
        self._target, self._drafter, self._chooser = target, drafter, chooser
        self._caches, self._context = caches, context

    def put(self, choice: Choice, rows: int, anchor: mx.array) -> QueuedRound:
        """Queue a round whose anchor, [1] uint32, the host has read."""
        return self._put(choice, rows, anchor, Place.known(self._caches.length), ahead=False)

    def put_after(self, last: QueuedRound, choice: Choice, rows: int) -> QueuedRound:
        """Queue a round behind another that nobody has read; the only one of that kind."""
        start = self._caches.length
        place = Place(last.position, start + 1, start + last.rows, last.kept)
        return self._put(choice, rows, last.anchor, place, ahead=True)

    def read(self, queued: QueuedRound, ends: frozenset[int]) -> tuple[tuple[int, ...], int]:
        """Wait for the first round that nobody has read: the confirmed drafts, and the choice after them.

        Caches and context hold then what it confirmed, but nothing after an end: there the next turn goes on. With a round behind
        it, some caches come to know of that at `close`.
        """
        confirmed, token = queued.verdict.read()
        tokens = (*confirmed, token)
        held = next((at + 1 for at, token in enumerate(tokens) if token in ends), len(tokens))
        self._caches.settle(self._caches.length + held)
        self._context.settle(self._caches.length)
        return confirmed, token

    def close(self) -> None:
        """Caches and context hold what was read; a round that nobody has read was in vain."""
        self._caches.rest()

    def _put(self, choice: Choice, rows: int, anchor: mx.array, place: Place, ahead: bool) -> QueuedRound:
        span = place.span(rows)
        caches, context = self._caches.placed(span), PlacedContext(self._context, span)
        following = (place.at + 1).astype(mx.uint32)  # position of the first token that is to be chosen
        noise = self._chooser.noise(following, rows, self._target.vocabulary)
        drafts = self._drafter.propose(context, anchor, rows, self._chooser, noise)
        logits, features = self._target.forward_tapped(mx.concatenate([anchor, drafts]), caches)
        verdict = self._chooser.verify(logits, drafts, following, noise)
        self._drafter.inject(context, features)
        count = verdict.count()
        kept = (count[:1] + 1).astype(mx.int32)
        position = place.at + kept
        mx.async_eval(verdict.choices, drafts, count, position, self._context.state)
        return QueuedRound(choice, rows, verdict, count[1:], position, kept, ahead)
