"""Files attached to a message, and the message that they become."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from app.storage.json_values import as_dict, as_list, read_as
from app.storage.pictures import FileData, Page, Picture, StoredFile
from mlx_engine.contract.requests import AttachedImage, Message
from mlx_engine.formats.pdf_prompts import page_text
from mlx_engine.media.pdfs import PdfPage

MAX_NAME = 40  # characters of a file name, as shown


@dataclass(frozen=True)
class Attachment:
    """A file of a message.

    Attributes:
        text: its text; empty for an image.
        size: in bytes.
        pages: number of pages of a PDF.
        picture: the image, if it is one.
        document: the PDF. Earlier versions kept only its text.
        page_list: all pages of the PDF.
        passages: whether it is passages of documents that were added to the message, as text for a model.
    """

    name: str
    text: str
    size: int = 0
    pages: int = 0
    picture: Picture | None = None
    document: StoredFile | None = None
    page_list: tuple[Page, ...] = ()
    passages: bool = False

    @property
    def files(self) -> list[StoredFile]:
        """The files that a chat keeps."""
        pictures = [self.picture, *(page.picture for page in self.page_list)]
        return [*(one.file for one in pictures if one is not None), *([self.document] if self.document else [])]

    @property
    def undrawn(self) -> tuple[int, ...]:
        """The pages that are sent as pictures, but aren't drawn yet."""
        can_draw = self.document is not None and bool(self.document.data)
        return tuple(page.number for page in self.page_list if can_draw and page.sent == "picture" and not page.shown)

    def is_same_file(self, other: "Attachment") -> bool:
        """Whether it is the same file, whatever is sent of its pages."""
        return replace(self, page_list=()) == replace(other, page_list=())

    def unread_pages(self, can_see: bool) -> tuple[int, ...]:
        """Return the pages that a model gets neither as text nor as a picture.

        Pages that the user left out don't count.
        """
        return tuple(page.number for page in self.page_list if page.got(can_see) == "unread")

    def first_pages(self, count: int) -> "Attachment":
        """Return the PDF with only the first pages sent."""
        pages = (page if at < count else replace(page, sent="no") for at, page in enumerate(self.page_list))
        return replace(self, page_list=tuple(pages))

    def filled(self, files: FileData) -> "Attachment":
        """Return the attachment with the data of its files, by digest."""
        pages = (replace(page, picture=page.picture and page.picture.filled(files)) for page in self.page_list)
        document = self.document and self.document.filled(files)
        return replace(self, picture=self.picture and self.picture.filled(files), document=document, page_list=tuple(pages))

    def to_json(self) -> dict[str, Any]:
        """Return the attachment as JSON values, without the data of its files."""
        found: dict[str, Any] = {"name": self.name, "size": self.size, "pages": self.pages}
        found |= {"page_list": [_page(page) for page in self.page_list]} if self.page_list else {"text": self.text}
        found |= {"picture": _picture(self.picture)} if self.picture else {}
        found |= {"passages": True} if self.passages else {}
        return found | ({"document": _file(self.document)} if self.document else {})


def _page(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = {"number": page.number, "text": page.text, "why": page.why, "sent": page.sent, "size": page.size}
    return found | ({"picture": _picture(page.picture)} if page.picture else {})


def _picture(picture: Picture) -> dict[str, Any]:
    return {name: getattr(picture, name) for name in ("width", "height", "format", "frames")} | {"file": _file(picture.file)}


def _file(file: StoredFile) -> dict[str, Any]:
    return {"digest": file.digest}


def attachments_from(values: object, files: FileData) -> tuple[Attachment, ...]:
    """Read the attachments of a message, without those that can't be read.

    Args:
        values: JSON values.
        files: data of files, by digest.
    """
    found = []
    for value in map(as_dict, as_list(values)):
        if pages := read_as(tuple[Page, ...], value.get("page_list"), ()):
            value = {**value, "text": text_of_pages(pages)}
        if (one := read_as(Attachment, value, None)) is not None:
            found.append(one.filled(files))
    return tuple(found)


@dataclass(frozen=True)
class Unread:
    """What a model doesn't read of a message: an image, or pages of a PDF.

    Attributes:
        name: of the file; may be empty for an image of a tool's result.
        lost: whether the image is lost. No model reads it.
    """

    name: str
    pages: tuple[int, ...] = ()
    lost: bool = False


def unread(attachments: Iterable[Attachment], can_see: bool, drawing: bool = False) -> tuple[Unread, ...]:
    """Return what a model doesn't read of files, in order.

    Args:
        can_see: whether the model sees images.
        drawing: whether pages are being drawn, which will be read.
    """
    found = []
    for one in attachments:
        pages = one.unread_pages(can_see) if not drawing else ()
        lost = one.picture is not None and one.picture.lost
        if pages or lost or (one.picture is not None and not can_see):
            found.append(Unread(one.name, pages, lost))
    return tuple(found)


def unread_images(images: Iterable[AttachedImage], can_see: bool) -> tuple[Unread, ...]:
    """Return what a model doesn't read of the images in tools' results, in order."""
    return tuple(Unread(one.name, lost=not one.data) for one in images if not (can_see and one.data))


def text_of_pages(pages: Sequence[Page]) -> str:
    return "\n\n".join(page.text for page in pages if page.text)


def shortened(name: str) -> str:
    """Shorten a long file name in the middle."""
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 12] + "…" + name[-11:]


def message_of(text: str, attachments: Sequence[Attachment], can_see: bool) -> Message:
    """Return a user's message for the model: its files, then `text`.

    Texts of files are between marker lines, and images are at their places.

    Args:
        can_see: whether the model sees images. If not, the message names them.
    """
    content = _Content()
    for one in attachments:
        if one.picture is not None:
            content.begin("")
            content.add_image(one.name, one.picture)
        elif one.passages:
            content.begin(one.text)
        else:
            content.add_file(one)
    if text:
        content.begin(text)
    message = Message("user", content.text, images=tuple(content.images), files_end=len(content.text) - len(text))
    return shown_to(can_see, (message,))[0]


def shown_to(can_see: bool, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return messages that name lost images, and all if the model can't see them."""
    return tuple(_shown(one, can_see) if one.images else one for one in messages)


def _shown(message: Message, can_see: bool) -> Message:
    text, done, images = "", 0, []
    for image in message.images:
        text += message.content[done : image.at]
        done = image.at
        if image.data and can_see:
            images.append(replace(image, at=len(text)))
            continue
        text += "\n" if text and not text.endswith("\n") else ""
        if image.data:
            text += f"[image: {image.name}, not shown]" if image.name else "[image, not shown]"
        else:
            text += f"[image {image.name} is lost]" if image.name else "[image is lost]"
        text += "\n" if done < len(message.content) and message.content[done] != "\n" else ""
    text += message.content[done:]
    files_end = len(text) - (len(message.content) - message.files_end) if message.files_end else 0
    return replace(message, content=text, images=tuple(images), files_end=files_end)


class _Content:
    """The growing text of a message, and its images."""

    def __init__(self) -> None:
        self._pieces: list[str] = []  # adding to one text would copy it for every page
        self._length = 0
        self.images: list[AttachedImage] = []

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def _add(self, *pieces: str) -> None:
        self._pieces += pieces
        self._length += sum(map(len, pieces))

    def begin(self, text: str) -> None:
        """Add a paragraph, without empty lines if it follows an image."""
        after_image = self.images and self.images[-1].at == self._length
        self._add("" if after_image or not self._length else "\n\n", text)

    def add_image(self, name: str, picture: Picture) -> None:
        self.images.append(AttachedImage(self._length, picture.file.data, name, digest=picture.file.digest))

    def add_file(self, file: Attachment) -> None:
        self.begin(f"--- {file.name} ---\n")
        if file.page_list:
            self._add_pages(file.name, file.page_list)
        else:
            self._add(file.text.strip())
        self._add(f"\n--- end of {file.name} ---")

    def _add_pages(self, name: str, pages: Sequence[Page]) -> None:
        between, total = "", len(pages)
        for left_out, group in groupby(pages, key=lambda page: page.sent == "no"):
            some = list(group)
            if left_out:
                first, last = some[0].number, some[-1].number
                some_pages = f"[Pages {first} to {last} of {total} are left out]"
                self._add(between, f"[Page {first} of {total} is left out]" if first == last else some_pages)
                between = "\n\n"
                continue
            for page in some:
                self._add(between, page_text(PdfPage(page.number, page.text, why=page.why), total, page.shown))
                if page.shown and page.picture is not None:
                    self._add("\n")
                    self.add_image(f"{name}, page {page.number}", page.picture)
                between = "\n\n"
