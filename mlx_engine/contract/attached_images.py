"""Attached images: their formats and limits, and their names in a text."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_read, read_bounded
from mlx_engine.contract.limits import MAX_IMAGE_BYTES
from mlx_engine.contract.requests import AttachedImage, Message

NAMED = "[image]"  # what a model that can't see reads in place of an image


@dataclass(frozen=True)
class ImageFormat:
    """A format that can be read.

    Attributes:
        suffixes: of file names; new files get the first one.
    """

    name: str
    media_type: str
    suffixes: tuple[str, ...]


FORMATS = {
    one.name: one
    for one in (
        ImageFormat("JPEG", "image/jpeg", (".jpg", ".jpeg")),
        ImageFormat("PNG", "image/png", (".png",)),
        ImageFormat("WebP", "image/webp", (".webp",)),
        ImageFormat("GIF", "image/gif", (".gif",)),
        ImageFormat("TIFF", "image/tiff", (".tiff", ".tif")),
        ImageFormat("HEIC", "image/heic", (".heic", ".heif")),
    )
}
SUFFIXES = tuple(suffix for one in FORMATS.values() for suffix in one.suffixes)
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),  # of more than 4 GB
    (b"MM\0+", "TIFF"),
)
_OTHERS = (  # formats that are not read
    (b"BM", "BMP"),
    (b"8BPS", "Photoshop"),
    (b"\0\0\1\0", "ICO"),
    (b"\0\0\0\x0cjP  ", "JPEG 2000"),
    (b"\xff\x4f\xff\x51", "JPEG 2000"),
    (b"\0\0\0\x0cJXL ", "JPEG XL"),
    (b"\xff\x0a", "JPEG XL"),
    (b"%PDF", "PDF"),
    (b"%!PS", "PostScript"),
    (b"<svg", "SVG"),
    (b"<?xml", "SVG"),
)
_HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1")


def image_format(head: bytes) -> str | None:
    """Return an image's format by its first bytes, or None if it isn't supported."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WebP"
    if head[4:8] == b"ftyp" and head[8:12] in _HEIC_BRANDS:
        return "HEIC"
    return next((name for signature, name in _SIGNATURES if head.startswith(signature)), None)


def other_format(head: bytes) -> str | None:
    """Return an unsupported format by a file's first bytes, or None if unknown."""
    if head[4:8] == b"ftyp" and head[8:12] in (b"avif", b"avis"):
        return "AVIF"
    return next((name for signature, name in _OTHERS if head.startswith(signature)), None)


def image_type(data: bytes) -> str | None:
    """Return an image's media type by its first bytes, or None if it isn't supported."""
    name = image_format(data)
    return FORMATS[name].media_type if name is not None else None


def check_image(data: bytes, name: str) -> None:
    """Refuse a file that is empty, too large, or not an image.

    Images that are damaged are found when they are decoded.

    Args:
        data: the file's content.
        name: what people call the file.

    Raises:
        UserError: the file is refused.
    """
    if not data:
        raise UserError("image_empty", "“{name}” is empty. Send an image.", name=name)
    if len(data) > MAX_IMAGE_BYTES:
        raise too_large(name, MAX_IMAGE_BYTES // 1_000_000)
    if image_format(data) is None:
        raise unsupported(name, other_format(data[:16]))


def read_image(file: Path) -> AttachedImage:
    """Return an image from a file, at the beginning of a message.

    Raises:
        UserError: the file can't be read, or is refused.
    """
    try:
        data = read_bounded(file, MAX_IMAGE_BYTES)
    except OSError as error:
        raise cannot_read(file, error) from None
    except ValueError:
        raise too_large(file.name, MAX_IMAGE_BYTES // 1_000_000) from None
    check_image(data, file.name)
    return AttachedImage(0, data, file.name)


def unsupported(name: str, format: str | None) -> UserError:
    """Return the error for a file that isn't an image of `FORMATS`.

    Args:
        name: what people call the file.
        format: the format, or None if it is unknown.
    """
    if format is not None:
        template = "Can't read “{name}”, because {format} isn't supported. Save it as JPEG, PNG, WebP, GIF, TIFF, or HEIC."
        return UserError("image_format", template, name=name, format=format)
    template = "“{name}” isn't an image that can be read. Use JPEG, PNG, WebP, GIF, TIFF, or HEIC."
    return UserError("image_unknown", template, name=name)


def too_large(name: str, megabytes: int) -> UserError:
    """Return the error for an image of more bytes than the limit."""
    template = "“{name}” is too large. The limit for images is {limit} MB. Save it as JPEG."
    return UserError("image_bytes", template, name=name, limit=megabytes)


def without_images(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return messages that name their images in the text, for a model that can't see."""
    return tuple(with_marks(message, NAMED) for message in messages)


def with_marks(message: Message, *marks: str) -> Message:
    """Return a message with a text in place of each image.

    Args:
        message: the message.
        marks: the texts in order, or one for all images.
    """
    following = cycle(marks)
    content = "".join(part if isinstance(part, str) else next(following) for part in message.parts)
    return replace(message, content=content, images=())
