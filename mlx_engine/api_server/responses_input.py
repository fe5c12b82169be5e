"""Input items of OpenAI's Responses, as messages."""

import base64
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mlx_engine.api_server import openai_content, openai_tools
from mlx_engine.api_server.body import log_ignored
from mlx_engine.api_server.content_parts import PartReader
from mlx_engine.api_server.openai_tools import ClientTool
from mlx_engine.api_server.problems import ApiError
from mlx_engine.contract.requests import Message, Role, ToolCall


class ItemReader:
    """A reader of a request's input.

    Consecutive thinking, text, and calls form one assistant message. Items of unknown types are ignored and logged by type.

    Args:
        given: the input.
        instructions: the first system message.
        parts: reads images and documents.

    Attributes:
        messages: the messages.
        tools: tools among the input items.

    Raises:
        ApiError: the input isn't a string or items, or an item refers to a stored one or has content that is refused.
    """

    def __init__(self, given: Any, instructions: str | None, parts: PartReader) -> None:
        self._parts = parts
        self.messages = [Message("system", instructions)] if instructions else []
        self.tools: list[Any] = []
        if isinstance(given, str):
            self.messages.append(Message("user", given))
            return
        if not isinstance(given, list):
            raise ApiError(400, "“input” must be a string or a list of items.", "input", "invalid_value")
        for at, item in enumerate(given):
            if not isinstance(item, dict):
                raise ApiError(400, f"“input.{at}” isn't an object.", f"input.{at}", "invalid_value")
        first = openai_content.first_new([_role_of(item) for item in given])
        self._unknown = set[str]()  # types of ignored items
        for at, item in enumerate(given):
            self._read(item, f"input.{at}", at >= first)
        log_ignored("input items of type", self._unknown)

    def _read(self, item: dict[str, Any], where: str, is_new: bool) -> None:
        kind = item.get("type") or "message"
        match kind:
            case "message":
                role = "user" if (own := _role_of(item)) == "tool" else own
                text, images = openai_content.content_of(item.get("content"), f"{where}.content", role, is_new, self._parts)
                if role == "assistant":
                    self._add(text=text)
                else:
                    self.messages.append(Message(role, text, images=images))
            case "reasoning":
                self._add(thinking=_thinking(item))
            case "function_call" | "custom_tool_call":
                custom = kind == "custom_tool_call"
                tool = ClientTool(str(item.get("name", "")), str(item.get("namespace") or ""), custom)
                arguments = item.get("input" if custom else "arguments")
                self._add(call=openai_tools.past_call(item.get("call_id"), tool, arguments))
            case "function_call_output" | "custom_tool_call_output":
                text, images = openai_content.content_of(item.get("output"), f"{where}.output", "tool", is_new, self._parts)
                self.messages.append(Message("tool", text, call_id=str(item.get("call_id") or ""), images=images))
            case "additional_tools":
                tools = item.get("tools")
                self.tools += tools if isinstance(tools, list) else ()
            case "item_reference":
                message = f"“{where}” refers to a stored item, but responses aren't stored. Send the item."
                raise ApiError(400, message, where, "unsupported_parameter")
            case _:
                self._unknown.add(str(kind))

    def _add(self, thinking: str = "", text: str = "", call: ToolCall | None = None) -> None:
        """Add to the assistant's message: thinking, then text, then calls."""
        last = self.messages[-1] if self.messages else None
        if last is None or last.role != "assistant" or (call is None and (last.content or last.calls)):
            last = Message("assistant", "")
            self.messages.append(last)
        calls = (*last.calls, call) if call else last.calls
        self.messages[-1] = replace(last, content=last.content + text, thinking=last.thinking + thinking, calls=calls)


def _role_of(item: dict[str, Any]) -> Role:
    """Return the role of the message that an item belongs to."""
    kind = str(item.get("type") or "message")
    if kind == "message":
        return openai_content.role_of(str(item.get("role")))
    return "tool" if kind.endswith("_output") else "system" if kind == "additional_tools" else "assistant"


def encrypted(thinking: str) -> str:
    """Return a reasoning item's `encrypted_content`, returned by clients as is."""
    return base64.b64encode(thinking.encode()).decode()


def _thinking(item: dict[str, Any]) -> str:
    """Return a reasoning item's text, or its summary."""
    with suppress(TypeError, ValueError):
        if text := base64.b64decode(item.get("encrypted_content") or "", validate=True).decode():
            return text
    parts = item.get("content") or item.get("summary")
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "\n\n".join(text for text in texts if isinstance(text, str))
