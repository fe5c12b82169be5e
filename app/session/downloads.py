"""Downloads in a child process, which exchanges JSON lines with the app."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.storage.wording import size
from app.system.json_process import JsonProcess
from app.text.language import tr, translated
from mlx_engine.contract.errors import EngineText
from mlx_engine.models.downloads.download_queue import QueuedPair, QueueFile, text_from_json
from mlx_engine.models.library.pair import Pair

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
        self.process = JsonProcess(MODULE, self._accept, self)
        self.process.received.connect(self._follow_lines)
        self.process.ended.connect(self._follow_end)
        self._closed = False
        self._suspended = 0  # calls of `suspend` without one of `resume`
        self._when_ended: list[Callable[[], None]] = []  # called after the process has ended
        self._pending: list[tuple[str, Pair, Path | None]] = []  # commands for the next process
        self._idle_timer = QTimer(self, singleShot=True, interval=IDLE_MS)  # the reported queue may lack the latest command
        self._idle_timer.timeout.connect(self._end_if_idle)

    def load(self, queued: tuple[QueuedPair, ...]) -> None:
        """Continue the downloads of an earlier run."""
        self._show_queue(queued)
        if any(one.state == "waiting" for one in queued):
            self._start()

    def follow(self, queued: tuple[QueuedPair, ...]) -> None:
        """Show a queue that another program has changed, unless the process runs."""
        if not self.process.running and not self._suspended and not self.problem:
            self._show_queue(queued)
            self.changed.emit()

    def add(self, pair: Pair, held: Path | None = None) -> None:
        """Download a pair or resume its download.

        Args:
            held: the target's folder if another app holds it.
        """
        self.pairs[pair] = self.pairs.get(pair, PairDownload("waiting")).stopped("waiting")
        self._send("add", pair, held)

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
        self.process.send({"do": "limit", "bytes_per_s": rate})

    def suspend(self, then: Callable[[], None]) -> None:
        """End the process, then call `then`. No process starts before `resume`.

        Several parts may suspend the downloads, each with its own `resume`.
        """
        self._suspended += 1
        self._when_ended.append(then)
        if not self.process.running:
            self._call_when_ended()
        elif len(self._when_ended) == 1:  # otherwise, the process is ending
            self.process.finish(2 * EXIT_MS)

    def _call_when_ended(self) -> None:
        waiting, self._when_ended = self._when_ended, []
        for then in waiting:
            then()

    def resume(self) -> None:
        """Continue after `suspend`, unless another part still suspends the downloads."""
        self._suspended -= 1
        if self._suspended:
            return
        added = {pair: self.pairs[pair] for _, pair, _ in self._pending if pair in self.pairs}
        self.load(QueueFile().read())
        self.pairs |= added
        self._send_pending()

    def _end_idling(self) -> None:
        """Continue after the process has ended because there was nothing to do."""
        self._suspended -= 1
        if not self._suspended:
            self._send_pending()

    def _send_pending(self) -> None:
        commands, self._pending = self._pending, []
        for command in commands:
            self._send(*command)

    @Slot()
    def _end_if_idle(self) -> None:
        if self.process.running and not self._suspended and not self.running:
            self.suspend(self._end_idling)

    @property
    def running(self) -> bool:
        return any(one.state in ("waiting", "running") for one in self.pairs.values())

    def close(self) -> None:
        """End the process and keep the partial files."""
        self._closed = True
        self.process.wait(EXIT_MS)

    # The process

    def _start(self) -> None:
        if not (self.process.running or self._closed or self._suspended):
            self.process.start()

    def _send(self, command: str, pair: Pair, held: Path | None = None) -> None:
        if self._suspended:
            self._pending.append((command, pair, held))
        else:
            self.problem = ""
            self._start()
            more = {"held": str(held)} if held else {}
            self.process.send({"do": command, "target": pair.target, "drafter": pair.drafter, **more})
        self.changed.emit()

    @Slot(bool)
    def _follow_end(self, started: bool) -> None:
        if not started:
            self.problem = tr("Can't start the download process. If you moved or replaced Slipstream, restart it.")
        if self._when_ended:
            self._call_when_ended()
        elif not self._closed and self.running:
            self.problem = self.problem or tr("The download process stopped unexpectedly. Click Resume to continue.")
            for pair, one in self.pairs.items():
                if one.state in ("waiting", "running"):
                    self.pairs[pair] = one.stopped("failed", EngineText("window", self.problem))
        self.changed.emit()

    @Slot()
    def _follow_lines(self) -> None:
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
