"""The Network pane of the Settings window: every connection, with a filter."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QDateTime, QLocale, QModelIndex, QObject, QPersistentModelIndex, Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QHeaderView, QSizePolicy, QTableView, QWidget

from app.session.connection_history import ConnectionHistory, feature_names, outcome_names
from app.storage import wording
from app.text.language import number, tr
from app.widgets.controls import SearchField, button, small_label
from app.widgets.layout import column, row
from app.widgets.save_dialog import confirm
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.network.connection_log import FEATURES, ConnectionRecord, is_open, total

REFRESH_MS = 2000
LEAST_ROWS = 5
CONNECTION, TIME, DATA = range(3)
Index = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()


class ConnectionTable(QAbstractTableModel):
    """The rows of the table, whose texts are made when they are drawn."""

    def __init__(self, history: ConnectionHistory, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._history = history
        self._rows: list[ConnectionRecord] = []
        self._features, self._outcomes = feature_names(), outcome_names()
        self._titles = (tr("Connection"), tr("When"), tr("Data"))
        history.changed.connect(self._follow)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._titles)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        return self._titles[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        texts = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole)
        if role in texts:
            return self._text(self._rows[index.row()], index.column(), in_words=role != Qt.ItemDataRole.DisplayRole)
        return _alignment(index.column()) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def _text(self, record: ConnectionRecord, at: int, in_words: bool) -> str:
        if at == TIME:
            return _time(record.opened)
        if at == CONNECTION:
            host = f"[{record.host}]" if ":" in record.host else record.host
            place = f"{host}:{record.port}"
            outcome = None if record.outcome == "open" and not is_open(record) else self._outcomes.get(record.outcome)
            purpose = " · ".join(filter(None, (self._features[record.feature], outcome)))
            return f"{tr('{host} (proxy)', host=place) if record.proxy else place}\n{purpose}"
        sent, received = wording.size(record.sent), wording.size(record.received)
        return tr("{sent} sent, {received} received", sent=sent, received=received) if in_words else f"↑ {sent}\n↓ {received}"

    @Slot()
    def _follow(self) -> None:
        """Show the filtered records. If only new ones came, the selection stays."""
        rows, known = self._history.shown, [record.id for record in self._rows]
        new = len(rows) - len(known)
        if new < 0 or [record.id for record in rows[new:]] != known:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()
            return
        if new:
            self.beginInsertRows(ROOT, 0, new - 1)
        self._rows = rows
        if new:
            self.endInsertRows()
        if known:
            self.dataChanged.emit(self.index(new, 0), self.index(len(rows) - 1, DATA))


def _time(seconds: float) -> str:
    """Return the date and, below it, the time."""
    found, short = QDateTime.fromMSecsSinceEpoch(int(seconds * 1000)), QLocale.FormatType.ShortFormat
    return f"{QLocale().toString(found.date(), short)}\n{QLocale().toString(found.time(), short)}"


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column == DATA else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class NetworkPane(QWidget):
    """The connections on record. While the pane is shown, new ones appear.

    Args:
        programs: returns the names of programs that Slipstream starts, whose connections it doesn't see.
    """

    def __init__(
        self, theme: Theme, history: ConnectionHistory, programs: Callable[[], list[str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme, self._history, self._programs = theme, history, programs
        about = tr("Every connection that Slipstream makes, and that programs make to its server. The list stays on this computer.")
        self.feature = QComboBox()
        self.feature.setAccessibleName(tr("Purpose"))
        self.feature.addItem(tr("All Purposes"))
        purposes = feature_names()
        self.feature.addItems([purposes[feature] for feature in FEATURES])
        self.host = SearchField(theme, tr("Filter by host"), tr("Filter by host"))
        self.table = QTableView()
        self.table.setModel(ConnectionTable(history, self))
        self._prepare_table()
        self.empty = small_label(theme, "", "faint")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.sum = small_label(theme, "", "secondary", wrap=True)
        self.clear = button(tr("Clear…"), tr("Delete the list of connections"), "bordered", self._clear)
        self.others = small_label(theme, "", "secondary", wrap=True)
        column(
            small_label(theme, about, "secondary", wrap=True),
            row(self.feature, (self.host, 1)),
            (self.table, 1),
            (self.empty, 1),
            row((self.sum, 1, Qt.AlignmentFlag.AlignVCenter), (self.clear, 0, Qt.AlignmentFlag.AlignRight)),
            self.others,
            spacing=12,
            parent=self,
        )
        self._timer = QTimer(self, interval=REFRESH_MS)
        self._timer.timeout.connect(history.refresh)
        self.feature.currentIndexChanged.connect(self._filter)
        self.host.textChanged.connect(self._filter)
        self.host.down_pressed.connect(self.table.setFocus)
        history.changed.connect(self._show)
        history.failed.connect(self._explain)
        theme.text_resized.connect(self._measure)
        self._filter()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        others = tr("Not listed: connections of your browser and of coding agents.")
        if names := ", ".join(self._programs()):
            others = tr("Not listed: connections of your browser, of coding agents, and of these programs: {names}.", names=names)
        self.others.setText(others)
        self._history.refresh()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def _prepare_table(self) -> None:
        table = self.table
        set_look(table, "records")
        self._theme.set_font(table, SMALL)
        table.setAccessibleName(tr("Connections"))
        table.setShowGrid(False)
        table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        table.setWordWrap(False)
        table.setTabKeyNavigation(False)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        table.verticalHeader().hide()
        table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        table.horizontalHeader().setHighlightSections(False)
        table.horizontalHeader().setSectionResizeMode(CONNECTION, QHeaderView.ResizeMode.Stretch)
        self._measure()

    @Slot()
    def _measure(self) -> None:
        """Fit the columns to a sample of their texts."""
        table, metrics = self.table, self.table.fontMetrics()
        times = "\n".join(_time(datetime(2028, 12, 28, hour, 58).timestamp()) for hour in (10, 22))
        texts = {TIME: times.split("\n"), DATA: [f"↑ {wording.size(999)}"]}
        for at, lines in texts.items():
            title = self.table.model().headerData(at, Qt.Orientation.Horizontal)
            table.setColumnWidth(at, max(map(metrics.horizontalAdvance, (*lines, title))) + 32)
        height = 2 * metrics.lineSpacing() + 8
        table.verticalHeader().setDefaultSectionSize(height)
        table.setMinimumHeight(LEAST_ROWS * height)

    @Slot()
    def _filter(self) -> None:
        at = self.feature.currentIndex()
        self._history.filter(FEATURES[at - 1] if at > 0 else None, self.host.text())

    @Slot()
    def _show(self) -> None:
        shown, every = self._history.shown, self._history.records
        self.table.setVisible(bool(shown))
        self.empty.setVisible(not shown)
        if self._history.loaded:
            self.empty.setText(tr("No matching connections") if every else tr("No connections yet"))
        sent, received = (wording.size(count) for count in total(shown))
        count = tr("1 connection") if len(shown) == 1 else tr("{count} connections", count=number(len(shown)))
        data = tr("{sent} sent, {received} received", sent=sent, received=received)
        text = tr("{connections}: {data}", connections=count, data=data)
        self.sum.setText(text)
        self.sum.setVisible(bool(shown))
        self.clear.setEnabled(bool(every))

    @Slot(str)
    def _explain(self, problem: str) -> None:
        self.sum.setText(problem)
        self.sum.show()

    @Slot()
    def _clear(self) -> None:
        question = tr("The list of connections will be deleted. Connections that are open will be listed again when they end.")
        if confirm(self, tr("Delete the List of Connections?"), question, tr("Delete")):
            self._history.clear()
