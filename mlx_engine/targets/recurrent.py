"""Recurrent caches (mlx-lm's `ArraysCache` of a gated delta net: the short convolution's last inputs, and the state).

Neither can be trimmed. A net's passes of a block run here, with mlx-lm's own weights, since its forward keeps nothing of what the
rows added to the state. A rewind then takes the state from before the block, and replays the rows that were kept.
"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import ArraysCache
from mlx_lm.models.gated_delta import compute_g, normalize_qk

from mlx_engine.kernels import gated_delta_replay
from mlx_engine.kernels.delta_inputs import Heads, Rows
from mlx_engine.kernels.gated_delta_replay import ROWS, Tape
from mlx_engine.targets.joined import join
from mlx_engine.targets.products import added


@dataclass(frozen=True)
class _Prefix:
    """A state [1, Hv, Dv, Dk] float32 as what it was made of: the state before a block, and the block's rows that were kept.

    It goes with the state, which a cache holds, so that nothing of a chat stays here when its caches go.
    """

    state: weakref.ref[mx.array]
    before: mx.array
    tape: Tape
    kept: int


@dataclass(frozen=True)
class Block:
    """A pass of S rows through one net: enough to end it after any of them."""

    net: "DeltaNet"
    conv_input: mx.array  # [1, K - 1 + S, C]: the state of the convolution, of kernel size K, and the rows
    first: list[mx.array]  # queries, keys, values, decay and beta of the first row
    before: mx.array  # [1, Hv, Dv, Dk]
    tape: Tape

    def after(self, rows: int) -> list[mx.array]:
        """Convolution state [1, K - 1, C] and recurrent state [1, Hv, Dv, Dk] after the first `rows` rows.

        If another block comes next, it replays the rows itself, and the state that is given here is never computed.
        """
        held = self.conv_input.shape[1] - self.tape.rows
        _, state, _ = self.net.replay(*self.first, self.before, self.tape, rows)
        self.net.prefix = _Prefix(weakref.ref(state, self.net.forget), self.before, self.tape, rows)
        return [mx.contiguous(self.conv_input[:, rows : rows + held]), state]


class DeltaNet(nn.Module):
    """Stands in a layer for its gated delta net. The next pass after `listen` runs here, all others as ever.

    `inputs` is `delta_inputs` as a kernel, or None for mlx-lm's own operations; `replay` is `gated_delta_replay`.
    """

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net
        own: Any = net
        self.heads = Heads(own.num_k_heads, own.head_k_dim, own.num_v_heads, own.head_v_dim)
        apart = hasattr(own, "in_proj_qkv")  # Qwen3-Next joins them itself, a key head's share after the other's
        self._joined = join(own.in_proj_qkv, own.in_proj_z, own.in_proj_b, own.in_proj_a) if apart else None
        self.inputs: Callable[..., Rows] | None = None
        self.replay: Callable[..., tuple[mx.array, mx.array, Tape]] = gated_delta_replay.reference
        self.prefix: _Prefix | None = None
        self._listening = False
        self._block: Block | None = None

    def forget(self, gone: weakref.ref[mx.array]) -> None:
        """Let go what a state was made of that nobody holds any more."""
        if self.prefix is not None and self.prefix.state is gone:
            self.prefix = None

    def listen(self) -> None:
        """Keep what the pass that follows adds."""
        self._listening = True

    def take(self) -> Block:
        """That pass."""
        assert self._block is not None
        block, self._block = self._block, None
        return block

    def __call__(
        self, x: mx.array, mask: mx.array | None = None, cache: ArraysCache | None = None, residual: mx.array | None = None
    ) -> mx.array:
        """x [1, S, H] -> [1, S, H], added to `residual` if there is one."""
        if not self._listening:
            out: mx.array = self.net(x, mask, cache)
            return out if residual is None else residual + out
        assert cache is not None and mask is None  # masks are for batches
        self._listening = False
        net: Any = self.net
        rows = x.shape[1]
        convolution, state = cache.cache
        if convolution is None:
            convolution = mx.zeros((1, net.conv_kernel_size - 1, net.conv_dim), x.dtype)
        if state is None:
            state = mx.zeros((1, net.num_v_heads, net.head_v_dim, net.head_k_dim))
        own, z = self._rows(x, convolution)
        # a state that the block before led to, and that nobody has read since, is not computed: its rows are replayed on the way
        past = self.prefix
        if past is None or past.state() is not state:
            nothing = Tape.empty(net.num_k_heads, net.head_k_dim, net.num_v_heads, net.head_v_dim, own.queries.dtype)
            past = _Prefix(weakref.ref(state), state, nothing, 0)
        recurrence = [own.queries, own.keys, own.values, own.decay, own.beta]
        result, before, tape = self.replay(*recurrence, past.before, past.tape, past.kept)
        self._block = Block(self, own.convolved, [each[:, :1] for each in recurrence], before, tape)
        cache.cache = self._block.after(rows)  # type: ignore[assignment]  # mlx-lm begins with None in both places
        out = net.norm(result, z).reshape(1, rows, -1)
        return net.out_proj(out) if residual is None else added(residual, net.out_proj, out)

    def _rows(self, x: mx.array, convolution: mx.array) -> tuple[Rows, mx.array]:
        """What the rows x [1, S, H] bring to the recurrence, and the output's gate, [1, S, Hv, Dv]."""
        net: Any = self.net
        rows, channels = x.shape[1], self.heads.channels
        if self.inputs is not None and self._joined is not None and rows <= ROWS:
            projected = self._joined(x)
            own = self.inputs(projected.reshape(rows, -1), convolution, net.conv1d.weight, net.A_log, net.dt_bias, self.heads)
            gate = projected[..., channels : channels + self.heads.values * self.heads.value_dim]
            return own, gate.reshape(1, rows, self.heads.values, -1)
        mixed, z, b, a = _project(net, x)
        conv_input = mx.concatenate([convolution, mixed], axis=1)
        convolved = nn.silu(net.conv1d(conv_input))
        queries, keys, values = mx.split(convolved, [net.key_dim, 2 * net.key_dim], axis=-1)
        queries, keys = (part.reshape(1, rows, net.num_k_heads, net.head_k_dim) for part in (queries, keys))
        queries, keys = normalize_qk(queries, keys, inv_scale=net.head_k_dim**-0.5, eps=1e-6)
        values = values.reshape(1, rows, net.num_v_heads, net.head_v_dim)
        return Rows(queries, keys, values, compute_g(net.A_log, a, net.dt_bias), mx.sigmoid(b), conv_input), z


def _project(net: Any, inputs: mx.array) -> tuple[mx.array, mx.array, mx.array, mx.array]:
    """What enters the convolution, [1, S, C], the output's gate, [1, S, Hv, Dv], and the inputs of beta and decay, [1, S, Hv]."""
    one, rows, _ = inputs.shape
    if hasattr(net, "in_proj_qkvz"):
        *parts, z, b, a = net.fix_query_key_value_ordering(net.in_proj_qkvz(inputs), net.in_proj_ba(inputs))
        return mx.concatenate([part.reshape(one, rows, -1) for part in parts], axis=-1), z, b, a
    z = net.in_proj_z(inputs).reshape(one, rows, net.num_v_heads, net.head_v_dim)
    return net.in_proj_qkv(inputs), z, net.in_proj_b(inputs), net.in_proj_a(inputs)


class Undo:
    """How to take a pass of several rows back out of one cache; made before the pass, `block` filled in after it."""

    def __init__(self, cache: ArraysCache) -> None:
        self._cache: Any = cache
        self._before = list(cache.cache)
        self.block: Block | None = None

    def rewind(self, rows: int, passed: int) -> None:
        """Drop the last `rows` of the `passed` tokens of the latest pass."""
        if rows == passed:
            self._cache.cache = self._before
        elif rows:
            if self.block is None:
                raise ValueError("nothing was recorded of the pass that is to be taken back")
            self._cache.cache = self.block.after(passed - rows)
