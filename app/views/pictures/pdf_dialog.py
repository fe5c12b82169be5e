"""The pages of an attached PDF: what is sent of each, why, and what it costs."""

from collections import Counter
from functools import partial

from PySide6.QtCore import QItemSelectionModel, QPoint, QSize, Qt, Slot
from PySide6.QtGui import QResizeEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QDialog, QFrame, QListView, QMenu, QPlainTextEdit, QWidget

from app.session.page_choice import PageChoice, numbers_in
from app.storage.attachments import Attachment
from app.storage.pictures import Got, Page, Sent
from app.storage.wording import about_tokens, tokens
from app.text.language import number, sentences, tr
from app.views.pictures.picture_row import picture_of_page
from app.views.pictures.viewer import open_viewer
from app.widgets.controls import announce, button, entry, small_label
from app.widgets.layout import column, flow, line, row
from app.widgets.picture_tile import PictureTile
from app.widgets.rows import Index, Row, RowDelegate
from app.widgets.theme import SMALL, Theme, set_look

LIST_WIDTH = 320
PREVIEW = QSize(360, 360)
NARROW = 560  # pixels; narrower dialogs have no preview
MAX_TEXT = 60_000  # characters shown of a page


def open_pages(theme: Theme, pdf: Attachment, choice: PageChoice | None, source: QWidget) -> None:
    """Show a PDF's pages, which can be changed with a choice."""
    dialog = PdfDialog(theme, pdf, choice, parent=source.window())
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()


class PdfDialog(QDialog):
    """A dialog with a PDF's pages. Those of a sent message can't be changed.

    Args:
        choice: changes what is sent; None for a sent message.
        page: the page to show first.
    """

    def __init__(
        self, theme: Theme, pdf: Attachment, choice: PageChoice | None = None, page: int = 1, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme, self.pdf, self._choice = theme, pdf, choice
        self._tokens: list[int] | None = None
        self._shown_page = 0
        self.setWindowTitle(pdf.name)
        self.resize(LIST_WIDTH + 480, 600)
        self.summary = small_label(theme, look="secondary", wrap=True)
        self.summary.setAccessibleName(tr("Summary"))
        self.unseen = small_label(theme, wrap=True)
        self.fit = QFrame()
        set_look(self.fit, "error")
        self.fit_text = small_label(theme, look="danger", wrap=True)
        self.fit_button = button("", "", "bordered", self._send_fitting)
        row((self.fit_text, 1), self.fit_button, margins=(14, 6, 8, 6), parent=self.fit)
        self.range = entry(hint=tr("Select pages, such as 1-5, 8"), limit=200)
        theme.set_font(self.range, SMALL)
        self.range.setAccessibleName(tr("Select pages"))
        self.range.textEdited.connect(self._select_range)
        last = number(len(pdf.page_list))
        self.range_note = small_label(theme, tr("Enter pages from 1 to {last}.", last=last), "danger", wrap=True)
        self.range_note.hide()
        self.rows = QStandardItemModel(self)
        self.list = QListView()
        self.list.setModel(self.rows)
        self.list.setItemDelegate(RowDelegate(theme, self.list, self._describe, margin=4))
        self.list.setAccessibleName(tr("Pages"))
        self.list.setFrameShape(QListView.Shape.NoFrame)
        self.list.setSelectionMode(QListView.SelectionMode.ExtendedSelection)
        self.list.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.list.setUniformItemSizes(True)
        self.list.selectionModel().currentChanged.connect(self._show_page)
        self.list.selectionModel().selectionChanged.connect(self._show_buttons)
        self.list.activated.connect(self.open_page)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._show_menu)
        titles: tuple[tuple[Sent, str, str], ...] = (
            ("text", tr("As Text"), tr("Send the selected pages as text")),
            ("picture", tr("As Picture"), tr("Send the selected pages as pictures")),
            ("no", tr("Don't Send"), tr("Don't send the selected pages")),
        )
        self.buttons = {sent: button(title, name, "bordered", partial(self._send_as, sent)) for sent, title, name in titles}
        for kind in self.buttons.values():
            kind.setCheckable(True)
        side = QWidget()
        set_look(side, "sidebar")
        side.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._change = QWidget()
        self._change.setLayout(flow(*self.buttons.values(), gap=6))
        column(self.range, self.range_note, (self.list, 1), self._change, spacing=10, margins=(12, 14, 12, 14), parent=side)
        side.setMinimumWidth(theme.scaled(240))
        self.tile_place = column(spacing=0)
        self.tile: PictureTile | None = None
        self.text_title = small_label(theme, bold=True)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setFont(theme.code_font)
        page_column = column(self.tile_place, self.text_title, (self.text, 1), spacing=10, margins=(20, 16, 20, 12))
        self._preview = QWidget()
        row(line("upright"), (page_column, 1), spacing=0, parent=self._preview)
        done = button(tr("Done"), tr("Close"), "bordered", self.accept)
        done.setDefault(True)
        head = column(self.summary, self.unseen, self.fit, spacing=8, margins=(20, 14, 20, 12))
        body = row((side, 9), (self._preview, 11), spacing=0)
        foot = row(None, done, margins=(20, 10, 20, 14))
        column(head, line(), (body, 1), line(), foot, spacing=0, parent=self)
        for made in pdf.page_list:
            item = QStandardItem(str(made.number))
            self.rows.appendRow(item)
        for widget in (self._change, self.range):
            widget.setVisible(choice is not None)
        if choice is not None:
            choice.changed.connect(self.refresh)
        self.refresh()
        self.list.setCurrentIndex(self.rows.index(page - 1, 0))
        self.list.setFocus()

    # Pages

    @property
    def selected(self) -> list[int]:
        """The numbers of the selected pages."""
        return sorted(index.row() + 1 for index in self.list.selectionModel().selectedIndexes())

    @Slot()
    def refresh(self) -> None:
        choice = self._choice
        if choice is not None:
            current = choice.current(self.pdf)
            if current is None:
                self.reject()
                return
            self.pdf, self._tokens = current, choice.tokens(current)
        for index, page in enumerate(self.pdf.page_list):
            said = self._describe_page(page)
            parts = (said.title, said.trailing, said.excerpt[2] if said.excerpt else "")
            self.rows.item(index).setAccessibleText(", ".join(filter(None, parts)))
        self.list.viewport().update()
        self.summary.setText(self._summary())
        pictures = any(page.sent == "picture" for page in self.pdf.page_list)
        self.unseen.setText(_unseen_text(sum(self._got(page) == "unread" for page in self.pdf.page_list)))
        self.unseen.setVisible(choice is not None and not choice.can_see and pictures)
        fitting = choice.fitting(self.pdf) if choice is not None else None
        self.fit.setVisible(fitting is not None)
        if fitting is not None:
            self.fit_text.setText(_fit_text(fitting))
            self.fit_button.setText(tr("Send Page 1") if fitting == 1 else tr("Send Pages 1–{number}", number=number(fitting)))
            self.fit_button.setAccessibleName(self.fit_button.text())
            self.fit_button.setVisible(fitting > 0)
        self._show_buttons()

    def _summary(self) -> str:
        pages = self.pdf.page_list
        parts = [tr("1 page") if len(pages) == 1 else tr("{count} pages", count=number(len(pages)))]
        counts = Counter(map(self._got, pages))
        if pictures := counts["picture"]:
            parts.append(tr("{count} as pictures", count=number(pictures)))
        if unread := counts["unread"]:
            parts.append(tr("{count} not read", count=number(unread)))
        if left_out := counts["no"]:
            parts.append(tr("{count} not sent", count=number(left_out)))
        if self._tokens is not None:
            parts.append(about_tokens(sum(self._tokens), exact=False))
        return " · ".join(parts)

    def _describe(self, index: Index) -> Row:
        return self._describe_page(self.pdf.page_list[index.row()])

    def _got(self, page: Page) -> Got:
        return page.got(can_see=True) if self._choice is None else self._choice.got(self.pdf, page)

    def _describe_page(self, page: Page) -> Row:
        got = self._got(page)
        cost = self._tokens[page.number - 1] if self._tokens is not None and got not in ("no", "unread") else None
        trailing = " · ".join(filter(None, (got_name(got), tokens(cost) if cost is not None else "")))
        second = why_text(page) or " ".join(page.text[:200].split()) or tr("No text")
        return Row(tr("Page {number}", number=number(page.number)), trailing, excerpt=("", "", second))

    @Slot(str)
    def _select_range(self, text: str) -> None:
        model, last = self.list.selectionModel(), len(self.pdf.page_list)
        numbers = numbers_in(text, last) if text.strip() else []
        self.range_note.setVisible(numbers is None)
        if numbers is None:
            model.clearSelection()  # so that no button changes other pages
            announce(self, self.range_note.text())
        if not numbers:
            return
        self.list.setCurrentIndex(self.rows.index(numbers[0] - 1, 0))
        for one in numbers:
            model.select(self.rows.index(one - 1, 0), QItemSelectionModel.SelectionFlag.Select)

    def _send_as(self, sent: Sent) -> None:
        if self._choice is not None:
            self._choice.send_as(self.pdf, self.selected, sent)
        self._show_buttons()

    @Slot()
    def _send_fitting(self) -> None:
        fitting = self._choice.fitting(self.pdf) if self._choice is not None else None
        if self._choice is not None and fitting:
            self._choice.send_as(self.pdf, range(fitting + 1, len(self.pdf.page_list) + 1), "no")

    @Slot()
    def _show_buttons(self) -> None:
        kinds = {self.pdf.page_list[one - 1].sent for one in self.selected}
        for sent, made in self.buttons.items():
            made.setEnabled(bool(kinds))
            made.setChecked(kinds == {sent})

    def _show_menu(self, at: QPoint) -> None:
        menu = QMenu(self.list)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Show Page"), self.open_page)
        if self._choice is not None:
            menu.addSeparator()
            for sent, made in self.buttons.items():
                action = menu.addAction(made.text(), partial(self._send_as, sent))
                action.setCheckable(True)
                action.setChecked(made.isChecked())
                action.setEnabled(made.isEnabled())
        menu.popup(self.list.viewport().mapToGlobal(at))

    # Preview

    @Slot()
    def _show_page(self) -> None:
        number_ = self.list.currentIndex().row() + 1
        if number_ == self._shown_page or not number_:
            return
        self._shown_page = number_
        page = self.pdf.page_list[number_ - 1]
        if self.tile is not None:
            self.tile.hide()
            self.tile.deleteLater()
            self.tile = None
        if (shown := picture_of_page(self.pdf, number_)) is not None:
            self.tile = PictureTile(self._theme, shown, PREVIEW, parent=self._preview)
            self.tile.clicked.connect(self.open_page)
            self.tile_place.addWidget(self.tile, 0, Qt.AlignmentFlag.AlignHCenter)
            self.tile.show()
        title = tr("Text of page {number}", number=number(number_))
        self.text_title.setText(title)
        self.text.setAccessibleName(title)
        self.text.setPlainText(page.text[:MAX_TEXT] or tr("This page has no text."))

    @Slot()
    def open_page(self) -> None:
        """Show the current page in the viewer, which can step to the others."""
        pictures = [picture_of_page(self.pdf, page.number) for page in self.pdf.page_list]
        shown = [one for one in pictures if one is not None]
        if shown:
            open_viewer(self._theme, shown, self.list.currentIndex().row(), self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._preview.setVisible(self.width() >= NARROW)


def got_name(got: Got) -> str:
    names: dict[Got, str] = {
        "text": tr("Text"),
        "picture": tr("Picture"),
        "no": tr("Not sent"),
        "text_only": tr("Text only"),
        "unread": tr("Not read"),
    }
    return names[got]


def why_text(page: Page) -> str:
    """Return why a page should be sent as a picture, or an empty string."""
    return {
        "little_text": tr("Scanned, or hardly any text"),
        "figures": tr("Has figures"),
        "table": tr("Has a table"),
        "annotations": tr("Has notes or form fields"),
    }.get(page.why, "")


def _unseen_text(unread: int) -> str:
    """Return what a model that can't see gets, if it doesn't read this many pages."""
    text = tr("This model can't see images, so it gets only the text of the pages.")
    if not unread:
        return text
    count = (
        tr("1 page has no text and isn't read.")
        if unread == 1
        else tr("{count} pages have no text and aren't read.", count=number(unread))
    )
    return sentences(text, count)


def _fit_text(count: int) -> str:
    if not count:
        return tr("No page fits in the context.")
    if count == 1:
        return tr("Only the first page fits in the context.")
    return tr("Only the first {count} pages fit in the context.", count=number(count))
