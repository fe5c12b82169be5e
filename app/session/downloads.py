"""Downloads in a child process, which exchanges JSON lines with the app."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from PySide6.QtCore import QObject, QProcess, QTimer, Signal, Slot

from app.storage.wording import size
from app.system import child
from app.text.language import tr, translated
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.models.downloads.download_queue import QueuedPair, QueueFile, text_from_json
from mlx_engine.models.library.pair import Pair

log = logging.getLogger(__name__)

MODULE = "mlx_engine.models.downloads.download_queue"
EXIT_MS = 5000
IDLE_MS = 2000  # the process ends after this time without downloads

PairState = Literal["unavailable", "absent", "waiting", "running", "paused", "failed", "ready", "loading", "loaded"]


@dataclass(frozen=True)
class PairDownload:
    """The download of one pair. Sizes are in bytes, and speed in bytes per second."""

    state: PairState  # waiting, running, paused, or failed
    done: int = 0
    total: int = 0
    speed: float = 0.0
    seconds_left: float | None = None
    note: EngineText | None = None  # the reason for waiting or failing

    @property
    def fraction(self) -> float:
        return self.done / self.total if self.total else 0.0

    @property
    def text(self) -> str:
        """The progress in words: bytes, speed, time left, and state."""
        if self.state == "failed":
            return tr("Stopped. Partial download kept.")
        parts = []
        if self.total:
            parts.append(tr("{done} of {total}", done=size(self.done), total=size(self.total)))
        if self.state == "running":
            if self.speed:
                parts.append(f"{size(self.speed)}/s")
            if self.seconds_left is not None and self.total and self.done < self.total:
                parts.append(tr("{time} left", time=duration(self.seconds_left)))
            if not parts:
                parts.append(tr("Connecting…"))
        else:
            parts.append(tr("Paused. Partial download kept.") if self.state == "paused" else tr("Waiting"))
        if self.note:
            parts.append(translated(self.note))
        return " · ".join(parts)

    def stopped(self, state: PairState, note: EngineText | None = None) -> "PairDownload":
        return replace(self, state=state, note=note, speed=0.0, seconds_left=None)


def duration(seconds: float) -> str:
    """Format a duration in its largest units, such as "1 h 2 min"."""
    if seconds < 59.5:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Downloads(QObject):
    """The download queue. Its process runs only while there are downloads."""

    changed = Signal()
    finished = Signal(object, list)  # Pair, list of EngineText
    removed = Signal()  # another program finished or canceled a download

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.pairs: dict[Pair, PairDownload] = {}
        self.problem = ""  # why nothing can be downloaded
        self._process: QProcess | None = None
        self._incomplete = b""
        self._closed = False
        self._suspended: Callable[[], None] | None = None  # called after the process has ended
        self._pending: list[tuple[str, Pair]] = []  # commands for the next process
        self._idle_timer = QTimer(self, singleShot=True, interval=IDLE_MS)  # the reported queue may lack the latest command
        self._idle_timer.timeout.connect(self._end_if_idle)

    def load(self, queued: tuple[QueuedPair, ...]) -> None:
        """Continue the downloads of an earlier run."""
        self._show_queue(queued)
        if any(one.state == "waiting" for one in queued):
            self._start()

    def follow(self, queued: tuple[QueuedPair, ...]) -> None:
        """Show a queue that another program has changed, unless the process runs."""
        if self._process is None and self._suspended is None and not self.problem:
            self._show_queue(queued)
            self.changed.emit()

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
        """Limit the running process, in bytes per second.

        Later processes read the saved limit.
        """
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
        added = {pair: self.pairs[pair] for _, pair in self._pending if pair in self.pairs}
        self.load(QueueFile().read())
        self.pairs |= added
        self._send_pending()

    def _send_pending(self) -> None:
        self._suspended = None
        commands, self._pending = self._pending, []
        for command, pair in commands:
            self._send(command, pair)

    @Slot()
    def _end_if_idle(self) -> None:
        if self._process is not None and self._suspended is None and not self.running:
            self.suspend(self._send_pending)

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
        """Handle a process that can't start, which doesn't emit `finished`."""
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:
            log.error("Can't start the download process: %s", self._process.errorString())
            self.problem = tr("Can't start the download process. If you moved or replaced Slipstream, restart it.")
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
        """Handle output of the process, buffering an incomplete line."""
        *lines, self._incomplete = (self._incomplete + data).split(b"\n")
        for line in lines:
            try:
                self._accept(json.loads(line))
            except (ValueError, KeyError, TypeError, UserError):
                log.exception("Can't read a line from the download process")
        if lines:
            self.changed.emit()
        self._idle_timer.start()

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
            done, total, speed, left = (event[name] for name in ("done", "total", "bytes_per_s", "seconds_left"))
            self.pairs[pair] = PairDownload("running", done, total, speed, left, text_from_json(event["status"]))
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
