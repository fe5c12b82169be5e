"""Gated delta nets with rewindable blocks, using mlx-lm's weights."""

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.gated_delta import compute_g, normalize_qk

from mlx_engine.kernels import gated_delta_replay
from mlx_engine.kernels.delta_inputs import DeltaHeads, DeltaRows, rows_before
from mlx_engine.kernels.gated_delta_replay import ROWS, Tape
from mlx_engine.kernels.operations import RowKernel
from mlx_engine.targets.packed import PackedCache, by_stream
from mlx_engine.targets.products import KernelLinear, fuse_linear
from mlx_engine.targets.recurrent import BlockStart, RecurrentBlock, RecurrentCache


class DeltaNet(nn.Module):
    """Replacement for a layer's gated delta net: x [1, S, H] -> [1, S, H].

    Attributes:
        net: mlx-lm's module, which runs all passes whose cache isn't a `RecurrentCache`.
        inputs: the `delta_inputs` kernel, or mlx-lm's operations.
        replay: the `gated_delta_replay` operation.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net
        own: Any = net
        self.heads = DeltaHeads(own.num_k_heads, own.head_k_dim, own.num_v_heads, own.head_v_dim)
        apart = hasattr(own, "in_proj_qkv")  # Qwen3-Next's own fused projection is interleaved by key head
        self._projection = fuse_linear(own.in_proj_qkv, own.in_proj_z, own.in_proj_b, own.in_proj_a) if apart else None
        self.inputs = RowKernel()
        self.replay: Callable[..., tuple[mx.array, mx.array, Tape]] = gated_delta_replay.reference

    def __call__(self, x: mx.array, mask: mx.array | None = None, cache: Any = None, residual: mx.array | None = None) -> mx.array:
        if not isinstance(cache, RecurrentCache | PackedCache):
            out: mx.array = self.net(x, mask, cache)
            return out if residual is None else residual + out
        assert mask is None  # only batches have masks
        net: Any = self.net
        projected = _project(net, x) if self._projection is None else (self._projection(x),)
        out = by_stream(self._mixed, cache, None, *projected)
        if residual is None:
            return net.out_proj(out)
        return net.out_proj(out, residual) if isinstance(net.out_proj, KernelLinear) else residual + net.out_proj(out)

    def _mixed(self, cache: RecurrentCache, mask: None, *projected: mx.array) -> mx.array:
        """Return the normalized outputs [1, S, Hv * Dv] for projected rows [1, S, ..]."""
        net: Any = self.net
        start = cache.start(net, projected[0].dtype)
        own, z = self._rows(projected, start)
        recurrence = (own.queries, own.keys, own.values, own.decay, own.beta)
        result, before, tape = self.replay(*recurrence, start.before, start.tape, start.kept)
        cache.finish(RecurrentBlock(self.replay, own.convolved, own.queries, before, tape))
        out: mx.array = net.norm(result, z).reshape(1, projected[0].shape[1], -1)
        return out

    def _rows(self, projected: Sequence[mx.array], start: BlockStart) -> tuple[DeltaRows, mx.array]:
        """Return the recurrence's inputs for projected rows, and the gate [1, S, Hv, Dv]."""
        net: Any = self.net
        rows, heads = projected[0].shape[1], self.heads
        if self._projection is None:
            mixed, z, b, a = projected
        else:
            [columns] = projected
            ends = [heads.channels, heads.channels + heads.values * heads.value_dim, heads.columns - heads.values]
            mixed, gate, b, a = mx.split(columns, ends, axis=-1)
            z = gate.reshape(1, rows, heads.values, -1)
            inputs = self.inputs.at(rows)
            if inputs is not None and rows <= ROWS:
                weights = (net.conv1d.weight, net.A_log, net.dt_bias)
                return inputs(columns.reshape(rows, -1), start.conv_rows, *weights, heads, start.first), z
        conv_input = mx.concatenate([rows_before(start.conv_rows, net.conv_kernel_size, start.first), mixed], axis=1)
        convolved = nn.silu(net.conv1d(conv_input))
        queries, keys, values = mx.split(convolved, [net.key_dim, 2 * net.key_dim], axis=-1)
        queries, keys = (part.reshape(1, rows, net.num_k_heads, net.head_k_dim) for part in (queries, keys))
        queries, keys = normalize_qk(queries, keys, inv_scale=net.head_k_dim**-0.5, eps=1e-6)
        values = values.reshape(1, rows, net.num_v_heads, net.head_v_dim)
        return DeltaRows(queries, keys, values, compute_g(net.A_log, a, net.dt_bias), mx.sigmoid(b), conv_input), z


def _project(net: Any, inputs: mx.array) -> tuple[mx.array, mx.array, mx.array, mx.array]:
    """Return the projections of x [1, S, H].

    Returns:
        Input of the convolution [1, S, C], gate [1, S, Hv, Dv], b and a [1, S, Hv].
    """
    one, rows, _ = inputs.shape
    if hasattr(net, "in_proj_qkvz"):
        *parts, z, b, a = net.fix_query_key_value_ordering(net.in_proj_qkvz(inputs), net.in_proj_ba(inputs))
        return mx.concatenate([part.reshape(one, rows, -1) for part in parts], axis=-1), z, b, a
    z = net.in_proj_z(inputs).reshape(one, rows, net.num_v_heads, net.head_v_dim)
    return net.in_proj_qkv(inputs), z, net.in_proj_b(inputs), net.in_proj_a(inputs)
