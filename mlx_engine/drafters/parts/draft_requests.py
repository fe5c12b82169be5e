"""What streams ask of a drafter: to draft a block, and to extend a context."""

from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.drafters.parts.chooser import ProposalChooser
from mlx_engine.drafters.parts.context import DraftContext


@dataclass(frozen=True, slots=True)
class Block:
    """A block to draft for one stream.

    Attributes:
        context: contains all positions before the anchor, whose position is `context.start`.
        anchor: the last token, [1] uint32.
        rows: rows of the block, including the anchor: 2 to the block size.
        chooser: chooses tokens from scores.
        noise: Gumbel noise for the tokens after the anchor, [at least rows - 1, V] float32; None for greedy choice.
    """

    context: DraftContext
    anchor: mx.array
    rows: int
    chooser: ProposalChooser
    noise: mx.array | None = None


@dataclass(frozen=True, slots=True)
class ContextRows:
    """The next positions of one stream's context.

    Attributes:
        context: is extended.
        features: of the positions, [S, taps * H].
        tokens: of the positions, [S]; None for a drafter that doesn't pair.
    """

    context: DraftContext
    features: mx.array
    tokens: mx.array | None = None

    @property
    def rows(self) -> int:
        """Number of positions."""
        return self.features.shape[0]
