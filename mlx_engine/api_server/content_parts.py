"""Images and documents in requests, as parts of messages."""

import base64
import binascii
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mlx_engine.api_server.pdf_parts import MOST_BYTES, PdfCache, picture_bytes
from mlx_engine.api_server.problems import ApiError
from mlx_engine.contract.attached_images import check_image, image_type
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import PairInfo
from mlx_engine.contract.limits import MAX_DOCUMENT_BYTES, MAX_IMAGES
from mlx_engine.contract.requests import AttachedImage, Detail, Role
from mlx_engine.media.images import image_size

_DATA_URL = re.compile(r"data:[\w.+/-]*(?:;[\w.+-]+=[^;,]*)*;base64,", re.IGNORECASE)
_LONGEST_HEAD = 1000  # characters of a data URL before its content
_DETAILS: dict[Any, Detail] = {None: "auto", "auto": "auto", "low": "low", "high": "high", "original": "high"}


class Paragraph(str):
    """A text with a blank line before and after it. It is left out if it is blank."""


Part = str | AttachedImage
Content = tuple[str, tuple[AttachedImage, ...]]  # of a message


def joined(parts: Iterable[Part]) -> Content:
    """Return the text of parts, and the images with their places."""
    texts, length, images = list[str](), 0, list[AttachedImage]()
    for part in parts:
        if isinstance(part, AttachedImage):
            images.append(replace(part, at=length))
        elif part.strip() or not isinstance(part, Paragraph):
            apart = length and (isinstance(part, Paragraph) or isinstance(texts[-1], Paragraph))
            texts += ("\n\n", part) if apart else (part,)
            length += len(part) + (2 if apart else 0)
    return "".join(texts), tuple(images)


@dataclass(frozen=True)
class FileReading:
    """The reading of a request's files.

    Attributes:
        pdfs: PDFs of earlier requests.
        cancel: stops the reading.
        most: how many of its first pages are read of a PDF, by its field; all if absent.
        pages: numbers of pages of the PDFs that were read, by field.
    """

    pdfs: PdfCache = field(default_factory=PdfCache)
    cancel: threading.Event | None = None
    most: Mapping[str, int] = field(default_factory=dict)
    pages: dict[str, int] = field(default_factory=dict)


class PartReader:
    """A reader of the images and documents in a request.

    Requests are checked before their pair is known. Then images and documents are only noticed, until `check`.

    Args:
        pair: the pair that gets the request, if known.
        reading: how files are read.

    Attributes:
        found: whether there were any images or documents.
        found_documents: whether there were any documents.
    """

    def __init__(self, pair: PairInfo | None = None, reading: FileReading | None = None) -> None:
        self._pair, self._reading = pair, reading or FileReading()
        self._room, self._space = MAX_IMAGES, MOST_BYTES  # images, and bytes of PDFs' pictures, that the request may still have
        self._new = list[Callable[[], Iterable[Part]]]()  # that were noticed in messages to answer now
        self.found = self.found_documents = False

    def check(self, reading: FileReading) -> None:
        """Refuse new images and documents that no pair could read.

        Raises:
            ApiError: one can't be read.
            WorkCancelled: the reading was canceled.
        """
        self._reading = reading
        for image in [part for parts in self._new for part in parts() if isinstance(part, AttachedImage)]:
            try:
                image_size(image.data, image.name, reading.cancel)
            except UserError as error:
                raise ApiError.because(error, image.name) from None

    def read(self, kind: str, where: str, is_new: bool, parts: Callable[[], Iterable[Part]]) -> list[Part]:
        """Return an image or a document as parts of a message.

        If the pair can't see, it reads “[image]” in place of images, and of documents that can't be read, unless the model should
        answer the message now.

        Args:
            kind: the client's name for it, such as “image”.
            where: name of the field.
            is_new: whether the model should answer the message now.
            parts: returns the parts, or raises an `ApiError`.

        Raises:
            ApiError: the image or document is refused.
        """
        self.found, self.found_documents = True, self.found_documents or kind != "image"
        if self._pair is None:
            self._new += [parts] if is_new else []
            return []
        try:
            if kind == "image":
                self._check_sight(where, f"{where}.type")
            return [*parts()]
        except ApiError:
            if is_new or self._pair.can_see:
                raise
            return [f"[{kind}]"]

    def image(self, data: bytes, where: str, detail: Any = None) -> AttachedImage:
        """Return an image of a message, without its place.

        Args:
            data: the file.
            where: name of the field with the file.
            detail: the client's value.

        Raises:
            ApiError: the image is refused.
        """
        if not isinstance(detail, str | None) or detail not in _DETAILS:
            message = f"The detail of “{where}” must be “auto”, “low”, or “high”."
            raise ApiError(400, message, f"{where.rpartition('.')[0]}.detail", "invalid_value")
        try:
            check_image(data, where)
        except UserError as error:
            raise ApiError.because(error, where) from None
        if self._room == 0:
            message = f"“{where}” is one image too many. The limit is {MAX_IMAGES} in all messages. Remove images."
            raise ApiError(400, message, where, "too_many_images")
        self._room -= 1
        return AttachedImage(0, data, where, _DETAILS[detail])

    def document(self, data: bytes, where: str, name: str) -> list[Part]:
        """Return the parts of a document.

        Args:
            data: the file.
            where: name of the field with the file.
            name: what people call the document.

        Raises:
            ApiError: the document is refused.
        """
        if b"%PDF-" in data[:1024]:
            return self._pdf(data, where, name)
        if image_type(data) is not None:
            self._check_sight(where, where)
            return [self.image(data, where)]
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            raise ApiError(400, f"“{where}” can't be read. Send a PDF, text in UTF-8, or an image.", where, "unsupported_content")
        return [document_text(text, where, name)]

    def _pdf(self, data: bytes, where: str, name: str) -> list[Part]:
        can_see = self._pair is not None and self._pair.can_see
        reading = self._reading
        pages = reading.pdfs.pages(data, where, name, can_see, self._room, self._space, reading.cancel)
        reading.pages[where] = len(pages)
        pages = pages[: reading.most.get(where)]
        self._room -= sum(image is not None for _, image in pages)
        self._space -= picture_bytes(pages)
        parts = (part for text, image in pages for part in (Paragraph(text), image) if part is not None)
        return [Paragraph(f"--- {name} ---"), *parts, Paragraph(f"--- end of {name} ---")]

    def _check_sight(self, where: str, param: str) -> None:
        """Refuse an image if the pair can't see."""
        if self._pair is not None and not self._pair.can_see:
            what_to_do = self._pair.why_cannot_see or "Remove it."
            message = f"“{where}” has the type “image”, but the model reads only text. {what_to_do}"
            raise ApiError(400, message, param, "unsupported_content")


def document_text(text: str, where: str, name: str) -> Paragraph:
    """Return a text document, between lines with its name.

    Raises:
        ApiError: the document is empty or too long.
    """
    if not text.strip():
        raise ApiError(400, f"“{where}” is empty.", where, "invalid_value")
    if len(text) > MAX_DOCUMENT_BYTES:
        message = f"“{where}” is too long. The limit is {MAX_DOCUMENT_BYTES:,} characters. Send a part of it."
        raise ApiError(400, message, where, "document_too_long")
    return Paragraph(f"--- {name} ---\n{text.strip()}\n--- end of {name} ---")


def check_role(images: tuple[AttachedImage, ...], role: Role) -> None:
    """Refuse images where chat templates show none.

    Raises:
        ApiError: an image is refused.
    """
    if images and role in ("system", "assistant"):
        message = f"“{images[0].name}” is an image in a message with the role “{role}”. Put it into a message of the user."
        raise ApiError(400, message, images[0].name, "unsupported_content")


def from_data_url(value: Any, where: str) -> bytes:
    """Return the file in a data URL.

    Raises:
        ApiError: the value isn't a data URL with base64, or the file is empty.
    """
    if isinstance(value, str) and (found := _DATA_URL.match(value, 0, _LONGEST_HEAD)):
        return from_base64(value[found.end() :], where)
    if isinstance(value, str) and "://" in value[:20]:
        raise refuse_address(where)
    raise ApiError(400, f"“{where}” must be a data URL, such as “data:image/png;base64,…”.", where, "invalid_value")


def from_base64(value: Any, where: str) -> bytes:
    """Return a file from its base64 text, which may have whitespace anywhere.

    Raises:
        ApiError: the value isn't base64, or the file is empty.
    """
    text = value if isinstance(value, str) else "?"
    try:
        try:
            data = base64.b64decode(text, validate=True)
        except binascii.Error:
            data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ApiError(400, f"“{where}” isn't valid base64. Encode the file again.", where, "invalid_value") from None
    if not data:
        raise ApiError(400, f"“{where}” is empty. Send the file's content.", where, "invalid_value")
    return data


def refuse_address(where: str) -> ApiError:
    """Return the error for a file that a request refers to by its address."""
    message = f"“{where}” is an address, but the server fetches no files. Send the file's content in base64."
    return ApiError(400, message, where, "unsupported_parameter")


def refuse_stored(where: str) -> ApiError:
    """Return the error for a file that a request refers to by its ID."""
    message = f"“{where}” refers to a stored file, but files aren't stored. Send the file's content."
    return ApiError(400, message, where, "unsupported_parameter")
