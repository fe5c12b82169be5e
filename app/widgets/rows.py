"""Rows of the chat list, the search results, and the command palette."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QCursor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.widgets.controls import ICON_SIZE, draw_icon
from app.widgets.theme import Theme

Index = QModelIndex | QPersistentModelIndex
Option = QStyleOptionViewItem
ICON_GAP = 6
EXCERPT_INDENT = 10  # of a row without a title
MARK_RADIUS, RING_WIDTH = 3.5, 1.5
_Align = Qt.AlignmentFlag


@dataclass(frozen=True)
class Row:
    """The contents of a row.

    Attributes:
        trailing: small text on the right.
        icon: name of an icon on the left.
        indented: whether the row is indented: by the width of an icon, or by less without a title.
        disclosure: name of an icon on the right.
        mark: a mark on the right: a "ring" for what is in progress, or a "dot" for what is new.
        excerpt: second line, or the only one if the title is empty: the text before a hit, the hit, and the text after the hit.
        heading: whether the row is a heading, which can't be selected.
        hint: whether the row is a small indented text, which can't be selected.
        chosen: whether to highlight the row; None highlights the selected row.
        extra_height: pixels.
        reserved: pixels on the right to keep free for a button.
    """

    title: str
    trailing: str = ""
    icon: str = ""
    indented: bool = False
    disclosure: str = ""
    mark: Literal["", "ring", "dot"] = ""
    excerpt: tuple[str, str, str] | None = None
    heading: bool = False
    hint: bool = False
    chosen: bool | None = None
    extra_height: int = 0
    reserved: int = 0


class RowDelegate(QStyledItemDelegate):
    """A delegate that draws the rows that `describe` returns."""

    def __init__(self, theme: Theme, view: QAbstractItemView, describe: Callable[[Index], Row], margin: int = 8) -> None:
        super().__init__(view)
        self._theme, self._view, self._describe, self._margin = theme, view, describe, margin
        view.setMouseTracking(True)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        theme.changed.connect(view.viewport().update)
        theme.text_resized.connect(view.doItemsLayout)

    def sizeHint(self, option: Option, index: Index) -> QSize:
        row = self._describe(index)
        return QSize(0, self._theme.row_height(lines=2 if row.title and row.excerpt else 1) + row.extra_height)

    def paint(self, painter: QPainter, option: Option, index: Index) -> None:
        row, colors = self._describe(index), self._theme.colors
        area = QRectF(option.rect).adjusted(self._margin, 1, -self._margin, -1)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if row.heading:
            self._write(painter, area.adjusted(10, 0, -8, -4), row.title, self._theme.small(bold=True), colors.secondary, "bottom")
        elif row.hint:
            left = 10 + self._theme.scaled(ICON_SIZE) + ICON_GAP
            self._write(painter, area.adjusted(left, 0, -8, 0), row.title, self._theme.small(), colors.secondary)
        else:
            self._paint_ground(painter, area, option.state, row)
            self._paint_content(painter, area, row)
        painter.restore()

    def _paint_ground(self, painter: QPainter, area: QRectF, state: QStyle.StateFlag, row: Row) -> None:
        colors = self._theme.colors
        selected = bool(state & QStyle.StateFlag.State_Selected)
        current = bool(state & QStyle.StateFlag.State_HasFocus)  # one of several selected rows
        outlined = selected and (current or self._view.focusPolicy() == Qt.FocusPolicy.NoFocus)
        chosen = selected if row.chosen is None else row.chosen
        if chosen or outlined or is_hovered(self._view, area, state):
            painter.setPen(QPen(QColor(colors.accent), 1.5) if outlined else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colors.chosen if chosen else colors.hover))
            painter.drawRoundedRect(area, 7, 7)

    def _paint_content(self, painter: QPainter, area: QRectF, row: Row) -> None:
        colors, theme = self._theme.colors, self._theme
        two_lines = bool(row.title and row.excerpt)
        inner = area.adjusted(10, 7, -10, -7) if two_lines else area.adjusted(10, 0, -10, 0)
        size = theme.scaled(ICON_SIZE)
        top = inner.center().y() - size / 2
        if row.icon:
            _paint_icon(painter, QPointF(inner.left() - 2, top), row.icon, colors.secondary, size)
        if row.disclosure:
            _paint_icon(painter, QPointF(area.right() - size - 2, top), row.disclosure, colors.faint, size)
        title = inner.adjusted(0, 0, -row.reserved, 0)
        if row.icon or row.indented:
            title.setLeft(inner.left() + (size + ICON_GAP if row.title else EXCERPT_INDENT))
        if row.disclosure:
            title.setRight(area.right() - size - 8)
        if row.mark:
            filled = row.mark == "dot"
            painter.setPen(Qt.PenStyle.NoPen if filled else QPen(QColor(colors.accent), RING_WIDTH))
            painter.setBrush(QColor(colors.accent) if filled else Qt.BrushStyle.NoBrush)
            radius = MARK_RADIUS if filled else MARK_RADIUS - RING_WIDTH / 2
            painter.drawEllipse(QPointF(title.right() - 3, inner.center().y()), radius, radius)
            title.setRight(title.right() - 14)
        edge = "top" if two_lines else "middle"
        if row.trailing:
            width = self._write(painter, title, row.trailing, theme.small(), colors.secondary, edge, right=True)
            title.setRight(title.right() - width - 10)
        self._write(painter, title, row.title, theme.list_font(), colors.text, edge)
        if row.excerpt:
            below = inner if two_lines else title
            self._paint_excerpt(painter, below, row.excerpt, "bottom" if two_lines else "middle")

    def _paint_excerpt(self, painter: QPainter, area: QRectF, excerpt: tuple[str, str, str], edge: str) -> None:
        """Draw the text around the hit, keeping the hit visible."""
        plain, bold, colors = self._theme.small(), self._theme.small(bold=True), self._theme.colors
        head, body, tail = excerpt
        room = max(0.0, area.width() - QFontMetricsF(bold).horizontalAdvance(body)) * (0.5 if tail else 1.0)
        head = elided_head(head.lstrip(), QFontMetricsF(plain), room)
        left = QRectF(area)
        for text, font, color in ((head, plain, colors.secondary), (body, bold, colors.text), (tail, plain, colors.secondary)):
            if text and left.width() > 0:
                left.setLeft(left.left() + self._write(painter, left, text, font, color, edge))

    def _write(
        self, painter: QPainter, area: QRectF, text: str, font: QFont, color: str, edge: str = "middle", right: bool = False
    ) -> float:
        """Draw a line of text at the top, middle, or bottom, and return the text's width."""
        vertical = {"top": _Align.AlignTop, "middle": _Align.AlignVCenter, "bottom": _Align.AlignBottom}[edge]
        metrics = QFontMetricsF(font)
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, area.width())
        painter.setFont(font)
        painter.setPen(QColor(color))
        painter.drawText(area, vertical | (_Align.AlignRight if right else _Align.AlignLeft), shown)
        return metrics.horizontalAdvance(shown)


def elided_head(text: str, metrics: QFontMetricsF, room: float) -> str:
    """Shorten the start of a text to a width, at a word if one is in the rest."""
    if metrics.horizontalAdvance(text) <= room:
        return text
    rests = ("…" + text[space.end() :] for space in re.finditer(r"\s+", text))
    fitting = (rest for rest in rests if metrics.horizontalAdvance(rest) <= room)
    return next(fitting, "") or metrics.elidedText(text, Qt.TextElideMode.ElideLeft, room)


def is_hovered(view: QAbstractItemView, area: QRectF, state: QStyle.StateFlag) -> bool:
    """Return whether the pointer is on a row, even if the row has moved."""
    return bool(state & QStyle.StateFlag.State_MouseOver) and area.contains(view.viewport().mapFromGlobal(QCursor.pos()).toPointF())


def _paint_icon(painter: QPainter, at: QPointF, icon: str, color: str, size: int) -> None:
    painter.save()
    painter.translate(at)
    draw_icon(painter, icon, QColor(color), size)
    painter.restore()
