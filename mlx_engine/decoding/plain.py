"""Plain decoding: the target alone, one token a pass."""

from collections.abc import Generator
from typing import cast

import mlx.core as mx

from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.step import Step
from mlx_engine.drafters.backlog import Backlog
from mlx_engine.targets.target import Caches, Target

_FREE_EVERY = 256  # tokens after which MLX's spare buffers are freed, as mlx-lm does


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
    """Yield up to `limit` tokens after `first`, which stands at `position` and is not in the caches yet.

    The next pass is queued before a token is read, so that the device never waits for the host; with penalties, which need the
    token, it is not. So the caches of a generator that is closed early may hold the last token yielded. Every pass adds its
    features to the backlog, if there is one.
    """

    def forward(token: mx.array) -> mx.array:
        if backlog is None:
            return target.forward(token, caches)
        logits, features = target.forward_tapped(token, caches)
        backlog.add(features)
        return logits

    def following(token: mx.array, at: int) -> mx.array:
        logits = penalties.apply(forward(token))
        chosen = chooser.choose(logits, at + 1, chooser.noise(at + 1, 1, logits.shape[-1]))
        mx.async_eval(chosen)
        return chosen

    current = following(mx.array([first]), position)
    for count in range(1, limit + 1):
        queued = not penalties.active and count < limit
        following_token = following(current, position + count) if queued else None
        token = cast(int, current.item())
        yield Step((token,), ("target",))
        if count == limit:
            return
        penalties.add((token,))
        current = following_token if following_token is not None else following(current, position + count)
        if count % _FREE_EVERY == 0:
            mx.clear_cache()
