"""DFlash decoding: draft a block, verify it in one pass of the target, keep what the target would have chosen itself."""

from collections.abc import Generator
from typing import cast

import mlx.core as mx

from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.step import Step
from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.dflash import DFlashDrafter
from mlx_engine.events import Source
from mlx_engine.targets.target import Caches, Target

_FREE_EVERY = 64  # rounds after which MLX's spare buffers are freed


def speculative(
    target: Target,
    drafter: DFlashDrafter,
    caches: Caches,
    context: DraftContext,
    first: int,
    chooser: Chooser,
    penalties: Penalties,
    limit: int,
    width: int,
) -> Generator[Step, None, None]:
    """Yield up to `limit` tokens after `first`, a round at a time; width 1 is plain decoding that keeps the drafter's context.

    `first` stands at `context.position` and is in neither caches nor context. Every token is the target's own choice; drafts decide
    only how many of them one pass yields. After each step the caches and the context hold all rows before that step's last token,
    counted before the cut at `limit`.
    """
    anchor, left, rounds = first, limit, 0
    while left > 0:
        rows = min(width, left + 1)
        step, anchor = _round(target, drafter, caches, context, anchor, chooser, penalties, rows)
        tokens = step.tokens[:left]
        penalties.add(tokens)
        left -= len(tokens)
        rounds += 1
        if rounds % _FREE_EVERY == 0:
            mx.clear_cache()
        yield step if len(tokens) == len(step.tokens) else _cut(step, len(tokens))


def _round(
    target: Target,
    drafter: DFlashDrafter,
    caches: Caches,
    context: DraftContext,
    anchor: int,
    chooser: Chooser,
    penalties: Penalties,
    rows: int,
) -> tuple[Step, int]:
    """One draft and its verify, `rows` wide: the step it yields and the next anchor."""
    start = mx.array([anchor], dtype=mx.uint32)
    if rows == 1:
        logits, features = target.forward_tapped(start, caches)
        choice = chooser.pick(penalties.apply(logits), chooser.noise(context.position + 1, 1, logits.shape[-1]))
        drafter.inject(context, features)
        token = cast(int, choice.item())
        return Step((token,), ("target",)), token

    guesses = drafter.draft(context, start, rows)
    noise = chooser.noise(context.position + 1, rows, guesses.shape[-1])
    drafts = chooser.propose(guesses, noise)
    mx.async_eval(drafts)  # the drafter runs while the host builds the verify
    logits, features = target.forward_tapped(mx.concatenate([start, drafts]), caches)
    choices = chooser.pick(penalties.apply(logits, drafts), noise)
    mx.eval(choices)

    drafted, chosen = cast(list[int], drafts.tolist()), cast(list[int], choices.tolist())
    accepted = 0
    while accepted < len(drafted) and drafted[accepted] == chosen[accepted]:
        accepted += 1
    kept = accepted + 1
    caches.rewind(rows - kept)
    drafter.inject(context, features[:kept])
    step = Step(
        tokens=tuple(chosen[:kept]),
        sources=cast(tuple[Source, ...], ("drafter",) * accepted + ("target",)),
        width=rows,
        drafted=len(drafted),
        tested=min(kept, len(drafted)),
        accepted=accepted,
    )
    return step, chosen[accepted]


def _cut(step: Step, count: int) -> Step:
    return Step(step.tokens[:count], step.sources[:count], step.width, step.drafted, step.tested, step.accepted)
