"""Whole conversations: a kind, perhaps earlier turns, perhaps a system prompt, perhaps thinking."""

from __future__ import annotations

import random
from dataclasses import dataclass

from . import arithmetic, measures, refusals, sequences, styles, talk, words
from .exchange import Exchange, Maker, draw
from .template import Message, prompt, without_thinking

KINDS: dict[str, tuple[Maker, float]] = {
    "divisors": (arithmetic.divisors, 2.6),
    "sums": (arithmetic.sums, 2.0),
    "conversion": (measures.conversion, 2.2),
    "percentages": (measures.percentages, 2.2),
    "sorting": (sequences.sorting, 1.8),
    "counting": (sequences.counting, 1.0),
    "tables": (sequences.tables, 1.2),
    "lists": (sequences.lists, 1.2),
    "functions": (words.functions, 0.8),
    "capitals": (words.capitals, 0.9),
    "talk": (talk.talk, 1.5),
    "refusals": (refusals.refusals, 2.2),
}
WEIGHTS = {name: weight for name, (_, weight) in KINDS.items()}
FINISHING = {
    "divisors": 3.0,
    "sums": 1.5,
    "conversion": 1.8,
    "percentages": 1.2,
    "sorting": 3.0,
    "counting": 3.5,
    "tables": 0.6,
    "lists": 2.5,
    "functions": 0.4,
    "capitals": 0.4,
    "talk": 2.2,
    "refusals": 1.2,
}
"""The weights of the last part of training: more of what was still wrong after the first."""
LAST = FINISHING | {
    "divisors": 3.5,
    "sums": 1.0,
    "conversion": 1.5,
    "percentages": 0.6,
    "sorting": 2.5,
    "counting": 9.0,
    "tables": 0.4,
    "lists": 1.5,
    "capitals": 0.3,
    "talk": 1.5,
    "refusals": 0.7,
}
"""The weights of the very last part: mostly counting, where to stop being the last thing learnt."""
NUMERIC = ("divisors", "sums", "conversion", "percentages", "sorting", "counting")
FOLLOWED = (*NUMERIC, "tables", "capitals")


@dataclass(frozen=True)
class Chat:
    """The messages up to the question, the switch, and the reference reply."""

    kind: str
    messages: tuple[Message, ...]
    thinking: bool
    reply: str
    exchanges: tuple[Exchange, ...]
    style: styles.Style | None = None

    def prompt(self) -> str:
        """The text before the reply."""
        return prompt(list(self.messages), self.thinking)


def make(
    rng: random.Random,
    kinds: list[str],
    *,
    thinking: bool,
    style: styles.Style | None = None,
    fresh: bool = False,
) -> Chat:
    """A conversation with one turn for each kind named; "follow-up" goes on with the kind before it."""
    messages: list[Message] = []
    if style is not None:
        messages.append({"role": "system", "content": style.system})
    exchanges: list[Exchange] = []
    reply = ""
    for turn, kind in enumerate(kinds):
        if turn:
            messages.append({"role": "assistant", "content": without_thinking(reply)})
        topic = exchanges[-1].topic if kind == "follow-up" else None
        name = exchanges[-1].kind if kind == "follow-up" else kind
        exchange = draw(KINDS[name][0], rng, fresh, topic)
        exchanges.append(exchange)
        messages.append({"role": "user", "content": exchange.question})
        reply = exchange.answer(thinking)
        if style is not None:
            reply = style.apply(reply)
    return Chat(kinds[-1], tuple(messages), thinking, reply, tuple(exchanges), style)


Weights = dict[str, float]


def _kind(rng: random.Random, weights: Weights, names: tuple[str, ...] = tuple(KINDS)) -> str:
    return rng.choices(names, [weights[name] for name in names])[0]


def follow_up(
    rng: random.Random,
    *,
    thinking: bool,
    fresh: bool,
    names: tuple[str, ...] = FOLLOWED,
    weights: Weights = WEIGHTS,
) -> Chat:
    """One to three earlier turns, then a short follow-up to the last of them."""
    kinds = [_kind(rng, weights) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
    kinds += [_kind(rng, weights, names), "follow-up"]
    if len(kinds) < 4 and rng.random() < 0.25:
        kinds.append("follow-up")
    return make(rng, kinds, thinking=thinking, fresh=fresh)


def training_chat(rng: random.Random, weights: Weights = WEIGHTS) -> Chat:
    """One conversation of the training text."""
    thinking = rng.random() < 0.25
    sort = rng.random()
    if sort < 0.66:
        return make(rng, [_kind(rng, weights)], thinking=thinking)
    if sort < 0.82:
        return follow_up(rng, thinking=thinking, fresh=False, weights=weights)
    if sort < 0.86:
        return make(rng, [_kind(rng, weights) for _ in range(rng.randint(2, 4))], thinking=thinking)
    if sort < 0.89:
        return make(rng, [_kind(rng, weights)], thinking=thinking, style=styles.neutral(rng))
    kinds = [_kind(rng, weights) for _ in range(rng.choice([1, 1, 1, 1, 2]))]
    return make(rng, kinds, thinking=thinking, style=styles.styled(rng, fresh=False))
