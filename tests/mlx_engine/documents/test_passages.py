"""Pages, passages and headings of texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.documents.passages import LONGEST_PAGE, LONGEST_PASSAGE, Heading, headings_of, pages_of, passages_of, placed

LINES = st.sampled_from(
    [
        "# One",
        "## Two",
        "Title\n=====",
        "plain words, and more. ",
        "```",
        "def f(x):",
        "CHAPTER IV",
        "第三章 开始",
        "",
        " ",
        "\t",
        "x" * 700,
        "。" * 400,
    ]
)
TEXTS = st.lists(st.one_of(LINES, st.text(max_size=80)), max_size=60).map("\n".join)


@given(TEXTS, st.booleans())
def test_pages_and_passages_cover_a_text_once(text: str, is_code: bool) -> None:
    pages = pages_of(text, headings_of(text, is_code))
    assert "".join(page for page, _ in pages) == text
    assert all(0 < len(page) <= LONGEST_PAGE for page, _ in pages)
    found = list(passages_of(pages))
    assert all(0 < one.end - one.start <= LONGEST_PASSAGE for one in found)
    assert "".join(pages[one.page][0][one.start : one.end] for one in found) == text


@given(TEXTS, st.booleans())
def test_headings_of_pages_are_those_of_the_text(text: str, is_code: bool) -> None:
    headings = headings_of(text, is_code)
    starts, at = [], 0
    for page, found in pages_of(text, headings):
        assert all(0 <= heading.at < len(page) for heading in found)
        starts += [Heading(heading.at + at, heading.level, heading.title) for heading in found]
        at += len(page)
    assert starts == headings
    assert all(heading.title.isprintable() for heading in headings)


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("# One\n\ntext\n\n## Two ##\n", [(1, "One"), (2, "Two")]),
        ("#no heading\n\n    # code\n", []),
        ("```\n# no\n```\n# Yes\n", [(1, "Yes")]),
        ("~~~~\n# no\n~~~\n# no\n~~~~\n# Yes\n", [(1, "Yes")]),
        ("Title\n=====\n\nPart\n----\n", [(1, "Title"), (2, "Part")]),
        ("A long paragraph\ngoes on\n-------\n", []),
        ("CHAPTER I.\nDown\n\nChapter by chapter, he read.\n", [(1, "CHAPTER I.")]),
        ("第三章 开始\n", [(1, "第三章 开始")]),
        ("```inline```\n\n# One\n", [(1, "One")]),
        ("# C#\n\n# #\n", [(1, "C#"), (1, "#")]),
    ],
)
def test_headings_of_markdown_and_plain_text(text: str, titles: list[tuple[int, str]]) -> None:
    assert [(heading.level, heading.title) for heading in headings_of(text)] == titles


@pytest.mark.parametrize("text", ["# a{}x", "# a{}#x", "{}```{}`", "chapter {}i x", "第{}", "a\n-{}x", "pub {}fn"])
@pytest.mark.parametrize("filler", [" ", "\t", "#", "`", "i", "一", "-"])
def test_hostile_lines_take_time_in_proportion_to_their_length(text: str, filler: str) -> None:
    hostile = text.format(*[filler * 300_000] * 2)  # quadratic time would be an hour
    assert "".join(page for page, _ in pages_of(hostile, headings_of(hostile))) == hostile
    assert len(headings_of(hostile)) <= 1 and len(headings_of(hostile, is_code=True)) <= 1


def test_headings_of_code_are_definitions_that_are_not_indented() -> None:
    text = (
        "class A:\n    def f(self):\n        pass\n\nasync def g():\n    # no\n\npub fn h() {\nexport function k() {\n# Comment\n"
    )
    titles = [heading.title for heading in headings_of(text, is_code=True)]
    assert titles == ["class A:", "async def g():", "pub fn h() {", "export function k() {"]


def test_a_passage_is_below_the_headings_before_it() -> None:
    text = "\n\n".join(f"{'#' * level} H{number}\n\n{'words ' * 60}" for number, level in enumerate((1, 2, 3, 2, 1)))
    found = list(passages_of([(text, headings_of(text))]))
    assert [one.heading for one in found] == ["H0", "H0 › H1", "H0 › H1 › H2", "H0 › H3", "H4"]
    assert all(text[one.start :].startswith("#") for one in found)


def test_short_sections_share_a_passage() -> None:
    text = "# One\n\na\n\n## Two\n\nb\n"
    [passage] = passages_of([(text, headings_of(text))])
    assert passage.heading == "One"


def test_the_outline_of_a_pdf_is_found_in_its_pages() -> None:
    assert placed([(0, "a  ΟΔΟΣ", 0), (0, " ", 0), (0, "b", 1)], [" A οδος", ""]) == [
        [Heading(1, 1, "a ΟΔΟΣ")],
        [Heading(0, 1, "b")],
    ]
    pages = ["Cover", "before\nPart  One\nafter\nDetails", "more"]
    found = placed([(0, "Part One", 1), (1, "Details", 1), (0, "Not in the text", 2)], pages)
    assert found == [[], [Heading(7, 1, "Part One"), Heading(23, 2, "Details")], [Heading(0, 1, "Not in the text")]]
    headings = {(one.page, one.heading) for one in passages_of(list(zip(pages, found, strict=True)))}
    assert headings == {(0, ""), (1, ""), (2, "Not in the text")}
