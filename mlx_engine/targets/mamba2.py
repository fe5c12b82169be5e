"""Nemotron-H's Mamba-2 mixers with rewindable blocks, using mlx-lm's weights."""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.ssm import compute_dt, ssm_update

from mlx_engine.targets.packed import PackedCache, by_stream
from mlx_engine.targets.recurrent import RecurrentCache
from mlx_engine.targets.short_conv import ConvBlock, after_state


@dataclass(frozen=True)
class _MambaBlock:
    """A pass of S rows through one mixer that can be cut after any row."""

    net: Any
    convolution: ConvBlock
    before: mx.array | None  # the state before the block, [1, heads, D, N] float32; None: zeros
    inputs: tuple[mx.array, mx.array, mx.array]  # values [1, S, heads, D], keys [1, S, groups, N], and steps [1, S, heads]
    state: mx.array  # the state after the block

    @property
    def rows(self) -> int:
        return self.convolution.rows

    def after(self, rows: int | mx.array) -> list[mx.array]:
        """Return the last inputs and the state [1, heads, D, N] after rows."""
        return [*self.convolution.after(rows), self._state(rows)]

    def _state(self, rows: int | mx.array) -> mx.array:
        net = self.net
        if isinstance(rows, int):  # as mlx-lm computes it
            values, keys, steps = (each[:, :rows] for each in self.inputs)
            return self.state if rows == self.rows else _update(net, values, keys, keys, steps, self.before)[1]
        values, keys, steps = self.inputs
        steps = compute_dt(steps, net.dt_bias, net.time_step_limit)
        steps = steps * (mx.arange(self.rows) < rows)[None, :, None]  # a step of 0 changes nothing
        total = mx.cumsum(steps * -mx.exp(net.A_log).astype(steps.dtype), axis=1)
        weights = steps * mx.exp(total[:, -1:] - total)
        keys = mx.repeat(keys, values.shape[2] // keys.shape[2], axis=2).transpose(0, 2, 1, 3)
        state = (values * weights[..., None]).transpose(0, 2, 3, 1) @ keys
        return state if self.before is None else state + mx.exp(total[:, -1])[..., None, None] * self.before


class Mamba2(nn.Module):
    """Replacement for a layer's mixer: x [1, S, H] -> [1, S, H].

    Attributes:
        net: mlx-lm's module, which runs all passes whose cache isn't a `RecurrentCache`.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def __call__(self, x: mx.array, mask: mx.array | None = None, cache: Any = None) -> mx.array:
        net: Any = self.net
        if not isinstance(cache, RecurrentCache | PackedCache):
            out: mx.array = net(x, mask, cache)
            return out
        out = net.out_proj(by_stream(self._mixed, cache, None, net.in_proj(x)))
        return out

    def _mixed(self, cache: RecurrentCache, mask: None, projected: mx.array) -> mx.array:
        """Return the normalized outputs [1, S, inner] for projected rows [1, S, ..]."""
        net: Any = self.net
        rows, inner, states = projected.shape[1], net.intermediate_size, net.n_groups * net.ssm_state_size
        gate, inputs, steps = mx.split(projected, [inner, inner + net.conv_dim], axis=-1)
        held, before = cache.state()
        convolution = ConvBlock(after_state(held, inputs, net.conv_kernel_size), rows, net.conv_kernel_size)
        convolved = nn.silu(net.conv1d(convolution.inputs))
        values, keys, queries = mx.split(convolved, [inner, inner + states], axis=-1)
        values = values.reshape(1, rows, net.num_heads, net.head_dim)
        keys, queries = (part.reshape(1, rows, net.n_groups, net.ssm_state_size) for part in (keys, queries))
        y, state = _update(net, values, keys, queries, steps, before)
        cache.finish(_MambaBlock(net, convolution, before, (values, keys, steps), state))
        out: mx.array = net.norm(y.reshape(1, rows, inner), gate)
        return out


def _update(
    net: Any, values: mx.array, keys: mx.array, queries: mx.array, steps: mx.array, before: mx.array | None
) -> tuple[mx.array, mx.array]:
    """Return the outputs [1, S, heads, D] of rows, and the state after them."""
    weights = (net.D.astype(values.dtype), steps, net.dt_bias)
    result: tuple[mx.array, mx.array] = ssm_update(values, net.A_log, keys, queries, *weights, before, net.time_step_limit)
    return result
