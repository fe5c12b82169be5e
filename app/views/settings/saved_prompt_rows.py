"""The part of the Privacy pane for saved prompts."""

from pathlib import Path

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from app.session.saved_prompts import SavedPrompts
from app.storage import wording
from app.text.language import tr
from app.widgets.controls import button, small_label
from app.widgets.layout import Form
from app.widgets.save_dialog import confirm
from app.widgets.theme import Theme
from mlx_engine.contract.events import PromptsSaved


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
            used = tr("Prompts aren't saved.")
        elif not found.bytes:
            used = tr("Nothing saved yet")
        else:
            used = tr("{used} of {space} used", used=wording.size(found.bytes), space=wording.size(found.quota))
        failed = tr("Some saved prompts couldn't be deleted. Slipstream will try again at the next launch.")
        self.used.setText(f"{failed}\n{used}" if self._prompts.undeleted else used)
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
