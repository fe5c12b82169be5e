"""Parts of reply grammars, in llguidance's dialect of Lark."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlx_engine.contract import exact_json
from mlx_engine.contract.requests import ToolSpec
from mlx_engine.formats import schemas
from mlx_engine.formats.schemas import BadSchema

ANY_TEXT = "/(?s:.*)/"
DEFINITIONS = ("$defs", "definitions")
OBJECT_KEYWORDS = ("type", "properties", "required", "additionalProperties", *DEFINITIONS)
NOTES = ("$schema", "$id", "title", "description")
_OPTIONS = {"whitespace_pattern": r"( |\n[ \t]{0,20})"}  # models may write whitespace forever


@dataclass(frozen=True)
class ReplyRules:
    """The grammars of a reply's sections. Sections without one are unconstrained.

    Attributes:
        answer: grammar of the answer.
        header: grammar of a message's header, for families with headers.
        calls: grammar of each tool's arguments, for families with headers.
        demanding: whether the reply must have an answer or a call.
    """

    answer: str | None = None
    header: str | None = None
    calls: Mapping[str, str] = field(default_factory=dict)
    demanding: bool = True


@dataclass
class Lark:
    """The grammar of an answer, to which formats add rules.

    Attributes:
        tools: the tools that may be called.
        marker: returns the expression of a string, which is one token if the tokenizer has it.
        any_arguments: whether to ignore the parameters of tools that aren't strict.
        several: whether several calls are allowed.
    """

    tools: Sequence[ToolSpec]
    marker: Callable[[str], str]
    any_arguments: bool
    several: bool
    rules: list[str] = field(default_factory=lambda: [f"ANY: {ANY_TEXT}"])

    def answer(self, start: str, demanding: bool = True) -> ReplyRules:
        """Return the grammar of an answer that matches an expression."""
        return ReplyRules("\n".join((f"start: {start}", *self.rules)), demanding=demanding)

    def named(self, prefix: str, expression: str, attributes: str = "") -> str:
        """Add a rule, and return its name."""
        name = f"{prefix}_{len(self.rules)}"
        self.rules.append(f"{name}{attributes}: {expression}")
        return name

    def parameters(self, tool: ToolSpec) -> Any:
        """Return the schema of a tool's arguments."""
        if tool.strict or not self.any_arguments:
            return schemas.relaxed({**tool.parameters, "type": "object"})
        return {"type": "object"}

    def arguments(self, tool: ToolSpec) -> str:
        """Return an expression of a tool's arguments in JSON."""
        return self.named("arguments", json_rule(self.parameters(tool)))

    def json_call(self, tool: ToolSpec, key: str) -> str:
        """Return an expression of a call in JSON, with the arguments under `key`."""
        begin = literal(f'{{"name": {literal(tool.name)}, "{key}": ')
        return f'{begin} {self.arguments(tool)} "}}"'

    def tags(self, text: str) -> str:
        """Return an expression of a string, in which tags may be tokens."""
        parts, rest = [], text
        while rest:
            before, opening, after = rest.partition("<")
            tag, closing, _ = after.partition(">")
            if before:
                parts.append(literal(before))
            if opening:
                parts.append(self.marker(f"<{tag}{closing}"))
            rest = after[len(tag) + len(closing) :]
        return " ".join(parts)


def literal(text: str) -> str:
    """Return the expression of a string."""
    return json.dumps(text, ensure_ascii=False)


def any_of(ways: Iterable[str]) -> str:
    return " | ".join(ways)


def json_rule(schema: dict) -> str:
    """Return the expression of JSON that matches a schema."""
    schemas.check(schema)
    return f"%json {json.dumps(schema | {'x-guidance': _OPTIONS})}"


def parsed(schema: str) -> dict:
    """Return a schema from JSON."""
    try:
        found = exact_json.loads(schema)
    except ValueError:
        raise BadSchema("it isn't valid JSON") from None
    found = {} if found is True else found
    if not isinstance(found, dict):
        raise BadSchema("it isn't an object")
    return schemas.relaxed(found)


def members(schema: dict, strict: bool) -> tuple[list, dict]:
    """Return an object's required names, and its properties."""
    required, properties = schema.get("required", []), schema.get("properties", {})
    if not isinstance(required, list) or not isinstance(properties, dict):
        raise BadSchema("“required” isn't an array, or “properties” isn't an object")
    if strict and any(name not in [*properties] for name in required):
        raise BadSchema("“required” has a name that isn't one of the “properties”")
    return required, properties
