"""Matrix product for a verify: up to 16 rows against a weight matrix that is read once.

A verify multiplies a block of 2 to 16 rows with every weight of the target, and a round's time is the time of reading them. MLX's
kernels for few rows read the weights again for every few rows, those for many pad 16 rows to 32 or 64. Here every weight is read
once and nothing is padded beyond the next multiple of 8 rows.

What follows a product in a layer can be part of it: the gate of a feed-forward whose two matrices lie one below the other, and the
addition to what the layer began with.

A row of the result does not depend on the other rows or on their number, so that one row gives the same bits as in a block.
"""

from functools import cache
from typing import Any

import mlx.core as mx
from mlx_lm.models.activations import swiglu

from metal import kernel_source

ROWS = 16
BITS = (4, 8)
GROUPS = (32, 64, 128)
DTYPES = (mx.float32, mx.float16, mx.bfloat16)

_SIMDGROUPS = 8  # of a threadgroup, which share a sum
_NARROW, _WIDE = 2, 4  # fragments of 8 columns that a simdgroup makes at once
_MANY_COLUMNS = 2048  # from here on there are threadgroups enough with wide ones

_SIZES = "threadgroup_position_in_grid.x, simdgroup_index_in_threadgroup, thread_index_in_simdgroup"
_AFFINE = f"""
    threadgroup float sums[SPLIT * 8 * TILES * 8 * COLUMNS];
    verify_matmul_affine<T, BITS, GROUP, GATED, RESIDUAL, TILES, COLUMNS, SPLIT>(
        x, weight, scales, biases, {{residual}}, y, sums, x_shape[0], weight_shape[0], x_shape[1], {_SIZES});
"""
_DENSE = f"""
    threadgroup float sums[SPLIT * 8 * TILES * 8 * COLUMNS];
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
    """Plain MLX version; also what runs where there is no Metal.

    Args:
        x: [M, K], float32, float16 or bfloat16, M from 1 to 16.
        weight: [N, K] of the dtype of `x`, or, quantised as `mx.quantize` does it (affine), [N, K * bits / 32] uint32.
        scales: of a quantised weight, [N, K / group_size], dtype of `x`; None for one that is not.
        biases: like `scales`.
        group_size: successive k that share a scale: 32, 64 or 128.
        bits: of a quantised weight, 4 or 8.
        residual: what the result is added to, of its shape and dtype; None: nothing.
        gated: whether the weight is two of N / 2 rows, one below the other: the result is silu of the first's times the second's.

    Returns:
        x times the transposed weight, [M, N], or [M, N / 2] if `gated`, dtype of `x`. The kernel computes in float32, gate and
        residual too, and rounds once.
    """
    if scales is None:
        y = x @ weight.T
    else:
        y = mx.quantized_matmul(x, weight, scales, biases, transpose=True, group_size=group_size, bits=bits)
    if gated:
        y = swiglu(*mx.split(y, 2, axis=-1))
    return y if residual is None else residual + y


def unsupported(
    x: mx.array,
    weight: mx.array,
    scales: mx.array | None = None,
    biases: mx.array | None = None,
    group_size: int = 64,
    bits: int = 4,
    residual: mx.array | None = None,
    gated: bool = False,
) -> str | None:
    """The limit that these arguments of `metal` overstep, in words; None if there is none. Looks at shapes and dtypes alone."""
    if x.dtype not in DTYPES:
        return f"verify_matmul takes x of float32, float16 or bfloat16, not {_name(x.dtype)}"
    if x.ndim != 2 or weight.ndim != 2:
        return f"verify_matmul takes x and weight of two dimensions, not {x.ndim} and {weight.ndim}"
    rows, depth = x.shape
    if not 1 <= rows <= ROWS:
        return f"verify_matmul takes 1 to {ROWS} rows, not {rows}"
    if min(depth, weight.shape[0]) < 1:
        return "verify_matmul takes no empty weight"
    if gated and weight.shape[0] % 2:
        return f"verify_matmul takes gates and as many rows beside them, not {weight.shape[0]} rows together"
    outputs = (rows, weight.shape[0] // 2 if gated else weight.shape[0])
    if residual is not None and (residual.shape != outputs or residual.dtype != x.dtype):
        return f"verify_matmul takes a residual of {outputs} and {_name(x.dtype)}, not {residual.shape} and {_name(residual.dtype)}"
    if scales is None:
        if biases is not None:
            return "verify_matmul takes biases only with scales"
        if weight.dtype != x.dtype:
            return f"verify_matmul takes a weight of the dtype of x, {_name(x.dtype)}, not {_name(weight.dtype)}"
        return None if weight.shape[1] == depth else f"verify_matmul got {depth} columns of x for {weight.shape[1]} of the weight"
    if biases is None:
        return "verify_matmul takes affine quantisation only, which has biases"
    if bits not in BITS:
        return f"verify_matmul takes weights of 4 or 8 bits, not {bits}"
    if group_size not in GROUPS:
        return f"verify_matmul takes groups of 32, 64 or 128, not {group_size}"
    if weight.dtype != mx.uint32 or {scales.dtype, biases.dtype} != {x.dtype}:
        found = ", ".join(_name(array.dtype) for array in (weight, scales, biases))
        return f"verify_matmul takes a quantised weight of uint32 with scales and biases of {_name(x.dtype)}, not {found}"
    groups = (weight.shape[0], depth // group_size)
    if depth % group_size or weight.shape[1] * 32 != depth * bits or scales.shape != groups or biases.shape != groups:
        return f"verify_matmul got a weight that is not of {depth} columns in groups of {group_size} at {bits} bits"
    return None


@cache
def _kernel(build: Any, quantised: bool, residual: bool) -> Any:
    body = _AFFINE if quantised else _DENSE
    return build(
        name=("verify_matmul_affine" if quantised else "verify_matmul_dense") + "_residual" * residual,
        input_names=["x", "weight", *["scales", "biases"] * quantised, *["residual"] * residual],
        output_names=["y"],
        header=kernel_source("fragment") + kernel_source("verify_matmul"),
        source=body.format(residual="residual" if residual else "x"),
    )


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
    """One dispatch; same contract as `reference`. Tests pass the emulator as `build`.

    Raises:
        ValueError: what `unsupported` names.
    """
    if limit := unsupported(x, weight, scales, biases, group_size, bits, residual, gated):
        raise ValueError(limit)
    (rows, depth), columns = x.shape, weight.shape[0]
    # The width of a threadgroup depends on the weight alone: with it the order of the sums would change
    wide = _WIDE if columns >= _MANY_COLUMNS else _NARROW
    template = [
        ("T", x.dtype),
        ("GATED", gated),
        ("RESIDUAL", residual is not None),
        ("TILES", -(-rows // 8)),
        ("COLUMNS", wide),
        ("SPLIT", _SIMDGROUPS),
    ]
    if scales is None:
        template.append(("WHOLE", depth % 32 == 0))
    else:
        template += [("BITS", bits), ("GROUP", group_size)]
    inputs = [array for array in (x, weight, scales, biases, residual) if array is not None]
    return _kernel(build, scales is not None, residual is not None)(
        inputs=inputs,
        template=template,
        grid=(32 * _SIMDGROUPS * -(-columns // (8 * wide)), 1, 1),
        threadgroup=(32 * _SIMDGROUPS, 1, 1),
        output_shapes=[(rows, columns // 2 if gated else columns)],
        output_dtypes=[x.dtype],
    )[0]


def _name(dtype: mx.Dtype) -> str:
    return str(dtype).removeprefix("mlx.core.")
