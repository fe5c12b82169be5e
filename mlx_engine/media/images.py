"""Sizes and pixels of images from outside, decoded by the child process."""

import threading
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.limits import MAX_IMAGE_BYTES
from mlx_engine.media.media_process import ask
from mlx_engine.media.unreadable import error_of

MOST_RESIZED = 1 << 24  # pixels
_SIZE_SECONDS, _PIXELS_SECONDS = 10.0, 60.0
_HEAD = 1 << 18  # bytes that contain what precedes the pixels of nearly any photo
_HEADED = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")  # formats whose facts precede the pixels


@dataclass(frozen=True)
class ImageFacts:
    """Facts about an image.

    Attributes:
        width, height: pixels when it is upright.
        format: "JPEG", "PNG", "WebP", "GIF", "TIFF", or "HEIC".
        frames: frames of an animation, or pages. Only the first one is read.
    """

    width: int
    height: int
    format: str
    frames: int = 1


def image_size(data: bytes, name: str = "image", cancel: threading.Event | None = None) -> ImageFacts:
    """Return an image's facts without decoding its pixels.

    Args:
        data: the file's content.
        name: the file's name for messages.

    Raises:
        UserError: the image can't be read. Damaged pixels are found by `pixels` only.
        WorkCancelled: `cancel` was set.
    """
    if _HEAD < len(data) <= MAX_IMAGE_BYTES and data.startswith(_HEADED):  # most of the time goes by sending bytes
        with suppress(UserError):  # all of the file is needed, or it can't be read
            return image_size(data[:_HEAD], name, cancel)
    result, _ = ask("image", "facts", (), data, name, seconds=_SIZE_SECONDS, limit=MAX_IMAGE_BYTES, cancel=cancel)
    try:
        facts = ImageFacts(int(result["width"]), int(result["height"]), str(result["format"]), int(result["frames"]))
    except (KeyError, TypeError, ValueError):
        facts = None
    if facts is None or min(facts.width, facts.height, facts.frames) < 1:
        raise error_of("image_damaged", name, {})
    return facts


def pixels(data: bytes, width: int, height: int, name: str = "image", cancel: threading.Event | None = None) -> np.ndarray:
    """Return the upright first frame over white, resized by Pillow's bicubic.

    Args:
        data: the file's content.
        width, height: the wanted size in pixels, at most `MOST_RESIZED` in all.
        name: the file's name for messages.

    Returns:
        uint8 [height, width, 3].

    Raises:
        UserError: the image can't be read.
        WorkCancelled: `cancel` was set.
    """
    assert width > 0 and height > 0 and width * height <= MOST_RESIZED
    size = width * height * 3
    _, content = ask(
        "image", "pixels", (width, height), data, name, seconds=_PIXELS_SECONDS, limit=MAX_IMAGE_BYTES, content=size, cancel=cancel
    )
    if len(content) != size:
        raise error_of("image_damaged", name, {})
    return np.frombuffer(content, np.uint8).reshape(height, width, 3)
