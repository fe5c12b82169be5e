"""Pages, passages and headings of texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.documents.headings import Heading, headings_of
from mlx_engine.documents.passages import LONGEST_PAGE, LONGEST_PASSAGE, pages_of, passages_of

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


@pytest.mark.parametrize("text", ["# a{}x", "# a{}#x", "{}```{}`", "chapter {}i x", "第{}", "a\n-{}x", "pub {}fn"])
@pytest.mark.parametrize("filler", [" ", "\t", "#", "`", "i", "一", "-"])
def test_hostile_lines_take_time_in_proportion_to_their_length(text: str, filler: str) -> None:
    hostile = text.format(*[filler * 300_000] * 2)  # quadratic time would be an hour
    assert "".join(page for page, _ in pages_of(hostile, headings_of(hostile))) == hostile
    assert len(headings_of(hostile)) <= 1 and len(headings_of(hostile, is_code=True)) <= 1


def test_a_passage_is_below_the_headings_before_it() -> None:
    text = "\n\n".join(f"{'#' * level} H{number}\n\n{'words ' * 60}" for number, level in enumerate((1, 2, 3, 2, 1)))
    found = list(passages_of([(text, headings_of(text))]))
    assert [one.heading for one in found] == ["H0", "H0 › H1", "H0 › H1 › H2", "H0 › H3", "H4"]
    assert all(text[one.start :].startswith("#") for one in found)


def test_short_sections_share_a_passage() -> None:
    text = "# One\n\na\n\n## Two\n\nb\n"
    [passage] = passages_of([(text, headings_of(text))])
    assert passage.heading == "One"
