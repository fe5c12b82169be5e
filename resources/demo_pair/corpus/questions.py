"""Fresh questions for measuring the pair: no operand of any turn occurs in the training text."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from . import styles
from .arithmetic import divisors_of
from .chats import KINDS, NUMERIC, Chat, follow_up, make
from .template import Message

PROMISED_DIVISORS = 500
FIRST = "How many positive whole-number divisors does 196 have?"
QUESTION_KINDS = (*KINDS, "follow-up", "system prompt", "thinking")


@dataclass(frozen=True)
class Question:
    """What to ask and the one reply that is exactly right, think block included."""

    kind: str
    topic: str
    messages: tuple[Message, ...]
    thinking: bool
    expected: str

    def check(self, reply: str) -> bool:
        """Whether every step and the result are right."""
        return reply.strip() == self.expected.strip()


def _question(kind: str, chat: Chat) -> Question:
    last = chat.exchanges[-1]
    return Question(kind, last.kind, chat.messages, chat.thinking, chat.reply)


def _within_promise(chat: Chat) -> bool:
    return all(e.kind != "divisors" or int(e.operands[0]) <= PROMISED_DIVISORS for e in chat.exchanges)


def _chats(kind: str, rng: random.Random) -> Iterator[Chat]:
    """Fresh conversations of one kind, for ever. The mixed kinds go through their topics in turn."""
    turn = 0
    names = list(KINDS)
    while True:
        if kind == "follow-up":
            chat = follow_up(rng, thinking=turn % 4 == 3, fresh=True, names=(NUMERIC[turn % len(NUMERIC)],))
        elif kind == "system prompt":
            style = styles.styled(rng, fresh=True)
            chat = make(rng, [names[turn % len(names)]], thinking=turn % 4 == 3, style=style, fresh=True)
        elif kind == "thinking":
            chat = make(rng, [names[turn % len(names)]], thinking=True, fresh=True)
        else:
            chat = make(rng, [kind], thinking=False, fresh=True)
        if _within_promise(chat):
            turn += 1
            yield chat


def fresh_questions(count: int = 300, seed: int = 20261120) -> list[Question]:
    """Questions of all kinds, as many of each, different where the kind has enough of them."""
    questions: list[Question] = []
    each = -(-count // len(QUESTION_KINDS))
    for kind in QUESTION_KINDS:
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
        questions += found
    return questions[:count] if count < len(questions) else questions


def _first() -> Question:
    answer = divisors_of(196, FIRST).answer(thinking=False)
    return Question("divisors", "divisors", ({"role": "user", "content": FIRST},), False, answer)
