"""Attached images: their types and limits, and their names in a text."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_read, read_bounded
from mlx_engine.contract.limits import MAX_IMAGE_BYTES
from mlx_engine.contract.requests import AttachedImage, Message

NAMED = "[image]"  # what a model that can't see reads in place of an image
MEDIA_TYPES = {  # that can be read, with their media types
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "GIF": "image/gif",
    "WebP": "image/webp",
    "TIFF": "image/tiff",
    "HEIC": "image/heic",
}
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
    return MEDIA_TYPES.get(image_format(data) or "")


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
        raise _too_large(name)
    if image_type(data) is None:
        if (format := other_format(data[:16])) is not None:
            template = "Can't read “{name}”, because {format} isn't supported. Save it as JPEG, PNG, WebP, GIF, TIFF, or HEIC."
            raise UserError("image_format", template, name=name, format=format)
        template = "“{name}” isn't an image that can be read. Use JPEG, PNG, WebP, GIF, TIFF, or HEIC."
        raise UserError("not_an_image", template, name=name)


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
        raise _too_large(file.name) from None
    check_image(data, file.name)
    return AttachedImage(0, data, file.name)


def _too_large(name: str) -> UserError:
    template = "“{name}” is too large. The limit for images is {limit} MB. Save it as JPEG."
    return UserError("image_too_large", template, name=name, limit=MAX_IMAGE_BYTES // 1_000_000)


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
