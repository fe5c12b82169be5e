"""Pages and passages of a text.

Passages are consecutive and cover all of the text: nothing is lost, and nothing is in two of them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

LONGEST_PASSAGE = 1_000  # characters
LONGEST_PAGE = 3_000  # characters of a page of a text that isn't divided into pages
LONGEST_GIVEN_PAGE = 20_000  # characters of a page between form feeds. Longer ones are divided
_SHORTEST = 200  # characters before a heading that begins a passage
_LONGEST_HEADING = 120
_MOST_HEADINGS = 100_000  # of a text. The others are ignored, which bounds memory
_LONGEST_PATH = 200
_TITLE_WORDS = 20  # of an outline's entry, by which it is found in its page
_SEPARATOR = " › "
_ENDS = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"[.!?…][\"'”’)]*\s+|[。！？]", r"\s+")))  # best ones first

# Each regex takes time in proportion to the text, whatever it contains: documents come from outside
_FENCE = re.compile(r" {0,3}(`{3,}+(?!.*`)|~{3,})")
_MARKDOWN = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_UNDERLINE = re.compile(r"([-=~^*#+])\1{2,}")
_CHAPTER = re.compile(
    r"\s*((?:chapter|part|book|volume|appendix|kapitel|teil|buch|anhang|chapitre|capítulo)\s+(?:[ivxlc]+|\d+|[a-z])\b.{0,80}"
    r"|第[0-9一二三四五六七八九十百零〇两]+[章节節回篇部卷].{0,40})",
    re.IGNORECASE,
)
_DEFINITION = re.compile(
    r"(?:(?:export|default|public|private|protected|static|abstract|final|async|pub(?:\([a-z]+\))?|unsafe|inline)\s+)*"
    r"(class|def|func|function|fn|fun|struct|interface|enum|trait|impl|type|module|namespace|sub)\s+\S.*"
)


@dataclass(frozen=True)
class Heading:
    """A heading.

    Attributes:
        at: where it begins in its text, in characters.
        level: 1 for the highest one.
    """

    at: int
    level: int
    title: str


@dataclass(frozen=True)
class Passage:
    """A part of a page's text.

    Attributes:
        page: index of the page in its document.
        start, end: its place in the page's text, in characters.
        heading: the headings above it, highest first.
    """

    page: int
    start: int
    end: int
    heading: str = ""


def headings_of(text: str, is_code: bool = False) -> list[Heading]:
    """Return the headings of Markdown, of plain text, or of code.

    In code, they are definitions at the beginning of a line.
    """
    found: list[Heading] = []
    fence = ""
    at, before, before_at, above_before = 0, "", 0, ""  # `before` is the line before this one, after `above_before`
    for line in text.splitlines(keepends=True):
        if len(found) >= _MOST_HEADINGS:
            break
        words = line.rstrip()
        if is_code:
            if _DEFINITION.match(line):
                found.append(Heading(at, 1, _title(words)))
        elif marker := _FENCE.match(line):
            if not fence:
                fence = marker[1]
            elif marker[1].startswith(fence) and not words[marker.end() :].strip():
                fence = ""
        elif not fence:
            if heading := _MARKDOWN.fullmatch(words):
                found.append(Heading(at, len(heading[1]), _title(_without_closing(heading[2]))))
            elif before.strip() and not above_before.strip() and _UNDERLINE.fullmatch(words) and len(before) <= 2 * len(words):
                found.append(Heading(before_at, 1 if words[0] in "=*#" else 2, _title(before)))
            elif not before.strip() and (chapter := _CHAPTER.fullmatch(words)):
                found.append(Heading(at, 1, _title(chapter[1])))
        above_before, before, before_at = before, words, at
        at += len(line)
    return found


def _without_closing(title: str) -> str:
    """Return a title without the number signs at its end, as in “# Title ##”."""
    rest = title.rstrip("#")
    return rest if rest[-1:].isspace() else title


def placed(outline: Sequence[tuple[int, str, int]], pages: Sequence[str]) -> list[list[Heading]]:
    """Return the headings of each page of a PDF.

    Args:
        outline: level, title, and page of each entry, counted from 0.
        pages: the text of each page.
    """
    found: list[list[Heading]] = [[] for _ in pages]
    places: dict[int, _WordPlaces] = {}
    for level, title, page in outline:
        if words := title.split():
            if page not in places:
                places[page] = _WordPlaces(pages[page][:LONGEST_GIVEN_PAGE])
            found[page].append(Heading(places[page].of(words[:_TITLE_WORDS]), level + 1, _title(title)))
    return [sorted(page, key=lambda heading: heading.at) for page in found]


class _WordPlaces:
    """The places of words in a text, whatever their case and the spaces between them."""

    def __init__(self, text: str) -> None:
        words = [(word.start(), word[0].casefold()) for word in re.finditer(r"\S+", text)]
        self._places = [at for at, _ in words]
        self._joined = " ".join(word for _, word in words)
        self._starts = [0, *accumulate(len(word) + 1 for _, word in words)]  # in the joined text

    def of(self, words: Sequence[str]) -> int:
        """Return where the first of consecutive words begins, or 0."""
        at = self._joined.find(" ".join(words).casefold())
        return self._places[bisect_right(self._starts, at) - 1] if at >= 0 else 0


def pages_of(text: str, headings: Sequence[Heading]) -> list[tuple[str, list[Heading]]]:
    """Divide a text without pages, and return each page's text and headings."""
    cuts = [heading.at for heading in headings]
    found = []
    for start, end in _pieces(text, 0, len(text), LONGEST_PAGE, cuts):
        within = headings[bisect_right(cuts, start - 1) : bisect_right(cuts, end - 1)]
        found.append((text[start:end], [Heading(heading.at - start, heading.level, heading.title) for heading in within]))
    return found


def passages_of(pages: Sequence[tuple[str, Sequence[Heading]]]) -> Iterator[Passage]:
    """Yield the passages of a document's pages. A page without text has none."""
    path: list[Heading] = []
    for number, (text, headings) in enumerate(pages):
        starts = [heading.at for heading in headings]
        above = iter(headings)
        following = next(above, None)
        sections = [0]
        for start in starts:
            if start - sections[-1] >= _SHORTEST:
                sections.append(start)
        for section, section_end in zip(sections, [*sections[1:], len(text)], strict=True):
            for start, end in _pieces(text, section, section_end, LONGEST_PASSAGE, ()):
                while following is not None and following.at < end and not text[start : following.at].strip():
                    path = _below(path, following)
                    following = next(above, None)
                yield Passage(number, start, end, _shown_path(path))
                while following is not None and following.at < end:  # headings inside, which the next passages are below
                    path = _below(path, following)
                    following = next(above, None)


def _below(path: Sequence[Heading], heading: Heading) -> list[Heading]:
    return [*(above for above in path if above.level < heading.level), heading]


def _shown_path(path: Sequence[Heading]) -> str:
    text = _SEPARATOR.join(heading.title for heading in path)
    return text if len(text) <= _LONGEST_PATH else "…" + text[-_LONGEST_PATH:]


def _pieces(text: str, start: int, end: int, most: int, cuts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the places of consecutive pieces of at most `most` characters.

    They end before one of `cuts`, or after a paragraph, line, sentence, or word, in this order of preference.
    """
    while end - start > most:
        least, last = start + most // 2, start + most
        index = bisect_right(cuts, last) - 1
        if index >= 0 and cuts[index] >= least:
            cut = cuts[index]
        else:
            cut = next((found for ends in _ENDS if (found := _last_end(ends, text, least, last))), last)
        yield start, cut
        start = cut
    if end > start:
        yield start, end


def _last_end(ends: re.Pattern[str], text: str, least: int, last: int) -> int:
    """Return where the last match ends between two places, or 0."""
    return max((found.end() for found in ends.finditer(text, least, last)), default=0)


def _title(text: str) -> str:
    """Return a heading in one line, without characters that can't be shown."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= _LONGEST_HEADING else line[:_LONGEST_HEADING] + "…"
