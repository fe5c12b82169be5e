"""Fresh questions for evaluating the pair. No turn has operands that occur in the training text."""

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
    """A question and the one reply that is exactly right, including its think block."""

    kind: str
    topic: str
    messages: tuple[Message, ...]
    thinking: bool
    expected: str

    def check(self, reply: str) -> bool:
        """Return whether every step and the result are right."""
        return reply.strip() == self.expected.strip()


def _question(kind: str, chat: Chat) -> Question:
    last = chat.exchanges[-1]
    return Question(kind, last.kind, chat.messages, chat.thinking, chat.reply)


def _within_promise(chat: Chat) -> bool:
    return all(e.kind != "divisors" or int(e.operands[0]) <= PROMISED_DIVISORS for e in chat.exchanges)


def _chats(kind: str, rng: random.Random) -> Iterator[Chat]:
    """Yield fresh conversations of one kind without end. Mixed kinds cycle through their topics."""
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
    """Return questions of all kinds, equally many of each, without repeats where a kind has enough."""
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
