"""Other formats, such as Python's syntax: parsed by mlx-lm, without grammar."""

from collections.abc import Sequence

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.requests import ToolCall, ToolSpec
from mlx_engine.formats.calls import json_call
from mlx_engine.formats.reply_format import ReplyFormat


class MlxLmCalls(ReplyFormat):
    def __init__(self, tokenizer: TokenizerWrapper) -> None:
        self.start, self.end, self._parse = tokenizer.tool_call_start, tokenizer.tool_call_end, tokenizer.tool_parser

    def parse(self, block: str, tools: Sequence[ToolSpec], name: str) -> Sequence[ToolCall]:
        try:
            found = self._parse(block, [tool.declaration for tool in tools])
        except Exception:  # a value doesn't have its tool's type; the client reports that to the model
            found = self._parse(block, None)
        return [json_call(call) for call in (found if isinstance(found, list) else [found])]
