"""The saved endpoints, and the trial of one."""

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication

from app.session.background_work import Background
from app.text.language import tr, translated
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.requests import Endpoint
from mlx_engine.remote.endpoint import reaches
from mlx_engine.remote.saved_endpoints import SavedEndpoint, read_endpoints, with_secrets, write_endpoints
from mlx_engine.remote.server import RemoteServer
from mlx_engine.remote.trial import try_endpoint

log = logging.getLogger(__name__)


class Endpoints(QObject):
    """The list of endpoints. The keychain and servers are used on other threads.

    Attributes:
        saved: the endpoints, in the order in which they were added.
        tested: what the tests of saved endpoints have found in this run, by name.
        problem: why the list can't be read, else empty.
        own_server: returns the address of this app's local server, empty if it is off.
    """

    changed = Signal()
    message = Signal(str)

    _tried = Signal(object, object)

    def __init__(self, folder: Path | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._file = folder / "connections.json" if folder is not None else None
        self._writer = Background(self, threads=1)  # the keychain can take long
        self._writer.failed.connect(self.message)
        self._tried.connect(self._deliver)
        self.saved: tuple[SavedEndpoint, ...] = ()
        self.tested: dict[str, RemoteServer] = {}
        self.problem = ""
        self.own_server: Callable[[], str] = str
        self._read()
        application = QGuiApplication.instance()
        if isinstance(application, QGuiApplication):
            application.applicationStateChanged.connect(self.reload)

    @Slot()
    def reload(self) -> None:
        """Read the list if that failed before and its file is there again."""
        if self.problem and self._file is not None and os.path.exists(self._file):
            self._read()
            self.changed.emit()

    def _read(self) -> None:
        try:
            stored = read_endpoints(self._file) if self._file is not None else ()
        except UserError as error:
            self.problem = translated(error.text)
        else:
            added = {saved.name for saved in self.saved}
            self.saved = (*(saved for saved in stored if saved.name not in added), *self.saved)
            self.problem = ""

    def find(self, name: str) -> SavedEndpoint | None:
        return next((saved for saved in self.saved if saved.name == name), None)

    def refusal(self, endpoint: Endpoint) -> str:
        """Return why the app can't use an endpoint, or "". Its own server would hang."""
        if not reaches(endpoint, self.own_server()):
            return ""
        return tr("This is Slipstream's own server, which uses the models loaded here. Enter another address.")

    def put(self, new: SavedEndpoint, old: str = "") -> None:
        """Add an endpoint, or replace the one named `old`."""
        self.reload()
        known = self.find(old) is not None
        self._save(tuple(new if saved.name == old else saved for saved in self.saved) if known else (*self.saved, new))

    def remove(self, name: str) -> None:
        """Remove an endpoint, and its key from the keychain."""
        self.reload()
        self._save(tuple(saved for saved in self.saved if saved.name != name))

    def test(self, saved: SavedEndpoint, then: Callable[[RemoteServer | EngineText], object]) -> None:
        """Try an endpoint, and pass its server or the problem to `then`."""

        def work() -> None:
            found: RemoteServer | EngineText
            try:
                found = try_endpoint(with_secrets(saved))
            except UserError as error:
                found = error.text
            except Exception as error:
                log.exception("A connection couldn't be tested")
                found = EngineText("window", tr("Something went wrong ({error}). See the log for details.", error=error))
            with suppress(RuntimeError):  # the window has been deleted
                self._tried.emit(then, found)

        threading.Thread(target=work, name="connection test", daemon=True).start()  # quitting doesn't wait for it

    def close(self) -> None:
        """Finish saving."""
        self._writer.close()

    def _save(self, saved: tuple[SavedEndpoint, ...]) -> None:
        self.saved = saved
        self.changed.emit()
        if (file := self._file) is None:
            return

        def work() -> tuple[EngineText | None, tuple[SavedEndpoint, ...]]:
            return write_endpoints(file, saved), read_endpoints(file)

        def then(written: tuple[EngineText | None, tuple[SavedEndpoint, ...]]) -> None:
            problem, stored = written
            self.problem = ""
            if self.saved is saved:  # not changed since
                self.saved = stored  # without secrets
            self.changed.emit()
            if problem is not None:
                self.message.emit(translated(problem))

        self._writer.run(work, then, saves=True)

    @Slot(object, object)
    def _deliver(self, then: Callable[[RemoteServer | EngineText], object], found: RemoteServer | EngineText) -> None:
        then(found)
