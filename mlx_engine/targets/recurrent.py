"""Recurrent caches (mlx-lm's `ArraysCache` of a gated delta net: the short convolution's last inputs, and the state).

Neither can be trimmed. A net's passes of a block run here, with mlx-lm's own weights, since its forward keeps nothing of what the
rows added to the state. A rewind then takes the state from before the block, and replays the rows that were kept.

How many were need not be known on the host: a block that is queued behind another begins with that one's rows, and the device tells
where its convolution's window ends and how many rows are replayed.
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
from mlx_engine.kernels.delta_inputs import Heads, Rows, rows_before
from mlx_engine.kernels.gated_delta_replay import ROWS, Tape
from mlx_engine.positions import Span
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
class _Start:
    """What a block begins with: rows of which the convolution reads those from `first` on, and what its state is made of."""

    conv_rows: mx.array  # [1, at least K - 1, C]
    first: int | mx.array  # [1] int32 where only the device knows it, like `kept`
    before: mx.array  # [1, Hv, Dv, Dk]
    tape: Tape
    kept: int | mx.array


@dataclass(frozen=True)
class Block:
    """A pass of S rows through one net: enough to end it after any of them."""

    net: "DeltaNet"
    conv_input: mx.array  # [1, K - 1 + S, C]: the state of the convolution, of kernel size K, and the rows
    queries: mx.array  # [1, S, Hk, Dk]
    before: mx.array  # [1, Hv, Dv, Dk]
    tape: Tape

    def after(self, rows: int) -> list[mx.array]:
        """Convolution state [1, K - 1, C] and recurrent state [1, Hv, Dv, Dk] after the first `rows` rows.

        If another block comes next, it replays the rows itself, and the state that is given here is never computed.
        """
        held, tape = self.conv_input.shape[1] - self.tape.rows, self.tape
        first = [each[:, :1] for each in (self.queries, tape.keys, tape.values, tape.decay, tape.beta)]
        _, state, _ = self.net.replay(*first, self.before, tape, rows)
        self.net.prefix = _Prefix(weakref.ref(state, self.net.forget), self.before, tape, rows)
        return [mx.contiguous(self.conv_input[:, rows : rows + held]), state]

    def start(self, kept: mx.array) -> _Start:
        """What the next block begins with after the first `kept` rows, [1] int32."""
        return _Start(self.conv_input, kept, self.before, self.tape, kept)


class DeltaNet(nn.Module):
    """Stands in a layer for its gated delta net. The next pass after `listen` runs here, all others as ever.

    `inputs` is `delta_inputs` as a kernel, or None for mlx-lm's own operations; `replay` is `gated_delta_replay`.
    """

    aside = ("prefix", "_listening", "_block")  # what a pass leaves for the next makes nets no different

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

    def __call__(self, x: mx.array, mask: mx.array | None = None, cache: Any = None, residual: mx.array | None = None) -> mx.array:
        """x [1, S, H] -> [1, S, H], added to `residual` if there is one."""
        placed = isinstance(cache, Placed)
        if not self._listening and not placed:
            out: mx.array = self.net(x, mask, cache)
            return out if residual is None else residual + out
        assert cache is not None and mask is None  # masks are for batches
        self._listening = False
        net: Any = self.net
        rows = x.shape[1]
        start = cache.start(self, x.dtype) if placed else self.start(cache, x.dtype)
        own, z = self._rows(x, start)
        recurrence = (own.queries, own.keys, own.values, own.decay, own.beta)
        result, before, tape = self.replay(*recurrence, start.before, start.tape, start.kept)
        block = Block(self, own.convolved, own.queries, before, tape)
        if placed:
            cache.block = block
        else:
            self._block = block
            cache.cache = block.after(rows)
        out = net.norm(result, z).reshape(1, rows, -1)
        return net.out_proj(out) if residual is None else added(residual, net.out_proj, out)

    def start(self, cache: Any, dtype: mx.Dtype) -> _Start:
        """What a block begins with that goes on from a cache; `dtype` is that of the net's inputs."""
        net: Any = self.net
        convolution, state = cache.cache
        if convolution is None:
            convolution = mx.zeros((1, net.conv_kernel_size - 1, net.conv_dim), dtype)
        if state is None:
            state = mx.zeros((1, net.num_v_heads, net.head_v_dim, net.head_k_dim))
        # a state that the block before led to, and that nobody has read since, is not computed: its rows are replayed on the way
        past = self.prefix
        if past is not None and past.state() is state:
            return _Start(convolution, 0, past.before, past.tape, past.kept)
        nothing = Tape.empty(net.num_k_heads, net.head_k_dim, net.num_v_heads, net.head_v_dim, dtype)
        return _Start(convolution, 0, state, nothing, 0)

    def _rows(self, x: mx.array, start: _Start) -> tuple[Rows, mx.array]:
        """What the rows x [1, S, H] bring to the recurrence, and the output's gate, [1, S, Hv, Dv]."""
        net: Any = self.net
        rows, heads = x.shape[1], self.heads
        if self._joined is None:
            mixed, z, b, a = _project(net, x)
        else:
            projected = self._joined(x)
            ends = [heads.channels, heads.channels + heads.values * heads.value_dim, heads.columns - heads.values]
            mixed, gate, b, a = mx.split(projected, ends, axis=-1)
            z = gate.reshape(1, rows, heads.values, -1)
            if self.inputs is not None and rows <= ROWS:
                weights = (net.conv1d.weight, net.A_log, net.dt_bias)
                return self.inputs(projected.reshape(rows, -1), start.conv_rows, *weights, heads, start.first), z
        conv_input = mx.concatenate([rows_before(start.conv_rows, net.conv_kernel_size, start.first), mixed], axis=1)
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


class Placed:
    """Stands for a net's cache, which holds something already, in a pass over `span`; `before` did in the pass before.

    The net leaves its `block` here.
    """

    def __init__(self, cache: ArraysCache, span: Span, before: "Placed | None" = None) -> None:
        self._cache: Any = cache
        self._kept = span.place.kept
        self._last = None if before is None else before.block
        self.block: Block | None = None

    def start(self, net: DeltaNet, dtype: mx.Dtype) -> _Start:
        """What the net's block begins with."""
        last, self._last = self._last, None  # else every block would hold the one before it
        if last is None:
            return net.start(self._cache, dtype)
        assert self._kept is not None  # a place behind a pass that nobody has read
        return last.start(self._kept)

    @staticmethod
    def make_mask(rows: int, **_: Any) -> None:
        """None: there is one sequence, and all of it counts."""

    def settle(self, start: int, kept: int) -> None:
        """The pass began at `start`, and its first `kept` rows count."""
        assert self.block is not None
        self._cache.cache = self.block.after(kept)

    view = 0  # `compiled.Held`: nothing of a pass is as long as the context

    def given(self, layer: Any, dtype: mx.Dtype) -> list[mx.array]:
        """`compiled.Held`: what the net's block begins with."""
        start = self.start(layer.mixer, dtype)
        counts = [each if isinstance(each, mx.array) else mx.array([each], mx.int32) for each in (start.first, start.kept)]
        tape = [start.tape.keys, start.tape.values, start.tape.decay, start.tape.beta]
        return [start.conv_rows, *tape, start.before, *counts]

    def stand_in(self, given: list[mx.array]) -> "Placed":
        """`compiled.Held`: one that begins with these."""
        conv_rows, *tape, before, first, kept = given
        return _Begun(_Start(conv_rows, first, before, Tape(*tape), kept))

    def left(self) -> list[mx.array]:
        """`compiled.Held`: the block, but for its net."""
        assert self.block is not None
        tape = self.block.tape
        return [self.block.conv_input, self.block.queries, self.block.before, tape.keys, tape.values, tape.decay, tape.beta]

    def take(self, layer: Any, left: list[mx.array]) -> None:
        """`compiled.Held`."""
        conv_input, queries, before, *tape = left
        self.block = Block(layer.mixer, conv_input, queries, before, Tape(*tape))


class _Begun(Placed):
    """What a block begins with is known."""

    def __init__(self, start: _Start) -> None:
        self._start = start
        self.block: Block | None = None

    def start(self, net: DeltaNet, dtype: mx.Dtype) -> _Start:
        return self._start
