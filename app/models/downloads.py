"""Downloads in a process of its own, with commands and events as JSON lines."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QObject, QProcess, QTimer, Signal, Slot

from app import child
from app.language import tr, translated
from app.models.candidate import PairState
from mlx_engine.errors import EngineText, UserError
from mlx_engine.pairs.download_queue import QueuedPair, QueueFile, text_from_json
from mlx_engine.pairs.pair import Pair

log = logging.getLogger(__name__)

MODULE = "mlx_engine.pairs.download_queue"
EXIT_MS = 5000


@dataclass(frozen=True)
class PairDownload:
    """A pair in the queue. Sizes in bytes, speed in bytes per second."""

    state: PairState  # waiting, running, paused, or failed
    done: int = 0
    total: int = 0
    speed: float = 0.0
    seconds_left: float | None = None
    note: EngineText | None = None  # what it waits for, or why it failed

    @property
    def fraction(self) -> float:
        return self.done / self.total if self.total else 0.0

    def stopped(self, state: PairState, note: EngineText | None = None) -> "PairDownload":
        return replace(self, state=state, note=note, speed=0.0, seconds_left=None)


class Downloads(QObject):
    """Starts the process when there is something to download."""

    changed = Signal()
    finished = Signal(object, list)  # Pair, list of EngineText
    removed = Signal()  # another program has finished or canceled a download

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.pairs: dict[Pair, PairDownload] = {}
        self.problem = ""  # why nothing can be downloaded
        self._process: QProcess | None = None
        self._incomplete = b""
        self._closed = False
        self._suspended: Callable[[], None] | None = None  # called when the process has ended
        self._pending: list[tuple[str, Pair]] = []  # commands for when downloads resume

    def load(self, queued: tuple[QueuedPair, ...]) -> None:
        """Continue the downloads of an earlier run."""
        self._show_queue(queued)
        if any(one.state == "waiting" for one in queued):
            self._start()

    def add(self, pair: Pair) -> None:
        """Download a pair or resume its download."""
        self.pairs[pair] = self.pairs.get(pair, PairDownload("waiting")).stopped("waiting")
        self._send("add", pair)

    def pause(self, pair: Pair) -> None:
        if pair in self.pairs:
            self.pairs[pair] = self.pairs[pair].stopped("paused")
        self._send("pause", pair)

    def cancel(self, pair: Pair) -> None:
        """Stop a download and delete the partial files."""
        self.pairs.pop(pair, None)
        self._send("cancel", pair)

    def set_limit(self, rate: float | None) -> None:
        """Limit the running process. A later process reads the saved limit."""
        if self._process is not None:
            self._process.write(json.dumps({"do": "limit", "bytes_per_s": rate}).encode() + b"\n")

    def suspend(self, then: Callable[[], None]) -> None:
        """End the process, then call `then`. No process starts before `resume`."""
        self._suspended = then
        if self._process is None:
            then()
        else:
            self._process.closeWriteChannel()
            QTimer.singleShot(2 * EXIT_MS, self._process, self._process.kill)

    def resume(self) -> None:
        """Continue after `suspend`."""
        self._suspended = None
        commands, self._pending = self._pending, []
        added = {pair: self.pairs[pair] for _, pair in commands if pair in self.pairs}
        self.load(QueueFile().read())
        self.pairs |= added
        for command, pair in commands:
            self._send(command, pair)

    @property
    def running(self) -> bool:
        return any(one.state in ("waiting", "running") for one in self.pairs.values())

    def close(self) -> None:
        """End the process and keep the partial files."""
        self._closed = True
        process, self._process = self._process, None
        if process is not None:
            process.blockSignals(True)
            process.closeWriteChannel()
            if not process.waitForFinished(EXIT_MS):
                process.kill()
                process.waitForFinished(EXIT_MS)

    # The process

    def _start(self) -> QProcess | None:
        if self._process is None and not self._closed and self._suspended is None:
            self._process, self._incomplete = QProcess(self), b""
            self._process.setStandardErrorFile(QProcess.nullDevice())
            self._process.readyReadStandardOutput.connect(self._read)
            self._process.finished.connect(self._ended)
            self._process.errorOccurred.connect(self._failed)
            self._process.start(*child.command(MODULE))
        return self._process

    def _send(self, command: str, pair: Pair) -> None:
        if self._suspended is not None:
            self._pending.append((command, pair))
        elif (process := self._start()) is not None:
            self.problem = ""
            process.write(json.dumps({"do": command, "target": pair.target, "drafter": pair.drafter}).encode() + b"\n")
        self.changed.emit()

    @Slot()
    def _read(self) -> None:
        if self._process is not None:
            self.receive(bytes(self._process.readAllStandardOutput().data()))

    @Slot(QProcess.ProcessError)
    def _failed(self, error: QProcess.ProcessError) -> None:
        """A process that can't start does not report its end."""
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:
            log.error("Can't start the download process: %s", self._process.errorString())
            self.problem = tr("Can’t start the download process. If you moved or replaced Slipstream, restart it.")
            self._ended()

    @Slot()
    def _ended(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            self.receive(bytes(process.readAllStandardOutput().data()))
            process.deleteLater()
        if self._suspended is not None:
            self._suspended()
        elif not self._closed and self.running:
            self.problem = self.problem or tr("The download process stopped unexpectedly. Click Resume to continue.")
            for pair, one in self.pairs.items():
                if one.state in ("waiting", "running"):
                    self.pairs[pair] = one.stopped("failed", EngineText("window", self.problem))
        self.changed.emit()

    def receive(self, data: bytes) -> None:
        """Accept output of the process."""
        *lines, self._incomplete = (self._incomplete + data).split(b"\n")
        for line in lines:
            try:
                self._accept(json.loads(line))
            except (ValueError, KeyError, TypeError, UserError):
                log.exception("Can't read a line of the download process")
        if lines:
            self.changed.emit()

    def _accept(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "queue":
            self._show_queue(tuple(queued for one in event["pairs"] if (queued := QueuedPair.from_json(one))))
            return
        reason = text_from_json(event.get("reason"))
        if kind == "error" and "target" not in event:
            self.problem = translated(reason) if reason else ""
            return
        pair = Pair(event["target"], event["drafter"])
        known = self.pairs.get(pair)
        if kind == "progress" and known is not None and known.state in ("waiting", "running"):
            self.pairs[pair] = PairDownload(
                "running",
                event["done"],
                event["total"],
                event["bytes_per_s"],
                event["seconds_left"],
                text_from_json(event["status"]),
            )
        elif kind in ("failed", "error") and known is not None:
            self.pairs[pair] = known.stopped("failed", reason)
        elif kind == "ready":
            self.pairs.pop(pair, None)
            self.finished.emit(pair, [note for one in event["notes"] if (note := text_from_json(one))])

    def _show_queue(self, queued: tuple[QueuedPair, ...]) -> None:
        before, self.pairs = self.pairs, {}
        for one in queued:
            known = before.get(one.pair, PairDownload("waiting"))
            if one.state != "waiting":
                known = known.stopped(one.state, one.reason)
            elif known.state != "running":
                known = replace(known, state="waiting", note=one.reason)
            self.pairs[one.pair] = known
        if set(before) - set(self.pairs):
            self.removed.emit()
