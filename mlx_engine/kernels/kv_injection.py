"""K/V injection: turn context features into keys and values of all drafter layers.

DFlash conditions its drafter by writing the target's fused features into the K/V cache of *each* drafter layer (arXiv 2602.06036,
section 3.2). All layers receive the same features, so one matrix product computes all projections. This operation does the rest: K
norm, RoPE, and layout.
"""

from functools import cache
from typing import Any

import mlx.core as mx

from metal import kernel_source
from mlx_engine.kernels.support import DTYPES, if_supported

LARGEST_DIM = 512

_SIMDGROUPS = 4  # per threadgroup; a row of 5 layers x 8 heads fills 10 threadgroups
_BODY = """
    const uint heads = projected_shape[3], layers = projected_shape[1], rows = projected_shape[0];
    const uint row = threadgroup_position_in_grid.y;
    const uint at = threadgroup_position_in_grid.x * simdgroups_per_threadgroup + simdgroup_index_in_threadgroup;
    if (at < layers * heads) {
      const uint layer = at / heads, head = at % heads;
      const int64_t k = row * projected_strides[0] + layer * projected_strides[1] + head * projected_strides[3];
      const size_t place = (size_t(at) * rows + row) * DIM;
      kv_injection<T, DIM>(projected + k, projected + k + projected_strides[2], projected_strides[4],
                           k_norm + layer * k_norm_strides[0], k_norm_strides[1], frequencies, frequencies_strides[0],
                           first_position[0] + int(row), eps, scale, context + place,
                           context + place + size_t(layers) * heads * rows * DIM, thread_index_in_simdgroup);
    }
"""


def reference(
    projected: mx.array, k_norm: mx.array, frequencies: mx.array, first_position: int | mx.array, eps: float, scale: float = 1.0
) -> mx.array:
    """Reference implementation in plain MLX, and the fallback without Metal.

    Args:
        projected: K and V of each layer, [S, L, 2, H, D], float16, bfloat16, or float32; may be strided. D is even, 16 to 512.
        k_norm: RMSNorm weights of the K heads, [L, D], same dtype.
        frequencies: positions per radian of each pair, [D / 2] float32.
        first_position: absolute position of row 0; [1] int32 if only the device knows it.
        eps: epsilon of the norm.
        scale: factor on the keys (yarn's attention factor).

    Returns:
        Keys and values, [2, L, H, S, D] in the dtype of `projected`, ready to append with one slice update.
    """
    dim = projected.shape[-1]
    keys = mx.fast.rms_norm(projected[:, :, 0], None, eps) * k_norm[None, :, None]
    keys = keys.transpose(1, 2, 0, 3)
    if scale != 1.0:
        keys = keys * scale
    keys = mx.fast.rope(keys, dim, traditional=False, base=None, scale=1.0, offset=first_position, freqs=frequencies)
    return mx.stack([keys, projected[:, :, 1].transpose(1, 2, 0, 3)])


def supports(projected: mx.array, k_norm: mx.array, frequencies: mx.array, *_others: Any) -> bool:
    """Return whether `metal` supports arguments of these shapes and dtypes."""
    if projected.ndim != 5:
        return False
    _, layers, two, _, dim = projected.shape
    return (
        projected.dtype in DTYPES
        and two == 2
        and dim % 2 == 0
        and 16 <= dim <= LARGEST_DIM
        and (k_norm.dtype, k_norm.shape) == (projected.dtype, (layers, dim))
        and (frequencies.dtype, frequencies.shape) == (mx.float32, (dim // 2,))
    )


@cache
def _kernel(build: Any) -> Any:
    return build(
        name="kv_injection",
        input_names=["projected", "k_norm", "frequencies", "first_position", "eps", "scale"],
        output_names=["context"],
        header=kernel_source("rotated_head") + kernel_source("kv_injection"),
        source=_BODY,
        ensure_row_contiguous=False,  # read a slice of layers by its strides instead of copying it
    )


@if_supported(supports)
def metal(
    projected: mx.array,
    k_norm: mx.array,
    frequencies: mx.array,
    first_position: int | mx.array,
    eps: float,
    scale: float = 1.0,
    *,
    build: Any = mx.fast.metal_kernel,
) -> mx.array:
    """Metal implementation of `reference`, in one dispatch."""
    rows, layers, _, heads, dim = projected.shape
    first = first_position if isinstance(first_position, mx.array) else mx.array([first_position], mx.int32)
    context: mx.array = _kernel(build)(
        inputs=[projected, k_norm, frequencies, first, float(eps), float(scale)],
        template=[("T", projected.dtype), ("DIM", dim)],
        grid=(32 * _SIMDGROUPS * -(-layers * heads // _SIMDGROUPS), rows, 1),
        threadgroup=(32 * _SIMDGROUPS, 1, 1),
        output_shapes=[(2, layers, heads, rows, dim)],
        output_dtypes=[projected.dtype],
    )[0]
    return context
