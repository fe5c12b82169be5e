"""The command palette: finds commands of the menus, chats and presets by a few letters."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QAbstractListModel, QEvent, QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QListView,
    QMenu,
    QMenuBar,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.chat.conductor import Conductor
from app.language import tr
from app.widgets.theme import Theme, set_look
from app.window.fuzzy_match import rank

MAX_SHOWN = 60
ROWS = 9
IN_PALETTE = "in_palette"  # property of an action; False leaves it out
_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class PaletteCommand:
    """One row.

    Attributes:
        where: the name of its menu, "Chat" or "Preset".
        keys: its shortcut in the system's notation.
    """

    text: str
    where: str
    do: Callable[[], object]
    keys: str = ""


class Palette(QDialog):
    """Closes before it runs the chosen command."""

    def __init__(self, theme: Theme, commands: list[PaletteCommand], parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Dialog | Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setWindowTitle(tr("Command Palette"))
        self.setAccessibleName(tr("Command palette"))
        self.setModal(True)
        set_look(self, "palette")
        self._commands = commands
        self.field = QLineEdit()
        set_look(self.field, "palette")
        theme.set_font(self.field, 1.07)
        self.field.setPlaceholderText(tr("Search commands, chats, and presets"))
        self.field.setAccessibleName(tr("Search commands, chats, and presets"))
        self.field.installEventFilter(self)
        self.model = _Commands()
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
            corner = parent.mapToGlobal(parent.rect().topLeft())
            self.move(corner.x() + (room.width() - self.width()) // 2, corner.y() + 56)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrow keys move in the list; other keys go to the field."""
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
    def shown(self) -> list[PaletteCommand]:
        return self.model.commands

    @Slot(str)
    def _narrow(self, words: str) -> None:
        found = rank(words, self._commands, lambda command: f"{command.text} {command.where}")
        self.model.show_commands(found[:MAX_SHOWN])
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
            command = self.model.commands[index.row()]
            self.accept()
            command.do()


def palette_commands(bar: QMenuBar, conductor: Conductor) -> list[PaletteCommand]:
    """Return every enabled command of the menus, then chats, newest first, then presets."""
    found: list[PaletteCommand] = []
    for action in bar.actions():
        if isinstance(menu := action.menu(), QMenu):
            found += _menu_commands(menu, _plain(action.text()))
    for chat in sorted(conductor.library.entries.values(), key=lambda chat: -chat.changed):
        found.append(PaletteCommand(chat.title, tr("Chat"), partial(conductor.open_chat, chat.id)))
    for preset in conductor.library.presets:
        found.append(PaletteCommand(preset.name, tr("Preset"), partial(conductor.apply_preset, preset)))
    return found


def _menu_commands(menu: QMenu, where: str) -> list[PaletteCommand]:
    menu.aboutToShow.emit()  # fills some menus
    found: list[PaletteCommand] = []
    for action in menu.actions():
        inner = action.menu()
        if isinstance(inner, QMenu):
            found += _menu_commands(inner, f"{where} ▸ {_plain(inner.title())}") if action.isEnabled() else []
        elif action.isEnabled() and action.isVisible() and not action.isSeparator() and action.property(IN_PALETTE) is not False:
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            found.append(PaletteCommand(_plain(action.text()), where, action.trigger, keys))
    return found


def _plain(text: str) -> str:
    """Remove the mark of the access key: "&File" is "File", "&&" is "&"."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&")


class _Commands(QAbstractListModel):
    def __init__(self) -> None:
        super().__init__()
        self.commands: list[PaletteCommand] = []

    def show_commands(self, commands: list[PaletteCommand]) -> None:
        self.beginResetModel()
        self.commands = commands
        self.endResetModel()

    def rowCount(self, parent: _Index | None = None) -> int:
        return len(self.commands)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        command = self.commands[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return command.text
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(part for part in (command.text, command.where, command.keys) if part)
        return None


class _Row(QStyledItemDelegate):
    """The command on the left, its shortcut or menu on the right."""

    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self._theme = theme
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(0, self._theme.row_height() + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        colors = self._theme.colors
        model = self._view.model()
        assert isinstance(model, _Commands)
        command = model.commands[index.row()]
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
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignRight, command.keys or command.where)
        inner.setRight(inner.right() - painter.fontMetrics().horizontalAdvance(command.keys or command.where) - 12)
        painter.setFont(self._theme.list_font())
        painter.setPen(QColor(colors.text))
        text = painter.fontMetrics().elidedText(command.text, Qt.TextElideMode.ElideRight, int(inner.width()))
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignLeft, text)
        painter.restore()
