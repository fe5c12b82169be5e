"""What formats with a tag around each argument of a call share."""

import json
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from mlx_engine.contract import exact_json
from mlx_engine.contract.requests import ToolCall, ToolSpec
from mlx_engine.formats.calls import matches, tool_call
from mlx_engine.formats.lark import ANY_TEXT, DEFINITIONS, NOTES, OBJECT_KEYWORDS, Lark, any_of, json_rule, literal, members
from mlx_engine.formats.reply_format import ReplyFormat
from mlx_engine.formats.schemas import BadSchema, resolved
from mlx_engine.formats.typed_values import kinds_of, typed

_STRING_KEYWORDS = ("pattern", "format", "minLength", "maxLength", "anyOf", "oneOf", "allOf")


class TaggedFormat(ReplyFormat):
    """A format whose calls have tags around their arguments.

    Attributes:
        pattern: a call. Its first group is the name, and the group “arguments” has all arguments.
        argument: an argument, with its name and its value.
        written: what the template writes before the arguments, before a value, after it, and after all arguments; {} is a name.
            None if calls have no grammar.
        untyped: kinds of values of arguments whose kind the tool doesn't declare.
        trimmed: characters around a value that don't belong to it; None for whitespace.
    """

    pattern: ClassVar[re.Pattern[str]]
    argument: ClassVar[re.Pattern[str]]
    written: ClassVar[tuple[str, str, str, str] | None] = None
    untyped = frozenset(("string",))
    trimmed: ClassVar[str | None] = None

    def parse(self, block: str, tools: Sequence[ToolSpec], name: str) -> Sequence[ToolCall]:
        declared = {tool.name: tool.parameters for tool in tools}
        calls = []
        for found in matches(self.pattern, block):
            root = declared.get(found[1], {})
            properties = root.get("properties")
            properties = properties if isinstance(properties, dict) else {}
            arguments = {
                key: self.typed(text.strip(self.trimmed), kinds_of(properties.get(key), root) or self.untyped)
                for key, text in (each.groups() for each in matches(self.argument, found["arguments"]))
            }
            calls.append(tool_call(found[1], arguments))
        return calls

    def typed(self, text: str, kinds: frozenset[str]) -> Any:
        """Return the value of an argument that may be of these kinds."""
        return typed(text, kinds)

    def call(self, lark: Lark, tool: ToolSpec) -> str:
        if self.written is None:
            return super().call(lark, tool)
        begin, key, close, end = self.written
        parameters = lark.parameters(tool)
        required, properties = members(parameters, tool.strict)
        found = next((name for name in parameters if name not in (*OBJECT_KEYWORDS, *NOTES)), "")
        if tool.strict and found:
            raise BadSchema(f"this model's calls don't support “{found}” for the parameters of strict tools")
        parts = [lark.tags(begin.format(tool.name))]
        for name, schema in properties.items():
            value = self._value(lark, schema, parameters, close, tool.strict)
            part = f'{lark.tags(key.format(name))} {value} "\\n"'
            parts.append(part if name in required else f"({part})?")
        return " ".join((*parts, lark.tags(end)))

    def _value(self, lark: Lark, schema: Any, root: dict, close: str, strict: bool) -> str:
        """Return an expression of a value and what closes it."""
        schema = resolved(schema, root)
        kinds = schema.get("type")
        choices = [schema["const"]] if "const" in schema else schema.get("enum")
        if not isinstance(kinds, str | list | None) or not isinstance(choices, list | None):
            raise BadSchema("“type” isn't a string or array, or “enum” isn't an array")
        texts = choices is not None and [choice if isinstance(choice, str) else exact_json.dumps(choice) for choice in choices]
        if texts and not any(close.strip() in text for text in texts):
            return f"({any_of(map(literal, texts))}) {lark.tags(close)}"
        if kinds is not None and "string" not in kinds:
            rule = json_rule({name: root[name] for name in DEFINITIONS if name in root} | schema)
            return f"{lark.named('value', rule)} {lark.tags(close)}"
        found = next((name for name in _STRING_KEYWORDS if name in schema), None)
        if strict and found:
            raise BadSchema(f"this model's calls don't support “{found}” for text in strict tools")
        text = lark.named("TEXT", "ANY" if isinstance(kinds, list) else f"{ANY_TEXT} & ~/[nN][uU][lL][lL]/")
        if lark.marker(close).startswith("<"):
            return f"{text} {lark.marker(close)}"
        return lark.named("value", text, f"[suffix={json.dumps(close)}]")
