"""The Models window, and the dialog for custom pairs."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPoint, QSignalBlocker, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QDialog, QFileDialog, QFrame, QGridLayout, QLineEdit, QMenu, QPushButton, QWidget

from app.session.activity import SessionActivity
from app.session.background_work import while_open
from app.session.custom_pairs import check_pair, drafter_for, is_folder
from app.session.model_list import Filter
from app.session.model_storage import Storage
from app.session.notice import Notice
from app.session.pair_session import PairLoader
from app.session.picker import Picker
from app.storage.wording import size
from app.text.language import tr
from app.views.models.endpoint_card import EndpointCard
from app.views.models.endpoint_form import EndpointForm
from app.views.models.macs_dialog import MacsDialog
from app.views.models.pair_card import PairCard
from app.views.models.pair_list import PairList
from app.widgets.controls import SearchField, button, entry, small_label
from app.widgets.layout import column, fit_content, flow, line, row
from app.widgets.theme import Theme, set_look
from mlx_engine.network.offline import is_forced, is_offline
from mlx_engine.remote.saved_endpoints import SavedEndpoint

LIST_WIDTH = 324  # at the default text size
SIDE_HEIGHT, MOST_SIDE_HEIGHT = 350, 640  # minimum at the default text size, and at any
MESSAGE_MS = 8000
SPACE_MS = 5000


class PickerDialog(QDialog):
    """A modeless window with a list of pairs and endpoints, and details."""

    settings_requested = Signal()
    online_requested = Signal(object)  # what to do once Offline is off

    def __init__(
        self, theme: Theme, picker: Picker, activity: SessionActivity, loader: PairLoader, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme, self._picker, self._loader = theme, picker, loader
        self._awaits_model = False  # chosen in this window
        picker.rows.clear_search()
        self.setWindowTitle(tr("Models"))
        window = parent.size() if parent is not None else QSize(960, 680)
        self.resize(min(max(window.width() - 40, 640), 960), min(max(window.height() - 40, 420), 680))
        self.search = SearchField(theme, tr("Search models"), tr("Search models"))
        self.search.textChanged.connect(lambda text: picker.rows.narrow(text, picker.rows.filter))
        self.filters = QButtonGroup(self)
        names: dict[Filter, str] = {
            "all": tr("All"),
            "fits": tr("Fits"),
            "on disk": tr("On disk"),
            "coding": tr("Coding"),
            "small": tr("Small"),
            "hub": tr("Hub"),
        }
        self._filters = list(names)
        for index, (which, text) in enumerate(names.items()):
            chip = button(text, tr("Show: {filter}", filter=text), "filter")
            chip.setCheckable(True)
            chip.setChecked(picker.rows.filter == which)
            self.filters.addButton(chip, index)
        self.filters.idClicked.connect(lambda index: picker.rows.narrow(picker.rows.search, self._filters[index]))
        self.list = PairList(theme, picker)
        self.search.down_pressed.connect(self.list.setFocus)
        self.empty = small_label(theme, look="secondary", wrap=True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self.empty.setContentsMargins(24, 32, 24, 0)
        self.ask_hub = button(tr("Search the Hub"), look="bordered", clicked=self._search_hub)
        self.turn_off = button(tr("Turn Off"), tr("Turn off Offline"), "bordered")
        self.again = button(tr("Try Again"), tr("Search the hub again"), "bordered", picker.hub_search.again)
        self.hub_problem = small_label(theme, look="secondary", wrap=True)
        self.hub_problem.setAccessibleName(tr("Message"))
        self.add = button(tr("Add…"), tr("Add a pair, a Mac, or a connection"), "bordered", self._choose_kind)
        self._kinds = QMenu(self)
        self.custom = self._kinds.addAction(tr("Custom Pair…"), self._add_custom)
        self.mac = self._kinds.addAction(tr("Another Mac…"), self._add_mac)
        self.server = self._kinds.addAction(tr("Connection…"), partial(self._edit_endpoint, None))
        self.settings = button(
            tr("Settings…"), tr("Model folder, download speed, and hub"), "bordered", self.settings_requested.emit
        )
        self.space = small_label(theme, look="secondary")
        self.space.setAccessibleName(tr("Disk space"))
        self.deleted = DeletedBar(theme, picker.storage)
        self.card = PairCard(theme, picker, activity, loader)
        self.card.token.clicked.connect(self.settings_requested)
        self.endpoint = EndpointCard(theme, picker, activity, loader)
        self.endpoint.edit_requested.connect(self._edit_endpoint)
        self.message = small_label(theme, look="secondary", wrap=True)
        self.message.setAccessibleName(tr("Message"))
        self.message.setContentsMargins(24, 8, 24, 8)
        self.message.hide()
        self._message_timer = QTimer(self, singleShot=True, interval=MESSAGE_MS)
        self._message_timer.timeout.connect(self.message.hide)
        self.space_timer = QTimer(self, interval=SPACE_MS)
        self.space_timer.timeout.connect(picker.read_disk)
        self.space_timer.start()

        self._side = QWidget()
        set_look(self._side, "sidebar")
        self._side.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        chips = flow(*self.filters.buttons(), gap=0, even=True)
        top = column(self.search, chips, margins=(16, 0, 16, 0))
        foot = column(
            self.hub_problem, flow(self.again), self.deleted, self.space, flow(self.add, self.settings), margins=(16, 0, 16, 0)
        )
        self._nothing = QWidget()  # in place of an empty list
        column(self.empty, row(None, self.turn_off, self.ask_hub, None), None, spacing=16, parent=self._nothing)
        column(top, (self.list, 1), (self._nothing, 1), foot, margins=(0, 16, 0, 16), parent=self._side)
        card = column((self.card, 1), (self.endpoint, 1), self.message, spacing=0)
        row((self._side, 9), line("upright"), (card, 11), spacing=0, parent=self)
        QWidget.setTabOrder(self.search, self.filters.button(0))
        QWidget.setTabOrder(self.list, self.card.main)
        picker.message.connect(self.say)
        loader.notified.connect(self._say_notice)
        picker.used.connect(self._await_model)
        loader.missed.connect(self._stay)
        loader.changed.connect(self._close_when_loaded)
        picker.downloaded.connect(self._say_downloaded)
        picker.changed.connect(self._refresh)
        picker.refresh()
        picker.prepare_forms()
        theme.text_resized.connect(self._set_sizes)
        self._set_sizes()
        self.search.setFocus()

    @Slot()
    def _set_sizes(self) -> None:
        """Scale the limits of the side with the list to the text size."""
        self._side.setMinimumHeight(min(self._theme.scaled(SIDE_HEIGHT), MOST_SIDE_HEIGHT))
        self._side.setMaximumWidth(self._theme.scaled(LIST_WIDTH))

    @Slot(str)
    def say(self, text: str) -> None:
        """Show a message for a few seconds."""
        self.message.setText(text)
        self.message.show()
        self._message_timer.start()

    @Slot()
    def _await_model(self) -> None:
        self._awaits_model = self._loader.running

    @Slot()
    def _stay(self) -> None:
        self._awaits_model = False

    @Slot()
    def _close_when_loaded(self) -> None:
        """Close once the model that was chosen here can be used."""
        if self._awaits_model and not self._loader.running:
            self.accept()

    @Slot(object)
    def _say_notice(self, notice: Notice) -> None:
        self.say(notice.text)

    @Slot(str)
    def _say_downloaded(self, name: str) -> None:
        self.say(tr("{name} has been downloaded and verified.", name=name))

    @Slot()
    def _refresh(self) -> None:
        current = self._picker.rows.current
        empty, search, storage = not self._picker.rows.matching, self._picker.rows.search.strip(), self._picker.storage
        self._follow_search()
        self.endpoint.setVisible(current is not None and current.endpoint is not None and not empty)
        self.card.setVisible(self.endpoint.isHidden() and not empty)
        if empty and self.list.hasFocus():
            self.search.setFocus()  # Qt would choose a button below the list
        self.list.setVisible(not empty)
        self._nothing.setVisible(empty)
        self._show_hub(search)
        if self._picker.rows.filter == "hub":
            self.empty.setText(self._hub_text(search))
        elif self._picker.loading:
            self.empty.setText(tr("Looking for models…"))
        elif search:
            self.empty.setText(tr("No listed pairs match “{search}”.", search=search))
        else:
            self.empty.setText(tr("No pairs match this filter."))
        if (move := storage.moving) is not None:
            self.space.setText(tr("Moving models: {done} of {total}", done=size(move.done), total=size(move.total)))
        elif storage.folder is not None:
            self.space.setText(tr("{size} of disk space available", size=size(storage.folder.free)))

    def _show_hub(self, search: str) -> None:
        """Show what the hub's filter needs, and offer to use it."""
        hub, on = self._picker.hub_search, self._picker.rows.filter == "hub"
        self.search.setPlaceholderText(tr("Search the hub") if on else tr("Search models"))
        self.ask_hub.setText(tr("Try Again") if on else tr("Search the Hub"))
        self.ask_hub.setAccessibleName(tr("Search the hub again") if on else self.ask_hub.text())
        self.ask_hub.setVisible(bool(hub.problem) if on else bool(search) and not self._picker.loading)
        self.turn_off.setVisible(on and is_offline() and not is_forced())
        problem = hub.problem if on and self._picker.rows.found else ""  # without rows, it is in place of the list
        self.hub_problem.setText(problem)
        for widget in (self.hub_problem, self.again):
            widget.setVisible(bool(problem))

    def _hub_text(self, search: str) -> str:
        hub = self._picker.hub_search
        if not search and is_offline():
            return tr("Offline is on, so the hub can't be searched.")
        if not search:
            return tr("Enter a model's name, or OWNER/NAME. Your search is sent to the hub.")
        if hub.problem:
            return hub.problem
        return tr("Searching the hub…") if hub.searching else tr("No models on the hub match “{search}”.", search=search)

    @Slot()
    def _search_hub(self) -> None:
        if self._picker.rows.filter == "hub":
            self._picker.hub_search.again()
        else:
            self._picker.rows.narrow(self._picker.rows.search, "hub")

    def _follow_search(self) -> None:
        """Show the picker's search and filter, which adding a pair clears."""
        if self.search.text() != self._picker.rows.search:
            with QSignalBlocker(self.search):
                self.search.setText(self._picker.rows.search)
        self.filters.button(self._filters.index(self._picker.rows.filter)).setChecked(True)

    @Slot()
    def _choose_kind(self) -> None:
        self._kinds.popup(self.add.mapToGlobal(QPoint(0, -self._kinds.sizeHint().height())))

    @Slot()
    def _add_custom(self) -> None:
        dialog = CustomPairDialog(self._theme, self._picker, self)
        dialog.online_requested.connect(self.online_requested)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    @Slot()
    def _add_mac(self) -> None:
        dialog = MacsDialog(self._theme, self._picker.macs, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fit_content(dialog)
        dialog.open()

    @Slot(object)
    def _edit_endpoint(self, saved: SavedEndpoint | None) -> None:
        form = EndpointForm(self._theme, self._picker.endpoints, saved, self)
        form.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fit_content(form)
        form.online_requested.connect(self.online_requested)
        form.saved.connect(partial(self._picker.put_endpoint, old=saved.name if saved else ""))
        form.open()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """On Return, move from the search field to the list, then to the main button."""
        focus, main = self.focusWidget(), (self.card if self.endpoint.isHidden() else self.endpoint).main
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
        elif isinstance(focus, QPushButton):
            focus.click()
        elif focus is self.search and self._picker.rows.matching:
            self.list.setFocus()
        elif focus is self.list and main.isVisible() and main.isEnabled():
            main.setFocus()


class DeletedBar(QFrame):
    """A bar to restore removed pairs, visible while there are any."""

    def __init__(self, theme: Theme, storage: Storage) -> None:
        super().__init__()
        self._storage = storage
        set_look(self, "undo")
        self.label = small_label(theme, wrap=True)
        self.label.setAccessibleName(tr("Removed"))
        self.undo = button(tr("Undo"), tr("Restore the most recently removed pair"), "bordered", storage.undo)
        self.purge = button(tr("Free Up Space Now"), tr("Delete the removed pairs now"), "bordered", storage.purge)
        column(self.label, row(self.undo, self.purge, None), margins=(12, 8, 12, 8), parent=self)
        storage.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        deleted = self._storage.deleted
        self.setVisible(bool(deleted))
        names, total = ", ".join(one.name for one in deleted), size(sum(one.bytes for one in deleted))
        self.label.setText(tr("{names} removed. {size} will be freed when you quit.", names=names, size=total))


class CustomPairDialog(QDialog):
    """A dialog that checks a pair of two repos or folders, and then adds the pair."""

    online_requested = Signal(object)  # what to do once Offline is off

    def __init__(self, theme: Theme, picker: Picker, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picker = picker
        self._checked: tuple[str, str] | None = None
        self.setWindowTitle(tr("Custom Pair"))
        self.setMinimumWidth(680)
        text = tr(
            "The target can be any model that mlx-lm supports. The drafter must be trained for that target; leave it empty for "
            "plain decoding. Slipstream never runs Python code from a repo."
        )
        grid = QGridLayout()
        grid.setSpacing(8)
        grid.setColumnStretch(1, 1)
        self.target = self._add_field(theme, grid, tr("Target"), tr("owner/name or a folder"), tr("Choose the target folder"))
        self.drafter = self._add_field(
            theme, grid, tr("Drafter"), tr("owner/name or a folder (optional)"), tr("Choose the drafter folder")
        )
        self.search = button(tr("Find"), tr("Find a drafter on this computer and on the hub"), "bordered", self._find)
        grid.addWidget(self.search, grid.rowCount() - 1, 3)
        self.name = self._add_field(theme, grid, tr("Name"), tr("Shown in the list (optional)"))
        self.verdict = small_label(theme, wrap=True)
        self.verdict.setAccessibleName(tr("Result"))
        self.verdict.setMinimumHeight(2 * self.verdict.fontMetrics().lineSpacing())  # most results move no button
        self._again: Callable[[], None] = self._go  # what Offline refused
        self.turn_off = button(tr("Turn Off"), tr("Turn off Offline"), "bordered", lambda: self.online_requested.emit(self._again))
        self.turn_off.hide()
        self.go = button(tr("Check"), tr("Check compatibility"), "primary", self._go)
        self.go.setDefault(True)
        footer = row(None, button(tr("Cancel"), look="bordered", clicked=self.reject), self.go)
        introduction = small_label(theme, text, "secondary", wrap=True)
        verdict = row((self.verdict, 1), self.turn_off)
        column(introduction, grid, verdict, None, footer, spacing=16, margins=(24, 24, 24, 16), parent=self)
        self._require_check()
        self.target.setFocus()

    def _add_field(self, theme: Theme, grid: QGridLayout, name: str, hint: str, choose: str = "") -> QLineEdit:
        """Add a text field and, if `choose` isn't empty, a button to choose a folder."""

        def browse() -> None:
            if folder := QFileDialog.getExistingDirectory(self, tr("Choose a Folder"), field.text()):
                field.setText(folder)

        field = entry("", hint)
        field.setAccessibleName(name)
        label = small_label(theme, name, bold=True)
        label.setBuddy(field)
        index = grid.rowCount()
        grid.addWidget(label, index, 0)
        grid.addWidget(field, index, 1)
        if choose:
            field.textChanged.connect(self._require_check)
            grid.addWidget(button(tr("Choose…"), choose, "bordered", browse), index, 2)
        return field

    @property
    def names(self) -> tuple[str, str]:
        return self.target.text().strip(), self.drafter.text().strip()

    @Slot()
    def _require_check(self) -> None:
        self._checked = None
        self.go.setText(tr("Check"))
        self._wait(False)
        self.turn_off.hide()
        self.verdict.setText("")

    @Slot()
    def _go(self) -> None:
        target, drafter = self.names
        if self._checked == (target, drafter):
            self._picker.add(target, drafter, self.name.text())
            self.accept()
        elif drafter and is_folder(target) != is_folder(drafter):
            self._say(tr("Enter two repos or two folders."), "danger")
        else:
            self._again = self._go
            self._wait(True)
            self._say(tr("Checking…"), "secondary")
            failed = while_open(self._show_problem)
            self._picker.background.run(lambda: check_pair(target, drafter), while_open(self._show_checked), failed)

    @Slot()
    def _find(self) -> None:
        self._again = self._find
        self._wait(True)
        self._say(tr("Searching for a drafter…"), "secondary")
        target, failed = self.names[0], while_open(self._show_problem)
        self._picker.background.run(lambda: drafter_for(target), while_open(self._use_drafter), failed)

    def _use_drafter(self, drafter: str) -> None:
        self.drafter.setText(drafter)
        self._go()

    def _wait(self, waiting: bool) -> None:
        for widget in (self.go, self.search):
            widget.setEnabled(bool(self.names[0]) and not waiting)

    def _show_problem(self, problem: str) -> None:
        self._wait(False)
        needs_hub = is_offline() and not is_folder(self.names[0])
        self._say(problem, "secondary" if needs_hub else "danger")
        self.turn_off.setVisible(needs_hub and not is_forced())

    def _show_checked(self, chat_problem: str) -> None:
        self._wait(False)
        self._checked = self.names
        self.go.setText(tr("Add"))
        compatible = (
            tr("The target and the drafter are compatible.") if self.names[1] else tr("This model can be used with plain decoding.")
        )
        self._say(chat_problem or compatible, "danger" if chat_problem else "secondary")

    def _say(self, text: str, look: str) -> None:
        set_look(self.verdict, look)
        self.verdict.setText(text)
        self.turn_off.hide()
        self.adjustSize()
