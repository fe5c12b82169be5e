"""Decoding of images, in the child process.

The pixels are those of the targets' reference processors: Pillow's decoders, EXIF orientation applied, white below transparency,
and Pillow's bicubic.
"""

import io
from contextlib import suppress

import pi_heif
from PIL import Image

from mlx_engine.contract.attached_images import image_format, other_format
from mlx_engine.media.unreadable import Unreadable

MOST_PIXELS = 128_000_000  # of a file; a decoded pixel takes 4 bytes, and up to two copies exist
_STRIP = 4_000_000  # pixels
_PILLOW = {"WebP": "WEBP", "HEIC": "HEIF"}
# How EXIF orientations are undone
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

Image.MAX_IMAGE_PIXELS = None  # `_opened` checks the size and says it
pi_heif.register_heif_opener(thumbnails=False, depth_images=False, aux_images=False)


def facts(data: memoryview) -> dict[str, object]:
    """Return an image's facts without decoding its pixels."""
    image, format = _opened(data)
    frames = 1
    if format in ("GIF", "PNG", "WebP", "TIFF"):  # others have several pictures of one moment
        frames = getattr(image, "n_frames", 1)
    width, height = image.size
    if _orientation(image, format) >= 5:
        width, height = height, width
    return {"width": width, "height": height, "format": format, "frames": frames}


def pixels(data: memoryview, width: int, height: int) -> bytes:
    """Return the upright first frame as RGB, resized."""
    image, format = _opened(data)
    orientation = _orientation(image, format)
    image.load()
    _check_size(*image.size)  # a HEIC file can have another size than it states
    upright: Image.Image = image
    del image
    if orientation in _TURNS:
        upright = upright.transpose(_TURNS[orientation])
    upright = _rgb(upright)
    return upright.resize((width, height), Image.Resampling.BICUBIC).tobytes()


def format_of(data: memoryview) -> str:
    """Return an image's format by its content.

    Raises:
        Unreadable: another format, by its name if it is known.
    """
    head = bytes(data[:16])
    if (known := image_format(head)) is not None:
        return known
    if (other := other_format(head)) is not None:
        raise Unreadable("image_format", format=other)
    raise Unreadable("image_unknown")


def _opened(data: memoryview) -> tuple[Image.Image, str]:
    """Open an image without decoding its pixels, and check its size."""
    format = format_of(data)
    if format == "WebP":  # Pillow allocates its pixels when it opens the file
        _check_size(*_webp_size(data))
    image = Image.open(io.BytesIO(data), formats=[_PILLOW.get(format, format)])
    _check_size(*image.size)
    return image, format


def _check_size(width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise Unreadable("image_pixels", width=width, height=height, limit=MOST_PIXELS // 1_000_000)


def _webp_size(data: memoryview) -> tuple[int, int]:
    def number(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], "little")

    match bytes(data[12:16]):
        case b"VP8X":
            return number(24, 3) + 1, number(27, 3) + 1
        case b"VP8L":
            return (number(21, 4) & 0x3FFF) + 1, (number(21, 4) >> 14 & 0x3FFF) + 1
        case _:
            return number(26, 2) & 0x3FFF, number(28, 2) & 0x3FFF


def _orientation(image: Image.Image, format: str) -> int:
    """Return the EXIF orientation that Pillow's reader doesn't apply."""
    if format not in ("TIFF", "HEIC"):  # whose readers do
        with suppress(Exception):  # damaged EXIF data, which isn't needed
            return int(Image.Image.getexif(image).get(0x0112, 1))  # that of PNG would decode the pixels
    return 1


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16"):  # 16-bit gray, which Pillow would clip
        clear = image.info.get("transparency")
        return image.convert("I").point([255 if level == clear else level >> 8 for level in range(1 << 16)], "L").convert("RGB")
    if image.mode in ("I", "F", "LAB", "HSV"):
        raise Unreadable("image_mode")
    if not image.has_transparency_data:
        return image.convert("RGB")
    below = Image.new("RGB", image.size)
    rows = max(_STRIP // image.width, 1)
    for top in range(0, image.height, rows):  # in strips: each step makes a copy
        strip = image.crop((0, top, image.width, min(top + rows, image.height))).convert("RGBA")
        white = Image.new("RGBA", strip.size, "white")
        below.paste(Image.alpha_composite(white, strip).convert("RGB"), (0, top))
    return below
