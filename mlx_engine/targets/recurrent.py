"""Recurrent caches: mlx-lm's `ArraysCache` of a gated delta net.

It holds the short convolution's last inputs and the state, neither of which can be trimmed. A rewind takes the state from before
the block and replays the rows that were kept. The host need not know how many these are: a block that is queued behind another
starts with that one's rows, and the device computes where the convolution's window begins and how many rows are replayed.
"""

import copy
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from mlx_engine.device import DeviceSpan
from mlx_engine.kernels.gated_delta_replay import Tape
from mlx_engine.targets.adapter import CacheAdapter


@dataclass(frozen=True)
class BlockStart:
    """What a block starts with.

    Attributes:
        conv_rows: the convolution reads these rows from `first` on, [1, at least K - 1, C].
        first: an int, or [1] int32 where only the device knows it, like `kept`.
        before: the state before the tape, [1, Hv, Dv, Dk] float32.
        tape: rows to replay on that state.
        kept: how many of them.
    """

    conv_rows: mx.array
    first: int | mx.array
    before: mx.array
    tape: Tape
    kept: int | mx.array


@dataclass(frozen=True)
class RecurrentBlock:
    """A pass of S rows through one net, which can be ended after any of them.

    Attributes:
        replay: the operation `gated_delta_replay`.
        conv_input: what enters the convolution of kernel size K, [1, K - 1 + S, C].
        queries: [1, S, Hk, Dk].
        before: the state before the block, [1, Hv, Dv, Dk] float32.
        tape: what the rows write to the state.
    """

    replay: Callable[..., tuple[mx.array, mx.array, Tape]]
    conv_input: mx.array
    queries: mx.array
    before: mx.array
    tape: Tape

    def after(self, rows: int) -> list[mx.array]:
        """State after the first `rows` rows: convolution [1, K - 1, C], net [1, Hv, Dv, Dk]."""
        held, tape = self.conv_input.shape[1] - self.tape.rows, self.tape
        first = [each[:, :1] for each in (self.queries, tape.keys, tape.values, tape.decay, tape.beta)]
        _, state, _ = self.replay(*first, self.before, tape, rows)
        return [mx.contiguous(self.conv_input[:, rows : rows + held]), state]


class RecurrentCache(CacheAdapter):
    """An `ArraysCache` of a gated delta net. Replaces it in blocks and placed passes."""

    def __init__(self, cache: Any) -> None:
        super().__init__(cache)
        self.compilable = False  # whether the pass is placed: then the layer may be compiled
        self._before: list | None = None  # state before the latest block
        self._block: RecurrentBlock | None = None
        self._kept: mx.array | None = None  # rows kept of the pass before the placed one
        # Placed passes: one that is settled but not copied into the cache, one that is not settled, and one that is being built
        self._placed = deque[RecurrentBlock](maxlen=3)
        self._origin: tuple[mx.array, mx.array, Tape, int] | None = None  # a state, and what it is computed from
        self._traced: BlockStart | None = None

    def begin(self, block: bool) -> Any:
        self._before = self._block = None
        self.compilable = False
        if not block:
            self._origin = None
            return self.cache
        self._before = list(self.cache.cache)
        return self

    def rewind(self, rows: int, passed: int) -> None:
        before, block = self._before, self._block
        self._before = self._block = None
        if not rows:
            return
        if before is None or block is None:
            raise ValueError(f"nothing was kept to rewind a pass of {passed} rows")
        if rows == passed:
            self.cache.cache = before
        else:
            self._end(block, passed - rows)

    def place(self, span: DeviceSpan) -> "RecurrentCache":
        self.compilable = True
        self._kept = span.start.kept
        return self

    def settle(self, start: int, kept: int, discarded: int) -> None:
        self._end(self._placed[-1 - discarded], kept)
        self._placed.clear()

    def release(self) -> None:
        self._before = self._block = self._origin = None
        self._placed.clear()

    @staticmethod
    def make_mask(rows: int, **_: Any) -> None:
        """None: all rows belong to one sequence."""

    def start(self, net: Any, dtype: mx.Dtype) -> BlockStart:
        """What the next block of mlx-lm's `net` starts with; its inputs are of `dtype`."""
        if self._traced is not None:
            return self._traced
        if self.compilable and self._placed:
            last = self._placed[-1]
            assert self._kept is not None  # known for every pass behind one that is not settled
            return BlockStart(last.conv_input, self._kept, last.before, last.tape, self._kept)
        convolution, state = self.cache.cache
        if convolution is None:
            convolution = mx.zeros((1, net.conv_kernel_size - 1, net.conv_dim), dtype)
        if state is None:
            state = mx.zeros((1, net.num_v_heads, net.head_v_dim, net.head_k_dim))
        if self._origin is not None and self._origin[0] is state:  # not read since the last block: replay instead of computing it
            _, before, tape, kept = self._origin
            return BlockStart(convolution, 0, before, tape, kept)
        nothing = Tape.empty(net.num_k_heads, net.head_k_dim, net.num_v_heads, net.head_v_dim, dtype)
        return BlockStart(convolution, 0, state, nothing, 0)

    def finish(self, block: RecurrentBlock) -> None:
        """Take the block that the net has built."""
        if self.compilable:
            self._placed.append(block)
        else:
            self._block = block
            self._end(block, block.tape.rows)

    def _end(self, block: RecurrentBlock, rows: int) -> None:
        """Bring the cache to the state after the first `rows` rows of a block."""
        self.cache.cache = block.after(rows)
        self._origin = self.cache.cache[1], block.before, block.tape, rows

    trace_length = 0  # nothing in a pass is as long as the context

    def inputs(self, layer: Any, dtype: mx.Dtype) -> list[mx.array]:
        """What a compiled layer reads: what its block starts with."""
        start = self.start(layer.mixer.net, dtype)
        counts = [each if isinstance(each, mx.array) else mx.array([each], mx.int32) for each in (start.first, start.kept)]
        tape = start.tape
        return [start.conv_rows, tape.keys, tape.values, tape.decay, tape.beta, start.before, *counts]

    def traced(self, inputs: list[mx.array]) -> "RecurrentCache":
        """An adapter that starts with `inputs`, for a layer while it is traced."""
        conv_rows, *tape, before, first, kept = inputs
        other = copy.copy(self)
        other._traced, other._placed = BlockStart(conv_rows, first, before, Tape(*tape), kept), deque(maxlen=1)
        return other

    def outputs(self) -> list[mx.array]:
        """What a layer leaves here: its block."""
        block = self._placed[-1]
        tape = block.tape
        return [block.conv_input, block.queries, block.before, tape.keys, tape.values, tape.decay, tape.beta]

    def accept(self, layer: Any, outputs: list[mx.array]) -> None:
        """Hold what a compiled layer left."""
        conv_input, queries, before, *tape = outputs
        self._placed.append(RecurrentBlock(layer.mixer.replay, conv_input, queries, before, Tape(*tape)))
