"""Loading of pairs, one at a time."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Signal, Slot

from app.session.engine_adapter import Delivery, EngineAdapter
from app.session.help_pages import LOADING_PAGE, LOST_CONNECTION_PAGE, TUNING_PAGE
from app.session.measurements import BackgroundCalibration
from app.session.notice import Notice
from app.session.pair_survey import listed_name
from app.storage.wording import without_dflash
from app.text.language import sentences, tr, translated
from app.text.plain_text import one_line
from mlx_engine.contract.client import Run
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Event, Failed, LoadProgress, PairInfo
from mlx_engine.contract.requests import Connect, Endpoint, LoadPair, Sampling
from mlx_engine.models.library.installed import installed_drafters
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.remote.endpoint import other_computers
from mlx_engine.remote.saved_endpoints import SavedEndpoint, with_secrets

DEMO_NAME = "Demo pair"  # the engine's, not translated
MAX_NAME = 80  # characters of a name that a server sends


class PairLoader(QObject):
    """A loader of pairs that keeps one pair loaded at a time."""

    changed = Signal()  # the progress
    loaded = Signal()  # also when a pair was unloaded
    missed = Signal()  # loading failed or was canceled; `changed` follows
    notified = Signal(object)  # Notice

    drafters_found = Signal()

    _secrets_read = Signal(object)  # Endpoint, or Failed
    _drafters_read = Signal(object, tuple)  # LoadPair and folders

    def __init__(self, engine: EngineAdapter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._secrets_read.connect(self._connect)
        self._drafters_read.connect(self._keep_drafters)
        self.calibration = BackgroundCalibration(engine, self)
        self._run: Run | None = None
        self._also: Callable[[Event | None], object] = lambda event: None
        self._cancelled = False
        self._replaces = False  # another pair was loaded before
        self._arrived = False  # whether the pair that is being loaded is the one in use
        self.pair: PairInfo | None = None  # with the name that the window shows
        self.info: PairInfo | None = None  # as the engine reported it
        self.loaded_from: LoadPair | None = None
        self.loading_from: LoadPair | None = None
        self.here = LoadPair()  # the pair last loaded on this computer
        self.workers: Callable[[], tuple[str, ...]] = tuple  # returns the other Macs that run the next pair, too
        self.drafters: tuple[Path, ...] = ()  # on this disk for the loaded target, once `find_drafters` has found them
        self.connected_to: SavedEndpoint | None = None
        self.connecting_to: SavedEndpoint | None = None
        self.progress: LoadProgress | None = None

    @property
    def running(self) -> bool:
        return self.progress is not None

    @property
    def ready(self) -> bool:
        """Whether replies can start: a pair is loaded, and none is replacing it."""
        return self.pair is not None and not self.running

    @property
    def macs(self) -> int:
        """How many Macs run the loaded pair."""
        return 1 + len(self.loaded_from.workers) if self.loaded_from is not None else 1

    @property
    def has_demo(self) -> bool:
        return self.loaded_from is not None and self.loaded_from.target is None

    @property
    def can_dflash(self) -> bool:
        """Whether DFlash can be turned on; true while no pair is loaded."""
        return self.pair is None or not self.pair.why_plain

    @property
    def can_plain(self) -> bool:
        """Whether DFlash can be turned off; true while no pair is loaded."""
        return self.pair is None or not self.pair.why_not_plain

    @property
    def can_think(self) -> bool:
        return self.pair is not None and self.pair.can_think

    @property
    def can_see(self) -> bool:
        """Whether messages can have images."""
        return self.pair is not None and self.pair.can_see

    @property
    def why_cannot_see(self) -> str:
        """Why the target can't see images here, or "" if it can or that isn't known."""
        why = self.pair.why_cannot_see if self.pair is not None else None
        return translated(why) if why is not None else ""

    @property
    def can_call_tools(self) -> bool:
        return self.pair is not None and self.pair.can_call_tools

    @property
    def can_continue(self) -> bool:
        """Whether cut-off replies can be continued; true while no pair is loaded."""
        return self.pair is None or self.pair.can_continue

    @property
    def sampling(self) -> Sampling:
        """The pair's recommended sampling."""
        return self.pair.sampling if self.pair else Sampling()

    @property
    def sent_to(self) -> str:
        """Host of the server that receives messages, now or once connected, or ""."""
        if self.connecting_to is not None:
            return self.connecting_to.endpoint.host
        return self.pair.remote if self.pair is not None else ""

    @property
    def sent_away_to(self) -> str:
        """Hosts of other computers that receive messages now, or ""."""
        return other_computers(self.connected_to.endpoint) if self.connected_to is not None else ""

    def load(self, pair: LoadPair, also: Callable[[Event | None], object] = lambda event: None) -> bool:
        """Load a pair on the Macs in use, and return whether loading starts.

        It doesn't start while a pair is loading.

        Args:
            also: receives the run's events too.
        """
        if self.running:
            return False
        self._also, self.loading_from = also, replace(pair, workers=self.workers())
        self._start()
        self._run = self._engine.submit(self.loading_from, self._receive)
        return True

    def connect_to(self, saved: SavedEndpoint) -> None:
        """Use a server in place of a pair, unless a pair is loading."""
        if not self.running:
            self._also, self.connecting_to = lambda event: None, saved
            self._start()
            threading.Thread(target=self._read_secrets, args=(saved,), name="keychain", daemon=True).start()

    def _read_secrets(self, saved: SavedEndpoint) -> None:
        found: Endpoint | Failed
        try:
            found = with_secrets(saved)  # the keychain may ask the user
        except UserError as error:
            found = Failed.because(error)
        with suppress(RuntimeError):  # the window is gone
            self._secrets_read.emit(found)

    @Slot(object)
    def _connect(self, found: Endpoint | Failed) -> None:
        if isinstance(found, Failed):
            self._accept(found)
        if self._cancelled or isinstance(found, Failed):
            self._accept(None)
        else:
            self._run = self._engine.submit(Connect(found), self._receive)

    @Slot()
    def find_drafters(self) -> None:
        """Search the disk for all drafters of the loaded target. `drafters_found` follows."""
        if (pair := self.loaded_from) is not None:
            threading.Thread(target=self._read_drafters, args=(pair,), name="drafters", daemon=True).start()

    def _read_drafters(self, pair: LoadPair) -> None:
        target, drafter = (pair.target, pair.drafter) if pair.target else demo_pair()
        with suppress(UserError, RuntimeError):  # the files or the window are gone
            self._drafters_read.emit(pair, installed_drafters(target, drafter))

    @Slot(object, tuple)
    def _keep_drafters(self, pair: LoadPair, drafters: tuple[Path, ...]) -> None:
        if pair == self.loaded_from:
            self.drafters = drafters
            self.drafters_found.emit()

    def _start(self) -> None:
        self.progress = LoadProgress(0.0, EngineText("", tr("Starting")))
        self._cancelled, self._arrived, self._replaces = False, False, self.pair is not None
        self.changed.emit()

    def cancel(self) -> None:
        """Stop loading after the current file."""
        self._cancelled = self.running
        if self._run:
            self._run.cancel()

    def moved(self, old: Path, new: Path) -> None:
        """Update the folders of the pair last loaded after the model folder moved."""

        def follow(folder: Path | None) -> Path | None:
            return new / folder.relative_to(old) if folder is not None and folder.is_relative_to(old) else folder

        self.here = replace(self.here, target=follow(self.here.target), drafter=follow(self.here.drafter))
        self.drafters = tuple(new / one.relative_to(old) if one.is_relative_to(old) else one for one in self.drafters)
        if self.loaded_from is not None:
            self.loaded_from = self.here
            self.changed.emit()

    def _receive(self, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            self._accept(delivery.event)
            self._also(delivery.event)

    def _accept(self, event: Event | None) -> None:
        match event:
            case LoadProgress() as progress:
                self.progress = progress
                # At 0, files are checked and the old pair is still loaded. A server stays in use until a pair is loaded.
                if progress.fraction > 0 and self.pair is not None and not self.pair.remote:
                    self._set_pair(None)
                self.changed.emit()
            case PairInfo() as pair:
                self.loaded_from, self.connected_to = self.loading_from, self.connecting_to
                if self.loaded_from is not None and self.loaded_from.auto:
                    self.loaded_from = replace(self.loaded_from, drafter=pair.drafter_folder)
                self.here = self.loaded_from or self.here
                self.info, self._arrived = pair, True
                if pair.remote:
                    name, target, method, program = (
                        one_line(text, MAX_NAME) for text in (pair.name, pair.target, pair.drafter, pair.family)
                    )
                    pair = replace(pair, name=name, target=target, drafter=method, family=program)
                name = tr("Demo pair") if pair.name == DEMO_NAME else pair.name
                self._set_pair(replace(pair, name=self._listed_name(pair) or name))
                self.calibration.calibrate(pair)
                if pair.why_plain and not (pair.remote or pair.why_not_fastest):
                    text, page = without_dflash(pair.why_plain), "guide#why-was-a-reply-decoded-plainly"
                    self.notified.emit(Notice(text, help=page))
                if pair.why_not_tuned:
                    self.notified.emit(Notice(translated(pair.why_not_tuned), help=TUNING_PAGE))
                if pair.why_not_fastest:
                    self.notified.emit(Notice(translated(pair.why_not_fastest), help="models#which-drafter-does-auto-use"))
            case Failed() as failed:
                self._notify_failure(translated(failed), "error")
            case None:
                if self._cancelled and not self._arrived:
                    self._notify_failure(tr("Loading was canceled."), "info")
                if not self._arrived:
                    self.missed.emit()
                self._run = self.progress = self.loading_from = self.connecting_to = None
                self.changed.emit()

    def _listed_name(self, pair: PairInfo) -> str:
        if self.connected_to is not None:
            return f"{self.connected_to.name} · {pair.name}"
        loaded = self.loaded_from
        return listed_name((loaded.target, loaded.drafter)) if loaded is not None and loaded.target is not None else ""

    def _set_pair(self, pair: PairInfo | None) -> None:
        self.pair, self.drafters = pair, ()
        if pair is None:
            self.loaded_from = self.connected_to = self.info = None
        self.loaded.emit()

    def _notify_failure(self, text: str, kind: Literal["info", "error"]) -> None:
        """Report a failure and the pair that is still in use, or offer the demo pair."""
        if self._replaces:
            text = sentences(text, tr("{name} is still in use.", name=self.pair.name) if self.pair else tr("No models are loaded."))
        again = self.connecting_to.name if self.connecting_to else ""
        page = LOST_CONNECTION_PAGE if again else LOADING_PAGE
        self.notified.emit(Notice(text, kind, "" if self.pair else "load", "pair", again, help=page if kind == "error" else ""))
