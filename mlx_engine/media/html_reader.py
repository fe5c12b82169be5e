"""The text of HTML files, in the child process. Headings become Markdown's."""

import re
from collections import Counter
from html.parser import HTMLParser

from mlx_engine.media.unreadable import Unreadable

_HEAD = 1024  # bytes in which a file declares its encoding
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_CODE = ("script", "style")
_SILENT = frozenset((*_CODE, "template", "noscript", "svg", "math", "object", "iframe"))
_DRAWN = ("svg", "math")
_BLOCKS = frozenset(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form header hr html li main nav "
    "ol p pre section summary table tbody tfoot thead title tr ul".split()
)
_SILENT_END = re.compile(f"</({'|'.join(sorted(_SILENT))})", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\n\f]+")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_AFTER_DRAWN = frozenset((*_HEADINGS, *"blockquote body div dl hr li ol p pre table ul".split()))  # which end it, as in browsers


def text(data: memoryview, most: int) -> str:
    """Return a file's text.

    Args:
        data: the file.
        most: number of characters that the text may have.
    """
    content = _decoded(bytes(data))
    reader = _Reader(most, Counter(tag.lower() for tag in _SILENT_END.findall(content)))
    reader.feed(content)
    reader.close()
    return reader.text()


def _decoded(data: bytes) -> str:
    declared = _CHARSET.search(data[:_HEAD])
    marked = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    for encoding in (marked, declared[1].decode() if declared else "cp1252"):
        try:
            return data.decode(encoding)
        except (UnicodeError, LookupError):
            continue
    return data.decode("cp1252", errors="replace")


def _prefix(tag: str) -> str:
    """Return what begins the line of an element in Markdown."""
    return {"li": "- ", "title": "# "}.get(tag, "#" * int(tag[1]) + " " if tag in _HEADINGS else "")


class _Reader(HTMLParser):
    """A parser that keeps the text.

    Args:
        ends: how many ends the file has for each silent element. Without an end, an element hides nothing.
    """

    def __init__(self, most: int, ends: Counter[str]) -> None:
        super().__init__(convert_charrefs=True)
        self._ends = ends
        self._room, self._most = most, most
        self._lines: list[str] = []
        self._line: list[str] = []
        self._silent = ""  # the open element whose text isn't shown, and how often it is open
        self._depth = 0
        self._verbatim = 0
        self._prefix = ""

    def text(self) -> str:
        self._end_line()
        return "\n\n".join(self._lines)

    def handle_starttag(self, tag: str, attributes: object) -> None:
        if self._silent in _DRAWN and tag in _AFTER_DRAWN:
            self._silent = ""
        if self._silent:
            self._depth += tag == self._silent
        elif tag in _SILENT:
            if tag in _CODE or self._ends[tag] > 0:
                self._silent, self._depth = tag, 1
        elif tag == "br":
            self._add("\n")
        elif tag in ("td", "th"):
            self._add("\t")
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._end_line()
            self._verbatim += tag == "pre"
            self._prefix = _prefix(tag) or self._prefix  # of a heading around this block

    def handle_startendtag(self, tag: str, attributes: object) -> None:
        if tag not in _SILENT:  # “<svg/>” has no end
            self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._ends[tag] -= 1
        if self._silent:
            self._depth -= tag == self._silent
            if not self._depth or (self._silent == tag and self._ends[tag] <= 0):
                self._silent = ""
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._end_line()
            if _prefix(tag):
                self._prefix = ""
            self._verbatim -= tag == "pre" and self._verbatim > 0

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._add(data if self._verbatim else _SPACES.sub(" ", data))

    def _add(self, text: str) -> None:
        self._room -= len(text)
        if self._room < 0:
            raise Unreadable("document_too_much_text", limit=self._most)
        self._line.append(text)

    def _end_line(self) -> None:
        line, self._line = "".join(self._line), []
        if line.strip():
            plain = "\n".join(part.strip(" ") for part in line.split("\n")).strip()
            self._lines.append(self._prefix + (line.strip("\r\n") if self._verbatim else plain))
            self._prefix = ""
