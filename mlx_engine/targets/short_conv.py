"""LFM2's short convolutions with rewindable blocks, using mlx-lm's weights."""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_engine.kernels.delta_inputs import rows_before
from mlx_engine.targets.recurrent import RecurrentCache


@dataclass(frozen=True)
class _ConvBlock:
    """A pass of `rows` rows through one convolution with kernel size K."""

    inputs: mx.array  # [1, K - 1 + rows, C]
    rows: int

    def after(self, rows: int) -> list[mx.array]:
        """Return the convolution's last inputs [1, K - 1, C] after the first `rows` rows."""
        return [mx.contiguous(self.inputs[:, rows : rows + self.inputs.shape[1] - self.rows])]


class ShortConvCache(RecurrentCache):
    """Adapter of a short convolution's `ArraysCache`, which holds the convolution's last inputs."""

    def joined(self, inputs: mx.array, taps: int) -> mx.array:
        """Store the block of these inputs [1, S, C], and return them after those of the `taps - 1` positions before."""
        if self.compilable and self._placed:
            last: Any = self._placed[-1]
            assert self._kept is not None  # known for every pass behind an unsettled one
            before = rows_before(last.inputs, taps, self._kept)
        elif (before := self.cache.cache[0]) is None:
            before = mx.zeros((1, taps - 1, inputs.shape[2]), inputs.dtype)
        block: Any = _ConvBlock(mx.concatenate([before, inputs], axis=1), inputs.shape[1])
        if self.compilable:
            self._placed.append(block)
        else:
            self._block = block
            self._end(block, block.rows)
        return block.inputs

    def _end(self, block: Any, rows: int) -> None:
        self.cache.cache = block.after(rows)


class ShortConv(nn.Module):
    """Replacement for a layer's short convolution: x [1, S, H] -> [1, S, H].

    Attributes:
        net: mlx-lm's module, which runs all passes whose cache isn't a `ShortConvCache`.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def __call__(self, x: mx.array, mask: mx.array | None = None, cache: Any = None) -> mx.array:
        net: Any = self.net
        if not isinstance(cache, ShortConvCache):
            out: mx.array = net(x, mask, cache)
            return out
        gate, scale, values = mx.split(net.in_proj(x), 3, axis=-1)
        out = net.out_proj(scale * net.conv(cache.joined(gate * values, net.L_cache)))
        return out


def state_adapter(cache: Any) -> RecurrentCache:
    """Return the adapter of an `ArraysCache`: a short convolution has one array, a gated delta net two."""
    return ShortConvCache(cache) if len(cache.cache) == 1 else RecurrentCache(cache)
