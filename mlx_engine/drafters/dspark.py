"""The DSpark drafter: DFlash's block, tokens chosen one after the other, and a forecast of their acceptance.

A Markov head adds a score for each pair of neighboring tokens to the logits of the block's rows. A confidence head estimates
whether each proposal will be accepted. Layers are Qwen3's or Gemma 4's. Published checkpoints have their own embedding and head, or
share the target's.

Sources: arXiv 2607.05147, DeepSpec's published checkpoints, and the loader in speculators.
"""

import mlx.core as mx
import mlx.nn as nn

from mlx_engine.drafters import layer
from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.dflash import DFlashDrafter, LayerView
from mlx_engine.drafters.drafter import ProposalChooser
from mlx_engine.drafters.tensors import Tensors


class DSparkDrafter(DFlashDrafter):
    """A DSpark drafter, with the arguments and errors of `DFlashDrafter`."""

    def _take_ends(self, tensors: Tensors) -> None:
        super()._take_ends(tensors)
        c, heads = self.config, self.config.dspark
        assert heads is not None and c.vocab_size is not None
        self._gemma = heads.gemma
        if heads.gemma:
            self._scale = 1.0
        self._before = tensors.matrix("markov_head.markov_w1", c.vocab_size, heads.rank)
        self._after = tensors.matrix("markov_head.markov_w2", c.draft_vocab_size or c.vocab_size, heads.rank)
        self._confidence: tuple[mx.array, mx.array] | None = None
        if heads.confidence:
            weight = tensors.take("confidence_head.proj.weight", 1, heads.confidence)
            self._confidence = weight, tensors.take("confidence_head.proj.bias", 1)

    def parameters(self) -> list[mx.array]:
        return [*super().parameters(), *self._before.arrays, *self._after.arrays, *(self._confidence or ())]

    def propose(
        self, context: DraftContext, anchor: mx.array, rows: int, chooser: ProposalChooser, noise: mx.array | None
    ) -> mx.array:
        hidden = self.hidden(context, anchor, rows)
        base = self.logits(hidden)
        if noise is not None:
            noise = noise[: rows - 1, : base.shape[-1]] if self._proposable is None else noise[: rows - 1, self._proposable]
        drafts = chooser.propose_chain(
            anchor, rows - 1, lambda row, before: self.chained(base[row : row + 1], before), noise, self._proposable
        )
        context.confidence = self.confidence(hidden, mx.concatenate([anchor, drafts[:-1]]))
        return drafts

    def hidden(self, context: DraftContext, anchor: mx.array, width: int) -> mx.array:
        if all(self.config.causal):
            return super().hidden(context, anchor, width)
        # Rows depend on the rows after them, and were trained with the whole block
        return super().hidden(context, anchor, self.config.block_size)[: width - 1]

    def chained(self, logits: mx.array, before: mx.array) -> mx.array:
        """Return the logits [n, V] of rows after the tokens [n] before them."""
        return logits + self._after(self._before.rows(before), self._multiply)

    def confidence(self, hidden: mx.array, before: mx.array) -> mx.array | None:
        """Return the log-odds [n] that proposals after the tokens [n] are accepted; None if unknown."""
        if self._confidence is None:
            return None
        weight, bias = self._confidence
        if weight.shape[1] > hidden.shape[1]:
            hidden = mx.concatenate([hidden, self._before.rows(before)], axis=-1)
        return (hidden @ weight.T + bias)[:, 0]

    def _embedded(self, tokens: mx.array) -> mx.array:
        x = super()._embedded(tokens)
        return x * self.config.hidden_size**0.5 if self._gemma and self._own_table is not None else x

    def _finish(self, keys_values: mx.array) -> mx.array:
        if not self._gemma:
            return keys_values
        return mx.concatenate([keys_values[:1], self._values(keys_values[1:])])

    def _values(self, values: mx.array) -> mx.array:
        return mx.fast.rms_norm(values, None, self.config.norm_eps) if self._gemma else values

    def _run_layer(self, index: int, x: mx.array, view: LayerView) -> mx.array:
        weights, eps = self._layers[index], self.config.norm_eps
        if weights.after is None or weights.scale is None:
            return super()._run_layer(index, x, view)
        attended = self._attention(weights, mx.fast.rms_norm(x, weights.input_norm, eps), view)
        x = x[:, view.read :] + mx.fast.rms_norm(attended, weights.after[0], eps)
        fed = self._feed_forward(weights, mx.fast.rms_norm(x, weights.mlp_norm, eps))
        return (x + mx.fast.rms_norm(fed, weights.after[1], eps)) * weights.scale

    def _feed_forward(self, weights: layer.Layer, x: mx.array) -> mx.array:
        if not self._gemma:
            return super()._feed_forward(weights, x)
        gate, up = mx.split(weights.gate_up(x, self._multiply), 2, axis=-1)
        return weights.down(nn.gelu_approx(gate) * up, self._multiply)
