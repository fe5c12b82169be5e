"""Explains the underlines that show where tokens came from."""

from PySide6.QtCore import Slot
from PySide6.QtGui import QColor, QResizeEvent, QTextCharFormat
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from app.conversations.token_sources import Supplier
from app.language import tr
from app.rendering.text_marks import underline_format
from app.widgets.theme import SMALL, Theme

MIN_WIDTH = 120


class SourceLegend(QTextEdit):
    """Visible while token sources are shown."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        theme.set_font(self, SMALL)
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setMinimumWidth(MIN_WIDTH)
        self.setAccessibleName(tr("Legend for token sources"))
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)
        for changed in (theme.changed, theme.token_sources_changed, theme.text_resized):
            changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        self.setVisible(self._theme.shows_token_sources)
        self.clear()
        cursor = self.textCursor()
        plain = QTextCharFormat()
        plain.setForeground(QColor(self._theme.colors.secondary))
        labels: tuple[tuple[Supplier, str], ...] = (
            ("drafter", tr("Drafted and accepted")),
            ("lookup", tr("Copied from earlier text")),
            ("target", tr("From the target model")),
        )
        for number, (source, label) in enumerate(labels):
            cursor.insertText("    " if number else "", plain)
            form = QTextCharFormat(plain)
            form.merge(underline_format(self._theme, source))
            cursor.insertText(label.replace(" ", "\u00a0"), form)  # wraps between labels only
        self._fit()

    def _fit(self) -> None:
        self.document().setTextWidth(max(MIN_WIDTH, self.viewport().width()))
        self.setFixedHeight(round(self.document().size().height()) + 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
