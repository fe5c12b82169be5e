"""Prefill: the prompt through the target, in chunks, and its features into the drafter's context."""

from collections.abc import Iterator, Sequence

import mlx.core as mx

from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.targets.target import Caches, Target

CHUNK = 512  # tokens a pass: long enough to be efficient, short enough that a cancel is soon seen


def prefill(
    target: Target, caches: Caches, prompt: Sequence[int], drafter: Drafter | None, context: DraftContext | None
) -> Iterator[int | mx.array]:
    """Yield the number of tokens done after each chunk, and last the logits [1, V] that follow the prompt.

    The last token has a pass of its own, one row wide, as in mlx-lm, so that plain decoding stays bit-equal to it.
    """
    tokens = mx.array(list(prompt))
    whole, done = len(prompt) - 1, 0
    while done < whole:
        chunk = tokens[done : min(done + CHUNK, whole)]
        _pass(target, caches, chunk, drafter, context)
        mx.eval(caches.state, context.state if context else [])
        mx.clear_cache()
        done += chunk.size
        yield done
    yield _pass(target, caches, tokens[whole:], drafter, context)


def _pass(target: Target, caches: Caches, tokens: mx.array, drafter: Drafter | None, context: DraftContext | None) -> mx.array:
    if drafter is None or context is None:
        return target.forward(tokens, caches)
    logits, features = target.forward_tapped(tokens, caches)
    drafter.inject(context, features)
    return logits
