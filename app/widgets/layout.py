"""Rows and columns of widgets, written as one expression."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

# A widget or layout, also with its stretch factor and alignment; a number is an empty space in pixels and None a flexible one.
Item = QWidget | QLayout | int | None | tuple[QWidget | QLayout, int] | tuple[QWidget, int, Qt.AlignmentFlag]
Margins = tuple[int, int, int, int]  # left, top, right, bottom


def row(*items: Item, spacing: int = 8, margins: Margins = (0, 0, 0, 0), parent: QWidget | None = None) -> QHBoxLayout:
    """Lay out items from left to right, as the layout of `parent` if one is given."""
    layout = QHBoxLayout() if parent is None else QHBoxLayout(parent)
    _fill(layout, items, spacing, margins)
    return layout


def column(*items: Item, spacing: int = 8, margins: Margins = (0, 0, 0, 0), parent: QWidget | None = None) -> QVBoxLayout:
    """Lay out items from top to bottom, as the layout of `parent` if one is given."""
    layout = QVBoxLayout() if parent is None else QVBoxLayout(parent)
    _fill(layout, items, spacing, margins)
    return layout


def _fill(layout: QBoxLayout, items: tuple[Item, ...], spacing: int, margins: Margins) -> None:
    layout.setSpacing(spacing)
    layout.setContentsMargins(*margins)
    for item in items:
        if item is None:
            layout.addStretch(1)
        elif isinstance(item, int):
            layout.addSpacing(item)
        else:
            what, *rest = item if isinstance(item, tuple) else (item,)
            add: Callable[..., None] = layout.addLayout if isinstance(what, QLayout) else layout.addWidget
            add(what, *rest)
