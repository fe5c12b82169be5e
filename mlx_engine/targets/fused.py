"""Layers of mlx-lm's Qwen3 with fewer, larger products: query, key and value in one, gate and up in one.

A pass of few rows reads every weight once and does little with it, so what remains is the cost of each operation. Here a layer has
4 products for 7, and one norm and one rotation for queries and keys together. Every number is computed as mlx-lm computes it, in
the same order: on a BLAS whose rows do not depend on how many there are the results are the same bit for bit (tested), elsewhere
within rounding. The layers' own weights become rows of the joined ones, so no byte is held twice.
"""

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models import qwen3, qwen3_moe
from mlx_lm.models.activations import swiglu
from mlx_lm.models.base import scaled_dot_product_attention
from mlx_lm.models.cache import KVCache

from mlx_engine.kernels.verify_attention import ROWS

Attend = Callable[..., mx.array]

_ATTENTIONS = (qwen3.Attention, qwen3_moe.Attention)
_FEED_FORWARDS = (qwen3.MLP, qwen3_moe.MLP)


class Fusion:
    """What stands in place of parts of a model's layers, until `release`."""

    def __init__(self, layers: Sequence[Any]) -> None:
        self.parts: list[tuple[Any, str, nn.Module]] = []  # layer, name, the layer's own
        for layer in layers:
            for name, kinds, make in (("self_attn", _ATTENTIONS, _attention), ("mlp", _FEED_FORWARDS, _feed_forward)):
                part: Any = getattr(layer, name, None)
                if type(part) in kinds and (fused := make(part)) is not None:
                    self.parts.append((layer, name, part))
                    setattr(layer, name, fused)

    def release(self) -> None:
        """Give the layers their own parts back."""
        for layer, name, part in self.parts:
            setattr(layer, name, part)
        self.parts = []

    def use(self, attend: Attend | None) -> None:
        """What the attention of up to 16 rows, a plain step's one included, runs on a growing cache; None: mlx-lm's own."""
        for layer, name, _ in self.parts:
            if isinstance(part := getattr(layer, name), _Attention):
                part.attend = attend


class _Attention(nn.Module):
    """Stands for an attention of Qwen3: x [B, S, H] -> [B, S, H]."""

    def __init__(self, own: nn.Module, joined: nn.Module) -> None:
        super().__init__()
        dict.update(self, own)  # whoever walks the model finds the same parts under the same names
        a: Any = own
        self._joined = joined
        self.attend: Attend | None = None
        self.heads, self.kv_heads, self.scale, self.eps = a.n_heads, a.n_kv_heads, a.scale, a.q_norm.eps
        norms = [mx.broadcast_to(norm.weight, (count, norm.weight.size)) for norm, count in _counted(a)]
        self._norms = mx.concatenate(norms)
        mx.eval(self._norms)

    def __call__(self, x: mx.array, mask: Any = None, cache: Any = None) -> mx.array:
        """Attention of the rows over what the cache holds and themselves."""
        batch, rows, _ = x.shape
        turning = self.heads + self.kv_heads
        heads = self._joined(x).reshape(batch, rows, turning + self.kv_heads, -1)
        turned = (mx.fast.rms_norm(heads[:, :, :turning], None, self.eps) * self._norms).transpose(0, 2, 1, 3)
        turned = self.rope(turned) if cache is None else self.rope(turned, offset=cache.offset)
        queries, keys = turned[:, : self.heads], turned[:, self.heads :]
        values = heads[:, :, turning:].transpose(0, 2, 1, 3)
        if cache is not None:
            keys, values = cache.update_and_fetch(keys, values)
        if self.attend is not None and batch == 1 and rows <= ROWS and type(cache) is KVCache:
            length = mx.array([cache.offset], mx.int32)
            out = self.attend(queries, cache.keys, cache.values, length, self.scale)
        else:
            out = scaled_dot_product_attention(queries, keys, values, cache=cache, scale=self.scale, mask=mask)
        return self.o_proj(out.transpose(0, 2, 1, 3).reshape(batch, rows, -1))


class _FeedForward(nn.Module):
    """Stands for a gated feed-forward of Qwen3: x [B, S, H] -> [B, S, H]."""

    def __init__(self, own: nn.Module, joined: nn.Module) -> None:
        super().__init__()
        dict.update(self, own)
        self._joined = joined

    def __call__(self, x: mx.array) -> mx.array:
        """Of every row."""
        gate, up = mx.split(self._joined(x), 2, axis=-1)
        return self.down_proj(swiglu(gate, up))


def _counted(attention: Any) -> list[tuple[nn.RMSNorm, int]]:
    return [(attention.q_norm, attention.n_heads), (attention.k_norm, attention.n_kv_heads)]


def _attention(own: Any) -> nn.Module | None:
    same = own.q_norm.eps == own.k_norm.eps and own.q_norm.weight.dtype == own.k_norm.weight.dtype
    joined = _join(own.q_proj, own.k_proj, own.v_proj) if same else None
    return None if joined is None else _Attention(own, joined)


def _feed_forward(own: Any) -> nn.Module | None:
    joined = _join(own.gate_proj, own.up_proj)
    return None if joined is None else _FeedForward(own, joined)


def _join(*parts: nn.Module) -> nn.Module | None:
    """One product with the rows of all of them, which become rows of it; None for parts that are not alike."""
    kind, first = type(parts[0]), parts[0]
    if kind not in (nn.Linear, nn.QuantizedLinear) or any(type(part) is not kind or "bias" in part for part in parts):
        return None
    joined: Any
    if kind is nn.Linear:
        joined = nn.Linear(1, 1, bias=False)
    else:
        settings = {(part.group_size, part.bits, part.mode) for part in parts}
        if len(settings) > 1:
            return None
        group, bits, mode = settings.pop()
        joined = nn.QuantizedLinear(group, 1, False, group, bits, mode)
    for name in [name for name in ("weight", "scales", "biases") if isinstance(first.get(name), mx.array)]:
        arrays = [part[name] for part in parts]
        if len({(array.dtype, array.shape[1:]) for array in arrays}) > 1:
            return None
        joined[name] = mx.concatenate(arrays)
        mx.eval(joined[name])
        at = 0
        for part, array in zip(parts, arrays, strict=True):
            part[name] = joined[name][at : at + array.shape[0]]
            at += array.shape[0]
        del arrays, array
        mx.eval([part[name] for part in parts])  # views: the arrays they were can go
    return joined
