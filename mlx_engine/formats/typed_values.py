"""Values that a call contains as text, read by the kinds in the tool's schema."""

import ast
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mlx_engine.formats.schemas import resolved

KINDS = frozenset(("string", "integer", "number", "boolean", "object", "array", "null"))
_KIND_OF = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array", type(None): "null"}
_BOOLEANS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
_MOST_LEVELS = 5  # of alternatives in alternatives


def decoded(text: str) -> Any:
    """Return the value of a text in JSON or Python that JSON can express, or the text."""
    for read in (json.loads, ast.literal_eval):
        with suppress(Exception):
            value = read(text)
            json.dumps(value, allow_nan=False)
            return value
    return text


def typed(text: str, kinds: frozenset[str]) -> Any:
    """Return the value that a text stands for, if of these kinds, or the text."""
    if text.lower() == "null":
        return None
    if kinds <= {"string"}:
        return text
    value = decoded(text)
    if isinstance(value, float) and value.is_integer() and "integer" in kinds:
        value = int(value)
    kind = _KIND_OF.get(type(value), "")
    if kind in kinds or (kind == "integer" and "number" in kinds) or not kinds & KINDS:
        return value
    return _BOOLEANS.get(text.strip().lower(), text) if "boolean" in kinds else text


def kinds_of(schema: Any, root: Mapping[str, Any], levels: int = _MOST_LEVELS) -> frozenset[str]:
    """Return the kinds of values that a schema allows; empty if unknown."""
    schema = resolved(schema, root)
    kinds, choices = schema.get("type"), schema.get("enum")
    found = (
        {kinds}
        if isinstance(kinds, str)
        else {kind for kind in kinds if isinstance(kind, str)}
        if isinstance(kinds, list)
        else set()
    )
    if not found and isinstance(choices, list):
        found = {_KIND_OF.get(type(choice), "string") for choice in choices}
    for key in ("anyOf", "oneOf", "allOf") if levels else ():
        parts = schema.get(key)
        found.update(*(kinds_of(part, root, levels - 1) for part in (parts if isinstance(parts, list) else ())))
    return frozenset(found)
