"""What the models of several kinds do alike."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import mlx.core as mx

from mlx_engine.drafters.parts.block import BlockPass
from mlx_engine.drafters.parts.block_config import BlockConfig
from mlx_engine.drafters.parts.chooser import ProposalChooser
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.parts.draft_requests import Block, ContextRows
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.parts.ends import TargetEnds
from mlx_engine.drafters.parts.layer import Layer
from mlx_engine.drafters.parts.matrix import arrays_of
from mlx_engine.kernels.operations import PLAIN, Operations

C = TypeVar("C", bound=DrafterConfig)
B = TypeVar("B", bound=BlockConfig)


class DrafterModel(ABC, Generic[C]):
    """What models of all kinds have.

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

    def inject(self, context: DraftContext, features: mx.array, tokens: mx.array | None = None) -> None:
        self.inject_packed([ContextRows(context, features, tokens)])

    @abstractmethod
    def inject_packed(self, parts: Sequence[ContextRows]) -> None: ...

    def propose(
        self, context: DraftContext, anchor: mx.array, rows: int, chooser: ProposalChooser, noise: mx.array | None
    ) -> mx.array:
        return self.propose_packed([Block(context, anchor, rows, chooser, noise)])[0]

    @abstractmethod
    def propose_packed(self, blocks: Sequence[Block]) -> list[mx.array]: ...

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

    def inject_packed(self, parts: Sequence[ContextRows]) -> None:
        features = [part.features.astype(self.dtype) for part in parts]
        self.block.injection.inject([part.context for part in parts], features, self.operations, self.multiply)

    def hidden(self, context: DraftContext, anchor: mx.array, width: int) -> mx.array:
        """Return the final hidden states [width - 1, H] of the rows that propose tokens."""
        return self.hidden_packed([(context, anchor, width)])

    def hidden_packed(self, blocks: Sequence[tuple[DraftContext, mx.array, int]]) -> mx.array:
        """Return the final hidden states [R, H] of all blocks; see `BlockPass.hidden`."""
        return self.block.hidden(blocks, self.multiply)

    def trained_logits(self, features: mx.array, blocks: mx.array, positions: mx.array) -> mx.array:
        """Return the logits [N, A, block size - 1, V] after the blocks' anchors.

        Args:
            features: of N sequences, [N, S, taps * H].
            blocks: the anchors and the tokens after them, [N, A, block size] uint32.
            positions: of the anchors, [N, A] int32.
        """
        hidden = self.block.trained(features.astype(self.dtype), blocks[:, :, 0], positions)
        return self.logits(hidden.reshape(-1, hidden.shape[-1])).reshape(*hidden.shape[:3], -1)
