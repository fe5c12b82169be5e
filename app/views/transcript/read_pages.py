"""The pages of documents that a reply has read, and the dialog that shows one."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QWidget

from app.rendering.blocks import qt_length
from app.rendering.text_marks import TextMarks, cursor_at, extra_selections
from app.storage.attachments import shortened
from app.storage.chat_tree import Turn
from app.text.language import number, tr
from app.text.plain_text import one_line
from app.views.transcript.call_card import shown
from app.widgets.controls import as_tooltip, button, small_label
from app.widgets.layout import column, flow
from app.widgets.theme import Theme
from mlx_engine.documents.citations import passages_in
from mlx_engine.documents.cited_page import place_in

_MOST_PAGES = 12
_LONGEST_NAME = 200
_SERVER = re.compile(r"Documents( \d+)?")  # the built-in one, which has a number if another server has its name
_TOOLS = ("search_documents", "open_page")


@dataclass(frozen=True)
class PageRead:
    """A page of a document that a reply has read.

    Attributes:
        document: name of the document, as the model read it.
        passages: what a search found in the page; empty if the page was only opened.
    """

    document: str
    page: int
    passages: tuple[str, ...] = ()


def pages_read(turn: Turn) -> list[PageRead]:
    """Return the pages of documents that a reply has read."""
    found: dict[tuple[str, int], dict[str, None]] = {}
    for added in turn.asked.attachments if turn.asked is not None else ():
        for passage in passages_in(added.text) if added.passages else ():
            found.setdefault((passage.document, passage.page), {})[passage.text] = None
    for call in turn.reply.calls:
        if call.state == "done" and call.tool in _TOOLS and _SERVER.fullmatch(call.server):
            for passage in passages_in(call.result):
                passages = found.setdefault((passage.document, passage.page), {})
                if call.tool == _TOOLS[0]:
                    passages[passage.text] = None
    return [PageRead(*place, tuple(passages)) for place, passages in found.items()]


def page_title(page: PageRead) -> str:
    name = shortened(one_line(page.document.rpartition("/")[2], len(page.document)))
    return tr("{name}, page {number}", name=name, number=number(page.page))


class ReadPages(QWidget):
    """A row of buttons that open the pages that a reply has read."""

    def __init__(self, theme: Theme, pages: Sequence[PageRead], show: Callable[[PageRead], object]) -> None:
        super().__init__()
        self.buttons = []
        for page in pages[:_MOST_PAGES]:
            title = page_title(page)
            made = button(title.replace("&", "&&"), tr("Show {page}", page=title), "quiet", partial(show, page))
            made.setToolTip(as_tooltip(one_line(page.document, _LONGEST_NAME)))
            self.buttons.append(made)
        label = small_label(theme, tr("Read:"), "secondary")
        rest = len(pages) - _MOST_PAGES
        more = [small_label(theme, tr("{count} more", count=number(rest)), "secondary")] if rest > 0 else []
        self.setLayout(flow(label, *self.buttons, *more, gap=4))


class DocumentPageDialog(QDialog):
    """A dialog with the text of a page, in which the passages are marked."""

    def __init__(self, theme: Theme, page: PageRead, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(page_title(page))
        self.resize(640, 520)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setAccessibleName(tr("Text of {name}", name=page_title(page)))
        self.text.setFont(theme.code_font)
        self.text.setPlainText(shown(text))
        done = button(tr("Done"), tr("Close"), "bordered", self.accept)
        done.setDefault(True)
        name = small_label(theme, one_line(page.document, _LONGEST_NAME), "secondary", elided=True)
        right = Qt.AlignmentFlag.AlignRight
        column(name, (self.text, 1), (done, 0, right), spacing=10, margins=(20, 16, 20, 14), parent=self)
        places = sorted(place_in(text, passage) for passage in page.passages)
        self._mark(theme, [(qt_length(shown(text[:start])), qt_length(shown(text[:end]))) for start, end in places if start < end])

    def _mark(self, theme: Theme, places: Sequence[tuple[int, int]]) -> None:
        """Mark passages, and put the cursor at the first one."""
        if places:
            marks = TextMarks(hits=tuple(places))
            self.text.setExtraSelections(extra_selections(self.text.document(), marks, theme))
            self.text.setTextCursor(cursor_at(self.text.document(), places[0][0]))

    def showEvent(self, event: QShowEvent) -> None:
        """Scroll so that the first passage begins in the upper third."""
        super().showEvent(event)
        text, bar = self.text, self.text.verticalScrollBar()
        text.centerCursor()  # before, the size of the text isn't known
        too_low = text.cursorRect().top() - text.viewport().height() // 4
        bar.setValue(bar.value() + max(too_low, 0) // text.fontMetrics().lineSpacing())
