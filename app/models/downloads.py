"""The download queue as the window sees it: a process of its own, told by lines and heard by lines."""

import json
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QObject, QProcess, QTimer, Signal, Slot

from app import child
from app.language import tr, translated
from mlx_engine.errors import EngineText, UserError
from mlx_engine.pairs.download_queue import QueuedPair, QueueFile, text_from_json
from mlx_engine.pairs.pair import Pair

log = logging.getLogger(__name__)

BEAT_MS = 100
MODULE = "mlx_engine.pairs.download_queue"
GOODBYE_MS = 5000


@dataclass(frozen=True)
class Transfer:
    """One pair on its way. Bytes; the speed is bytes a second."""

    state: str  # waiting, running, paused, failed
    done: int = 0
    total: int = 0
    speed: float = 0.0
    seconds_left: float | None = None
    words: EngineText | None = None


class Downloads(QObject):
    """Starts the process when there is something to fetch; tells the window on a beat, never a signal a line."""

    changed = Signal()
    ready = Signal(object, list)  # Pair, notes
    left = Signal()  # a pair has left the queue by another program's doing: it may be on this disk now, or no more

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.transfers: dict[Pair, Transfer] = {}
        self.trouble = ""  # why nothing can be fetched at all
        self._process: QProcess | None = None
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._closed = False
        self._then: Callable[[], None] | None = None  # to be done once the process has ended, while nothing may be fetched
        self._meanwhile: list[tuple[str, Pair]] = []  # commands that wait for `go_on`
        self._beat = QTimer(self)
        self._beat.setInterval(BEAT_MS)
        self._beat.timeout.connect(self._take)

    def resume_queue(self, queued: tuple[QueuedPair, ...]) -> None:
        """Go on with what an earlier run left."""
        self._show_queue(queued)
        if any(one.state == "waiting" for one in queued):
            self._start()

    def add(self, pair: Pair) -> None:
        """Fetch a pair, or go on with it."""
        known = self.transfers.get(pair, Transfer("waiting"))
        self.transfers[pair] = replace(known, state="waiting", words=None, speed=0.0, seconds_left=None)
        self._tell("add", pair)
        self.changed.emit()

    def pause(self, pair: Pair) -> None:
        if pair in self.transfers:
            self.transfers[pair] = replace(self.transfers[pair], state="paused", speed=0.0, seconds_left=None)
        self._tell("pause", pair)
        self.changed.emit()

    def cancel(self, pair: Pair) -> None:
        """Stop fetching and remove what came."""
        self.transfers.pop(pair, None)
        self._tell("cancel", pair)
        self.changed.emit()

    def limit(self, rate: float | None) -> None:
        """At most so many bytes a second. A process that starts later finds the limit where it is kept."""
        if self._process is not None:
            self._process.write(json.dumps({"do": "limit", "bytes_per_s": rate}).encode() + b"\n")

    def hold(self, then: Callable[[], None]) -> None:
        """Let the process end, keep what came, and then do that. `go_on` lets it start again."""
        self._then = then
        if self._process is None:
            then()
            return
        self._process.closeWriteChannel()
        QTimer.singleShot(2 * GOODBYE_MS, self._process, self._process.kill)

    def go_on(self) -> None:
        """After `hold`."""
        self._then = None
        commands, self._meanwhile = self._meanwhile, []
        asked = {pair: self.transfers[pair] for _, pair in commands if pair in self.transfers}
        self.resume_queue(left_in_queue())
        self.transfers |= asked
        for do, pair in commands:
            self._tell(do, pair)

    @property
    def running(self) -> bool:
        return any(one.state in ("waiting", "running") for one in self.transfers.values())

    def close(self) -> None:
        """Let the process end; what came is kept."""
        self._closed = True
        self._beat.stop()
        process, self._process = self._process, None
        if process is not None:
            process.blockSignals(True)
            process.closeWriteChannel()
            if not process.waitForFinished(GOODBYE_MS):
                process.kill()
                process.waitForFinished(GOODBYE_MS)

    # The process

    def _start(self) -> QProcess | None:
        if self._process is None and not self._closed and self._then is None:
            process = QProcess(self)
            program, arguments = child.command(MODULE)
            process.setStandardErrorFile(QProcess.nullDevice())
            process.readyReadStandardOutput.connect(self._read)
            process.finished.connect(self._ended)
            process.errorOccurred.connect(self._failed)
            self._rest = b""
            self._process = process
            self._beat.start()
            process.start(program, arguments)
        return self._process

    def _tell(self, do: str, pair: Pair) -> None:
        if self._then is not None:
            self._meanwhile.append((do, pair))
            return
        process = self._start()
        if process is not None:
            self.trouble = ""
            process.write(json.dumps({"do": do, "target": pair.target, "drafter": pair.drafter}).encode() + b"\n")

    @Slot()
    def _read(self) -> None:
        if self._process is not None:
            *lines, self._rest = (self._rest + bytes(self._process.readAllStandardOutput().data())).split(b"\n")
            self._lines.extend(lines)

    @Slot(QProcess.ProcessError)
    def _failed(self, error: QProcess.ProcessError) -> None:
        """A process that cannot start never ends either."""
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:
            log.error("The download process cannot start: %s", self._process.errorString())
            self.trouble = tr("The download process cannot be started. If Slipstream was moved or replaced, start it again.")
            self._ended()

    @Slot()
    def _ended(self) -> None:
        self._read()
        if self._process is not None:
            self._process.deleteLater()
        self._process = None
        self._take()
        if self._then is not None:
            self._then()
        elif not self._closed and self.running:
            if not self.trouble:
                self.trouble = tr("The download process ended by itself. What came is kept; press Resume to go on.")
            for pair, one in self.transfers.items():
                if one.state in ("waiting", "running"):
                    self.transfers[pair] = replace(
                        one, state="failed", words=EngineText("window", self.trouble), speed=0.0, seconds_left=None
                    )
        if self._process is None:  # else another was started just now
            self._beat.stop()
        self.changed.emit()

    @Slot()
    def _take(self) -> None:
        touched = bool(self._lines)
        while self._lines:
            try:
                self._hear(json.loads(self._lines.popleft()))
            except (ValueError, KeyError, TypeError, UserError):
                log.exception("A line of the download process makes no sense")
        if touched:
            self.changed.emit()

    def _hear(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "error":
            self._refused(text_from_json(event["reason"]), Pair(event["target"], event["drafter"]) if "target" in event else None)
            return
        if kind == "queue":
            self._show_queue(tuple(queued for one in event["pairs"] if (queued := QueuedPair.from_json(one))))
            return
        pair = Pair(event["target"], event["drafter"])
        known = self.transfers.get(pair)
        if kind == "progress" and known is not None and known.state in ("waiting", "running"):
            self.transfers[pair] = Transfer(
                "running",
                event["done"],
                event["total"],
                event["bytes_per_s"],
                event["seconds_left"],
                text_from_json(event["status"]),
            )
        elif kind == "failed" and known is not None:
            self.transfers[pair] = replace(
                known, state="failed", words=text_from_json(event["reason"]), speed=0.0, seconds_left=None
            )
        elif kind == "ready":
            self.transfers.pop(pair, None)
            self.ready.emit(pair, [note for one in event["notes"] if (note := text_from_json(one))])

    def _refused(self, reason: EngineText | None, pair: Pair | None) -> None:
        """A command was not obeyed; or, where no pair is named, nothing can be."""
        if pair is None:
            self.trouble = translated(reason) if reason else ""
        elif pair in self.transfers:
            self.transfers[pair] = replace(self.transfers[pair], state="failed", words=reason, speed=0.0, seconds_left=None)

    def _show_queue(self, queued: tuple[QueuedPair, ...]) -> None:
        shown: dict[Pair, Transfer] = {}
        for one in queued:
            known = self.transfers.get(one.pair, Transfer("waiting"))
            running = known.state == "running" and one.state == "waiting"
            still = known if one.state == "waiting" else replace(known, speed=0.0, seconds_left=None)
            shown[one.pair] = replace(
                still, state="running" if running else one.state, words=known.words if running else one.reason
            )
        left = set(self.transfers) - set(shown)
        self.transfers = shown
        if left:
            self.left.emit()


def left_in_queue() -> tuple[QueuedPair, ...]:
    """What an earlier run did not finish."""
    return QueueFile().read()
