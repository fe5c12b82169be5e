"""The command palette: every command of the menus, every chat, every preset, found by a few letters, by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QAction, QColor, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import QDialog, QLineEdit, QListView, QMenu, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QVBoxLayout

from app.language import tr
from app.widgets.theme import Theme, set_look
from app.window.fuzzy_match import rank

if TYPE_CHECKING:
    from app.window.main_window import MainWindow

MOST_SHOWN = 60
ROWS = 9
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class Choice:
    """One row. `where` says what it is: a menu's name, or "Chat"; `keys` is its shortcut as the system writes it."""

    text: str
    where: str
    do: Callable[[], object]
    keys: str = ""


class Palette(QDialog):
    """Opened anew each time; closes itself before it does what was chosen."""

    def __init__(self, theme: Theme, choices: list[Choice], parent: MainWindow | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Dialog | Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setWindowTitle(tr("Command Palette"))
        self.setAccessibleName(tr("Command palette"))
        self.setModal(True)
        set_look(self, "palette")
        self._choices = choices
        self.field = QLineEdit()
        set_look(self.field, "palette")
        theme.set_font(self.field, 1.07)
        self.field.setPlaceholderText(tr("Search commands, chats and presets"))
        self.field.setAccessibleName(tr("Search commands, chats and presets"))
        self.field.installEventFilter(self)
        self.model = _Choices()
        self.list = QListView()
        self.list.setModel(self.model)
        self.list.setItemDelegate(_Row(theme, self.list))
        self.list.setAccessibleName(tr("Commands"))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setFrameShape(QListView.Shape.NoFrame)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setMouseTracking(True)
        self.list.clicked.connect(self._choose)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(6)
        layout.addWidget(self.field)
        layout.addWidget(self.list, 1)
        self.field.textChanged.connect(self._narrow)
        self._narrow("")
        room = parent.size() if parent is not None else QSize(720, 560)
        self.resize(min(580, room.width() - 32), min(theme.row_height() * ROWS + 70, room.height() - 80))
        if parent is not None:
            self.move(parent.mapToGlobal(parent.rect().topLeft()).x() + (room.width() - self.width()) // 2, 0)
            self.move(self.x(), parent.mapToGlobal(parent.rect().topLeft()).y() + 56)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrows move in the list while the letters go on into the field."""
        if watched is self.field and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: ROWS, Qt.Key.Key_PageUp: -ROWS}
            key = Qt.Key(event.key())
            if key in steps:
                self._step(steps[key])
                return True
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._choose(self.list.currentIndex())
                return True
        return super().eventFilter(watched, event)

    @property
    def shown(self) -> list[Choice]:
        """The rows as they stand."""
        return self.model.choices

    @Slot(str)
    def _narrow(self, words: str) -> None:
        found = rank(words, self._choices, lambda choice: f"{choice.text} {choice.where}")
        self.model.show_choices(found[:MOST_SHOWN])
        self.list.setCurrentIndex(self.model.index(0, 0))
        self.list.scrollToTop()

    def _step(self, step: int) -> None:
        count = self.model.rowCount()
        if count:
            row = self.list.currentIndex().row() + step
            row = row % count if abs(step) == 1 else min(max(row, 0), count - 1)
            self.list.setCurrentIndex(self.model.index(row, 0))

    @Slot(QModelIndex)
    def _choose(self, index: QModelIndex) -> None:
        if index.isValid():
            choice = self.model.choices[index.row()]
            self.accept()
            choice.do()


def choices_of(window: MainWindow) -> list[Choice]:
    """Every command that can be done now, then chats, the newest first, then presets."""
    found: list[Choice] = []
    for action in window.menuBar().actions():
        menu = action.menu()
        if isinstance(menu, QMenu):
            found += _commands(menu, _plain(action.text()))
    library, conductor = window.conductor.library, window.conductor
    for entry in sorted(library.entries.values(), key=lambda entry: -entry.changed):
        found.append(Choice(entry.title, tr("Chat"), partial(conductor.open_chat, entry.id)))
    for preset in library.presets:
        found.append(Choice(preset.name, tr("Preset"), partial(conductor.apply_preset, preset)))
    return found


def _commands(menu: QMenu, where: str) -> list[Choice]:
    menu.aboutToShow.emit()  # some are filled only then
    found: list[Choice] = []
    for action in menu.actions():
        inner = action.menu()
        if isinstance(inner, QMenu):
            found += _commands(inner, f"{where} ▸ {_plain(inner.title())}") if action.isEnabled() else []
        elif action.isEnabled() and action.isVisible() and not action.isSeparator() and action.property("palette") is not False:
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            found.append(Choice(_plain(action.text()), where, partial(_trigger, action), keys))
    return found


def _trigger(action: QAction) -> None:
    action.trigger()


def _plain(text: str) -> str:
    """Without the mark of its key: "&File" is "File", "&&" is "&"."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&")


class _Choices(QAbstractListModel):
    def __init__(self) -> None:
        super().__init__()
        self.choices: list[Choice] = []

    def show_choices(self, choices: list[Choice]) -> None:
        self.beginResetModel()
        self.choices = choices
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self.choices)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        choice = self.choices[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return choice.text
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(part for part in (choice.text, choice.where, choice.keys) if part)
        return None


class _Row(QStyledItemDelegate):
    """The text at the left, what it is after it, the shortcut at the right."""

    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self._theme = theme
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, self._theme.row_height() + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        colors = self._theme.colors
        model = self._view.model()
        assert isinstance(model, _Choices)
        choice = model.choices[index.row()]
        area = QRectF(option.rect).adjusted(2, 1, -2, -1)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected) or index.row() == self._view.currentIndex().row()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(QColor(colors.accent) if chosen else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colors.chosen if chosen else colors.hover))
            painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), 7, 7)
        inner = area.adjusted(10, 0, -10, 0)
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setFont(self._theme.small())
        painter.setPen(QColor(colors.secondary))
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignRight, choice.keys or choice.where)
        inner.setRight(inner.right() - painter.fontMetrics().horizontalAdvance(choice.keys or choice.where) - 12)
        painter.setFont(self._theme.list_font())
        painter.setPen(QColor(colors.text))
        text = painter.fontMetrics().elidedText(choice.text, Qt.TextElideMode.ElideRight, int(inner.width()))
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignLeft, text)
        painter.restore()
