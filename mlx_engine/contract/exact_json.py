"""JSON whose numbers keep their exact values, for schemas."""

import json
from decimal import Decimal, InvalidOperation
from typing import Any


class LongFloat(float):
    """The float nearest to a number that no float's shortest text equals.

    Attributes:
        text: the number in JSON.
    """

    text: str


def number(text: str) -> float:
    """Return the float for a number in JSON, for `parse_float`.

    Raises:
        ValueError: the number's exponent has too many digits.
    """
    value = float(text)
    try:
        if Decimal(text) == Decimal(repr(value)):
            return value
    except InvalidOperation:
        raise ValueError("the number is too large") from None
    found = LongFloat(value)
    found.text = text
    return found


def loads(text: str) -> Any:
    """Parse JSON. Numbers that aren't exact as floats become `LongFloat`.

    Raises:
        ValueError: the text isn't JSON.
    """
    return json.loads(text, parse_float=number, parse_constant=_refuse)


def _refuse(name: str) -> None:
    raise ValueError(name)


def dumps(value: Any) -> str:
    """Return JSON, with numbers as they were written."""
    if isinstance(value, LongFloat):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {dumps(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(dumps, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def exact(value: float) -> Decimal:
    """Return the exact value of a number from `loads`."""
    return Decimal(value.text if isinstance(value, LongFloat) else value if isinstance(value, int) else repr(value))
