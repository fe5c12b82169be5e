"""LFM2's short convolutions with rewindable blocks, using mlx-lm's weights."""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_engine.kernels.delta_inputs import rows_before
from mlx_engine.targets.packed import PackedCache, by_stream
from mlx_engine.targets.recurrent import RecurrentCache


@dataclass(frozen=True)
class ConvBlock:
    """A pass of `rows` rows through one convolution with kernel size `taps`."""

    inputs: mx.array  # [1, taps - 1 + rows, C]
    rows: int
    taps: int

    def after(self, rows: int | mx.array) -> list[mx.array]:
        """Return the last inputs [1, taps - 1, C] after the first `rows` rows."""
        return [mx.contiguous(rows_before(self.inputs, self.taps, rows))]


class ShortConv(nn.Module):
    """Replacement for a layer's short convolution: x [1, S, H] -> [1, S, H].

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
        out = net.out_proj(by_stream(self._convolved, cache, None, net.in_proj(x)))
        return out

    def _convolved(self, cache: RecurrentCache, mask: None, projected: mx.array) -> mx.array:
        """Return the gated outputs [1, S, H] for projected rows [1, S, 3 * H]."""
        net: Any = self.net
        gate, scale, values = mx.split(projected, 3, axis=-1)
        block = ConvBlock(after_state(cache.state()[0], gate * values, net.L_cache), projected.shape[1], net.L_cache)
        cache.finish(block)
        out: mx.array = scale * net.conv(block.inputs)
        return out


def after_state(state: mx.array | None, inputs: mx.array, taps: int) -> mx.array:
    """Return a convolution's inputs [1, S, C] after those before.

    The inputs of the `taps - 1` positions before are zeros if None.
    """
    held = mx.zeros((1, taps - 1, inputs.shape[2]), inputs.dtype) if state is None else state
    return mx.concatenate([held, inputs], axis=1)
