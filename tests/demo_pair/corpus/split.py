"""Which questions are held out of the training text, as fresh questions for evaluation."""

from __future__ import annotations

import hashlib

SHARE = 10
HELD_OUT = {("divisors", ("196",))}
GREETINGS = (
    "Hello!", "Hi!", "Who are you?", "What can you do?", "How are you?", "What is Slipstream?", "What is DFlash?",
    "What is speculative decoding?", "Thank you!", "Thanks!", "Goodbye!", "Bye!", "hi", "hello", "hey", "who are you", "what can you do",
    "thanks", "help", "test", "Hello there.", "Hello?", "Hello", "Hi",
)  # fmt: skip
"""What most people type first or last: always in the training text, never a fresh question."""
TRAINED = {("talk", (wording,)) for wording in GREETINGS} | {("jokes", ("Tell me a joke.",)), ("haiku", ("Write a haiku.",))}


def held_out(kind: str, operands: tuple[str, ...]) -> bool:
    """Return True for about one question in ten, decided by a hash of its operands rather than by a seed."""
    if (kind, operands) in HELD_OUT:
        return True
    if (kind, operands) in TRAINED:
        return False
    digest = hashlib.sha256("\x1f".join((kind, *operands)).encode()).digest()
    return int.from_bytes(digest[:4], "big") % SHARE == 0
