"""Grammars of replies, in llguidance's dialect of Lark.

Answers match a schema, and tool calls match the family's format and the tool's parameters.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlx_engine.contract import exact_json
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.requests import ToolSpec
from mlx_engine.formats import schemas
from mlx_engine.formats.calls import HARMONY, LLAMA, CallFormat, resolved
from mlx_engine.formats.schemas import BadSchema

_MAX_LENGTH = 1 << 18  # characters of all schemas of a request
_OPTIONS = {"whitespace_pattern": r"( |\n[ \t]{0,20})"}  # models may write whitespace forever
_ANY_TEXT = "/(?s:.*)/"
_BARE_CALL = r'/\s*\{\s*"(name|type)"\s*:(?s:.*)/'
_TAGGED_KEYWORDS = ("type", "properties", "required", "additionalProperties", "$defs", "definitions")
_NOTES = ("$schema", "$id", "title", "description")
_STRING_KEYWORDS = ("pattern", "format", "minLength", "maxLength")
_GEMMA_KEYWORDS = (*_TAGGED_KEYWORDS, *_NOTES, "items", "anyOf", "enum", "const", "default")
_GEMMA_QUOTE = '<|"|>'
_GEMMA_RULES = r"""
GEMMA_CHARS: /(?s:.+)/ & ~/(?s:.*)<\|"\|>(?s:.*)/
gemma_text: QUOTE GEMMA_CHARS? QUOTE
gemma_scalar: %json {"type": ["number", "boolean", "null"]}
gemma_any: gemma_text | gemma_scalar | gemma_object | gemma_array
gemma_object: "{" (gemma_pair ("," gemma_pair)*)? "}"
gemma_pair: /[A-Za-z_][A-Za-z0-9_]*/ ":" gemma_any
gemma_array: "[" (gemma_any ("," gemma_any)*)? "]"
"""

Marker = Callable[[str], str]


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


def reply_rules(
    form: CallFormat | None, tools: Sequence[ToolSpec], choice: str, schema: str | None, marker: Marker, any_arguments: bool = False
) -> ReplyRules | None:
    """Return the grammars of a reply, or None if the reply is unconstrained.

    Args:
        form: the target's format of calls, or None if the target can't call tools.
        tools: as in `GenerationRequest`.
        choice: as in `GenerationRequest.tool_choice`.
        schema: as in `GenerationRequest`.
        marker: returns the Lark expression of a string, which is one token if the tokenizer has it.
        any_arguments: whether to ignore the parameters of tools that aren't strict.

    Raises:
        UserError: the tool choice can't be followed.
        BadSchema: a schema can't be used.
    """
    names = [tool.name for tool in tools]
    forced = choice not in ("auto", "none")
    if forced and not names:
        raise UserError(
            "no_tools_to_choose", "tool_choice is “{choice}”, but the request has no tools. Add tools, or use auto.", choice=choice
        )
    if forced and choice != "required" and choice not in names:
        template = "tool_choice is “{choice}”, but no tool has this name. Use auto, none, required, or the name of a tool."
        raise UserError("unknown_tool_choice", template, choice=choice)
    is_strict = choice == "auto" and any(tool.strict for tool in tools)
    if schema is None and not is_strict and (choice == "auto" or not names):
        return None
    callable_ = [tool for tool in tools if choice in ("auto", "required", tool.name)] if choice != "none" else []
    if len(schema or "") + sum(len(exact_json.dumps(tool.parameters)) for tool in callable_) > _MAX_LENGTH:
        raise BadSchema(f"the schemas of the request have more than {_MAX_LENGTH:,} characters")
    writer = _Writer(form, callable_, marker, any_arguments, choice in ("auto", "required"))
    if form is HARMONY:
        return writer.messages(schema, forced)
    return writer.answer(schema, forced, choice)


class _Writer:
    """A writer of the grammars for one reply.

    Args:
        form: the target's call format.
        tools: the tools that may be called.
        marker: as in `reply_rules`.
        any_arguments: as in `reply_rules`.
        several: whether several calls are allowed.
    """

    def __init__(
        self, form: CallFormat | None, tools: Sequence[ToolSpec], marker: Marker, any_arguments: bool, several: bool
    ) -> None:
        self._form, self._tools, self._marker = form, tools, marker
        self._any, self._several = any_arguments, several
        self._rules = [f"ANY: {_ANY_TEXT}"]
        self._gemma_names: dict[str, str] = {}  # rules of Gemma's values, by schema

    def messages(self, schema: str | None, forced: bool) -> ReplyRules:
        """Return the rules of replies that are messages with headers."""
        channel, constrain = self._marker("<|channel|>"), self._marker("<|constrain|>")
        heads = [f'{channel} "analysis"']
        if not forced:
            heads.append(f'{channel} "final"')
            if schema is None:
                heads.append(f'{channel} "commentary"')
        if self._tools:
            tool = f'" to=functions." ({_any_of(json.dumps(tool.name, ensure_ascii=False) for tool in self._tools)})'
            heads.append(f'({tool} {channel} "commentary" | {channel} "commentary" {tool}) (" " {constrain}? "json")?')
        header = f'start: {self._marker("<|start|>")}? "assistant" ({" | ".join(heads)})'
        calls = {tool.name: f"start: {_json(self._parameters(tool))}" for tool in self._tools}
        answer = f"start: WS? answer\nWS: /[ \\n]{{1,2}}/\nanswer: {_json(_parsed(schema))}" if schema is not None else None
        return ReplyRules(answer, header, calls, forced or schema is not None)

    def answer(self, schema: str | None, forced: bool, choice: str) -> ReplyRules:
        """Return the rules of replies whose calls are text."""
        start = self._form.start if self._form else ""
        if schema is not None or forced:
            ways = []
            if schema is not None and not forced:
                self._rules.append(f"answer: {_json(_parsed(schema))}")
                ways.append("answer")
            if self._tools:
                ways.append(self._calls(start))
            return self._answer(f"/[ \\n]{{1,2}}/? ({_any_of(ways)})")
        marked = re.escape(start).replace("/", r"\/")
        without = f"{_ANY_TEXT} & ~/(?s:.*){marked}(?s:.*)/" if start else _ANY_TEXT
        if self._form is LLAMA:
            without += f" & ~{_BARE_CALL}"
        self._rules.append(f"TEXT: {without}")
        if choice == "none":
            return self._answer("TEXT", demanding=False)
        if self._form is LLAMA:
            return self._answer(f"TEXT | {self._calls(start)}", demanding=False)
        block, is_token = self._block(), self._marker(start).startswith("<")
        self._rules.append(f"head: TEXT? {self._marker(start)}" if is_token else f"head[lazy]: ANY {json.dumps(start)}")
        return self._answer(f"(head {block})* TEXT?", demanding=False)

    def _answer(self, start: str, demanding: bool = True) -> ReplyRules:
        return ReplyRules("\n".join((f"start: {start}", *self._rules)), demanding=demanding)

    def _calls(self, start: str) -> str:
        """Return an expression of one or more calls."""
        block = self._block()
        if self._form is LLAMA:
            return f'{block} ("; " {block})*' if self._several else block
        one = f"{self._marker(start)} {block}"
        return f'{one} ("\\n"? {one})*' if self._several else one

    def _block(self) -> str:
        """Return an expression of what follows the marker that begins a block of calls."""
        assert self._form is not None
        style = "llama" if self._form is LLAMA else self._form.parse.__module__.rpartition(".")[2]
        write = {
            "llama": self._llama, "json_tools": self._hermes, "mistral": self._mistral, "kimi_k2": self._kimi,
            "qwen3_coder": self._qwen_coder, "minimax_m2": self._minimax, "glm47": self._glm, "gemma4": self._gemma,
        }.get(style)  # fmt: skip
        if write is None:
            raise UserError.of(_NO_FORMAT)
        end = self._marker(self._form.end) if self._form.end else ""
        self._rules.append(f"call: {_any_of(f'({write(at, tool)})' for at, tool in enumerate(self._tools))}")
        return {
            "json_tools": f'"\\n" call "\\n" {end}',
            "qwen3_coder": f'"\\n" call "\\n" {end}',
            "minimax_m2": f'("\\n" call){"+" if self._several else ""} "\\n" {end}',
            "kimi_k2": f"call{'+' if self._several else ''} {end}",
        }.get(style, f"call {end}")

    def _llama(self, at: int, tool: ToolSpec) -> str:
        return self._object(at, tool, "parameters")

    def _hermes(self, at: int, tool: ToolSpec) -> str:
        return self._object(at, tool, "arguments")

    def _object(self, at: int, tool: ToolSpec, key: str) -> str:
        begin = json.dumps(f'{{"name": {json.dumps(tool.name, ensure_ascii=False)}, "{key}": ', ensure_ascii=False)
        return f'{begin} {self._arguments(at, tool)} "}}"'

    def _mistral(self, at: int, tool: ToolSpec) -> str:
        return f"{json.dumps(tool.name, ensure_ascii=False)} {self._marker('[ARGS]')} {self._arguments(at, tool)}"

    def _kimi(self, at: int, tool: ToolSpec) -> str:
        begin, middle, end = (self._marker(f"<|tool_call_{part}|>") for part in ("begin", "argument_begin", "end"))
        name = json.dumps(f"functions.{tool.name}:", ensure_ascii=False)
        return f"{begin} {name} /[0-9]{{1,3}}/ {middle} {self._arguments(at, tool)} {end}"

    def _qwen_coder(self, at: int, tool: ToolSpec) -> str:
        return self._tagged(at, tool, "<function={}>\n", "<parameter={}>\n", "\n</parameter>", "\n", "</function>")

    def _minimax(self, at: int, tool: ToolSpec) -> str:
        return self._tagged(at, tool, '<invoke name="{}">\n', '<parameter name="{}">', "</parameter>", "\n", "</invoke>")

    def _glm(self, at: int, tool: ToolSpec) -> str:
        return self._tagged(at, tool, "{}\n", "<arg_key>{}</arg_key>\n<arg_value>", "</arg_value>", "\n", "")

    def _gemma(self, at: int, tool: ToolSpec) -> str:
        if not self._gemma_names:
            self._rules.append(_GEMMA_RULES.replace("QUOTE", self._marker(_GEMMA_QUOTE)))
        parameters = self._parameters(tool)
        value = self._gemma_value(parameters, parameters, tool.strict)
        return f"{json.dumps('call:' + tool.name, ensure_ascii=False)} {value}"

    def _gemma_value(self, given: Any, root: dict, strict: bool) -> str:
        """Return the rule of a value in Gemma's format.

        The format is JSON with other quotes, and none around keys.
        """
        schema = given if given is root else resolved(given, root)
        if strict and isinstance(given, dict) and "$ref" in given and (given is root or not schema):
            raise BadSchema(f"$ref: “{given['$ref']}” isn't supported")
        key = json.dumps((schema, strict, id(root)))
        if key not in self._gemma_names:  # which also ends recursive schemas
            self._gemma_names[key] = name = f"gemma_{len(self._gemma_names)}"
            self._rules.append(f"{name}: {_any_of(self._gemma_ways(schema, root, strict))}")
        return self._gemma_names[key]

    def _gemma_ways(self, schema: dict, root: dict, strict: bool) -> list[str]:
        kinds, parts = schema.get("type", "object" if "properties" in schema else None), schema.get("anyOf", schema.get("oneOf"))
        kinds = [kinds] if isinstance(kinds, str) else kinds
        choices = [schema["const"]] if "const" in schema else schema.get("enum")
        if any(not isinstance(each, list | None) or each == [] for each in (kinds, parts, choices)):
            raise BadSchema("“type” isn't a string or array, or “anyOf” or “enum” isn't an array of choices")
        if strict and not (kinds and set(kinds) <= {"number", "integer"}):
            found = next((name for name in schema if name not in _GEMMA_KEYWORDS), "")
            found = "additionalProperties" if isinstance(schema.get("additionalProperties"), dict) else found
            if found:
                raise BadSchema(f"this model's calls don't support “{found}” for the parameters of strict tools")
        if choices is not None:
            return [self._gemma_literal(choice) for choice in choices]
        if parts is not None:
            return [self._gemma_value(part, root, strict) for part in parts]
        return ["gemma_any"] if kinds is None else [self._gemma_kind(kind, schema, root, strict) for kind in kinds]

    def _gemma_kind(self, kind: Any, schema: dict, root: dict, strict: bool) -> str:
        required, properties = _members(schema, strict)
        match kind:
            case "string" | "boolean" | "null":
                return {"string": "gemma_text", "boolean": '"true" | "false"', "null": '"null"'}[kind]
            case "number" | "integer":
                self._rules.append(f"gemma_number_{len(self._rules)}: {_json({**schema, 'type': kind})}")
                return f"gemma_number_{len(self._rules) - 1}"
            case "array":
                item = self._gemma_value(schema.get("items", {}), root, strict)
                return f'"[" ({item} ("," {item})*)? "]"'
            case "object" if properties or schema.get("additionalProperties") is False:
                return self._gemma_object(properties, required, root, strict)
            case "object":
                return "gemma_object"
        raise BadSchema(f"“type” is {json.dumps(kind)}")

    def _gemma_object(self, properties: dict, required: list, root: dict, strict: bool) -> str:
        pairs, more = '""', ""  # from the current property on: all pairs, and what follows another pair
        for name in sorted(properties, key=str.lower, reverse=True):  # the template sorts them too
            pair = f"{self._gemma_key(name)} {self._gemma_value(properties[name], root, strict)}"
            optional, at = name not in required, len(self._rules)
            self._rules.append(f"gemma_pairs_{at}: {pair} {more}" + (f" | {pairs}" if optional else ""))
            self._rules.append(f'gemma_more_{at}: ("," {pair}){"?" if optional else ""} {more}')
            pairs, more = f"gemma_pairs_{at}", f"gemma_more_{at}"
        return f'"{{" {pairs} "}}"'

    def _gemma_literal(self, value: Any) -> str:
        if isinstance(value, str):
            quote = self._marker(_GEMMA_QUOTE)
            return f"{quote} {json.dumps(value, ensure_ascii=False)} {quote}"
        if isinstance(value, list):
            return f'"[" {_joined(map(self._gemma_literal, value))} "]"'
        if isinstance(value, dict):
            pairs = (f"{self._gemma_key(name)} {self._gemma_literal(value[name])}" for name in sorted(value, key=str.lower))
            return f'"{{" {_joined(pairs)} "}}"'
        return json.dumps(exact_json.dumps(value))

    def _gemma_key(self, name: str) -> str:
        if not re.fullmatch(r"\w+", name):
            raise BadSchema(f"“{name}” can't be a key in this model's calls")
        return json.dumps(f"{name}:", ensure_ascii=False)

    def _arguments(self, at: int, tool: ToolSpec) -> str:
        self._rules.append(f"arguments_{at}: {_json(self._parameters(tool))}")
        return f"arguments_{at}"

    def _parameters(self, tool: ToolSpec) -> Any:
        if tool.strict or not self._any:
            return schemas.relaxed({**tool.parameters, "type": "object"})
        return {"type": "object"}

    def _tagged(self, at: int, tool: ToolSpec, begin: str, key: str, close: str, gap: str, end: str) -> str:
        """Return an expression of a call with tags around its arguments.

        Strings are written as they are, and other values as JSON.
        """
        parameters = self._parameters(tool)
        required, properties = _members(parameters, tool.strict)
        found = next((name for name in parameters if name not in (*_TAGGED_KEYWORDS, *_NOTES)), "")
        if tool.strict and found:
            raise BadSchema(f"this model's calls don't support “{found}” for the parameters of strict tools")
        parts = [self._text(begin.format(tool.name))]
        for index, (name, schema) in enumerate(properties.items()):
            rule = f"value_{at}_{index}"
            value = self._value(rule, schema, parameters, close, tool.strict)
            part = f"{self._text(key.format(name))} {value} {json.dumps(gap)}"
            parts.append(part if name in required else f"({part})?")
        return " ".join((*parts, self._text(end)))

    def _text(self, text: str) -> str:
        """Return an expression of a string, in which tags may be tokens."""
        parts, rest = [], text
        while rest:
            before, opening, after = rest.partition("<")
            tag, closing, _ = after.partition(">")
            if before:
                parts.append(json.dumps(before, ensure_ascii=False))
            if opening:
                parts.append(self._marker(f"<{tag}{closing}"))
            rest = after[len(tag) + len(closing) :]
        return " ".join(parts)

    def _value(self, rule: str, schema: Any, root: dict, close: str, strict: bool) -> str:
        schema = resolved(schema, root)
        kinds = schema.get("type")
        choices = [schema["const"]] if "const" in schema else schema.get("enum")
        if not isinstance(kinds, str | list | None) or not isinstance(choices, list | None):
            raise BadSchema("“type” isn't a string or array, or “enum” isn't an array")
        texts = choices is not None and [choice if isinstance(choice, str) else exact_json.dumps(choice) for choice in choices]
        if texts and not any(close.strip() in text for text in texts):
            return f"({_any_of(json.dumps(text, ensure_ascii=False) for text in texts)}) {self._text(close)}"
        if kinds is not None and "string" not in kinds:
            inner = {name: part for name, part in root.items() if name in ("$defs", "definitions")} | schema
            self._rules.append(f"{rule}: {_json(inner)}")
            return f"{rule} {self._text(close)}"
        found = next((name for name in (*_STRING_KEYWORDS, "anyOf", "oneOf", "allOf") if name in schema), None)
        if strict and found:
            raise BadSchema(f"this model's calls don't support “{found}” for text in strict tools")
        texts_ = "ANY" if isinstance(kinds, list) else f"{_ANY_TEXT} & ~/[nN][uU][lL][lL]/"
        self._rules.append(f"TEXT_{rule.upper()}: {texts_}")
        if self._marker(close).startswith("<"):
            return f"TEXT_{rule.upper()} {self._marker(close)}"
        self._rules.append(f"{rule}[suffix={json.dumps(close)}]: TEXT_{rule.upper()}")
        return rule


_NO_FORMAT = EngineText.of(
    "tool_choice_unsupported",
    "This model's tool calls can't be constrained. Set tool_choice to auto or none, and don't use strict tools.",
)


def _members(schema: dict, strict: bool) -> tuple[list, dict]:
    """Return an object's required names, and its properties."""
    required, properties = schema.get("required", []), schema.get("properties", {})
    if not isinstance(required, list) or not isinstance(properties, dict):
        raise BadSchema("“required” isn't an array, or “properties” isn't an object")
    if strict and any(name not in [*properties] for name in required):
        raise BadSchema("“required” has a name that isn't one of the “properties”")
    return required, properties


def _any_of(ways: Sequence[str] | Iterator[str]) -> str:
    return " | ".join(ways)


def _joined(parts: Iterable[str]) -> str:
    return ' "," '.join(parts)


def _json(schema: dict) -> str:
    schemas.check(schema)
    return f"%json {json.dumps(schema | {'x-guidance': _OPTIONS})}"


def _parsed(schema: str) -> dict:
    """Return a schema from JSON."""
    try:
        found = exact_json.loads(schema)
    except ValueError:
        raise BadSchema("it isn't valid JSON") from None
    found = {} if found is True else found
    if not isinstance(found, dict):
        raise BadSchema("it isn't an object")
    return schemas.relaxed(found)
