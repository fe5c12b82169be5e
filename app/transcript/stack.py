"""A column of views of which only those near the reader exist."""

from abc import abstractmethod
from bisect import bisect_right
from dataclasses import dataclass

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QApplication, QWidget

# Beyond the band that is to be shown, what has been built stays for this much of the band's height.
KEEP = 0.5


@dataclass(slots=True)
class Entry:
    """One row of a stack. Its height is measured while it has a view, the last one known or a guess while it has none."""

    height: int = 0
    gap: int = 0
    top: int = 0
    indent: int = 0
    view: QWidget | None = None
    sure: bool = False  # the height was measured at the present width
    pinned: bool = False
    waits: bool = False  # it is shown a moment later; until then it takes no room


class Stack(QWidget):
    """Lays out entries below each other. Who uses it says how an entry is built and how high it may be; `show_band` says which
    stretch is in sight. Until it is first called, everything is built.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.entries: list[Entry] = []
        self.total = 0
        self._width = -1
        self._band: tuple[int, int] | None = None
        self._tops: list[int] = []
        self._valid = 0  # entries before this one are in their places

    # What a kind of stack defines. Qt's classes have a metaclass of their own, so that only the type checker enforces it

    @abstractmethod
    def build(self, index: int) -> QWidget:
        """Make the view of an entry."""

    @abstractmethod
    def guess(self, index: int, width: int) -> int:
        """How high an entry may be that has no view."""

    def drop(self, index: int) -> None:
        """The view of an entry is about to go."""

    # What others do with it

    def set_count(self, count: int, gap: int = 0) -> None:
        """Have this many entries; new ones are empty, superfluous ones go."""
        for index in range(len(self.entries) - 1, count - 1, -1):
            self.remove(index)
        while len(self.entries) < count:
            self.insert(len(self.entries), Entry(gap=gap))

    def insert(self, index: int, entry: Entry) -> None:
        """Put an entry before number `index`."""
        self.entries.insert(index, entry)
        self._valid = min(self._valid, index)

    def remove(self, index: int) -> None:
        """Take an entry out."""
        self._forget(index)
        del self.entries[index]
        self._valid = min(self._valid, index)

    def changed(self, index: int) -> None:
        """What an entry shows has changed, and perhaps its height."""
        self.entries[index].sure = False
        self._valid = min(self._valid, index)

    def show_next(self) -> bool:
        """Let the first entry that waits appear; whether others still wait."""
        waiting = [index for index, entry in enumerate(self.entries) if entry.waits]
        for index in waiting[:1]:
            self.entries[index].waits = False
            self.changed(index)
        return len(waiting) > 1

    def let_go(self, index: int) -> None:
        """Let the view of an entry go; it is built anew when it is in sight."""
        self._forget(index)
        self.changed(index)

    def measure_anew(self) -> None:
        """Nothing has the height that it had."""
        for index in range(len(self.entries)):
            self.entries[index].height = 0
            self.changed(index)

    def fit(self, width: int) -> int:
        """Put everything in its place at this width; the height of it all."""
        if width != self._width:
            self._width = width
            for entry in self.entries:
                entry.sure = False
            self._valid = 0
        if self._band is None:
            self._build(0, len(self.entries))
        self._place()
        return self.total

    def show_band(self, top: int, bottom: int) -> bool:
        """Build what lies between these two heights and let go what is far from them; whether heights changed on the way."""
        self._band = (top, bottom)
        if self._width <= 0:
            return False
        before = self.total
        moved = False
        for _ in range(8):  # what is built may turn out lower than thought, and make room for more
            self._place()
            first, last = self._between(top, bottom)
            if not self._build(first, last):
                break
            moved = True
        moved = self._show_inner(top, bottom) or moved
        reach = int((bottom - top) * KEEP)
        first, last = self._between(top - reach, bottom + reach)
        for index, entry in enumerate(self.entries):
            if entry.view is not None and not entry.pinned and not first <= index < last:
                self._forget(index)
        return moved or self.total != before

    def index_at(self, y: int) -> int | None:
        """The entry at a height, or the nearest; None where there are none."""
        if not self.entries:
            return None
        self._place()
        return max(0, bisect_right(self._tops, y) - 1)

    # Inside

    def _between(self, top: int, bottom: int) -> tuple[int, int]:
        first = max(0, bisect_right(self._tops, top) - 1)
        last = bisect_right(self._tops, bottom)
        return first, last

    def _build(self, first: int, last: int) -> bool:
        built = False
        for index in range(first, min(last, len(self.entries))):
            entry = self.entries[index]
            if entry.view is None and not entry.waits:
                entry.view = self.build(index)
                entry.view.setParent(self)
                entry.view.setVisible(True)
                entry.sure = False
                self._valid = min(self._valid, index)
                built = True
        return built

    def _show_inner(self, top: int, bottom: int) -> bool:
        """Hand the band on to entries that are stacks themselves."""
        moved = False
        first, last = self._between(top, bottom)
        for index in range(first, min(last, len(self.entries))):
            entry = self.entries[index]
            show = getattr(entry.view, "show_band", None)
            if show is not None and show(top - entry.top, bottom - entry.top):
                self.changed(index)
                moved = True
        if moved:
            self._place()
        return moved

    def _forget(self, index: int) -> None:
        entry = self.entries[index]
        if entry.view is not None:
            self._keep_focus(entry.view)
            self.drop(index)
            entry.view.hide()
            entry.view.deleteLater()
            entry.view = None

    def _keep_focus(self, view: QWidget) -> None:
        """The focus must not go on to the next button, or the scroll area would go there too."""
        focus = QApplication.focusWidget()
        if focus is not None and (focus is view or view.isAncestorOf(focus)):
            above: QWidget | None = self
            while above is not None and above.focusPolicy() == Qt.FocusPolicy.NoFocus:
                above = above.parentWidget()
            if above is not None:
                above.setFocus(Qt.FocusReason.OtherFocusReason)

    def _place(self) -> None:
        if self._width <= 0 or (self._valid >= len(self.entries) == len(self._tops)):
            return
        start = self._valid
        y = self._end_of(start - 1) if start else 0
        del self._tops[start:]
        for index in range(start, len(self.entries)):
            entry = self.entries[index]
            if entry.waits:
                entry.top = y
                self._tops.append(y)
                continue
            y += entry.gap if index else 0
            width = self._width - entry.indent
            if not entry.sure:
                entry.height = self._measure(entry.view, width) if entry.view is not None else self.guess(index, width)
                entry.sure = True
            entry.top = y
            self._tops.append(y)
            if entry.view is not None:
                rect = QRect(entry.indent, y, width, entry.height)
                if entry.view.geometry() != rect:
                    entry.view.setGeometry(rect)
                if (layout := entry.view.layout()) is not None:
                    layout.activate()
            y += entry.height
        self._valid = len(self.entries)
        self.total = y

    def _end_of(self, index: int) -> int:
        entry = self.entries[index]
        return entry.top if entry.waits else entry.top + entry.height

    @staticmethod
    def _measure(view: QWidget, width: int) -> int:
        fit = getattr(view, "fit", None)
        if fit is not None:
            return int(fit(width))
        if (layout := view.layout()) is not None:
            layout.activate()  # layouts within layouts keep old heights until then
        height = view.heightForWidth(width) if view.hasHeightForWidth() else -1
        return height if height >= 0 else view.sizeHint().height()
