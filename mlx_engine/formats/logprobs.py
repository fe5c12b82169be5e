"""Log-probabilities of a reply's tokens, from the target's own logits.

Bias, penalties, temperature, and filters don't change them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import mlx.core as mx

Report = Sequence[mx.array]  # of R rows: chosen [R, 1]; most likely tokens [R, n] and their values [R, n]; empty if not requested


@dataclass(frozen=True)
class RowLogprobs:
    """Natural log-probabilities at one position.

    Attributes:
        chosen: of the chosen token.
        top: the most likely tokens and their values, in descending order.
    """

    chosen: float
    top: tuple[tuple[int, float], ...]


def report(logits: mx.array, choices: mx.array, count: int | None) -> Report:
    """Return log-probabilities of each row's choice and most likely tokens, lazily.

    Args:
        logits: the target's own, [R, V].
        choices: token ids, uint32 [R].
        count: number of most likely tokens; None reports nothing, not even the choice.
    """
    if count is None:
        return ()
    logits = logits.astype(mx.float32)
    logprobs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    chosen = mx.take_along_axis(logprobs, choices[:, None], axis=-1)
    if not count:
        return [chosen]
    count = min(count, logits.shape[-1])
    top = mx.argpartition(-logprobs, kth=count - 1, axis=-1)[:, :count]
    top = mx.take_along_axis(top, mx.argsort(-mx.take_along_axis(logprobs, top, axis=-1), axis=-1), axis=-1)
    return [chosen, top, mx.take_along_axis(logprobs, top, axis=-1)]


def read(found: Report, rows: int) -> tuple[RowLogprobs, ...]:
    """Wait for a report, and return its first `rows` rows."""
    if not found:
        return ()
    chosen, *top = (cast(list[list], part[:rows].tolist()) for part in found)
    tokens, values = top or ([[]] * rows, [[]] * rows)
    return tuple(RowLogprobs(chosen[row][0], tuple(zip(tokens[row], values[row], strict=True))) for row in range(len(chosen)))
