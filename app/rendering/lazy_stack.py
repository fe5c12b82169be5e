"""A vertical stack that builds only the views near the visible area."""

from abc import abstractmethod
from bisect import bisect_right
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget

# Views are kept within this share of the visible height above and below the visible band.
KEPT_SHARE = 0.5
MAX_PASSES = 8


@dataclass(slots=True)
class StackEntry:
    """An entry of a stack. The height is the last measured one or an estimate."""

    height: int = 0
    gap: int = 0  # space above
    top: int = 0
    indent: int = 0
    view: QWidget | None = None
    measured: bool = False  # at the current width
    pinned: bool = False  # the view is never discarded
    deferred: bool = False  # takes no space until `show_next_deferred`


class LazyStack(QWidget):
    """A vertical stack of entries. Subclasses build the views.

    `show_band` sets the visible band. Before the first call, all entries are built.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.entries: list[StackEntry] = []
        self.total_height = 0
        self._width = -1
        self._band: tuple[int, int] | None = None
        self._tops: list[int] = []
        self._placed = 0  # number of leading entries in place

    # Qt's metaclass replaces ABCMeta, so only the type checker enforces these

    @abstractmethod
    def build(self, index: int) -> QWidget:
        """Return a new view for an entry."""

    @abstractmethod
    def guess_height(self, index: int, width: int) -> int:
        """Estimate the height of an entry without a view."""

    def set_count(self, count: int) -> None:
        """Add empty entries or remove entries at the end."""
        while len(self.entries) > count:
            self.remove(len(self.entries) - 1)
        while len(self.entries) < count:
            self.insert(len(self.entries), StackEntry())

    def insert(self, index: int, entry: StackEntry) -> None:
        self.entries.insert(index, entry)
        self._placed = min(self._placed, index)

    def remove(self, index: int) -> None:
        self.discard(index)
        del self.entries[index]
        self._placed = min(self._placed, index)

    def changed(self, index: int) -> None:
        """Measure an entry again after its content has changed."""
        self.entries[index].measured = False
        self._placed = min(self._placed, index)

    def show_next_deferred(self) -> bool:
        """Show the first deferred entry. Return whether others remain."""
        deferred = [index for index, entry in enumerate(self.entries) if entry.deferred]
        if deferred:
            self.entries[deferred[0]].deferred = False
            self.changed(deferred[0])
        return len(deferred) > 1

    def discard(self, index: int) -> None:
        """Delete the view of an entry until it is needed again."""
        entry = self.entries[index]
        if entry.view is not None:
            self._keep_focus(entry.view)
            entry.view.hide()
            entry.view.deleteLater()
            entry.view = None

    def fit(self, width: int) -> int:
        """Lay out at a width, and return the height."""
        if width != self._width:
            self._width = width
            for entry in self.entries:
                entry.measured = False
            self._placed = 0
        if self._band is None:
            self._build(0, len(self.entries))
        self._place()
        return self.total_height

    def show_band(self, top: int, bottom: int) -> bool:
        """Build the views from `top` to `bottom`. Return whether heights changed."""
        self._band = (top, bottom)
        if self._width <= 0:
            return False
        before, changed = self.total_height, False
        self._place()
        for _ in range(MAX_PASSES):  # a view that is shorter than estimated makes room for the next
            if not self._build(*self._between(top, bottom)):
                break
            changed = True
            self._place()
        changed = self._show_nested_bands(top, bottom) or changed
        reach = int((bottom - top) * KEPT_SHARE)
        first, last = self._between(top - reach, bottom + reach)
        for index, entry in enumerate(self.entries):
            if entry.view is not None and not entry.pinned and not first <= index < last:
                self.discard(index)
        return changed or self.total_height != before

    def index_at(self, y: int) -> int | None:
        """Return the index of the entry nearest to a y coordinate, or None if empty."""
        if not self.entries:
            return None
        self._place()
        return max(0, bisect_right(self._tops, y) - 1)

    def _between(self, top: int, bottom: int) -> tuple[int, int]:
        return max(0, bisect_right(self._tops, top) - 1), min(bisect_right(self._tops, bottom), len(self.entries))

    def _build(self, first: int, last: int) -> bool:
        built = False
        for index in range(first, last):
            entry = self.entries[index]
            if entry.view is None and not entry.deferred:
                entry.view = self.build(index)
                entry.view.setParent(self)
                entry.view.setVisible(True)
                self.changed(index)
                built = True
        return built

    def _show_nested_bands(self, top: int, bottom: int) -> bool:
        """Pass the band to nested stacks. Return whether heights changed."""
        changed = False
        for index in range(*self._between(top, bottom)):
            entry = self.entries[index]
            show_band = getattr(entry.view, "show_band", None)
            if show_band is not None and show_band(top - entry.top, bottom - entry.top):
                self.changed(index)
                changed = True
        if changed:
            self._place()
        return changed

    def _keep_focus(self, view: QWidget) -> None:
        """Move the focus from a deleted view to an ancestor, not to the next button."""
        focus = QApplication.focusWidget()
        if focus is not None and (focus is view or view.isAncestorOf(focus)):
            above: QWidget | None = self
            while above is not None and above.focusPolicy() == Qt.FocusPolicy.NoFocus:
                above = above.parentWidget()
            if above is not None:
                above.setFocus(Qt.FocusReason.OtherFocusReason)

    def _place(self) -> None:
        """Lay out the entries that have changed and those below them."""
        if self._width <= 0 or (self._placed >= len(self.entries) == len(self._tops)):
            return
        y = 0
        if self._placed:
            above = self.entries[self._placed - 1]
            y = above.top + (0 if above.deferred else above.height)
        del self._tops[self._placed :]
        for index in range(self._placed, len(self.entries)):
            entry = self.entries[index]
            y += entry.gap if index and not entry.deferred else 0
            entry.top = y
            self._tops.append(y)
            if entry.deferred:
                continue
            width = self._width - entry.indent
            if not entry.measured:
                entry.height = _measure(entry.view, width) if entry.view is not None else self.guess_height(index, width)
                entry.measured = True
            if entry.view is not None:
                entry.view.setGeometry(entry.indent, y, width, entry.height)
                if (layout := entry.view.layout()) is not None:
                    layout.activate()
            y += entry.height
        self._placed = len(self.entries)
        self.total_height = y


def _measure(view: QWidget, width: int) -> int:
    if hasattr(view, "fit"):
        return int(view.fit(width))
    if (layout := view.layout()) is not None:
        layout.activate()  # updates the heights of nested layouts
    height = view.heightForWidth(width) if view.hasHeightForWidth() else -1
    return height if height >= 0 else view.sizeHint().height()
