"""The process that tunes a drafter, which exchanges JSON lines with the window."""

import time
from pathlib import Path
from statistics import fmean
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.session.background_work import Background
from app.session.tuning_survey import TuningPair, TuningSurvey, survey
from app.system.json_process import JsonProcess
from app.text.language import tr, translated
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Tuned, WorkProgress
from mlx_engine.models.downloads.download_queue import text_from_json
from mlx_engine.models.files.tuning_files import UnfinishedRun, delete_runs, remove_lora, unfinished_run

MODULE = "mlx_engine.cli.tune_process"
KILL_MS = 120_000  # a training step of a large drafter takes seconds, a reply can take longer
_COUNTS = (("number", "total"), ("step", "steps"))  # values of progress texts


class TuningRunner(QObject):
    """A controller that tunes a drafter in its own process, one run at a time.

    A run ends with a result, or is paused: by the user, when Slipstream quits, or by an error. It can be continued, even after a
    restart.

    Args:
        chats: the database of the saved chats, or None if chats aren't saved.
        log_file: gets the process's error messages.

    Attributes:
        pair: the pair of the current or last run, or else the one in `surveyed`.
        surveyed: what is known about the pair, or None before that was read.
        reading: whether that is being read again.
        starting: whether the process will start once that was read.
        pausing: whether the run has been told to end.
        result: of the last run, or None.
        error: why the last run stopped, or an empty string.
    """

    changed = Signal()
    paused_found = Signal(str, float)  # name of a pair, and the progress of its paused run
    ended = Signal()  # with a result or an error

    def __init__(self, chats: Path | None = None, log_file: Path | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._chats, self._log_file = chats, log_file
        self._background = Background(self, threads=1)
        self._background.failed.connect(self._fail)
        self._process = JsonProcess(MODULE, self._accept, self)
        self._process.received.connect(self.changed)
        self._process.ended.connect(self._follow_end)
        self._discards = False  # delete the run once the process has ended
        self._closed = False
        self.pair: TuningPair | None = None
        self.surveyed: TuningSurvey | None = None
        self.reading = False
        self.starting = False
        self.pausing = False
        self.progress: WorkProgress | None = None
        self.remaining = RemainingTime()
        self.result: Tuned | None = None
        self.error = ""

    @property
    def running(self) -> bool:
        return self._process.running or self.starting

    @property
    def process_id(self) -> int | None:
        """The ID of the process, while it runs."""
        return self._process.process_id

    # What is known

    def look_at(self, pair: TuningPair | None) -> None:
        """Read what is known about a pair, unless a run is in progress."""
        if self.running:
            return
        if pair != self.pair:
            self.pair, self.surveyed, self.result, self.error = pair, None, None, ""
        self.reading = pair is not None
        if pair is not None:
            self._background.run(lambda: survey(pair, self._chats), lambda found: self._show_survey(pair, found))
        self.changed.emit()

    def find_paused(self, pair: TuningPair) -> None:
        """Look for a paused run of a pair. `paused_found` may follow."""

        def show(run: UnfinishedRun | None) -> None:
            if run is not None and not self.running:
                self.paused_found.emit(pair.name, run.fraction)

        self._background.run(lambda: unfinished_run(pair.target, pair.drafter), show)

    def _show_survey(self, pair: TuningPair, found: TuningSurvey) -> None:
        if pair == self.pair:
            self.surveyed, self.reading = found, False
            self.changed.emit()

    @Slot(str)
    def _fail(self, reason: str) -> None:
        self.starting = self.reading = self.pausing = False
        self.progress, self.error = None, reason
        self.changed.emit()

    # Commands

    @Slot()
    def start(self) -> None:
        """Start a run, or continue the paused one, unless memory doesn't suffice."""
        pair = self.pair
        if pair is None or self.running:
            return
        self.starting, self.pausing, self._discards = True, False, False
        self.result, self.error, self.remaining = None, "", RemainingTime()
        self.progress = WorkProgress(0.0, EngineText("", tr("Starting")))
        self._background.run(lambda: survey(pair, self._chats), lambda found: self._start_if_possible(pair, found))
        self.changed.emit()

    def _start_if_possible(self, pair: TuningPair, found: TuningSurvey) -> None:
        self.starting, self.surveyed = False, found
        self.error = self.error or found.why_not or found.short_of_memory
        if self.error or self._closed or self.pausing:
            self._end()
        else:
            self._launch(pair, found)
            self.changed.emit()

    def _launch(self, pair: TuningPair, found: TuningSurvey) -> None:
        self._process.start(str(self._log_file or ""))
        prompts = [[(message.role, message.content) for message in prompt] for prompt in found.prompts]
        self._process.send({"target": str(pair.target), "drafter": str(pair.drafter), "prompts": prompts, "log": self._log_name})

    @Slot()
    def pause(self) -> None:
        """Let the process save the run and end."""
        if self.running and not self.pausing:
            self.pausing = True
            self._process.finish(KILL_MS)
            self.changed.emit()

    @Slot()
    def pause_for_memory(self) -> None:
        """Pause the run, because memory is almost full."""
        self._pause_with(tr("Tuning was paused, because memory is almost full. Quit other apps, then continue."))

    def pause_for_quiet_mode(self) -> None:
        """Pause the run, because quiet mode was turned on."""
        self._pause_with(tr("Tuning was paused, because quiet mode is on. Continue it when you like."))

    def _pause_with(self, reason: str) -> None:
        if self.running and not self.pausing:
            self.error = reason
            self.pause()

    @Slot()
    def discard(self) -> None:
        """End the run, and delete what was generated and learned."""
        self._discards = True
        if self.running:
            self.pause()
        else:
            self._discard()

    @Slot()
    def remove(self) -> None:
        """Remove the result of earlier runs for the pair."""
        if (pair := self.pair) is not None and not self.running:
            self.result, self.error = None, ""
            self._background.run(lambda: remove_lora(pair.drafter, pair.target), lambda _: self.look_at(pair), saves=True)

    @Slot()
    def forget_result(self) -> None:
        """Forget the result of the last run, because a pair was loaded since."""
        self.result = None

    def close(self) -> None:
        """Pause the run, because Slipstream quits. `wait` for its end."""
        self._closed = True
        self.pause()

    def wait(self, milliseconds: int) -> None:
        """Wait until the process has saved and ended, and kill it if it takes longer."""
        self._background.close()
        self._process.wait(milliseconds)

    # The process

    @property
    def _log_name(self) -> str:
        return str(self._log_file or "the log")

    @property
    def _has_log(self) -> bool:
        """Whether the last process wrote errors. A killed process writes none."""
        return self._log_file is not None and self._log_file.is_file() and self._log_file.stat().st_size > 0

    def _accept(self, event: dict[str, Any]) -> None:
        match event.pop("event"):
            case "progress" if (step := text_from_json(event["step"])) is not None:
                self.progress = WorkProgress(min(max(float(event["fraction"]), 0.0), 1.0), step)
                self.remaining.note(step, time.monotonic())
            case "result":
                self.result = Tuned(**event)
            case "failed" if (reason := text_from_json(event["reason"])) is not None:
                self.error = translated(reason)
            case "paused":
                self.pausing = True

    @Slot(bool)
    def _follow_end(self, started: bool) -> None:
        if not started:
            self.error = tr("Can't start tuning. If you moved or replaced Slipstream, restart it.")
        if self.result is None and not self.error and not self.pausing:
            self.error = (
                tr("Tuning stopped unexpectedly. Details are in {log_file}. You can continue it.", log_file=self._log_name)
                if self._has_log
                else tr("Tuning stopped unexpectedly. You can continue it.")
            )
        self._end()

    def _end(self) -> None:
        """Delete the run if that was requested, or show what is known now."""
        self.progress, self.pausing = None, False
        if self._discards:
            self._discard()
        else:
            self.look_at(self.pair)
        if self.result is not None or self.error:
            self.ended.emit()

    def _discard(self) -> None:
        pair, self._discards, self.error = self.pair, False, ""
        self._background.run(delete_runs, lambda _: self.look_at(pair), saves=True)
        self.changed.emit()


class RemainingTime:
    """The time that the rest of a phase takes, measured from its latest steps."""

    FEWEST, LATEST = 3, 20  # steps to measure
    _SHORT = 0.1  # share of the mean below which a step was only read from the disk

    def __init__(self) -> None:
        self._code, self._at = "", 0.0
        self._durations: list[float] = []
        self.seconds: float | None = None

    def note(self, step: EngineText, now: float) -> None:
        """Note the start of a step.

        Args:
            step: its text, whose values count the steps of its phase.
            now: seconds from any time.
        """
        values = dict(step.values)
        done, total = next(((values[one], values[all]) for one, all in _COUNTS if one in values and all in values), (None, None))
        if step.code != self._code:
            self._code, self._durations, self.seconds = step.code, [], None
        else:
            self._durations = [*self._durations[1 - self.LATEST :], now - self._at]
        self._at = now
        if isinstance(done, int) and isinstance(total, int) and len(self._durations) >= self.FEWEST:
            mean = fmean(self._durations)
            real = [duration for duration in self._durations if duration >= self._SHORT * mean]
            self.seconds = (total - done) * fmean(real)
