"""Pages of PDFs in prompts: texts, tokens of texts and pictures, and how many pages fit."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.formats.pdf_prompts import page_costs, page_text, pages_that_fit
from mlx_engine.media.pdfs import PdfPage
from tests.mlx_engine.vision.test_image_rules import GEMMA, QWEN

PAGES = (PdfPage(1, "Two words"), PdfPage(2, "", "picture", "little_text", (1000, 1200)), PdfPage(3, "", "picture", "table"))


def test_a_text_says_what_the_model_cannot_see() -> None:
    assert page_text(PAGES[0], 3, pictured=False) == "[Page 1 of 3]\nTwo words"
    assert page_text(PAGES[1], 3, pictured=True) == "[Page 2 of 3]"
    assert page_text(PAGES[2], 3, pictured=False) == "[Page 3 of 3. You can't see its table's layout]"


def test_a_picture_costs_its_soft_tokens_and_the_two_around_it() -> None:
    for rules in (QWEN, GEMMA):
        rows, columns = rules.grid(*rules.size(1000, 1200))
        pictured, plain = (page_costs(PAGES, pages, 60, rules) for pages in ((2,), ()))
        assert pictured[1] - rows * columns - 2 < plain[1]
        assert sum(plain) == 60 == sum(page_costs(PAGES, (2, 3), 60, None))
    assert page_costs(PAGES, (3,), 0, QWEN) == (0, 0, 0)  # which can't be drawn


@given(st.lists(st.integers(0, 40), max_size=20), st.integers(0, 1000), st.integers(-10, 1000))
def test_the_pages_that_fit_are_as_many_as_possible(lengths: list[int], tokens: int, free: int) -> None:
    costs = page_costs([PdfPage(at, "a" * length) for at, length in enumerate(lengths, 1)], (), tokens, None)
    assert sum(costs) == (tokens if lengths else 0) and min(costs, default=0) >= 0
    fitting = pages_that_fit(costs, free)
    sums = [0, *accumulate(costs)]
    assert fitting == 0 or sums[fitting] <= free
    assert fitting == len(costs) or sums[fitting + 1] > free
