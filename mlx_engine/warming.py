"""A pair's first passes, made before anybody waits for them.

Memory that was never touched, kernels that were never compiled and threads that were never started make the first passes several
times as slow as all others. Made while loading, they spoil neither the first reply nor what the width controller learns from it.
"""

import mlx.core as mx

from mlx_engine.decoding.sampling import Chooser
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.events import Sampling
from mlx_engine.targets.target import Target

_TIMES = 2
_PROMPT_ROWS = 64


def warm(target: Target, drafter: Drafter | None, limit: int) -> None:
    """Prefill, a plain step, and drafts and verifies of a narrow and of the widest block, within a context of `limit` tokens.

    Nothing of it stays.
    """
    block = drafter.config.block_size if drafter else 1
    caches, context = target.caches(), drafter.context() if drafter else None
    chooser = Chooser(Sampling(), 0)
    widths = sorted({1, max(block // 3, 1), block})
    for rows in (max(min(_PROMPT_ROWS, limit - block), 1), *widths * _TIMES):
        tokens = mx.arange(rows, dtype=mx.uint32) % target.vocabulary
        if drafter is None or context is None:
            mx.eval(chooser.pick(target.forward(tokens, caches), None))
            continue
        if context.position and rows > 1:
            mx.eval(drafter.propose(context, tokens[:1], rows, chooser, None))
        logits, features = target.forward_tapped(tokens, caches)
        drafter.inject(context, features)
        mx.eval(chooser.pick(logits, None), context.state)
        if context.position > rows > 1:  # a prompt and a plain step stay, as they do in a reply
            caches.rewind(rows - 1)
            context.drop(rows - 1)
