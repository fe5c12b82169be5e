"""Block verification: the target's choices, accepted length, and next token.

Plain decoding verifies a block of one row. With one kernel for both, DFlash and plain decoding choose the same tokens.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import mlx.core as mx

from metal import kernel_source
from mlx_engine.kernels.support import DTYPES, if_supported

ROWS = 32

_SIMDGROUPS = 8  # per threadgroup of a scan
_PART = 8192  # tokens per threadgroup
_SCAN = """
    threadgroup float group_scores[SIMDGROUPS];
    threadgroup uint group_ids[SIMDGROUPS];
    const uint row = threadgroup_position_in_grid.y, part = threadgroup_position_in_grid.x;
    const uint vocabulary = logits_shape[1], parts = threadgroups_per_grid.x;
    const uint begin = part * PART, end = metal::min(vocabulary, begin + PART);
    block_verify_scan<T, SAMPLED, SIMDGROUPS>(
        logits + size_t(row) * vocabulary, temperature, seed[0], seed[1], first_position[0] + row, scores + row * parts + part,
        ids + row * parts + part, group_scores, group_ids, begin, end, simdgroup_index_in_threadgroup, thread_index_in_simdgroup);
"""
_SETTLE = """
    threadgroup uint chosen[32];
    block_verify_settle(scores, ids, drafts, choices, counted, chosen, uint(scores_shape[1]), simdgroups_per_threadgroup,
                        simdgroup_index_in_threadgroup, thread_index_in_simdgroup);
"""


@dataclass(frozen=True)
class Draw:
    """The parameters of Gumbel-max sampling.

    The kernel computes the noise from the key; the reference reads `noise`, which is lazy and costs nothing if unread.
    """

    temperature: float
    noise: mx.array  # [R, V] float32
    seed: mx.array  # [2] uint32, low word first
    first_position: mx.array  # [1] uint32: position of the token that row 0 chooses


@dataclass(frozen=True)
class BlockVerdict:
    """The verification of a block of R rows."""

    choices: mx.array  # [R] uint32: the target's choice in each row
    drafts: mx.array | None  # [R - 1] uint32; None for one row
    counted: mx.array | None = None  # [2] uint32: the result of `count`, if a kernel has computed it

    def count(self) -> mx.array:
        """Return the number of accepted drafts and the next token, [2] uint32, lazily."""
        if self.counted is not None:
            return self.counted
        if self.drafts is None:
            return mx.concatenate([mx.array([0], mx.uint32), self.choices])
        accepted = mx.cumprod((self.drafts == self.choices[:-1]).astype(mx.uint32)).sum(keepdims=True).astype(mx.uint32)
        return mx.concatenate([accepted, self.choices[accepted]])

    def read(self) -> tuple[tuple[int, ...], int]:
        """Wait for the result; return the accepted drafts and the next token."""
        drafts = [] if self.drafts is None else cast(list[int], self.drafts.tolist())
        if self.counted is not None:
            accepted, following = cast(list[int], self.counted.tolist())
            return tuple(drafts[:accepted]), following
        choices, accepted = cast(list[int], self.choices.tolist()), 0  # on a CPU, faster than `count`
        while accepted < len(drafts) and drafts[accepted] == choices[accepted]:
            accepted += 1
        return tuple(drafts[:accepted]), choices[accepted]


def reference(logits: mx.array, drafts: mx.array | None, draw: Draw | None = None) -> BlockVerdict:
    """Reference implementation in plain MLX, and the fallback without Metal.

    Args:
        logits: penalized and filtered logits, [R, V], float32, float16, or bfloat16; R from 1 to 32, V at least 8.
        drafts: drafts for the first R - 1 rows, [R - 1] uint32; None for one row.
        draw: parameters of sampling; None to choose the largest logit.

    Returns:
        The verdict, not evaluated. The lowest id wins a tie.
    """
    return BlockVerdict(mx.argmax(logits if draw is None else _scores(logits, draw), axis=-1), drafts)


def _scores(logits: mx.array, draw: Draw) -> mx.array:
    logits = logits.astype(mx.float32)
    return (logits if draw.temperature == 1.0 else logits / draw.temperature) + draw.noise


def supports(logits: mx.array, drafts: mx.array | None, draw: Draw | None = None) -> bool:
    """Return whether `metal` supports arguments of these shapes and dtypes."""
    if logits.dtype not in DTYPES or logits.ndim != 2:
        return False
    rows, vocabulary = logits.shape
    return (
        1 <= rows <= ROWS
        and vocabulary >= 8
        and (rows == 1 if drafts is None else rows > 1 and (drafts.dtype, drafts.shape) == (mx.uint32, (rows - 1,)))
        and (
            draw is None
            or (draw.seed.shape, draw.first_position.shape, draw.seed.dtype, draw.first_position.dtype)
            == ((2,), (1,), mx.uint32, mx.uint32)
        )
    )


@cache
def _scan(build: Any) -> Any:
    return build(
        name="block_verify_scan",
        input_names=["logits", "temperature", "seed", "first_position"],
        output_names=["scores", "ids"],
        header=kernel_source("keyed_noise") + kernel_source("block_verify"),
        source=_SCAN,
    )


@cache
def _settle(build: Any) -> Any:
    return build(
        name="block_verify_settle",
        input_names=["scores", "ids", "drafts"],
        output_names=["choices", "counted"],
        header=kernel_source("keyed_noise") + kernel_source("block_verify"),
        source=_SETTLE,
    )


@if_supported(supports)
def metal(
    logits: mx.array, drafts: mx.array | None, draw: Draw | None = None, *, build: Any = mx.fast.metal_kernel
) -> BlockVerdict:
    """Metal implementation of `reference`, in two dispatches.

    The noise differs from the reference's by at most 4 ulp.
    """
    rows, vocabulary = logits.shape
    parts = -(-vocabulary // _PART)
    threads = 32 * _SIMDGROUPS
    scores, ids = _scan(build)(
        inputs=[
            logits,
            1.0 if draw is None else float(draw.temperature),
            mx.array([0, 0], mx.uint32) if draw is None else draw.seed,
            mx.array([0], mx.uint32) if draw is None else draw.first_position,
        ],
        template=[("T", logits.dtype), ("SAMPLED", draw is not None), ("SIMDGROUPS", _SIMDGROUPS), ("PART", _PART)],
        grid=(threads * parts, rows, 1),
        threadgroup=(threads, 1, 1),
        output_shapes=[(rows, parts)] * 2,
        output_dtypes=[mx.float32, mx.uint32],
    )
    choices, counted = _settle(build)(
        # Metal can't bind an empty buffer; for one row, the kernel reads no draft
        inputs=[scores, ids, mx.array([0], mx.uint32) if drafts is None else drafts],
        grid=(32 * rows, 1, 1),
        threadgroup=(32 * rows, 1, 1),
        output_shapes=[(rows,), (2,)],
        output_dtypes=[mx.uint32, mx.uint32],
    )
    return BlockVerdict(choices, drafts, counted)
