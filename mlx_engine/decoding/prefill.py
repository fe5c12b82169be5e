"""Prefill: fill the target's caches and the drafter's context with the prompt."""

from collections.abc import Collection, Iterator, Sequence

import mlx.core as mx

from mlx_engine.contract.limits import PREFILL_ROWS
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.targets.target import Caches, Target

CHUNK = PREFILL_ROWS


def prefill(
    target: Target,
    caches: Caches,
    prompt: Sequence[int],
    drafter: Drafter | None,
    context: DraftContext | None,
    stops: Collection[int] = (),
) -> Iterator[int]:
    """Cache a prompt but for its last token. Yield the count after each chunk.

    Cached tokens are skipped. A chunk ends at every multiple of `CHUNK` and at each of `stops`. As in mlx-lm, the last token has a
    pass of its own, the first of decoding, which keeps plain decoding bit-identical to mlx-lm. Features are freed with their chunk,
    and are not computed for a chunk that every window of the drafter would drop.
    """
    tokens = mx.array(list(prompt))
    last, done = len(prompt) - 1, caches.length
    ends = sorted(stop for stop in {*range(CHUNK, last, CHUNK), *stops, last} if done < stop <= last)
    for end in ends:
        chunk = tokens[done:end]
        if context is None or drafter is None:
            target.forward(chunk, caches)
        elif any(context.reads(end - 1, stop) for stop in (*stops, len(prompt)) if stop >= end):
            drafter.inject(context, target.forward_tapped(chunk, caches)[1], chunk)
        else:
            target.forward(chunk, caches)
            context.skip(end - done)
        mx.eval(caches.state, context.state if context else [])
        mx.clear_cache()
        done = end
        yield done
