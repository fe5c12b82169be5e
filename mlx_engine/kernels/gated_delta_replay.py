"""Gated delta replay: one block of a gated delta net, after which any of its rows can still be taken back.

The recurrence (arXiv 2412.06464) overwrites its state row by row, so rejected rows cannot be trimmed from it. A block therefore
leaves the state as it was before it, and a tape: what each row added. The next block begins by replaying the rows of the tape that
were kept, then runs its own rows on a copy of the state. So the state is read once and written once a round, and how many rows
were kept need not be known on the host.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import mlx.core as mx

from metal import kernel_source

ROWS = 16
KEY_DIMS = tuple(range(32, 257, 32))
DTYPES = (mx.float32, mx.float16, mx.bfloat16)

_SIMDGROUPS = 4  # of a threadgroup; they share nothing but the cache lines of keys and queries

_BODY = """
    gated_delta_replay<T, DK>(
        queries, keys, values, decay, beta, state, old_keys, old_decay, old_deltas, kept[0], y, after, deltas,
        keys_shape[1], keys_shape[2], values_shape[2], values_shape[3],
        thread_position_in_grid.z, thread_position_in_grid.y, thread_index_in_simdgroup);
"""


@dataclass(frozen=True)
class Tape:
    """What the P rows of a block add to the state, row by row."""

    keys: mx.array  # [1, P, Hk, Dk]
    decay: mx.array  # [1, P, Hv] float32
    deltas: mx.array  # [1, P, Hv, Dv] float32

    @staticmethod
    def empty(key_heads: int, key_dim: int, value_heads: int, value_dim: int, dtype: mx.Dtype) -> "Tape":
        """One row, to be kept never: for the first block."""
        return Tape(
            mx.zeros((1, 1, key_heads, key_dim), dtype),
            mx.ones((1, 1, value_heads)),
            mx.zeros((1, 1, value_heads, value_dim)),
        )

    @property
    def rows(self) -> int:
        """P."""
        return self.keys.shape[1]


@mx.compile
def _add(state: mx.array, key: mx.array, decay: mx.array, delta: mx.array) -> mx.array:
    return state * decay[..., None, None] + key[..., None, :] * delta[..., None]


@mx.compile
def _run(
    state: mx.array, query: mx.array, key: mx.array, value: mx.array, decay: mx.array, beta: mx.array
) -> tuple[mx.array, mx.array, mx.array]:
    decayed = state * decay[..., None, None]
    delta = (value - (decayed * key[..., None, :]).sum(axis=-1)) * beta[..., None]
    state = decayed + key[..., None, :] * delta[..., None]
    return (state * query[..., None, :]).sum(axis=-1), delta, state


def replay(state: mx.array, tape: Tape, kept: mx.array | int) -> mx.array:
    """The state, [1, Hv, Dv, Dk] float32, after the first `kept` rows of a tape that begins at `state`.

    With a `kept` that the host knows, only those rows are run.
    """
    repeats = tape.decay.shape[-1] // tape.keys.shape[2]
    keys = mx.repeat(tape.keys, repeats, axis=2).astype(mx.float32)
    for row in range(tape.rows if isinstance(kept, mx.array) else kept):
        longer = _add(state, keys[:, row], tape.decay[:, row], tape.deltas[:, row])
        state = mx.where(row < kept, longer, state) if isinstance(kept, mx.array) else longer
    return state


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
    state = replay(state, tape, kept)
    repeats = values.shape[2] // keys.shape[2]
    wide_queries, wide_keys = (mx.repeat(x, repeats, axis=2).astype(mx.float32) for x in (queries, keys))
    running, results, deltas = state, [], []
    for row in range(keys.shape[1]):
        result, delta, running = _run(
            running,
            wide_queries[:, row],
            wide_keys[:, row],
            values[:, row].astype(mx.float32),
            decay[:, row],
            beta[:, row].astype(mx.float32),
        )
        results.append(result)
        deltas.append(delta)
    return mx.stack(results, axis=1).astype(queries.dtype), state, Tape(keys, decay, mx.stack(deltas, axis=1))


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
    if {array.dtype for array in (keys, values, beta, tape.keys)} != {dtype}:
        return f"gated_delta_replay takes keys, values, beta and the tape's keys of the dtype of the queries, {_name(dtype)}"
    if {array.dtype for array in (decay, state, tape.decay, tape.deltas)} != {mx.float32}:
        return "gated_delta_replay takes decay, state and the tape's decay and deltas of float32"
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
        "the tape's deltas": (tape.deltas.shape, (1, tape.rows, value_heads, value_dim)),
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
            *("old_keys", "old_decay", "old_deltas", "kept"),
        ],
        output_names=["y", "after", "deltas"],
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
    y, after, deltas = _kernel(build)(
        inputs=[queries, keys, values, decay, beta, state, tape.keys, tape.decay, tape.deltas, count],
        template=[("T", queries.dtype), ("DK", keys.shape[-1])],
        grid=(32, eights, value_heads),
        threadgroup=(32, min(_SIMDGROUPS, eights), 1),
        output_shapes=[(1, rows, value_heads, value_dim), state.shape, (1, rows, value_heads, value_dim)],
        output_dtypes=[queries.dtype, mx.float32, mx.float32],
    )
    return y, after, Tape(keys, decay, deltas)


def _name(dtype: mx.Dtype) -> str:
    return str(dtype).removeprefix("mlx.core.")
