"""What is pasted or dropped: files, bitmaps, and images of web pages."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMimeData, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QImage
from PySide6.QtWidgets import QFrame, QWidget

from app.text.language import tr
from app.widgets.controls import styled_label
from app.widgets.layout import column
from app.widgets.theme import Theme, set_look
from mlx_engine.contract.attached_images import FORMATS, SUFFIXES

_IMAGES = {*SUFFIXES, ".avif", ".bmp", ".svg"}  # suffixes of images on web pages, also of those that can't be read
_AS_WRITTEN = ("PNG", "JPEG", "WebP", "GIF")  # formats whose bytes are kept, first those without loss. TIFF is often very large
_ONLY_IMAGE = re.compile(r"(?is)\s*(<meta[^>]*>|<!--.*?-->|</?(html|body)[^>]*>|\s)*(<a [^>]*>)?\s*<img\b[^>]*>")
_FAST = 70  # quality of a PNG, which for Qt is its speed


@dataclass(frozen=True)
class Dropped:
    """What to attach of dropped or pasted data.

    Attributes:
        files: local files.
        image: an image without a file, as the other app wrote it, or as PNG.
        name: the image's file name, if the data has one.
        link: address of an image that isn't part of the data.
    """

    files: tuple[Path, ...] = ()
    image: bytes = b""
    name: str = ""
    link: str = ""


def has_attachment(data: QMimeData) -> bool:
    """Return whether data has something to attach, without reading it."""
    return bool(files_in(data) or is_image(data) or image_link(data))


def dropped(data: QMimeData) -> Dropped:
    """Return what to attach of dropped or pasted data."""
    if files := files_in(data):
        return Dropped(tuple(files))
    link = image_link(data)
    if is_image(data) and (image := _bytes(data)):
        return Dropped(image=image, name=PurePosixPath(link).name if _is_image_name(link) else "")
    return Dropped(link=link)


def files_in(data: QMimeData) -> list[Path]:
    """Return the local files in dropped or pasted data."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]


def is_image(data: QMimeData) -> bool:
    """Return whether data is an image, and not a text with its picture."""
    if not data.hasImage():
        return False
    text = data.text().strip()
    return not text or text in [url.toString() for url in data.urls()] or _is_address(text) or _is_one_image(data)


def image_link(data: QMimeData) -> str:
    """Return the address of an image on a web page, or an empty string."""
    links = [url for url in data.urls() if url.scheme() in ("http", "https")]
    for url in links:
        if _is_image_name(url.path()) or _is_one_image(data):
            return url.path()
    return ""


def _is_image_name(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in _IMAGES


def _is_address(text: str) -> bool:
    return re.fullmatch(r"https?://\S+", text) is not None


def _is_one_image(data: QMimeData) -> bool:
    return data.hasHtml() and _ONLY_IMAGE.match(data.html()) is not None


def _bytes(data: QMimeData) -> bytes:
    """Return an image as its app wrote it, or else as PNG."""
    for kind in (FORMATS[name].media_type for name in _AS_WRITTEN):
        if data.hasFormat(kind) and (written := bytes(data.data(kind).data())):
            return written
    image = data.imageData()
    if not isinstance(image, QImage) or image.isNull():
        return b""
    made = QByteArray()
    buffer = QBuffer(made)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG", _FAST)  # type: ignore[call-overload]
    return bytes(made.data())


class DropTarget(QFrame):
    """An overlay shown while files or images are dragged over the window."""

    dropped = Signal(object)  # Dropped

    def __init__(self, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        set_look(self, "drop")
        self.setAcceptDrops(True)
        self.label = styled_label(theme, tr("Drop files and images to attach them"), size=1.3, bold=True)
        self.label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column((self.label, 1), parent=self)
        self.label.ensurePolished()
        self.hide()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept files and images.

        The window forwards its event when the pointer enters it.
        """
        if has_attachment(event.mimeData()):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self.setGeometry(self._window.rect().adjusted(8, 8, -8, -8))
            self.raise_()
            self.show()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self.hide()
        if has_attachment(event.mimeData()):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self.dropped.emit(dropped(event.mimeData()))
