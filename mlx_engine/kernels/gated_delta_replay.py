"""Gated delta replay: run a block of a gated delta net, rewindable to any row.

The recurrence (arXiv 2412.06464) updates its state in place, so rejected rows can't be trimmed. A block therefore leaves its
initial state unchanged and records its updates on a tape. The next block first replays the kept rows of the tape, then runs its own
rows on a copy of the state. A round thus reads and writes the state once, and the host need not know how many rows were kept.
"""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import mlx.core as mx
from mlx_lm.models import gated_delta

from metal import kernel_source
from mlx_engine.kernels.support import DTYPES, if_supported

ROWS = 16
KEY_DIMS = tuple(range(32, 257, 32))

_SIMDGROUPS = 4  # per threadgroup; they share only cache lines
_BODY = """
    gated_delta_replay<T, DK>(
        queries, keys, values, decay, beta, state, old_keys, old_values, old_decay, old_beta, kept[0], y, after,
        keys_shape[1], keys_shape[2], values_shape[2], values_shape[3],
        thread_position_in_grid.z, thread_position_in_grid.y, thread_index_in_simdgroup);
"""


@dataclass(frozen=True)
class Tape:
    """The updates of a block of P rows."""

    keys: mx.array  # [1, P, Hk, Dk]
    values: mx.array  # [1, P, Hv, Dv]
    decay: mx.array  # [1, P, Hv] float32
    beta: mx.array  # [1, P, Hv]

    @staticmethod
    def empty(key_heads: int, key_dim: int, value_heads: int, value_dim: int, dtype: mx.Dtype) -> "Tape":
        """Return a tape for the first block, with one row that is never kept."""
        return Tape(
            mx.zeros((1, 1, key_heads, key_dim), dtype),
            mx.zeros((1, 1, value_heads, value_dim), dtype),
            mx.ones((1, 1, value_heads)),
            mx.zeros((1, 1, value_heads), dtype),
        )

    @property
    def rows(self) -> int:
        """Number of rows, P."""
        return self.keys.shape[1]


def _run(queries: mx.array, tape: Tape, state: mx.array) -> tuple[mx.array, mx.array]:
    """Run the recurrence with mlx-lm; return the rows' outputs and the final state.

    Uses mlx-lm's kernel on a GPU and a loop over rows elsewhere.
    """
    fused = mx.default_device().type == mx.gpu and mx.metal.is_available() and queries.shape[-1] % 32 == 0
    run = gated_delta.gated_delta_kernel if fused else gated_delta.gated_delta_ops
    read, after = run(queries, tape.keys, tape.values, tape.decay, tape.beta, state)
    return read, after


@partial(mx.compile, shapeless=True)
def _neutralized(row: mx.array, kept: mx.array, decay: mx.array, beta: mx.array) -> tuple[mx.array, mx.array]:
    """Return decay and beta that leave the state unchanged after `kept` rows.

    Decay 1 and beta 0 preserve the state bit for bit. A mask would select another mlx-lm kernel, which sums in a different order.
    """
    seen = row < kept
    return mx.where(seen, decay, 1.0), mx.where(seen, beta, 0.0)


def replay(state: mx.array, tape: Tape, kept: mx.array | int) -> mx.array:
    """Return the state after the first `kept` rows of a tape, [1, Hv, Dv, Dk] float32."""
    if isinstance(kept, mx.array):
        tape = Tape(tape.keys, tape.values, *_neutralized(mx.arange(tape.rows)[None, :, None], kept, tape.decay, tape.beta))
        return _run(tape.keys, tape, state)[1]
    if kept == 0:
        return state
    rows = Tape(tape.keys[:, :kept], tape.values[:, :kept], tape.decay[:, :kept], tape.beta[:, :kept])
    return _run(rows.keys, rows, state)[1]


def reference(
    queries: mx.array,
    keys: mx.array,
    values: mx.array,
    decay: mx.array,
    beta: mx.array,
    state: mx.array,
    tape: Tape,
    kept: mx.array | int,
) -> tuple[mx.array, mx.array, Tape]:
    """Reference implementation in plain MLX, and the fallback without Metal.

    Args:
        queries: normalized and scaled, [1, S, Hk, Dk], float32, float16, or bfloat16; S from 1 to 16.
        keys: normalized, [1, S, Hk, Dk], same dtype; Dk is a multiple of 32, up to 256.
        values: [1, S, Hv, Dv], same dtype; Hk divides Hv.
        decay: factor on the state at each row, [1, S, Hv] float32.
        beta: write strength, [1, S, Hv], dtype of `values`.
        state: state before the previous block, [1, Hv, Dv, Dk] float32.
        tape: the previous block's tape, 1 to 16 rows.
        kept: number of tape rows to replay: an int, or [1] int32 if only the device knows it.

    Returns:
        The outputs [1, S, Hv, Dv] in the dtype of `queries`, the state after the kept rows and before the new ones, and the new
        rows' tape. Sums are float32. The kernel's replay is bit-identical to the original run.
    """
    state, own = replay(state, tape, kept), Tape(keys, values, decay, beta)
    return _run(queries, own, state)[0], state, own


def supports(
    queries: mx.array,
    keys: mx.array,
    values: mx.array,
    decay: mx.array,
    beta: mx.array,
    state: mx.array,
    tape: Tape,
    kept: mx.array | int,
) -> bool:
    """Return whether `metal` supports arguments of these shapes and dtypes."""
    if queries.dtype not in DTYPES or (keys.ndim, values.ndim) != (4, 4):
        return False
    one, rows, key_heads, key_dim = keys.shape
    value_heads, value_dim = values.shape[2:]
    return (
        one == 1
        and 1 <= rows <= ROWS
        and 1 <= tape.rows <= ROWS
        and key_dim in KEY_DIMS
        and value_heads % key_heads == 0
        and {each.dtype for each in (keys, values, beta, tape.keys, tape.values, tape.beta)} == {queries.dtype}
        and {each.dtype for each in (decay, state, tape.decay)} == {mx.float32}
        and queries.shape == keys.shape
        and values.shape == (1, rows, value_heads, value_dim)
        and {decay.shape, beta.shape} == {(1, rows, value_heads)}
        and state.shape == (1, value_heads, value_dim, key_dim)
        and tape.keys.shape == (1, tape.rows, key_heads, key_dim)
        and tape.values.shape == (1, tape.rows, value_heads, value_dim)
        and {tape.decay.shape, tape.beta.shape} == {(1, tape.rows, value_heads)}
        and (isinstance(kept, int) or (kept.shape, kept.dtype) == ((1,), mx.int32))
    )


@cache
def _kernel(build: Any) -> Any:
    return build(
        name="gated_delta_replay",
        input_names="queries keys values decay beta state old_keys old_values old_decay old_beta kept".split(),
        output_names=["y", "after"],
        header=kernel_source("fragment") + kernel_source("gated_delta_replay"),
        source=_BODY,
    )


@if_supported(supports)
def metal(
    queries: mx.array,
    keys: mx.array,
    values: mx.array,
    decay: mx.array,
    beta: mx.array,
    state: mx.array,
    tape: Tape,
    kept: mx.array | int,
    *,
    build: Any = mx.fast.metal_kernel,
) -> tuple[mx.array, mx.array, Tape]:
    """Metal implementation of `reference`, in one dispatch."""
    rows, value_heads, value_dim = values.shape[1:]
    eights = -(-value_dim // 8)
    count = kept if isinstance(kept, mx.array) else mx.array([kept], mx.int32)
    y, after = _kernel(build)(
        inputs=[queries, keys, values, decay, beta, state, tape.keys, tape.values, tape.decay, tape.beta, count],
        template=[("T", queries.dtype), ("DK", keys.shape[-1])],
        grid=(32, eights, value_heads),
        threadgroup=(32, min(_SIMDGROUPS, eights), 1),
        output_shapes=[(1, rows, value_heads, value_dim), state.shape],
        output_dtypes=[queries.dtype, mx.float32],
    )
    return y, after, Tape(keys, values, decay, beta)
