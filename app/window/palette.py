"""The command palette: "nch" finds the command "New Chat"."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QListWidgetItem, QWidget

from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.session.commands import Commands
from app.storage.settings import Preset
from app.text.language import tr
from app.widgets.controls import announce, small_label
from app.widgets.layout import column
from app.widgets.rows import Index, Row, RowDelegate
from app.widgets.theme import Theme, set_look

Item = TypeVar("Item")
MAX_SHOWN = 60
ROWS = 9
COMMAND = Qt.ItemDataRole.UserRole
HELP = Qt.ItemDataRole.UserRole + 1  # of a row that matches only by it
_START, _WORD, _NEXT, _GAP = 8.0, 6.0, 4.0, 0.2  # scores


@dataclass(frozen=True)
class PaletteCommand:
    """A row of the palette."""

    text: str
    where: str  # its menu, "Chat", or "Preset"
    do: Callable[[], object]
    keys: str = ""  # shortcut in the system's notation
    help: str = ""  # is matched, too, and shown if nothing else matches

    @property
    def words(self) -> str:
        """The text that every row shows."""
        return f"{self.text} {self.where}"


class Palette(QDialog):
    """The palette's dialog, which closes before it runs the chosen command."""

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
        self.list = QListWidget()
        self.list.setItemDelegate(RowDelegate(theme, self.list, _describe, margin=2))
        self.list.setAccessibleName(tr("Commands"))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.itemClicked.connect(self._choose)
        self.empty = small_label(theme, look="secondary", elided=True)
        self.empty.setContentsMargins(10, 4, 10, 6)
        self.empty.hide()
        column(self.field, (self.list, 1), self.empty, spacing=6, margins=(8, 8, 8, 8), parent=self)
        self.field.textChanged.connect(self._narrow)
        room = parent.size() if parent is not None else QSize(720, 560)
        self.setFixedWidth(min(580, room.width() - 32))
        self._max_height = room.height() - 80
        self._narrow("")
        if parent is not None:
            corner = parent.mapToGlobal(parent.rect().topLeft())
            self.move(corner.x() + (room.width() - self.width()) // 2, corner.y() + 56)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move in the list with the arrow keys; send other keys to the field."""
        if watched is self.field and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: ROWS, Qt.Key.Key_PageUp: -ROWS}
            key = Qt.Key(event.key())
            if key in steps:
                self._step(steps[key])
                return True
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._choose(self.list.currentItem())
                return True
        return super().eventFilter(watched, event)

    @property
    def shown(self) -> list[PaletteCommand]:
        return [self.list.item(row).data(COMMAND) for row in range(self.list.count())]

    @Slot(str)
    def _narrow(self, words: str) -> None:
        self.list.clear()
        for command in rank(words, self._commands, lambda command: f"{command.words} {command.help}")[:MAX_SHOWN]:
            item = QListWidgetItem(command.text, self.list)
            item.setData(COMMAND, command)
            help = "" if score(words, command.words) is not None else command.help
            item.setData(HELP, help)
            accessible = ", ".join(part for part in (command.text, command.where, command.keys, help) if part)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, accessible)
        self.list.setCurrentRow(0)
        self.empty.setVisible(not self.list.count())
        if not self.list.count():
            self.empty.setText(tr("No results for “{words}”", words=words.strip()[:60]))
            announce(self, self.empty.text())
        self._fit_height()

    def _fit_height(self) -> None:
        """Make the palette as high as its rows, up to `ROWS`, if the window has room."""
        rows = min(self.list.count(), ROWS)
        self.list.setFixedHeight(sum(self.list.sizeHintForRow(row) for row in range(rows)))
        self.list.setVisible(rows > 0)
        above = self.sizeHint().height() - self.list.height()
        self.list.setFixedHeight(max(0, min(self.list.height(), self._max_height - above)))
        self.setFixedHeight(self.sizeHint().height())

    def _step(self, step: int) -> None:
        if count := self.list.count():
            row = self.list.currentRow() + step
            self.list.setCurrentRow(row % count if abs(step) == 1 else min(max(row, 0), count - 1))

    @Slot(QListWidgetItem)
    def _choose(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            command: PaletteCommand = item.data(COMMAND)
            self.accept()
            command.do()


def palette_commands(commands: Commands, session: ChatSession, library: ChatLibrary) -> list[PaletteCommand]:
    """Return enabled menu commands, then chats (newest first), then presets."""
    found: list[PaletteCommand] = []
    for menu in commands.menus:
        for command, where in menu.commands():
            if command.visible and command.in_palette and command.can() is None:
                run = partial(commands.run, command)
                found.append(PaletteCommand(command.plain_text, where, run, command.shortcut, command.help))
    for chat in sorted(library.entries.values(), key=lambda chat: -chat.changed):
        found.append(PaletteCommand(chat.title, tr("Chat"), partial(session.open_chat, chat.id)))

    def apply(preset: Preset) -> None:
        session.set_settings(preset.applied_to(session.chat.settings))

    for preset in library.presets:
        found.append(PaletteCommand(preset.name, tr("Preset"), partial(apply, preset)))
    return found


def _describe(index: Index) -> Row:
    command: PaletteCommand = index.data(COMMAND)
    help: str = index.data(HELP)
    return Row(command.text, command.keys or command.where, excerpt=("", "", help) if help else None, extra_height=2)


def score(letters: str, text: str) -> float | None:
    """Return how well letters match a text in this order, or None if they don't.

    Starts of words and adjacent letters score higher, long gaps lower. Case is ignored. Spaces in `letters` separate words.
    """
    total = 0.0
    folded = text.casefold()
    for word in letters.casefold().split():
        starts = (at for at, letter in enumerate(folded[:200]) if letter == word[0])
        scores = [found for at in starts if (found := _from(word, folded, at)) is not None]
        if not scores:
            return None
        total += max(scores)
    return total - 0.01 * len(text)


def rank(letters: str, items: Sequence[Item], text_of: Callable[[Item], str]) -> list[Item]:
    """Return matching items, best first; equal matches keep their order."""
    if not letters.strip():
        return list(items)
    scored = [(found, place) for place, item in enumerate(items) if (found := score(letters, text_of(item))) is not None]
    return [items[place] for _, place in sorted(scored, key=lambda one: (-one[0], one[1]))]


def _from(word: str, text: str, at: int) -> float | None:
    """Score a word that starts at `at`, taking the next occurrence of each letter."""
    total = _bonus(text, at)
    for letter in word[1:]:
        place = text.find(letter, at + 1)
        if place < 0:
            return None
        total += _NEXT if place == at + 1 else _bonus(text, place) - _GAP * (place - at)
        at = place
    return total


def _bonus(text: str, at: int) -> float:
    if at == 0:
        return _START
    return _WORD if not text[at - 1].isalnum() else 0.0
