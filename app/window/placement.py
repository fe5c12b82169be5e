"""Keeps windows on a screen."""

from collections.abc import Sequence

from PySide6.QtCore import QRect

GRIP_WIDTH, GRIP_HEIGHT = 120, 24  # part of the top edge that must be on a screen, so that the window can be moved


def onto_screen(window: QRect, screens: Sequence[QRect]) -> QRect:
    """Return the geometry of a window, moved onto the nearest screen if it could not be moved where it is.

    Args:
        window: with its frame.
        screens: available geometry of each screen, the main one first.
    """
    if not screens:
        return window
    top = QRect(window.left(), window.top(), window.width(), GRIP_HEIGHT)
    for screen in screens:
        seen = top.intersected(screen)
        if seen.width() >= min(GRIP_WIDTH, window.width()) and seen.height() >= GRIP_HEIGHT:
            return window
    middle = window.center()

    def distance(screen: QRect) -> int:
        across = max(screen.left() - middle.x(), middle.x() - screen.right(), 0)
        return across + max(screen.top() - middle.y(), middle.y() - screen.bottom(), 0)

    screen = min(screens, key=distance)
    placed = QRect(window)
    placed.setSize(window.size().boundedTo(screen.size()))
    placed.moveLeft(min(max(window.left(), screen.left()), screen.left() + screen.width() - placed.width()))
    placed.moveTop(min(max(window.top(), screen.top()), screen.top() + screen.height() - placed.height()))
    return placed
