"""A question with its reference answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from .split import held_out
from .wording import casual


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
    others: tuple[str, ...] = ()  # results that are as good: other jokes
    expression: str = ""  # what the calculator is called with
    output: str = ""  # what it answers

    @property
    def length(self) -> int:
        """Characters of the steps and the result."""
        return len(self.work) + len(self.result)

    def answers(self, thinking: bool) -> list[str]:
        """Return the reply and its equals; with thinking, the steps are in the think block."""
        before = f"<think>\n{self.work}\n</think>\n\n" if thinking else "" if self.hidden else f"{self.work}\n\n"
        return [before + result for result in (self.result, *self.others)]

    def answer(self, thinking: bool) -> str:
        """Return the reply that the training text has."""
        return self.answers(thinking)[0]


Maker = Callable[[random.Random, str | None], Exchange]
"""Makes an exchange, or with a topic a short follow-up to an exchange of that topic."""

HARDER = 0.4
TYPOS = ("talk", "lists", "functions", "jokes", "haiku")  # kinds in which a wrong letter changes nothing


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
        exchange = _casual(rng, maker(rng, topic))
        if held_out(exchange.kind, exchange.operands) == fresh:
            return exchange


def _casual(rng: random.Random, exchange: Exchange) -> Exchange:
    """Ask as people type. Where the wording is the operand, it stays the operand."""
    question = casual(rng, exchange.question, exchange.kind in TYPOS, exchange.operands)
    operands = (question,) if exchange.operands == (exchange.question,) else exchange.operands
    return replace(exchange, question=question, operands=operands)
