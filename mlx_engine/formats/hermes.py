"""Hermes and Qwen3: `<tool_call>{"name": NAME, "arguments": {...}}</tool_call>`."""

import json
from collections.abc import Sequence

from mlx_engine.contract.requests import ToolCall, ToolSpec
from mlx_engine.formats.calls import json_call
from mlx_engine.formats.lark import Lark
from mlx_engine.formats.reply_format import ReplyFormat


class Hermes(ReplyFormat):
    names = ("json_tools",)
    start, end = "<tool_call>", "</tool_call>"
    layout = '"\\n" call "\\n" {end}'

    def parse(self, block: str, tools: Sequence[ToolSpec], name: str) -> Sequence[ToolCall]:
        found = json.loads(block)
        return [json_call(call) for call in (found if isinstance(found, list) else [found])]

    def call(self, lark: Lark, tool: ToolSpec) -> str:
        return lark.json_call(tool, "arguments")
