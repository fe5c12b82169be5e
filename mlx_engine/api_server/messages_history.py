"""Chats and tools in Anthropic's dialect."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from mlx_engine.api_server.problems import ApiError
from mlx_engine.contract.requests import Message, ToolCall

BLOCK = "type text thinking id name input tool_use_id content is_error tool_name"  # supported fields of blocks
_BLOCKS = {"text", "thinking", "redacted_thinking", "tool_use", "tool_result", "tool_reference", "search_result"}
_MEDIA = {"image", "document"}
_UNKNOWN = "unknown"
_BILLING = re.compile(r"\Ax-anthropic-billing-header:[^\n]*\n*")  # differs between Claude Code's chats
_UNPARSED = "__unparsedToolInput"  # field in which Claude Code returns arguments that aren't valid JSON


def _as_blocks(value: Any) -> Any:
    """Return a string as a list of one block."""
    return [{"type": "text", "text": value}] if isinstance(value, str) else value or []


def _known(value: Any) -> Any:
    """Return a block with only its type, as its name, if the type is unknown."""
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind in _BLOCKS | _MEDIA:
        return value
    return {"type": _UNKNOWN, "name": kind}


class AnthropicTool(BaseModel):
    """A tool. Types other than `custom` need Anthropic's servers or models."""

    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    type: str | None = None
    name: str = ""
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    strict: bool | None = None
    defer_loading: bool | None = None

    def definition(self) -> str:
        """Return what the model needs to know, as JSON."""
        return json.dumps(
            {"name": self.name, "description": self.description or "", "parameters": self.input_schema}, ensure_ascii=False
        )


class ContentBlock(BaseModel):
    """A content block. The fields of other types are empty."""

    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    type: str
    text: str | None = None
    thinking: str | None = None
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    content: "Blocks" = []
    is_error: bool | None = None
    tool_name: str = ""

    def call(self) -> ToolCall:
        """Return the call of a `tool_use` block, whose input may be anything."""
        given = self.input
        if isinstance(given, dict) and given.keys() == {_UNPARSED}:
            given = given[_UNPARSED]
        return ToolCall(self.id, self.name, given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False))

    def result(self, deferred: Mapping[str, AnthropicTool]) -> Message:
        """Return the message for a `tool_result` block, which may refer to deferred tools."""
        text = text_of(self.content, deferred)
        return Message("tool", f"Error: {text}" if self.is_error else text, call_id=self.tool_use_id)

    def shown(self, deferred: Mapping[str, AnthropicTool]) -> str:
        """Return the block as text, such as “[image]”."""
        match self.type:
            case "text":
                return self.text or ""
            case "search_result":
                return text_of(self.content)
            case "tool_reference":
                found = deferred.get(self.tool_name)
                return f"The tool {self.tool_name} is available now." + (f"\n{found.definition()}" if found else "")
        return f"[{self.type}]" if self.type in _MEDIA else ""


Blocks = Annotated[
    list[Annotated[ContentBlock, BeforeValidator(_known)]],
    BeforeValidator(_as_blocks, json_schema_input_type=str | list[dict[str, Any]] | None),
]


def text_of(blocks: Iterable[ContentBlock], deferred: Mapping[str, AnthropicTool] = MappingProxyType({})) -> str:
    """Return the text of blocks, one paragraph each. Blank blocks are left out.

    Args:
        blocks: the blocks.
        deferred: tools that are defined where blocks refer to them, by name.
    """
    return "\n\n".join(text for block in blocks if (text := block.shown(deferred)).strip())


def unknown_types(blocks: Iterable[ContentBlock]) -> Iterator[str]:
    """Yield the types of blocks that are ignored."""
    for block in blocks:
        if block.type == _UNKNOWN:
            yield block.name
        yield from unknown_types(block.content)


def system_text(blocks: Iterable[ContentBlock]) -> str:
    """Return the text of a system prompt, without what differs between chats."""
    return text_of(block.model_copy(update={"text": _BILLING.sub("", block.text or "")}) for block in blocks)


class AnthropicMessage(BaseModel):
    """A message. System messages can be anywhere in the chat."""

    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    role: Literal["user", "assistant", "system"]
    content: Blocks

    def messages(self, where: str, is_new: bool, deferred: Mapping[str, AnthropicTool]) -> Iterator[Message]:
        """Yield the engine's messages: tool results, then the text.

        Args:
            where: name of the content's field.
            is_new: whether the model should answer this message now. Elsewhere, and next to tool results, the model reads
                “[image]” in place of media, so that the chat can continue.
            deferred: tools that are defined where blocks refer to them, by name.

        Raises:
            ApiError: a new message has an image or a document.
        """
        if self.role == "assistant":
            thinking = "\n\n".join(block.thinking for block in self.content if block.thinking)
            calls = tuple(block.call() for block in self.content if block.type == "tool_use")
            text = text_of(self.content)
            if text or thinking or calls:
                yield Message("assistant", text, thinking, calls)
            return
        kinds = [block.type for block in self.content]
        if is_new and "tool_result" not in kinds and (media := [at for at, kind in enumerate(kinds) if kind in _MEDIA]):
            name, kind = f"{where}.{media[0]}", kinds[media[0]]
            why = f"“{name}” has the type “{kind}”, but the model reads only text. Remove it."
            raise ApiError(400, why, f"{name}.type", "unsupported_content")
        yield from (block.result(deferred) for block in self.content if block.type == "tool_result")
        text = text_of(self.content)
        if text or (self.role == "user" and all(kind == "text" for kind in kinds)):
            yield Message(self.role, text)


def functions(
    tools: Sequence[AnthropicTool], messages: Iterable[AnthropicMessage]
) -> tuple[list[dict[str, Any]], dict[str, AnthropicTool]]:
    """Return the tools in OpenAI's format, and those deferred to a result.

    Deferred tools are defined in the messages that refer to them, so that the beginning of the prompt stays the same.
    """
    searched = any((tool.type or "").startswith("tool_search_tool") for tool in tools)  # by Anthropic's servers, elsewhere
    deferred = {} if searched else {tool.name: tool for tool in tools if tool.defer_loading}
    results = [block for message in messages for block in message.content if block.type == "tool_result"]
    names = dict.fromkeys(part.tool_name for block in results for part in block.content if part.type == "tool_reference")
    known = [_function(tool) for tool in tools if tool.name not in deferred]
    return known + [_function(deferred[name]) | {"deferred": True} for name in names if name in deferred], deferred


def _function(tool: AnthropicTool) -> dict[str, Any]:
    kind = "function" if tool.type in (None, "custom") else tool.type
    found = {"type": kind, "name": tool.name, "description": tool.description}
    return found | {"parameters": tool.input_schema, "strict": tool.strict}
