"""Decoder layers of Qwen3 and Qwen3.5 with fewer, larger operations.

A pass of few rows reads every weight once and computes little, so every operation's overhead counts. Query, key, and value are one
fused projection here, and so are gate and up. With kernels, everything between two projections is one dispatch or part of the
preceding projection.

Without kernels, the arithmetic and its order are mlx-lm's. The results are bit-identical if BLAS computes a row independently of
the number of rows (tested), and equal within rounding otherwise. Weights are not duplicated.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models import qwen3, qwen3_5, qwen3_moe, qwen3_next
from mlx_lm.models.activations import swiglu
from mlx_lm.models.cache import KVCache
from mlx_lm.models.rope_utils import YarnRoPE

from mlx_engine.kernels.operations import Operations, RowKernel
from mlx_engine.kernels.verify_attention import ROWS
from mlx_engine.targets.attention import attention
from mlx_engine.targets.compiled import LayerFunctions
from mlx_engine.targets.delta_net import DeltaNet
from mlx_engine.targets.exact import RowExactPass
from mlx_engine.targets.growing import GrowingCache, ShiftedCache
from mlx_engine.targets.packed import by_stream
from mlx_engine.targets.products import KernelLinear, fuse_linear

Operation = Callable[..., Any]

_LAYERS = (
    qwen3.TransformerBlock,
    qwen3_moe.Qwen3MoeDecoderLayer,
    qwen3_next.Qwen3NextDecoderLayer,
    qwen3_5.DecoderLayer,
)
_ATTENTIONS = (qwen3.Attention, qwen3_moe.Attention)
_GATED_ATTENTIONS = (qwen3_next.Qwen3NextAttention,)  # Qwen3.5 uses it too
_FEED_FORWARDS = (qwen3.MLP, qwen3_moe.MLP, qwen3_next.Qwen3NextMLP)


class Fusion:
    """Fused layers that replace a model's own until `release`."""

    def __init__(self, model: nn.Module) -> None:
        self._list = _layers(model)
        self._own = list(self._list)
        self._layers: list[_Layer] = []  # fused layers
        self._functions = LayerFunctions()
        self.parts: list[nn.Module] = []  # fused attentions and feed-forwards
        for index, own in enumerate(self._own):
            if type(own) in _LAYERS:
                self._list[index] = layer = _Layer(own)
                self._layers.append(layer)
                self.parts += [part for part in (layer.get("self_attn"), layer.mlp) if isinstance(part, _Attention | _FeedForward)]

    def release(self) -> None:
        """Restore the model's own layers."""
        self._list[:] = self._own
        self._layers, self.parts = [], []

    def use(self, operations: Operations) -> None:
        """Select the kernels that run blocks of 16 rows or fewer on a growing cache."""
        for part in self.parts:
            if isinstance(part, _Attention):
                part.inputs, part.attend = operations.kernel("attention_inputs"), operations.kernel("verify_attention")

    def compile(self, wanted: bool) -> None:
        """Compile the layers for queued passes, if `wanted`."""
        functions = self._functions.compile(self._layers) if wanted else [None] * len(self._layers)
        for layer, function in zip(self._layers, functions, strict=True):
            layer.compiled = function


class _Layer(nn.Module):
    """Replacement for a decoder layer: x [B, S, H] -> [B, S, H].

    Fused parts add the residual themselves.
    """

    ignored = ("compiled",)

    def __init__(self, own: nn.Module) -> None:
        super().__init__()
        self.compiled: Callable[..., mx.array] | None = None
        dict.update(self, own)  # same parts under the same names, for code that walks the model
        vars(self).update(vars(own))  # flags that models read from their layers
        attention: Any = own.get("self_attn")
        if type(attention) in (*_ATTENTIONS, *_GATED_ATTENTIONS):
            self.self_attn = _attention(attention) or attention
        if type(own.mlp) in _FEED_FORWARDS:
            self.mlp = _feed_forward(own.mlp) or own.mlp

    @property
    def mixer(self) -> Any:
        """The attention or gated delta net."""
        return self.self_attn if "self_attn" in self else self.linear_attn

    def __call__(self, x: mx.array, mask: Any = None, cache: Any = None) -> mx.array:
        if self.compiled is not None and x.shape[1] <= ROWS and getattr(cache, "compilable", False):
            return self.compiled(self, x, mask, cache)
        return self.forward(x, mask, cache)

    def forward(self, x: mx.array, mask: Any = None, cache: Any = None) -> mx.array:
        """Run the layer without compilation."""
        part, normed = self.mixer, self.input_layernorm(x)
        x = part(normed, mask, cache, residual=x) if isinstance(part, _Attention | DeltaNet) else x + part(normed, mask, cache)
        part, normed = self.mlp, self.post_attention_layernorm(x)
        return part(normed, residual=x) if isinstance(part, _FeedForward) else x + part(normed)


class _Attention(nn.Module):
    """Replacement for an attention module: x [B, S, H] -> output + residual."""

    def __init__(self, own: nn.Module, projection: nn.Module) -> None:
        super().__init__()
        dict.update(self, own)
        a: Any = own
        self._projection = projection
        self.inputs = self.attend = RowKernel()
        self.gated = type(own) in _GATED_ATTENTIONS
        names = ("num_attention_heads", "num_key_value_heads") if self.gated else ("n_heads", "n_kv_heads")
        self.heads, self.kv_heads = (getattr(a, name) for name in names)
        self.scale, self.eps, self.dim = a.scale, a.q_norm.eps, a.q_norm.weight.size
        self._rotation = _rotation(a.rope)
        if not self.gated:
            counted = ((self.q_norm, self.heads), (self.k_norm, self.kv_heads))
            self._norms = mx.concatenate([mx.broadcast_to(norm.weight, (count, self.dim)) for norm, count in counted])
            mx.eval(self._norms)

    def __call__(self, x: mx.array, mask: Any = None, cache: Any = None, *, residual: mx.array) -> mx.array:
        projected = self._projection(x)
        out = by_stream(self._attended, cache, mask, projected) if self.has_kernels else self._attended(cache, mask, projected)
        return self.o_proj(out, residual) if isinstance(self.o_proj, KernelLinear) else residual + self.o_proj(out)

    @property
    def has_kernels(self) -> bool:
        """Whether kernels run, which take the rows of one stream only."""
        return self.inputs.run is not None or self.attend.run is not None

    def _attended(self, cache: Any, mask: Any, projected: mx.array) -> mx.array:
        """Return attention's output [B, S, heads * D] for projected rows [B, S, ..]."""
        batch, rows, _ = projected.shape
        few = batch == 1 and rows <= ROWS and type(cache) in (KVCache, ShiftedCache, GrowingCache, RowExactPass)
        inputs, attend = (kernel.at(rows) if few else None for kernel in (self.inputs, self.attend))
        if inputs is not None and self._rotation is not None:
            frequencies, scale = self._rotation
            # As an array: a compiled kernel would treat an int as a constant
            first = cache.offset if type(cache) is GrowingCache else mx.array([cache.offset], mx.int32)
            how = (frequencies, first, self.heads, self.eps, scale, self.gated)
            # Reshape: an index would copy
            queries, keys, values = inputs(projected.reshape(rows, -1), self.q_norm.weight, self.k_norm.weight, *how)
        else:
            rope = self.rope if cache is None else partial(self.rope, offset=cache.offset)
            queries, keys, values = (self._gated_heads if self.gated else self._heads)(projected, rope)
        if cache is not None:
            keys, values = cache.update_and_fetch(keys, values)
        if attend is not None and not isinstance(cache, RowExactPass):
            length = mx.array([cache.offset], mx.int32) if type(cache) is KVCache else cache.length
            out = attend(queries, cache.keys, cache.values, length, self.scale)
        else:
            out = attention(queries, keys, values, cache=cache, scale=self.scale, mask=mask)
        out = out.transpose(0, 2, 1, 3)
        if self.gated:
            gate = projected[..., : 2 * self.heads * self.dim].reshape(batch, rows, self.heads, -1)[..., self.dim :]
            out = _sigmoid_gate(out, gate)
        return out.reshape(batch, rows, -1)

    def _heads(self, projected: mx.array, rope: Operation) -> tuple[mx.array, mx.array, mx.array]:
        """Split a projection into queries, keys, and values [B, heads, S, D].

        Queries and keys share one norm and one rotation.
        """
        turning = self.heads + self.kv_heads
        heads = projected.reshape(*projected.shape[:2], turning + self.kv_heads, -1)
        turned = rope((mx.fast.rms_norm(heads[:, :, :turning], None, self.eps) * self._norms).transpose(0, 2, 1, 3))
        return turned[:, : self.heads], turned[:, self.heads :], heads[:, :, turning:].transpose(0, 2, 1, 3)

    def _gated_heads(self, projected: mx.array, rope: Operation) -> tuple[mx.array, mx.array, mx.array]:
        """Split a gated projection into queries, keys, and values [B, heads, S, D]."""
        batch, rows, _ = projected.shape
        wide, narrow = 2 * self.heads * self.dim, self.kv_heads * self.dim
        both, *others = mx.split(projected, [wide, wide + narrow], axis=-1)
        queries = both.reshape(batch, rows, self.heads, -1)[..., : self.dim]
        keys, values = (part.reshape(batch, rows, self.kv_heads, -1) for part in others)
        queries, keys = (rope(norm(part).transpose(0, 2, 1, 3)) for norm, part in ((self.q_norm, queries), (self.k_norm, keys)))
        return queries, keys, values.transpose(0, 2, 1, 3)


@partial(mx.compile, shapeless=True)
def _sigmoid_gate(out: mx.array, gate: mx.array) -> mx.array:
    return out * mx.sigmoid(gate)


class _FeedForward(nn.Module):
    """Replacement for a gated feed-forward: x [B, S, H] -> output + residual."""

    def __init__(self, own: nn.Module, projection: nn.Module) -> None:
        super().__init__()
        dict.update(self, own)
        self._projection = projection

    def __call__(self, x: mx.array, *, residual: mx.array) -> mx.array:
        projection, down = self._projection, self.down_proj
        x = projection(x, gated=True) if isinstance(projection, KernelLinear) else swiglu(*mx.split(projection(x), 2, axis=-1))
        return down(x, residual) if isinstance(down, KernelLinear) else residual + down(x)


def _layers(model: nn.Module) -> list:
    """Return the list of layers that a model's forward pass runs; may be empty."""
    named = list(getattr(model, "layers", ()))
    lists = [part["layers"] for part in model.modules() if isinstance(part.get("layers"), list)]
    return next((each for each in lists if named and each and each[0] is named[0]), [])


def _rotation(rope: Any) -> tuple[mx.array, float] | None:
    """Return RoPE's frequencies and scale, or None if its kind isn't supported.

    Returns:
        Positions per radian, [R / 2] float32, and the scale of the rotated elements.
    """
    if type(rope) is nn.RoPE and not rope.traditional and isinstance(rope.base, int | float):
        frequencies = rope.base ** (mx.arange(0, rope.dims, 2, dtype=mx.float32) / rope.dims) / rope.scale
        mx.eval(frequencies)
        return frequencies, 1.0
    if type(rope) is YarnRoPE and not rope.traditional:
        return rope._freqs, float(rope.mscale)
    return None


def _attention(own: Any) -> nn.Module | None:
    same = own.q_norm.eps == own.k_norm.eps and own.q_norm.weight.dtype == own.k_norm.weight.dtype
    projection = fuse_linear(own.q_proj, own.k_proj, own.v_proj) if same else None
    return None if projection is None else _Attention(own, projection)


def _feed_forward(own: Any) -> nn.Module | None:
    projection = fuse_linear(own.gate_proj, own.up_proj)
    return None if projection is None else _FeedForward(own, projection)
