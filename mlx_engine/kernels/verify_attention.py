"""Attention of up to 16 rows over a long K/V cache whose length is on the device.

MLX's attention kernel for few queries supports up to 8 rows, and its kernel for many queries supports head dims up to 128. For
other shapes, MLX stores the scores of the entire pass. This kernel loads each tile of K and V once for all rows and all query heads
that share it. It reads a cache's buffers in place, including their spare rows.
"""

from functools import cache
from typing import Any

import mlx.core as mx

from metal import kernel_source
from mlx_engine.kernels.support import DTYPES, if_supported

ROWS = 16
HEAD_DIMS = (32, 64, 80, 96, 128, 192, 256)

_TILE_BYTES = 8192  # of keys, and of values, in threadgroup memory
_WIDE = 128  # largest head dim for 16 rows per simdgroup, limited by registers
_SIMDGROUPS = 12  # limit per threadgroup
_BUSY = 512  # simdgroups that occupy a large GPU
_PARTS = 32
PART = 256  # keys per part of a row-exact call; a multiple of all tile sizes

_PART = """
    constexpr int PIECES = DIM * sizeof(T) / 16 + 1;
    threadgroup uint4 key_tile[KEYS * PIECES];
    threadgroup uint4 value_tile[KEYS * PIECES];
    verify_attention_part<T, DIM, KEYS, TILES, CAUSAL, WINDOW, PART>(
        queries, keys, values, length[0], scale, sums, weights, key_tile, value_tile,
        queries_shape[1] / keys_shape[1] * queries_shape[2], queries_shape[2], keys_shape[2], threadgroups_per_grid.x,
        threadgroup_position_in_grid, simdgroup_index_in_threadgroup, simdgroups_per_threadgroup, thread_index_in_simdgroup);
"""
_MERGE = """
    verify_attention_merge<T, DIM, {}>(
        sums, weights, {}, out, sums_shape[2], queries_shape[2], sums_shape[1], sums_shape[0],
        threadgroup_position_in_grid.x, thread_index_in_simdgroup);
"""


def reference(
    queries: mx.array,
    keys: mx.array,
    values: mx.array,
    length: mx.array,
    scale: float,
    causal: bool = True,
    window: int = 0,
    sinks: mx.array | None = None,
) -> mx.array:
    """Reference implementation in plain MLX, and the fallback without Metal.

    Args:
        queries: [1, Hq, M, D], float32, float16, or bfloat16; M from 1 to 16; D is 32, 64, 80, 96, 128, 192, or 256.
        keys: buffer of a cache, in temporal order, [1, Hkv, capacity, D], same dtype; Hkv divides Hq.
        values: like `keys`.
        length: number of filled rows, [1] int32, at least M. The last M are those of the queries.
        scale: factor on the scores.
        causal: whether a row sees only itself and earlier rows; otherwise it sees the entire block.
        window: number of keys that a row sees, including its own; 0 for all.
        sinks: score per head that takes part in the softmax without a value, [Hq], dtype of `queries`; or None.

    Returns:
        [1, Hq, M, D] in the dtype of `queries`. The kernel computes in float32 and rounds once.
    """
    block = queries.shape[2]
    key = mx.arange(keys.shape[2])
    row = (length - block + mx.arange(block))[:, None]
    seen = (key <= row) if causal else (key < length)
    if window:
        seen = seen & (row - key < window)
    return mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale, mask=seen, sinks=sinks)


def supports(
    queries: mx.array,
    keys: mx.array,
    values: mx.array,
    length: mx.array,
    scale: float = 1.0,
    causal: bool = True,
    window: int = 0,
    sinks: mx.array | None = None,
) -> bool:
    """Return whether `metal` supports arguments of these shapes and dtypes."""
    if queries.dtype not in DTYPES or queries.ndim != 4 or keys.ndim != 4:
        return False
    one, heads, rows, dim = queries.shape
    return (
        one == 1
        and 1 <= rows <= ROWS
        and dim in HEAD_DIMS
        and {keys.dtype, values.dtype} == {queries.dtype}
        and keys.shape == values.shape
        and keys.shape[::3] == (1, dim)
        and keys.shape[2] >= rows
        and heads % keys.shape[1] == 0
        and (length.shape, length.dtype) == ((1,), mx.int32)
        and window >= 0
        and (sinks is None or (sinks.shape, sinks.dtype) == ((heads,), queries.dtype))
    )


@cache
def _part(build: Any) -> Any:
    return build(
        name="verify_attention_part",
        input_names=["queries", "keys", "values", "length", "scale"],
        output_names=["sums", "weights"],
        header=kernel_source("fragment") + kernel_source("verify_attention"),
        source=_PART,
    )


@cache
def _merge(build: Any, sinks: bool) -> Any:
    return build(
        name="verify_attention_merge" + "_sinks" * sinks,
        input_names=["sums", "weights", "queries", *["sinks"] * sinks],
        output_names=["out"],
        header=kernel_source("fragment") + kernel_source("verify_attention"),
        source=_MERGE.format("true", "sinks") if sinks else _MERGE.format("false", "queries"),
    )


@if_supported(supports)
def metal(
    queries: mx.array,
    keys: mx.array,
    values: mx.array,
    length: mx.array,
    scale: float,
    causal: bool = True,
    window: int = 0,
    sinks: mx.array | None = None,
    *,
    row_exact: bool = False,
    build: Any = mx.fast.metal_kernel,
) -> mx.array:
    """Metal implementation of `reference`, in two dispatches.

    The result is stored as [1, M, Hq, D], the layout of the output projection. Contiguous keys and values, such as a cache's buffer
    or one layer of a stacked buffer, are not copied.

    Args:
        row_exact: whether a row must have the same bits alone and in a block. The buffer's first row must then be at a multiple of
            `PART`.
    """
    _, heads, block, dim = queries.shape
    kv_heads, capacity = keys.shape[1:3]
    rows = heads // kv_heads * block
    tiles = 2 if dim <= _WIDE and rows > 8 else 1
    simdgroups = min(-(-rows // (8 * tiles)), _SIMDGROUPS)
    tile = min(_TILE_BYTES // (dim * queries.dtype.size) // 8 * 8, 32)
    reach = min(capacity, window + block) if window else capacity
    parts = max(1, min(_BUSY // (kv_heads * simdgroups), -(-reach // tile), _PARTS))
    if row_exact:
        tile, parts = 1 << tile.bit_length() - 1, -(-capacity // PART)
    sizes = {"DIM": dim, "KEYS": tile, "TILES": tiles, "CAUSAL": causal, "WINDOW": window, "PART": PART if row_exact else 0}
    sums, weights = _part(build)(
        inputs=[queries, keys, values, length, mx.array(scale, mx.float32)],
        template=[("T", queries.dtype), *sizes.items()],
        grid=(32 * simdgroups * parts, kv_heads, -(-rows // (8 * tiles * simdgroups))),
        threadgroup=(32 * simdgroups, 1, 1),
        output_shapes=[(kv_heads, parts, rows, dim), (kv_heads, parts, rows, 2)],
        output_dtypes=[mx.float32, mx.float32],
    )
    out = _merge(build, sinks is not None)(
        inputs=[sums, weights, queries, *([] if sinks is None else [sinks])],
        template=[("T", queries.dtype), ("DIM", dim)],
        grid=(32 * kv_heads * rows, 1, 1),
        threadgroup=(32, 1, 1),
        output_shapes=[(1, block, heads, dim)],
        output_dtypes=[queries.dtype],
    )[0]
    return out.transpose(0, 2, 1, 3)
