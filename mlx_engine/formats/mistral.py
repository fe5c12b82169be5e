"""Mistral: `[TOOL_CALLS]NAME[ARGS]{...}`, or `[TOOL_CALLS][{"name": ...}, ...]`."""

import json
import re
from collections.abc import Sequence

from mlx_engine.contract.requests import ToolCall, ToolSpec
from mlx_engine.formats.calls import json_call, tool_call, with_json
from mlx_engine.formats.lark import Lark, literal
from mlx_engine.formats.reply_format import ReplyFormat

_HEADER = re.compile(r"(?:\s*\[TOOL_CALLS\])?\s*([\w-]+)\s*(?:\[CALL_ID\]\s*([\w-]+)\s*)?\[ARGS\]\s*")


class Mistral(ReplyFormat):
    names = ("mistral",)
    thinking = ("[THINK]", "[/THINK]")
    start = "[TOOL_CALLS]"

    def parse(self, block: str, tools: Sequence[ToolSpec], name: str) -> Sequence[ToolCall]:
        if block.startswith("["):
            return [json_call(call) for call in json.loads(block)]
        return [tool_call(header[1], arguments, header[2]) for header, arguments in with_json(_HEADER, block)]

    def call(self, lark: Lark, tool: ToolSpec) -> str:
        return f"{literal(tool.name)} {lark.marker('[ARGS]')} {lark.arguments(tool)}"
