"""Chats on paper, read back by PDFium."""

import pypdfium2
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QApplication

from app.rendering import paper


def pages(markdown: str) -> list[str]:
    pdf = pypdfium2.PdfDocument(paper.to_pdf(markdown, "A title", paper.code_font()))
    assert pdf.get_metadata_dict()["Title"] == "A title"
    return [page.get_textpage().get_text_range() for page in pdf]


def test_all_text_is_there_and_pages_have_numbers(qapp: QApplication) -> None:
    found = pages("# Title\n\n" + "\n\n".join(f"Paragraph number {number}." for number in range(120)))
    assert len(found) > 2
    assert all(f"number {number}." in "".join(found) for number in range(120))
    assert [text.split()[-1] for text in found] == [str(number) for number in range(1, len(found) + 1)]


def test_formulas_are_drawn_and_what_cannot_be_typeset_is_code(qapp: QApplication) -> None:
    drawn, code = pages("Before $x^2$ after")[0], pages("Before $\\nosuchcommand{x}$ after")[0]
    assert "x^2" not in drawn and "Before" in drawn and "after" in drawn
    assert "nosuchcommand" in code


def test_the_paper_is_that_of_the_country(qapp: QApplication) -> None:
    before = QLocale()
    sizes = {}
    try:
        for name in ("de_DE", "en_US"):
            QLocale.setDefault(QLocale(name))
            page = pypdfium2.PdfDocument(paper.to_pdf("Text", "A title", paper.code_font()))[0]
            sizes[name] = tuple(round(side) for side in page.get_size())
    finally:
        QLocale.setDefault(before)
    assert sizes == {"de_DE": (595, 842), "en_US": (612, 792)}
