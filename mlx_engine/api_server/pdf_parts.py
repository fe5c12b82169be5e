"""PDFs in requests, as texts and pictures of their pages.

Clients send a PDF again with each request of a chat, so that the latest ones are kept.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from mlx_engine.api_server.problems import ApiError
from mlx_engine.contract.errors import UserError, WorkCancelled
from mlx_engine.contract.limits import MAX_IMAGES
from mlx_engine.contract.requests import AttachedImage
from mlx_engine.formats.pdf_prompts import page_text
from mlx_engine.media.pdfs import PdfPage, pdf_pages, pdf_picture

MOST_BYTES = 256_000_000  # of the pictures of a request's pages, and of all pictures that are kept
_MOST_SECONDS = 120.0  # to read a PDF
_MOST_PAGES = 5000  # whose texts are kept
_POLL_S = 0.02  # while another request reads the same PDF
Page = tuple[str, AttachedImage | None]  # its text with its number, and its picture


@dataclass
class _Known:
    """What is known of a PDF. It is read in turns, so that no page is read twice."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    pages: tuple[PdfPage, ...] = ()
    pictures: dict[int, bytes] = field(default_factory=dict)  # PNGs by page number


class PdfCache:
    """The latest PDFs, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def clear(self) -> None:
        """Forget all PDFs."""
        with self._lock:
            self._known.clear()

    def pages(
        self, data: bytes, where: str, name: str, can_see: bool, room: int, space: int, cancel: threading.Event | None = None
    ) -> list[Page]:
        """Return the pages of a PDF.

        Args:
            data: the file.
            where: name of its field.
            name: what people call the PDF.
            can_see: whether the model sees pictures.
            room: number of pictures that the request may still have.
            space: bytes that they may have.
            cancel: stops the reading.

        Raises:
            ApiError: the PDF can't be read in time, or its pictures are too many or too large.
            WorkCancelled: `cancel` was set.
        """
        key = sha256(data).hexdigest()
        with self._lock:
            known = self._known.setdefault(key, _Known())
            self._known.move_to_end(key)
        while not known.turn.acquire(timeout=_POLL_S):
            if cancel is not None and cancel.is_set():
                raise WorkCancelled
        try:
            known.pages = known.pages or pdf_pages(data, name, cancel)
            pictured = [page.number for page in known.pages if can_see and page.kind == "picture"]
            if len(pictured) > room:
                message = f"“{where}” has {len(pictured)} pages to show as pictures, but {room} of {MAX_IMAGES} images are left. "
                raise ApiError(400, message + "Send fewer pages.", where, "too_many_images")
            self._draw(known, pictured, data, where, name, space, cancel)
            pictures = dict(known.pictures)
        except UserError as error:
            raise ApiError.because(error, where) from None
        finally:
            known.turn.release()
            with self._lock:
                if not known.pages and self._known.get(key) is known:
                    del self._known[key]
                while self._known and self._is_full():
                    self._known.popitem(last=False)
        return [
            (
                page_text(page, len(known.pages), page.number in pictured),
                AttachedImage(0, pictures[page.number], f"{name}, page {page.number}") if page.number in pictured else None,
            )
            for page in known.pages
        ]

    def _draw(
        self, known: _Known, pictured: Sequence[int], data: bytes, where: str, name: str, space: int, cancel: threading.Event | None
    ) -> None:
        """Draw these pages of a PDF, except those that are drawn."""
        deadline = time.monotonic() + _MOST_SECONDS
        for number in pictured:
            if number not in known.pictures:
                if time.monotonic() > deadline:
                    message = f"“{where}” takes more than {_MOST_SECONDS:.0f} seconds to read. Send fewer pages."
                    raise ApiError(400, message, where, "pdf_too_slow")
                known.pictures[number] = pdf_picture(data, number, name=name, cancel=cancel)
            space -= len(known.pictures[number])
            if space < 0:
                message = (
                    f"The pages of “{where}” are too large as pictures. The limit for all PDFs is {MOST_BYTES // 1_000_000} MB. "
                )
                raise ApiError(400, message + "Send fewer pages.", where, "pictures_too_large")

    def _is_full(self) -> bool:
        every = self._known.values()
        drawn = sum(len(picture) for known in every for picture in [*known.pictures.values()])
        return sum(len(known.pages) for known in every) > _MOST_PAGES or drawn > MOST_BYTES


def picture_bytes(pages: Iterable[Page]) -> int:
    return sum(len(image.data) for _, image in pages if image)
