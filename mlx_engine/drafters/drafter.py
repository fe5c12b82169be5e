"""The interface between decoding and a drafter."""

from typing import Protocol

import mlx.core as mx

from mlx_engine.drafters.context import DraftContext
from mlx_engine.kernels.operations import Operations
from mlx_engine.pairs.drafter_config import DrafterConfig


class ProposalChooser(Protocol):
    """Chooses proposals from scores; `mlx_engine.decoding.sampling.Chooser` is one."""

    def propose(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        """Return indices, uint32 [rows], chosen from logits [rows, n]. The noise may be None."""
        ...


class Drafter(Protocol):
    """Proposes blocks for a target whose embedding and head it shares."""

    config: DrafterConfig
    operations: Operations

    @property
    def bits(self) -> int:
        """Bits per weight of the largest matrices; 16 means floating point."""
        ...

    def context(self) -> DraftContext:
        """Return a fresh, empty context."""
        ...

    def inject(self, context: DraftContext, features: mx.array) -> None:
        """Append the features [S, taps * H] of the next S positions to the context."""
        ...

    def propose(
        self, context: DraftContext, anchor: mx.array, rows: int, chooser: ProposalChooser, noise: mx.array | None
    ) -> mx.array:
        """Queue proposals for the positions after the anchor.

        Args:
            context: holds every position before the anchor, which is at `context.start`.
            anchor: the last token, uint32 [1].
            rows: rows of the block, including the anchor's; 2 to the block size.
            chooser: turns scores into tokens.
            noise: for the tokens after the anchor, [at least rows - 1, V] float32; None if greedy.

        Returns:
            The target's token ids, uint32 [rows - 1].
        """
        ...

    def parameters(self) -> list[mx.array]:
        """Return the drafter's arrays."""
        ...
