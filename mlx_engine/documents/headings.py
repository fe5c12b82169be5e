"""Headings of Markdown, of plain text, of code, and of PDFs.

In plain text, paragraphs such as “Chapter 1” are headings, except in a table of contents.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, zip_longest

_LONGEST_HEADING = 120
_MOST_HEADINGS = 100_000  # of a text. The others are ignored, which bounds memory
_HEADING_LINES = 3  # of a chapter's heading
_TITLE_WORDS = 20  # of an outline's entry, by which it is found in its page
_SEARCHED = 20_000  # characters of a page, where the entries of an outline are found

# Each regex takes time in proportion to the text, whatever it contains: documents come from outside
_FENCE = re.compile(r" {0,3}(`{3,}+(?!.*`)|~{3,})")
_MARKDOWN = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_UNDERLINE = re.compile(r"([-=~^*#+])\1{2,}")
_DEFINITION = re.compile(
    r"(?:(?:export|default|public|private|protected|static|abstract|final|async|pub(?:\([a-z]+\))?|unsafe|inline)\s+)*"
    r"(class|def|func|function|fn|fun|struct|interface|enum|trait|impl|type|module|namespace|sub)\s+\S.*"
)
_LEVELS = {"volume": 1, "appendix": 1, "anhang": 1, "部": 1, "卷": 1, "part": 2, "teil": 2, "篇": 2, "book": 3, "buch": 3}
_LEVELS |= {"节": 5, "節": 5}
_CHAPTER_LEVEL = 4  # of other words
_NUMERAL_LEVELS = (5, 6)  # with a title, and without one
_CHAPTER = re.compile(
    r"(?P<number>(?P<word>chapter|part|book|volume|appendix|kapitel|teil|buch|anhang|chapitre|capítulo)\s+(?:[ivxlc]+|\d+|[a-z])\b)"
    r"(?:[.:)—–-]+|(?=\s|$))(?P<title>.*)",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"(?P<number>第[0-9一二三四五六七八九十百零〇两]+(?P<word>[章节節回篇部卷])).{0,40}(?<!。)")
_NAMED = re.compile(
    r"(?P<number>(?P<word>preface|foreword|introduction|prologue|epilogue|afterword|conclusion|"
    r"vorwort|einleitung|prolog|epilog|nachwort|préface|avant-propos|épilogue))\.?",
    re.IGNORECASE,
)
_NUMERAL = re.compile(r"(?P<number>[IVXLC]+)(?:\.(?P<title>\s+\S.*)?)?")
_END = re.compile(r"\*{3}\s*(end of\b.*\S)\s*\*{3}", re.IGNORECASE)  # of a book, as by Project Gutenberg
_TENS, _ONES = " X XX XXX XL L LX LXX LXXX XC", " I II III IV V VI VII VIII IX"
_VALUES = {tens + ones: 10 * ten + one for ten, tens in enumerate(_TENS.split(" ")) for one, ones in enumerate(_ONES.split(" "))}


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
class _Chapter:
    """A paragraph that may be the heading of a chapter.

    Attributes:
        number: how it begins, which it has in a table of contents, too.
        group: the same for chapters without text between them.
        numeral: the value of a numeral without a word, or 0.
    """

    heading: Heading
    number: str
    group: int
    numeral: int = 0


def headings_of(text: str, is_code: bool = False) -> list[Heading]:
    """Return the headings of Markdown, of plain text, or of code.

    In code, they are definitions at the beginning of a line.
    """
    return list(_definitions(text)) if is_code else _headings_of_prose(text)


def _definitions(text: str) -> Iterator[Heading]:
    at = count = 0
    for line in text.splitlines(keepends=True):
        if count < _MOST_HEADINGS and _DEFINITION.match(line):
            yield Heading(at, 1, _title(line))
            count += 1
        at += len(line)


def _headings_of_prose(text: str) -> list[Heading]:
    found: list[Heading] = []
    chapters: list[_Chapter] = []
    paragraph: list[str] = []  # its first lines
    fence = ""
    at = paragraph_at = group = 0

    def end_paragraph() -> None:
        nonlocal group
        chapter, has_text = _chapter(paragraph, paragraph_at, group)
        if chapter is not None:
            chapters.append(chapter)
        group += has_text
        paragraph.clear()

    for line in text.splitlines(keepends=True):
        if len(found) + len(chapters) >= _MOST_HEADINGS:
            break
        words = line.rstrip()
        heading = None
        if marker := _FENCE.match(line):
            if not fence:
                fence = marker[1]
            elif marker[1].startswith(fence) and not words[marker.end() :].strip():
                fence = ""
            end_paragraph()
            group += 1
        elif fence:
            pass
        elif marker := _MARKDOWN.fullmatch(words):
            end_paragraph()
            heading = Heading(at, len(marker[1]), _title(_without_closing(marker[2])))
        elif len(paragraph) == 1 and _UNDERLINE.fullmatch(words) and len(paragraph[0]) <= 2 * len(words):
            heading = Heading(paragraph_at, 1 if words[0] in "=*#" else 2, _title(paragraph.pop()))
        elif not words:
            end_paragraph()
        elif len(paragraph) <= _HEADING_LINES:
            paragraph_at = paragraph_at if paragraph else at
            paragraph.append(words)
        if heading is not None:
            found.append(heading)
            group += 1
        at += len(line)
    end_paragraph()
    return sorted([*found, *_real(chapters)], key=lambda heading: heading.at)


def _chapter(paragraph: Sequence[str], at: int, group: int) -> tuple[_Chapter | None, bool]:
    """Return the chapter that a paragraph begins, and whether it has other text.

    A line is a title of its own if the next word would have fit in it. Otherwise, the paragraph goes on there.
    """
    if not paragraph:
        return None, False
    first, others = paragraph[0].strip(), paragraph[1:]
    title = " ".join(" ".join(paragraph).split()) if len(paragraph) <= _HEADING_LINES else ""
    has_text = not 0 < len(title) <= _LONGEST_HEADING
    if match := _CHINESE.fullmatch(first):
        title, has_text = first, bool(others)
    elif has_text:
        ends_early = others and len(paragraph[0]) + 1 + len(others[0].split()[0]) <= max(map(len, others))
        title = first[: _LONGEST_HEADING + 1] if ends_early else ""
    if match := match or _CHAPTER.fullmatch(title) or _NAMED.fullmatch(title):
        level = _LEVELS.get(match["word"].lower(), _CHAPTER_LEVEL)
    elif match := _END.fullmatch(title):
        return _Chapter(Heading(at, 1, _title(match[1])), "end", group), has_text
    elif (match := _NUMERAL.fullmatch(title)) and match["number"] in _VALUES:
        level = _NUMERAL_LEVELS[match["title"] is None]
    else:
        return None, True
    if (match.groupdict().get("title") or "").strip()[:1].islower():  # a sentence, such as “Part 2 is longer.”
        return None, True
    numeral = 0 if "word" in match.groupdict() else _VALUES[match["number"]]
    number = " ".join(match["number"].casefold().split())
    return _Chapter(Heading(at, level, _title(title)), number, group, numeral), has_text


def _real(chapters: Sequence[_Chapter]) -> Iterator[Heading]:
    """Yield the headings of chapters, without those in a table of contents.

    There, chapters of the same level follow each other without text. The first chapter's own heading may come right after.
    """
    for _, group in groupby(_in_sequence(chapters), key=lambda chapter: chapter.group):
        found = list(group)
        if len({chapter.heading.level for chapter in found}) < len(found):
            again = [place for place, chapter in enumerate(found) if chapter.number == found[0].number][1:]
            found = found[again[-1] :] if again else []
        yield from (chapter.heading for chapter in found)


def _in_sequence(chapters: Sequence[_Chapter]) -> list[_Chapter]:
    """Return chapters without letters and initials that only look like numerals."""
    dropped = set[int]()
    for level in _NUMERAL_LEVELS:
        numerals = [chapter for chapter in chapters if chapter.numeral and chapter.heading.level == level]
        last = 0
        for chapter, following in zip_longest(numerals, numerals[1:]):
            begins = chapter.numeral == 1 and following is not None and following.numeral == 2
            if begins or (last and chapter.numeral == last + 1):
                last = chapter.numeral
            else:
                dropped.add(chapter.heading.at)
    return [chapter for chapter in chapters if chapter.heading.at not in dropped]


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
                places[page] = _WordPlaces(pages[page][:_SEARCHED])
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


def _title(text: str) -> str:
    """Return a heading in one line, without characters that can't be shown."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= _LONGEST_HEADING else line[:_LONGEST_HEADING] + "…"
