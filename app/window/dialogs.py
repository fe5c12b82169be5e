"""Opens the dialogs of the app, each at most once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialog, QMainWindow

from app.chat.chat_settings import ChatSettingsDialog
from app.chat.conductor import Conductor
from app.compare.compare_view import CompareDialog
from app.compare.comparison_job import Comparison
from app.language import tr
from app.machine.this_mac import ThisMacDialog
from app.models.picker import Picker
from app.models.picker_dialog import PickerDialog
from app.release import Release
from app.settings.preferences import Preferences
from app.settings.settings_dialog import SettingsDialog
from app.widgets.theme import Theme
from app.window.about import AboutDialog
from app.window.palette import Palette, palette_commands

D = TypeVar("D", bound=QDialog)


class Dialogs(QObject):
    """`find` returns a dialog that is open."""

    def __init__(
        self,
        window: QMainWindow,
        theme: Theme,
        conductor: Conductor,
        picker: Picker,
        preferences: Preferences,
        release: Release,
        log_folder: str,
    ) -> None:
        super().__init__(window)
        self._window, self._theme, self._conductor, self._picker = window, theme, conductor, picker
        self._preferences, self._release, self._log_folder = preferences, release, log_folder
        self._dialogs: dict[type[QDialog], QDialog] = {}
        conductor.comparison_job.started.connect(self._show_comparison)
        picker.downloaded.connect(self._announce_download)

    def find(self, kind: type[D]) -> D | None:
        return cast(D | None, self._dialogs.get(kind))

    def close_all(self) -> None:
        for dialog in list(self._dialogs.values()):
            dialog.close()

    @Slot()
    def show_models(self) -> None:
        self._show(PickerDialog, self._picker, self._conductor)

    @Slot()
    def show_this_mac(self) -> None:
        self._show(ThisMacDialog, self._conductor)

    @Slot()
    def show_compare(self) -> None:
        self._show(CompareDialog, self._conductor).prompt.setFocus()

    @Slot()
    def show_settings(self) -> None:
        hidden = () if self._release.has_updates else (Preferences.check_for_updates.key,)
        self._show(SettingsDialog, self._preferences, sheet=True, hidden=hidden)

    @Slot()
    def show_chat_settings(self) -> None:
        self._show(ChatSettingsDialog, self._conductor, sheet=True)

    @Slot()
    def show_about(self) -> None:
        self._show(AboutDialog, self._release, sheet=True)

    @Slot()
    def show_palette(self) -> None:
        self._show(Palette, palette_commands(self._window.menuBar(), self._conductor), sheet=True)

    @Slot()
    def show_logs(self) -> None:
        """Open the folder with the logs."""
        if self._log_folder and not QDesktopServices.openUrl(QUrl.fromLocalFile(self._log_folder)):
            self._conductor.notify(tr("Can't open the log folder {folder}.", folder=str(Path(self._log_folder))))

    @Slot(object)
    def _show_comparison(self, comparison: Comparison) -> None:
        self._show(CompareDialog, self._conductor).follow(comparison)

    @Slot(str)
    def _announce_download(self, name: str) -> None:
        if self.find(PickerDialog) is None:
            self._conductor.notify(tr("{name} has been downloaded. Choose File > Models to use it.", name=name))

    def _show(self, kind: type[D], *arguments: Any, sheet: bool = False, **options: Any) -> D:
        """Show a dialog. A sheet blocks the window until it is closed."""
        dialog = self.find(kind)
        if dialog is None:
            make = cast(Callable[..., D], kind)
            dialog = self._dialogs[kind] = make(self._theme, *arguments, self._window, **options)
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            dialog.finished.connect(lambda: self._dialogs.pop(kind, None))
        if sheet:
            dialog.open()
        else:
            dialog.show()
            dialog.raise_()
            dialog.activateWindow()
        return dialog
