"""PDFs in requests, as texts and pictures of their pages.

Clients send a PDF again with each request of a chat, so that the latest ones are kept.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256

from mlx_engine.api_server.problems import ApiError
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.limits import MAX_IMAGES
from mlx_engine.contract.requests import AttachedImage
from mlx_engine.formats.pdf_prompts import page_text
from mlx_engine.media.pdfs import PdfPage, pdf_pages, pdf_picture

MOST_BYTES = 256_000_000  # of the pictures of a request's pages, and of all pictures that are kept
_MOST_SECONDS = 120.0  # to read a PDF
_MOST_PAGES = 5000  # whose texts are kept
Page = tuple[str, AttachedImage | None]  # its text with its number, and its picture


class PdfCache:
    """The pages of the latest PDFs, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[str, bool], list[Page]] = OrderedDict()

    def clear(self) -> None:
        """Forget all PDFs."""
        with self._lock:
            self._found.clear()

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
            MediaCancelled: `cancel` was set.
        """
        deadline = time.monotonic() + _MOST_SECONDS
        key = sha256(data).hexdigest(), can_see
        with self._lock:
            known = self._found.get(key)
            if known is not None:
                self._found.move_to_end(key)
        try:
            listed = pdf_pages(data, name, cancel) if known is None else ()
            pictures = (
                sum(page.kind == "picture" for page in listed) if known is None else sum(image is not None for _, image in known)
            )
            if can_see and pictures > room:
                message = f"“{where}” has {pictures} pages to show as pictures, but {room} of {MAX_IMAGES} images are left. "
                raise ApiError(400, message + "Send fewer pages.", where, "too_many_images")
            total, found = len(listed), [] if known is None else known
            for page in listed:
                if time.monotonic() > deadline:
                    message = f"“{where}” takes more than {_MOST_SECONDS:.0f} seconds to read. Send fewer pages."
                    raise ApiError(400, message, where, "pdf_too_slow")
                found.append(_seen(data, page, total, name, cancel) if can_see else (page_text(page, total, pictured=False), None))
                if page.kind == "picture" and picture_bytes(found) > space:
                    break
        except UserError as error:
            raise ApiError(400, error.text.message, where, error.text.code) from None
        if picture_bytes(found) > space:
            message = f"The pages of “{where}” are too large as pictures. The limit for all PDFs is {MOST_BYTES // 1_000_000} MB. "
            raise ApiError(400, message + "Send fewer pages.", where, "pictures_too_large")
        with self._lock:
            self._found[key] = found
            while self._found and self._is_full():
                self._found.popitem(last=False)
        return [(text, image and replace(image, name=f"{name}, page {number}")) for number, (text, image) in enumerate(found, 1)]

    def _is_full(self) -> bool:
        kept = [page for pages in self._found.values() for page in pages]
        return len(kept) > _MOST_PAGES or picture_bytes(kept) > MOST_BYTES


def picture_bytes(pages: Iterable[Page]) -> int:
    return sum(len(image.data) for _, image in pages if image)


def _seen(data: bytes, page: PdfPage, total: int, name: str, cancel: threading.Event | None) -> Page:
    text = page_text(page, total, pictured=page.kind == "picture")
    return text, AttachedImage(0, pdf_picture(data, page.number, name=name, cancel=cancel)) if page.kind == "picture" else None
