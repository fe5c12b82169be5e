"""The tower of Gemma 4, and the projection of the Gemma 4 that has no tower."""

import math
from collections.abc import Iterator

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from mlx_engine.vision.gemma_rules import GemmaRules
from mlx_engine.vision.image_rules import PreparedImage
from mlx_engine.vision.tower import Parts, Tower, attend, frequencies, gelu, rotate

_LAYER_EPSILON = 1e-5


class GemmaTower(Tower):
    """Blocks over patches, whose output is averaged to soft tokens.

    Module names are those of checkpoints. Patches are ordered row by row.
    """

    def __init__(self, rules: GemmaRules) -> None:
        super().__init__()
        self._rules = rules
        width = rules.width
        standard = {"std_bias": mx.zeros((width,)), "std_scale": mx.ones((width,))} if rules.standardizes else {}
        self.vision_tower = Parts(
            patch_embedder=Parts(
                input_proj=nn.Linear(3 * rules.patch**2, width, bias=False),
                position_embedding_table=mx.zeros((2, rules.table, width)),
            ),
            encoder=Parts(layers=[_Block(rules) for _ in range(rules.depth)]),
            **standard,
        )
        self.embed_vision = Parts(embedding_projection=nn.Linear(width, rules.hidden, bias=False))

    def steps(self, image: PreparedImage) -> Iterator[mx.array]:
        rules, tower = self._rules, self.vision_tower
        pool = rules.side // rules.patch
        places = _places(image.grid[0] * pool, image.grid[1] * pool)
        table = tower.patch_embedder.position_embedding_table
        x = tower.patch_embedder.input_proj((2 * (mx.array(image.patches) - 0.5)).astype(self.dtype))
        x = x + (table[0][mx.array(places[:, 0])] + table[1][mx.array(places[:, 1])])
        yield x
        angles = mx.array(places[..., None].astype(np.float32) * frequencies(rules.theta, rules.head // 4))
        for layer in tower.encoder.layers:
            x = layer(x, angles)
            yield x
        pooled = x.astype(mx.float32).reshape(image.grid[0], pool, image.grid[1], pool, -1).mean(axis=(1, 3))
        pooled = pooled.reshape(image.grid[0] * image.grid[1], -1) * math.sqrt(rules.width)
        if rules.standardizes:
            pooled = (pooled - tower.std_bias.astype(mx.float32)) * tower.std_scale.astype(mx.float32)
        yield _project(self.embed_vision, pooled.astype(self.dtype), rules.epsilon)


class GemmaProjection(Tower):
    """A projection of large patches: layer norms, a product, and positions."""

    def __init__(self, rules: GemmaRules) -> None:
        super().__init__()
        self._rules = rules
        values, width = 3 * rules.patch**2, rules.width
        self.vision_embedder = Parts(
            patch_ln1=nn.LayerNorm(values),  # only its weights: see `_normalized`
            patch_dense=nn.Linear(values, width),
            patch_ln2=nn.LayerNorm(width, _LAYER_EPSILON),
            pos_embedding=mx.zeros((rules.table, 2, width)),
            pos_norm=nn.LayerNorm(width, _LAYER_EPSILON),
        )
        self.embed_vision = Parts(embedding_projection=nn.Linear(width, rules.hidden, bias=False))

    def steps(self, image: PreparedImage) -> Iterator[mx.array]:
        parts, places = self.vision_embedder, _places(*image.grid)
        x = mx.array(_normalized(image.patches)).astype(self.dtype) * parts.patch_ln1.weight + parts.patch_ln1.bias
        x = parts.patch_ln2(parts.patch_dense(x))
        x = x + (parts.pos_embedding[mx.array(places[:, 0]), 0] + parts.pos_embedding[mx.array(places[:, 1]), 1])
        yield _project(self.embed_vision, parts.pos_norm(x), self._rules.epsilon)


class _Block(nn.Module):
    def __init__(self, rules: GemmaRules) -> None:
        super().__init__()
        self._rules = rules
        width, head, wide = rules.width, rules.head, rules.feed_forward
        self.input_layernorm, self.post_attention_layernorm = nn.RMSNorm(width, rules.epsilon), nn.RMSNorm(width, rules.epsilon)
        self.pre_feedforward_layernorm = nn.RMSNorm(width, rules.epsilon)
        self.post_feedforward_layernorm = nn.RMSNorm(width, rules.epsilon)
        self.self_attn = Parts(
            q_proj=_Product(width, rules.heads * head, rules.clips),
            k_proj=_Product(width, rules.kv_heads * head, rules.clips),
            v_proj=_Product(width, rules.kv_heads * head, rules.clips),
            o_proj=_Product(rules.heads * head, width, rules.clips),
            q_norm=nn.RMSNorm(head, rules.epsilon),
            k_norm=nn.RMSNorm(head, rules.epsilon),
        )
        self.mlp = Parts(
            gate_proj=_Product(width, wide, rules.clips),
            up_proj=_Product(width, wide, rules.clips),
            down_proj=_Product(wide, width, rules.clips),
        )

    def __call__(self, x: mx.array, angles: mx.array) -> mx.array:
        inner, mlp = self.self_attn, self.mlp
        patches, head = x.shape[0], self._rules.head
        normed = self.input_layernorm(x)
        queries, keys, values = (
            product(normed).reshape(patches, -1, head) for product in (inner.q_proj, inner.k_proj, inner.v_proj)
        )
        values = mx.fast.rms_norm(values, None, self._rules.epsilon)
        attended = attend(rotate(inner.q_norm(queries), angles), rotate(inner.k_norm(keys), angles), values, 1.0)
        x = x + self.post_attention_layernorm(inner.o_proj(attended))
        normed = self.pre_feedforward_layernorm(x)
        return x + self.post_feedforward_layernorm(mlp.down_proj(gelu(mlp.gate_proj(normed)) * mlp.up_proj(normed)))


class _Product(nn.Module):
    """A matrix product whose input and output may be clipped."""

    def __init__(self, columns: int, rows: int, clips: bool) -> None:
        super().__init__()
        self._clips = clips
        self.linear = nn.Linear(columns, rows, bias=False)
        if clips:
            self.input_min, self.input_max, self.output_min, self.output_max = (mx.array(0.0) for _ in range(4))

    def __call__(self, x: mx.array) -> mx.array:
        if not self._clips:
            return self.linear(x)
        return mx.clip(self.linear(mx.clip(x, self.input_min, self.input_max)), self.output_min, self.output_max)


def _places(rows: int, columns: int) -> np.ndarray:
    """Return the column and row of each patch, [patches, 2]."""
    return np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).reshape(-1, 2)


def _normalized(patches: np.ndarray) -> np.ndarray:
    """Return patches with mean 0 and deviation 1, float32.

    In flat patches, this enlarges rounding errors. MLX's sums over 6,912 values are too coarse for it on a CPU.
    """
    exact = patches - patches.mean(axis=-1, dtype=np.float64, keepdims=True)
    exact /= np.sqrt(np.square(exact).mean(axis=-1, keepdims=True) + _LAYER_EPSILON)
    return exact.astype(np.float32)


def _project(parts: nn.Module, x: mx.array, epsilon: float) -> mx.array:
    projected: mx.array = parts.embedding_projection(mx.fast.rms_norm(x, None, epsilon))
    return projected
