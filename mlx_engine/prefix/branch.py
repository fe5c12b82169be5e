"""A branch: a sequence of tokens with everything computed for it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx

from mlx_engine.drafters.parts.context import DraftContext, LayerContext
from mlx_engine.targets.cache_adapter import arrays
from mlx_engine.targets.target import Caches


@dataclass
class Mark:
    """The states, saved at one token, of the layers and windows that can't be cut."""

    layers: dict[int, Any]
    windows: list[LayerContext]
    last_used: int = 0

    def arrays(self) -> list[mx.array]:
        return arrays([*self.layers.values()]) + [array for window in self.windows for array in window.state]


@dataclass
class Branch:
    """A sequence of tokens and its caches."""

    caches: Caches
    context: DraftContext | None
    tokens: list[int] = field(default_factory=list)  # their keys; may be ahead of `caches` during a reply
    marks: dict[int, Mark] = field(default_factory=dict)
    reused: int = 0  # number of tokens computed before the request
    from_disk: int = 0  # number of tokens read from disk for the request
    last_used: int = 0
    chat: str | None = None  # that the tokens belong to; None keeps them off the disk
    first_states: int = 0  # position of the first ones on disk, usually the end of the system prompt; 0 if they weren't read
    end_keys: tuple[str, ...] = ()  # of parts on disk that only the next turn needs

    def mark(self) -> None:
        """Save the current states of the layers that can't be cut."""
        mark = Mark(self.caches.freeze(), self.context.freeze() if self.context else [])
        mx.eval(mark.arrays())
        self.marks[self.caches.length] = mark

    def arrays(self) -> list[mx.array]:
        """Return all arrays of the branch and its marks."""
        own = self.caches.state + (self.context.state if self.context else [])
        return own + [array for mark in self.marks.values() for array in mark.arrays()]


def shared_length(a: Sequence[int], b: Sequence[int]) -> int:
    """Return the length of the shared prefix."""
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
