"""Chats and tools in Anthropic's dialect."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from mlx_engine.api_server.content_parts import (
    Content,
    Paragraph,
    Part,
    PartReader,
    check_role,
    document_text,
    from_base64,
    joined,
    refuse_address,
    refuse_stored,
)
from mlx_engine.api_server.problems import ApiError
from mlx_engine.contract.requests import Message, ToolCall

BLOCK = "type text thinking id name input tool_use_id content is_error tool_name source title context citations"  # supported fields
SOURCE = "type media_type data content url file_id"  # supported fields of a block's source
_BLOCKS = {"text", "thinking", "redacted_thinking", "tool_use", "tool_result", "tool_reference", "search_result"}
_MEDIA = {"image", "document"}
_UNKNOWN = "unknown"
_ERROR = "Error: "
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
    source: Any = None
    title: Any = None
    context: Any = None
    citations: Any = None

    def call(self) -> ToolCall:
        """Return the call of a `tool_use` block, whose input may be anything."""
        given = self.input
        if isinstance(given, dict) and given.keys() == {_UNPARSED}:
            given = given[_UNPARSED]
        return ToolCall(self.id, self.name, given if isinstance(given, str) else json.dumps(given or {}, ensure_ascii=False))

    def result(self, where: str, reader: PartReader, deferred: Mapping[str, AnthropicTool]) -> Message:
        """Return the message for a `tool_result` block, which may refer to deferred tools."""
        text, images = joined(_parts_of(self.content, f"{where}.content", False, reader, deferred))
        if self.is_error:
            text, images = _ERROR + text, tuple(replace(image, at=len(_ERROR) + image.at) for image in images)
        return Message("tool", text, call_id=self.tool_use_id, images=images)

    def parts(self, where: str, is_new: bool, reader: PartReader, deferred: Mapping[str, AnthropicTool]) -> Iterator[Part]:
        """Yield the block as parts, with “[image]” in place of what the model can't read."""
        match self.type:
            case "text":
                yield self.text or ""
            case "search_result":
                yield from _parts_of(self.content, f"{where}.content", is_new, reader)
            case "tool_reference":
                found = deferred.get(self.tool_name)
                yield f"The tool {self.tool_name} is available now." + (f"\n{found.definition()}" if found else "")
            case "image":
                yield from reader.read("image", where, is_new, lambda: [reader.image(_file(self.source, where), where)])
            case "document":
                yield from reader.read("document", where, is_new, lambda: self._document(where, is_new, reader))

    def _document(self, where: str, is_new: bool, reader: PartReader) -> Iterator[Part]:
        if isinstance(self.citations, dict) and self.citations.get("enabled"):
            message = f"“{where}” asks for citations, which aren't supported. Remove “citations”."
            raise ApiError(400, message, f"{where}.citations", "unsupported_parameter")
        if isinstance(self.context, str):
            yield self.context
        name = self.title if isinstance(self.title, str) and self.title.strip() else "document"
        source: Any = self.source if isinstance(self.source, dict) else {}
        match source.get("type"), source.get("data"), source.get("content"):
            case "text", str(text), _:
                yield document_text(text, f"{where}.source.data", name)
            case "content", _, content:
                field = f"{where}.source.content"
                try:
                    blocks = _BLOCKS_OF.validate_python(content)
                except ValidationError:
                    raise ApiError(400, f"“{field}” must be a string or a list of blocks.", field, "invalid_value") from None
                yield from _parts_of([block for block in blocks if block.type in ("text", "image")], field, is_new, reader)
            case _:
                yield from reader.document(_file(self.source, where), f"{where}.source.data", name)


Blocks = Annotated[
    list[Annotated[ContentBlock, BeforeValidator(_known)]],
    BeforeValidator(_as_blocks, json_schema_input_type=str | list[dict[str, Any]] | None),
]


_BLOCKS_OF = TypeAdapter[list[ContentBlock]](Blocks)


def _parts_of(
    blocks: Iterable[ContentBlock],
    where: str,
    is_new: bool,
    reader: PartReader,
    deferred: Mapping[str, AnthropicTool] = MappingProxyType({}),
    are_results: bool = False,
) -> Iterator[Part]:
    """Yield the parts of blocks, one paragraph for each text.

    Args:
        blocks: the blocks.
        where: name of their field.
        is_new: whether the model should answer their message now.
        reader: reads images and documents.
        deferred: tools that are defined where blocks refer to them, by name.
        are_results: whether documents are those that a tool has read, which Claude Code puts next to the result.
    """
    for at, block in enumerate(blocks):
        for part in block.parts(f"{where}.{at}", is_new and not (are_results and block.type == "document"), reader, deferred):
            yield Paragraph(part) if isinstance(part, str) else part


def _file(source: Any, where: str) -> bytes:
    """Return the file of a block's source.

    Raises:
        ApiError: the source isn't base64.
    """
    source, field = source if isinstance(source, dict) else {}, f"{where}.source"
    match source.get("type"):
        case "base64":
            return from_base64(source.get("data"), f"{field}.data")
        case "url":
            raise refuse_address(f"{field}.url")
        case "file":
            raise refuse_stored(f"{field}.file_id")
    raise ApiError(400, f"“{field}” must have the type “base64”.", f"{field}.type", "invalid_value")


def unknown_types(blocks: Iterable[ContentBlock]) -> Iterator[str]:
    """Yield the types of blocks that are ignored."""
    for block in blocks:
        if block.type == _UNKNOWN:
            yield block.name
        yield from unknown_types(block.content)


def system_text(blocks: Iterable[ContentBlock], reader: PartReader) -> str:
    """Return the text of a system prompt, without what differs between chats."""
    kept = [block.model_copy(update={"text": _BILLING.sub("", block.text or "")}) for block in blocks]
    text, images = joined(_parts_of(kept, "system", False, reader))
    check_role(images, "system")
    return text


class AnthropicMessage(BaseModel):
    """A message. System messages can be anywhere in the chat."""

    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    role: Literal["user", "assistant", "system"]
    content: Blocks

    def messages(self, where: str, is_new: bool, reader: PartReader, deferred: Mapping[str, AnthropicTool]) -> Iterator[Message]:
        """Yield the engine's messages: tool results, then the text.

        Args:
            where: name of the content's field.
            is_new: whether the model should answer this message now. Elsewhere, and in tool results, a model that can't see reads
                “[image]” in place of images, so that the chat can continue; see `PartReader.read`.
            reader: reads images and documents.
            deferred: tools that are defined where blocks refer to them, by name.

        Raises:
            ApiError: an image or a document is refused.
        """
        kinds = [block.type for block in self.content]
        text, images = self._content(where, is_new, reader)
        if self.role == "assistant":
            thinking = "\n\n".join(block.thinking for block in self.content if block.thinking)
            calls = tuple(block.call() for block in self.content if block.type == "tool_use")
            if text or thinking or calls:
                yield Message("assistant", text, thinking, calls)
            return
        for at, block in enumerate(self.content):
            if block.type == "tool_result":
                yield block.result(f"{where}.{at}", reader, deferred)
        if text or images or (self.role == "user" and all(kind == "text" for kind in kinds)):
            yield Message(self.role, text, images=images)

    def _content(self, where: str, is_new: bool, reader: PartReader) -> Content:
        are_results = any(block.type == "tool_result" for block in self.content)
        content = joined(_parts_of(self.content, where, is_new, reader, are_results=are_results))
        check_role(content[1], self.role)
        return content


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
