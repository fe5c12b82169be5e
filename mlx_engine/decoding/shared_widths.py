"""Widths with which streams that share a pass yield many tokens per second.

A row costs the same in any stream, but each further draft of a block yields less, because it is less likely to be accepted. So
rows go, one step of the ladder after the other, to the stream where they add the most tokens per row. Of all numbers of rows on
this way, the one with the most tokens per second is used. With many streams, widths shrink, down to plain steps.

No other widths yield more if each row costs at least as much as the one before, and the ladder has every width. On other cost
curves, better widths can be between two steps. tests/mlx_engine/decoding/test_shared_widths.py shows what holds there: with known
costs, a pass is as fast as plain steps of all streams, and as turns within 0.5%. While these are being learned, it is
within 5% of both if calibrated, and within 10% of plain steps if not: once wider passes have been timed, plain steps of all streams
are timed, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import inf

from mlx_engine.decoding.costs import NOTHING, PassKind, PassLoad
from mlx_engine.decoding.width import ALONE, Company, WidthController


@dataclass
class Sharer:
    """A stream that shares a pass.

    Attributes:
        depth: number of its cached tokens.
        offers: its possible passes by width, with the tokens that each should yield.
        block: see `PassLoad.of`.
        chosen: index of its pass in `offers`.
    """

    depth: int
    offers: Sequence[tuple[PassKind, float]]
    block: int = 0
    chosen: int = field(default=0, init=False)

    @property
    def load(self) -> PassLoad:
        """What the stream brings to the pass."""
        return PassLoad.of(self.offers[self.chosen][0], self.depth, self.block)

    @property
    def tokens(self) -> float:
        """Tokens that the stream's pass should yield."""
        return self.offers[self.chosen][1]

    def gain(self) -> float:
        """Return the tokens per row that the next wider pass adds."""
        (kind, tokens), (wider, more) = self.offers[self.chosen : self.chosen + 2]
        return (more - tokens) / (wider.width - kind.width)


def share_rows(sharers: Sequence[Sharer], seconds: Callable[[PassLoad], float], most: float = inf) -> tuple[PassLoad, float]:
    """Choose passes with which all streams yield many tokens per second; see above.

    Args:
        sharers: the streams, whose `chosen` is set.
        seconds: returns the time of a pass.
        most: rows that drafts may not exceed, in the pass or before.

    Returns:
        What all streams bring, and the tokens that they should yield.
    """
    load, tokens = PassLoad(), 0.0
    for sharer in sharers:
        sharer.chosen = 0
        load, tokens = load.plus(sharer.load), tokens + sharer.tokens
    best, rate, chosen = (load, tokens), tokens / seconds(load), [0] * len(sharers)
    waiting = [(-sharer.gain(), index) for index, sharer in enumerate(sharers) if len(sharer.offers) > 1]
    heapify(waiting)
    while waiting:
        _, index = heappop(waiting)
        sharer = sharers[index]
        load, tokens = load.minus(sharer.load), tokens - sharer.tokens
        sharer.chosen += 1
        load, tokens = load.plus(sharer.load), tokens + sharer.tokens
        if sharer.chosen + 1 < len(sharer.offers):
            heappush(waiting, (-sharer.gain(), index))
        if max(load.rows, load.drafted) <= most and (found := tokens / seconds(load)) > rate:
            best, rate, chosen = (load, tokens), found, [each.chosen for each in sharers]
    for sharer, own in zip(sharers, chosen, strict=True):
        sharer.chosen = own
    return best


def _plain_steps(sharers: Sequence[Sharer]) -> tuple[PassLoad, float]:
    """Return the load and tokens of each stream's narrowest pass."""
    load, tokens = NOTHING, 0.0
    for sharer in sharers:
        kind, own = sharer.offers[0]
        load, tokens = load.plus(PassLoad.of(kind, sharer.depth, sharer.block)), tokens + own
    return load, tokens


def share_widths(streams: Sequence[tuple[WidthController, int, bool]], most: float = inf) -> None:
    """Tell streams what the others bring to their pass, and how wide each should be.

    Args:
        streams: the controller of each, the number of its cached tokens, and whether it is as wide as alone.
        most: largest number of rows of the pass.
    """
    controllers = [controller for controller, _, _ in streams]
    knows = next((each for each in controllers if each.shared_seconds(PassLoad(2, 0, 2)) is not None), None)
    if len(streams) == 1 or knows is None:
        for controller in controllers:
            controller.company = ALONE
        return
    sharers = [Sharer(depth, [each.usual(depth)] if fixed else each.offers(), each.drafted) for each, depth, fixed in streams]
    load, tokens = share_rows(sharers, lambda load: knows.shared_seconds(load) or 0.0, most)
    steps, fewer = _plain_steps(sharers)
    if load.rows > steps.rows and knows.doubts(load, steps):
        load, tokens = steps, fewer
        for sharer in sharers:
            sharer.chosen = 0
    for (controller, _, fixed), sharer in zip(streams, sharers, strict=True):
        if not fixed:
            controller.company = Company(load.minus(sharer.load), tokens - sharer.tokens, sharer.offers[sharer.chosen][0])
