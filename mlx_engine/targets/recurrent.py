"""Recurrent caches (mlx-lm's `ArraysCache` of a gated delta net: the short convolution's last inputs, and the state).

Neither can be trimmed. Recorders on the layer's own modules keep a block's inputs, and a rewind replays the kept rows from the
state before the block.
"""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import ArraysCache
from mlx_lm.models.gated_delta import gated_delta_update, normalize_qk


class _Listener:
    """Stands in a module for one of its submodules; keeps the latest input and output while `keep` is set."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.keep = False
        self.input: mx.array | None = None
        self.output: mx.array | None = None

    def __call__(self, x: mx.array) -> mx.array:
        result = self.module(x)
        if self.keep:
            self.input, self.output = x, result
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def take(self) -> tuple[mx.array, mx.array]:
        """Input and output of the pass; both are let go."""
        assert self.input is not None and self.output is not None
        kept = self.input, self.output
        self.keep, self.input, self.output = False, None, None
        return kept


@dataclass(frozen=True)
class Inputs:
    """What a gated delta net got in one pass of S rows: enough to run any prefix of them again."""

    net: nn.Module
    conv_input: mx.array  # [1, K - 1 + S, C]: the state of the convolution, of kernel size K, and the rows
    convolved: mx.array  # [1, S, C]
    a: mx.array  # [1, S, Hv]
    b: mx.array  # [1, S, Hv]

    def replay(self, rows: int, state: mx.array | None) -> tuple[mx.array, mx.array]:
        """Convolution state [1, K - 1, C] and recurrent state [1, Hv, Dv, Dk] after the first `rows` rows."""
        net: Any = self.net
        width = net.num_k_heads * net.head_k_dim
        _, keys, values = mx.split(nn.silu(self.convolved[:, :rows]), [width, 2 * width], axis=-1)
        keys = keys.reshape(1, rows, net.num_k_heads, net.head_k_dim)
        values = values.reshape(1, rows, net.num_v_heads, net.head_v_dim)
        _, keys = normalize_qk(keys, keys, inv_scale=net.head_k_dim**-0.5, eps=1e-6)
        # queries shape only the output, which nobody reads here
        _, after = gated_delta_update(keys, keys, values, self.a[:, :rows], self.b[:, :rows], net.A_log, net.dt_bias, state)
        return mx.contiguous(self.conv_input[:, rows : rows + net.conv_kernel_size - 1]), after


class Recorder:
    """Listens to the parts of one gated delta net, whose own submodules come back with `release`."""

    def __init__(self, net: nn.Module) -> None:
        self._net: Any = net
        gates = ("in_proj_ba",) if hasattr(net, "in_proj_ba") else ("in_proj_a", "in_proj_b")
        self._listeners = {name: _Listener(getattr(net, name)) for name in ("conv1d", *gates)}
        for name, listener in self._listeners.items():
            setattr(net, name, listener)

    def listen(self) -> None:
        """Keep the inputs of the pass that follows."""
        for listener in self._listeners.values():
            listener.keep = True

    def take(self) -> Inputs:
        """The inputs of that pass; the recorder stops listening."""
        taken = {name: listener.take() for name, listener in self._listeners.items()}
        if "in_proj_ba" in taken:
            mixed = taken["in_proj_ba"][1]
            one, rows = mixed.shape[:2]
            # as projected: for each key head, the b of its value heads, then their a
            b, a = mx.split(mixed.reshape(one, rows, self._net.num_k_heads, -1), 2, axis=-1)
            a, b = a.reshape(one, rows, -1), b.reshape(one, rows, -1)
        else:
            a, b = taken["in_proj_a"][1], taken["in_proj_b"][1]
        return Inputs(self._net, *taken["conv1d"], a, b)

    def release(self) -> None:
        """Give the net its own submodules back."""
        for name, listener in self._listeners.items():
            setattr(self._net, name, listener.module)
        self._listeners = {}


class Undo:
    """How to take a pass of several rows back out of one cache; made before the pass, `inputs` filled in after it."""

    def __init__(self, cache: ArraysCache) -> None:
        self._cache: Any = cache
        self._before = list(cache.cache)
        self.inputs: Inputs | None = None

    def rewind(self, rows: int, passed: int) -> None:
        """Drop the last `rows` of the `passed` tokens of the latest pass."""
        if rows == passed:
            self._cache.cache = self._before
        elif rows:
            if self.inputs is None:
                raise ValueError("nothing was recorded of the pass that is to be taken back")
            self._cache.cache = list(self.inputs.replay(passed - rows, self._before[1]))
