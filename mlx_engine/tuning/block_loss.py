"""The loss of a drafter that fills blocks, for many blocks in one pass.

Decoding runs one block over its context. Training runs the blocks of many anchors over one context, and each block sees only the
positions before its anchor. Both use the same model, which training makes again for each pass from what is trained.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from mlx_engine.contract.errors import UserError
from mlx_engine.drafters import registry
from mlx_engine.drafters.parts.block_config import BlockConfig
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.parts.matrix import arrays_of
from mlx_engine.drafters.parts.trained_tensors import RecordedTensors, Trained, TrainedTensors

DECAY = 7.0  # positions after the anchor over which a token's weight falls by a factor of e


@dataclass(frozen=True)
class BlockBatch:
    """Blocks of N sequences, padded to the same length S.

    Attributes:
        features: the target's, [N, S, taps * H].
        blocks: the anchor and the tokens after it, [N, A, block size] uint32.
        anchors: positions of the anchors, [N, A] int32.
        weights: weight of each token after the anchor, [N, A, block size - 1] float32; 0 past the end of a reply.
    """

    features: mx.array
    blocks: mx.array
    anchors: mx.array
    weights: mx.array


class BlockLoss:
    """The loss of a DFlash or DFlash 2 drafter as a function of what is trained.

    Args:
        config: the drafter's config.
        weights: its tensors by published name. The dict is emptied.
        dtype: dtype of all computations.
        embed: token ids [N, w] -> embeddings [N, w, H].
        head: hidden states [N, w, H] -> logits [N, w, V].
        bits: bits per weight of the frozen matrices; 16 for as stored.

    Raises:
        UserError: the drafter is of another kind, or a tensor is missing or unexpected.
    """

    def __init__(
        self,
        config: DrafterConfig,
        weights: Trained,
        dtype: mx.Dtype,
        embed: Callable[[mx.array], mx.array],
        head: Callable[[mx.array], mx.array],
        bits: int = 16,
    ) -> None:
        if not config.tunable or not isinstance(config, BlockConfig):
            raise UserError("drafter_not_tunable", "Only DFlash and DFlash 2 drafters can be tuned. Choose another drafter.")
        self.config, self.dtype, self._ends = config, dtype, (embed, head)
        self._tensors = RecordedTensors(weights, dtype, config.stored, bits)
        weights.clear()
        registry.build(config, self._tensors, *self._ends)
        self._tensors.finish()
        mx.eval(arrays_of(self._tensors.taken))

    def __call__(self, trained: Trained, batch: BlockBatch) -> mx.array:
        """Return the weighted cross-entropy of the tokens after the anchors."""
        labels = batch.blocks[:, :, 1:].astype(mx.int32)
        logits = self.logits(trained, batch).astype(mx.float32)
        losses = mx.logsumexp(logits, axis=-1) - mx.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
        return (losses * batch.weights).sum() / mx.maximum(batch.weights.sum(), 1e-9)

    def logits(self, trained: Trained, batch: BlockBatch) -> mx.array:
        """Return the logits [N, A, block size - 1, V] of the tokens after the anchors."""
        model: Any = registry.build(self.config, TrainedTensors(self._tensors, trained), *self._ends)
        return model.trained_logits(batch.features, batch.blocks, batch.anchors)
