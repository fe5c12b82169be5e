"""Saved prompts: applying their settings, and their part of the Privacy pane."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from app.session.engine_adapter import Delivery, EngineAdapter
from app.session.preferences import Preferences
from app.storage import wording
from app.text.language import tr
from app.widgets.controls import button, small_label
from app.widgets.layout import Form
from app.widgets.save_dialog import confirm
from app.widgets.theme import Theme
from mlx_engine.contract.events import PromptsSaved
from mlx_engine.contract.requests import ForgetPrompts, KeepPrompts, Request, SavePrompts
from mlx_engine.prefix.part_store import default_folder

_FOLDER = "prompt_folder"  # key in the settings file
_NAME = "Slipstream prompts"  # of the folder inside one that the user chooses


class SavedPrompts(QObject):
    """The prompts that the engine saves on disk.

    Attributes:
        found: what is saved; None until the engine has reported it.
    """

    changed = Signal()

    def __init__(self, engine: EngineAdapter, preferences: Preferences, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine, self._preferences = engine, preferences
        self._applied: SavePrompts | None = None
        self._chats: Callable[[], tuple[str, ...]] | None = None
        self.found: PromptsSaved | None = None
        preferences.changed.connect(self.apply)

    @property
    def folder(self) -> Path:
        return Path(str(self._preferences.file.value(_FOLDER) or "") or default_folder())

    def move(self, folder: Path) -> None:
        """Save prompts in a subfolder of `folder` from now on."""
        self._preferences.file.setValue(_FOLDER, str(folder if folder.name == _NAME else folder / _NAME))
        self.apply()

    @Slot()
    def apply(self) -> None:
        """Send the settings to the engine if they have changed.

        A folder that is no longer used is emptied.
        """
        saves, space = self._preferences.save_prompts, self._preferences.prompt_space
        request = SavePrompts(self.folder if saves else None, int(space) * 10**9 if space.isdigit() else None)
        if request != self._applied:
            if self._applied is not None and self._applied.folder not in (None, request.folder):
                self.clear()
            self._applied = request
            self._submit(request)
            self._complete_deletions()

    @Slot(object)
    def forget(self, chats: list[str]) -> None:
        """Delete what only these chats saved."""
        self._submit(ForgetPrompts(tuple(chats)))

    def keep_only(self, chats: Callable[[], tuple[str, ...]]) -> None:
        """Delete what other chats saved, now and whenever a folder is opened.

        Otherwise, prompts of a chat would stay if their folder couldn't be changed when the chat was deleted.

        Args:
            chats: returns the IDs of all chats that save prompts.
        """
        self._chats = chats
        self._complete_deletions()

    def _complete_deletions(self) -> None:
        if self._chats is not None and self._applied is not None and self._applied.folder is not None:
            self._submit(KeepPrompts(self._chats()))

    @Slot()
    def clear(self) -> None:
        self._submit(ForgetPrompts())

    @Slot()
    def refresh(self) -> None:
        """Ask the engine what is saved."""
        self._submit(ForgetPrompts(()))

    def _submit(self, request: Request) -> None:
        self._engine.submit(request, self._receive)

    def _receive(self, deliveries: list[Delivery]) -> None:
        for item in deliveries:
            if isinstance(item.event, PromptsSaved):
                self.found = item.event
                self.changed.emit()


class SavedPromptsRows(QObject):
    """Form rows for saved prompts: their space, a button to delete them, and folder."""

    def __init__(self, theme: Theme, prompts: SavedPrompts, form: Form, parent: QWidget) -> None:
        super().__init__(parent)
        self._prompts, self._parent = prompts, parent
        self.used = small_label(theme, "", "secondary", wrap=True)
        self.spared = small_label(theme, "", "secondary", wrap=True)
        self.spared.setParent(parent)  # without a parent, it would briefly be a window
        self.folder = small_label(theme, "", "secondary", elided=True)
        self.clear = button(tr("Clear Now…"), look="bordered", clicked=self._clear)
        self.choose = button(tr("Choose Folder…"), look="bordered", clicked=self._choose)
        form.add_row(tr("Space used"), self.clear, below=(self.used, self.spared))
        form.add_row(tr("Folder"), self.choose, below=(self.folder,))
        self.clear.setAccessibleName(tr("Delete all saved prompts"))
        self.choose.setAccessibleName(tr("Choose a folder for saved prompts"))
        prompts.changed.connect(self._show)
        prompts.refresh()
        self._show()

    @Slot()
    def _show(self) -> None:
        found = self._prompts.found or PromptsSaved()
        if not found.quota:
            self.used.setText(tr("Prompts aren't saved."))
        elif not found.bytes:
            self.used.setText(tr("Nothing saved yet"))
        else:
            self.used.setText(tr("{used} of {space} used", used=wording.size(found.bytes), space=wording.size(found.quota)))
        self.spared.setText(
            tr("{tokens} tokens were read from disk instead of computed.", tokens=wording.number(found.read_tokens))
        )
        self.spared.setVisible(found.read_tokens > 0)
        self.folder.setText(str(self._prompts.folder))
        self.clear.setEnabled(found.bytes > 0)

    @Slot()
    def _clear(self) -> None:
        question = tr("Your chats are kept, but the next reply in each will take longer to start.")
        if confirm(self._parent, tr("Delete All Saved Prompts?"), question, tr("Delete")):
            self._prompts.clear()

    @Slot()
    def _choose(self) -> None:
        title = tr("Choose a Folder for Saved Prompts")
        if folder := QFileDialog.getExistingDirectory(self._parent, title, str(self._prompts.folder)):
            self._prompts.move(Path(folder))
            self._show()
