"""Between the composer and the files: reads them beside the window's thread, and has their tokens counted."""

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.conversations.attachments import Attachment, ReadCancellation, prompt_text, read
from app.engine_adapter import Delivery, EngineAdapter
from app.language import tr, translated
from mlx_engine.errors import UserError
from mlx_engine.events import TokenCount
from mlx_engine.requests import CountTokens, Message

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Reading:
    """A file that is being read, or was, while one before it still is."""

    path: Path
    files: list[Attachment]  # of the message that it goes with, which another may have taken the place of meanwhile
    cancellation: ReadCancellation = field(default_factory=ReadCancellation)
    result: Attachment | str | None = None  # or a sentence


class Attaching(QObject):
    """The files that go with the next message. Each is read in a thread of its own, which may never end; whoever does not want to
    wait leaves the file out."""

    changed = Signal()
    refused = Signal(str)  # a sentence

    _read = Signal(object)  # Reading, from the thread that reads

    def __init__(self, engine: EngineAdapter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._read.connect(self._take)
        self.files: list[Attachment] = []
        self.counts: dict[Attachment, TokenCount] = {}
        self._readings: list[Reading] = []  # in the order of the files; those of messages that are not open too
        self.can_count = False  # a pair is loaded

    @property
    def readings(self) -> list[Reading]:
        """The files that are being read for the message that is open, in order."""
        return [one for one in self._readings if one.files is self.files]

    @property
    def reading(self) -> int:
        """How many these are."""
        return len(self.readings)

    @Slot(list)
    def attach(self, paths: Sequence[Path]) -> None:
        """Read files and add them, in order, to the message that is open now."""
        if not paths:
            return
        for path in paths:
            one = Reading(path, self.files)
            self._readings.append(one)
            threading.Thread(target=self._read_one, args=(one,), name="attachment", daemon=True).start()
        self.changed.emit()

    @Slot()
    def leave_out(self) -> None:
        """Wait no longer for the files that are being read for the message that is open."""
        left_out = [one for one in self.readings if one.result is None]  # before any is ended: that gives it a result too
        self._readings = [one for one in self._readings if one not in left_out]
        for one in left_out:
            one.cancellation.cancel()
        self._hand_over(self.files)

    @Slot()
    def end(self) -> None:
        """Read nothing more, for no message: when this returns, no process reads a file, even if this one ends now."""
        for one in self._readings:
            one.cancellation.cancel()
        self._readings.clear()
        self.changed.emit()

    def set_files(self, files: list[Attachment]) -> None:
        """Another message is open: these are its files. What is still being read for the one before goes into its own list, which
        whoever wants to come back to it keeps."""
        self.files = files
        for one in self.files:
            self._count(one)
        self.changed.emit()

    def remove(self, one: Attachment) -> None:
        """Leave a file out again."""
        if one in self.files:
            self.files.remove(one)
            self.changed.emit()

    @Slot()
    def count_all(self) -> None:
        """A pair was loaded, which may count differently."""
        self.can_count = True
        self.counts.clear()
        for one in self.files:
            self._count(one)

    def _read_one(self, one: Reading) -> None:
        try:
            one.result = read(one.path, one.cancellation)
        except UserError as error:
            one.result = translated(error.text)
        except Exception:
            log.exception("An attachment could not be read")
            one.result = tr("“{name}” could not be read.", name=one.path.name)
        with suppress(RuntimeError):  # the window has gone meanwhile
            self._read.emit(one)

    @Slot(object)
    def _take(self, one: Reading) -> None:
        if one in self._readings:
            self._hand_over(one.files)

    def _hand_over(self, files: list[Attachment]) -> None:
        """Those of one message that have been read, up to the first that has not."""
        for one in [one for one in self._readings if one.files is files]:
            if one.result is None:
                break
            self._readings.remove(one)
            if isinstance(one.result, str):
                self.refused.emit(one.result)
            elif one.result not in files:
                files.append(one.result)
                if files is self.files:
                    self._count(one.result)
        self.changed.emit()

    def _count(self, one: Attachment) -> None:
        if self.can_count and one not in self.counts:
            self._engine.submit(CountTokens((Message("user", prompt_text("", (one,))),)), partial(self._counted, one))

    def _counted(self, one: Attachment, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if isinstance(delivery.event, TokenCount):
                self.counts[one] = delivery.event
                self.changed.emit()
