"""The list of pairs: name, size, fit, and state."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPen, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.language import tr
from app.models import wording
from app.models.candidate import Candidate
from app.models.picker import Picker
from app.widgets.theme import Theme

CANDIDATE = Qt.ItemDataRole.UserRole


class PairList(QListView):
    """Shows the rows of the picker and its selection."""

    def __init__(self, theme: Theme, picker: Picker, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picker = picker
        self._rows = QStandardItemModel(self)
        self._filling = False
        self.setModel(self._rows)
        self.setItemDelegate(_Delegate(theme, picker, self))
        self.setAccessibleName(tr("Model pairs"))
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.selectionModel().currentChanged.connect(self._select)
        picker.listed.connect(self.fill)
        picker.changed.connect(self.update_rows)
        theme.text_resized.connect(self.fill)
        self.fill()

    @Slot()
    def fill(self) -> None:
        """Show other rows."""
        self._filling = True
        self._rows.clear()
        for one in self._picker.rows:
            item = QStandardItem(one.name)
            item.setEditable(False)
            item.setData(one, CANDIDATE)
            self._rows.appendRow(item)
        self._filling = False
        self.update_rows()
        self.scrollTo(self.currentIndex())

    @Slot()
    def update_rows(self) -> None:
        """Show changes of the rows and of the selection."""
        self._filling = True
        current, selected = {one.id: one for one in self._picker.rows}, QModelIndex()
        for row in range(self._rows.rowCount()):
            item = self._rows.item(row)
            one: Candidate = current.get(item.data(CANDIDATE).id, item.data(CANDIDATE))
            item.setData(one, CANDIDATE)
            state = wording.status(self._picker.state(one), self._picker.download_of(one))
            item.setAccessibleText(", ".join(filter(None, (one.name, *wording.summary(one).split(" · "), state))))
            if one.id == self._picker.selected:
                selected = item.index()
        if selected != self.currentIndex():
            self.setCurrentIndex(selected)
        self._filling = False

    @Slot(QModelIndex)
    def _select(self, index: QModelIndex) -> None:
        if index.isValid() and not self._filling:
            self._picker.select(index.data(CANDIDATE).id)


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
        if selected or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(QPen(QColor(colors.accent), 1.5) if selected and self._view.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colors.chosen if selected else colors.hover))
            painter.drawRoundedRect(area, 7, 7)
        upper = area.adjusted(8, 6, -8, -6)
        lower = QRectF(upper)
        lower.setTop(upper.center().y())
        upper.setBottom(upper.center().y())
        middle, elide = Qt.AlignmentFlag.AlignVCenter, Qt.TextElideMode.ElideRight
        painter.setFont(self._theme.small())
        painter.setPen(QColor(colors.secondary))
        painter.drawText(lower, middle, painter.fontMetrics().elidedText(wording.summary(one), elide, int(lower.width())))
        if status := wording.status(state, self._picker.download_of(one)):
            painter.setPen(QColor(colors.accent if state in ("loaded", "loading", "running") else colors.secondary))
            painter.drawText(upper, Qt.AlignmentFlag.AlignRight | middle, status)
            upper.setRight(upper.right() - painter.fontMetrics().horizontalAdvance(status) - 8)
        painter.setFont(self._theme.list_font())
        painter.setPen(QColor(colors.faint if one.why_not else colors.text))
        painter.drawText(upper, middle, painter.fontMetrics().elidedText(one.name, elide, int(upper.width())))
        painter.restore()
