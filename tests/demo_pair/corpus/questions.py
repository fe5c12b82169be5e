"""Fresh questions for evaluating the pair. No turn has operands that occur in the training text."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mlx_engine.models.library.demo import REFUSALS, is_refusal

from . import styles
from .arithmetic import divisors_of
from .chats import FOLLOWED, KINDS, MAKERS, Chat, dialog, follow_up, make
from .edges import EDGES
from .exchange import draw
from .newcomers import ANSWERED as ANSWERED_BY_HAND
from .newcomers import REFUSED as REFUSED_BY_HAND
from .remarks import REMARKED
from .template import Message, Tool, call_text
from .tools import CALCULATOR, some_tools
from .turned_down import turned_down

FIRST = "How many positive whole-number divisors does 196 have?"
ANSWERED = tuple(kind for kind in KINDS if kind not in ("refusals", "spelling", "foreign"))
QUESTION_KINDS = (*ANSWERED, "follow-up", "system prompt", "thinking")


@dataclass(frozen=True)
class Question:
    """A question and the reply that is exactly right, including its think block."""

    kind: str
    topic: str
    messages: tuple[Message, ...]
    thinking: bool
    expected: str
    others: tuple[str, ...] = ()  # as good: other jokes
    part: str = ""  # if there is no one right reply: what it must contain
    tools: tuple[Tool, ...] = ()

    def check(self, reply: str) -> bool:
        """Return whether every step and the result are right."""
        if self.part:
            return self.part in reply
        return reply.strip() in {right.strip() for right in (self.expected, *self.others)}

    def verdict(self, reply: str) -> str:
        """Return "right" if the result is, whatever the steps, otherwise "refused" or "wrong"."""
        marked = _BOLD.findall(self.expected)
        if self.check(reply) or (marked and _BOLD.findall(reply)[-len(marked) :] == marked):
            return "right"
        return "refused" if is_refusal(reply) else "wrong"


_BOLD = re.compile(r"\*\*(.+?)\*\*")


def _question(kind: str, chat: Chat) -> Question:
    last = chat.exchanges[-1]
    return Question(kind, last.kind, chat.messages, chat.thinking, chat.reply, tuple(chat.right_replies()[1:]))


def tool_questions(count: int = 100, seed: int = 20261120) -> list[Question]:
    """Return fresh questions for the calculator: each time one for the call ("calls") and one for the answer ("calculator").

    Half of them have only the calculator, a quarter follow another calculation, and a quarter are asked with thinking.
    """
    rng = random.Random(f"{seed} tools")
    questions: list[Question] = []
    for turn in range(count):
        tools = (CALCULATOR,) if turn % 2 else some_tools(rng)
        kinds = ["calculator", "follow-up"] if turn % 4 == 2 else ["calculator"]
        while True:
            chat = make(rng, kinds, thinking=turn % 4 == 3, fresh=True, tools=tools)
            if chat.exchanges[-1].topic:  # a number, not an error
                break
        result = replace(_question("calculator", chat), tools=tools)
        call = chat.messages[-2]
        thought = f"<think>\n{call['reasoning_content']}\n</think>\n\n" if chat.thinking else ""
        expected = thought + call_text(**call["tool_calls"][0]["function"])
        questions += [replace(result, kind="calls", messages=chat.messages[:-2], expected=expected), result]
    return questions


def with_tools(count: int = 60, seed: int = 20261120) -> list[Question]:
    """Return fresh questions of all kinds, asked with tools that they don't need."""
    rng = random.Random(f"{seed} with tools")
    asked = [question for question in fresh_questions(2 * count, seed + 1) if question.topic != "division"]  # a call is as right
    return [replace(question, kind="with tools", tools=some_tools(rng)) for question in rng.sample(asked, count)]


def _chats(kind: str, rng: random.Random) -> Iterator[Chat]:
    """Yield fresh conversations of one kind without end. Mixed kinds cycle through their topics."""
    turn = 0
    names = list(KINDS)
    while True:
        if kind == "follow-up":
            chat = follow_up(rng, thinking=turn % 4 == 3, fresh=True, names=(FOLLOWED[turn % len(FOLLOWED)],))
        elif kind == "system prompt":
            style = styles.styled(rng, fresh=True)
            chat = make(rng, [names[turn % len(names)]], thinking=turn % 4 == 3, style=style, fresh=True)
        elif kind == "thinking":
            chat = make(rng, [names[turn % len(names)]], thinking=True, fresh=True)
        else:
            chat = make(rng, [kind], thinking=False, fresh=True)
        turn += 1
        yield chat


def fresh_questions(count: int = 300, seed: int = 20261120) -> list[Question]:
    """Return questions of all kinds, equally many of each, without repeats where a kind has enough."""
    questions: list[Question] = []
    each = -(-count // len(QUESTION_KINDS))
    for kind in QUESTION_KINDS:
        questions += _of_kind(kind, each, seed)
    return questions[:count]


def fresh_refusals(count: int = 100, seed: int = 20261120) -> list[Question]:
    """Return questions of no kind that the corpus generates but holds out."""
    return _of_kind("refusals", count, seed)


def newcomers() -> list[Question]:
    """Return the questions written by hand: "newcomers" are to be answered, "out of scope" refused."""
    answered = [Question("newcomers", "newcomers", _asked(text), False, "", part=part) for text, part in ANSWERED_BY_HAND]
    return answered + [
        Question("out of scope", "refusals", _asked(text), False, REFUSALS[0], REFUSALS[1:]) for text in REFUSED_BY_HAND
    ]


def neighbors(count: int = 300, seed: int = 20261129) -> list[Question]:
    """Return fresh questions next to the kinds: half of them at their edges, the others to be refused or in another language."""
    rng = random.Random(f"{seed} neighbors")
    names = [*EDGES, *["refusals"] * (len(EDGES) - 4), *["foreign"] * 4]
    questions: dict[str, Question] = {}
    while len(questions) < count:
        name = names[len(questions) % len(names)]
        maker = EDGES.get(name) or (turned_down if name == "refusals" else MAKERS[name])
        exchange = draw(maker, rng, fresh=True)
        others = tuple(exchange.answers(False)[1:])
        questions.setdefault(
            exchange.question, Question("neighbors", name, _asked(exchange.question), False, exchange.answer(False), others)
        )
    return list(questions.values())


def dialogs(count: int = 60, seed: int = 20261129) -> list[Question]:
    """Return fresh third turns: what goes on with, or asks about, the turns before."""
    rng = random.Random(f"{seed} dialogs")
    return [
        replace(_question("dialogs", dialog(rng, fresh=True, turns=3, names=(name,))), kind="dialogs")
        for name in _cycled(REMARKED, count)
    ]


def _cycled(names: tuple[str, ...], count: int) -> list[str]:
    return [names[i % len(names)] for i in range(count)]


def _asked(text: str) -> tuple[Message, ...]:
    return ({"role": "user", "content": text},)


def _of_kind(kind: str, each: int, seed: int) -> list[Question]:
    rng = random.Random(f"{seed} {kind}")
    seen: set[str] = set()
    found: list[Question] = []
    if kind == "divisors":
        found.append(_first())
        seen.add(str(found[0].messages))
    for tries, chat in enumerate(_chats(kind, rng)):
        if len(found) == each:
            break
        if str(chat.messages) not in seen or tries > 50 * each:
            seen.add(str(chat.messages))
            found.append(_question(kind, chat))
    return found


def _first() -> Question:
    answer = divisors_of(196, FIRST).answer(thinking=False)
    return Question("divisors", "divisors", _asked(FIRST), False, answer)
