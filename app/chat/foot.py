"""The area below the chat: the composer and the context meter."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QVBoxLayout, QWidget

from app.chat.composer import Composer
from app.chat.conductor import Conductor
from app.chat.context_meter import ContextMeter
from app.chat.context_view import ContextView
from app.chat.elsewhere_bar import ElsewhereBar
from app.rendering.source_legend import SourceLegend
from app.widgets.style_sheet import SCROLL_BAR
from app.widgets.theme import COLUMN, MARGIN, Theme

NARROW = 620  # stacks legend and meter below this width


class Foot(QWidget):
    """As wide as the chat's column."""

    def __init__(self, theme: Theme, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.composer = Composer(theme, conductor.attachments)
        self.composer.setMaximumWidth(COLUMN + 24)
        self._meter = ContextMeter(conductor, self)
        self.context = ContextView(theme, self._meter)
        self.elsewhere = ElsewhereBar(theme, conductor)
        self.notes = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self.notes.setContentsMargins(18, 0, 18, 0)
        self.legend = SourceLegend(theme)
        self.notes.addWidget(self.legend, 1)
        self.notes.addStretch(0)
        self.notes.addWidget(self.context, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        column = QWidget()
        column.setMaximumWidth(COLUMN + 24)
        inner = QVBoxLayout(column)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(5)
        inner.addWidget(self.elsewhere)
        inner.addWidget(self.composer)
        inner.addLayout(self.notes)
        row = QHBoxLayout(self)
        row.setContentsMargins(MARGIN - 8, 4, MARGIN - 8 + SCROLL_BAR, 8)
        row.addStretch(1)
        row.addWidget(column, 1000)
        row.addStretch(1)
        self.composer.field.textChanged.connect(self._set_draft)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        directions = QBoxLayout.Direction
        self.notes.setDirection(directions.TopToBottom if self.width() < NARROW else directions.LeftToRight)

    @Slot()
    def _set_draft(self) -> None:
        self._meter.set_draft(self.composer.text)
