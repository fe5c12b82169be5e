"""The model folder, deleted pairs, and network settings."""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.session.background_work import Background
from app.session.downloads import Downloads
from app.storage.wording import size
from app.text.language import tr, translated
from mlx_engine.contract.errors import EngineText
from mlx_engine.models.downloads.bandwidth import download_limit, save_download_limit
from mlx_engine.models.downloads.download_queue import QueueFile
from mlx_engine.models.downloads.hub import Hub, delete_token, mirror, save_mirror, store_token, stored_token
from mlx_engine.models.downloads.model_move import ModelMove
from mlx_engine.models.files.hub_cache import DeletedModels, HubCache, folder_variable, model_folder_problem
from mlx_engine.models.library.library import add_folder, added_folders, remove_folder
from mlx_engine.models.library.pair import Pair

PROGRESS_MS = 200


@dataclass(frozen=True)
class ModelFolder:
    """The state of the model folder."""

    path: Path
    free: int  # bytes
    variable: str  # the environment variable that sets the folder, or empty
    problem: EngineText | None  # why the chosen folder isn't used


@dataclass(frozen=True)
class HubState:
    """The hub in use and its settings.

    Attributes:
        mirror: the address entered by the user, or empty.
        fixed: whether an environment variable sets the address.
        has_token: whether the keychain has a token for the hub.
    """

    endpoint: str
    mirror: str
    fixed: bool
    has_token: bool


@dataclass(frozen=True)
class DeletedPair:
    """A pair that can be restored until the app quits."""

    name: str
    repos: tuple[str, ...]
    bytes: int


class Storage(QObject):
    """The model folder and hub settings. Disk access runs in the background."""

    changed = Signal()
    files_changed = Signal()
    hub_changed = Signal()  # its address or token
    moved = Signal(object, object)  # old and new Path of the model folder
    message = Signal(str)

    def __init__(self, background: Background, downloads: Downloads, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background, self._downloads = background, downloads
        self.folder: ModelFolder | None = None
        self.limit: float | None = None  # of downloads, in bytes per second
        self._limit_known = False  # whether it has been read from disk or set by the user
        self.hub: HubState | None = None
        self.added: tuple[Path, ...] = ()  # folders to search for models, once `read_added` has read them
        self.deleted: list[DeletedPair] = []
        self.moving: ModelMove | None = None
        self._stop = threading.Event()
        self._timer = QTimer(self, interval=PROGRESS_MS)
        self._timer.timeout.connect(self.changed)

    def start(self) -> None:
        """Purge models that an earlier run deleted, and read the download limit."""

        def show_limit(limit: float | None) -> None:
            if not self._limit_known:
                self.limit, self._limit_known = limit, True
                self.changed.emit()

        self._background.run(lambda: DeletedModels().purge(), lambda _: self.read_folder())
        self._background.run(download_limit, show_limit)

    def close(self) -> None:
        """Purge deleted pairs and stop any move, keeping the files already copied."""
        self._stop.set()
        if self.deleted:
            DeletedModels().purge(self._take_deleted())

    def read_folder(self) -> None:

        def work() -> ModelFolder:
            cache = HubCache()
            return ModelFolder(cache.root, cache.free_bytes(), folder_variable(), model_folder_problem())

        self._background.run(work, self._show_folder)

    def _show_folder(self, folder: ModelFolder) -> None:
        if folder.problem and (self.folder is None or self.folder.problem != folder.problem):
            self.message.emit(translated(folder.problem))
        self.folder = folder
        self.changed.emit()

    # Added folders

    def read_added(self) -> None:
        self._background.run(added_folders, self._show_added)

    def add_folder(self, folder: Path) -> None:
        """Search a folder for models from now on."""
        self._background.run(lambda: self._change_added(add_folder, folder), self._show_change, saves=True)

    def remove_folder(self, folder: Path) -> None:
        """Stop searching a folder, and keep its files."""
        self._background.run(lambda: self._change_added(remove_folder, folder), self._show_change, saves=True)

    def _change_added(self, change: Callable[[Path], None], folder: Path) -> list[Path]:
        change(folder)
        return added_folders()

    def _show_added(self, folders: list[Path]) -> None:
        self.added = tuple(folders)
        self.changed.emit()

    def _show_change(self, folders: list[Path]) -> None:
        self._show_added(folders)
        self.files_changed.emit()

    # Deleting

    def delete(self, name: str, repos: Sequence[str], pair: Pair) -> None:
        """Delete repos from the model folder. `undo` restores them until the app quits."""

        def work() -> int:
            taken = DeletedModels().delete(repos)
            QueueFile().remove(pair)
            return taken

        def then(taken: int) -> None:
            self.deleted.append(DeletedPair(name, tuple(repos), taken))
            self.changed.emit()
            self.files_changed.emit()

        self._background.run(work, then)

    @Slot()
    def undo(self) -> None:
        """Restore the most recently deleted pair."""
        if self.deleted:
            self.restore(self.deleted[-1])

    def restore(self, one: DeletedPair) -> None:
        def failed(reason: str) -> None:
            if any(DeletedModels().size_of(repo) for repo in one.repos):
                self.deleted.append(one)  # can still be restored
                self.changed.emit()
            self.files_changed.emit()  # some files may have been restored
            self.message.emit(reason)

        self.deleted.remove(one)
        self._background.run(lambda: DeletedModels().restore(one.repos), lambda _: self.files_changed.emit(), failed, saves=True)
        self.changed.emit()

    @Slot()
    def purge(self) -> None:
        """Delete the removed pairs permanently."""

        def then(freed: int) -> None:
            self.message.emit(tr("{size} freed.", size=size(freed)))
            self.read_folder()

        repos = self._take_deleted()
        self._background.run(lambda: DeletedModels().purge(repos), then, saves=True)
        self.changed.emit()

    def _take_deleted(self) -> list[str]:
        deleted, self.deleted = self.deleted, []
        return [repo for one in deleted for repo in one.repos]

    # Moving

    @property
    def busy_reason(self) -> str:
        """The reason models can't be loaded or changed now, or an empty string."""
        if self.moving is None:
            return ""
        return tr("Models are being moved. Wait until the move is complete, or stop it in Settings.")

    def move(self, folder: Path) -> None:
        """Move all models. Downloads are paused, and deleted pairs are purged."""
        if self.moving is None:
            self.moving, self._stop = ModelMove(folder), threading.Event()
            self._timer.start()
            self._downloads.suspend(self._run_move)
            self.changed.emit()

    @Slot()
    def stop_moving(self) -> None:
        self._stop.set()

    def _run_move(self) -> None:
        move, stop, old = self.moving, self._stop, HubCache().root
        assert move is not None

        def then(done: bool) -> None:
            for note in move.notes:
                self.message.emit(translated(note))
            if done:
                self.deleted, new = [], HubCache().root
                self.message.emit(tr("Models moved to {folder}.", folder=new))
                self.moved.emit(old, new)
            else:
                self.message.emit(tr("Move stopped. Your models weren't moved, and copied files are kept for the next attempt."))
            self._end_move()

        def failed(reason: str) -> None:
            self.message.emit(reason)
            self._end_move()

        self._background.run(lambda: move.run(stop), then, failed, saves=True)

    def _end_move(self) -> None:
        self.moving = None
        self._timer.stop()
        self._downloads.resume()
        self.read_folder()
        self.files_changed.emit()

    # The network

    def set_limit(self, rate: float | None) -> None:
        """Limit downloads to `rate` bytes per second, and save the limit."""
        self.limit, self._limit_known = rate, True
        self._background.run(lambda: save_download_limit(rate), lambda _: self._downloads.set_limit(rate), saves=True)
        self.changed.emit()

    def read_hub(self) -> None:
        """Read the hub's address, and whether the keychain has a token for the hub."""

        def work() -> HubState:
            endpoint = Hub().endpoint
            return HubState(endpoint, mirror(), bool(os.environ.get("HF_ENDPOINT")), stored_token(endpoint) is not None)

        def show(hub: HubState) -> None:
            self.hub = hub
            self.changed.emit()

        self._background.run(work, show)

    def set_mirror(self, address: str, failed: Callable[[str], object]) -> None:
        """Save the address of another hub; an empty address restores the default."""
        self._background.run(lambda: save_mirror(address), lambda _: self._hub_changed(), failed, saves=True)

    def _hub_changed(self) -> None:
        self._downloads.suspend(self._downloads.resume)  # a new process reads the address and the keychain again
        self.read_hub()
        self.hub_changed.emit()

    def log_in(self, token: str, then: Callable[[str], object], failed: Callable[[str], object]) -> None:
        """Check and save a token in the keychain. `then` receives the account's name."""

        def saved(account: str) -> None:
            self._hub_changed()
            then(account)

        self._background.run(lambda: store_token(Hub().endpoint, token), saved, failed, saves=True)

    def log_out(self, then: Callable[[bool], object], failed: Callable[[str], object]) -> None:
        """Remove the token from the keychain. `then` receives whether there was one."""

        def removed(found: bool) -> None:
            self.read_hub()
            self.hub_changed.emit()
            then(found)

        self._background.run(lambda: delete_token(Hub().endpoint), removed, failed, saves=True)
