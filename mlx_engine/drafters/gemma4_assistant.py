"""The Gemma 4 assistant: a few layers without keys and values, which read those of two layers of the target.

These are the target's last sliding and last full-attention layer with keys and values of their own. The context holds copies,
computed with the target's weights from the inputs of the two layers, so it is rewound and saved like the context of any drafter.
A draft combines a token's embedding with the final hidden state of the position before it: the target's for the first draft, then
the assistant's own.

All queries of a round have the position before the anchor's, as in vLLM and mlx-vlm. In transformers, they have the anchor's. It is
unknown which one the published weights expect.

Sources: published configs and the implementations in vLLM, mlx-vlm, and transformers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from mlx_engine.contract.errors import UserError
from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.dflash import LayerView, distinct_tokens
from mlx_engine.drafters.drafter import ProposalChooser
from mlx_engine.drafters.dspark import DSparkDrafter
from mlx_engine.drafters.layer import Layer
from mlx_engine.drafters.matrix import Matrix
from mlx_engine.drafters.rope import frequencies
from mlx_engine.drafters.tensors import Tensors
from mlx_engine.models.configs.drafter_config import DrafterConfig


@dataclass(frozen=True)
class _Source:
    """A layer of the target whose keys and values are read."""

    own: Any
    window: int | None
    dim: int
    frequencies: mx.array

    def keys_values(self, x: mx.array) -> mx.array:
        """Return the projections [S, 1, 2, H, D] of the layer's input [S, H]."""
        x, attention = self.own.input_layernorm(x), self.own.self_attn
        keys = attention.k_proj(x)
        values = keys if attention.use_k_eq_v else attention.v_proj(x)
        return mx.stack([keys, values], axis=1).reshape(x.shape[0], 1, 2, -1, self.dim)


@dataclass(frozen=True)
class _SourceView(LayerView):
    frequencies: mx.array


def source_layers(layers: Sequence[Any]) -> tuple[int, int]:
    """Return the indices of the target's last sliding and last full-attention layer with their own keys and values.

    Raises:
        UserError: the target has no such layers after its first one.
    """
    last = {layer.self_attn.is_sliding: index for index, layer in enumerate(layers) if layer.self_attn.has_kv}
    if len(last) < 2 or 0 in last.values():
        template = "The target lacks the layers whose keys this drafter reads. Choose another drafter."
        raise UserError("assistant_without_keys", template)
    return last[True], last[False]


class Gemma4AssistantDrafter(DSparkDrafter):
    """A Gemma 4 assistant, whose layers are otherwise those of Gemma's DSpark drafters.

    Args:
        config, weights, dtype, embed, head, bits: as for `DFlashDrafter`, with the same errors.
        layers: the target's layers.
    """

    def __init__(
        self,
        config: DrafterConfig,
        weights: dict[str, mx.array],
        dtype: mx.Dtype,
        embed: Callable[[mx.array], mx.array],
        head: Callable[[mx.array], mx.array],
        bits: int = 16,
        layers: Sequence[Any] = (),
    ) -> None:
        assert config.assistant is not None
        own = self._own = config.assistant
        ropes = ((config.head_dim, config.rope), (own.full_dim, own.full_rope))
        self._sources = [
            _Source(layers[index], window, dim, frequencies(rope, dim)[0])
            for index, window, (dim, rope) in zip(source_layers(layers), config.windows, ropes, strict=True)
        ]
        super().__init__(config, weights, dtype, embed, head, bits)

    def _take_context(self, tensors: Tensors) -> None:
        target, own = self.config.hidden_size, self._own.hidden_size
        self._join, self._return = tensors.matrix("pre_projection", own, 2 * target), tensors.matrix("post_projection", target, own)

    def _take_ends(self, tensors: Tensors) -> None:
        size, vocabulary, count = self._own.hidden_size, self.config.vocab_size, self._own.centroids
        assert vocabulary is not None
        self._gemma, self._scale = True, 1.0
        self._final_norm = tensors.take("norm.weight", size)
        self._table = tensors.matrix("embed_tokens", vocabulary, size)
        self._centroids: Matrix | None = None
        if count:
            self._centroids = tensors.matrix("masked_embedding.centroids", count, size)
            name = "masked_embedding.token_ordering"
            self._tokens = distinct_tokens(name, tensors.integers(name, vocabulary), vocabulary).reshape(count, -1)

    def _take_layers(self, tensors: Tensors) -> None:
        self._layers = [self._take_own(tensors, f"layers.{i}.", slides) for i, slides in enumerate(self._own.sliding)]

    def _take_own(self, tensors: Tensors, at: str, slides: bool) -> Layer:
        c, size = self.config, self._own.hidden_size
        dim = c.head_dim if slides else self._own.full_dim
        names = ("input", "post_attention", "pre_feedforward", "post_feedforward")
        norms = [tensors.take(f"{at}{name}_layernorm.weight", size) for name in names]
        gate, up = (tensors.matrix(f"{at}mlp.{name}_proj", c.intermediate_size, size) for name in ("gate", "up"))
        made = Layer(
            input_norm=norms[0],
            qkv=tensors.matrix(at + "self_attn.q_proj", c.heads * dim, size),
            qkv_bias=None,
            head_norm=tensors.take(at + "self_attn.q_norm.weight", dim),
            gate=None,
            output=tensors.matrix(at + "self_attn.o_proj", size, c.heads * dim),
            output_bias=None,
            mlp_norm=norms[2],
            gate_up=gate.concatenated(up),
            down=tensors.matrix(at + "mlp.down_proj", size, c.intermediate_size),
            after=mx.stack([norms[1], norms[3]]),
            scale=tensors.take(at + "layer_scalar", 1),
        )
        tensors.settle(made.arrays)
        return made

    def parameters(self) -> list[mx.array]:
        matrices = [part for part in (self._join, self._return, self._table, self._centroids) if part is not None]
        own = [self._final_norm, *(array for matrix in matrices for array in matrix.arrays)]
        return own + [array for weights in self._layers for array in weights.arrays]

    def context(self) -> DraftContext:
        return DraftContext(self.config.windows, self.config.block_size)

    def inject(self, context: DraftContext, features: mx.array, tokens: mx.array | None = None) -> None:
        *inputs, final = mx.split(features, 3, axis=1)
        for source, x in zip(self._sources, inputs, strict=True):
            norm = source.own.self_attn.k_norm
            rotation = (source.frequencies, context.start, norm.eps)
            injected = self.operations.kv_injection(source.keys_values(x), norm.weight[None], *rotation)
            context.kinds[source.window].append(self._finish(injected))
        context.pair(final)
        if context.span is None:
            context.position += features.shape[0]

    def propose(
        self, context: DraftContext, anchor: mx.array, rows: int, chooser: ProposalChooser, noise: mx.array | None
    ) -> mx.array:
        state = context.before(self.config.hidden_size).astype(self.dtype)
        views = [self._view(context, source) for source in self._sources]

        def logits(row: int, before: mx.array) -> mx.array:
            nonlocal state
            x = self._join(mx.concatenate([self._embed(before[None])[0], state], axis=-1), self._multiply)[None]
            for i, slides in enumerate(self._own.sliding):
                x = self._run_layer(i, x, views[0 if slides else 1])
            x = mx.fast.rms_norm(x[0], self._final_norm, self.config.norm_eps)
            state = self._return(x, self._multiply)
            return self.logits(x)

        return chooser.propose_chain(anchor, rows - 1, logits, None if noise is None else noise[:, : self.config.vocab_size])

    @staticmethod
    def _view(context: DraftContext, source: _Source) -> _SourceView:
        """Return the attention inputs of the drafts, which are the same for all of them."""
        held, start, mask = context.kinds[source.window], context.start, None
        if context.span is not None or (source.window is not None and held.rows >= source.window):
            key = held.first + mx.arange(held.rows)[None]
            mask = key < start
            if source.window is not None:
                mask = mask & (start - key < source.window)
        return _SourceView(held.layer(0), mask, start - 1, 0, source.frequencies)

    def _project(self, weights: Layer, x: mx.array, view: LayerView) -> tuple[mx.array, mx.array, mx.array]:
        assert isinstance(view, _SourceView) and view.held is not None
        heads = weights.qkv(x, self._multiply).reshape(1, self.config.heads, 1, -1)
        queries, freqs = mx.fast.rms_norm(heads, weights.head_norm, self.config.norm_eps), view.frequencies
        dim, start = heads.shape[-1], view.start
        return mx.fast.rope(queries, dim, traditional=False, base=None, scale=1.0, offset=start, freqs=freqs), *view.held

    def logits(self, hidden: mx.array) -> mx.array:
        if self._centroids is None:
            return self._table(hidden, self._multiply)
        chosen = mx.argpartition(self._centroids(hidden), kth=-self._own.chosen, axis=-1)[:, -self._own.chosen :]
        tokens = self._tokens[chosen].reshape(hidden.shape[0], -1)
        scores = (self._table.rows(tokens) @ hidden[..., None])[..., 0]
        others = mx.broadcast_to(scores.min(axis=-1, keepdims=True) - 1, (hidden.shape[0], self._tokens.size))
        return mx.put_along_axis(others, tokens, scores, axis=-1)
