"""The DSpark drafter: DFlash's block with chosen tokens and a forecast.

A Markov head adds a score for each pair of neighboring tokens to the logits of the block's rows. A confidence head estimates
whether each proposal will be accepted. Layers are Qwen3's or Gemma 4's. Published checkpoints have their own embedding and head, or
share the target's.

Sources: arXiv 2607.05147, DeepSpec's published checkpoints, and the loader in speculators.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from mlx_engine.drafters.dspark.config import DSparkConfig
from mlx_engine.drafters.parts.block import BlockPass
from mlx_engine.drafters.parts.block_tensors import heads_of, take_layer, take_layers
from mlx_engine.drafters.parts.chooser import run_chains
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.parts.draft_requests import Block
from mlx_engine.drafters.parts.ends import TargetEnd, TargetEnds
from mlx_engine.drafters.parts.injection import FeatureFusion, Injection
from mlx_engine.drafters.parts.layer import Layer
from mlx_engine.drafters.parts.matrix import Matrix
from mlx_engine.drafters.parts.model import BlockModel
from mlx_engine.drafters.parts.row_packing import pack, unpack
from mlx_engine.drafters.parts.tensors import Tensors


@dataclass(frozen=True)
class _Markov:
    """The weights of the Markov head, and of the confidence head if there is one."""

    before: Matrix
    after: Matrix
    confidence: tuple[mx.array, mx.array] | None

    @classmethod
    def take(cls, tensors: Tensors, config: DSparkConfig) -> "_Markov":
        c = config
        before = tensors.matrix("markov_head.markov_w1", c.vocab_size, c.rank)
        after = tensors.matrix("markov_head.markov_w2", c.draft_vocab_size or c.vocab_size, c.rank)
        if not c.confidence:
            return cls(before, after, None)
        at = "confidence_head.proj."
        return cls(before, after, (tensors.take(f"{at}weight", 1, c.confidence), tensors.take(f"{at}bias", 1)))


class DSparkDrafter(BlockModel[DSparkConfig]):
    """A DSpark drafter with a target's embedding and head."""

    def __init__(self, block: BlockPass, layers: Sequence[Layer], markov: _Markov) -> None:
        super().__init__(block, layers)
        self._markov = markov

    def propose_packed(self, blocks: Sequence[Block]) -> list[mx.array]:
        rows = [block.rows - 1 for block in blocks]
        hidden = self.hidden_packed([(block.context, block.anchor, block.rows) for block in blocks])
        base = unpack(self.logits(hidden), rows)

        def logits(going: Sequence[int], row: int, before: mx.array) -> mx.array:
            return self.chained(pack([base[index][row : row + 1] for index in going]), before)

        drafts = run_chains(
            [b.chooser.chain(b.anchor, b.rows - 1, self.ends.noise(b.noise, b.rows - 1), self.ends.tokens) for b in blocks], logits
        )
        if self._markov.confidence is not None:
            before = [mx.concatenate([block.anchor, own[:-1]]) for block, own in zip(blocks, drafts, strict=True)]
            odds = unpack(self.confidence(hidden, pack(before)), rows)
            for block, own in zip(blocks, odds, strict=True):
                block.context.confidence = own
        return drafts

    def hidden_packed(self, blocks: Sequence[tuple[DraftContext, mx.array, int]]) -> mx.array:
        if all(self.config.causal):
            return super().hidden_packed(blocks)
        # Rows depend on the rows after them, and were trained with the whole block
        whole = self.config.block_size
        hidden = unpack(super().hidden_packed([(*block[:2], whole) for block in blocks]), [whole - 1] * len(blocks))
        return pack([own[: width - 1] for own, (_, _, width) in zip(hidden, blocks, strict=True)])

    def chained(self, logits: mx.array, before: mx.array) -> mx.array:
        """Return the logits [n, V] of rows after the tokens [n] before them."""
        return logits + self._markov.after(self._markov.before.rows(before), self.multiply)

    def confidence(self, hidden: mx.array, before: mx.array) -> mx.array:
        """Return the confidence head's log-odds [n] of acceptance after tokens [n]."""
        assert self._markov.confidence is not None
        weight, bias = self._markov.confidence
        if weight.shape[1] > hidden.shape[1]:
            hidden = mx.concatenate([hidden, self._markov.before.rows(before)], axis=-1)
        return (hidden @ weight.T + bias)[:, 0]


def build(tensors: Tensors, config: DSparkConfig, embed: TargetEnd, head: TargetEnd, layers: Sequence[Any]) -> DSparkDrafter:
    """Return a drafter made of its tensors; see `registry.make`."""
    c, heads = config, heads_of(config, scale=1.0 if config.gemma else None)
    fusion = FeatureFusion.take(tensors, c)
    ends = TargetEnds(tensors, c, embed, head, own_scale=c.hidden_size**0.5 if c.gemma else 1.0)
    markov = _Markov.take(tensors, c)
    own = {"gemma": c.gemma, "neighbors": c.neighbors, "sinks": c.sinks}
    taken, injected = take_layers(tensors, c, lambda i: take_layer(tensors, c, heads, i, **own))
    injection = Injection(tensors, c.windows, fusion, injected, heads.rotation, c.norm_eps, normalizes_values=c.gemma)
    return DSparkDrafter(BlockPass(c, ends, taken, injection), taken, markov)
