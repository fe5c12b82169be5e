"""Wordings as people type them: alternatives, lower case, greetings before the question, a typo now and then."""

from __future__ import annotations

import random
import re

LEADS = (
    "Hey, ", "hey ", "Hi, ", "hi ", "Hi! ", "Hello, ", "Hello! ", "ok ", "Okay, ", "so ", "Quick question: ", "um ", "yo ",
    "Now ", "I want to know: ", "One more: ",
)  # fmt: skip
ASKING = (
    "can you ", "Can you ", "could you ", "Could you please ", "please ", "Please ", "can u ", "can you please ",
    "would you ", "I need you to ", "pls ", "I'd like you to ", "hey can you ", "hi, please ",
)  # fmt: skip
TAILS = (" please", ", please", " pls", " for me", " thanks", " now", " plz", " if you can")
VERBS = frozenset(
    "add calculate change compute convert count create define describe explain factor find give help list make multiply name order "
    "put recite reverse say show solve sort spell subtract sum summarize teach tell translate turn write".split()
)


def one_of(rng: random.Random, pattern: str) -> str:
    """Choose one of the alternatives in every "(a|b|c)", which may be nested."""
    while "(" in pattern:
        pattern = re.sub(r"\(([^()]*)\)", lambda found: rng.choice(found[1].split("|")), pattern)
    return pattern


def casual(rng: random.Random, question: str, typos: bool) -> str:
    """Change nothing in half the cases; otherwise drop capitals and punctuation, or add what people add."""
    if rng.random() < 0.5 or not question:
        return question
    body, end = (question[:-1], question[-1]) if question[-1] in "?.!" else (question, "")
    verb = body.split(" ", 1)[0].lower() in VERBS
    if rng.random() < 0.3:
        lead = rng.choice(ASKING if verb and rng.random() < 0.7 else LEADS)
        if not body.startswith(("I ", "I'", "DFlash")):
            body = body[0].lower() + body[1:]
        body = lead + body
        end = "?" if lead.lower().startswith(("can", "could", "would")) else end
    if rng.random() < 0.15:
        body += rng.choice(TAILS)
    if rng.random() < 0.6:
        body = body.lower()
    if typos and rng.random() < 0.06:
        body = _typo(rng, body)
    return body + rng.choice([end, end, "", "", "", "??" if end == "?" else "", "!"])


def _typo(rng: random.Random, text: str) -> str:
    places = [i for i in range(1, len(text) - 2) if text[i : i + 2].isalpha()]
    if not places:
        return text
    i = rng.choice(places)
    return text[:i] + rng.choice([text[i + 1] + text[i], text[i + 1], text[i] * 2 + text[i + 1]]) + text[i + 2 :]
