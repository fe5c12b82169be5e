"""Texts of PDF pages in prompts."""

from mlx_engine.formats.pdf_prompts import page_text
from mlx_engine.media.pdfs import PdfPage

PAGES = (PdfPage(1, "Two words"), PdfPage(2, "", "picture", "little_text", (1000, 1200)), PdfPage(3, "", "picture", "table"))


def test_a_text_says_what_the_model_cannot_see() -> None:
    assert page_text(PAGES[0], 3, pictured=False) == "[Page 1 of 3]\nTwo words"
    assert page_text(PAGES[1], 3, pictured=True) == "[Page 2 of 3]"
    assert page_text(PAGES[2], 3, pictured=False) == "[Page 3 of 3. You can't see its table's layout]"
