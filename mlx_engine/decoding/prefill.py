"""Prefill: run the prompt through the target and its features into the drafter's context."""

from collections.abc import Collection, Iterator, Sequence

import mlx.core as mx

from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.limits import PREFILL_ROWS
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
    """Yield the tokens done after each chunk, and finally the logits [1, V].

    Tokens that the caches already hold, at most all but the last, are skipped. A chunk ends at every multiple of `CHUNK`, and at
    each of `stops`. The last token has a pass of its own, one row wide, as in mlx-lm, so that plain decoding stays bit-equal to
    mlx-lm. Features live no longer than their chunk. A chunk whose features every window of the drafter would drop is run without
    them.
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
    drafter.inject(context, features)
    return logits
