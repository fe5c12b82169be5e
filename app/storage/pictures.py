"""Images and pages of PDFs in messages, and the files that chats keep of them."""

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Literal, Protocol

from mlx_engine.media.pdfs import Why

_MOST = 1_000_000  # pixels of a side, or frames

Sent = Literal["text", "picture", "no"]
Got = Literal[Sent, "text_only", "unread"]  # "text_only" in place of a picture


class FileData(Protocol):
    """Data of files, by digest."""

    def get(self, digest: str, default: bytes, /) -> bytes: ...


class FileSource(FileData, Protocol):
    """Data of files that is read when it is needed."""

    def close(self) -> None:
        """Close what `get` opens again."""


class _NoData:
    def get(self, digest: str, default: bytes, /) -> bytes:
        return b""


NO_DATA: FileData = _NoData()  # frees the data of files


@dataclass(frozen=True)
class StoredFile:
    """A file that chats keep once, by its digest.

    Attributes:
        digest: SHA-256 of the file.
        data: the file, in memory while a chat with it is open; empty if it is lost.
    """

    digest: str
    data: bytes = field(default=b"", repr=False, compare=False)

    @classmethod
    def of(cls, data: bytes) -> "StoredFile":
        return cls(sha256(data).hexdigest(), data)

    def filled(self, files: "FileData") -> "StoredFile":
        """Return the file with its data from `files`, by digest."""
        return replace(self, data=files.get(self.digest, self.data))


@dataclass(frozen=True)
class Picture:
    """An image.

    Attributes:
        width, height: pixels when it is upright.
        format: as in `ImageFacts`.
        frames: frames of an animation, or pages. Only the first one is read.
    """

    file: StoredFile
    width: int
    height: int
    format: str
    frames: int = 1

    @property
    def lost(self) -> bool:
        return not self.file.data

    def filled(self, files: "FileData") -> "Picture":
        """Return the image with its data from `files`, by digest, and with a valid size."""
        width, height, frames = (min(max(number, 1), _MOST) for number in (self.width, self.height, self.frames))
        return replace(self, file=self.file.filled(files), width=width, height=height, frames=frames)


@dataclass(frozen=True)
class Page:
    """A page of a PDF.

    Attributes:
        number: counted from 1.
        text: its text, which is there for pictures, too.
        why: why a model that sees should get it as a picture, or "".
        sent: how the model gets it. A picture is sent with the text.
        picture: a PNG of the page, if it was made.
        size: width and height of the picture in pixels, or None if the page can't be drawn.
    """

    number: int
    text: str
    why: Why = ""
    sent: Sent = "text"
    picture: Picture | None = None
    size: tuple[int, int] | None = None

    @property
    def shown(self) -> bool:
        """Whether a model that sees gets the page's picture."""
        return self.sent == "picture" and self.picture is not None and not self.picture.lost

    def got(self, can_see: bool) -> Got:
        """Return what a model gets of the page."""
        if self.sent != "picture" or (can_see and self.shown):
            return self.sent
        return "text_only" if self.text else "unread"
