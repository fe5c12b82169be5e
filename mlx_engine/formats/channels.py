"""Channels of a reply: thinking or answer, separated by the target's markers.

Two kinds of markers exist. A *pair* opens and closes thinking, such as `<think>` and `</think>`. Otherwise, a reply is a series of
*messages with headers*, which name their channel (see `harmony.py`).
"""

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Literal

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.events import Channel

Marker = tuple[int, ...]
Section = Literal["answer", "thinking", "header"]


@dataclass(frozen=True)
class ChannelMarkers:
    """The channel markers of a target.

    Attributes:
        next_section: for each section, the token sequences that end it, and the section after each.
        opening: text that opens a channel.
        separator: text before `opening` if another message is open.
        closing: marker that ends thinking, if any.
        read_header: returns the section that follows a header, and the tool that the header addresses, or "". None for pairs.
    """

    next_section: dict[Section, dict[Marker, Section]]
    opening: dict[Channel, str]
    separator: str = ""
    closing: Marker = ()
    read_header: Callable[[str], tuple[Section, str]] | None = None

    @classmethod
    def of_pair(cls, tokenizer: TokenizerWrapper, opening: str, closing: str) -> "ChannelMarkers | None":
        """Return the markers of thinking, or None if a tokenizer lacks them."""
        first, last = _marker(tokenizer, opening), _marker(tokenizer, closing)
        if not first or not last:
            return None
        return cls(
            next_section={"answer": {first: "thinking"}, "thinking": {last: "answer"}, "header": {}},
            opening={"thinking": f"{opening}\n", "answer": f"\n{closing}\n\n"},
            closing=last,
        )


def token_of(tokenizer: TokenizerWrapper, text: str) -> int | None:
    """Return the ID of a text that is a single token, or None."""
    found = tokenizer.convert_tokens_to_ids(text)
    return found if isinstance(found, int) and tokenizer.convert_ids_to_tokens(found) == text else None


def _marker(tokenizer: TokenizerWrapper, text: str) -> Marker:
    """Return the tokens of a marker, or () if its first tag isn't a token."""
    tag = re.match(r"<[^>]*>|\[[^]]*\]|◁[^▷]*▷", text)
    token = token_of(tokenizer, tag[0]) if tag else None
    if tag is None or token is None:
        return ()
    return (token,) if tag[0] == text else tuple(tokenizer.encode(text, add_special_tokens=False))


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
        found = [*(marker for ends in markers.next_section.values() for marker in ends), markers.closing] if markers else []
        self._first = {marker[0] for marker in found if marker}  # tokens that begin a marker
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
        if self._markers is None or not (self._pending or token in self._first):
            return self._section_text([token]), False
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
        if self._markers and self._markers.read_header and self.section == "header" and section != "header":
            section, self.tool = self._markers.read_header(self._tokenizer.decode(self._header))
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
