"""The list of earlier comparisons, by pair."""

import time

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QListWidget, QListWidgetItem, QWidget

from app.compare.comparison_history import ComparisonHistory
from app.conversations import wording
from app.conversations.comparison_record import ComparisonRecord, short_verdict
from app.language import tr
from app.widgets.controls import as_tooltip, small_label
from app.widgets.layout import column
from app.widgets.theme import SMALL, Theme, set_look

WIDTH = 230


class HistoryList(QWidget):
    """Comparisons of one pair or of all. Backspace or Delete deletes one."""

    chosen = Signal(object)  # ComparisonRecord

    def __init__(self, theme: Theme, history: ComparisonHistory, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._history = history
        self.setFixedWidth(WIDTH)
        self.pairs = QComboBox()
        self.pairs.setAccessibleName(tr("Filter by pair"))
        theme.set_font(self.pairs, SMALL)
        self.pairs.addItem(tr("All pairs"))
        self.pairs.currentIndexChanged.connect(self._fill)
        self.list = _List()
        self.list.setAccessibleName(tr("Earlier comparisons"))
        theme.set_font(self.list, SMALL)
        self.list.setWordWrap(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.currentItemChanged.connect(self._choose)
        self.list.itemClicked.connect(self._choose)
        self.list.delete_pressed.connect(self._delete)
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
                    item = QListWidgetItem(_summary(record))
                    item.setData(Qt.ItemDataRole.UserRole, record)
                    item.setToolTip(as_tooltip(f"{record.pair}\n{record.prompt[:400]}"))
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


class _List(QListWidget):
    delete_pressed = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete):
            self.delete_pressed.emit()
        else:
            super().keyPressEvent(event)


def _summary(record: ComparisonRecord) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.created))
    ratio = tr("not measured") if record.ratio is None else f"× {wording.number(record.ratio, 1)}"
    prompt = " ".join(record.prompt[:200].split())
    return f"{ratio} · {short_verdict(record.verdict)}\n{prompt[:60]}{'…' if len(prompt) > 60 else ''}\n{when}"
