"""Tool calls in the text of a reply, parsed while it arrives.

mlx-lm has a parser for each family's format, which reads one block of calls. Its parsers skip what they don't understand. Here, a
block is parsed only if it consists of complete calls, and is text otherwise.
"""

import json
import logging
import re
import secrets
import string
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlx_engine.contract.requests import ToolCall, ToolSpec

log = logging.getLogger(__name__)

Parser = Callable[[str, Any], Any]

# What one call in a block looks like, and what surrounds its values, for parsers that search for calls. By parser module.
_ONE_CALL = {
    "gemma4": r'call:[\w-]+\{(?>[^<]|<(?!\|"\|>)|<\|"\|>.*?<\|"\|>)*?\}(?=\s*(?:call:[\w-]+\{|$))',
    "glm47": r"(?:[^<\s]+\s*(?:(?><arg_key>.*?</arg_key>(?:\\n|\s)*<arg_value>.*?</arg_value>)\s*)++"
    r"|\{.*\}|[^<\s{]+(?:\s+\{.*\})?)$",
    "kimi_k2": r"<\|tool_call_begin\|>.*?<\|tool_call_end\|>",
    "minimax_m2": r"<invoke name=[^>]+>\s*(?:(?><parameter name=[^>]+>.*?</parameter>)\s*)*+</invoke>",
    "muse_spark": r"(?:<atem:function_calls>\s*)?<atem:invoke\b[^>]*>\s*(?:(?><atem:parameter\b.*?</atem:parameter>)\s*)*+"
    r"</atem:invoke>(?:\s*</atem:function_calls>)?",
    "qwen3_coder": r"<function=[^\s<>]+>?\s*(?:(?><parameter=.*?</parameter>)\s*)*+</function>",
}
_VALUES = {
    "gemma4": ('<|"|>', '<|"|>'),
    "glm47": ("<arg_value>", "</arg_value>"),
    "kimi_k2": ("<|tool_call_argument_begin|>", "<|tool_call_end|>"),
    "minimax_m2": ("<parameter name=", "</parameter>"),
    "qwen3_coder": ("<parameter=", "</parameter>"),
}
_LLAMA_OPENINGS = ('{"name":', '{"type":"function"')
_LONGEST_OPENING = 100  # characters, including spaces
_ID_LENGTH = 9  # Mistral's templates reject other lengths


@dataclass(frozen=True)
class CallFormat:
    """The format of a family's tool calls.

    Attributes:
        start: text that begins a block of calls.
        end: text that ends the block; empty if the block ends with the reply.
        parse: takes the text of a block and the tools, and returns a call or a list of calls as dicts. May raise any
            exception.
        one: pattern of one call in a block, needed if `parse` skips text that it doesn't understand.
        value: texts before and after a value, inside which `end` has no meaning; None for JSON.
        bare: whether a reply that begins with the JSON of a call is also a block.
    """

    start: str
    end: str
    parse: Parser
    one: re.Pattern[str] | None = None
    value: tuple[str, str] | None = None
    bare: bool = False

    @classmethod
    def of_parser(cls, start: str, end: str, parse: Parser) -> "CallFormat":
        """Return the format of one of mlx-lm's parsers."""
        module = parse.__module__.rpartition(".")[2]
        one = _ONE_CALL.get(module)
        return cls(start, end, parse, re.compile(rf"({one})\s*", re.DOTALL) if one else None, _VALUES.get(module))

    def in_value(self, text: str) -> bool:
        """Return whether `text`, the beginning of a block, ends inside a value."""
        if self.value is not None:
            opening, closing = self.value
            return text.count(opening) % 2 == 1 if opening == closing else text.count(opening) > text.count(closing)
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            return error.msg.startswith("Unterminated string")
        except (ValueError, RecursionError):
            pass
        return False

    def calls(self, block: str, tools: Sequence[dict], name: str = "") -> tuple[ToolCall, ...]:
        """Return the calls of a block, or () if not all of its text can be parsed.

        Args:
            block: text of the block.
            tools: tools of the request, which declare the types of arguments.
            name: name of the tool for calls without one.
        """
        try:
            return tuple(_checked(call, name, text) for text in self._split(block.strip()) for call in self._parsed(text, tools))
        except Exception as error:  # parsers raise anything
            log.warning("A tool call can't be parsed, and is shown as text (%s)", type(error).__name__)
            return ()

    def _split(self, block: str) -> Iterator[str]:
        if self.one is None:
            yield block
            return
        at = 0
        while at < len(block):
            found = self.one.match(block, at)
            if found is None:
                raise ValueError("text between calls")
            yield found[1]
            at = found.end()

    def _parsed(self, text: str, tools: Sequence[dict]) -> list:
        try:
            found = self.parse(text, tools)
        except Exception:  # a value doesn't have its tool's type; the client reports that to the model
            found = self.parse(text, None)
        found = found if isinstance(found, list) else [found]
        if self.one is not None and len(found) != 1:
            raise ValueError("text between calls")
        return found


def _checked(call: Any, name: str, text: str) -> ToolCall:
    name, arguments = call.get("name", name), call.get("arguments", call.get("parameters"))
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    if arguments is None:
        arguments = {}
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        raise ValueError("no call")
    if name[0] == "{" or ("raw" in arguments and "raw" not in text):  # what mlx-lm's parser for GLM makes of any text
        raise ValueError("no arguments")
    found = call.get("id")
    identifier = found if isinstance(found, str) and found else new_id()
    checked = ToolCall(identifier, name, json.dumps(arguments, ensure_ascii=False, allow_nan=False))
    "".join((checked.id, checked.name, checked.arguments)).encode()  # no halves of characters
    return checked


def new_id() -> str:
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(_ID_LENGTH))


def _llama_calls(text: str, tools: Any = None) -> list[dict]:
    calls, at, decoder = [], 0, json.JSONDecoder()
    while at < len(text):
        call, at = decoder.raw_decode(text, at)
        calls.append(call)
        at += len(text[at:]) - len(text[at:].lstrip("; \n"))
    return calls


LLAMA = CallFormat("<|python_tag|>", "", _llama_calls, bare=True)
# The message's header names the tool
HARMONY = CallFormat("", "", lambda text, tools: {"arguments": json.loads(text) if text else {}})


def readable(tools: Sequence[ToolSpec]) -> list[dict]:
    """Return tools for mlx-lm's parsers, with simpler schemas."""
    return [{"type": "function", "function": {"name": tool.name, "parameters": _simplified(tool.parameters)}} for tool in tools]


def _simplified(parameters: Mapping[str, Any]) -> dict:
    declared = parameters.get("properties")
    properties = {name: {**resolved(schema, parameters)} for name, schema in declared.items()} if isinstance(declared, dict) else {}
    for schema in properties.values():
        if isinstance(kinds := schema.get("type"), list):
            schema["type"] = next((kind for kind in kinds if kind != "null"), "null")
    return {**parameters, "properties": properties}


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


@dataclass(frozen=True)
class TextPart:
    """Part of a reply's text: prose, or a block of calls with the whitespace before it.

    Attributes:
        calls: the calls of a block, which replace its text; empty if they can't be parsed.
    """

    text: str
    is_block: bool = False
    calls: tuple[ToolCall, ...] = ()


class CallReader:
    """A reader that finds tool calls in the text of a reply.

    The returned texts together are the text of the reply.

    Attributes:
        inside: whether the end of the text belongs to a block of calls.
    """

    def __init__(self, form: CallFormat, tools: Sequence[dict]) -> None:
        self._format, self._tools = form, tools
        self._text = ""  # not returned yet
        self._body = 0  # length of the marker that began the block
        self._searched = 0  # where to look for the end of the block
        self._began = False  # whether text or calls were returned
        self.inside = False

    def add(self, text: str) -> Iterator[TextPart]:
        """Add text, and yield the parts that are complete."""
        self._text += text
        while self._text and (self.inside or (yield from self._open())):
            end = self._format.end
            at = self._text.find(end, self._searched) if end else -1
            if at < 0:
                self._searched = max(self._body, len(self._text) - len(end) + 1)
                return
            block = self._text[self._body : at]
            self._searched = at + len(end)
            if not self._format.in_value(block):
                yield self._take(self._searched, self._format.calls(block, self._tools))

    def finish(self, ended: bool) -> Iterator[TextPart]:
        """Yield the rest of the text.

        Args:
            ended: whether the reply is complete. If not, an open block is text.
        """
        if self._text:
            block = self._text[self._body :]
            whole = self.inside and ended and not self._format.in_value(block)
            yield self._take(len(self._text), self._format.calls(block, self._tools) if whole else ())

    def _open(self) -> Generator[TextPart, None, bool]:
        """Yield text before a block, and return whether the block has started."""
        start = self._format.start
        if self._format.bare and not self._began:
            head = "".join(self._text.lstrip()[:_LONGEST_OPENING].split())
            if any(opening.startswith(head[: len(opening)]) for opening in _LLAMA_OPENINGS):
                self.inside = any(head.startswith(opening) for opening in _LLAMA_OPENINGS)
                self._body = self._searched = 0
                return self.inside
        at = self._text.find(start)
        # Whitespace before a call belongs to the call: templates write their own
        text = len(self._text[: at if at >= 0 else len(self._text) - overlap(self._text, start)].rstrip())
        if text:
            yield self._take(text)
        self.inside, self._body = at >= 0, at - text + len(start)
        self._searched = self._body
        return self.inside

    def _take(self, size: int, calls: tuple[ToolCall, ...] = ()) -> TextPart:
        part = TextPart(self._text[:size], self.inside, calls)
        self._text = self._text[size:]
        self._began = self._began or bool(calls or part.text.strip())
        self.inside = False
        return part


def last_calls(form: CallFormat, text: str, tools: Sequence[dict]) -> tuple[ToolCall, ...]:
    """Return the calls at the end of a text."""
    reader, found = CallReader(form, tools), tuple[ToolCall, ...]()
    for part in (*reader.add(text), *reader.finish(ended=True)):
        if part.calls or part.text.strip():
            found = (*found, *part.calls) if part.calls else ()
    return found


def overlap(text: str, marker: str) -> int:
    """Return how many characters at the end of `text` may be the start of `marker`."""
    return next((size for size in range(min(len(text), len(marker) - 1), 0, -1) if text.endswith(marker[:size])), 0)
