"""Pictures from outside as Qt images, decoded in a child process, never by Qt."""

import logging
import queue
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

from PySide6.QtCore import QObject, QSize, Qt, Signal, Slot
from PySide6.QtGui import QImage

from app.storage.pictures import Picture, StoredFile
from app.storage.wording import size
from app.text.language import number, tr, translated
from mlx_engine.contract.errors import UserError, WorkCancelled

log = logging.getLogger(__name__)

FULL = QSize(0, 0)  # asks for all pixels
MOST_BYTES = 128 << 20  # of decoded pictures that are kept
MOST_PIXELS = 1 << 24  # of a decoded picture


@dataclass(frozen=True)
class Shown:
    """A picture as views show it: an image, or a page of a PDF.

    Attributes:
        name: what the user calls it.
        file: the image or the PDF.
        width, height: pixels; 0 if they are unknown before decoding.
        format: as in `ImageFacts`; empty if unknown.
        page: page of the PDF, from 1; 0 for an image.
    """

    name: str
    file: StoredFile
    width: int = 0
    height: int = 0
    format: str = ""
    frames: int = 1
    page: int = 0

    @classmethod
    def of(cls, name: str, picture: Picture) -> "Shown":
        return cls(name, picture.file, picture.width, picture.height, picture.format, picture.frames)

    @property
    def is_lost(self) -> bool:
        return not self.file.data

    @property
    def key(self) -> tuple[str, int]:
        return self.file.digest, self.page

    @property
    def facts(self) -> str:
        """Size in pixels and in bytes, and whether it is animated."""
        if self.is_lost:
            return tr("Missing")
        parts = [f"{number(self.width)} × {number(self.height)}"] if self.width else []
        parts += [size(len(self.file.data))] if not self.page else []
        return " · ".join([*parts, tr("first frame only")] if self.frames > 1 else parts)

    @property
    def alt_text(self) -> str:
        if self.page:
            return tr("Page {number} of {name}", number=number(self.page), name=self.name)
        return ", ".join((tr("Image: {name}", name=self.name), *filter(None, self.facts.split(" · "))))


def fitted(width: int, height: int, bound: QSize) -> QSize:
    """Return a picture's size within a bound and `MOST_PIXELS`, never enlarged."""
    share = min(1.0, sqrt(MOST_PIXELS / (width * height)))
    if not bound.isEmpty():
        share = min(share, bound.width() / width, bound.height() / height)
    found = QSize(max(1, int(width * share + 0.5)), max(1, int(height * share + 0.5)))
    if found.width() * found.height() > MOST_PIXELS:  # rounded up
        found = QSize(max(1, int(width * share)), max(1, int(height * share)))
    return found.boundedTo(QSize(MOST_PIXELS, MOST_PIXELS))


Result = QImage | str  # or an error message
Request = tuple[Shown, int, int]


class PictureLoader(QObject):
    """A decoder of pictures on a thread of its own, which keeps the latest ones.

    The picture that was asked for last is decoded first, because it is probably the visible one.
    """

    decoded = Signal(object)  # key of a picture

    _finished = Signal(object, object)  # Request; (pixels, width, height) or an error message, from the thread

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._results: OrderedDict[tuple[tuple[str, int], int, int], Result] = OrderedDict()
        self._waiting: dict[tuple[tuple[str, int], int, int], list[Callable[[Result], object]]] = {}
        self._queue: queue.LifoQueue[Request] = queue.LifoQueue()
        self._cancel = threading.Event()
        self._thread: threading.Thread | None = None
        self._finished.connect(self._keep, Qt.ConnectionType.QueuedConnection)

    @property
    def bytes(self) -> int:
        """Size of the pictures that are kept."""
        return sum(found.sizeInBytes() for found in self._results.values() if isinstance(found, QImage))

    @property
    def busy(self) -> bool:
        """Whether pictures are still to be decoded."""
        return bool(self._waiting)

    def get(self, shown: Shown, bound: QSize, then: Callable[[Result], object] | None = None) -> Result | None:
        """Return a decoded picture or an error message, or None until it is decoded.

        Then, `decoded` follows.

        Args:
            bound: the size in device pixels in which it must fit, or `FULL`.
            then: also called with the result. If the result is known, this happens before `get` returns.
        """
        key = shown.key, bound.width(), bound.height()
        if (found := self._results.get(key)) is not None:
            self._results.move_to_end(key)
            if then is not None:
                then(found)
            return found
        if self._cancel.is_set():
            return None
        if key not in self._waiting:
            self._waiting[key] = []
            self._queue.put((shown, bound.width(), bound.height()))
            if self._thread is None:
                arguments = (self._queue, self._cancel, weakref.ref(self))
                self._thread = threading.Thread(target=_run, args=arguments, name="pictures", daemon=True)
                self._thread.start()
        if then is not None:
            self._waiting[key].append(then)
        return None

    @Slot()
    def close(self) -> None:
        """Stop decoding, and decode nothing any more."""
        self._cancel.set()

    @Slot(object, object)
    def _keep(self, request: Request, made: tuple[memoryview, int, int] | str) -> None:
        shown, *bound = request
        key = shown.key, bound[0], bound[1]
        if isinstance(made, str):
            result: Result = made
        else:
            pixels, width, height = made
            image = QImage(pixels, width, height, 3 * width, QImage.Format.Format_RGB888)
            result = image.convertToFormat(QImage.Format.Format_RGB32)  # a copy, and faster to draw
        self._results[key] = result
        while self.bytes > MOST_BYTES and len(self._results) > 1:
            self._results.popitem(last=False)
        for then in self._waiting.pop(key, ()):
            then(result)
        self.decoded.emit(shown.key)


def _run(requests: "queue.LifoQueue[Request]", cancel: threading.Event, owner: "weakref.ref[PictureLoader]") -> None:
    while True:
        request = requests.get()
        try:
            made = _decode(request[0], QSize(*request[1:]), cancel)
        except WorkCancelled:
            return
        loader = owner()
        if loader is None or cancel.is_set():
            return
        try:
            loader._finished.emit(request, made)
        except RuntimeError:  # the window has been deleted
            return
        del loader


def _decode(shown: Shown, bound: QSize, cancel: threading.Event) -> tuple[memoryview, int, int] | str:
    """Return a picture's pixels and size, or why there are none."""
    try:
        return _pixels(shown, bound, cancel)
    except UserError as error:
        return translated(error.text)
    except WorkCancelled:
        raise
    except Exception:  # the other pictures are still to be decoded
        log.exception("A picture could not be decoded")
        return tr("Can't show “{name}”.", name=shown.name)


def _pixels(shown: Shown, bound: QSize, cancel: threading.Event) -> tuple[memoryview, int, int]:
    from mlx_engine.media import images, pdfs  # numpy takes a tenth of a second to import

    data, width, height = shown.file.data, shown.width, shown.height
    if shown.page:
        data = pdfs.pdf_picture(data, shown.page, name=shown.name, cancel=cancel)
    if shown.page or not width:
        facts = images.image_size(data, shown.name, cancel)
        width, height = facts.width, facts.height
    wanted = fitted(width, height, bound)
    found = images.pixels(data, wanted.width(), wanted.height(), shown.name, cancel)
    return found.reshape(-1).data, wanted.width(), wanted.height()
