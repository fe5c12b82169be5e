"""Gated delta replay: one block of a gated delta net, after which any of its rows can still be taken back.

The recurrence (arXiv 2412.06464) overwrites its state row by row, so rejected rows cannot be trimmed from it. A block therefore
leaves the state as it was before it, and a tape: what its rows write. The next block begins by running the rows of the tape that
were kept once more, then runs its own rows on a copy of the state. So the state is read once and written once a round, and how many
rows were kept need not be known on the host.
"""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import mlx.core as mx
from mlx_lm.models import gated_delta

from metal import kernel_source

ROWS = 16
KEY_DIMS = tuple(range(32, 257, 32))
DTYPES = (mx.float32, mx.float16, mx.bfloat16)

_SIMDGROUPS = 4  # of a threadgroup; they share nothing but the cache lines of keys and queries

_BODY = """
    gated_delta_replay<T, DK>(
        queries, keys, values, decay, beta, state, old_keys, old_values, old_decay, old_beta, kept[0], y, after,
        keys_shape[1], keys_shape[2], values_shape[2], values_shape[3],
        thread_position_in_grid.z, thread_position_in_grid.y, thread_index_in_simdgroup);
"""


@dataclass(frozen=True)
class Tape:
    """What the P rows of a block write to the state, row by row."""

    keys: mx.array  # [1, P, Hk, Dk]
    values: mx.array  # [1, P, Hv, Dv]
    decay: mx.array  # [1, P, Hv] float32
    beta: mx.array  # [1, P, Hv]

    @staticmethod
    def empty(key_heads: int, key_dim: int, value_heads: int, value_dim: int, dtype: mx.Dtype) -> "Tape":
        """One row, to be kept never: for the first block."""
        return Tape(
            mx.zeros((1, 1, key_heads, key_dim), dtype),
            mx.zeros((1, 1, value_heads, value_dim), dtype),
            mx.ones((1, 1, value_heads)),
            mx.zeros((1, 1, value_heads), dtype),
        )

    @property
    def rows(self) -> int:
        """P."""
        return self.keys.shape[1]


def _run(queries: mx.array, tape: Tape, state: mx.array) -> tuple[mx.array, mx.array]:
    """What the rows read, and the state after them, as mlx-lm has it: a kernel of its own on a GPU, else one row after another."""
    fused = mx.default_device().type == mx.gpu and mx.metal.is_available() and queries.shape[-1] % 32 == 0
    run = gated_delta.gated_delta_kernel if fused else gated_delta.gated_delta_ops
    read, after = run(queries, tape.keys, tape.values, tape.decay, tape.beta, state)
    return read, after


@partial(mx.compile, shapeless=True)
def _only(row: mx.array, kept: mx.array, decay: mx.array, beta: mx.array) -> tuple[mx.array, mx.array]:
    """Decay and beta of which only those of the first `kept` rows count.

    A row that neither decays nor writes leaves the state as it is, bit for bit, in whatever runs the others. With a mask mlx-lm
    would take another kernel, which sums in another order.
    """
    seen = row < kept
    return mx.where(seen, decay, 1.0), mx.where(seen, beta, 0.0)


def replay(state: mx.array, tape: Tape, kept: mx.array | int) -> mx.array:
    """The state, [1, Hv, Dv, Dk] float32, after the first `kept` rows of a tape that begins at `state`."""
    if isinstance(kept, mx.array):
        tape = Tape(tape.keys, tape.values, *_only(mx.arange(tape.rows)[None, :, None], kept, tape.decay, tape.beta))
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
    """Plain MLX version; also what runs where there is no Metal.

    Args:
        queries: normalised and scaled, [1, S, Hk, Dk], float32, float16 or bfloat16, S from 1 to 16.
        keys: normalised, [1, S, Hk, Dk], same dtype; Dk a multiple of 32 up to 256.
        values: [1, S, Hv, Dv], same dtype; Hk divides Hv.
        decay: factor on the state at each row, [1, S, Hv] float32.
        beta: strength of writing, [1, S, Hv], dtype of `values`.
        state: before the block that left `tape`, [1, Hv, Dv, Dk] float32.
        tape: of the block before this one, of 1 to 16 rows.
        kept: how many rows of the tape count, at most all, [1] int32, which stays on the device; or a number that the host knows.

    Returns:
        What the S rows read, [1, S, Hv, Dv] in the dtype of `queries`; the state after the kept rows, before the new ones; and the
        tape of the new ones. Sums are float32. The state that the kernel replays is, bit for bit, the one that the rows ran in.
    """
    state, own = replay(state, tape, kept), Tape(keys, values, decay, beta)
    return _run(queries, own, state)[0], state, own


def unsupported(
    queries: mx.array,
    keys: mx.array,
    values: mx.array,
    decay: mx.array,
    beta: mx.array,
    state: mx.array,
    tape: Tape,
    kept: mx.array | int,
) -> str | None:
    """The limit that these arguments of `metal` overstep, in words; None if there is none. Looks at shapes and dtypes alone."""
    dtype = queries.dtype
    if dtype not in DTYPES:
        return f"gated_delta_replay takes queries of float32, float16 or bfloat16, not {_name(dtype)}"
    if {array.dtype for array in (keys, values, beta, tape.keys, tape.values, tape.beta)} != {dtype}:
        return f"gated_delta_replay takes keys, values and beta, also the tape's, of the dtype of the queries, {_name(dtype)}"
    if {array.dtype for array in (decay, state, tape.decay)} != {mx.float32}:
        return "gated_delta_replay takes state and decay, also the tape's, of float32"
    if keys.ndim != 4 or values.ndim != 4:
        return f"gated_delta_replay takes keys and values of four dimensions, not {keys.ndim} and {values.ndim}"
    one, rows, key_heads, key_dim = keys.shape
    value_heads, value_dim = values.shape[2:]
    if one != 1:
        return f"gated_delta_replay takes one sequence, not {one}"
    if not 1 <= rows <= ROWS or not 1 <= tape.rows <= ROWS:
        return f"gated_delta_replay takes 1 to {ROWS} rows and a tape of as many, not {rows} and {tape.rows}"
    if key_dim not in KEY_DIMS:
        return f"gated_delta_replay takes key dims that are multiples of 32 up to 256, not {key_dim}"
    if value_heads % key_heads:
        return f"gated_delta_replay takes value heads in equal groups, not {value_heads} for {key_heads} key heads"
    shapes = {
        "queries": (queries.shape, keys.shape),
        "values": (values.shape, (1, rows, value_heads, value_dim)),
        "decay": (decay.shape, (1, rows, value_heads)),
        "beta": (beta.shape, (1, rows, value_heads)),
        "state": (state.shape, (1, value_heads, value_dim, key_dim)),
        "the tape's keys": (tape.keys.shape, (1, tape.rows, key_heads, key_dim)),
        "the tape's decay": (tape.decay.shape, (1, tape.rows, value_heads)),
        "the tape's values": (tape.values.shape, (1, tape.rows, value_heads, value_dim)),
        "the tape's beta": (tape.beta.shape, (1, tape.rows, value_heads)),
        "kept": ((1,) if isinstance(kept, int) else kept.shape, (1,)),
    }
    for name, (found, wanted) in shapes.items():
        if found != wanted:
            return f"gated_delta_replay takes {name} of shape {wanted}, not {found}"
    if isinstance(kept, mx.array) and kept.dtype != mx.int32:
        return f"gated_delta_replay takes kept of int32, not {_name(kept.dtype)}"
    return None


@cache
def _kernel(build: Any) -> Any:
    return build(
        name="gated_delta_replay",
        input_names=[
            *("queries", "keys", "values", "decay", "beta", "state"),
            *("old_keys", "old_values", "old_decay", "old_beta", "kept"),
        ],
        output_names=["y", "after"],
        header=kernel_source("fragment") + kernel_source("gated_delta_replay"),
        source=_BODY,
    )


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
    """One dispatch; same contract as `reference`. Tests pass the emulator as `build`.

    Raises:
        ValueError: what `unsupported` names.
    """
    if limit := unsupported(queries, keys, values, decay, beta, state, tape, kept):
        raise ValueError(limit)
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


def _name(dtype: mx.Dtype) -> str:
    return str(dtype).removeprefix("mlx.core.")
