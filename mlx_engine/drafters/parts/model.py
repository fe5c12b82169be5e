"""What the models of several kinds do alike."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import mlx.core as mx

from mlx_engine.drafters.parts.block import BlockPass
from mlx_engine.drafters.parts.block_config import BlockConfig
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.parts.ends import TargetEnds
from mlx_engine.drafters.parts.layer import Layer
from mlx_engine.drafters.parts.matrix import arrays_of
from mlx_engine.kernels.operations import PLAIN, Operations

C = TypeVar("C", bound=DrafterConfig)
B = TypeVar("B", bound=BlockConfig)


class DrafterModel(Generic[C]):
    """The state that models of all kinds have.

    Args:
        config: the drafter's config.
        ends: its embedding, norm, and head.
    """

    def __init__(self, config: C, ends: TargetEnds) -> None:
        self.config, self.ends = config, ends
        self.operations: Operations = PLAIN

    @property
    def dtype(self) -> mx.Dtype:
        """Dtype of all computations."""
        return self.ends.norm.dtype

    @property
    def multiply(self) -> Callable[..., mx.array] | None:
        """The `verify_matmul` kernel, or None if it isn't used."""
        return None if self.operations.verify_matmul is PLAIN.verify_matmul else self.operations.verify_matmul

    def parameters(self) -> list[mx.array]:
        return arrays_of(self)

    def logits(self, hidden: mx.array) -> mx.array:
        """Return the logits [rows, V or reduced vocabulary] of hidden states [rows, H]."""
        return self.ends.logits(hidden, self.multiply)


class BlockModel(DrafterModel[B]):
    """The state of models that fill a block in one pass.

    Args:
        block: runs blocks.
        layers: their weights.
    """

    def __init__(self, block: BlockPass, layers: Sequence[Layer]) -> None:
        super().__init__(block.config, block.ends)  # type: ignore[arg-type]
        self.block, self._layers = block, layers

    @property
    def bits(self) -> int:
        return self._layers[0].gate_up.bits

    def context(self) -> DraftContext:
        return DraftContext(self.config.windows)

    def inject(self, context: DraftContext, features: mx.array, tokens: mx.array | None = None) -> None:
        self.block.injection.inject(context, features.astype(self.dtype), self.operations, self.multiply)

    def hidden(self, context: DraftContext, anchor: mx.array, width: int) -> mx.array:
        """Return the final hidden states [width - 1, H] of the rows that propose tokens."""
        return self.block.hidden(context, anchor, width, self.multiply)

    def draft(self, context: DraftContext, anchor: mx.array, width: int) -> mx.array:
        """Return the logits [width - 1, V] of the positions after `anchor`, [1] uint32."""
        return self.logits(self.hidden(context, anchor, width))

    def trained_logits(self, features: mx.array, blocks: mx.array, positions: mx.array) -> mx.array:
        """Return the logits [N, A, block size - 1, V] after the blocks' anchors.

        Args:
            features: of N sequences, [N, S, taps * H].
            blocks: the anchors and the tokens after them, [N, A, block size] uint32.
            positions: of the anchors, [N, A] int32.
        """
        hidden = self.block.trained(features.astype(self.dtype), blocks[:, :, 0], positions)
        return self.logits(hidden.reshape(-1, hidden.shape[-1])).reshape(*hidden.shape[:3], -1)
