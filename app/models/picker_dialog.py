"""The picker's window: pairs on the left, the one that is looked at on the right."""

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.chat.conductor import Conductor
from app.conversations.wording import size
from app.language import tr
from app.models.candidate import filter_names
from app.models.deleted_bar import DeletedBar
from app.models.model_settings import ModelSettingsDialog
from app.models.own_pair import OwnPairDialog
from app.models.pair_card import PairCard
from app.models.pair_list import PairList
from app.models.picker import Picker
from app.widgets.button import button
from app.widgets.icon_button import ICON_SIZE, draw_icon
from app.widgets.label import Label
from app.widgets.theme import DEFAULT_TEXT_SIZE, SMALL, Theme, set_look


def _models_title() -> str:
    return tr("Models")


LIST_WIDTH = 304  # at the usual size of text
CARD_WIDTH = 336  # at least
SAID_MS = 8000
ROOM_MS = 5000


class PickerDialog(QDialog):
    """Stays open while a chat goes on behind it."""

    def __init__(self, theme: Theme, picker: Picker, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picker = picker
        self._theme = theme
        self.setWindowTitle(_models_title())
        self.setAccessibleName(_models_title())
        self.setMinimumHeight(420)
        room = parent.size() if parent is not None else QSize(960, 680)
        self.resize(min(max(room.width() - 40, 640), 960), min(max(room.height() - 40, 420), 680))
        self.search = _Search(theme)
        self.search.setText(picker.words)
        self.search.textChanged.connect(picker.search)
        self.search.down.connect(self._into_list)
        self.filters = QButtonGroup(self)
        self.filters.setExclusive(True)
        chips = QHBoxLayout()
        chips.setSpacing(0)
        for number, (which, text) in enumerate(filter_names().items()):
            chip = button(text, tr("Show: {what}", what=text))
            chip.setCheckable(True)
            chip.setChecked(picker.filter == which)
            set_look(chip, "filter")
            self.filters.addButton(chip, number)
            chips.addWidget(chip)
        chips.addStretch(1)
        self.filters.idClicked.connect(self._filter)
        self.list = PairList(theme, picker)
        self.empty = Label()
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self.empty.setContentsMargins(24, 32, 24, 0)
        theme.set_font(self.empty, SMALL)
        set_look(self.empty, "secondary")
        self.own = button(tr("Own Pair…"), tr("Add a pair of your own: two repos or two folders"), "bordered")
        self.own.clicked.connect(self._add_own)
        side = QWidget()
        set_look(side, "sidebar")
        side.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._side = side
        left = QVBoxLayout(side)
        left.setContentsMargins(0, 16, 0, 16)
        left.setSpacing(8)
        top = QVBoxLayout()
        top.setContentsMargins(16, 0, 16, 0)
        top.setSpacing(8)
        top.addWidget(self.search)
        top.addLayout(chips)
        left.addLayout(top)
        left.addWidget(self.list, 1)
        left.addWidget(self.empty, 1)
        self.settings = button(tr("Settings…"), tr("Model folder, download speed, token"), "bordered")
        self.settings.clicked.connect(self.show_settings)
        self.room = Label()
        self.room.setAccessibleName(tr("Room on the disk"))
        theme.set_font(self.room, SMALL)
        set_look(self.room, "secondary")
        self.deleted = DeletedBar(theme, picker.storage)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.own)
        buttons.addWidget(self.settings)
        buttons.addStretch(1)
        foot = QVBoxLayout()
        foot.setContentsMargins(16, 0, 16, 0)
        foot.setSpacing(8)
        foot.addWidget(self.deleted)
        foot.addWidget(self.room)
        foot.addLayout(buttons)
        left.addLayout(foot)
        self.card = PairCard(theme, picker, conductor)
        self.card.token.clicked.connect(self.show_settings)
        picker.storage.changed.connect(self._show_room)
        self.room_soon = QTimer(self)  # a download fills the disk meanwhile
        self.room_soon.setInterval(ROOM_MS)
        self.room_soon.timeout.connect(picker.storage.look)
        self.room_soon.start()
        self.said = Label()
        self.said.setWordWrap(True)
        self.said.setAccessibleName(tr("Message"))
        self.said.setContentsMargins(24, 8, 24, 8)
        theme.set_font(self.said, SMALL)
        set_look(self.said, "secondary")
        self.said.hide()
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.setInterval(SAID_MS)
        self._quiet.timeout.connect(self.said.hide)
        upright = QFrame()
        set_look(upright, "upright")
        right = QVBoxLayout()
        right.setSpacing(0)
        right.addWidget(self.card, 1)
        right.addWidget(self.said)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(side)
        layout.addWidget(upright)
        layout.addLayout(right, 1)
        for first, second in ((self.search, self.filters.button(0)), (self.list, self.card.main)):
            QWidget.setTabOrder(first, second)
        picker.told.connect(self.say)
        picker.fetched.connect(self._say_fetched)
        picker.listed.connect(self._show_emptiness)
        picker.changed.connect(self._show_emptiness)
        picker.refresh()
        self._show_emptiness()
        theme.text_resized.connect(self._widen)
        self._widen()
        self.search.setFocus()

    @Slot()
    def _widen(self) -> None:
        """The list has room for the filters at any size of text."""
        self._side.setFixedWidth(round(LIST_WIDTH * max(1.0, self._theme.text_pixels / DEFAULT_TEXT_SIZE)))
        self.setMinimumWidth(self._side.width() + CARD_WIDTH)

    @Slot(str)
    def say(self, sentence: str) -> None:
        """Show a sentence for a while."""
        self.said.setText(sentence)
        self.said.show()
        self._quiet.start()

    @Slot(str)
    def _say_fetched(self, name: str) -> None:
        self.say(tr("{name} is complete and checked.", name=name))

    @Slot(int)
    def _filter(self, number: int) -> None:
        self._picker.set_filter(list(filter_names())[number])

    @Slot()
    def _into_list(self) -> None:
        self.list.setFocus()

    @Slot()
    def _show_emptiness(self) -> None:
        rows = bool(self._picker.rows)
        self.list.setVisible(rows)
        self.empty.setVisible(not rows)
        if self._picker.loading:
            self.empty.setText(tr("Looking through the catalogue and this disk…"))
        elif not rows:
            words = self._picker.words.strip()
            sought = tr("No pair matches “{words}” here. Own Pair… takes any two repos of the hub.", words=words)
            self.empty.setText(sought if words else tr("No pair passes this filter."))

    @Slot()
    def _add_own(self) -> None:
        dialog = OwnPairDialog(self._theme, self._picker, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    @Slot()
    def show_settings(self) -> None:
        """Where models lie, how fast they are fetched, and as whom."""
        dialog = ModelSettingsDialog(self._theme, self._picker, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    @Slot()
    def _show_room(self) -> None:
        storage = self._picker.storage
        words = ""
        if storage.moving is not None:
            done, total = size(storage.moving.done), size(storage.moving.total)
            words = tr("Moving the models: {done} of {total}", done=done, total=total)
        elif storage.place is not None:
            words = tr("{room} free on this disk", room=size(storage.place.free))
        self.room.setText(words)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Return does what the card's button does; Esc closes."""
        focus = self.focusWidget()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if isinstance(focus, QPushButton):
                focus.click()
            elif self.card.main.isVisible() and self.card.main.isEnabled():
                self.card.main.click()
            return
        super().keyPressEvent(event)


class _Search(QLineEdit):
    """With a glass in front; Down goes into the list."""

    down = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        set_look(self, "search")
        self.setPlaceholderText(tr("Search models"))
        self.setAccessibleName(tr("Search models"))
        self.setClearButtonEnabled(True)
        theme.changed.connect(self.update)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down:
            self.down.emit()
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        area = QRectF(self.rect())
        painter.translate(5, area.center().y() - ICON_SIZE / 2)
        draw_icon(painter, "search", QColor(self._theme.colors.faint))
        painter.end()
