"""Headings of texts, and those that aren't there: of tables of contents, and in sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.documents.headings import Heading, headings_of, placed
from mlx_engine.documents.passages import pages_of, passages_of

TEXT = "\n".join(["Words that are wrapped at the same width, as in a book, and"] * 5)
WORDS = st.sampled_from(
    ["Chapter {}", "CHAPTER {}. The Storm.", "Kapitel {}: Der Sturm", "第{}章 开始", "Chapter {}. A Title That\nGoes On"]
)


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("# One\n\ntext\n\n## Two ##\n", [(1, "One"), (2, "Two")]),
        ("#no heading\n\n    # code\n", []),
        ("```\n# no\n```\n# Yes\n", [(1, "Yes")]),
        ("~~~~\n# no\n~~~\n# no\n~~~~\n# Yes\n", [(1, "Yes")]),
        ("Title\n=====\n\nPart\n----\n", [(1, "Title"), (2, "Part")]),
        ("A long paragraph\ngoes on\n-------\n", []),
        ("CHAPTER I.\nDown\n\nChapter by chapter, he read.\n", [(4, "CHAPTER I. Down")]),
        ("第三章 开始\n", [(4, "第三章 开始")]),
        ("第三章 开始\n　　他说。\n\n第三章说明了这个。\n", [(4, "第三章 开始")]),
        (f"CHAPTER 2. Talk About Whales, and\nOver Him.\n\n{TEXT}", [(4, "CHAPTER 2. Talk About Whales, and Over Him.")]),
        (f"Chapter 2\n{TEXT}", [(4, "Chapter 2")]),
        (f"BOOK I. (Folio), CHAPTER I.—This whale, among the words that\n{TEXT}", []),
        ("Chapter 3 explains this.\n\nPart 2, however, is short.\n", []),
        ("Part 1\n\nBook 1\n\nChapter 1\n\nwords", [(2, "Part 1"), (3, "Book 1"), (4, "Chapter 1")]),
        ("Prologue.\n\nwords\n\nIntroduction to words\n\n*** END OF IT ***", [(4, "Prologue."), (1, "END OF IT")]),
        ("I.\n\nwords\n\nII.\n\nwords\n\nC\n\nwords\n", [(6, "I."), (6, "II.")]),
        ("I\n\nwords\n\nII\n\nwords\n\nIIII\n\nwords", [(6, "I"), (6, "II")]),
        ("I. ONE\n\nI\n\na\n\nII\n\na\n\nII. TWO\n\nb", [(5, "I. ONE"), (6, "I"), (6, "II"), (5, "II. TWO")]),
        ("C\n\nCats\n\nD\n\nI\n\nIce\n\nV.\n\nI. am here", []),
        ("```inline```\n\n# One\n", [(1, "One")]),
        ("# C#\n\n# #\n", [(1, "C#"), (1, "#")]),
    ],
)
def test_headings_of_markdown_and_plain_text(text: str, titles: list[tuple[int, str]]) -> None:
    assert [(heading.level, heading.title) for heading in headings_of(text)] == titles


@given(
    WORDS, st.integers(2, 30), st.sampled_from(["", "CONTENTS\n\n", "Contents\n\nTo My Reader.\n\n"]), st.sampled_from(["", TEXT])
)
def test_a_table_of_contents_has_no_headings(form: str, count: int, before: str, after: str) -> None:
    titles = [form.format(number) for number in range(1, count + 1)]
    contents = "\n\n".join([before + titles[0], *titles[1:], after, ""])
    text = contents + "\n\n".join(f"{title}\n\n{TEXT}" for title in titles)
    headings = headings_of(text)
    assert [heading.title for heading in headings] == [" ".join(title.split()) for title in titles]
    assert all(text[heading.at :].startswith(title) for heading, title in zip(headings, titles, strict=True))
    assert headings[0].at == len(contents)


@given(
    st.lists(st.sampled_from([TEXT, "A line.", "Chapter 1 tells it.", "I", "Part 2, too"]), max_size=5),
    st.integers(2, 20),
    st.booleans(),
)
def test_nothing_before_the_first_chapter_is_below_one(front: list[str], count: int, has_contents: bool) -> None:
    titles = [f"Chapter {number}. Title {number}" for number in range(1, count + 1)]
    before = "".join(f"{text}\n\n" for text in [*front, *(titles if has_contents else ()), *front])
    text = before + "\n\n".join(f"{title}\n\n{TEXT}" for title in titles)
    pages = pages_of(text, headings_of(text))
    starts = [0]
    for page, _ in pages:
        starts.append(starts[-1] + len(page))
    for passage in passages_of(pages):
        start = starts[passage.page] + passage.start
        assert bool(passage.heading) <= (start >= len(before) or not text[start : len(before)].strip())


def test_headings_of_code_are_definitions_that_are_not_indented() -> None:
    text = (
        "class A:\n    def f(self):\n        pass\n\nasync def g():\n    # no\n\npub fn h() {\nexport function k() {\n# Comment\n"
    )
    titles = [heading.title for heading in headings_of(text, is_code=True)]
    assert titles == ["class A:", "async def g():", "pub fn h() {", "export function k() {"]


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
