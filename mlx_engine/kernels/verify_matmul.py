"""Matrix product of a few rows that reads each weight once per 16 rows.

A verify multiplies a block of 2 to 16 rows by all of the target's weights, so a round takes as long as reading the weights. MLX's
kernels for few rows read the weights again for every few rows, and its kernels for many rows pad 16 rows to 32 or 64. This kernel
reads each weight once and pads rows to a multiple of 8. More rows, of a pass that replies share, are computed 16 at a time.

Two steps that follow a product can be fused into its dispatch: the gate of a feed-forward with concatenated gate and up weights,
and the addition of the residual.

A row of the result doesn't depend on the other rows, their number, or its place among them. So it has the same bits alone, in a
block, and next to other replies' rows.
"""

from functools import cache
from typing import Any

import mlx.core as mx
from mlx_lm.models.activations import swiglu

from metal import kernel_source
from mlx_engine.kernels.support import DTYPES, if_supported

ROWS = 64
BITS = (4, 8)
GROUPS = (32, 64, 128)

_BLOCK = 16  # largest number of rows of a threadgroup, limited by registers
_MANY_COLUMNS = 2048  # enough to occupy the GPU with wide threadgroups
_SAMPLE = 2048  # columns of a large result, about

_SIZES = "threadgroup_position_in_grid.x, simdgroup_index_in_threadgroup, thread_index_in_simdgroup"
_AFFINE = f"""
    threadgroup float sums[SPLIT * 8 * TILES * (8 * COLUMNS + 4)];
    verify_matmul_affine<T, BITS, GROUP, GATED, RESIDUAL, TILES, COLUMNS, SPLIT>(
        x, weight, scales, biases, {{residual}}, y, sums, x_shape[0], weight_shape[0], x_shape[1], {_SIZES});
"""
_DENSE = f"""
    threadgroup float sums[SPLIT * 8 * TILES * (8 * COLUMNS + 4)];
    verify_matmul_dense<T, WHOLE, GATED, RESIDUAL, TILES, COLUMNS, SPLIT>(
        x, weight, {{residual}}, y, sums, x_shape[0], weight_shape[0], x_shape[1], {_SIZES});
"""


def reference(
    x: mx.array,
    weight: mx.array,
    scales: mx.array | None = None,
    biases: mx.array | None = None,
    group_size: int = 64,
    bits: int = 4,
    residual: mx.array | None = None,
    gated: bool = False,
) -> mx.array:
    """Reference implementation in plain MLX, and the fallback without Metal.

    Args:
        x: [M, K], float32, float16, or bfloat16; M from 1 to 64. Inside a larger buffer, it starts at a multiple of 4 elements.
        weight: [N, K] in the dtype of `x`, K at least 8; or quantized by `mx.quantize` (affine), [N, K * bits / 32] uint32.
        scales: scales of a quantized weight, [N, K / group_size], dtype of `x`; otherwise None.
        biases: like `scales`.
        group_size: elements per scale: 32, 64, or 128.
        bits: bits per element of a quantized weight, 4 or 8.
        residual: added to the result, with its shape and dtype; or None.
        gated: return silu(first half) * second half of the product.

    Returns:
        x times the transposed weight, [M, N], or [M, N / 2] if `gated`, in the dtype of `x`. The kernel computes in float32,
        including gate and residual, and rounds once.
    """
    if scales is None or biases is None:
        y = x @ weight.T
    elif x.dtype == mx.float64:  # to check the kernel, on a CPU; `quantized_matmul` doesn't take it
        y = x @ mx.dequantize(weight, scales, biases, group_size, bits).T
    else:
        y = mx.quantized_matmul(x, weight, scales, biases, transpose=True, group_size=group_size, bits=bits)
    if gated:
        y = swiglu(*mx.split(y, 2, axis=-1))
    return y if residual is None else residual + y


def sample(
    found: mx.array,
    x: mx.array,
    weight: mx.array,
    scales: mx.array | None = None,
    biases: mx.array | None = None,
    group_size: int = 64,
    bits: int = 4,
    residual: mx.array | None = None,
    gated: bool = False,
) -> tuple[mx.array, tuple[Any, ...]]:
    """Return some columns of a result, and the arguments that compute only these.

    On a CPU, all columns of a large product would take seconds. The last column is included, and columns from all places in a
    threadgroup, because the step is odd.

    Args:
        found: result of `metal`, [M, N].
        x, weight, scales, biases, group_size, bits, residual, gated: as in `reference`.
    """
    outputs = found.shape[1]
    columns = mx.arange(outputs - 1, -1, -(outputs // _SAMPLE | 1))
    rows = mx.concatenate([columns, outputs + columns]) if gated else columns
    weights = (None if array is None else array[rows] for array in (weight, scales, biases))
    return found[:, columns], (x, *weights, group_size, bits, None if residual is None else residual[:, columns], gated)


def supports(
    x: mx.array,
    weight: mx.array,
    scales: mx.array | None = None,
    biases: mx.array | None = None,
    group_size: int = 64,
    bits: int = 4,
    residual: mx.array | None = None,
    gated: bool = False,
) -> bool:
    """Return whether `metal` supports arguments of these shapes and dtypes."""
    if x.dtype not in DTYPES or (x.ndim, weight.ndim) != (2, 2):
        return False
    (rows, depth), columns = x.shape, weight.shape[0]
    outputs = (rows, columns // 2 if gated else columns)
    if not 1 <= rows <= ROWS or min(depth, columns) < 1 or (gated and columns % 2):
        return False
    if residual is not None and (residual.shape, residual.dtype) != (outputs, x.dtype):
        return False
    if scales is None or biases is None:
        return scales is biases and (weight.dtype, weight.shape[1]) == (x.dtype, depth) and depth >= 8
    return (
        bits in BITS
        and group_size in GROUPS
        and depth % group_size == 0
        and (weight.dtype, weight.shape[1] * 32) == (mx.uint32, depth * bits)
        and {scales.dtype, biases.dtype} == {x.dtype}
        and {scales.shape, biases.shape} == {(columns, depth // group_size)}
    )


def _shape(columns: int, depth: int) -> tuple[int, int]:
    """Return a threadgroup's number of 8-column fragments, and its split of the depth.

    Both determine the order of the sums, so they depend only on the weight. A narrow weight has few threadgroups, which get more
    simdgroups if the depth is large enough.
    """
    if columns >= _MANY_COLUMNS:
        return 4, 8
    return 2, 16 if depth >= 1024 else 8


@cache
def _kernel(build: Any, quantized: bool, residual: bool) -> Any:
    body = _AFFINE if quantized else _DENSE
    return build(
        name=("verify_matmul_affine" if quantized else "verify_matmul_dense") + "_residual" * residual,
        input_names=["x", "weight", *["scales", "biases"] * quantized, *["residual"] * residual],
        output_names=["y"],
        header=kernel_source("fragment") + kernel_source("verify_matmul"),
        source=body.format(residual="residual" if residual else "x"),
    )


@if_supported(supports)
def metal(
    x: mx.array,
    weight: mx.array,
    scales: mx.array | None = None,
    biases: mx.array | None = None,
    group_size: int = 64,
    bits: int = 4,
    residual: mx.array | None = None,
    gated: bool = False,
    *,
    build: Any = mx.fast.metal_kernel,
) -> mx.array:
    """Metal implementation of `reference`, in one dispatch."""
    (rows, depth), columns = x.shape, weight.shape[0]
    wide, split = _shape(columns, depth)
    tiles, blocks = -(-min(rows, _BLOCK) // 8), -(-rows // _BLOCK)
    sizes = {"GATED": gated, "RESIDUAL": residual is not None, "TILES": tiles, "COLUMNS": wide, "SPLIT": split}
    packing = {"WHOLE": depth % 32 == 0} if scales is None else {"BITS": bits, "GROUP": group_size}
    return _kernel(build, scales is not None, residual is not None)(
        inputs=[array for array in (x, weight, scales, biases, residual) if array is not None],
        template=[("T", x.dtype), *sizes.items(), *packing.items()],
        grid=(32 * split * -(-columns // (8 * wide)) * blocks, 1, 1),
        threadgroup=(32 * split, 1, 1),
        output_shapes=[(rows, columns // 2 if gated else columns)],
        output_dtypes=[x.dtype],
    )[0]
