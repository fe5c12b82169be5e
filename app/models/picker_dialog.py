"""The Models window: a list of pairs on the left, the selected pair on the right."""

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QDialog, QPushButton, QWidget

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
from app.widgets.controls import SearchField, button, small_label
from app.widgets.layout import column, line, row
from app.widgets.theme import DEFAULT_TEXT_SIZE, Theme, set_look

LIST_WIDTH = 304  # at the default text size
MIN_CARD_WIDTH = 336
MESSAGE_MS = 8000
SPACE_MS = 5000


class PickerDialog(QDialog):
    """Not modal: a chat can go on behind it."""

    def __init__(self, theme: Theme, picker: Picker, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._picker = theme, picker
        self.setWindowTitle(tr("Models"))
        self.setAccessibleName(tr("Models"))
        self.setMinimumHeight(420)
        window = parent.size() if parent is not None else QSize(960, 680)
        self.resize(min(max(window.width() - 40, 640), 960), min(max(window.height() - 40, 420), 680))
        self.search = SearchField(theme, tr("Search models"), tr("Search models"))
        self.search.setText(picker.search)
        self.search.textChanged.connect(picker.set_search)
        self.filters = QButtonGroup(self)
        self.filters.setExclusive(True)
        for index, (which, text) in enumerate(filter_names().items()):
            chip = button(text, tr("Show: {filter}", filter=text), "filter")
            chip.setCheckable(True)
            chip.setChecked(picker.filter == which)
            self.filters.addButton(chip, index)
        self.filters.idClicked.connect(self._filter)
        self.list = PairList(theme, picker)
        self.search.down_pressed.connect(self.list.setFocus)
        self.empty = small_label(theme, look="secondary", wrap=True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self.empty.setContentsMargins(24, 32, 24, 0)
        self.own = button(tr("Custom Pair…"), tr("Add a pair from two repos or two folders"), "bordered", self._add_own)
        self.settings = button(tr("Settings…"), tr("Model folder, download speed, token"), "bordered", self.show_settings)
        self.space = small_label(theme, look="secondary")
        self.space.setAccessibleName(tr("Disk space"))
        self.deleted = DeletedBar(theme, picker.storage)
        self.card = PairCard(theme, picker, conductor)
        self.card.token.clicked.connect(self.show_settings)
        self.message = small_label(theme, look="secondary", wrap=True)
        self.message.setAccessibleName(tr("Message"))
        self.message.setContentsMargins(24, 8, 24, 8)
        self.message.hide()
        self._message_timer = QTimer(self, singleShot=True, interval=MESSAGE_MS)
        self._message_timer.timeout.connect(self.message.hide)
        self.space_timer = QTimer(self, interval=SPACE_MS)
        self.space_timer.timeout.connect(picker.storage.look)
        self.space_timer.start()

        self._side = QWidget()
        set_look(self._side, "sidebar")
        self._side.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        chips = row(*self.filters.buttons(), None, spacing=0)
        top = column(self.search, chips, margins=(16, 0, 16, 0))
        foot = column(self.deleted, self.space, row(self.own, self.settings, None), margins=(16, 0, 16, 0))
        column(top, (self.list, 1), (self.empty, 1), foot, margins=(0, 16, 0, 16), parent=self._side)
        card = column((self.card, 1), self.message, spacing=0)
        row(self._side, line("upright"), (card, 1), spacing=0, parent=self)
        QWidget.setTabOrder(self.search, self.filters.button(0))
        QWidget.setTabOrder(self.list, self.card.main)
        picker.storage.changed.connect(self._show_space)
        picker.message.connect(self.say)
        picker.downloaded.connect(self._say_downloaded)
        picker.listed.connect(self._show_empty)
        picker.changed.connect(self._show_empty)
        picker.refresh()
        self._show_empty()
        theme.text_resized.connect(self._set_widths)
        self._set_widths()
        self.search.setFocus()

    @Slot()
    def _set_widths(self) -> None:
        """Make room for the filters at any text size."""
        self._side.setFixedWidth(round(LIST_WIDTH * max(1.0, self._theme.text_pixels / DEFAULT_TEXT_SIZE)))
        self.setMinimumWidth(self._side.width() + MIN_CARD_WIDTH)

    @Slot(str)
    def say(self, text: str) -> None:
        """Show a message for a while."""
        self.message.setText(text)
        self.message.show()
        self._message_timer.start()

    @Slot(str)
    def _say_downloaded(self, name: str) -> None:
        self.say(tr("{name} has been downloaded and verified.", name=name))

    @Slot(int)
    def _filter(self, index: int) -> None:
        self._picker.set_filter(list(filter_names())[index])

    @Slot()
    def _show_empty(self) -> None:
        empty, search = not self._picker.rows, self._picker.search.strip()
        self.list.setVisible(not empty)
        self.empty.setVisible(empty)
        if self._picker.loading:
            self.empty.setText(tr("Looking for models…"))
        elif search:
            self.empty.setText(tr("No pair matches “{search}”. Use Custom Pair to add one from the hub.", search=search))
        else:
            self.empty.setText(tr("No pair matches this filter."))

    @Slot()
    def _add_own(self) -> None:
        self._open(OwnPairDialog(self._theme, self._picker, self))

    @Slot()
    def show_settings(self) -> None:
        self._open(ModelSettingsDialog(self._theme, self._picker, self))

    def _open(self, dialog: QDialog) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    @Slot()
    def _show_space(self) -> None:
        storage = self._picker.storage
        if (move := storage.moving) is not None:
            self.space.setText(tr("Moving models: {done} of {total}", done=size(move.done), total=size(move.total)))
        elif storage.folder is not None:
            self.space.setText(tr("{size} available", size=size(storage.folder.free)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Return clicks the focused button or the main button of the card."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
        elif isinstance(focus := self.focusWidget(), QPushButton):
            focus.click()
        elif self.card.main.isVisible() and self.card.main.isEnabled():
            self.card.main.click()
