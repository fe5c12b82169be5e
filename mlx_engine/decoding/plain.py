"""Plain decoding: the target alone, one token per pass."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import cast

import mlx.core as mx

from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Source
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.drafters.drafter import Backlog
from mlx_engine.formats.logprobs import Report, RowLogprobs, read
from mlx_engine.targets.target import Caches, Target

_CLEAR_EVERY = 256  # tokens between frees of MLX's unused buffers, as in mlx-lm


@dataclass(frozen=True)
class Step:
    """The tokens of one pass."""

    tokens: tuple[int, ...]
    sources: tuple[Source, ...]  # one per token
    width: int = 1  # verified rows; 1 for a plain step
    drafted: int = 0
    tested: int = 0  # drafts compared with the target's choices
    accepted: int = 0
    proposer: Source = "target"
    why: EngineText | None = None  # reason for a plain step
    trial: bool = False  # made to measure its cost or acceptance
    logprobs: tuple[RowLogprobs, ...] = ()  # one per token, if asked for


def plain(
    target: Target,
    caches: Caches,
    first: int,
    position: int,
    chooser: Chooser,
    penalties: Penalties,
    limit: int,
    backlog: Backlog | None = None,
) -> Generator[Step, None, None]:
    """Yield up to `limit` tokens after `first`, which isn't cached yet.

    The next pass is queued before a token is read, so that the device never waits for the host. If the generator is closed early,
    the caches may therefore contain the last token that it yielded. Penalties need the token first and prevent queuing.

    Args:
        backlog: receives the features of every pass for the drafter's context.
    """

    def queue_pass(token: mx.array, at: int) -> tuple[mx.array, Report]:
        if backlog is None:
            logits = target.forward(token, caches)
        else:
            logits, features = target.forward_tapped(token, caches)
            backlog.add(features, token)
        chosen = chooser.choose(penalties.apply(logits), at + 1, chooser.noise(at + 1, 1, logits.shape[-1]))
        report = chooser.report(logits, chosen)
        mx.async_eval(chosen, report)
        return chosen, report

    try:
        current, report = queue_pass(mx.array([first]), position)
        for count in range(1, limit + 1):
            ahead = None if penalties.active or count == limit else queue_pass(current, position + count)
            token = cast(int, current.item())
            yield Step((token,), ("target",), logprobs=read(report, 1))
            if count == limit:
                return
            penalties.add((token,))
            current, report = queue_pass(current, position + count) if ahead is None else ahead
            if count % _CLEAR_EVERY == 0:
                mx.clear_cache()
    finally:
        if backlog is not None:
            backlog.flush()
