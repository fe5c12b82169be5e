"""The list of endpoints and pairs, with their names, sizes, fit, and states."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.session.downloads import PairState
from app.session.model_list import Candidate, match_reason
from app.session.picker import Picker
from app.storage.wording import percent
from app.text.language import tr
from app.views.models.fit_dot import DOT, draw_dot, fit_color
from app.widgets.controls import ICON_SIZE, as_tooltip, draw_icon
from app.widgets.rows import is_hovered
from app.widgets.soft_edge import SoftEdge
from app.widgets.theme import Theme

CANDIDATE = Qt.ItemDataRole.UserRole


class PairList(QListView):
    """A list view of the picker's rows and selection."""

    def __init__(self, theme: Theme, picker: Picker, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picker = picker
        self._rows = QStandardItemModel(self)
        self._filling = False
        self.setModel(self._rows)
        self.setItemDelegate(_Delegate(theme, picker, self))
        self.setAccessibleName(tr("Model pairs and connections"))
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.selectionModel().currentChanged.connect(self._select)
        picker.changed.connect(self.refresh)
        theme.text_resized.connect(self.doItemsLayout)
        self.soft_edge = SoftEdge(theme, self, "sidebar")
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        self._filling, rows, selected = True, self._picker.rows.matching, QModelIndex()
        if [one.id for one in rows] != [self._rows.item(row).data(CANDIDATE).id for row in range(self._rows.rowCount())]:
            self._rows.clear()
            for one in rows:
                item = QStandardItem(one.name)
                item.setEditable(False)
                self._rows.appendRow(item)
        for row, one in enumerate(rows):
            item = self._rows.item(row)
            item.setData(one, CANDIDATE)
            reason = match_reason(one, self._picker.rows.search)
            said = (one.name, reason, *one.summary.split(" · "), one.sees, _status(self._picker, one))
            item.setAccessibleText(", ".join(filter(None, said)))
            item.setToolTip(as_tooltip(one.sees))
            if one.id == self._picker.rows.selected:
                selected = item.index()
        if selected != self.currentIndex():
            self.setCurrentIndex(selected)
        self._filling = False

    @Slot(QModelIndex)
    def _select(self, index: QModelIndex) -> None:
        if index.isValid() and not self._filling:
            self._picker.rows.select(index.data(CANDIDATE).id)


class _Delegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, picker: Picker, view: PairList) -> None:
        super().__init__(view)
        self._theme, self._picker, self._view = theme, picker, view

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self._theme.row_height(2))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        one: Candidate = index.data(CANDIDATE)
        colors, state = self._theme.colors, self._picker.state(one)
        area = QRectF(option.rect).adjusted(8, 1, -8, -1)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if selected or is_hovered(self._view, area, option.state):
            painter.setPen(QPen(QColor(colors.accent), 1.5) if selected and self._view.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colors.chosen if selected else colors.hover))
            painter.drawRoundedRect(area, 7, 7)
        upper = area.adjusted(8, 6, -8, -6)
        lower = QRectF(upper)
        lower.setTop(upper.center().y())
        upper.setBottom(upper.center().y())
        middle, elide = Qt.AlignmentFlag.AlignVCenter, Qt.TextElideMode.ElideRight
        painter.setFont(self._theme.small())
        painter.setPen(QColor(colors.accent if state in ("loaded", "loading", "running") else colors.secondary))
        reason = match_reason(one, self._picker.rows.search)
        status, summary = _status(self._picker, one), " · ".join(filter(None, (reason, one.summary)))
        width = QFontMetricsF(self._theme.list_font()).horizontalAdvance(one.name) + 8
        if width + painter.fontMetrics().horizontalAdvance(status) > upper.width():  # the name comes first
            status, summary = "", f"{status} · {summary}" if status else summary
        painter.drawText(upper, Qt.AlignmentFlag.AlignRight | middle, status)
        if one.shown.sees:
            side = self._theme.scaled(ICON_SIZE)
            painter.save()
            painter.translate(lower.right() - side + 2, lower.center().y() - side / 2)
            draw_icon(painter, "eye", QColor(colors.secondary), side)
            painter.restore()
            lower.setRight(lower.right() - side - 4)
        if one.endpoint is not None:
            side = self._theme.scaled(ICON_SIZE)
            painter.save()
            painter.translate(lower.left() - 2, lower.center().y() - side / 2)
            draw_icon(painter, "server", QColor(colors.secondary), side)
            painter.restore()
            lower.setLeft(lower.left() + side + 2)
        elif color := "" if one.why_not else fit_color(one.verdict, one.shown.slow):
            draw_dot(painter, self._theme, color, lower.left(), lower.center().y())
            lower.setLeft(lower.left() + DOT + 6)
        painter.setPen(QColor(colors.secondary))
        painter.drawText(lower, middle, painter.fontMetrics().elidedText(summary, elide, int(lower.width())))
        painter.setFont(self._theme.list_font())
        painter.setPen(QColor(colors.faint if one.why_not else colors.text))
        painter.drawText(upper, middle, painter.fontMetrics().elidedText(one.name, elide, int(upper.width())))
        painter.restore()


def _status(picker: Picker, one: Candidate) -> str:
    """Return the status of a pair, or an empty string if it can be downloaded."""
    state, download = picker.state(one), picker.download_of(one)
    if one.endpoint is not None and state == "ready":
        return ""
    if state == "running" and download is not None and download.total:
        return percent(download.fraction)
    names: dict[PairState, str] = {
        "waiting": tr("Waiting"),
        "running": tr("Downloading"),
        "paused": tr("Paused"),
        "failed": tr("Stopped"),
        "ready": tr("On disk"),
        "loading": tr("Loading"),
        "loaded": tr("In use"),
    }
    return names.get(state, "")
