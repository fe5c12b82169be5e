"""The prompts that the engine saves on disk, and their settings."""

import json
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.session.engine_adapter import Delivery, EngineAdapter
from app.session.preferences import Preferences
from app.storage.json_values import as_list, parse_json
from mlx_engine.contract.events import PromptsSaved
from mlx_engine.contract.requests import ForgetPrompts, KeepPrompts, Request, SavePrompts
from mlx_engine.prefix.part_store import AUTOMATIC_QUOTA, default_folder

_FOLDER, _TO_EMPTY = "prompt_folder", "prompt_folders_to_empty"  # keys in the settings file
_WITH_RUNS = "prompt_folders_with_runs"  # whether to delete tuning runs, too
_NAME = "Slipstream prompts"  # of the folder inside one that the user chooses


class SavedPrompts(QObject):
    """The prompts that the engine saves on disk.

    A folder is noted before its prompts are deleted. If that fails, or Slipstream ends first, the next launch tries again.

    Attributes:
        found: what is saved; None until the engine has reported it.
        undeleted: whether the last deletion of all prompts failed.
    """

    changed = Signal()

    def __init__(self, engine: EngineAdapter, preferences: Preferences, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine, self._preferences = engine, preferences
        self._applied: SavePrompts | None = None
        self._chats: Callable[[], tuple[str, ...]] | None = None
        self.found: PromptsSaved | None = None
        self.undeleted = False
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

        A folder that isn't used any more is emptied. One that is used again isn't, even if that has failed before.
        """
        saves, space = self._preferences.save_prompts, self._preferences.prompt_space
        quota = int(space) * 10**9 if space.isdigit() else AUTOMATIC_QUOTA
        request = SavePrompts(self.folder if saves else None, quota)
        if request != self._applied:
            if self._applied is None:
                self._empty_noted_folders()
            elif self._applied.folder != request.folder:
                if self._applied.folder is not None:
                    self.clear()
                self._note(self._to_empty - {request.folder})
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
        """Delete everything in the folder that is in use."""
        self._empty(self._applied.folder if self._applied is not None else None)

    def _empty_noted_folders(self) -> None:
        runs = bool(self._preferences.file.value(_WITH_RUNS, False, bool))
        for folder in sorted(self._to_empty):
            if folder.is_dir():  # its disk may be disconnected
                self._submit(SavePrompts(folder))
                self._empty(folder, runs)

    def _empty(self, folder: Path | None, runs: bool = True) -> None:
        """Delete everything in the folder that the engine uses, if any.

        Args:
            folder: it is noted until it is empty.
            runs: whether to delete tuning runs, too. Once the engine has done that, they aren't deleted with the folder again.
        """
        noted = {folder} if folder is not None else set[Path]()

        def receive(deliveries: list[Delivery]) -> None:
            for item in deliveries:
                if isinstance(item.event, PromptsSaved):
                    self.undeleted = item.event.undeleted
                    self._preferences.file.remove(_WITH_RUNS)
                    if not self.undeleted:
                        self._note(self._to_empty - noted)
            self._receive(deliveries)

        if runs:
            self._preferences.file.setValue(_WITH_RUNS, True)
        self._note(self._to_empty | noted)
        self._engine.submit(ForgetPrompts(runs=runs), receive)

    @property
    def _to_empty(self) -> set[Path]:
        return {Path(str(each)) for each in as_list(parse_json(str(self._preferences.file.value(_TO_EMPTY, "", str))))}

    def _note(self, to_empty: set[Path]) -> None:
        self._preferences.file.setValue(_TO_EMPTY, json.dumps(sorted(map(str, to_empty))))
        self._preferences.file.sync()

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
