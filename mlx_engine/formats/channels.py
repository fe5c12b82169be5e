"""Channels of a reply: thinking or answer, separated by the target's markers.

Two kinds of markers exist. A *pair* opens and closes thinking: `<think>` and `</think>`, or Gemma 4's `<|channel>thought` and
`<channel|>`. Otherwise, a reply is a series of *messages with headers*: `<|start|>`, header, `<|message|>`, text, `<|end|>`. The
header names a channel (`<|channel|>analysis`, gpt-oss) or a recipient (`to=self`, Muse). Text for a tool
(`<|channel|>commentary to=functions.NAME`) is a call.
"""

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Literal

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.events import Channel
from mlx_engine.formats.calls import HARMONY, LLAMA, CallFormat

Marker = tuple[int, ...]
Section = Literal["answer", "thinking", "header"]

# Pairs missing from mlx-lm's list.
_PAIRS = (("[THINK]", "[/THINK]"), ("◁think▷", "◁/think▷"), ("<seed:think>", "</seed:think>"))
_HEADERS = ("<|start|>", "<|channel|>")
_TEXT = "<|message|>"
_ENDS = ("<|end|>", "<|eom|>", "<|eot|>", "<|return|>", "<|call|>")


@dataclass(frozen=True)
class ChannelMarkers:
    """The channel markers of a target.

    Attributes:
        next_section: for each section, the token sequences that end it, and the section after each.
        opening: text that opens a channel.
        separator: text before `opening` if another message is open.
        closing: marker that ends thinking, if any.
        headed: whether replies are messages with headers.
    """

    next_section: dict[Section, dict[Marker, Section]]
    opening: dict[Channel, str]
    separator: str = ""
    closing: Marker = ()
    headed: bool = False


def markers_of(tokenizer: TokenizerWrapper) -> ChannelMarkers | None:
    """Return a tokenizer's channel markers, or None if the tokenizer has none."""
    if _id(tokenizer, _TEXT) is not None and _id(tokenizer, _HEADERS[0]) is not None:
        return _header_markers(tokenizer)
    opening, closing = tokenizer.think_start, tokenizer.think_end
    ids = tuple(tokenizer.think_start_tokens or ()), tuple(tokenizer.think_end_tokens or ())
    for pair in _PAIRS if not all(ids) else ():
        first, last = _id(tokenizer, pair[0]), _id(tokenizer, pair[1])
        if first is not None and last is not None:
            (opening, closing), ids = pair, ((first,), (last,))
    if not all(ids):
        return None
    return ChannelMarkers(
        next_section={"answer": {ids[0]: "thinking"}, "thinking": {ids[1]: "answer"}, "header": {}},
        opening={"thinking": f"{opening}\n", "answer": f"\n{closing}\n\n"},
        closing=ids[1],
    )


def call_format(tokenizer: TokenizerWrapper) -> CallFormat | None:
    """Return the format of a target's tool calls, or None if it can't call tools.

    A target can't call tools if its chat template takes no tools or the format is unknown.
    """
    template = tokenizer.chat_template
    if not template_reads(tokenizer, "tools"):
        return None
    if tokenizer.has_tool_calling:
        return CallFormat.of_parser(tokenizer.tool_call_start, tokenizer.tool_call_end, tokenizer.tool_parser)
    markers = markers_of(tokenizer)
    if markers and markers.headed:
        return HARMONY
    return LLAMA if "<|python_tag|>" in template or '"parameters": dictionary' in template else None


def message_ends(tokenizer: TokenizerWrapper) -> set[int]:
    """Return the tokens that end messages."""
    return {*tokenizer.eos_token_ids, *(found for text in _ENDS if (found := _id(tokenizer, text)) is not None)}


def template_reads(tokenizer: TokenizerWrapper, option: str) -> bool:
    """Return whether a chat template reads a variable of this name."""
    text = tokenizer.chat_template
    text = text.get("default") if isinstance(text, dict) else text
    if getattr(tokenizer, "_chat_template", None) is not None or not isinstance(text, str):
        return False  # mlx-lm renders this target's chats itself, and rejects unknown options
    statements = " ".join(re.split(r"[%}]\}", part)[0] for part in re.split(r"\{[%{]", text)[1:])
    return re.search(rf"(?<![\w.'\"]){option}(?![\w'\"])", statements) is not None


def _id(tokenizer: TokenizerWrapper, text: str) -> int | None:
    """Return the ID of a text that is a single token, or None."""
    found = tokenizer.convert_tokens_to_ids(text)
    return found if isinstance(found, int) and tokenizer.convert_ids_to_tokens(found) == text else None


def _header_markers(tokenizer: TokenizerWrapper) -> ChannelMarkers:
    ids = {text: found for text in (*_HEADERS, _TEXT, *_ENDS) if (found := _id(tokenizer, text)) is not None}
    headers: dict[Marker, Section] = {(found,): "header" for text, found in ids.items() if text != _TEXT}
    has_channels = _HEADERS[1] in ids
    return ChannelMarkers(
        # the header decides whether the text is thinking; see `ChannelParser`
        next_section={"answer": headers, "thinking": headers, "header": {(ids[_TEXT],): "answer"}},
        opening={
            "thinking": f"<|channel|>analysis{_TEXT}" if has_channels else f" to=self{_TEXT}",
            "answer": f"<|channel|>final{_TEXT}" if has_channels else f" to=user{_TEXT}",
        },
        separator=f"{next((text for text in _ENDS if text in ids), '')}{_HEADERS[0]}assistant",
        headed=True,
    )


class ChannelParser:
    """A parser that assigns a reply's tokens to channels.

    Args:
        tokenizer: decodes headers.
        markers: the target's channel markers, if any.

    Attributes:
        section: the current section.
        tool: name of the tool that the section's header addresses; empty if none.
    """

    def __init__(self, tokenizer: TokenizerWrapper, markers: ChannelMarkers | None) -> None:
        self._tokenizer, self._markers = tokenizer, markers
        self._pending: list[int] = []  # may begin a marker
        self._header: list[int] = []
        self.section: Section = "answer"
        self.tool = ""

    def add(self, token: int, at_start: bool = False, in_call: bool = False) -> tuple[list[int], bool]:
        """Add a token of the reply.

        Args:
            token: token ID.
            at_start: whether the section has no text yet; a closing marker is then dropped.
            in_call: whether the token belongs to a tool call, in which markers have no meaning.

        Returns:
            The tokens that now belong to the current section, and whether the section ended.
        """
        if self._markers is None:
            return [token], False
        self._pending.append(token)
        if in_call:
            return self.finish(), False
        ends, text = self._markers.next_section[self.section], list[int]()
        while self._pending:
            pending = tuple(self._pending)
            if pending in ends:
                self._pending.clear()
                text = self._section_text(text)
                self._change_section(ends[pending])
                return text, True
            stray = self._markers.closing if at_start and not text and self.section == "answer" else ()
            if stray and pending == stray:
                self._pending.clear()
                break
            if any(marker[: len(pending)] == pending for marker in (*ends, stray)):
                break
            text.append(self._pending.pop(0))
        return self._section_text(text), False

    def copy(self) -> "ChannelParser":
        """Return a parser in the same state."""
        found = copy(self)
        found._pending, found._header = [*self._pending], [*self._header]
        return found

    @property
    def pending(self) -> int:
        """Number of trailing tokens that may begin a marker."""
        return len(self._pending)

    def finish(self) -> list[int]:
        """Return the pending tokens as text at the end of the reply."""
        text, self._pending = self._section_text(self._pending), []
        return text

    def _section_text(self, text: list[int]) -> list[int]:
        """Return a section's text, or collect it if the section is a header."""
        if self.section != "header":
            return text
        self._header += text
        return []

    def _change_section(self, section: Section) -> None:
        self.tool = ""
        if self.section == "header" and section != "header":
            header = self._tokenizer.decode(self._header)
            found = re.search(r"to=([^\s<]+)", header)
            recipient = found[1] if found else "user"
            if recipient.startswith("functions.") or (
                recipient not in ("user", "commentary", "self", "assistant") and "analysis" not in header
            ):
                self.tool = recipient.removeprefix("functions.")
            elif recipient in ("self", "assistant") or "analysis" in header:
                section = "thinking"
        self.section, self._header = section, []


def tokens_opening(
    tokenizer: TokenizerWrapper, markers: ChannelMarkers | None, start: Sequence[int], channel: Channel
) -> list[int]:
    """Return the tokens that open a channel after `start`, or [] if already open."""
    parser = ChannelParser(tokenizer, markers)
    for token in start:
        parser.add(token)
    if markers is None or parser.section == channel:
        return []
    separator = "" if parser.section == "header" else markers.separator
    return list(tokenizer.encode(separator + markers.opening[channel], add_special_tokens=False))
