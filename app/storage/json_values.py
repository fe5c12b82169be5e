"""Typed values from JSON written by other versions, programs, or people."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from math import inf
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from app.text.plain_text import clean
from mlx_engine.contract.errors import EngineText

LIMIT = (1 << 64) - 1  # the largest seed; larger numbers are clamped to it
_SPACE = re.compile(r"[ \t\n\r]*")
_LATEST = 4e9  # seconds since 1970; every calendar can show such dates


def parsed(text: str, pause: Callable[[], object]) -> Any:
    """Parse JSON, as `json.loads` does.

    Args:
        text: the JSON.
        pause: called between the values of an outer list, or of lists in an outer object, and after each object. Other threads
            can go on then, too: the parser itself holds the GIL.

    Raises:
        ValueError: it isn't JSON.
        RecursionError: its values are nested too deeply.
    """

    def made(found: dict[str, Any]) -> dict[str, Any]:
        pause()
        return found

    decode, start = json.JSONDecoder(object_hook=made).raw_decode, _after_space(text, 0)

    def element(at: int) -> tuple[Any, int]:
        pause()
        return decode(text, at)

    def member(at: int) -> tuple[tuple[str, Any], int]:
        key, at = decode(text, at)
        if not isinstance(key, str) or text[(at := _after_space(text, at))] != ":":
            raise json.JSONDecodeError("Expecting a name and ':'", text, at)
        at = _after_space(text, at + 1)
        value, at = _items(text, at, "]", element) if text[at] == "[" else decode(text, at)
        return (key, value), at

    found: Any
    try:
        if text[start] == "[":
            found, end = _items(text, start, "]", element)
        elif text[start] == "{":
            items, end = _items(text, start, "}", member)
            found = dict(items)
        else:
            found, end = decode(text, start)
    except IndexError:
        raise json.JSONDecodeError("Unexpected end", text, len(text)) from None
    if _after_space(text, end) < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return found


def _items(text: str, at: int, closing: str, read: Callable[[int], tuple[Any, int]]) -> tuple[list[Any], int]:
    """Return the items of the list or object that begins at `at`, and where it ends."""
    found: list[Any] = []
    at = _after_space(text, at + 1)
    while found or text[at] != closing:
        item, at = read(at)
        found.append(item)
        at = _after_space(text, at)
        if text[at] == closing:
            break
        if text[at] != ",":
            raise json.JSONDecodeError("Expecting ','", text, at)
        at = _after_space(text, at + 1)
    return found, at + 1


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match is not None else at


def read_as(kind: Any, value: object, default: Any) -> Any:
    """Return `value` as `kind`, or `default` if it has another type.

    Args:
        kind: int (0 or more), float (finite), str, bool, None, Literal, tuple, a union, or a dataclass of these. A variable-length
            tuple drops items that don't fit. A dataclass field that doesn't fit gets its default, or else None, 0, False, (), or
            the last value of a Literal.
        value: parsed JSON.
        default: returned if `value` has another type or lacks a required string.
    """
    try:
        return _converted(kind, value)
    except ValueError:
        return default


def read_fields(kind: Any, data: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Read some fields of a dataclass.

    Raises:
        ValueError: a required string is missing or has another type.
    """
    hints, found = _hints(kind), {}
    for field in fields(kind):
        if field.name in names:
            try:
                found[field.name] = _converted(hints[field.name], data.get(field.name, MISSING))
            except ValueError:
                if field.default is MISSING and field.default_factory is MISSING:
                    found[field.name] = _empty(hints[field.name])
    return found


def _empty(kind: Any) -> Any:
    for value in (None, 0, False, (), {}, *get_args(kind)[-1:]):
        try:
            return _converted(kind, value)
        except ValueError:
            continue
    raise ValueError


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def parse_json(text: str) -> object:
    """Return parsed JSON, or None if the text isn't JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def as_dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


def as_time(value: object, default: float) -> float:
    """Return seconds since 1970, limited to dates that calendars can show."""
    return float(min(max(read_as(float, value, default), 0.0), _LATEST))


def _converted(kind: Any, value: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        for one in arguments:
            try:
                return _converted(one, value)
            except ValueError:
                continue
    elif origin is Literal and value in arguments:
        return value
    elif origin is tuple and isinstance(value, list | tuple):
        if arguments[-1] is Ellipsis:
            return tuple(found for one in value if (found := read_as(arguments[0], one, None)) is not None)
        if len(value) == len(arguments):
            return tuple(map(_converted, arguments, value))
    elif kind is EngineText and isinstance(value, str) and value:  # older versions stored only the message
        return EngineText("", clean(value))
    elif is_dataclass(kind) and isinstance(value, Mapping):
        return kind(**read_fields(kind, value, tuple(field.name for field in fields(kind))))  # type: ignore[operator]
    elif kind is str and isinstance(value, str):
        return clean(value)
    elif kind in (bool, NoneType) and type(value) is kind:
        return value
    elif kind is int and type(value) is int and value >= 0:
        return min(value, LIMIT)
    elif kind is float and type(value) in (int, float) and abs(value) < inf:
        return float(min(max(value, -LIMIT), LIMIT))
    raise ValueError
