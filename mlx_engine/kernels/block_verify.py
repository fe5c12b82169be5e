"""Block verification: the target's choice in every row of a block, how many drafts it confirms, and the token that follows them.

Plain decoding is the block of one row: with the same kernel for both, DFlash and plain decoding choose alike on one machine.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import mlx.core as mx

from metal import kernel_source

ROWS = 32
DTYPES = (mx.float32, mx.float16, mx.bfloat16)

_SIMDGROUPS = 8  # of a threadgroup that scans
_PART = 8192  # tokens that a threadgroup scans, at most
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
    """How a sampled choice is drawn: Gumbel-max with noise that is keyed by seed, position and token.

    The kernel makes the noise from the key, the reference takes it ready-made; built lazily, it costs nothing where it is not read.
    """

    temperature: float
    noise: mx.array  # [R, V] float32
    seed: mx.array  # [2] uint32, low word first
    first_position: mx.array  # [1] uint32: where the token stands that the first row chooses


@dataclass(frozen=True)
class Verdict:
    """What a block of R rows came to."""

    choices: mx.array  # [R] uint32: the target's own, row by row
    drafts: mx.array | None  # [R - 1] uint32
    counted: mx.array | None = None  # [2] uint32: `count`, where a kernel has made it

    def count(self) -> mx.array:
        """On the device, [2] uint32: the length of the longest prefix of drafts that the choices equal, and the choice after it."""
        if self.counted is not None:
            return self.counted
        if self.drafts is None:
            return mx.concatenate([mx.array([0], mx.uint32), self.choices])
        accepted = mx.cumprod((self.drafts == self.choices[:-1]).astype(mx.uint32)).sum(keepdims=True).astype(mx.uint32)
        return mx.concatenate([accepted, self.choices[accepted]])

    def read(self) -> tuple[tuple[int, ...], int]:
        """On the host, which waits for it: the confirmed drafts, and the choice after them."""
        drafts = [] if self.drafts is None else cast(list[int], self.drafts.tolist())
        if self.counted is not None:
            accepted, following = cast(list[int], self.counted.tolist())
            return tuple(drafts[:accepted]), following
        choices, accepted = cast(list[int], self.choices.tolist()), 0  # quicker than the small operations of `count` on a CPU
        while accepted < len(drafts) and drafts[accepted] == choices[accepted]:
            accepted += 1
        return tuple(drafts[:accepted]), choices[accepted]


def reference(logits: mx.array, drafts: mx.array | None, draw: Draw | None = None) -> Verdict:
    """Plain MLX version; also what runs where there is no Metal.

    Args:
        logits: of R rows, [R, V], float32, float16 or bfloat16, R from 1 to 32; after penalties and filters.
        drafts: what was proposed for the first R - 1 rows, [R - 1] uint32; None for a block of one row.
        draw: how to sample; None to choose the largest logit.

    Returns:
        The verdict, on the device; of equal scores the lowest id is chosen.
    """
    return Verdict(mx.argmax(logits if draw is None else _scores(logits, draw), axis=-1), drafts)


def _scores(logits: mx.array, draw: Draw) -> mx.array:
    logits = logits.astype(mx.float32)
    return (logits if draw.temperature == 1.0 else logits / draw.temperature) + draw.noise


def unsupported(logits: mx.array, drafts: mx.array | None, draw: Draw | None = None) -> str | None:
    """The limit that these arguments of `metal` overstep, in words; None if there is none. Looks at shapes and dtypes alone."""
    if logits.dtype not in DTYPES:
        return f"block_verify takes logits of float32, float16 or bfloat16, not {_name(logits.dtype)}"
    if logits.ndim != 2:
        return f"block_verify takes logits of two dimensions, not {logits.ndim}"
    rows, vocabulary = logits.shape
    if not 1 <= rows <= ROWS:
        return f"block_verify takes 1 to {ROWS} rows, not {rows}"
    if vocabulary < 8:
        return f"block_verify takes vocabularies of at least 8 tokens, not {vocabulary}"
    if drafts is None and rows > 1:
        return f"block_verify takes {rows - 1} drafts for {rows} rows, not none"
    if drafts is not None and (rows == 1 or drafts.dtype != mx.uint32 or drafts.shape != (rows - 1,)):
        return f"block_verify takes {rows - 1} drafts of uint32 for {rows} rows, not {drafts.shape} of {_name(drafts.dtype)}"
    if draw is not None and (draw.seed.shape, draw.seed.dtype) != ((2,), mx.uint32):
        return f"block_verify takes a seed of two words of uint32, not {draw.seed.shape} of {_name(draw.seed.dtype)}"
    if draw is not None and (draw.first_position.shape, draw.first_position.dtype) != ((1,), mx.uint32):
        return f"block_verify takes one position of uint32, not {draw.first_position.shape} of {_name(draw.first_position.dtype)}"
    return None


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


def metal(logits: mx.array, drafts: mx.array | None, draw: Draw | None = None, *, build: Any = mx.fast.metal_kernel) -> Verdict:
    """Two dispatches; same contract as `reference`, whose noise it equals within 4 ulp. Tests pass the emulator as `build`.

    Raises:
        ValueError: what `unsupported` names.
    """
    if limit := unsupported(logits, drafts, draw):
        raise ValueError(limit)
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
        # an empty buffer cannot be bound; of one row no draft is read
        inputs=[scores, ids, mx.array([0], mx.uint32) if drafts is None else drafts],
        grid=(32 * rows, 1, 1),
        threadgroup=(32 * rows, 1, 1),
        output_shapes=[(rows,), (2,)],
        output_dtypes=[mx.uint32, mx.uint32],
    )
    return Verdict(choices, drafts, counted)


def _name(dtype: mx.Dtype) -> str:
    return str(dtype).removeprefix("mlx.core.")
