"""Prefill: fill the target's caches and the drafter's context with the prompt."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.contract.limits import PREFILL_ROWS
from mlx_engine.decoding.prompt_images import PromptImages
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.targets.target import Caches, Target

CHUNK = PREFILL_ROWS
_CHUNK_S = 1.0  # of a chunk on a GPU: macOS stops work of several seconds if it holds up the screen
_SLOWEST = 2e12  # operations per second of the slowest GPU, an M1's
_FEWEST = 16  # rows, below which a chunk takes as long as reading the weights


def safe_rows(operations: int) -> int:
    """Return the largest number of rows whose chunk takes at most a second on any GPU.

    Args:
        operations: floating-point operations per row.
    """
    return _power_of_two(_CHUNK_S * _SLOWEST / operations)


def _power_of_two(rows: float) -> int:
    """Return the largest power of two up to `rows`, within the limits of a chunk."""
    return 1 << max(min(int(rows), PREFILL_ROWS).bit_length(), _FEWEST.bit_length()) - 1


@dataclass
class Pace:
    """The size of chunks, a power of two, which may follow the time that they take.

    Attributes:
        rows: largest number of rows of the next chunk.
        adapts: whether `rows` changes.
        clock: returns seconds.
    """

    rows: int = PREFILL_ROWS
    adapts: bool = False
    clock: Callable[[], float] = time.perf_counter

    def end(self, start: int) -> int:
        """Return the end of a chunk that begins at `start`: the next multiple of its size."""
        rows = min(self.rows, CHUNK)
        return start - start % rows + rows

    @contextmanager
    def timed(self, rows: int) -> Iterator[None]:
        """Time the chunk of this block.

        A chunk of fewer rows than usual is too slow per row to tell how long others take, unless it takes too long itself. One that
        failed may have taken too long.
        """
        began, usual = self.clock(), self.rows
        try:
            yield
        except Exception:
            if self.adapts:
                self.rows = min(self.rows, _power_of_two(rows / 2))
            raise
        seconds = self.clock() - began
        if self.adapts and seconds > 0 and (rows >= usual or seconds > _CHUNK_S):
            self.rows = _power_of_two(_CHUNK_S * rows / seconds)


def chunk_end(start: int, last: int, stops: Collection[int], pace: Pace, images: PromptImages | None = None) -> int:
    """Return the end of the chunk that begins at `start`, at most `last`."""
    end = min(pace.end(start), last, *(stop for stop in stops if stop > start))
    return images.chunk_end(start, end) if images else end


def prefill(
    target: Target,
    caches: Caches,
    prompt: Sequence[int],
    drafter: Drafter | None,
    context: DraftContext | None,
    stops: Collection[int] = (),
    pace: Pace | None = None,
    images: PromptImages | None = None,
) -> Iterator[int]:
    """Cache a prompt but for its last token. Yield the count after each chunk.

    Cached tokens are skipped. A chunk ends at every multiple of `CHUNK`, at each of `stops`, and where `pace` says, unless that
    divides an image that must be in one chunk. As in mlx-lm, the last token has a pass of its own, the first of decoding, which
    keeps plain decoding bit-identical to mlx-lm. Features are freed with their chunk, and are not computed for a chunk that every
    window of the drafter would drop.
    """
    tokens = mx.array(list(prompt))
    last, done, pace = len(prompt) - 1, caches.length, pace or Pace()
    caches.shift = images.shift(done) if images else 0
    while done < last:
        end = chunk_end(done, last, stops, pace, images)
        rows = images.rows(done, end) if images else None
        with pace.timed(end - done):
            chunk = tokens[done:end]
            if context is None or drafter is None:
                target.forward(chunk, caches, images=rows)
            elif any(context.reads(end - 1, stop) for stop in (*stops, len(prompt)) if stop >= end):
                drafter.inject(context, target.forward_tapped(chunk, caches, images=rows)[1], chunk)
            else:
                target.forward(chunk, caches, images=rows)
                context.skip(end - done)
            mx.eval(caches.state, context.state if context else [])
        mx.clear_cache()
        done = end
        if images:
            caches.shift = images.shift(done)
        yield done
