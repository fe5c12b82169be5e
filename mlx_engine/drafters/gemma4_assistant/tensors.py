"""The published tensors of Gemma 4 assistants."""

from collections.abc import Callable

import mlx.core as mx

from mlx_engine.drafters.gemma4_assistant.config import AssistantConfig
from mlx_engine.drafters.parts.ends import TargetEnd, TargetEnds, distinct_tokens
from mlx_engine.drafters.parts.layer import AttentionHeads, Layer
from mlx_engine.drafters.parts.matrix import Matrix, arrays_of
from mlx_engine.drafters.parts.tensors import Tensors


class AssistantEnds(TargetEnds):
    """The target's embedding, and a head that may score only likely tokens."""

    def __init__(self, tensors: Tensors, config: AssistantConfig, embed: TargetEnd) -> None:
        self._config, self._embed, self.tokens = config, embed, None
        size, vocabulary, count = config.own_size, config.vocab_size, config.centroids
        self.norm = tensors.take("norm.weight", size)
        self._scores = tensors.matrix("embed_tokens", vocabulary, size)
        self._chosen = config.chosen
        self._centroids: Matrix | None = None
        if count:
            self._centroids = tensors.matrix("masked_embedding.centroids", count, size)
            name = "masked_embedding.token_ordering"
            self._ordered = distinct_tokens(name, tensors.integers(name, vocabulary), vocabulary).reshape(count, -1)

    def embed(self, tokens: mx.array) -> mx.array:
        return self._embed(tokens)

    def logits(self, hidden: mx.array, multiply: Callable[..., mx.array] | None) -> mx.array:
        if self._centroids is None:
            return self._scores(hidden, multiply)
        chosen = mx.argpartition(self._centroids(hidden), kth=-self._chosen, axis=-1)[:, -self._chosen :]
        tokens = self._ordered[chosen].reshape(hidden.shape[0], -1)
        scores = (self._scores.rows(tokens) @ hidden[..., None])[..., 0]
        others = mx.broadcast_to(scores.min(axis=-1, keepdims=True) - 1, (hidden.shape[0], self._ordered.size))
        return mx.put_along_axis(others, tokens, scores, axis=-1)


def take_layer(tensors: Tensors, config: AssistantConfig, heads: AttentionHeads, at: str) -> Layer:
    """Take the weights of a layer, which has no keys and values."""
    c, size, queries = config, config.own_size, config.heads * heads.dim
    names = ("input", "post_attention", "pre_feedforward", "post_feedforward")
    norms = [tensors.take(f"{at}{name}_layernorm.weight", size) for name in names]
    gate, up = (tensors.matrix(f"{at}mlp.{name}_proj", c.intermediate_size, size) for name in ("gate", "up"))
    taken = Layer(
        heads=heads,
        input_norm=norms[0],
        qkv=tensors.matrix(at + "self_attn.q_proj", queries, size),
        qkv_bias=None,
        head_norm=tensors.take(at + "self_attn.q_norm.weight", heads.dim),
        output=tensors.matrix(at + "self_attn.o_proj", size, queries),
        output_bias=None,
        mlp_norm=norms[2],
        gate_up=gate.concatenated(up),
        down=tensors.matrix(at + "mlp.down_proj", size, c.intermediate_size),
        after=mx.stack([norms[1], norms[3]]),
        factor=tensors.take(at + "layer_scalar", 1),
    )
    tensors.settle(arrays_of(taken))
    return taken
