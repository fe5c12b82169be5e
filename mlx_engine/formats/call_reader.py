"""Tool calls in the text of a reply, found while it arrives.

A block is parsed only if it consists of complete calls, and is text otherwise.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from mlx_engine.contract.requests import ToolCall, ToolSpec
from mlx_engine.formats.reply_format import ReplyFormat

_LONGEST_OPENING = 100  # characters, including spaces


@dataclass(frozen=True)
class TextPart:
    """Part of a reply's text: prose, or calls with the space before them.

    Attributes:
        calls: the calls of a block, which replace its text; empty if they can't be parsed.
    """

    text: str
    is_block: bool = False
    calls: tuple[ToolCall, ...] = ()


class CallReader:
    """A reader that finds tool calls in the text of a reply.

    The returned texts together are the text of the reply.

    Args:
        form: the target's format.
        tools: tools of the request.
        name: name of the tool that the text is for, if the header of a message says so. All of the text is then a block.

    Attributes:
        inside: whether the end of the text belongs to a block of calls.
    """

    def __init__(self, form: ReplyFormat, tools: Sequence[ToolSpec], name: str = "") -> None:
        self._format, self._tools, self._name = form, tools, name
        self._text = ""  # not returned yet
        self._body = 0  # length of the marker that began the block
        self._searched = 0  # where to look for the end of the block
        self._began = False  # whether text or calls were returned
        self.inside = bool(name)

    def add(self, text: str) -> Iterator[TextPart]:
        """Add text, and yield the parts that are complete."""
        self._text += text
        while self._text and (self.inside or (yield from self._open())):
            end = self._format.end
            at = self._text.find(end, self._searched) if end else -1
            if at < 0:
                self._searched = max(self._body, len(self._text) - len(end) + 1)
                return
            block = self._text[self._body : at]
            self._searched = at + len(end)
            if not self._format.in_value(block):
                yield self._take(self._searched, self._format.calls(block, self._tools, self._name))

    def finish(self, ended: bool) -> Iterator[TextPart]:
        """Yield the rest of the text.

        Args:
            ended: whether the reply is complete. If not, an open block is text.
        """
        if self._text or self.inside:
            block = self._text[self._body :]
            whole = self.inside and ended and not self._format.in_value(block)
            yield self._take(len(self._text), self._format.calls(block, self._tools, self._name) if whole else ())

    def _open(self) -> Generator[TextPart, None, bool]:
        """Yield text before a block, and return whether the block has started."""
        start = self._format.start
        if (openings := self._format.openings) and not self._began:
            head = "".join(self._text.lstrip()[:_LONGEST_OPENING].split())
            if any(opening.startswith(head[: len(opening)]) for opening in openings):
                self.inside = head.startswith(openings)
                self._body = self._searched = 0
                return self.inside
        at = self._text.find(start)
        # Whitespace before a call belongs to the call: templates write their own
        text = len(self._text[: at if at >= 0 else len(self._text) - overlap(self._text, start)].rstrip())
        if text:
            yield self._take(text)
        self.inside, self._body = at >= 0, at - text + len(start)
        self._searched = self._body
        return self.inside

    def _take(self, size: int, calls: tuple[ToolCall, ...] = ()) -> TextPart:
        part = TextPart(self._text[:size], self.inside, calls)
        self._text = self._text[size:]
        self._began = self._began or bool(calls or part.text.strip())
        self.inside = False
        return part


def last_calls(form: ReplyFormat, text: str, tools: Sequence[ToolSpec]) -> tuple[ToolCall, ...]:
    """Return the calls at the end of a text."""
    reader, found = CallReader(form, tools), tuple[ToolCall, ...]()
    for part in (*reader.add(text), *reader.finish(ended=True)):
        if part.calls or part.text.strip():
            found = (*found, *part.calls) if part.calls else ()
    return found


def overlap(text: str, marker: str) -> int:
    """Return how many characters at the end of `text` may be the start of `marker`."""
    return next((size for size in range(min(len(text), len(marker) - 1), 0, -1) if text.endswith(marker[:size])), 0)
