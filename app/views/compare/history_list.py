"""The list of earlier comparisons."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QComboBox, QListWidget, QListWidgetItem, QWidget

from app.session.compare_run import ComparisonHistory
from app.storage.comparison_record import ComparisonRecord, row_names, short_verdict
from app.text.dates import date_and_time, short_date
from app.text.language import number, tr
from app.widgets.controls import as_tooltip, small_label
from app.widgets.layout import column
from app.widgets.rows import Index, Row, RowDelegate
from app.widgets.theme import SMALL, Theme, set_look

HISTORY_WIDTH = 250


class HistoryList(QWidget):
    """A list of earlier comparisons, filtered by pair. Delete removes one."""

    chosen = Signal(object)  # ComparisonRecord

    def __init__(self, theme: Theme, history: ComparisonHistory, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._history = history
        self.setFixedWidth(HISTORY_WIDTH)
        self.pairs = QComboBox()
        self.pairs.setAccessibleName(tr("Filter by pair"))
        theme.set_font(self.pairs, SMALL)
        self.pairs.addItem(tr("All pairs"))
        self.pairs.currentIndexChanged.connect(self._fill)
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Earlier comparisons"))
        self.list.setItemDelegate(RowDelegate(theme, self.list, _describe, margin=0))
        self.list.currentItemChanged.connect(self._choose)
        self.list.itemClicked.connect(self._choose)
        for key in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete):
            QShortcut(QKeySequence(key), self.list, self._delete, context=Qt.ShortcutContext.WidgetShortcut)
        set_look(self.list, "history")
        self.empty = small_label(theme, tr("Your comparisons appear here."), "faint", wrap=True)
        column(self.pairs, self.empty, (self.list, 1), parent=self)
        history.changed.connect(self._refresh)
        history.read()

    @Slot()
    def _refresh(self) -> None:
        names = [tr("All pairs"), *sorted({record.pair for record in self._history.records})]
        if names != [self.pairs.itemText(index) for index in range(self.pairs.count())]:
            with QSignalBlocker(self.pairs):
                current = self.pairs.currentText()
                self.pairs.clear()
                self.pairs.addItems(names)
                self.pairs.setCurrentIndex(max(0, self.pairs.findText(current)))
        self._fill()

    @Slot()
    def _fill(self) -> None:
        pair = self.pairs.currentText() if self.pairs.currentIndex() > 0 else ""
        with QSignalBlocker(self.list):
            self.list.clear()
            for record in self._history.records:
                if pair in ("", record.pair):
                    date = date_and_time(record.created)
                    item = QListWidgetItem(" · ".join(filter(None, (_title(record), _fastest(record)))))
                    item.setData(Qt.ItemDataRole.AccessibleTextRole, ", ".join((item.text(), date, _prompt(record))))
                    item.setData(Qt.ItemDataRole.UserRole, record)
                    item.setToolTip(as_tooltip(f"{record.pair}\n{date}\n{record.prompt[:400]}"))
                    self.list.addItem(item)
            self.list.setCurrentRow(-1)
        self.list.setVisible(self.list.count() > 0)
        self.empty.setVisible(self.list.count() == 0)

    @Slot()
    def _choose(self) -> None:
        if (item := self.list.currentItem()) is not None:
            self.chosen.emit(item.data(Qt.ItemDataRole.UserRole))

    @Slot()
    def _delete(self) -> None:
        if (item := self.list.currentItem()) is not None:
            self._history.delete(item.data(Qt.ItemDataRole.UserRole))


def _title(record: ComparisonRecord) -> str:
    missing = tr("Together") if record.together else tr("Not measured")
    ratio = missing if record.ratio is None else f"{number(record.ratio, 1)}×"
    return f"{ratio} · {short_verdict(record.verdict)}"


def _fastest(record: ComparisonRecord) -> str:
    """Return the name of the fastest of several drafters, if it was measured."""
    if record.of_drafters and record.ratio is not None and (best := record.fastest) is not None:
        return row_names(record.rows)[record.rows.index(best)]
    return ""


def _prompt(record: ComparisonRecord) -> str:
    return " ".join(record.prompt[:200].split())


def _describe(index: Index) -> Row:
    record: ComparisonRecord = index.data(Qt.ItemDataRole.UserRole)
    fastest = _fastest(record)
    prompt = f" · {_prompt(record)}" if fastest else _prompt(record)
    return Row(_title(record), trailing=short_date(record.created), excerpt=("", fastest, prompt))
