"""Llama: the reply is `{"name": NAME, "parameters": {...}}`, repeated after `; `."""

import re
from collections.abc import Sequence

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.requests import ToolCall, ToolSpec
from mlx_engine.formats.calls import json_call, with_json
from mlx_engine.formats.lark import Lark
from mlx_engine.formats.reply_format import ReplyFormat

_BARE_CALL = r'/\s*\{\s*"(name|type)"\s*:(?s:.*)/'


class Llama(ReplyFormat):
    start = "<|python_tag|>"
    openings = ('{"name":', '{"type":"function"')
    layout = "call"

    def recognizes(self, tokenizer: TokenizerWrapper) -> bool:
        return self.start in tokenizer.chat_template or '"parameters": dictionary' in tokenizer.chat_template

    def parse(self, block: str, tools: Sequence[ToolSpec], name: str) -> Sequence[ToolCall]:
        return [json_call(call) for _, call in with_json(re.compile(r"[;\s]*"), block)]

    def text(self) -> str:
        return f"{super().text()} & ~{_BARE_CALL}"

    def free(self, lark: Lark) -> str:
        return f"TEXT | {self.several(lark)}"

    def several(self, lark: Lark) -> str:
        one = self.block(lark)
        return f'{one} ("; " {one})*' if lark.several else one

    def call(self, lark: Lark, tool: ToolSpec) -> str:
        return lark.json_call(tool, "parameters")
