"""Which pages of a PDF are sent, and what they cost."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.session.page_choice import numbers_in, page_tokens
from app.storage.pictures import Page, Picture, StoredFile

pages = st.lists(
    st.builds(Page, st.just(1), st.sampled_from(["", "x", "words " * 9]), sent=st.sampled_from(["text", "picture", "no"])),
    max_size=9,
)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3", [3]),
        ("1-3, 8", [1, 2, 3, 8]),
        ("1 – 2;9", [1, 2, 9]),
        ("8-", [8, 9]),
        ("7-20", [7, 8, 9]),
        ("", None),
        ("x", None),
        ("0", None),
        ("10", None),
        ("5-2", None),
        ("1--3", None),
    ],
)
def test_ranges_of_pages_are_read(text: str, numbers: list[int] | None) -> None:
    assert numbers_in(text, 9) == numbers


@given(pages, st.integers(0, 100_000))
def test_the_tokens_of_pages_add_up(found: list[Page], total: int) -> None:
    tokens = page_tokens(found, total, None)
    assert len(tokens) == len(found) and all((one == 0) for one, page in zip(tokens, found, strict=True) if page.sent == "no")
    if any(page.sent != "no" for page in found):
        assert abs(sum(tokens) - total) <= len(found)


def test_pictures_cost_what_they_take() -> None:
    class Sight:
        def tokens(self, width: int, height: int) -> int:
            return width * height // 1000

    drawn = Page(2, "", "little_text", "picture", Picture(StoredFile.of(b"x"), 1000, 1200, "PNG"))
    assert page_tokens([Page(1, "x" * 80), drawn, replace(drawn, sent="no")], 1400, Sight()) == [167, 1233, 0]
