"""Pages and passages of a text.

Passages are consecutive and cover all of the text: nothing is lost, and nothing is in two of them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlx_engine.documents.headings import Heading

LONGEST_PASSAGE = 1_000  # characters
LONGEST_PAGE = 3_000  # characters of a page of a text that isn't divided into pages
LONGEST_GIVEN_PAGE = 20_000  # characters of a page between form feeds. Longer ones are divided
_SHORTEST = 200  # characters before a heading that begins a passage
_LONGEST_PATH = 200
_SEPARATOR = " › "
_ENDS = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"[.!?…][\"'”’)]*\s+|[。！？]", r"\s+")))  # best ones first


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
