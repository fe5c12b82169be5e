"""Where models lie, how fast they may be fetched, and as whom. Each setting holds at once."""

from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from app.conversations.wording import size
from app.language import tr
from app.models.background import while_there
from app.models.picker import Picker
from app.widgets.button import button
from app.widgets.label import Label
from app.widgets.progress_bar import ThinBar
from app.widgets.sheet import lay_out
from app.widgets.theme import SMALL, Theme, set_look


def _settings_title() -> str:
    return tr("Model Settings")


WIDTH = 460
LIMITS = (1, 2, 5, 10, 20, 50, 100)  # MB a second


class ModelSettingsDialog(QDialog):
    """Follows what happens in the picker."""

    def __init__(self, theme: Theme, picker: Picker, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._picker, self._storage = theme, picker, picker.storage
        self.setWindowTitle(_settings_title())
        self.setAccessibleName(_settings_title())
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(1, 1)
        self._make_folder()
        self._make_limit()
        self._make_token()
        self.said = self._line()
        self.said.setAccessibleName(tr("Message"))
        self.said.hide()
        page = QVBoxLayout()
        page.setContentsMargins(24, 22, 24, 22)
        page.setSpacing(16)
        page.addLayout(self._grid)
        page.addWidget(self.said)
        page.addStretch(1)
        lay_out(self, page, WIDTH, tr("Close these settings"))
        self._storage.changed.connect(self.refresh)
        self._storage.told.connect(self._say)
        self._storage.look()
        self.refresh()

    def _make_folder(self) -> None:
        self.folder = Label()
        self.folder.setWordWrap(True)
        self.folder.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.folder.setAccessibleName(tr("Model folder"))
        self.move_button = button(tr("Move…"), tr("Move the models to another folder"), "bordered")
        self.move_button.clicked.connect(self._ask_where)
        self.stop = button(tr("Stop"), tr("Stop the move"), "bordered")
        self.stop.clicked.connect(self._storage.stop_moving)
        self._row(tr("Model folder"), self.folder, self.move_button, self.stop)
        self.room = self._line()
        self.bar = ThinBar(self._theme, tr("How far the move is"))
        self._below(self.bar)
        self._below(self.room, 14)

    def _make_limit(self) -> None:
        self.limit = QComboBox()
        self.limit.setAccessibleName(tr("Download speed"))
        self.limit.activated.connect(self._set_limit)
        self._row(tr("Download speed"), self.limit)
        self._below(self._line(tr("What downloads take of your connection at most, together.")), 14)

    def _make_token(self) -> None:
        self.token = QLineEdit()
        self.token.setEchoMode(QLineEdit.EchoMode.Password)
        self.token.setPlaceholderText("hf_…")
        self.token.setAccessibleName(tr("Hub token"))
        self.token.setMaxLength(1000)
        set_look(self.token, "entry")
        self.token.textChanged.connect(self.refresh)
        self.keep = button(tr("Keep"), tr("Check the token and keep it in the keychain"), "bordered")
        self.keep.clicked.connect(self._log_in)
        self.forget = button(tr("Forget"), tr("Remove the token from the keychain"), "bordered")
        self.forget.clicked.connect(self._log_out)
        self._row(tr("Hub token"), self.token, self.keep, self.forget)
        words = tr("For repos that want conditions accepted first. Kept in this system’s keychain, shown to the hub alone.")
        self._below(self._line(words))

    @Slot()
    def refresh(self) -> None:
        """Show what holds."""
        storage = self._storage
        place, moving = storage.place, storage.moving
        self.folder.setText(str(place.folder) if place else "")
        fixed = place.fixed_by if place else ""
        self.move_button.setVisible(moving is None)
        self.move_button.setEnabled(place is not None and not fixed)
        self.stop.setVisible(moving is not None)
        self.bar.setVisible(moving is not None)
        if moving is not None:
            self.bar.show_fraction(moving.done / moving.total if moving.total else 0.0)
            self.room.setText(
                tr(
                    "Moving: {done} of {total}. Pairs can be neither fetched, used nor deleted meanwhile; chats go on.",
                    done=size(moving.done),
                    total=size(moving.total),
                )
            )
        elif place is not None:
            words = tr("{room} free on its disk.", room=size(place.free))
            if fixed:
                words += " " + tr("It is named by {variable}, so it cannot be moved from here.", variable=fixed)
            self.room.setText(words)
        self._show_limit(storage.limit)
        self.keep.setEnabled(bool(self.token.text().strip()))

    def _show_limit(self, limit: float | None) -> None:
        rates = sorted({one * 1e6 for one in LIMITS} | ({limit} if limit else set()))
        shown: list[float | None] = [None, *rates]
        with QSignalBlocker(self.limit):
            if [self.limit.itemData(row) for row in range(self.limit.count())] != shown:
                self.limit.clear()
                for rate in shown:
                    self.limit.addItem(tr("At most {rate}/s", rate=size(rate)) if rate else tr("No limit"), rate)
            self.limit.setCurrentIndex(shown.index(limit))

    def _row(self, label: str, field: QWidget, *buttons: QWidget) -> None:
        row = self._grid.rowCount()
        name = Label(label)
        self._theme.set_font(name, SMALL, bold=True)
        name.setBuddy(field)
        self._grid.addWidget(name, row, 0)
        content = QHBoxLayout()
        content.setSpacing(8)
        content.addWidget(field, 1)
        for widget in buttons:
            content.addWidget(widget)
        self._grid.addLayout(content, row, 1)

    def _below(self, widget: QWidget, space: int = 0) -> None:
        row = self._grid.rowCount()
        self._grid.addWidget(widget, row, 1)
        if space:
            self._grid.setRowMinimumHeight(row + 1, space)

    def _line(self, text: str = "") -> Label:
        line = Label(text)
        line.setWordWrap(True)
        self._theme.set_font(line, SMALL)
        set_look(line, "secondary")
        return line

    @Slot(str)
    def _say(self, sentence: str) -> None:
        self.said.setText(sentence)
        self.said.show()

    @Slot(int)
    def _set_limit(self, place: int) -> None:
        self._storage.set_limit(self.limit.itemData(place))

    @Slot()
    def _ask_where(self) -> None:
        if folder := QFileDialog.getExistingDirectory(self, tr("Move the Models Where?"), self.folder.text()):
            self._picker.move(Path(folder))

    @Slot()
    def _log_in(self) -> None:
        token = self.token.text().strip()
        self.keep.setEnabled(False)
        self._say(tr("Asking the hub whose token it is…"))
        self._picker.log_in(token, while_there(self._logged_in), while_there(self._refused))

    def _logged_in(self, account: str) -> None:
        self.token.clear()
        self._say(tr("The token of {account} is kept.", account=account))

    def _refused(self, sentence: str) -> None:
        self.keep.setEnabled(True)
        self._say(sentence)

    @Slot()
    def _log_out(self) -> None:
        self._storage.log_out(while_there(self._logged_out), while_there(self._say))

    def _logged_out(self, there: bool) -> None:
        self._say(tr("The token is forgotten.") if there else tr("The keychain holds no token."))
