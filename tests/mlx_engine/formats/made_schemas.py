"""Random JSON schemas whose instances are short, so that a random model finishes them."""

import random
from typing import Any

_WORDS = ("a", "name", "größe", "x y", 'q"q', "unit", "list", "ok", "null", "0")
_PATTERNS = ("^[a-c]{1,4}$", "^(yes|no)$", "^[A-Z]{2}-[0-9]{2}$", "^\\d{3}$", "^a.b$")


def made_schema(seed: int) -> dict[str, Any]:
    """Return the schema of this seed. At most 3 levels are nested."""
    rng = random.Random(seed)
    schema = _made(rng, 3)
    if rng.random() < 0.3:  # by reference
        return {"$defs": {"part": schema}, "$ref": "#/$defs/part"}
    return schema


def _made(rng: random.Random, depth: int) -> dict[str, Any]:
    kinds = [_string, _integer, _number, _choice, _constant, _simple]
    if depth:
        kinds += [_object, _object, _object, _array, _any_of, _recursive]
    return rng.choice(kinds)(rng, depth - 1)


def _string(rng: random.Random, depth: int) -> dict[str, Any]:
    if rng.random() < 0.4:
        return {"type": "string", "pattern": rng.choice(_PATTERNS)}
    least = rng.randrange(4)
    return {"type": "string", "minLength": least, "maxLength": least + rng.randrange(6)}


def _integer(rng: random.Random, depth: int) -> dict[str, Any]:
    least = rng.randrange(-500, 500)
    schema = {"type": "integer", "minimum": least, rng.choice(("maximum", "exclusiveMaximum")): least + rng.randrange(60, 900)}
    return schema | ({"multipleOf": rng.choice((2, 5, 7, 30))} if rng.random() < 0.3 else {})


def _number(rng: random.Random, depth: int) -> dict[str, Any]:
    return {"type": "number", "minimum": rng.randrange(-9, 0), "maximum": rng.randrange(1, 99), "multipleOf": 0.5}


def _choice(rng: random.Random, depth: int) -> dict[str, Any]:
    values: list[Any] = [*_WORDS, 1, -2.5, True, None, {"a": [1]}]
    return {"enum": rng.sample(values, rng.randrange(1, 5))}


def _constant(rng: random.Random, depth: int) -> dict[str, Any]:
    return {"const": rng.choice((*_WORDS, 17, [1, "b"], {"x": {}}, False))}


def _simple(rng: random.Random, depth: int) -> dict[str, Any]:
    return {"type": rng.choice(("boolean", "null", ["null", "boolean"]))}


def _object(rng: random.Random, depth: int) -> dict[str, Any]:
    names = rng.sample(_WORDS, rng.randrange(4))
    required = [name for name in names if rng.random() < 0.6]
    properties = {name: _made(rng, depth) for name in names}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _array(rng: random.Random, depth: int) -> dict[str, Any]:
    least = rng.randrange(3)
    if rng.random() < 0.3:
        return {"type": "array", "prefixItems": [_made(rng, depth) for _ in range(least)], "items": False, "minItems": least}
    return {"type": "array", "items": _made(rng, depth), "minItems": least, "maxItems": least + rng.randrange(3)}


def _any_of(rng: random.Random, depth: int) -> dict[str, Any]:
    return {"anyOf": [_made(rng, depth) for _ in range(rng.randrange(1, 4))]}


def _recursive(rng: random.Random, depth: int) -> dict[str, Any]:
    return {"allOf": [_string(rng, depth), {"type": ["string", "null"]}]}
