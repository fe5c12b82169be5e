"""Kimi K2: calls `functions.NAME:0`, each with JSON, in a section of calls."""

import re
from collections.abc import Sequence

from mlx_engine.contract.requests import ToolCall, ToolSpec
from mlx_engine.formats.calls import matches, tool_call
from mlx_engine.formats.lark import Lark, literal
from mlx_engine.formats.reply_format import ReplyFormat
from mlx_engine.formats.typed_values import decoded

_BEGIN, _ARGUMENT, _END = (f"<|tool_call_{part}|>" for part in ("begin", "argument_begin", "end"))
_CALL = re.compile(
    rf"\s*{re.escape(_BEGIN)}\s*(?P<id>(?:functions\.)?(?P<name>[^<]+?):\d+)\s*{re.escape(_ARGUMENT)}"
    rf"(?P<arguments>.*?){re.escape(_END)}",
    re.DOTALL,
)


class Kimi(ReplyFormat):
    names = ("kimi_k2",)
    thinking = ("◁think▷", "◁/think▷")
    start, end = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
    value = (_ARGUMENT, _END)
    layout = "call{more} {end}"

    def parse(self, block: str, tools: Sequence[ToolSpec], name: str) -> Sequence[ToolCall]:
        return [tool_call(found["name"], decoded(found["arguments"].strip()), found["id"]) for found in matches(_CALL, block)]

    def call(self, lark: Lark, tool: ToolSpec) -> str:
        begin, argument, end = map(lark.marker, (_BEGIN, _ARGUMENT, _END))
        return f"{begin} {literal(f'functions.{tool.name}:')} /[0-9]{{1,3}}/ {argument} {lark.arguments(tool)} {end}"
