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
TAILS = (" please", ", please", " pls", " for me", " thanks", " now", " plz", " if you can", " :)", "...")
VERBS = frozenset(
    "add calculate change compute convert count create define describe explain factor find give help list make multiply name order "
    "put recite reverse say show solve sort spell subtract sum summarize teach tell translate turn write".split()
)
COMMON = re.compile(
    r"\b(?:what|whats|which|where|does|have|many|much|tell|give|show|list|name|write|make|capital|country|city|planets|months|weekdays|"
    r"seasons|continents|colors|rainbow|alphabet|numbers|number|prime|primes|square|squares|first|divisors|factors|convert|translate|"
    r"reverse|backwards|letters|spell|sort|order|smallest|largest|larger|smaller|bigger|greater|count|table|times|multiply|divide|"
    r"divided|subtract|calculate|percent|celsius|fahrenheit|degrees|minutes|hours|seconds|weeks|function|python|javascript|joke|haiku|"
    r"poem|about|explain|speculative|decoding|please|could|would|funny|root|average|power|between|difference)\b",
    re.IGNORECASE,
)
"""Words in which a wrong letter leaves the question clear."""


def one_of(rng: random.Random, pattern: str) -> str:
    """Choose one of the alternatives in every "(a|b|c)", which may be nested."""
    while "(" in pattern:
        pattern = re.sub(r"\(([^()]*)\)", lambda found: rng.choice(found[1].split("|")), pattern)
    return pattern


def wordings(pattern: str) -> list[str]:
    """Return every text that `one_of` can choose."""
    found = re.search(r"\(([^()]*)\)", pattern)
    if found is None:
        return [pattern]
    return [text for choice in found[1].split("|") for text in wordings(pattern[: found.start()] + choice + pattern[found.end() :])]


def casual(rng: random.Random, question: str, typos: bool, operands: tuple[str, ...] = ()) -> str:
    """Change nothing in half the cases; otherwise drop capitals and punctuation, or add what people add.

    Args:
        typos: whether a wrong letter anywhere leaves the answer the same; otherwise only common words get one
        operands: words that stay as they are
    """
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
    elif rng.random() < 0.06:
        body = _misspelled(rng, body, operands)
    return body + rng.choice([end, end, "", "", "", "??" if end == "?" else "", "!"])


def _misspelled(rng: random.Random, text: str, operands: tuple[str, ...]) -> str:
    """Misspell a common word, if there is one."""
    words = [found for found in COMMON.finditer(text) if found[0].lower() not in operands]
    if not words:
        return text
    found = rng.choice(words)
    return text[: found.start()] + _typo(rng, found[0], 0) + text[found.end() :]


def _typo(rng: random.Random, text: str, keep: int = 2) -> str:
    """Swap, drop or double a letter, but none of the last ones."""
    places = [i for i in range(1, len(text) - max(keep, 1)) if text[i : i + 2].isalpha()]
    if not places:
        return text
    i = rng.choice(places)
    return (
        text[:i]
        + rng.choice([text[i + 1] + text[i], text[i + 1] + text[i], text[i + 1], text[i] * 2 + text[i + 1]])
        + text[i + 2 :]
    )
