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
) -> Iterator[int | mx.array]:
    """Yield the count of prefilled tokens per chunk, then the logits [1, V].

    Cached tokens are skipped, except for the last token of the prompt. A chunk ends at every multiple of `CHUNK` and at each of
    `stops`. As in mlx-lm, the last token has a pass of its own, which keeps plain decoding bit-identical to mlx-lm. Features are
    freed with their chunk, and are not computed for a chunk that every window of the drafter would drop.
    """
    tokens = mx.array(list(prompt))
    last, done = len(prompt) - 1, caches.length
    ends = sorted(stop for stop in {*range(CHUNK, last, CHUNK), *stops, last} if done < stop <= last)
    for end in ends:
        chunk = tokens[done:end]
        if context is None or any(context.reads(end - 1, stop) for stop in (*stops, len(prompt)) if stop >= end):
            _pass(target, caches, chunk, drafter, context)
        else:
            target.forward(chunk, caches)
            context.skip(end - done)
        mx.eval(caches.state, context.state if context else [])
        mx.clear_cache()
        done = end
        yield done
    yield _pass(target, caches, tokens[last:], drafter, context)


def _pass(target: Target, caches: Caches, tokens: mx.array, drafter: Drafter | None, context: DraftContext | None) -> mx.array:
    if drafter is None or context is None:
        return target.forward(tokens, caches)
    logits, features = target.forward_tapped(tokens, caches)
    drafter.inject(context, features, tokens)
    return logits
