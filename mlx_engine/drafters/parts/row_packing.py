"""Rows of several streams in a drafter's pass, one stream's after the other's.

Every operation that reads weights runs once, over all rows. What depends on a stream's context runs per stream.
"""

from collections.abc import Sequence
from itertools import accumulate

import mlx.core as mx


def pack(parts: Sequence[mx.array], axis: int = 0) -> mx.array:
    """Return the rows of all streams in one array."""
    return parts[0] if len(parts) == 1 else mx.concatenate([*parts], axis=axis)


def unpack(array: mx.array, rows: Sequence[int], axis: int = 0) -> list[mx.array]:
    """Return each stream's rows of an array with all rows.

    Args:
        array: as from `pack`.
        rows: number of each stream's rows.
        axis: of the rows.
    """
    return [array] if len(rows) == 1 else list(mx.split(array, [*accumulate(rows[:-1])], axis=axis))
