"""A scroll area that follows the end of its content until the reader scrolls away."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

NEAR_END = 24  # pixels


class FollowingScrollArea(QScrollArea):
    """Scrolls vertically. `following` becomes true again when the reader returns to the end."""

    follow_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.following = True
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Always there, if mostly invisible: a bar that comes and goes would move the column.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        bar = self.verticalScrollBar()
        bar.setSingleStep(24)
        bar.setEnabled(False)
        bar.rangeChanged.connect(self._range_changed)
        bar.valueChanged.connect(self._scrolled)

    @Slot()
    def follow(self) -> None:
        """Go to the end and stay there."""
        self._set_following(True)
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def stop_following(self) -> None:
        self._set_following(False)

    @Slot(int, int)
    def _range_changed(self, low: int, high: int) -> None:
        self.verticalScrollBar().setEnabled(high > low)  # a disabled bar is not drawn
        if self.following:
            self.verticalScrollBar().setValue(high)

    @Slot(int)
    def _scrolled(self, value: int) -> None:
        self._set_following(value >= self.verticalScrollBar().maximum() - NEAR_END)

    def _set_following(self, following: bool) -> None:
        if following != self.following:
            self.following = following
            self.follow_changed.emit(following)
