"""GLM and Laguna: NAME, `<arg_key>NAME</arg_key><arg_value>VALUE</arg_value>`."""

import json
import re
from collections.abc import Sequence
from typing import Any

from mlx_engine.contract.requests import ToolCall, ToolSpec
from mlx_engine.formats.calls import json_call, tool_call
from mlx_engine.formats.tagged import TaggedFormat
from mlx_engine.formats.typed_values import KINDS, decoded

_PLAIN = re.compile(r"([^<\s{]+)(?:\s+(\{.*\}))?", re.DOTALL)


class Glm(TaggedFormat):
    names = ("glm47", "laguna")
    start, end = "<tool_call>", "</tool_call>"
    value = ("<arg_value>", "</arg_value>")
    pattern = re.compile(
        r"([^<\s]+)\s*(?P<arguments>(?:(?><arg_key>.*?</arg_key>(?:\\n|\s)*<arg_value>.*?</arg_value>)\s*)++)$", re.DOTALL
    )
    argument = re.compile(r"<arg_key>\s*(.*?)\s*</arg_key>(?:\\n|\s)*<arg_value>(.*?)</arg_value>\s*", re.DOTALL)
    written = ("{}\n", "<arg_key>{}</arg_key>\n<arg_value>", "</arg_value>", "")
    untyped = KINDS

    def parse(self, block: str, tools: Sequence[ToolSpec], name: str) -> Sequence[ToolCall]:
        if block.startswith("{"):
            return [json_call(json.loads(block))]
        if plain := _PLAIN.fullmatch(block):
            return [tool_call(plain[1], decoded(plain[2] or "{}"))]
        return super().parse(block, tools, name)

    def typed(self, text: str, kinds: frozenset[str]) -> Any:
        return text if kinds == {"string"} else super().typed(text, kinds)
