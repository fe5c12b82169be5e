"""Conversations of one or more turns, some with a system prompt, some with thinking, some with tools."""

from __future__ import annotations

import random
from dataclasses import dataclass

from . import (
    arithmetic,
    calculations,
    capitals,
    commands,
    dates,
    division,
    edges,
    facts,
    foreign,
    fun,
    functions,
    language,
    letters,
    measures,
    practice,
    refusals,
    remarks,
    sequences,
    styles,
    talk,
    units_back,
)  # fmt: skip
from .exchange import Exchange, Maker, draw
from .split import held_out
from .template import Message, Part, Tool, parts, prompt, without_thinking
from .tools import NAME, some_tools


def _comparison(rng: random.Random, topic: str | None) -> Exchange:
    return (edges.comparison if (topic or "").startswith("decimals") else arithmetic.comparison)(rng, topic)


def _conversion(rng: random.Random, topic: str | None) -> Exchange:
    back = topic is not None and topic.split()[0] in units_back.TOPICS
    return (units_back.units_back if back else measures.conversion)(rng, topic)


KINDS: dict[str, tuple[Maker, float]] = {
    "divisors": (arithmetic.divisors, 4.6),
    "sums": (arithmetic.sums, 1.6),
    "multiplication": (measures.multiplication, 1.0),
    "comparison": (_comparison, 2.8),
    "conversion": (_conversion, 2.6),
    "percentages": (measures.percentages, 1.0),
    "sorting": (sequences.sorting, 4.0),
    "counting": (sequences.counting, 0.8),
    "tables": (sequences.tables, 0.6),
    "lists": (sequences.lists, 1.7),
    "functions": (functions.functions, 1.7),
    "capitals": (capitals.capitals, 1.0),
    "reversing": (language.reversing, 6.0),
    "spelling": (language.spelling, 4.0),
    "translation": (language.translation, 1.0),
    "jokes": (fun.jokes, 1.3),
    "haiku": (fun.haiku, 1.1),
    "talk": (talk.talk, 4.2),
    "refusals": (refusals.refusals, 7.0),
    "division": (division.division, 3.5),
    "dates": (dates.dates, 2.5),
    "letters": (letters.letters, 3.0),
    "facts": (facts.facts, 1.8),
    "commands": (commands.commands, 1.3),
    "foreign": (foreign.foreign, 2.5),
}
"""The maker of each kind, and its weight in the training text, higher for kinds that are hard to learn."""
MAKERS = {kind: maker for kind, (maker, _) in KINDS.items()} | {
    "calculator": calculations.calculation,
    "beside calculator": refusals.beside_calculator,
}
UNFOLLOWED = ("lists", "functions", "talk", "refusals", "spelling", "facts", "commands", "foreign")
FOLLOWED = tuple(kind for kind in KINDS if kind not in UNFOLLOWED)


@dataclass(frozen=True)
class Chat:
    """The messages up to the question, the thinking switch, and the reference reply."""

    kind: str
    messages: tuple[Message, ...]
    thinking: bool
    reply: str
    exchanges: tuple[Exchange, ...]
    style: styles.Style | None = None
    tools: tuple[Tool, ...] = ()

    def right_replies(self) -> list[str]:
        """Return the reply and its equals, such as other jokes."""
        replies = self.exchanges[-1].answers(self.thinking)
        return replies if self.style is None else [self.style.apply(reply) for reply in replies]

    def prompt(self) -> str:
        """Return the text before the reply."""
        return prompt(self.messages, self.thinking, self.tools)

    def parts(self) -> list[Part]:
        """Return the whole conversation in pieces."""
        return [*parts(self.messages, self.thinking, self.tools), (self.reply + "<|im_end|>", "reply"), ("\n", "prompt")]


def make(
    rng: random.Random,
    kinds: list[str],
    *,
    thinking: bool,
    style: styles.Style | None = None,
    fresh: bool = False,
    tools: tuple[Tool, ...] = (),
) -> Chat:
    """Make a conversation with one turn per kind; "follow-up" continues the kind before it, and "remark" is about the answer before it."""
    messages: list[Message] = []
    if style is not None:
        messages.append({"role": "system", "content": style.system})
    exchanges: list[Exchange] = []
    reply = ""
    for turn, kind in enumerate(kinds):
        if turn:
            messages.append({"role": "assistant", "content": without_thinking(reply)})
        topic = exchanges[-1].topic if kind == "follow-up" else None
        name = exchanges[-1].kind if kind in ("follow-up", "remark") else kind
        if any(tool["function"]["name"] == NAME for tool in tools):
            name = {"refusals": "beside calculator", "division": "calculator"}.get(name, name)
        if kind == "remark":
            exchange = _remark(rng, exchanges[-1], fresh)
        else:
            maker = MAKERS[name] if fresh or topic else practice.practiced(name, MAKERS[name], rng)
            exchange = draw(maker, rng, fresh, topic)
        exchanges.append(exchange)
        messages.append({"role": "user", "content": exchange.question})
        if exchange.expression:
            messages += _call(exchange, thinking)
        reply = exchange.answer(thinking)
        if style is not None:
            reply = style.apply(reply)
    return Chat(kinds[-1], tuple(messages), thinking, reply, tuple(exchanges), style, tools)


def _remark(rng: random.Random, before: Exchange, fresh: bool) -> Exchange:
    while True:
        exchange = remarks.remark(rng, before)
        if held_out(exchange.kind, exchange.operands) == fresh:
            return exchange


def _call(exchange: Exchange, thinking: bool) -> tuple[Message, Message]:
    call = {"type": "function", "function": {"name": NAME, "arguments": {"expression": exchange.expression}}}
    message: Message = {"role": "assistant", "content": "", "tool_calls": [call]}
    if thinking:
        message["reasoning_content"] = calculations.CALL_THOUGHT
    return message, {"role": "tool", "content": exchange.output}


def _kind(rng: random.Random, names: tuple[str, ...] = tuple(KINDS)) -> str:
    return rng.choices(names, [KINDS[name][1] for name in names])[0]


def follow_up(rng: random.Random, *, thinking: bool, fresh: bool, names: tuple[str, ...] = FOLLOWED) -> Chat:
    """Make a conversation of one to three turns and a short follow-up to the last one."""
    kinds = [_kind(rng) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
    kinds += [_kind(rng, names), "follow-up"]
    if len(kinds) < 4 and rng.random() < 0.25:
        kinds.append("follow-up")
    return make(rng, kinds, thinking=thinking, fresh=fresh)


def dialog(
    rng: random.Random, *, fresh: bool, turns: int, names: tuple[str, ...] = remarks.REMARKED, thinking: bool = False
) -> Chat:
    """Make a conversation of two or three turns that are about the first one."""
    kinds = [_kind(rng, names)]
    for _ in range(turns - 1):
        followed = (kinds[0] in FOLLOWED and rng.random() < 0.4) or (kinds[0] in ("jokes", "haiku") and rng.random() < 0.6)
        kinds.append("follow-up" if followed else "remark")
    return make(rng, kinds, thinking=thinking, fresh=fresh)


def _trained(rng: random.Random) -> str:
    """Draw a kind for the training text, in a third of the cases one that needs practice."""
    return rng.choices(list(practice.EXTRA), list(practice.EXTRA.values()))[0] if rng.random() < 0.33 else _kind(rng)


def training_chat(rng: random.Random) -> Chat:
    """Make one conversation of the training text."""
    thinking = rng.random() < 0.25
    sort = rng.random()
    if sort < 0.51:
        return make(rng, [_trained(rng)], thinking=thinking)
    if sort < 0.6:
        return dialog(rng, fresh=False, turns=rng.choice([2, 2, 3]), thinking=thinking)
    if sort < 0.72:
        return follow_up(rng, thinking=thinking, fresh=False)
    if sort < 0.75:
        return make(rng, [_trained(rng) for _ in range(rng.randint(2, 4))], thinking=thinking)
    if sort < 0.78:
        return make(rng, [_trained(rng)], thinking=thinking, style=styles.neutral(rng))
    kinds = [_trained(rng) for _ in range(rng.choice([1, 1, 1, 1, 2]))]
    return make(rng, kinds, thinking=thinking, style=styles.styled(rng, fresh=False))


LONGEST = 2150  # characters of a conversation with tools, about 950 tokens
NEAR = ("sums", "multiplication", "percentages", "comparison", "conversion", "refusals")  # most like what the calculator is for


def tools_chat(rng: random.Random) -> Chat:
    """Make a conversation with tools, most often the calculator, that fits in a long window."""
    while True:
        thinking = rng.random() < 0.2
        calculator = rng.random() < 0.88
        sort = rng.random()
        kinds = [_kind(rng, NEAR if rng.random() < 0.4 else tuple(KINDS))]
        if calculator and sort < 0.72:
            kinds = [
                "calculator",
                *rng.choice([[], [], [], ["follow-up"], ["follow-up"], ["calculator"], ["follow-up"] * 2, ["follow-up"] * 3]),
            ]
            if rng.random() < 0.25:
                kinds.insert(rng.choice([0, len(kinds)]), _kind(rng))
        elif sort > 0.9:
            kinds.append(_kind(rng))
        style = styles.neutral(rng) if rng.random() < 0.08 else styles.styled(rng, fresh=False) if rng.random() < 0.06 else None
        chat = make(rng, kinds, thinking=thinking, style=style, tools=some_tools(rng, calculator))
        if sum(len(text) for text, _ in chat.parts()) < LONGEST:
            return chat
