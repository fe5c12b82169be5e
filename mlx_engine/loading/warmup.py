"""The first passes of a pair, run while it is loaded.

Untouched memory, uncompiled kernels, and unstarted threads make the first passes several times slower. Running them during loading
keeps them out of the first reply and out of what the width controller learns.
"""

import mlx.core as mx

from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.decoding.stream import queued_rounds, run_pass
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.kernels.operations import PLAIN, Operations
from mlx_engine.targets.target import Target

_REPEATS = 2
_PROMPT_ROWS = 64


def warm(target: Target, drafter: Drafter | None, limit: int, operations: Operations = PLAIN, ahead: bool = False) -> None:
    """Run a prefill, a plain step, and drafts and verifies of several widths.

    Args:
        target: the target, already set to use `operations`.
        drafter: the drafter, already set to use `operations`; None without DFlash.
        limit: context length of the target in tokens.
        operations: used to choose tokens.
        ahead: also queue two rounds ahead.
    """
    block = drafter.config.block_size if drafter else 1
    caches, context = target.caches(), drafter.context() if drafter else None
    chooser = Chooser(Sampling(), 0, operations)
    widths = sorted({1, max(block // 3, 1), block})

    def chosen(logits: mx.array, drafts: mx.array | None) -> list[mx.array]:
        if drafts is None:
            return [chooser.choose(logits[-1:], 0, None)]
        verdict = chooser.verify(logits, drafts, 0, None)
        return [verdict.choices, verdict.count()]

    for rows in (max(min(_PROMPT_ROWS, limit - block), 1), *widths * _REPEATS):
        tokens = mx.arange(rows, dtype=mx.uint32) % target.rows
        if drafter is None or context is None:
            mx.eval(chosen(target.forward(tokens, caches), None))
            continue
        if context.position and rows > 1:
            mx.eval(drafter.propose(context, tokens[:1], rows, chooser, None))
        drafts = tokens[1:] if context.position and rows > 1 else None
        logits, features = target.forward_tapped(tokens, caches)
        drafter.inject(context, features, tokens)
        mx.eval(chosen(logits, drafts), context.state)
        if context.position > rows > 1:  # the prompt and plain step stay, as in a reply
            caches.rewind(rows - 1)
            context.drop(rows - 1)
    if ahead and drafter is not None and context is not None and context.position + 2 * block <= limit:
        stream = queued_rounds(target, drafter, caches, context, chooser, block)
        for _ in range(2):
            run_pass(stream, target)
        for _ in range(2):
            stream.read()
