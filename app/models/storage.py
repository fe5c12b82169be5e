"""Where models lie and what they take there: room, what was deleted and may come back, moving; and how and as whom to fetch."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.conversations.wording import size
from app.language import tr, translated
from app.models.background import Background
from app.models.downloads import Downloads
from mlx_engine.pairs.bandwidth import download_limit, save_download_limit
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.deleted_models import DeletedModels
from mlx_engine.pairs.download_queue import QueueFile
from mlx_engine.pairs.hub import Hub
from mlx_engine.pairs.model_folder import folder_variable, model_folder_problem
from mlx_engine.pairs.model_move import ModelMove
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.tokens import delete_token, store_token

BEAT_MS = 200


@dataclass(frozen=True)
class Place:
    """The model folder as it is now. Bytes; `fixed_by` names the environment variable that has the last word on it. `trouble`: why
    the folder that was chosen is not known."""

    folder: Path
    free: int
    fixed_by: str
    limit: float | None  # bytes a second
    trouble: str


@dataclass(frozen=True)
class Deleted:
    """A pair that can be brought back. `bytes` become free when it no longer can."""

    name: str
    repos: tuple[str, ...]
    bytes: int


class Storage(QObject):
    """All that takes time is done in the background."""

    changed = Signal()
    rearranged = Signal()  # files have come, gone or moved
    moved = Signal(object, object)  # from which folder, to which
    told = Signal(str)

    def __init__(self, background: Background, downloads: Downloads, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background, self._downloads = background, downloads
        self.place: Place | None = None
        self.limit: float | None = None  # bytes a second
        self._limit_known = False  # from then on it changes here, and what a look finds is older
        self.deleted: list[Deleted] = []
        self.moving: ModelMove | None = None
        self._stop = threading.Event()
        self._beat = QTimer(self)
        self._beat.setInterval(BEAT_MS)
        self._beat.timeout.connect(self.changed)

    def start(self) -> None:
        """Free what a run that was cut off had deleted."""
        self._background.run(lambda: DeletedModels().purge(), lambda freed: self.look(), self.told.emit)

    def close(self) -> None:
        """What was deleted goes for good; a move that runs stops, and what it copied is kept."""
        self._stop.set()
        if self.deleted:
            DeletedModels().purge([repo for one in self.deleted for repo in one.repos])
            self.deleted = []

    @Slot()
    def look(self) -> None:
        """How much room there is now."""
        self._background.run(_place, self._seen, self.told.emit)

    def _seen(self, place: Place) -> None:
        if place.trouble and (self.place is None or self.place.trouble != place.trouble):
            self.told.emit(place.trouble)
        self.place = place
        if not self._limit_known:
            self.limit, self._limit_known = place.limit, True
        self.changed.emit()

    # Deleting

    def delete(self, name: str, repos: Sequence[str], pair: Pair) -> None:
        """Take a pair's repos out of the model folder; `undo` brings them back until the app is quit."""

        def work() -> int:
            taken = DeletedModels().delete(repos)
            QueueFile().remove(pair)
            return taken

        def then(taken: int) -> None:
            self.deleted.append(Deleted(name, tuple(repos), taken))
            self.changed.emit()
            self.rearranged.emit()

        self._background.run(work, then, self.told.emit)

    @Slot()
    def undo(self) -> None:
        """Bring back what was deleted last."""
        if self.deleted:
            self.bring_back(self.deleted[-1])

    def bring_back(self, one: Deleted) -> None:
        self.deleted.remove(one)

        def refused(words: str) -> None:
            if any(DeletedModels().size_of(repo) for repo in one.repos):  # it is still there, to be brought back later
                self.deleted.append(one)
                self.changed.emit()
            self.rearranged.emit()  # a part of it may be back
            self.told.emit(words)

        self._background.run(lambda: DeletedModels().restore(one.repos), lambda _: self.rearranged.emit(), refused)
        self.changed.emit()

    @Slot()
    def free(self) -> None:
        """Give up bringing back, and have the room now."""
        repos = [repo for one in self.deleted for repo in one.repos]
        self.deleted = []

        def then(freed: int) -> None:
            self.told.emit(tr("{freed} are free again.", freed=size(freed)))
            self.look()

        self._background.run(lambda: DeletedModels().purge(repos), then, self.told.emit)
        self.changed.emit()

    # Moving

    def move(self, folder: Path) -> None:
        """Move all models. Downloads rest meanwhile, and what was deleted goes for good."""
        if self.moving is not None:
            return
        self.moving, self._stop = ModelMove(folder), threading.Event()
        self._beat.start()
        self._downloads.hold(self._begin_move)
        self.changed.emit()

    @Slot()
    def stop_moving(self) -> None:
        self._stop.set()

    def _begin_move(self) -> None:
        made, stop = self.moving, self._stop
        assert made is not None

        def work() -> tuple[Path, Path, bool]:
            before = Cache().root
            done = made.run(stop)
            return before, Cache().root, done

        def then(outcome: tuple[Path, Path, bool]) -> None:
            before, now, done = outcome
            for note in made.notes:
                self.told.emit(translated(note))
            if done:
                self.deleted = []
                self.told.emit(tr("The models lie in {folder} now.", folder=now))
                self.moved.emit(before, now)
            else:
                self.told.emit(tr("The move was stopped. The models lie where they lay; what was copied is kept for the next try."))
            self._end_move()

        def failed(sentence: str) -> None:
            self.told.emit(sentence)
            self._end_move()

        self._background.run(work, then, failed)

    def _end_move(self) -> None:
        self.moving = None
        self._beat.stop()
        self._downloads.go_on()
        self.look()
        self.rearranged.emit()

    @property
    def in_the_way(self) -> str:
        """Why models can be neither fetched, used nor deleted just now; empty when they can."""
        return tr("The models are being moved. Wait for its end, or stop it in Settings.") if self.moving is not None else ""

    # Fetching

    def set_limit(self, rate: float | None) -> None:
        """Hold downloads to so many bytes a second, from now on and after a restart."""

        self.limit, self._limit_known = rate, True
        self._background.run(lambda: save_download_limit(rate), lambda _: self._downloads.limit(rate), self.told.emit)
        self.changed.emit()

    def log_in(self, token: str, then: Callable[[str], None], failed: Callable[[str], None]) -> None:
        """Keep a token in the system's keychain; `then` is given the account's name."""

        def kept(account: str) -> None:
            self._downloads.hold(self._downloads.go_on)  # its process may have found the keychain empty
            then(account)

        self._background.run(lambda: store_token(Hub().endpoint, token), kept, failed)

    def log_out(self, then: Callable[[bool], None], failed: Callable[[str], None]) -> None:
        """Remove the token from the keychain; `then` is told whether there was one."""
        self._background.run(lambda: delete_token(Hub().endpoint), then, failed)


def _place() -> Place:
    cache, problem = Cache(), model_folder_problem()
    return Place(cache.root, cache.free_bytes(), folder_variable(), download_limit(), translated(problem) if problem else "")
