"""The DFlash drafter, which fills a block of masks in one pass.

The target's features become keys and values of every drafter layer (`inject`). The block is an anchor token followed by masks,
whose own keys and values are discarded. Embedding and head are the target's unless the checkpoint has its own.

Sources: arXiv 2602.06036 and z-lab's published checkpoints; for Laguna, vLLM's loader.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import mlx.core as mx

from mlx_engine.drafters.dflash.config import DFlashConfig
from mlx_engine.drafters.parts.block import BlockPass
from mlx_engine.drafters.parts.block_config import BlockConfig
from mlx_engine.drafters.parts.block_tensors import heads_of, take_layer, take_layers
from mlx_engine.drafters.parts.draft_requests import Block
from mlx_engine.drafters.parts.ends import TargetEnd, TargetEnds
from mlx_engine.drafters.parts.injection import FeatureFusion, Injected, Injection
from mlx_engine.drafters.parts.layer import AttentionHeads, Layer
from mlx_engine.drafters.parts.matrix import Matrix
from mlx_engine.drafters.parts.model import BlockModel
from mlx_engine.drafters.parts.row_packing import unpack
from mlx_engine.drafters.parts.tensors import Tensors


class DFlashDrafter(BlockModel[DFlashConfig]):
    """A DFlash v1 drafter with a target's embedding and head."""

    def propose_packed(self, blocks: Sequence[Block]) -> list[mx.array]:
        hidden = self.hidden_packed([(block.context, block.anchor, block.rows) for block in blocks])
        logits = unpack(self.logits(hidden), [block.rows - 1 for block in blocks])
        return [
            block.chooser.propose_path(own, self.ends.noise(block.noise, block.rows - 1), self.ends.tokens)
            for block, own in zip(blocks, logits, strict=True)
        ]


def build(tensors: Tensors, config: DFlashConfig, embed: TargetEnd, head: TargetEnd, layers: Sequence[Any]) -> DFlashDrafter:
    """Return a drafter made of its tensors; see `registry.make`."""
    c, heads = config, heads_of(config)
    norms = [tensors.take(f"aux_hidden_norms.{i}.weight", c.hidden_size) for i in range(len(c.taps))] if c.laguna else []
    fusion = FeatureFusion.take(tensors, c, tap_norms=mx.stack(norms) if norms else None, again=c.laguna)
    ends = TargetEnds(tensors, c, embed, head)
    take = _laguna_layer if c.laguna else take_layer
    taken, injected = take_layers(tensors, c, lambda i: take(tensors, c, heads, i))
    injection = Injection(tensors, c.windows, fusion, injected, heads.rotation, c.norm_eps)
    return DFlashDrafter(BlockPass(c, ends, taken, injection), taken)


def _laguna_layer(tensors: Tensors, config: BlockConfig, heads: AttentionHeads, index: int) -> tuple[Layer, Injected]:
    layer, injected = take_layer(tensors, config, heads, index, gated=True)
    # Features also pass each layer's input norm: fold its weights into the matrix
    folded = Matrix(injected.keys_values.floating().weight * layer.input_norm).quantized(injected.keys_values.bits)
    return layer, replace(injected, keys_values=folded)
