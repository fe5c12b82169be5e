"""Adapter of mlx-lm's `ArraysCache` of recurrent layers.

It holds a convolution's last inputs and, except for a short convolution, a recurrent state. Neither can be trimmed. A
rewind restores the state from before the block and replays the kept rows. The host need not know how many rows those are: a block
queued behind another starts from the other block's rows, and the device computes the state after those that were kept.
"""

import copy
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from mlx_engine.hardware.device import DeviceSpan
from mlx_engine.kernels.gated_delta_replay import Tape
from mlx_engine.targets.cache_adapter import CacheAdapter


@dataclass(frozen=True)
class BlockStart:
    """The state at the start of a block."""

    conv_rows: mx.array  # inputs of the convolution, [1, at least K - 1, C]
    first: int | mx.array  # first row of `conv_rows` to use; [1] int32 if only the device knows it
    before: mx.array  # the state before `tape`, [1, Hv, Dv, Dk] float32
    tape: Tape
    kept: int | mx.array  # number of tape rows to replay; [1] int32 if only the device knows it


@dataclass(frozen=True)
class RecurrentBlock:
    """A pass of S rows through one net that can be cut after any row."""

    replay: Callable[..., tuple[mx.array, mx.array, Tape]]  # the operation `gated_delta_replay`
    conv_input: mx.array  # input of the convolution with kernel size K, [1, K - 1 + S, C]
    queries: mx.array  # [1, S, Hk, Dk]
    before: mx.array  # the state before the block, [1, Hv, Dv, Dk] float32
    tape: Tape  # the rows' updates of the state

    @property
    def rows(self) -> int:
        return self.tape.rows

    def after(self, rows: int) -> list[mx.array]:
        """Return the state after the first `rows` rows.

        Returns:
            The convolution's inputs [1, K - 1, C] and the recurrent state [1, Hv, Dv, Dk].
        """
        held, tape = self.conv_input.shape[1] - self.tape.rows, self.tape
        first = [each[:, :1] for each in (self.queries, tape.keys, tape.values, tape.decay, tape.beta)]
        _, state, _ = self.replay(*first, self.before, tape, rows)
        return [mx.contiguous(self.conv_input[:, rows : rows + held]), state]


class RecurrentCache(CacheAdapter):
    """Adapter of an `ArraysCache`, which it replaces in blocks."""

    shifts = True  # it has no positions
    packs_blocks = True  # mlx-lm's nets don't divide rows among streams

    def __init__(self, cache: Any) -> None:
        super().__init__(cache)
        self.compilable = False  # whether the pass is queued, so that layers can be compiled
        self._before: list | None = None  # state before the latest block
        self._block: Any = None  # with `rows`, and `after` for the state after some of them
        self._kept: mx.array | None = None  # rows kept of the pass before the queued one
        # Queued passes: one settled but not copied into the cache, one unsettled, and one being built
        self._placed = deque[Any](maxlen=3)
        self._origin: tuple[mx.array, mx.array, Tape, int] | None = None  # state, and its inputs: before, tape, kept rows
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
            raise ValueError(f"no rollback state for a pass of {passed} rows")
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
        """Return None, because all rows belong to one sequence."""

    def start(self, net: Any, dtype: mx.Dtype) -> BlockStart:
        """Return the start of the next block of mlx-lm's `net`, for inputs of `dtype`."""
        if self._traced is not None:
            return self._traced
        if self.compilable and self._placed:
            last = self._placed[-1]
            assert self._kept is not None  # known for every pass behind an unsettled one
            return BlockStart(last.conv_input, self._kept, last.before, last.tape, self._kept)
        convolution, state = self.cache.cache
        if convolution is None:
            convolution = mx.zeros((1, net.conv_kernel_size - 1, net.conv_dim), dtype)
        if state is None:
            state = mx.zeros((1, net.num_v_heads, net.head_v_dim, net.head_k_dim))
        if self._origin is not None and self._origin[0] is state:  # unchanged since the last block: replay instead
            _, before, tape, kept = self._origin
            return BlockStart(convolution, 0, before, tape, kept)
        nothing = Tape.empty(net.num_k_heads, net.head_k_dim, net.num_v_heads, net.head_v_dim, dtype)
        return BlockStart(convolution, 0, state, nothing, 0)

    def state(self) -> list:
        """Return the state before the next block, if rows are on the device."""
        return self._placed[-1].after(self._kept) if self.compilable and self._placed else self.cache.cache

    def finish(self, block: Any) -> None:
        """Store the block that the net has computed."""
        if self.compilable:
            self._placed.append(block)
        else:
            self._block = block
            self._end(block, block.rows)

    def _end(self, block: Any, rows: int) -> None:
        """Move the cache to the state after the first `rows` rows of a block."""
        self.cache.cache = block.after(rows)
        if isinstance(block, RecurrentBlock):
            self._origin = self.cache.cache[1], block.before, block.tape, rows

    trace_length = 0  # no shape depends on the context's length

    def inputs(self, layer: Any, dtype: mx.Dtype) -> list[mx.array]:
        """Return the inputs of a compiled layer: the start of its block."""
        start = self.start(layer.mixer.net, dtype)
        counts = [each if isinstance(each, mx.array) else mx.array([each], mx.int32) for each in (start.first, start.kept)]
        tape = start.tape
        return [start.conv_rows, tape.keys, tape.values, tape.decay, tape.beta, start.before, *counts]

    def traced(self, inputs: list[mx.array]) -> "RecurrentCache":
        """Return a copy of the adapter over placeholder `inputs`, to trace a layer."""
        conv_rows, *tape, before, first, kept = inputs
        other = copy.copy(self)
        other._traced, other._placed = BlockStart(conv_rows, first, before, Tape(*tape), kept), deque(maxlen=1)
        return other

    def outputs(self) -> list[mx.array]:
        """Return the outputs of a compiled layer: its block."""
        block = self._placed[-1]
        tape = block.tape
        return [block.conv_input, block.queries, block.before, tape.keys, tape.values, tape.decay, tape.beta]

    def accept(self, layer: Any, outputs: list[mx.array]) -> None:
        """Store the outputs of a compiled layer."""
        conv_input, queries, before, *tape = outputs
        self._placed.append(RecurrentBlock(layer.mixer.replay, conv_input, queries, before, Tape(*tape)))
