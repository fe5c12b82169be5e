"""Delta inputs: turn a gated delta net's fused projection into recurrence inputs.

A net's projections are followed by a short causal convolution (arXiv 2412.06464, section 3.4), silu, normalization of queries and
keys, and computation of decay and beta for each value head. With the few rows of a block, that is a dozen operations on little
data. The kernel computes all of them in one dispatch, and also returns the convolution's input, which a rewind needs.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.gated_delta import compute_g, normalize_qk

from metal import kernel_source
from mlx_engine.kernels.support import DTYPES, if_supported

LARGEST_DIM = 256  # of key and value heads
TAPS = (2, 8)  # smallest and largest kernel of the convolution

_SIMDGROUPS = 4  # per threadgroup; they share no memory
_EPS = 1e-6  # of the norms of queries and keys
_BODY = """
    constexpr size_t CHANNELS = 2 * HK * DK + HV * DV;
    delta_inputs<T, DK, DV, HK, HV, TAPS>(
        projected, held + first[0] * CHANNELS, taps, log_rate, bias, queries, keys, values, decay, beta, convolved,
        projected_shape[0], threadgroup_position_in_grid.y,
        threadgroup_position_in_grid.x * simdgroups_per_threadgroup + simdgroup_index_in_threadgroup, thread_index_in_simdgroup);
"""


@dataclass(frozen=True)
class DeltaHeads:
    """Number and dimension of a net's key and value heads."""

    keys: int
    key_dim: int
    values: int
    value_dim: int

    @property
    def channels(self) -> int:
        """Number of channels of the convolution: queries, keys, and values."""
        return 2 * self.keys * self.key_dim + self.values * self.value_dim

    @property
    def columns(self) -> int:
        """Number of columns in the fused projection: channels, output gate, b, and a."""
        return self.channels + self.values * (self.value_dim + 2)


@dataclass(frozen=True)
class DeltaRows:
    """The recurrence's inputs for S rows."""

    queries: mx.array  # [1, S, Hk, Dk]
    keys: mx.array  # [1, S, Hk, Dk]
    values: mx.array  # [1, S, Hv, Dv]
    decay: mx.array  # [1, S, Hv] float32
    beta: mx.array  # [1, S, Hv]
    convolved: mx.array  # [1, K - 1 + S, channels]: input of the convolution, with the K - 1 rows before


def reference(
    projected: mx.array,
    held: mx.array,
    taps: mx.array,
    log_rate: mx.array,
    bias: mx.array,
    heads: DeltaHeads,
    first: int | mx.array = 0,
) -> DeltaRows:
    """Reference implementation in plain MLX, and the fallback without Metal.

    Args:
        projected: [S, heads.columns], float32, float16, or bfloat16: queries, keys, values, output gate, b, a.
        held: earlier inputs of the convolution, [1, at least K - 1, channels], same dtype.
        taps: weights of the convolution, [channels, K, 1], same dtype; K from 2 to 8.
        log_rate: log of the decay rate, [Hv], float32 or the dtype of `projected`.
        bias: added to a, [Hv], like `log_rate`.
        heads: the net's heads, with dimensions from 16 to 256.
        first: first row of `held` to use; [1] int32 if only the device knows it.

    Returns:
        The recurrence's inputs. The kernel computes in float32 and rounds each output once.
    """
    rows, channels, gate = projected.shape[0], heads.channels, heads.values * heads.value_dim
    mixed, _, b, a = mx.split(projected[None], [channels, channels + gate, channels + gate + heads.values], axis=-1)
    convolved = mx.concatenate([rows_before(held, taps.shape[1], first), mixed], axis=1)
    out = nn.silu(mx.conv1d(convolved, taps, groups=channels))
    width = heads.keys * heads.key_dim
    queries, keys, values = mx.split(out, [width, 2 * width], axis=-1)
    queries, keys = (x.reshape(1, rows, heads.keys, heads.key_dim) for x in (queries, keys))
    queries, keys = normalize_qk(queries, keys, inv_scale=heads.key_dim**-0.5, eps=_EPS)
    values = values.reshape(1, rows, heads.values, heads.value_dim)
    return DeltaRows(queries, keys, values, compute_g(log_rate, a, bias), mx.sigmoid(b), convolved)


def rows_before(held: mx.array, taps: int, first: int | mx.array) -> mx.array:
    """Return `taps - 1` rows of `held` [1, R, channels], starting at `first`."""
    if isinstance(first, mx.array):
        return mx.slice(held, first, (1,), (1, taps - 1, held.shape[2]))
    return held[:, first : first + taps - 1]


def supports(
    projected: mx.array,
    held: mx.array,
    taps: mx.array,
    log_rate: mx.array,
    bias: mx.array,
    heads: DeltaHeads,
    first: int | mx.array = 0,
) -> bool:
    """Return whether `metal` supports arguments of these shapes and dtypes."""
    dtype = projected.dtype
    if dtype not in DTYPES or (projected.ndim, held.ndim, taps.ndim) != (2, 3, 3):
        return False
    width, before = taps.shape[1], taps.shape[1] - 1
    return (
        {held.dtype, taps.dtype} == {dtype}
        and {log_rate.dtype, bias.dtype} <= {dtype, mx.float32}
        and min(heads.key_dim, heads.value_dim) >= 16
        and max(heads.key_dim, heads.value_dim) <= LARGEST_DIM
        and projected.shape[0] >= 1
        and projected.shape[1] == heads.columns
        and TAPS[0] <= width <= TAPS[1]
        and taps.shape == (heads.channels, width, 1)
        and held.shape[::2] == (1, heads.channels)
        and held.shape[1] >= before
        and {log_rate.shape, bias.shape} == {(heads.values,)}
        and (0 <= first <= held.shape[1] - before if isinstance(first, int) else (first.shape, first.dtype) == ((1,), mx.int32))
    )


@cache
def _kernel(build: Any) -> Any:
    return build(
        name="delta_inputs",
        input_names=["projected", "held", "taps", "log_rate", "bias", "first"],
        output_names=["queries", "keys", "values", "decay", "beta", "convolved"],
        header=kernel_source("delta_inputs"),
        source=_BODY,
    )


@if_supported(supports)
def metal(
    projected: mx.array,
    held: mx.array,
    taps: mx.array,
    log_rate: mx.array,
    bias: mx.array,
    heads: DeltaHeads,
    first: int | mx.array = 0,
    *,
    build: Any = mx.fast.metal_kernel,
) -> DeltaRows:
    """Metal implementation of `reference`, in one dispatch."""
    rows, dtype = projected.shape[0], projected.dtype
    at = first if isinstance(first, mx.array) else mx.array([first], mx.int32)
    sizes = {"DK": heads.key_dim, "DV": heads.value_dim, "HK": heads.keys, "HV": heads.values, "TAPS": taps.shape[1]}
    made = _kernel(build)(
        inputs=[projected, held, taps, log_rate, bias, at],
        template=[("T", dtype), *sizes.items()],
        grid=(32 * _SIMDGROUPS * -(-(2 * heads.keys + heads.values) // _SIMDGROUPS), rows, 1),
        threadgroup=(32 * _SIMDGROUPS, 1, 1),
        output_shapes=[
            *[(1, rows, heads.keys, heads.key_dim)] * 2,
            (1, rows, heads.values, heads.value_dim),
            *[(1, rows, heads.values)] * 2,
            (1, taps.shape[1] - 1 + rows, heads.channels),
        ],
        output_dtypes=[dtype, dtype, dtype, mx.float32, dtype, dtype],
    )
    return DeltaRows(*made)
