"""The line beside each reply: how it was decoded, how fast, and why it ended."""

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Slot
from PySide6.QtWidgets import QLayout, QLayoutItem, QSizePolicy, QVBoxLayout, QWidget

from app.conversations import words
from app.conversations.reply import Reply
from app.language import tr
from app.views.button import button
from app.views.label import Label, as_tip
from app.views.stats_popover import StatsPopover
from app.views.theme import SMALL, Theme, look


class StatsLine(QWidget):
    """A chip for the mode, the figures after it (or below it, `stacked`), and under both whatever buttons are added, on a line of
    their own: figures differ in length, and buttons that followed them would break anywhere. Both lines wrap where the window is
    narrow."""

    def __init__(self, theme: Theme, stacked: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chip = Label()
        self.facts = Label()
        for label in (self.chip, self.facts):
            theme.set_font(label, SMALL)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        look(self.facts, "secondary")
        self.chip.setAccessibleName(tr("Mode"))
        self.facts.setAccessibleName(tr("Speed"))
        figures, self._actions = Flow(stacked=stacked), Flow(gap=2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(figures)
        layout.addLayout(self._actions)
        self._theme = theme
        self._stacked = stacked
        self._reply: Reply | None = None
        self.more = button(tr("Details"), tr("How this reply was decoded"))
        self.more.clicked.connect(self.show_details)
        self.more.hide()
        figures.addWidget(self.chip)
        figures.addWidget(self.facts)
        if not stacked:
            self._actions.addWidget(self.more)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def add(self, widget: QWidget) -> None:
        """Put a button under the figures."""
        self._actions.addWidget(widget)

    def show_reply(self, reply: Reply) -> None:
        """Show the figures of a reply as they are now."""
        self._reply = reply
        chip, facts = words.chip(reply, short=self._stacked), words.facts(reply, short=self._stacked)
        if chip != self.chip.text():
            self.chip.setText(chip)
            look(self.chip, "chip-accent" if chip.startswith("DFlash") else "chip")
        if facts != self.facts.text() or not facts:
            self.facts.setText(facts or " ")  # keeps its line, so that nothing jumps when the first figure comes
        if reply.stats:
            tip = as_tip(words.details(reply.stats))
            self.chip.setToolTip(tip)
            self.facts.setToolTip(tip)
        self.more.setVisible(not self._stacked and reply.stats is not None and not reply.running)

    @Slot()
    def show_details(self) -> None:
        """Open everything that was measured, with a chart of the rounds."""
        if self._reply is not None and self._reply.stats is not None:
            popover = StatsPopover(self._theme, self._reply.stats, self)
            popover.open_at(self.more.mapToGlobal(QPoint(0, 0)))


class Flow(QLayout):
    """Widgets in a row that continues on the next line where it is full, each line centred on its tallest."""

    def __init__(self, parent: QWidget | None = None, gap: int = 8, stacked: bool = False, right: bool = False) -> None:
        super().__init__(parent)
        self._right = right
        self._stacked = stacked
        self._items: list[QLayoutItem] = []
        self._gap = gap
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._place(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._place(rect, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        sizes = [item.minimumSize() for item in self._items if not item.isEmpty()]
        widest = min(max((size.width() for size in sizes), default=0), 200)
        return QSize(widest, max((size.height() for size in sizes), default=0))

    def _place(self, rect: QRect, move: bool) -> int:
        lines: list[list[tuple[QLayoutItem, QSize]]] = [[]]
        x = 0
        for item in self._items:
            if item.isEmpty():
                continue
            size = item.sizeHint()
            if lines[-1] and (self._stacked or x + size.width() > rect.width()):
                lines.append([])
                x = 0
            lines[-1].append((item, QSize(min(size.width(), rect.width()), size.height())))
            x += size.width() + self._gap
        y = rect.y()
        for line in lines:
            height = max((size.height() for _, size in line), default=0)
            rest = rect.width() - sum(size.width() for _, size in line) - self._gap * (len(line) - 1)
            x = rect.x() + (max(0, rest) if self._right else 0)
            for item, size in line:
                if move:
                    item.setGeometry(QRect(QPoint(x, y + (height - size.height()) // 2), size))
                x += size.width() + self._gap
            y += height + self._gap // 2
        return max(0, y - rect.y() - self._gap // 2)
