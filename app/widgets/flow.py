"""A row of widgets that wraps."""

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class Flow(QLayout):
    """Continues on the next line when a line is full.

    Args:
        gap: pixels between widgets.
        stacked: one widget per line.
        right: align lines to the right.
    """

    def __init__(self, parent: QWidget | None = None, gap: int = 8, stacked: bool = False, right: bool = False) -> None:
        super().__init__(parent)
        self._right = right
        self._stacked = stacked
        self._items: list[QLayoutItem] = []
        self._gap = gap
        self._heights: dict[int, int] = {}  # by width, since Qt asks repeatedly
        self._minimum: QSize | None = None
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

    def invalidate(self) -> None:
        self._heights.clear()
        self._minimum = None
        super().invalidate()

    def heightForWidth(self, width: int) -> int:
        if width not in self._heights:
            self._heights[width] = self._place(QRect(0, 0, width, 0), move=False)
        return self._heights[width]

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._place(rect, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        if self._minimum is None:
            self._minimum = self._measure()
        return self._minimum

    def _measure(self) -> QSize:
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
