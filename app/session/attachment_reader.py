"""Background reading of attached files, and their token counts."""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.session.engine_adapter import Delivery, EngineAdapter
from app.storage.attachments import Attachment, prompt_text, read
from app.text.language import tr, translated
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import TokenCount
from mlx_engine.contract.requests import CountTokens, Message
from mlx_engine.media import media_process
from mlx_engine.media.media_process import MediaCancelled

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Reading:
    """A file that is being read."""

    path: Path
    files: list[Attachment]  # list of the file's message, which may no longer be open
    cancel: threading.Event = field(default_factory=threading.Event)
    result: Attachment | str | None = None  # or an error message


class AttachmentReader(QObject):
    """A reader of the composer's files, each on a thread that may be abandoned.

    Args:
        can_count: returns whether a pair on this computer can count tokens. Files aren't sent to a server to be counted.
    """

    changed = Signal()
    refused = Signal(str)

    _read = Signal(object)  # Reading, from its thread

    def __init__(self, engine: EngineAdapter, can_count: Callable[[], bool], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine, self._can_count = engine, can_count
        self._read.connect(self._take)
        self.files: list[Attachment] = []
        self.counts: dict[Attachment, TokenCount] = {}
        self._readings: list[Reading] = []  # for all messages, in order per message

    @property
    def reading(self) -> list[Reading]:
        """Files of the open message that are still being read, in order."""
        return [one for one in self._readings if one.files is self.files]

    @Slot(list)
    def attach(self, paths: Sequence[Path]) -> None:
        """Read files and add them to the open message, in order."""
        for path in paths:
            one = Reading(path, self.files)
            self._readings.append(one)
            threading.Thread(target=self._read_one, args=(one,), name="attachment", daemon=True).start()
        if paths:
            self.changed.emit()

    @Slot()
    def leave_out(self) -> None:
        """Remove files of the open message that are still being read."""
        left_out = [one for one in self.reading if one.result is None]  # a reading that has ended has a result
        self._readings = [one for one in self._readings if one not in left_out]
        for one in left_out:
            one.cancel.set()
        self._add_results(self.files)

    @Slot()
    def end(self) -> None:
        """Stop all reading. On return, no process reads a file."""
        for one in self._readings:
            one.cancel.set()
        self._readings.clear()
        media_process.pdfs.stop()
        self.changed.emit()

    def set_files(self, files: list[Attachment]) -> None:
        """Switch to another message's files. Unfinished files stay with their message."""
        self.files = files
        for one in self.files:
            self._count(one)
        self.changed.emit()

    def remove(self, one: Attachment) -> None:
        if one in self.files:
            self.files.remove(one)
            self.changed.emit()

    @Slot()
    def count_all(self) -> None:
        """Count all tokens again, because another pair may have another tokenizer."""
        self.counts.clear()
        for one in self.files:
            self._count(one)

    def _read_one(self, one: Reading) -> None:
        try:
            one.result = read(one.path, one.cancel)
        except MediaCancelled:
            return
        except UserError as error:
            one.result = translated(error.text)
        except Exception:
            log.exception("An attachment could not be read")
            one.result = tr("Can't read “{name}”.", name=one.path.name)
        with suppress(RuntimeError):  # the window is gone
            self._read.emit(one)

    @Slot(object)
    def _take(self, one: Reading) -> None:
        if one in self._readings:
            self._add_results(one.files)

    def _add_results(self, files: list[Attachment]) -> None:
        """Add a message's finished files, up to the first one still being read."""
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
        if self._can_count() and one not in self.counts:
            request = CountTokens((Message("user", prompt_text("", (one,))),), estimate=True)
            self._engine.submit(request, partial(self._counted, one))

    def _counted(self, one: Attachment, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if isinstance(delivery.event, TokenCount):
                self.counts[one] = delivery.event
                self.changed.emit()
