"""Background reading of attached files, and their token counts."""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.session.engine_adapter import Delivery, EngineAdapter
from app.session.notice import Notice
from app.session.page_drawer import PageDrawer
from app.storage.attached_files import MAX_TEXT, read, read_data
from app.storage.attachments import Attachment, message_of
from app.storage.pictures import Page
from app.text.language import number, tr, translated
from app.text.plain_text import clean
from mlx_engine.contract.errors import UserError, WorkCancelled
from mlx_engine.contract.requests import CountTokens, GenerationRequest
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.media import media_process

MOST_FILES = 100  # of a message
MOST_REFUSALS = 5  # shown in one notice
THREADS = 4  # that read files of a message, without abandoned ones

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Reading:
    """A file that is being read."""

    path: Path  # only a name, if the file was pasted
    files: list[Attachment]  # list of the file's message, which may no longer be open
    work: Callable[[threading.Event], Attachment]
    place: int = field(default_factory=count().__next__)  # in the order of attaching
    started: bool = False
    cancel: threading.Event = field(default_factory=threading.Event)
    result: Attachment | str | None = None  # or an error message


class AttachmentReader(QObject):
    """A reader of the composer's files, each on a thread that may be abandoned.

    Pages of PDFs are drawn when the files have been added to the open message.

    Args:
        can_count: returns whether a pair on this computer can count tokens. Files aren't sent to a server to be counted.
        can_see: returns whether the pair sees images. Otherwise, pages of PDFs aren't drawn.
    """

    changed = Signal()
    refused = Signal(object)  # Notice or str
    incomplete = Signal()  # the refused files are of the open message

    _read = Signal(object)  # Reading, from its thread

    def __init__(
        self, engine: EngineAdapter, can_count: Callable[[], bool], can_see: Callable[[], bool], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._engine, self._can_count, self._can_see = engine, can_count, can_see
        self._read.connect(self._take)
        self._drawer = PageDrawer(self)
        self._drawer.drawn.connect(self._replace)
        self._drawer.changed.connect(self._report)
        self.files: list[Attachment] = []
        self.counts: dict[Attachment, TokenCount] = {}  # of `files`
        self._counted_by = object()  # stands for the pair that counts
        self._readings: list[Reading] = []  # for all messages, in order per message
        self._refusals: list[tuple[int, str]] = []  # places of files attached together, and why not

    @property
    def reading(self) -> list[Reading]:
        """Files of the open message that are still being read, in order."""
        return [one for one in self._readings if one.files is self.files]

    @property
    def drawing(self) -> list[Attachment]:
        """PDFs of the open message whose pages are being drawn."""
        return self._drawer.pdfs

    @property
    def busy(self) -> bool:
        """Whether the open message isn't complete yet."""
        return bool(self.reading or self.drawing)

    @Slot(list)
    def attach(self, paths: Sequence[Path]) -> None:
        """Read files and add them to the open message, in order."""
        self._start([Reading(path, self.files, partial(read, path)) for path in paths])

    def attach_data(self, data: bytes, name: str) -> None:
        """Add a file that isn't on the disk, such as a pasted image."""
        self._start([Reading(Path(name), self.files, partial(read_data, data, name))])

    def add_text(self, text: str) -> Attachment | None:
        """Add a pasted text as a file. Return None if a message can't have it."""
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > MAX_TEXT or len(self.files) + len(self.reading) >= MOST_FILES:
            return None
        place = len(self.files) + len(self.reading) + 1
        one = Attachment(tr("Pasted text {number}", number=number(place)), clean(text), size)
        self.restore(one)
        return one

    def restore(self, one: Attachment) -> None:
        """Add a file that has been read, unless the message has it."""
        if self.current(one) is None:
            self.files.append(one)
            self._count(one)
            self._report()

    def _start(self, new: list[Reading]) -> None:
        places = max(0, MOST_FILES - len(self.files) - len(self.reading))
        self._readings += new[:places]
        if len(new) > places:
            self.incomplete.emit()
            self.refused.emit(tr("A message can't have more than {limit} files.", limit=number(MOST_FILES)))
        self._read_next(self.files)
        self.changed.emit()

    def _read_next(self, files: list[Attachment]) -> None:
        """Start as many threads for a message's files as allowed."""
        waiting = [one for one in self._readings if one.files is files and one.result is None]
        for one in waiting[:THREADS]:
            if not one.started:
                one.started = True
                threading.Thread(target=self._read_one, args=(one,), name="attachment", daemon=True).start()

    @Slot()
    def leave_out(self) -> None:
        """Remove files of the open message that are being read, and stop drawing."""
        self._stop(one for one in self.reading if one.result is None)  # a reading that has ended has a result
        self._add_results(self.files)
        self._drawer.stop()
        self._drawer.give_up(self.files)
        self.changed.emit()

    def _stop(self, readings: Iterable[Reading]) -> None:
        stopped = list(readings)
        self._readings = [one for one in self._readings if one not in stopped]
        for one in stopped:
            one.cancel.set()

    @Slot()
    def end(self) -> None:
        """Stop all reading. On return, no process reads a file."""
        self._stop(self._readings)
        self._drawer.stop()
        media_process.pdfs.stop()
        self.changed.emit()

    def set_files(self, files: list[Attachment]) -> None:
        """Switch to another message's files. Unfinished files stay with their message."""
        self._drawer.stop()
        self.files = files
        self._draw_again()
        self._report()

    def remove(self, one: Attachment) -> None:
        if (now := self.current(one)) is not None:
            self.files.remove(now)
            self._draw_pages()
            self._report()

    def move(self, one: Attachment, place: int) -> None:
        """Move a file to another place in the message, counted from 0."""
        if (now := self.current(one)) is not None:
            self.files.remove(now)
            self.files.insert(place, now)
            self._report()

    def current(self, one: Attachment) -> Attachment | None:
        """Return a file of the open message as it is now, or None if it was removed."""
        return next((file for file in self.files if file.is_same_file(one)), None)

    def set_pages(self, one: Attachment, page_list: Iterable[Page]) -> None:
        """Choose what is sent of a PDF's pages, and draw them for a pair that sees."""
        self._drawer.stop()
        if (now := self.current(one)) is not None:
            chosen = zip(now.page_list, page_list, strict=True)
            self._replace(now, replace(now, page_list=tuple(replace(page, sent=other.sent) for page, other in chosen)))
        self._draw_pages()
        self._report()

    @Slot(object, object)
    def _replace(self, old: Attachment, new: Attachment) -> None:
        if old in self.files:
            self.files[self.files.index(old)] = new
            self._count(new)

    @Slot()
    def count_all(self) -> None:
        """Count all tokens again, because another pair may have another tokenizer."""
        self.counts.clear()
        self._counted_by = object()
        self._draw_again()

    def _draw_again(self) -> None:
        """Count and draw all files of a message or for a pair."""
        self._drawer.retry()
        self._draw_pages()
        for one in self.files:
            self._count(one)

    def _draw_pages(self) -> None:
        self._drawer.draw(self.files if self._can_see() else ())

    @Slot()
    def _report(self) -> None:
        """Report a change of the files, and forget those that are gone."""
        self.counts = {one: count for one, count in self.counts.items() if one in self.files}
        self.changed.emit()

    def _read_one(self, one: Reading) -> None:
        try:
            one.result = one.work(one.cancel)
        except WorkCancelled:
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
        """Add a message's finished files, up to the first one still being read.

        Refused files are reported immediately.
        """
        refused, waiting = len(self._refusals), False
        for one in [one for one in self._readings if one.files is files]:
            waiting = waiting or one.result is None
            if isinstance(one.result, str):
                self._refusals.append((one.place, one.result))
            elif one.result is None or waiting:
                continue
            elif not any(one.result.is_same_file(file) for file in files):
                files.append(one.result)
                if files is self.files:
                    self._count(one.result)
            self._readings.remove(one)
        if len(self._refusals) > refused:
            texts = [text for _, text in sorted(self._refusals)]
            shown = texts[:MOST_REFUSALS]
            if more := len(texts) - len(shown):
                shown.append(tr("{count} more files can't be attached.", count=number(more)) if more > 1 else texts[-1])
            if files is self.files:
                self.incomplete.emit()
            page = "guide#how-do-i-ask-about-images-and-pdfs"
            self.refused.emit(Notice("\n".join(shown), topic="refused", help=page))  # instead of the notice with fewer files
        if not any(one.files is files for one in self._readings):
            self._refusals.clear()
        self._read_next(files)
        self._draw_pages()
        self.changed.emit()

    def _count(self, one: Attachment) -> None:
        if self._can_count() and one not in self.counts:
            request = CountTokens(GenerationRequest((message_of("", (one,), self._can_see()),)), estimate=True)
            self._engine.submit(request, partial(self._counted, one, self._counted_by))

    def _counted(self, one: Attachment, counted_by: object, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if isinstance(delivery.event, TokenCount) and one in self.files and counted_by is self._counted_by:
                self.counts[one] = delivery.event
                self._report()
