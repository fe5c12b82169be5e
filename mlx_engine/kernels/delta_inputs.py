"""Delta inputs: what one product gave for a gated delta net becomes what its recurrence takes.

Between a net's projections and its recurrence stand a short causal convolution (arXiv 2412.06464, section 3.4), silu, the norm of
queries and keys, and what makes decay and strength out of two numbers of each value head: a dozen operations over little data,
for the few rows of a block. Here they are one, which also leaves what a rewind needs, the convolution's rows.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.gated_delta import compute_g, normalize_qk

from metal import kernel_source

DTYPES = (mx.float32, mx.float16, mx.bfloat16)
WIDEST = 256  # of key and value dims
TAPS = (2, 8)  # the convolution's, least and most

_SIMDGROUPS = 4  # of a threadgroup; they share nothing
_EPS = 1e-6  # of the norm of queries and keys
_BODY = """
    constexpr size_t CHANNELS = 2 * HK * DK + HV * DV;
    delta_inputs<T, DK, DV, HK, HV, TAPS>(
        projected, held + first[0] * CHANNELS, taps, log_rate, bias, queries, keys, values, decay, beta, convolved,
        projected_shape[0], threadgroup_position_in_grid.y,
        threadgroup_position_in_grid.x * simdgroups_per_threadgroup + simdgroup_index_in_threadgroup, thread_index_in_simdgroup);
"""


@dataclass(frozen=True)
class Heads:
    """How many heads a net has, and how wide they are."""

    keys: int
    key_dim: int
    values: int
    value_dim: int

    @property
    def channels(self) -> int:
        """Of the convolution: queries, keys and values."""
        return 2 * self.keys * self.key_dim + self.values * self.value_dim

    @property
    def columns(self) -> int:
        """Of the joined product: the channels, the output's gate, and two numbers of each value head, b and a."""
        return self.channels + self.values * (self.value_dim + 2)


@dataclass(frozen=True)
class Rows:
    """What S rows bring to the recurrence."""

    queries: mx.array  # [1, S, Hk, Dk]
    keys: mx.array  # [1, S, Hk, Dk]
    values: mx.array  # [1, S, Hv, Dv]
    decay: mx.array  # [1, S, Hv] float32
    beta: mx.array  # [1, S, Hv]
    convolved: mx.array  # [1, K - 1 + S, channels]: what entered the convolution, the rows before included


def reference(
    projected: mx.array,
    held: mx.array,
    taps: mx.array,
    log_rate: mx.array,
    bias: mx.array,
    heads: Heads,
    first: int | mx.array = 0,
) -> Rows:
    """Plain MLX version; also what runs where there is no Metal.

    Args:
        projected: [S, heads.columns], float32, float16 or bfloat16: queries, keys and values, the output's gate, b and a.
        held: rows of channels of which K - 1 are those before these, [1, at least K - 1, channels], same dtype.
        taps: weights of the convolution, [channels, K, 1], same dtype; K from 2 to 8.
        log_rate: the logarithm of what the decay is a power of, [Hv], float32 or the dtype of `projected`.
        bias: on a, [Hv], like `log_rate`.
        heads: of the net.
        first: where in `held` the rows before these begin; [1] int32 where only the device knows it.

    Returns:
        The rows. The kernel computes in float32 and rounds each output once.
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
    return Rows(queries, keys, values, compute_g(log_rate, a, bias), mx.sigmoid(b), convolved)


def rows_before(held: mx.array, taps: int, first: int | mx.array) -> mx.array:
    """The rows of `held` [1, R, channels] that a convolution of so many taps reads from `first` on, [1, taps - 1, channels]."""
    if isinstance(first, mx.array):
        return mx.slice(held, first, (1,), (1, taps - 1, held.shape[2]))
    return held[:, first : first + taps - 1]


def unsupported(
    projected: mx.array,
    held: mx.array,
    taps: mx.array,
    log_rate: mx.array,
    bias: mx.array,
    heads: Heads,
    first: int | mx.array = 0,
) -> str | None:
    """The limit that these arguments of `metal` overstep, in words; None if there is none. Looks at shapes and dtypes alone."""
    dtype = projected.dtype
    if dtype not in DTYPES:
        return f"delta_inputs takes float32, float16 or bfloat16, not {_name(dtype)}"
    if {held.dtype, taps.dtype} != {dtype} or not {log_rate.dtype, bias.dtype} <= {dtype, mx.float32}:
        return f"delta_inputs takes all in the dtype of the product, {_name(dtype)}, rate and bias also in float32"
    if min(heads.key_dim, heads.value_dim) < 16 or max(heads.key_dim, heads.value_dim) > WIDEST:
        return f"delta_inputs takes key and value dims from 16 to {WIDEST}, not {heads.key_dim} and {heads.value_dim}"
    if projected.ndim != 2 or projected.shape[0] < 1 or projected.shape[1] != heads.columns:
        return f"delta_inputs takes at least one row of {heads.columns} columns, not {projected.shape}"
    width = taps.shape[1] if taps.ndim == 3 else 0
    if taps.shape != (heads.channels, width, 1) or not TAPS[0] <= width <= TAPS[1]:
        return f"delta_inputs takes {TAPS[0]} to {TAPS[1]} taps of {heads.channels} channels, not {taps.shape}"
    if held.ndim != 3 or held.shape[::2] != (1, heads.channels) or held.shape[1] < width - 1:
        return f"delta_inputs takes at least the {width - 1} rows before, of {heads.channels} channels, not {held.shape}"
    if isinstance(first, mx.array) and (first.shape != (1,) or first.dtype != mx.int32):
        return f"delta_inputs takes a first row of shape (1,) and int32, not of {first.shape} and {_name(first.dtype)}"
    if isinstance(first, int) and not 0 <= first <= held.shape[1] - (width - 1):
        return f"delta_inputs takes a first row from 0 to {held.shape[1] - (width - 1)}, not {first}"
    if {log_rate.shape, bias.shape} != {(heads.values,)}:
        return f"delta_inputs takes a rate and a bias of ({heads.values},), not {log_rate.shape} and {bias.shape}"
    return None


@cache
def _kernel(build: Any) -> Any:
    return build(
        name="delta_inputs",
        input_names=["projected", "held", "taps", "log_rate", "bias", "first"],
        output_names=["queries", "keys", "values", "decay", "beta", "convolved"],
        header=kernel_source("delta_inputs"),
        source=_BODY,
    )


def metal(
    projected: mx.array,
    held: mx.array,
    taps: mx.array,
    log_rate: mx.array,
    bias: mx.array,
    heads: Heads,
    first: int | mx.array = 0,
    *,
    build: Any = mx.fast.metal_kernel,
) -> Rows:
    """One dispatch; same contract as `reference`. Tests pass the emulator as `build`.

    Raises:
        ValueError: what `unsupported` names.
    """
    if limit := unsupported(projected, held, taps, log_rate, bias, heads, first):
        raise ValueError(limit)
    rows, dtype = projected.shape[0], projected.dtype
    at = first if isinstance(first, mx.array) else mx.array([first], mx.int32)
    made = _kernel(build)(
        inputs=[projected, held, taps, log_rate, bias, at],
        template=[
            ("T", dtype),
            ("DK", heads.key_dim),
            ("DV", heads.value_dim),
            ("HK", heads.keys),
            ("HV", heads.values),
            ("TAPS", taps.shape[1]),
        ],
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
    return Rows(*made)


def _name(dtype: mx.Dtype) -> str:
    return str(dtype).removeprefix("mlx.core.")
