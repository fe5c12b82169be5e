"""The dialog with the pages of a PDF."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.storage.attachments import Attachment
from app.storage.pictures import Got, Page, Picture, Sent, StoredFile
from app.views.pictures.pdf_dialog import PdfDialog
from app.views.pictures.viewer import PictureViewer
from app.widgets.theme import Theme
from tests.app.pictures import document


class Choice(QObject):
    """Stands in for `PageChoice`, with costs of 10 tokens a page."""

    changed = Signal()
    can_see = True

    def __init__(self, free: int) -> None:
        super().__init__()
        self.pdf, self.free = document(), free

    def current(self, pdf: Attachment) -> Attachment:
        return self.pdf

    def got(self, pdf: Attachment, page: Page) -> Got:
        return page.sent if self.can_see else page.got(can_see=False)

    def send_as(self, pdf: Attachment, numbers: Iterable[int], sent: Sent) -> None:
        chosen = set(numbers)
        pages = tuple(replace(page, sent=sent) if page.number in chosen else page for page in pdf.page_list)
        self.pdf = replace(pdf, page_list=pages)
        self.changed.emit()

    def tokens(self, pdf: Attachment) -> list[int]:
        return [0 if page.sent == "no" else 10 for page in pdf.page_list]

    def fitting(self, pdf: Attachment) -> int | None:
        return self.free // 10 if sum(self.tokens(pdf)) > self.free else None


@pytest.fixture
def choice() -> Iterator[Choice]:
    choice = Choice(free=20)
    yield choice
    choice.deleteLater()


def rows(dialog: PdfDialog) -> list[str]:
    return [dialog.rows.item(row).accessibleText() for row in range(dialog.rows.rowCount())]


def test_pages_are_chosen_one_by_one_by_range_and_to_fit(qapp: QApplication, qtbot: QtBot, choice: Choice) -> None:
    dialog = PdfDialog(Theme(qapp, "light"), choice.pdf, choice)  # type: ignore[arg-type]
    qtbot.addWidget(dialog)
    dialog.show()
    assert rows(dialog) == [
        "Page 1, Text · 10 tokens, First page",
        "Page 2, Picture · 10 tokens, Scanned, or hardly any text",
        "Page 3, Picture · 10 tokens, Has a table",
    ]
    assert dialog.summary.text() == "3 pages · 2 as pictures · about 30 tokens"
    assert dialog.fit_text.text() == "Only the first 2 pages fit in the context."
    dialog.fit_button.click()
    assert [page.sent for page in choice.pdf.page_list] == ["text", "picture", "no"] and dialog.fit.isHidden()
    assert dialog.summary.text() == "3 pages · 1 as pictures · 1 not sent · about 20 tokens"
    QTest.keyClicks(dialog.range, "2-3")
    assert dialog.selected == [2, 3] and all(made.isEnabled() for made in dialog.buttons.values())
    dialog.buttons["text"].click()
    assert [page.sent for page in choice.pdf.page_list] == ["text", "text", "text"]
    assert dialog.buttons["text"].isChecked() and dialog.selected == [2, 3]
    QTest.keyClick(dialog.list, Qt.Key.Key_Home)
    assert dialog.selected == [1] and dialog.text.toPlainText() == "First page"


def test_a_page_opens_as_a_picture_and_a_sent_message_cannot_be_changed(qapp: QApplication, qtbot: QtBot) -> None:
    dialog = PdfDialog(Theme(qapp, "light"), document(), page=2)
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.selected == [2] and dialog.range.isHidden() and dialog.fit.isHidden() and dialog.text.toPlainText() != ""
    QTest.keyClick(dialog.list, Qt.Key.Key_Return)
    (viewer,) = dialog.findChildren(PictureViewer)
    assert viewer.windowTitle() == "report.pdf, page 2" and viewer.place.text() == "2 of 3"
    qtbot.waitUntil(lambda: viewer.canvas._is_full, timeout=120_000)
    assert viewer.canvas.accessibleName() == "Page 2 of report.pdf"
    viewer.close()


def test_a_target_that_cannot_see_is_said(qapp: QApplication, qtbot: QtBot, choice: Choice) -> None:
    choice.can_see, choice.free = False, 100
    dialog = PdfDialog(Theme(qapp, "light"), choice.pdf, choice)  # type: ignore[arg-type]
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.unseen.isVisible() and dialog.fit.isHidden()
    assert dialog.unseen.text().endswith("gets only the text of the pages. 1 page has no text and isn't read.")
    assert rows(dialog) == [
        "Page 1, Text · 10 tokens, First page",
        "Page 2, Not read, Scanned, or hardly any text",
        "Page 3, Text only · 10 tokens, Has a table",
    ]
    assert dialog.summary.text() == "3 pages · 1 not read · about 30 tokens"
    choice.send_as(choice.pdf, (2, 3), "text")
    assert dialog.unseen.isHidden()


def test_a_sent_message_says_which_pictures_were_never_made(qapp: QApplication, qtbot: QtBot) -> None:
    drawn = Picture(StoredFile.of(b"page"), 9, 9, "PNG")
    first, scanned, table = document().page_list
    dialog = PdfDialog(Theme(qapp, "light"), replace(document(), page_list=(first, replace(scanned, picture=drawn), table)))
    qtbot.addWidget(dialog)
    assert [row.split(", ")[1] for row in rows(dialog)] == ["Text", "Picture", "Text only"] and dialog.unseen.isHidden()


def test_an_invalid_range_selects_nothing_and_says_so(qapp: QApplication, qtbot: QtBot, choice: Choice) -> None:
    dialog = PdfDialog(Theme(qapp, "light"), choice.pdf, choice)  # type: ignore[arg-type]
    qtbot.addWidget(dialog)
    dialog.show()
    QTest.keyClicks(dialog.range, "2")
    assert dialog.selected == [2] and not dialog.range_note.isVisible()
    QTest.keyClicks(dialog.range, "7")
    assert dialog.selected == [] and dialog.range_note.text() == "Enter pages from 1 to 3." and dialog.range_note.isVisible()
    assert not any(button.isEnabled() for button in dialog.buttons.values())
    QTest.keyClick(dialog.range, Qt.Key.Key_Backspace)
    assert dialog.selected == [2] and not dialog.range_note.isVisible()
