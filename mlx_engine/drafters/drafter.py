"""What decoding asks of a drafter, whatever its kind."""

from typing import Protocol

import mlx.core as mx

from mlx_engine.drafters.context import DraftContext
from mlx_engine.kernels.operations import Operations
from mlx_engine.pairs.drafter_config import DrafterConfig


class Proposals(Protocol):
    """How a proposal is chosen from scores; `mlx_engine.decoding.sampling.Chooser` is one."""

    def propose(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        """Indices, uint32 [rows], chosen from logits [rows, n] and the noise of the same tokens, [rows, n] or None."""
        ...


class Drafter(Protocol):
    """Proposes blocks for a target whose embedding and head it shares."""

    config: DrafterConfig
    operations: Operations

    @property
    def bits(self) -> int:
        """Bits of a weight of its largest matrices: 16 stands for floating point."""
        ...

    def context(self) -> DraftContext:
        """A fresh, empty context."""
        ...

    def inject(self, context: DraftContext, features: mx.array) -> None:
        """Append features [S, taps * H] of the S positions from `context.position` on to the context."""
        ...

    def propose(self, context: DraftContext, anchor: mx.array, rows: int, chooser: Proposals, noise: mx.array | None) -> mx.array:
        """Proposals for the positions after the anchor, built lazily: nothing here waits for the device.

        Args:
            context: every position before the anchor, which stands at `context.position`.
            anchor: the last token, uint32 [1].
            rows: of the block, the anchor's included; 2 to the block size.
            chooser: turns scores into tokens.
            noise: of the tokens at the positions after the anchor, [at least rows - 1, V] float32; None when greedy.

        Returns:
            Token ids of the target, uint32 [rows - 1].
        """
        ...

    def parameters(self) -> list[mx.array]:
        """Every array that the drafter holds."""
        ...
