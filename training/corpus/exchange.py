"""A question with its reference answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from .split import held_out


@dataclass(frozen=True)
class Exchange:
    """A question, the operands that identify it, the worked steps, and the result.

    `topic` narrows the kind ("add", "weeks to days") for follow-ups.
    """

    kind: str
    topic: str
    operands: tuple[str, ...]
    question: str
    work: str
    result: str
    hidden: bool = False  # the steps are shown only as thinking

    @property
    def length(self) -> int:
        """Characters of the steps and the result."""
        return len(self.work) + len(self.result)

    def answer(self, thinking: bool) -> str:
        """Return the reply; with thinking, the steps are in the think block."""
        if thinking:
            return f"<think>\n{self.work}\n</think>\n\n{self.result}"
        return self.result if self.hidden else f"{self.work}\n\n{self.result}"


Maker = Callable[[random.Random, str | None], Exchange]
"""Makes an exchange, or with a topic a short follow-up to an exchange of that topic."""

HARDER = 0.4


def draw(maker: Maker, rng: random.Random, fresh: bool, topic: str | None = None) -> Exchange:
    """Draw an exchange from the held-out side of the split (`fresh`) or from the training side.

    Long answers (a number that must be divided by 23) are rare and go wrong most, so the training text often uses the longer of two.
    """
    exchange = _one(maker, rng, fresh, topic)
    if fresh or rng.random() >= HARDER:
        return exchange
    other = _one(maker, rng, fresh, topic)
    return other if other.topic == exchange.topic and other.length > exchange.length else exchange


def _one(maker: Maker, rng: random.Random, fresh: bool, topic: str | None) -> Exchange:
    while True:
        exchange = maker(rng, topic)
        if held_out(exchange.kind, exchange.operands) == fresh:
            return exchange
