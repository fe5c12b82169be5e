"""The pages of documents that a reply has read, and the dialog that shows one."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt
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
from mlx_engine.documents.citations import CitedPassage, passages_in
from mlx_engine.documents.cited_page import place_in

_MOST_PAGES = 12
_LONGEST_NAME = 200
_TOOLS = ("search_documents", "open_page")  # of the built-in Documents


def passages_read(turn: Turn) -> list[CitedPassage]:
    """Return the passages that a reply has read, the first of each page."""
    done = (call for call in turn.reply.calls if call.tool in _TOOLS and call.state == "done")
    found: dict[tuple[str, int], CitedPassage] = {}
    for passage in (passage for call in done for passage in passages_in(call.result)):
        found.setdefault((passage.document, passage.page), passage)
    return list(found.values())


def page_title(passage: CitedPassage) -> str:
    name = shortened(one_line(passage.document.rpartition("/")[2], len(passage.document)))
    return tr("{name}, page {number}", name=name, number=number(passage.page))


class ReadPages(QWidget):
    """A row of buttons that open the pages that a reply has read."""

    def __init__(self, theme: Theme, passages: Sequence[CitedPassage], show: Callable[[CitedPassage], object]) -> None:
        super().__init__()
        self.buttons = []
        for passage in passages[:_MOST_PAGES]:
            title = page_title(passage)
            made = button(title.replace("&", "&&"), tr("Show {page}", page=title), "quiet", partial(show, passage))
            made.setToolTip(as_tooltip(one_line(passage.document, _LONGEST_NAME)))
            self.buttons.append(made)
        label = small_label(theme, tr("Read:"), "secondary")
        rest = len(passages) - _MOST_PAGES
        more = [small_label(theme, tr("{count} more", count=number(rest)), "secondary")] if rest > 0 else []
        self.setLayout(flow(label, *self.buttons, *more, gap=4))


class DocumentPageDialog(QDialog):
    """A dialog with the text of a page, in which the passage is marked."""

    def __init__(self, theme: Theme, passage: CitedPassage, page: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(page_title(passage))
        self.resize(640, 520)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setAccessibleName(tr("Text of {name}", name=page_title(passage)))
        self.text.setFont(theme.code_font)
        self.text.setPlainText(shown(page))
        done = button(tr("Done"), tr("Close"), "bordered", self.accept)
        done.setDefault(True)
        name = small_label(theme, one_line(passage.document, _LONGEST_NAME), "secondary", elided=True)
        right = Qt.AlignmentFlag.AlignRight
        column(name, (self.text, 1), (done, 0, right), spacing=10, margins=(20, 16, 20, 14), parent=self)
        self._mark(theme, *place_in(page, passage.text), page)

    def _mark(self, theme: Theme, start: int, end: int, page: str) -> None:
        """Mark a passage, and scroll to it."""
        if start == end:
            return
        first, last = qt_length(shown(page[:start])), qt_length(shown(page[:end]))
        marks = TextMarks(hits=((first, last),))
        self.text.setExtraSelections(extra_selections(self.text.document(), marks, theme))
        self.text.setTextCursor(cursor_at(self.text.document(), first))
