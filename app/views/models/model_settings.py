"""The Models pane of the Settings window."""

from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Slot
from PySide6.QtWidgets import QComboBox, QFileDialog, QLineEdit, QWidget

from app.session.background_work import while_open
from app.session.picker import Picker
from app.storage.wording import size
from app.text.language import sentences, tr
from app.widgets.controls import ThinBar, as_tooltip, button, entry, small_label
from app.widgets.grouped_form import GroupedForm
from app.widgets.layout import column
from app.widgets.theme import Theme
from mlx_engine.contract.secrets import is_available

_PATH_LENGTH = 16  # characters
LIMITS = (1, 2, 5, 10, 20, 50, 100)  # MB/s


class ModelSettings(QWidget):
    """The Models pane: model folder, other folders, download speed, hub, and token."""

    def __init__(self, theme: Theme, picker: Picker) -> None:
        super().__init__()
        self._picker, self._storage = picker, picker.storage
        form = GroupedForm(theme)
        self.folder = entry(read_only=True)
        self.move_button = button(tr("Move…"), tr("Move the models to another folder"), "bordered", self._choose_folder)
        self.stop = button(tr("Stop"), tr("Stop moving"), "bordered", self._storage.stop_moving)
        self.bar = ThinBar(theme, tr("Move progress"))
        self.room = small_label(theme, look="secondary", wrap=True)
        form.add_row(tr("Model folder"), self.folder, self.move_button, self.stop, below=(self.bar, self.room))
        self.added = QComboBox()
        self.added.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)  # paths can be long
        self.added.setMinimumContentsLength(_PATH_LENGTH)
        self.added.currentTextChanged.connect(lambda path: self.added.setToolTip(as_tooltip(path)))
        self.add = button(tr("Add…"), tr("Add a folder with models"), "bordered", self._add_folder)
        self.forget = button(tr("Remove"), tr("Stop using this folder and keep its files"), "bordered", self._forget_folder)
        searched = tr("Their models are used in place. LM Studio's are found without being added.")
        form.add_row(tr("Other folders"), self.added, self.add, self.forget, help=searched)
        self.limit = QComboBox()
        self.limit.activated.connect(self._set_limit)
        form.add_row(tr("Download speed"), self.limit, help=tr("Applies to all downloads combined."))
        self.hub = entry()
        self.hub.editingFinished.connect(self._set_hub)
        form.add_row(tr("Model hub"), self.hub, help=tr("Enter a mirror's address, or leave the field empty for huggingface.co."))
        self.token = entry("", "hf_…", limit=1000)
        self.token.setEchoMode(QLineEdit.EchoMode.Password)
        self.token.textChanged.connect(self.refresh)
        self.save = button(tr("Save"), tr("Check the token and save it in the keychain"), "bordered", self._log_in)
        self.remove = button(tr("Remove"), tr("Remove the token from the keychain"), "bordered", self._log_out)
        needed = (
            tr("Needed for gated models. It is stored in the keychain and sent only to the hub.")
            if is_available()
            else tr("Needed for gated models. No keychain is available, so it can't be stored.")
        )
        form.add_row(tr("Hub token"), self.token, self.save, self.remove, help=needed)
        self.message = small_label(theme, look="secondary", wrap=True)
        self.message.setAccessibleName(tr("Message"))
        self.message.hide()
        column(form, self.message, spacing=16, parent=self)
        self._storage.changed.connect(self.refresh)
        self._storage.message.connect(self._say)
        self._storage.read_folder()
        self._storage.read_added()
        self._storage.read_hub()
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        folder, moving = self._storage.folder, self._storage.moving
        self.folder.setText(str(folder.path) if folder else "")
        self.folder.setCursorPosition(0)
        variable = folder.variable if folder else ""
        self.move_button.setVisible(moving is None)
        self.move_button.setEnabled(folder is not None and not variable)
        self.stop.setVisible(moving is not None)
        self.bar.setVisible(moving is not None)
        if moving is not None:
            self.bar.show_fraction(moving.done / moving.total if moving.total else 0.0)
            moved = tr("Moving models: {done} of {total}", done=size(moving.done), total=size(moving.total))
            kept = tr("You can keep chatting, but you can't download, load, or delete models.")
            self.room.setText(sentences(moved, kept))
        elif folder is not None:
            text = tr("{size} of disk space available", size=size(folder.free))
            fixed = tr("The folder is set by {variable} and can't be changed here.", variable=variable)
            self.room.setText(sentences(text, fixed) if variable else text)
        self._show_added(self._storage.added)
        self._show_limit(self._storage.limit)
        hub = self._storage.hub
        self.hub.setEnabled(hub is not None and not hub.fixed)
        if hub is not None and not self.hub.isModified():
            self.hub.setText(hub.mirror)
            self.hub.setPlaceholderText(hub.endpoint)
        self.save.setEnabled(bool(self.token.text().strip()))
        self.remove.setEnabled(hub is not None and hub.has_token)

    def _show_added(self, folders: tuple[Path, ...]) -> None:
        shown = [str(folder) for folder in folders]
        if [self.added.itemText(row) for row in range(self.added.count())] != shown:
            self.added.clear()
            self.added.addItems(shown)
            self.added.setCurrentIndex(len(shown) - 1)  # the latest
        self.added.setVisible(bool(shown))
        self.forget.setVisible(bool(shown))

    def _show_limit(self, limit: float | None) -> None:
        rates: list[float | None] = [None, *sorted({one * 1e6 for one in LIMITS} | ({limit} if limit else set()))]
        with QSignalBlocker(self.limit):
            if [self.limit.itemData(row) for row in range(self.limit.count())] != rates:
                self.limit.clear()
                for rate in rates:
                    self.limit.addItem(f"{size(rate)}/s" if rate else tr("Unlimited"), rate)
            self.limit.setCurrentIndex(rates.index(limit))

    @Slot(str)
    def _say(self, text: str) -> None:
        self.message.setText(text)
        self.message.setVisible(bool(text))

    @Slot()
    def _add_folder(self) -> None:
        if folder := QFileDialog.getExistingDirectory(self, tr("Add a Folder with Models")):
            self._storage.add_folder(Path(folder))

    @Slot()
    def _forget_folder(self) -> None:
        self._storage.remove_folder(self._storage.added[self.added.currentIndex()])

    @Slot(int)
    def _set_limit(self, index: int) -> None:
        self._storage.set_limit(self.limit.itemData(index))

    @Slot()
    def _set_hub(self) -> None:
        if self.hub.isModified():
            self.hub.setModified(False)
            self._say("")
            self._storage.set_mirror(self.hub.text().strip(), while_open(self._say))

    @Slot()
    def _choose_folder(self) -> None:
        if folder := QFileDialog.getExistingDirectory(self, tr("Move Models To"), self.folder.text()):
            self._picker.move(Path(folder))

    @Slot()
    def _log_in(self) -> None:
        self.save.setEnabled(False)
        self._say(tr("Checking the token…"))
        self._storage.log_in(self.token.text().strip(), while_open(self._logged_in), while_open(self._refused))

    def _logged_in(self, account: str) -> None:
        self._picker.check_hub()
        self.token.clear()
        self._say(tr("Token saved for {account}.", account=account))

    def _refused(self, reason: str) -> None:
        self.save.setEnabled(True)
        self._say(reason)

    @Slot()
    def _log_out(self) -> None:
        self._storage.log_out(while_open(self._logged_out), while_open(self._say))

    def _logged_out(self, removed: bool) -> None:
        self._say(tr("Token removed.") if removed else tr("No token is stored in the keychain."))
