"""The other Macs that can run a pair together with this one."""

import json
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from PySide6.QtCore import QObject, QSettings, Signal, Slot

from app.session.background_work import Background
from app.storage.json_values import parse_json, read_as
from app.text.language import tr, translated
from mlx_engine.contract.errors import UserError
from mlx_engine.ring.links import pair
from mlx_engine.ring.pairing import KnownWorker, forget_worker
from mlx_engine.ring.worker_address import read_address

log = logging.getLogger(__name__)

_SETTING = "other_macs"


@dataclass(frozen=True)
class OtherMac:
    """A Mac on which `slipstream worker` runs.

    Attributes:
        name: its address, as `HOST:PORT`.
        used: whether the next pair is loaded on it, too.
    """

    name: str
    used: bool = True


class OtherMacs(QObject):
    """The list of other Macs, kept across restarts.

    Their pairing codes are in the keychain.

    Attributes:
        pair: connects to a worker, checks its code, and remembers it.
        adding: the address of the Mac that is being paired, or "".
        problem: why the last one couldn't be paired, or "".
    """

    changed = Signal()
    use_changed = Signal()  # the next pair is loaded on other Macs than before
    added = Signal()

    _paired = Signal(object, str)  # KnownWorker, and why it couldn't be paired

    def __init__(self, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self.pair: Callable[[KnownWorker], object] = pair
        self._keychain = Background(self, threads=1)
        self._attempt: KnownWorker | None = None  # the latest, unless it was canceled
        self._paired.connect(self._finish)
        self.macs = read_as(tuple[OtherMac, ...], parse_json(str(settings.value(_SETTING) or "[]")), ())
        self.problem = ""

    @property
    def in_use(self) -> tuple[str, ...]:
        """The addresses of the Macs for the next pair."""
        return tuple(mac.name for mac in self.macs if mac.used)

    @property
    def count(self) -> int:
        """How many Macs will run the next pair, with this one."""
        return 1 + len(self.in_use)

    @property
    def adding(self) -> str:
        return self._attempt.name if self._attempt is not None else ""

    def add(self, address: str, code: str) -> None:
        """Pair a Mac in the background, unless one is being paired.

        `added` or `problem` follows.
        """
        if self._attempt is not None:
            return
        found = read_address(address)
        if found is None:
            self._say(tr("“{address}” isn't an address such as 192.168.1.2 or mac.local:47820.", address=address.strip()))
        elif not code.strip():
            self._say(tr("Enter the pairing code that “slipstream worker” shows there."))
        else:
            self._attempt = KnownWorker(*found, code.strip())
            threading.Thread(target=self._connect, args=(self._attempt,), name="pairing", daemon=True).start()
            self._say("")

    @Slot()
    def cancel(self) -> None:
        """Forget the Mac that is being paired, and the problem with the last one."""
        self._attempt = None
        self._say("")

    def use(self, name: str, used: bool) -> None:
        """Load the next pair on a Mac, too, or no longer."""
        self._keep(tuple(replace(mac, used=used) if mac.name == name else mac for mac in self.macs))

    def remove(self, name: str) -> None:
        """Remove a Mac, and its code from the keychain."""
        self._keychain.run(lambda: forget_worker(name), saves=True)
        self._keep(tuple(mac for mac in self.macs if mac.name != name))

    def close(self) -> None:
        """Finish the work on the keychain."""
        self._keychain.close()

    def _connect(self, worker: KnownWorker) -> None:
        problem = ""
        try:
            self.pair(worker)
        except UserError as error:
            problem = translated(error.text)
        except Exception as error:
            log.exception("A Mac couldn't be paired")
            problem = tr("Something went wrong ({error}). See the log for details.", error=error)
        with suppress(RuntimeError):  # the window has been deleted
            self._paired.emit(worker, problem)

    @Slot(object, str)
    def _finish(self, worker: KnownWorker, problem: str) -> None:
        if worker is not self._attempt:  # canceled
            if not problem and worker.name not in (self.adding, *(mac.name for mac in self.macs)):
                self._keychain.run(lambda: forget_worker(worker.name), saves=True)
            return
        self._attempt = None
        if problem:
            self._say(problem)
        else:
            self._keep((*(mac for mac in self.macs if mac.name != worker.name), OtherMac(worker.name)))
            self.added.emit()

    def _say(self, problem: str) -> None:
        self.problem = problem
        self.changed.emit()

    def _keep(self, macs: tuple[OtherMac, ...]) -> None:
        before, self.macs = self.in_use, macs
        self._settings.setValue(_SETTING, json.dumps([asdict(mac) for mac in macs]))
        self.changed.emit()
        if self.in_use != before:
            self.use_changed.emit()
