"""Whose request comes first, and how long others wait for it."""

from collections.abc import MutableSequence
from enum import IntEnum
from typing import Protocol, TypeVar

MOST_PASSED = 16  # as many as run together; a request that gives way then waits for about one round of replies


class Urgency(IntEnum):
    """Whose requests come first."""

    FRONT = 0  # a user waits
    NORMAL = 1
    LOW = 2  # the request gives way to others


class Waiter(Protocol):
    """Something that waits in a line.

    Attributes:
        urgency: who waits.
        passed: number of others that came later and went before it.
    """

    urgency: Urgency
    passed: int


_Waiter = TypeVar("_Waiter", bound=Waiter)


def place(line: MutableSequence[_Waiter], waiter: _Waiter) -> int:
    """Return the index in a line at which a waiter goes.

    It is behind others that are as urgent, or that have been passed `MOST_PASSED` times.
    """
    at = len(line)
    while at and line[at - 1].urgency > waiter.urgency and line[at - 1].passed < MOST_PASSED:
        at -= 1
    return at


def enter(line: MutableSequence[_Waiter], waiter: _Waiter) -> None:
    """Insert a waiter into a line, before less urgent ones."""
    at = place(line, waiter)
    for other in line[at:]:
        other.passed += 1
    line.insert(at, waiter)
