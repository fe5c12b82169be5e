"""Comparisons that were made before, by pair."""

import time

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from app.compare.comparison_history import ComparisonHistory
from app.conversations import wording
from app.conversations.comparison_record import ComparisonRecord, short_verdict
from app.language import tr
from app.widgets.label import Label, as_tooltip
from app.widgets.theme import SMALL, Theme, set_look

WIDTH = 230


def _every_pair() -> str:
    return tr("All pairs")


class CompareHistory(QWidget):
    """A list of one pair's comparisons, or of all; Backspace or Delete forgets the one that is chosen."""

    chosen = Signal(object)  # ComparisonRecord

    def __init__(self, theme: Theme, history: ComparisonHistory, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._history = history
        self.setFixedWidth(WIDTH)
        self.pairs = QComboBox()
        self.pairs.setAccessibleName(tr("Comparisons of this pair"))
        theme.set_font(self.pairs, SMALL)
        self.pairs.addItem(_every_pair())
        self.pairs.currentIndexChanged.connect(self._fill)
        self.list = _List()
        self.list.setAccessibleName(tr("Earlier comparisons"))
        theme.set_font(self.list, SMALL)
        self.list.setWordWrap(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.currentItemChanged.connect(self._choose)
        self.list.itemClicked.connect(self._choose)
        self.list.forget.connect(self._forget)
        set_look(self.list, "history")
        self.empty = Label(tr("What you compare is listed here."))
        self.empty.setWordWrap(True)
        theme.set_font(self.empty, SMALL)
        set_look(self.empty, "faint")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.pairs)
        layout.addWidget(self.empty)
        layout.addWidget(self.list, 1)
        history.changed.connect(self._refresh)
        history.read()

    @Slot()
    def _refresh(self) -> None:
        names = [_every_pair(), *sorted({record.pair for record in self._history.records})]
        if names != [self.pairs.itemText(index) for index in range(self.pairs.count())]:
            now = self.pairs.currentText()
            self.pairs.blockSignals(True)
            self.pairs.clear()
            self.pairs.addItems(names)
            self.pairs.setCurrentIndex(max(0, self.pairs.findText(now)))
            self.pairs.blockSignals(False)
        self._fill()

    @Slot()
    def _fill(self) -> None:
        pair = self.pairs.currentText()
        self.list.blockSignals(True)
        self.list.clear()
        for record in self._history.records:
            if pair in (_every_pair(), record.pair):
                item = QListWidgetItem(_words(record))
                item.setData(Qt.ItemDataRole.UserRole, record)
                item.setToolTip(as_tooltip(f"{record.pair}\n{record.prompt[:400]}"))
                self.list.addItem(item)
        self.list.setCurrentRow(-1)
        self.list.blockSignals(False)
        self.list.setVisible(self.list.count() > 0)
        self.empty.setVisible(self.list.count() == 0)

    @Slot()
    def _choose(self) -> None:
        if (item := self.list.currentItem()) is not None:
            self.chosen.emit(item.data(Qt.ItemDataRole.UserRole))

    @Slot()
    def _forget(self) -> None:
        if (item := self.list.currentItem()) is not None:
            self._history.delete(item.data(Qt.ItemDataRole.UserRole))


class _List(QListWidget):
    forget = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete):
            self.forget.emit()
        else:
            super().keyPressEvent(event)


def _words(record: ComparisonRecord) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.created))
    ratio = tr("no ratio") if record.ratio is None else f"× {wording.number(record.ratio, 1)}"
    prompt = " ".join(record.prompt[:200].split())
    return f"{ratio} · {short_verdict(record.verdict)}\n{prompt[:60]}{'…' if len(prompt) > 60 else ''}\n{when}"
