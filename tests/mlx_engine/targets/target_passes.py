"""Helpers for tests of a target's passes."""

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import pytest

from mlx_engine.targets.caches import Caches
from mlx_engine.targets.target import StreamRows, Target


def before_each_pass(target: Target, patch: pytest.MonkeyPatch, act: Callable[[int], Any]) -> None:
    """Call `act` with the number of rows, of all streams, before each of the target's passes."""

    def watched(forward: Callable[..., Any]) -> Callable[..., Any]:
        def run(given: mx.array | Sequence[StreamRows], *rest: Any, **named: Any) -> Any:
            act(given.shape[0] if isinstance(given, mx.array) else sum(stream.tokens.shape[0] for stream in given))
            return forward(given, *rest, **named)

        return run

    for name in ("forward", "forward_tapped", "forward_packed"):
        patch.setattr(target, name, watched(getattr(target, name)))


def fork(target: Target, caches: Caches) -> Caches:
    """Return caches that continue from where these stand. Buffers are shared until either side writes; MLX copies then."""
    forked = target.caches()
    for ours, theirs in zip(forked.adapters, caches.adapters, strict=True):
        ours.thaw(theirs.freeze())
    forked.length = caches.length
    return forked
