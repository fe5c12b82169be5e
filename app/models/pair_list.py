"""The list of pairs: name, size, fit, and state."""

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.language import tr
from app.models import wording
from app.models.candidate import Candidate
from app.models.picker import Picker
from app.widgets.theme import Theme

Index = QModelIndex | QPersistentModelIndex
CANDIDATE = Qt.ItemDataRole.UserRole


class PairList(QListView):
    """Shows the rows of the picker and its selection."""

    def __init__(self, theme: Theme, picker: Picker, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picker = picker
        self._rows = _Rows(picker)
        self._filling = False
        self.setModel(self._rows)
        self.setItemDelegate(_Row(theme, picker, self))
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
        """Show the current rows."""
        self._filling = True
        self._rows.fill()
        self._filling = False
        self.update_rows()
        self.scrollTo(self.currentIndex())

    @Slot()
    def update_rows(self) -> None:
        """Show changes of the rows and of the selection."""
        self._rows.update()
        row = self._rows.index_of(self._picker.selected)
        if row != self.currentIndex().row():
            self._filling = True
            self.setCurrentIndex(self._rows.index(row, 0) if row >= 0 else QModelIndex())
            self._filling = False

    @Slot(QModelIndex)
    def _select(self, index: QModelIndex) -> None:
        if index.isValid() and not self._filling:
            self._picker.select(index.data(CANDIDATE).id)


class _Rows(QAbstractListModel):
    def __init__(self, picker: Picker) -> None:
        super().__init__()
        self._picker = picker
        self._shown: list[Candidate] = []

    def fill(self) -> None:
        self.beginResetModel()
        self._shown = self._picker.rows
        self.endResetModel()

    def update(self) -> None:
        current = {one.id: one for one in self._picker.rows}
        self._shown = [current.get(one.id, one) for one in self._shown]
        if self._shown:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._shown) - 1, 0))

    def index_of(self, id: str) -> int:
        return next((row for row, one in enumerate(self._shown) if one.id == id), -1)

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._shown)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self._shown):
            return None
        one = self._shown[index.row()]
        if role == CANDIDATE:
            return one
        if role == Qt.ItemDataRole.DisplayRole:
            return one.name
        if role == Qt.ItemDataRole.AccessibleTextRole:
            state = wording.status(self._picker.state(one), self._picker.download_of(one))
            return ", ".join(filter(None, (one.name, wording.summary(one).replace(" · ", ", "), state)))
        return None


class _Row(QStyledItemDelegate):
    def __init__(self, theme: Theme, picker: Picker, view: PairList) -> None:
        super().__init__(view)
        self._theme, self._picker, self._view = theme, picker, view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, self._theme.row_height(2))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
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
        inside = area.adjusted(8, 6, -8, -6)
        word = wording.status(state, self._picker.download_of(one))
        painter.setFont(self._theme.small())
        width = painter.fontMetrics().horizontalAdvance(word) if word else 0
        upper = QRectF(inside.left(), inside.top(), inside.width(), inside.height() / 2)
        lower = QRectF(inside.left(), inside.center().y(), inside.width(), inside.height() / 2)
        painter.setPen(QColor(colors.accent if state in ("loaded", "loading", "running") else colors.secondary))
        painter.drawText(upper, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, word)
        painter.setPen(QColor(colors.secondary))
        second = painter.fontMetrics().elidedText(wording.summary(one), Qt.TextElideMode.ElideRight, int(lower.width()))
        painter.drawText(lower, Qt.AlignmentFlag.AlignVCenter, second)
        painter.setFont(self._theme.list_font())
        painter.setPen(QColor(colors.faint if one.why_not else colors.text))
        room = int(upper.width()) - (width + 8 if width else 0)
        painter.drawText(
            upper,
            Qt.AlignmentFlag.AlignVCenter,
            painter.fontMetrics().elidedText(one.name, Qt.TextElideMode.ElideRight, room),
        )
        painter.restore()
