"""Harmony (gpt-oss): `<|start|>`, header, `<|message|>`, text, `<|end|>`.

The header names a channel (`<|channel|>analysis`). Text for a tool (`<|channel|>commentary to=functions.NAME`) is a call.
"""

import json
import re
from collections.abc import Sequence

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.requests import ToolCall, ToolSpec
from mlx_engine.formats.calls import tool_call
from mlx_engine.formats.channels import ChannelMarkers, Marker, Section, token_of
from mlx_engine.formats.lark import Lark, ReplyRules, any_of, json_rule, literal, parsed
from mlx_engine.formats.reply_format import ReplyFormat

_START, _CHANNEL, _TEXT = "<|start|>", "<|channel|>", "<|message|>"
_ENDS = ("<|end|>", "<|eom|>", "<|eot|>", "<|return|>", "<|call|>")


class Harmony(ReplyFormat):
    one_per_turn = True

    def recognizes(self, tokenizer: TokenizerWrapper) -> bool:
        return token_of(tokenizer, _START) is not None and token_of(tokenizer, _TEXT) is not None

    def markers(self, tokenizer: TokenizerWrapper) -> ChannelMarkers | None:
        if token_of(tokenizer, _CHANNEL) is None:
            return None
        return header_markers(tokenizer, thinking=f"{_CHANNEL}analysis{_TEXT}", answer=f"{_CHANNEL}final{_TEXT}")

    def parse(self, block: str, tools: Sequence[ToolSpec], name: str) -> Sequence[ToolCall]:
        return [tool_call(name, json.loads(block) if block else {})]

    def grammar(self, lark: Lark, schema: str | None, forced: bool, choice: str) -> ReplyRules:
        channel, constrain = lark.marker(_CHANNEL), lark.marker("<|constrain|>")
        heads = [f'{channel} "analysis"']
        if not forced:
            heads.append(f'{channel} "final"')
            if schema is None:
                heads.append(f'{channel} "commentary"')
        if lark.tools:
            tool = f'" to=functions." ({any_of(literal(tool.name) for tool in lark.tools)})'
            heads.append(f'({tool} {channel} "commentary" | {channel} "commentary" {tool}) (" " {constrain}? "json")?')
        header = f'start: {lark.marker(_START)}? "assistant" ({any_of(heads)})'
        calls = {tool.name: f"start: {json_rule(lark.parameters(tool))}" for tool in lark.tools}
        answer = f"start: WS? answer\nWS: /[ \\n]{{1,2}}/\nanswer: {json_rule(parsed(schema))}" if schema is not None else None
        return ReplyRules(answer, header, calls, forced or schema is not None)


def header_markers(tokenizer: TokenizerWrapper, thinking: str, answer: str) -> ChannelMarkers | None:
    """Return the markers of messages, or None if a tokenizer lacks them.

    Args:
        tokenizer: the target's tokenizer.
        thinking: rest of the header of a message that is thinking.
        answer: rest of the header of a message that is an answer.
    """
    ids = {text: found for text in (_START, _CHANNEL, _TEXT, *_ENDS) if (found := token_of(tokenizer, text)) is not None}
    if _START not in ids or _TEXT not in ids:
        return None
    headers: dict[Marker, Section] = {(found,): "header" for text, found in ids.items() if text != _TEXT}
    return ChannelMarkers(
        next_section={"answer": headers, "thinking": headers, "header": {(ids[_TEXT],): "answer"}},
        opening={"thinking": thinking, "answer": answer},
        separator=f"{next((text for text in _ENDS if text in ids), '')}{_START}assistant",
        read_header=_read_header,
    )


def message_ends(tokenizer: TokenizerWrapper) -> set[int]:
    """Return the tokens that end messages."""
    return {*tokenizer.eos_token_ids, *(found for text in _ENDS if (found := token_of(tokenizer, text)) is not None)}


def _read_header(header: str) -> tuple[Section, str]:
    """Return the section after a header, and the tool that it addresses, or ""."""
    found = re.search(r"to=([^\s<]+)", header)
    recipient = found[1] if found else "user"
    if recipient.startswith("functions.") or (
        recipient not in ("user", "commentary", "self", "assistant") and "analysis" not in header
    ):
        return "answer", recipient.removeprefix("functions.")
    return "thinking" if recipient in ("self", "assistant") or "analysis" in header else "answer", ""
