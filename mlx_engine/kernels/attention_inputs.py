"""Attention inputs: turn a fused Q/K/V projection into normed, rotated heads.

A layer such as Qwen3's normalizes its query and key heads (RMSNorm), rotates them (RoPE), and needs queries, keys, and values as
[heads, rows, head dim]. With the few rows of a block, each of these steps is an operation on little data. The kernel computes all
of them in one dispatch.
"""

from functools import cache
from typing import Any

import mlx.core as mx

from metal import kernel_source
from mlx_engine.kernels.support import DTYPES, if_supported

LARGEST_DIM = 512

_SIMDGROUPS = 4  # per threadgroup; they share no memory
_BODY = """
    attention_inputs<T, DIM, ROTATED, HEADS, KV_HEADS, GATED>(
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
    """Reference implementation in plain MLX, and the fallback without Metal.

    Args:
        projected: [S, C], float16, bfloat16, or float32: query heads, each followed by its gate if `gated`, key heads, value heads.
        q_norm: RMSNorm weights of the query heads, [D], same dtype; D is even, 16 to 512.
        k_norm: RMSNorm weights of the key heads, [D], same dtype.
        frequencies: positions per radian of each rotated pair, [R / 2] float32; the first R elements of a head are rotated.
        first_position: absolute position of row 0; [1] int32 if only the device knows it.
        heads: number of query heads.
        eps: epsilon of both norms.
        scale: factor on the rotated elements (yarn's attention factor).
        gated: whether each query head is followed by a gate of D elements.

    Returns:
        Queries [1, heads, S, D], keys and values [1, kv heads, S, D], in the dtype of `projected`.
    """
    rows, dim, rotated = projected.shape[0], q_norm.size, 2 * frequencies.size
    wide = heads * dim * (2 if gated else 1)
    queries = projected[:, :wide].reshape(1, rows, heads, -1)[..., :dim]
    keys, values = (part.reshape(1, rows, -1, dim) for part in mx.split(projected[:, wide:], 2, axis=-1))

    def rotate(x: mx.array, norm: mx.array) -> mx.array:
        x = mx.fast.rms_norm(x, norm, eps).transpose(0, 2, 1, 3)
        if scale != 1.0:
            x = x.at[..., :rotated].multiply(scale)
        return mx.fast.rope(x, rotated, traditional=False, base=None, scale=1.0, offset=first_position, freqs=frequencies)

    return rotate(queries, q_norm), rotate(keys, k_norm), values.transpose(0, 2, 1, 3)


def supports(
    projected: mx.array,
    q_norm: mx.array,
    k_norm: mx.array,
    frequencies: mx.array,
    first_position: int | mx.array,
    heads: int,
    eps: float = 1e-6,
    scale: float = 1.0,
    gated: bool = False,
) -> bool:
    """Return whether `metal` supports arguments of these shapes and dtypes."""
    dtype, dim = projected.dtype, q_norm.size
    if dtype not in DTYPES or projected.ndim != 2 or projected.shape[0] < 1 or dim % 2 or not 16 <= dim <= LARGEST_DIM:
        return False
    kv_columns = projected.shape[1] - heads * dim * (2 if gated else 1)
    return (
        {q_norm.shape, k_norm.shape} == {(dim,)}
        and {q_norm.dtype, k_norm.dtype} == {dtype}
        and (frequencies.dtype, frequencies.ndim) == (mx.float32, 1)
        and 1 <= frequencies.size <= dim // 2
        and heads >= 1
        and kv_columns >= 2 * dim
        and kv_columns % (2 * dim) == 0
    )


@cache
def _kernel(build: Any) -> Any:
    return build(
        name="attention_inputs",
        input_names=["projected", "q_norm", "k_norm", "frequencies", "first_position", "eps", "scale"],
        output_names=["queries", "keys", "values"],
        header=kernel_source("rotated_head") + kernel_source("attention_inputs"),
        source=_BODY,
    )


@if_supported(supports)
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
    """Metal implementation of `reference`, in one dispatch."""
    rows, dim = projected.shape[0], q_norm.size
    kv_heads = (projected.shape[1] // dim - heads * (2 if gated else 1)) // 2
    first = first_position if isinstance(first_position, mx.array) else mx.array([first_position], mx.int32)
    sizes = {"DIM": dim, "ROTATED": 2 * frequencies.size, "HEADS": heads, "KV_HEADS": kv_heads, "GATED": gated}
    queries, keys, values = _kernel(build)(
        inputs=[projected, q_norm, k_norm, frequencies, first, float(eps), float(scale)],
        template=[("T", projected.dtype), *sizes.items()],
        grid=(32 * _SIMDGROUPS * -(-(heads + 2 * kv_heads) // _SIMDGROUPS), rows, 1),
        threadgroup=(32 * _SIMDGROUPS, 1, 1),
        output_shapes=[(1, heads, rows, dim), (1, kv_heads, rows, dim), (1, kv_heads, rows, dim)],
        output_dtypes=[projected.dtype] * 3,
    )
    return queries, keys, values
