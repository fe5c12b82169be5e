"""The corpus's questions as requests to the engine."""

import json
from typing import Any

from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall, ToolSpec
from tests.demo_pair.corpus.questions import Question


def request_of(question: Question, max_tokens: int) -> GenerationRequest:
    tools = tuple(map(spec_of, question.tools))
    return GenerationRequest(
        tuple(map(message_of, question.messages)), max_tokens=max_tokens, tools=tools, thinking=question.thinking
    )


def spec_of(tool: dict[str, Any]) -> ToolSpec:
    function = tool["function"]
    return ToolSpec(function["name"], function.get("description"), function["parameters"])


def message_of(message: dict[str, Any]) -> Message:
    calls = tuple(
        ToolCall("call", call["function"]["name"], json.dumps(call["function"]["arguments"]))
        for call in message.get("tool_calls", ())
    )
    thinking = message.get("reasoning_content", "")
    return Message(message["role"], message["content"], thinking, calls, "call" if message["role"] == "tool" else "")
