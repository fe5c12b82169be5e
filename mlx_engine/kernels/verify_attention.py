"""Attention of a verify: the up to 16 rows of a block over a long K/V cache, whose length stays on the device.

MLX's attention for few queries ends at 8 rows, and above head dim 128 the one for many takes none: the scores of a whole verify
are then written out. Here each tile of K and V is fetched once for all rows and for all query heads that share it, and the buffers
of a cache are read as they are, spare rows and all.
"""

from functools import cache
from typing import Any

import mlx.core as mx

from metal import kernel_source

ROWS = 16
HEAD_DIMS = (32, 64, 80, 96, 128, 192, 256)
DTYPES = (mx.float32, mx.float16, mx.bfloat16)

_TILE_BYTES = 8192  # of keys, or of values, that lie in threadgroup memory at a time
_WIDE = 128  # head dims up to which a simdgroup has registers for 16 rows
_SIMDGROUPS = 12  # at most in a threadgroup
_BUSY = 512  # simdgroups that keep a large GPU busy
_PARTS = 32

_PART = """
    constexpr int STRIDE = DIM + 16 / sizeof(T);
    threadgroup T key_tile[KEYS * STRIDE];
    threadgroup T value_tile[KEYS * STRIDE];
    verify_attention_part<T, DIM, KEYS, TILES, CAUSAL, WINDOW>(
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
    """Plain MLX version; also what runs where there is no Metal.

    Args:
        queries: [1, Hq, M, D], float32, float16 or bfloat16, M from 1 to 16; D is 32, 64, 80, 96, 128, 192 or 256.
        keys: the buffer of a cache, in temporal order, [1, Hkv, capacity, D], same dtype; Hkv divides Hq.
        values: like `keys`.
        length: rows of the buffer that are filled, [1] int32, at least M; the last M are those of the queries. Stays on the device.
        scale: factor on the scores.
        causal: whether a row sees only itself and what stands before it, or the whole block.
        window: how many keys back from its own, which counts, a row sees; 0 for all.
        sinks: [Hq], dtype of `queries`: a score of each head that takes part in the softmax and has no value. None: no sinks.

    Returns:
        [1, Hq, M, D] in the dtype of `queries`. Scores, softmax and sums of the kernel are float32, rounded once at the end.
    """
    block = queries.shape[2]
    key = mx.arange(keys.shape[2])
    row = (length - block + mx.arange(block))[:, None]
    seen = (key <= row) if causal else (key < length)
    if window:
        seen = seen & (row - key < window)
    return mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale, mask=seen, sinks=sinks)


def unsupported(
    queries: mx.array,
    keys: mx.array,
    values: mx.array,
    length: mx.array,
    scale: float = 1.0,
    causal: bool = True,
    window: int = 0,
    sinks: mx.array | None = None,
) -> str | None:
    """The limit that these arguments of `metal` overstep, in words; None if there is none. Looks at shapes and dtypes alone."""
    if queries.dtype not in DTYPES:
        return f"verify_attention takes queries of float32, float16 or bfloat16, not {_name(queries.dtype)}"
    if keys.dtype != queries.dtype or values.dtype != queries.dtype:
        return f"verify_attention takes keys and values of the dtype of the queries, {_name(queries.dtype)}"
    if {queries.ndim, keys.ndim, values.ndim} != {4} or queries.shape[0] != 1:
        return "verify_attention takes queries, keys and values of four dimensions, the first of size 1"
    _, heads, rows, dim = queries.shape
    if not 1 <= rows <= ROWS:
        return f"verify_attention takes 1 to {ROWS} rows, not {rows}"
    if dim not in HEAD_DIMS:
        return f"verify_attention takes head dims {', '.join(map(str, HEAD_DIMS))}, not {dim}"
    if keys.shape != values.shape or keys.shape[::3] != (1, dim) or keys.shape[2] < rows or heads % keys.shape[1]:
        return f"verify_attention got keys of {keys.shape} and values of {values.shape} for queries of {queries.shape}"
    if length.shape != (1,) or length.dtype != mx.int32:
        return f"verify_attention takes a length of shape (1,) and int32, not of {length.shape} and {_name(length.dtype)}"
    if window < 0:
        return f"verify_attention takes a window of at least one key, or 0 for none, not {window}"
    if sinks is not None and (sinks.shape != (heads,) or sinks.dtype != queries.dtype):
        return f"verify_attention takes sinks of shape ({heads},) and {_name(queries.dtype)}, not of {sinks.shape}"
    return None


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
    build: Any = mx.fast.metal_kernel,
) -> mx.array:
    """Two dispatches; same contract as `reference`. The result lies in memory as [1, M, Hq, D], the order in which it is read next.

    Keys and values are not copied if they are contiguous, as a cache's buffer and a layer's share of a stacked one are.

    Raises:
        ValueError: what `unsupported` names.
    """
    if limit := unsupported(queries, keys, values, length, scale, causal, window, sinks):
        raise ValueError(limit)
    _, heads, block, dim = queries.shape
    kv_heads, capacity = keys.shape[1:3]
    rows = heads // kv_heads * block
    tiles = 2 if dim <= _WIDE and rows > 8 else 1
    simdgroups = min(-(-rows // (8 * tiles)), _SIMDGROUPS)
    tile = min(_TILE_BYTES // (dim * queries.dtype.size) // 8 * 8, 32)
    reach = min(capacity, window + block) if window else capacity
    parts = max(1, min(_BUSY // (kv_heads * simdgroups), -(-reach // tile), _PARTS))
    sums, weights = _part(build)(
        inputs=[queries, keys, values, length, mx.array(scale, mx.float32)],
        template=[
            ("T", queries.dtype),
            ("DIM", dim),
            ("KEYS", tile),
            ("TILES", tiles),
            ("CAUSAL", causal),
            ("WINDOW", window),
        ],
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


def _name(dtype: mx.Dtype) -> str:
    return str(dtype).removeprefix("mlx.core.")
