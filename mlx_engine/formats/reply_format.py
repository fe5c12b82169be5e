"""What a reply format is. `format_registry.py` lists all formats."""

import json
import logging
import re
from collections.abc import Sequence
from typing import ClassVar

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.requests import ToolCall, ToolSpec
from mlx_engine.formats.channels import ChannelMarkers
from mlx_engine.formats.lark import ANY_TEXT, Lark, ReplyRules, any_of, json_rule, parsed

log = logging.getLogger(__name__)

_NO_GRAMMAR = EngineText.of(
    "tool_choice_unsupported",
    "This model's tool calls can't be constrained. Set tool_choice to auto or none, and don't use strict tools.",
)


class ReplyFormat:
    """How a family writes thinking and tool calls. This base class has no calls.

    Attributes:
        names: what `tool_parser_type` in tokenizer_config.json calls the format. mlx-lm sets it if the template has the format.
        thinking: texts that open and close thinking.
        start: text that begins a block of calls.
        end: text that ends the block; empty if the block ends with the reply.
        value: texts before and after a value, inside which `end` has no meaning; None for JSON.
        openings: beginnings of a reply that are also those of a call, without whitespace.
        one_per_turn: whether the template writes only one call for each turn.
        layout: Lark expression of what follows `start`. {more} is "+" if several calls are allowed.
    """

    names: ClassVar[tuple[str, ...]] = ()
    thinking: ClassVar[tuple[str, str]] = ("<think>", "</think>")
    start = end = ""
    value: ClassVar[tuple[str, str] | None] = None
    openings: ClassVar[tuple[str, ...]] = ()
    one_per_turn = False
    layout = "call {end}"

    def recognizes(self, tokenizer: TokenizerWrapper) -> bool:
        """Return whether a tokenizer without `tool_parser_type` has this format."""
        return False

    def markers(self, tokenizer: TokenizerWrapper) -> ChannelMarkers | None:
        """Return a tokenizer's markers, or None if it lacks those of this format."""
        return ChannelMarkers.of_pair(tokenizer, *self.thinking)

    def parse(self, block: str, tools: Sequence[ToolSpec], name: str) -> Sequence[ToolCall]:
        """Return the calls of a block, if the format has calls. May raise anything.

        Args:
            block: text of the block.
            tools: tools of the request, which declare the types of arguments.
            name: name of the tool that the header of a message addresses.
        """
        return ()

    def calls(self, block: str, tools: Sequence[ToolSpec], name: str = "") -> tuple[ToolCall, ...]:
        """Return the calls of a block, or () if not all of its text can be parsed."""
        try:
            return tuple(self.parse(block.strip(), tools, name))
        except Exception as error:  # parsers raise anything
            log.warning("A tool call can't be parsed, and is shown as text (%s)", type(error).__name__)
            return ()

    def in_value(self, text: str) -> bool:
        """Return whether `text`, the beginning of a block, ends inside a value."""
        if self.value is not None:
            opening, closing = self.value
            return text.count(opening) % 2 == 1 if opening == closing else text.count(opening) > text.count(closing)
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            return error.msg.startswith("Unterminated string")
        except (ValueError, RecursionError):
            pass
        return False

    def grammar(self, lark: Lark, schema: str | None, forced: bool, choice: str) -> ReplyRules:
        """Return the grammars of a reply's sections.

        Args:
            lark: has the tools that may be called.
            schema: of the answer, if any.
            forced: whether the reply must be a call.
            choice: as in `GenerationRequest.tool_choice`.
        """
        if schema is not None or forced:
            ways = []
            if schema is not None and not forced:
                lark.rules.append(f"answer: {json_rule(parsed(schema))}")
                ways.append("answer")
            if lark.tools:
                ways.append(self.several(lark))
            return lark.answer(f"/[ \\n]{{1,2}}/? ({any_of(ways)})")
        lark.rules.append(f"TEXT: {self.text()}")
        return lark.answer("TEXT" if choice == "none" else self.free(lark), demanding=False)

    def text(self) -> str:
        """Return an expression of text without calls."""
        start = re.escape(self.start).replace("/", r"\/")
        return f"{ANY_TEXT} & ~/(?s:.*){start}(?s:.*)/" if start else ANY_TEXT

    def free(self, lark: Lark) -> str:
        """Return an expression of text with any number of calls."""
        block, start = self.block(lark), lark.marker(self.start)
        is_token = start.startswith("<")
        lark.rules.append(f"head: TEXT? {start}" if is_token else f"head[lazy]: ANY {json.dumps(self.start)}")
        return f"(head {block})* TEXT?"

    def several(self, lark: Lark) -> str:
        """Return an expression of blocks of calls, of one if one call is allowed."""
        one = f"{lark.marker(self.start)} {self.block(lark)}"
        return f'{one} ("\\n"? {one})*' if lark.several else one

    def block(self, lark: Lark) -> str:
        """Return an expression of what follows `start`."""
        lark.rules.append(f"call: {any_of(f'({self.call(lark, tool)})' for tool in lark.tools)}")
        return self.layout.format(more="+" if lark.several else "", end=lark.marker(self.end) if self.end else "")

    def call(self, lark: Lark, tool: ToolSpec) -> str:
        """Return an expression of a call of a tool."""
        raise UserError.of(_NO_GRAMMAR)
