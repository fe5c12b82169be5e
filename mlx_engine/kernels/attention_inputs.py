"""Attention inputs: what one product gave for queries, keys and values becomes normalised, rotated heads in the cache's layout.

A layer of Qwen3's kind norms its query and key heads (RMSNorm), rotates them (RoPE) and wants all three as [heads, rows, head dim].
For the few rows of a block these are as many operations as steps, each over little data; here they are one.
"""

from functools import cache
from typing import Any

import mlx.core as mx

from metal import kernel_source

DTYPES = (mx.float32, mx.float16, mx.bfloat16)
WIDEST = 512  # head dim

_SIMDGROUPS = 4  # of a threadgroup; they share nothing
_BODY = """
    attention_inputs<T, DIM, TURNED, HEADS, KV_HEADS, GATED>(
        projected, q_norm, k_norm, frequencies, first_position[0], eps, scale, queries, keys, values, projected_shape[0],
        threadgroup_position_in_grid.y,
        threadgroup_position_in_grid.x * simdgroups_per_threadgroup + simdgroup_index_in_threadgroup, thread_index_in_simdgroup);
"""

Inputs = tuple[mx.array, mx.array, mx.array]


def reference(
    projected: mx.array,
    q_norm: mx.array,
    k_norm: mx.array,
    frequencies: mx.array,
    first_position: int | mx.array,
    heads: int,
    eps: float,
    scale: float = 1.0,
    gated: bool = False,
) -> Inputs:
    """Plain MLX version; also what runs where there is no Metal.

    Args:
        projected: [S, C], float16, bfloat16 or float32: query heads, each followed by its gate if `gated`, key heads, value heads.
        q_norm: RMSNorm weights of the query heads, [D], same dtype.
        k_norm: of the key heads, [D], same dtype.
        frequencies: positions per radian of each pair that is rotated, [R / 2], float32; the first R of a head's D are.
        first_position: absolute position of row 0; [1] int32 where it shall stay on the device.
        heads: of the queries.
        eps: of both norms.
        scale: factor on what is rotated (yarn's attention factor).
        gated: whether each query head is followed by D elements that are not part of it.

    Returns:
        Queries [1, heads, S, D], keys and values [1, kv heads, S, D], in the dtype of `projected`.
    """
    rows, dim, turned = projected.shape[0], q_norm.size, 2 * frequencies.size
    wide = heads * dim * (2 if gated else 1)
    queries = projected[:, :wide].reshape(1, rows, heads, -1)[..., :dim]
    keys, values = (part.reshape(1, rows, -1, dim) for part in mx.split(projected[:, wide:], 2, axis=-1))

    def turn(x: mx.array, norm: mx.array) -> mx.array:
        x = mx.fast.rms_norm(x, norm, eps).transpose(0, 2, 1, 3)
        if scale != 1.0:
            x = x.at[..., :turned].multiply(scale)
        return mx.fast.rope(x, turned, traditional=False, base=None, scale=1.0, offset=first_position, freqs=frequencies)

    return turn(queries, q_norm), turn(keys, k_norm), values.transpose(0, 2, 1, 3)


def unsupported(
    projected: mx.array,
    q_norm: mx.array,
    k_norm: mx.array,
    frequencies: mx.array,
    first_position: int | mx.array,
    heads: int,
    eps: float = 1e-6,
    scale: float = 1.0,
    gated: bool = False,
) -> str | None:
    """The limit that these arguments of `metal` overstep, in words; None if there is none. Looks at shapes and dtypes alone."""
    dtype = projected.dtype
    if dtype not in DTYPES:
        return f"attention_inputs takes float32, float16 or bfloat16, not {_name(dtype)}"
    if projected.ndim != 2 or projected.shape[0] < 1:
        return f"attention_inputs takes at least one row of all heads, not {projected.shape}"
    dim = q_norm.size
    if dim % 2 or not 16 <= dim <= WIDEST:
        return f"attention_inputs takes even head dims from 16 to {WIDEST}, not {dim}"
    if {q_norm.shape, k_norm.shape} != {(dim,)} or {q_norm.dtype, k_norm.dtype} != {dtype}:
        return f"attention_inputs takes norms of ({dim},) in {_name(dtype)}, not {q_norm.shape} and {k_norm.shape}"
    if frequencies.dtype != mx.float32 or frequencies.ndim != 1 or not 1 <= frequencies.size <= dim // 2:
        found = f"{frequencies.shape} in {_name(frequencies.dtype)}"
        return f"attention_inputs takes 1 to {dim // 2} frequencies in float32, not {found}"
    others = projected.shape[1] - heads * dim * (2 if gated else 1)
    if heads < 1 or others < 2 * dim or others % (2 * dim):
        return f"attention_inputs got {projected.shape[1]} columns for {heads} query heads of {dim} and as many keys as values"
    return None


@cache
def _kernel(build: Any) -> Any:
    return build(
        name="attention_inputs",
        input_names=["projected", "q_norm", "k_norm", "frequencies", "first_position", "eps", "scale"],
        output_names=["queries", "keys", "values"],
        header=kernel_source("turned_head") + kernel_source("attention_inputs"),
        source=_BODY,
    )


def metal(
    projected: mx.array,
    q_norm: mx.array,
    k_norm: mx.array,
    frequencies: mx.array,
    first_position: int | mx.array,
    heads: int,
    eps: float,
    scale: float = 1.0,
    gated: bool = False,
    *,
    build: Any = mx.fast.metal_kernel,
) -> Inputs:
    """One dispatch; same contract as `reference`. Tests pass the emulator as `build`.

    Raises:
        ValueError: what `unsupported` names.
    """
    if limit := unsupported(projected, q_norm, k_norm, frequencies, first_position, heads, eps, scale, gated):
        raise ValueError(limit)
    rows, dim = projected.shape[0], q_norm.size
    kv_heads = (projected.shape[1] // dim - heads * (2 if gated else 1)) // 2
    first = first_position if isinstance(first_position, mx.array) else mx.array([first_position], mx.int32)
    queries, keys, values = _kernel(build)(
        inputs=[projected, q_norm, k_norm, frequencies, first, float(eps), float(scale)],
        template=[
            ("T", projected.dtype),
            ("DIM", dim),
            ("TURNED", 2 * frequencies.size),
            ("HEADS", heads),
            ("KV_HEADS", kv_heads),
            ("GATED", gated),
        ],
        grid=(32 * _SIMDGROUPS * -(-(heads + 2 * kv_heads) // _SIMDGROUPS), rows, 1),
        threadgroup=(32 * _SIMDGROUPS, 1, 1),
        output_shapes=[(1, heads, rows, dim), (1, kv_heads, rows, dim), (1, kv_heads, rows, dim)],
        output_dtypes=[projected.dtype] * 3,
    )
    return queries, keys, values


def _name(dtype: mx.Dtype) -> str:
    return str(dtype).removeprefix("mlx.core.")
