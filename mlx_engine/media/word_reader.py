"""The text of Word files (.docx), in the child process.

Headings become Markdown's, and page breaks become form feeds.
"""

import io
import re
import zipfile
from xml.parsers import expat

from mlx_engine.media.unreadable import Unreadable

MOST_BYTES_OF_PART = 64 << 20  # of a file in the archive
_MAIN = "word/document.xml"
_NOTES = ("word/footnotes.xml", "word/endnotes.xml")
_STYLES = "word/styles.xml"
_SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main "
_STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main "  # of files that are saved as “Strict”
_COPIES = (  # elements that repeat what is elsewhere
    "http://schemas.openxmlformats.org/markup-compatibility/2006 Fallback",
    *(space + "moveFrom" for space in (_SPACE, _STRICT)),
)
_HEADING = re.compile(r"heading ([1-6])|(title)")
_BREAKS = {"tab": "\t", "cr": "\n", "noBreakHyphen": "-", "lastRenderedPageBreak": "\f"}


def text(data: memoryview, most: int) -> str:
    """Return a file's text.

    Args:
        data: the file.
        most: number of characters that the text may have.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            levels = _levels(_part(archive, _STYLES)) if _STYLES in names else {}
            parts = [_part(archive, name) for name in (_MAIN, *_NOTES) if name == _MAIN or name in names]
    # RuntimeError also means that it is encrypted, or compressed in an unknown way
    except (zipfile.BadZipFile, KeyError, RuntimeError, EOFError, OSError) as error:
        raise Unreadable("document_damaged") from error
    found, room = [], most
    for part in parts:
        found.append(_Body(levels, room).read(part))
        room -= len(found[-1])
    return "\n\n".join(filter(None, found))


def _part(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as stream:
        content = stream.read(MOST_BYTES_OF_PART + 1)
    if len(content) > MOST_BYTES_OF_PART:
        raise Unreadable("document_memory")
    return content


def _parse(parser: expat.XMLParserType, content: bytes) -> None:
    """Parse a part. None has a document type, which could define entities."""
    parser.StartDoctypeDeclHandler = _refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise Unreadable("document_damaged") from error


def _refuse(*_: object) -> None:
    raise Unreadable("document_damaged")


def _local(name: str) -> str:
    """Return the name of one of Word's elements or attributes, or ""."""
    return next((name.removeprefix(space) for space in (_SPACE, _STRICT) if name.startswith(space)), "")


def _attribute(attributes: dict[str, str], wanted: str) -> str:
    return next((value for name, value in attributes.items() if _local(name) == wanted), "")


def _levels(content: bytes) -> dict[str, int]:
    """Return headings' levels by the ID of their style, which depends on the language."""
    found: dict[str, int] = {}
    style = ""

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal style
        match _local(name):
            case "style":
                style = _attribute(attributes, "styleId")
            case "name":
                if heading := _HEADING.fullmatch(_attribute(attributes, "val").lower()):
                    found[style] = int(heading[1] or 1)

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = start
    _parse(parser, content)
    return found


class _Body:
    """The text of a part, paragraph by paragraph."""

    def __init__(self, levels: dict[str, int], most: int) -> None:
        self._levels, self._room, self._most = levels, most, most
        self._found: list[str] = []
        self._paragraphs: list[list[str]] = []  # that are open. A text box has paragraphs inside another one
        self._heading: list[int] = []  # levels of the open paragraphs, or 0
        self._copies = 0  # open elements that repeat others
        self._in_text = False
        self._follows_break = False  # whether nothing but spaces is after a page break

    def read(self, content: bytes) -> str:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._characters
        _parse(parser, content)
        return "\n\n".join(self._found)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name in _COPIES:
            self._copies += 1
        match _local(name):
            case "p":
                self._paragraphs.append([])
                self._heading.append(0)
            case "pStyle" if self._heading:
                self._heading[-1] = self._levels.get(_attribute(attributes, "val"), 0)
            case "t":
                self._in_text = True
            case "br":
                self._add("\f" if _attribute(attributes, "type") == "page" else "\n")
            case "lastRenderedPageBreak" if self._follows_break:
                pass  # where Word has drawn a break that the file also has
            case known if known in _BREAKS:
                self._add(_BREAKS[known])

    def _end(self, name: str) -> None:
        if name in _COPIES:
            self._copies -= 1
        match _local(name):
            case "t":
                self._in_text = False
            case "p":
                self._end_paragraph("".join(self._paragraphs.pop()).strip(" \t\n"), self._heading.pop())

    def _end_paragraph(self, text: str, level: int) -> None:
        words = text.lstrip("\f \t\n")
        breaks = "\f" * text[: len(text) - len(words)].count("\f")
        if text:
            self._found.append(breaks + ("#" * level + " " if level and words else "") + words)

    def _characters(self, text: str) -> None:
        if self._in_text:
            self._add(text)

    def _add(self, text: str) -> None:
        self._room -= len(text)
        if self._room < 0:
            raise Unreadable("document_too_much_text", limit=self._most)
        if self._paragraphs and not self._copies:
            self._paragraphs[-1].append(text)
            if text == "\f" or text.strip():
                self._follows_break = text == "\f"
