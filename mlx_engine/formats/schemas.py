"""Preparation of JSON schemas for llguidance."""

import logging
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import permutations
from math import lcm
from typing import Any

from mlx_engine.contract import exact_json

log = logging.getLogger(__name__)

_MAX_MULTIPLE = 10_000  # llguidance's time grows with the least common multiple of all `multipleOf`
_WHOLE = 1 << 53  # llguidance reads numbers as float64
_FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri", "unknown")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")  # whose keys are names
_CHOICES = ("const", "enum")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_BOUNDS = {"minimum": _WHOLE, "maximum": _WHOLE, "exclusiveMinimum": _WHOLE - 1, "exclusiveMaximum": _WHOLE - 1}
_MOST_LISTS = 100  # lists that a set's grammar may enumerate
_MOST_REPEATS = 10_000  # of a part of a pattern: llguidance copies it once for each in every step
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_ESCAPE = re.compile(r"\\(?:[pPuUx]\{[^}]*\}|.)", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]?", re.DOTALL)
_MOST_LEVELS = 2_000  # of nesting, through references: llguidance compiles recursively on the thread's stack
_MOST_LOGGED = 100
_logged: set[str] = set()


class BadSchema(Exception):
    """A schema can't be used. The message is the reason."""


def resolved(schema: Any, root: Mapping[str, Any]) -> dict:
    """Return a schema, or the one that it refers to; {} if it isn't an object."""
    for _ in range(10):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        found: Any = root
        for part in reference[2:].split("/"):
            found = found.get(part) if isinstance(found, dict) else None
        schema = found
    return schema if isinstance(schema, dict) else {}


def relaxed(schema: Any) -> Any:
    """Return a schema without annotations that llguidance refuses.

    Formats that it doesn't know are removed, because they are annotations, and so is `uniqueItems` if no grammar can express it.
    Counts such as 2.0 become integers. The lowest bound of 64-bit integers, with which llguidance fails, becomes the next float64.
    """
    return _relaxed(schema, schema)


def _relaxed(part: Any, root: Any) -> Any:
    if isinstance(part, list):
        return [_relaxed(item, root) for item in part]
    if not isinstance(part, dict):
        return part
    result = dict[str, Any]()
    for name, value in part.items():
        if name in _MAPS and isinstance(value, dict):
            result[name] = {key: _relaxed(item, root) for key, item in value.items()}
        elif name in _CHOICES:
            result[name] = _with_usual_zeros(value)
        elif name == "format" and isinstance(value, str) and value not in _FORMATS:
            _ignore(f"the format {value[:60]!a}")
        elif name in ("default", "examples"):
            continue
        elif name in _COUNTS and isinstance(value, float) and value.is_integer() and not isinstance(value, exact_json.LongFloat):
            result[name] = int(value)
        elif name == "minimum" and value == -(1 << 63) and isinstance(value, int) and part.get("type") == "integer":
            result[name] = value + 1024
        elif name != "uniqueItems" or not isinstance(value, bool):
            result[name] = _relaxed(value, root)
    if part.get("uniqueItems") is True and part.get("maxItems") not in (0, 1):
        lists = _distinct_lists(result, root)
        if lists is None:
            _ignore("“uniqueItems”")
        else:
            result["anyOf"] = [{"const": items} for items in lists] if "anyOf" not in result else result["anyOf"]
    return result


def _with_usual_zeros(value: Any) -> Any:
    """Replace -0.0, as which llguidance would not accept 0."""
    if isinstance(value, list):
        return [_with_usual_zeros(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_usual_zeros(item) for key, item in value.items()}
    return 0 if isinstance(value, float) and value == 0 and not isinstance(value, exact_json.LongFloat) else value


def _distinct_lists(schema: dict, root: Any) -> list[list] | None:
    """Return all lists that a set's schema allows, or None if too many."""
    items = resolved(schema.get("items"), root) if isinstance(schema.get("items"), dict) and isinstance(root, dict) else {}
    choices = [items["const"]] if "const" in items else items.get("enum")
    if choices is None and items.get("type") == "boolean":
        choices = [False, True]
    if schema.get("type") != "array" or "anyOf" in schema or not isinstance(choices, list):
        return None
    if not all(isinstance(each, str | int | float | None) for each in choices):
        return None
    choices = list({(isinstance(each, bool), each): each for each in choices}.values())  # 1 equals 1.0, but not true
    least, most = schema.get("minItems", 0), schema.get("maxItems", len(choices))
    if len(choices) > 4 or not isinstance(least, int) or not isinstance(most, int) or least < 0:
        return None
    lists = [list(each) for count in range(least, min(most, len(choices)) + 1) for each in permutations(choices, count)]
    return lists if len(lists) <= _MOST_LISTS else None


def _ignore(what: str) -> None:
    """Log once what a schema contains and the grammar doesn't enforce."""
    if what not in _logged and len(_logged) < _MOST_LOGGED:
        _logged.add(what)
        log.warning("Ignoring %s in schemas", what)


def check(schema: dict) -> None:
    """Check that llguidance reads numbers exactly and recursion ends.

    Raises:
        BadSchema: a number or a reference can't be used.
    """
    multiples = []
    for part in _parts(schema):
        for name in _CHOICES:
            for value in _numbers(part.get(name)):
                _check_number(name, value, _WHOLE)
        for name, most in _BOUNDS.items():
            if name in part and not isinstance(part[name], dict | bool):
                _check_number(name, part[name], most, part.get("type") == "integer")
        if "multipleOf" in part and not isinstance(part["multipleOf"], dict):
            _check_number("multipleOf", part["multipleOf"], _WHOLE)
            multiples.append(exact_json.exact(part["multipleOf"]))
            if multiples[-1] <= 0:
                raise BadSchema("“multipleOf” must be greater than 0")
        patterns = {"patternProperties": part.get("patternProperties"), "pattern": [part.get("pattern")]}
        for name, found in patterns.items():
            if isinstance(found, dict | list) and any(isinstance(each, str) and _repeats(each) > _MOST_REPEATS for each in found):
                raise BadSchema(f"{name}: a part repeats more than {_MOST_REPEATS:,} times, with all repetitions around it")
    _check_multiples(multiples)
    _check_recursion(schema)


def _repeats(pattern: str) -> int:
    """Return how often the most repeated part of a pattern may occur."""
    most, last, at = [1], 1, 0  # of each open group; of the last atom
    while at < len(pattern):
        if repeat := _REPEAT.match(pattern, at):
            counts = [int(digits) if len(digits) < 10 else 10**9 for digits in repeat.groups() if digits]
            last *= max(*counts, 1)
        elif pattern[at] == "(":
            most.append(1)
            last = 1
        elif pattern[at] == ")" and len(most) > 1:
            last = most.pop()
        elif pattern[at] not in "?*+":
            last = 1
        most[-1] = max(most[-1], last)
        atom = repeat or _ESCAPE.match(pattern, at) or _CLASS.match(pattern, at)
        at = atom.end() if atom else at + 1
    return max(most)


def _check_number(name: str, value: Any, most: int, bounds_integers: bool = False) -> None:
    if not _is_number(value):
        raise BadSchema(f"“{name}” isn't a number")
    exact = exact_json.exact(value)
    if not isinstance(value, exact_json.LongFloat) and abs(exact) <= most:  # `abs` fails on very large exponents
        return
    inclusive = name in ("minimum", "maximum") and bounds_integers and isinstance(value, int)
    if inclusive and abs(value) < 1 << 63 and (int(float(value)) == value or value == (1 << 63) - 1):
        return
    shown = exact_json.dumps(value)
    advice = "Use a string instead" if name in _CHOICES else "Use a smaller number, or leave it out"
    raise BadSchema(f"{name}: {shown[:40]}{'…' if len(shown) > 40 else ''} has too many digits to be matched exactly. {advice}")


def _check_multiples(multiples: list[Decimal]) -> None:
    places = [max(0, -int(multiple.normalize().as_tuple().exponent)) for multiple in multiples]
    found = 1
    for multiple, place in zip(multiples, places, strict=True):
        found = lcm(found, int(multiple.scaleb(place)))
        if found > _MAX_MULTIPLE:
            raise BadSchema(f"the least common multiple of all “multipleOf” is above {_MAX_MULTIPLE:,}")
    if places and found * found * 10 ** min(max(places) - min(places), 10) >= 1 << 32:  # llguidance computes in 32 bits
        raise BadSchema("the numbers in “multipleOf” are too far apart")


def _check_recursion(schema: dict) -> None:
    """Refuse references that no finite value matches."""
    references = {part["$ref"] for part in _parts(schema) if isinstance(part.get("$ref"), str)}
    references = {reference for reference in references if reference.startswith("#")}
    targets = {reference: _target(reference, schema) for reference in references}
    if len(references) > _MOST_LEVELS or _depth(schema) + sum(_depth(target) + 1 for target in targets.values()) > _MOST_LEVELS:
        raise BadSchema("$ref: its references are nested too deeply, or too many")
    endless = {reference for reference, target in targets.items() if target is not None}
    while ended := {each for each in endless if _is_finite(targets[each], endless)}:
        endless -= ended
    if endless:
        shown = min(endless, key=lambda reference: (len(reference), reference))
        raise BadSchema(f"$ref: “{shown}” requires itself, so no answer would end. Make a property optional, or allow null")


def _target(reference: str, root: Any) -> Any:
    """Return what a reference within the schema points to, or None if it is unknown."""
    found = root
    for name in reference[1:].split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict) and name in found:
            found = found[name]
        else:
            return None
    return found if reference == "#" or reference.startswith("#/") else None


def _depth(value: Any) -> int:
    """Return how deeply objects and lists are nested."""
    level, found = [value], 0
    while level := [each for each in level if isinstance(each, dict | list)]:
        found += 1
        level = [item for each in level for item in (each.values() if isinstance(each, dict) else each)]
    return found


def _is_finite(part: Any, endless: set[str]) -> bool:
    """Return whether a schema may have a finite value, if some references have none."""
    if not isinstance(part, dict):
        return True
    if part.get("$ref") in endless if isinstance(part.get("$ref"), str) else False:
        return False
    for name in ("anyOf", "oneOf"):
        ways = part.get(name)
        if isinstance(ways, list) and ways and not any(_is_finite(way, endless) for way in ways):
            return False
    if isinstance(part.get("allOf"), list) and not all(_is_finite(way, endless) for way in part["allOf"]):
        return False
    kind, required, properties = part.get("type"), part.get("required"), part.get("properties")
    kind = kind[0] if isinstance(kind, list) and len(kind) == 1 else kind
    if kind == "object" and isinstance(required, list) and isinstance(properties, dict):
        return all(_is_finite(properties.get(name), endless) for name in required if isinstance(name, str))
    if kind == "array" and isinstance(part.get("minItems"), int):
        first = part.get("prefixItems")
        first = first if isinstance(first, list) else []
        if not all(_is_finite(item, endless) for item in first[: max(0, part["minItems"])]):
            return False
        return part["minItems"] <= len(first) or _is_finite(part.get("items"), endless)
    return True


def _parts(schema: Any) -> Iterator[dict]:
    """Yield each object that may be a schema, and a few more."""
    parts = [schema]
    while parts:
        part = parts.pop()
        if isinstance(part, list):
            parts += part
        elif isinstance(part, dict):
            yield part
            for name, value in part.items():
                if name in _MAPS and isinstance(value, dict):
                    parts += value.values()
                elif name not in _CHOICES:
                    parts.append(value)


def _numbers(value: Any) -> Iterator[float]:
    """Yield the numbers in a value."""
    values = [value]
    while values:
        value = values.pop()
        if isinstance(value, list):
            values += value
        elif isinstance(value, dict):
            values += value.values()
        elif _is_number(value):
            yield value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
