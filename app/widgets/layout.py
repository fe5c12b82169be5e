"""Layouts: rows, columns, wrapping rows, forms, sheets, and notices."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Literal, TypeVar

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QBoxLayout,
    QComboBox,
    QDialog,
    QFrame,
    QHBoxLayout,
    QLayout,
    QLayoutItem,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.text.language import tr
from app.widgets.controls import ICON_SIZE, Label, button, icon_of, small_label
from app.widgets.theme import SMALL, Theme, set_look

FORM_SPACING = 14  # between rows
LABEL_GAP = 16  # between a label and its field
MIN_LIST_WIDTH = 120
LEAST_LINES = 14  # of a scrolling page, unless it is shorter
SCREEN_SHARE = 0.85  # of the screen that a dialog covers at most
EVEN_STEP = 8  # pixels by which lines are narrowed
WRAPPING_TEXT = 22  # pixels; from this text size, fields go below their labels

# A widget or layout, optionally with a stretch factor and alignment, a space in pixels, or None for a flexible space.
Item = QWidget | QLayout | int | None | tuple[QWidget | QLayout, int] | tuple[QWidget, int, Qt.AlignmentFlag]
Margins = tuple[int, int, int, int]  # left, top, right, bottom
Box = TypeVar("Box", bound=QBoxLayout)


def row(*items: Item, spacing: int = 8, margins: Margins = (0, 0, 0, 0), parent: QWidget | None = None) -> QHBoxLayout:
    """Lay out items from left to right, in `parent` if given."""
    return _fill(QHBoxLayout() if parent is None else QHBoxLayout(parent), items, spacing, margins)


def column(*items: Item, spacing: int = 8, margins: Margins = (0, 0, 0, 0), parent: QWidget | None = None) -> QVBoxLayout:
    """Lay out items from top to bottom, in `parent` if given."""
    return _fill(QVBoxLayout() if parent is None else QVBoxLayout(parent), items, spacing, margins)


def _fill(layout: Box, items: tuple[Item, ...], spacing: int, margins: Margins) -> Box:
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
    return layout


class Flow(QLayout):
    """A layout that wraps widgets to the next line when a line is full.

    Args:
        gap: pixels between widgets.
        stacked: whether each widget has its own line.
        right: whether to align lines to the right.
        even: whether to make lines similarly wide, so that no widget is alone in the last one.
    """

    def __init__(
        self, parent: QWidget | None = None, gap: int = 8, stacked: bool = False, right: bool = False, even: bool = False
    ) -> None:
        super().__init__(parent)
        self._right, self._even = right, even
        self._stacked = stacked
        self._items: list[QLayoutItem] = []
        self._gap = gap
        self._heights: dict[int, int] = {}  # by width, since Qt asks repeatedly
        self._minimum: QSize | None = None
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def insertWidget(self, index: int, widget: QWidget) -> None:
        self.addWidget(widget)
        self._items.insert(index, self._items.pop())

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
            sizes = [item.minimumSize() for item in self._items if not item.isEmpty()]
            widest = min(max((size.width() for size in sizes), default=0), 200)
            self._minimum = QSize(widest, max((size.height() for size in sizes), default=0))
        return self._minimum

    def _place(self, rect: QRect, move: bool) -> int:
        lines = self._lines(rect.width())
        if self._even and len(lines) > 1:
            widest = max(size.width() for line in lines for _, size in line)
            narrower = map(self._lines, range(rect.width(), widest - 1, -EVEN_STEP))
            *_, lines = takewhile(lambda found: len(found) == len(lines), narrower)
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

    def _lines(self, width: int) -> list[list[tuple[QLayoutItem, QSize]]]:
        """Return the items of each line with their sizes."""
        lines: list[list[tuple[QLayoutItem, QSize]]] = [[]]
        x = 0
        for item in self._items:
            if item.isEmpty():
                continue
            size = item.sizeHint()
            if lines[-1] and (self._stacked or x + size.width() > width):
                lines.append([])
                x = 0
            if size.width() > width:
                size = QSize(width, item.heightForWidth(width) if item.hasHeightForWidth() else size.height())
            lines[-1].append((item, size))
            x += size.width() + self._gap
        return lines


def flow(*widgets: QWidget, gap: int = 8, even: bool = False) -> Flow:
    """Lay out widgets in lines that wrap."""
    layout = Flow(gap=gap, even=even)
    for widget in widgets:
        layout.addWidget(widget)
    return layout


def line(look: str = "hairline") -> QFrame:
    """Return a horizontal ("hairline") or vertical ("upright") separator."""
    made = QFrame()
    set_look(made, look)
    return made


class ScrollingPage(QScrollArea):
    """A page that scrolls vertically, with a minimum width of `least` pixels."""

    def __init__(self, content: QWidget | QLayout, least: int = 0) -> None:
        super().__init__()
        self._least = least
        self.page = content if isinstance(content, QWidget) else QWidget()
        if isinstance(content, QLayout):
            self.page.setLayout(content)
        self.setWidget(self.page)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def sizeHint(self) -> QSize:
        page, bar = self.page, self.verticalScrollBar().sizeHint().width()
        width = max(page.sizeHint().width(), self._least - bar)
        return QSize(width + bar, page.heightForWidth(width) if page.hasHeightForWidth() else page.sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        content = self.page.minimumSizeHint().width() + self.verticalScrollBar().sizeHint().width()
        height = min(self.sizeHint().height(), LEAST_LINES * self.fontMetrics().lineSpacing())
        return QSize(max(content, self._least), height)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Qt has measured texts that wrap at their old width, and would cut them off.
        QApplication.postEvent(self.page, QEvent(QEvent.Type.LayoutRequest))

    def show_end(self) -> None:
        """Scroll to the end once the layout has settled."""
        QTimer.singleShot(0, self, lambda: self.verticalScrollBar().setValue(self.verticalScrollBar().maximum()))


def lay_out(dialog: QDialog, page: QWidget | QLayout, *footer: Item, width: int = 0, spacing: int = 8) -> ScrollingPage:
    """Lay out a dialog: a page that scrolls, `width` pixels or more, above a footer."""
    scrolling = ScrollingPage(page, width)
    column((scrolling, 1), line(), row(*footer, spacing=spacing, margins=(24, 12, 24, 14)), spacing=0, parent=dialog)
    return scrolling


def fit_content(dialog: QDialog, width: int = 0) -> None:
    """Size a dialog of at least `width` pixels so that it needs no scrolling."""
    for area in dialog.findChildren(ScrollingPage):
        area.ensurePolished()
        if (layout := area.page.layout()) is not None:
            layout.activate()  # leaves out rows that were hidden since
        area.updateGeometry()
    size = dialog.sizeHint().expandedTo(QSize(width, 0))
    dialog.resize(size.boundedTo(dialog.screen().availableSize() * SCREEN_SHARE))


class PageList(QListWidget):
    """A list of a window's pages. Add `side` to the window; call `fit` when filled."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        theme.set_font(self, SMALL)
        set_look(self, "history")
        self.ensurePolished()
        self.side = QWidget()
        set_look(self.side, "sidebar")
        self.side.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        column(self, margins=(8, 12, 8, 12), parent=self.side)
        self._theme = theme
        self._icons: list[tuple[QListWidgetItem, str]] = []
        theme.changed.connect(self._draw_icons)
        theme.text_resized.connect(self.fit)

    def add_page(self, name: str, icon: str) -> None:
        """Add a page with an icon from `ICONS`."""
        self._icons.append((QListWidgetItem(name, self), icon))
        self._draw_icons()

    @Slot()
    def _draw_icons(self) -> None:
        size = self._theme.scaled(ICON_SIZE)
        self.setIconSize(QSize(size, size))
        for item, icon in self._icons:
            item.setIcon(icon_of(icon, self._theme.colors.secondary, size))

    @Slot()
    def fit(self) -> None:
        self.side.setFixedWidth(max(MIN_LIST_WIDTH, self.sizeHintForColumn(0) + 28))


class Form(QVBoxLayout):
    """Rows with a label and a field. With large text, fields are below their labels."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows: list[tuple[QHBoxLayout, Label | None]] = []
        self._parts: dict[QWidget, list[QWidget]] = {}
        theme.text_resized.connect(self._follow_text_size)
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(FORM_SPACING)

    def add_row(
        self, label: str, field: QWidget, *extra: QWidget, below: Sequence[QWidget] = (), help: str = "", tip: str = ""
    ) -> None:
        """Add a field.

        Args:
            label: empty for a field with its own label, such as a check box.
            field: the control next to the label.
            extra: widgets to the right of the field.
            below: widgets below the field.
            help: a line below the field.
            tip: a tooltip.
        """
        natural = isinstance(field, QComboBox | QAbstractButton)
        one = row(field, *extra, None) if natural else row((field, 1), *extra, *[None] * isinstance(field, QAbstractSpinBox))
        if help:
            below = (*below, small_label(self._theme, help, "secondary", wrap=True))
        lines: list[Item] = [one, *below]
        field.setAccessibleDescription(help or tip)
        field.setToolTip(tip)
        whole = row((column(*lines, spacing=4), 1))
        name = None
        if label:
            field.setAccessibleName(label)
            name = small_label(self._theme, label, bold=True)
            name.setBuddy(field)
            name.setToolTip(tip)
            whole.insertWidget(0, name, 0, Qt.AlignmentFlag.AlignTop)
        self._rows.append((whole, name))
        self._parts[field] = [field, *extra, *below, *([name] if name is not None else [])]
        self.addLayout(whole)
        self._place_labels()

    def show_row(self, field: QWidget, shown: bool) -> None:
        for part in self._parts[field]:
            part.setVisible(shown)

    @Slot()
    def _follow_text_size(self) -> None:  # a slot that a subclass overrides would stay connected after the form is deleted
        self._place_labels()

    def _place_labels(self) -> None:
        """Center each label on its field, not on the field and the help below."""
        above = self._theme.text_pixels >= WRAPPING_TEXT
        width = max((name.sizeHint().width() for _, name in self._rows if name is not None), default=0)
        for whole, name in self._rows:
            whole.setDirection(QBoxLayout.Direction.TopToBottom if above else QBoxLayout.Direction.LeftToRight)
            whole.setSpacing(4 if above else LABEL_GAP)
            if name is None:
                whole.setContentsMargins(0 if above or not width else width + LABEL_GAP, 0, 0, 0)
                continue
            name.buddy().ensurePolished()
            height = name.sizeHint().height()
            name.setFixedSize(width, height if above else max(height, name.buddy().sizeHint().height()))


class NoticeView(QFrame):
    """A message with buttons below."""

    help_requested = Signal(str)  # page and heading

    def __init__(self, text: str, kind: Literal["info", "error"] = "info", page: str = "") -> None:
        super().__init__()
        self.label = Label()
        self.label.setWordWrap(True)
        self.label.setMinimumWidth(120)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.set_kind(kind)
        self._page = ""
        self.help = button(tr("Learn More"), tr("Open Help about this problem"), "bordered", self._show_help)
        self._buttons = flow(self.help)
        column(self.label, self._buttons, margins=(16, 11, 16, 11), parent=self)
        self.show_text(text, page)

    def set_kind(self, kind: Literal["info", "error"]) -> None:
        error = kind == "error"
        set_look(self, "error" if error else "notice")
        self.label.setAccessibleName(tr("Error") if error else tr("Note"))
        set_look(self.label, "danger" if error else "secondary")

    def show_text(self, text: str, page: str = "") -> None:
        """Show a text, and a button for the page of Help about it if there is one."""
        self.label.setText(text)
        self._page = page
        self.help.setVisible(bool(page))

    @Slot()
    def _show_help(self) -> None:
        self.help_requested.emit(self._page)

    def add_button(self, made: QPushButton) -> None:
        self._buttons.removeWidget(self.help)
        self._buttons.addWidget(made)
        self._buttons.addWidget(self.help)  # the last one
        self.setTabOrder(made, self.help)
