"""Gemma 4: `call:NAME{key:<|"|>text<|"|>,other:[1,true]}`."""

import json
import re
from collections.abc import Sequence
from typing import Any

from mlx_engine.contract import exact_json
from mlx_engine.contract.requests import ToolCall, ToolSpec
from mlx_engine.formats.calls import tool_call, with_json
from mlx_engine.formats.lark import NOTES, OBJECT_KEYWORDS, Lark, any_of, json_rule, literal, members
from mlx_engine.formats.reply_format import ReplyFormat
from mlx_engine.formats.schemas import BadSchema, resolved

_QUOTE = '<|"|>'
_NAME = re.compile(r"\s*call:([\w-]+)(?=\{)")
_TEXT_OR_KEY = re.compile(r'<\|"\|>(.*?)<\|"\|>|(?<=[{,])\s*(\w+):', re.DOTALL)
_KEYWORDS = (*OBJECT_KEYWORDS, *NOTES, "items", "anyOf", "enum", "const", "default")
_RULES = r"""
GEMMA_CHARS: /(?s:.+)/ & ~/(?s:.*)<\|"\|>(?s:.*)/
gemma_text: QUOTE GEMMA_CHARS? QUOTE
gemma_scalar: %json {"type": ["number", "boolean", "null"]}
gemma_any: gemma_text | gemma_scalar | gemma_object | gemma_array
gemma_object: "{" (gemma_pair ("," gemma_pair)*)? "}"
gemma_pair: /[A-Za-z_][A-Za-z0-9_]*/ ":" gemma_any
gemma_array: "[" (gemma_any ("," gemma_any)*)? "]"
"""


class Gemma(ReplyFormat):
    names = ("gemma4",)
    thinking = ("<|channel>thought", "<channel|>")
    start, end = "<|tool_call>", "<tool_call|>"
    value = (_QUOTE, _QUOTE)

    def parse(self, block: str, tools: Sequence[ToolSpec], name: str) -> Sequence[ToolCall]:
        text = _TEXT_OR_KEY.sub(lambda found: f'"{found[2]}":' if found[2] else json.dumps(found[1]), block)
        return [tool_call(header[1], arguments) for header, arguments in with_json(_NAME, text)]

    def block(self, lark: Lark) -> str:
        lark.rules.append(_RULES.replace("QUOTE", lark.marker(_QUOTE)))
        return super().block(lark)

    def call(self, lark: Lark, tool: ToolSpec) -> str:
        parameters = lark.parameters(tool)
        return f"{literal(f'call:{tool.name}')} {_Values(lark, parameters, tool.strict).value(parameters)}"


class _Values:
    """A writer of the rules of values in a call.

    Args:
        lark: gets the rules.
        root: schema of the tool's parameters.
        strict: whether the arguments must match the schema.
    """

    def __init__(self, lark: Lark, root: dict, strict: bool) -> None:
        self._lark, self._root, self._strict = lark, root, strict
        self._names: dict[str, str] = {}  # of the rules, by schema

    def value(self, given: Any) -> str:
        """Return the rule of a value."""
        schema = given if given is self._root else resolved(given, self._root)
        if self._strict and isinstance(given, dict) and "$ref" in given and (given is self._root or not schema):
            raise BadSchema(f"$ref: “{given['$ref']}” isn't supported")
        key = json.dumps(schema)
        if key not in self._names:  # which also ends recursive schemas
            self._names[key] = name = self._lark.named("gemma_value", "")
            self._lark.rules[int(name.rpartition("_")[2])] += any_of(self._ways(schema))
        return self._names[key]

    def _ways(self, schema: dict) -> list[str]:
        kinds, parts = schema.get("type", "object" if "properties" in schema else None), schema.get("anyOf", schema.get("oneOf"))
        kinds = [kinds] if isinstance(kinds, str) else kinds
        choices = [schema["const"]] if "const" in schema else schema.get("enum")
        if any(not isinstance(each, list | None) or each == [] for each in (kinds, parts, choices)):
            raise BadSchema("“type” isn't a string or array, or “anyOf” or “enum” isn't an array of choices")
        if self._strict and not (kinds and set(kinds) <= {"number", "integer"}):
            found = next((name for name in schema if name not in _KEYWORDS), "")
            found = "additionalProperties" if isinstance(schema.get("additionalProperties"), dict) else found
            if found:
                raise BadSchema(f"this model's calls don't support “{found}” for the parameters of strict tools")
        if choices is not None:
            return [self._literal(choice) for choice in choices]
        if parts is not None:
            return [self.value(part) for part in parts]
        return ["gemma_any"] if kinds is None else [self._kind(kind, schema) for kind in kinds]

    def _kind(self, kind: Any, schema: dict) -> str:
        required, properties = members(schema, self._strict)
        match kind:
            case "string" | "boolean" | "null":
                return {"string": "gemma_text", "boolean": '"true" | "false"', "null": '"null"'}[kind]
            case "number" | "integer":
                return self._lark.named("gemma_number", json_rule({**schema, "type": kind}))
            case "array":
                item = self.value(schema.get("items", {}))
                return f'"[" ({item} ("," {item})*)? "]"'
            case "object" if properties or schema.get("additionalProperties") is False:
                return self._object(properties, required)
            case "object":
                return "gemma_object"
        raise BadSchema(f"“type” is {json.dumps(kind)}")

    def _object(self, properties: dict, required: list) -> str:
        pairs, more = '""', ""  # from the current property on: all pairs, and what follows another pair
        for name in sorted(properties, key=str.lower, reverse=True):  # the template sorts them too
            pair = f"{_key(name)} {self.value(properties[name])}"
            optional = name not in required
            rule = self._lark.named("gemma_pairs", f"{pair} {more}" + (f" | {pairs}" if optional else ""))
            more = self._lark.named("gemma_more", f'("," {pair}){"?" if optional else ""} {more}')
            pairs = rule
        return f'"{{" {pairs} "}}"'

    def _literal(self, value: Any) -> str:
        if isinstance(value, str):
            quote = self._lark.marker(_QUOTE)
            return f"{quote} {literal(value)} {quote}"
        if isinstance(value, list):
            return f'"[" {_joined(map(self._literal, value))} "]"'
        if isinstance(value, dict):
            pairs = (f"{_key(name)} {self._literal(value[name])}" for name in sorted(value, key=str.lower))
            return f'"{{" {_joined(pairs)} "}}"'
        return json.dumps(exact_json.dumps(value))


_joined = ' "," '.join


def _key(name: str) -> str:
    if not re.fullmatch(r"\w+", name):
        raise BadSchema(f"“{name}” can't be a key in this model's calls")
    return literal(f"{name}:")
