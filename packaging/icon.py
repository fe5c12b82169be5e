"""Render the app's icon and the disk image's background from their SVG files.

    python packaging/icon.py

An .icns file is a sequence of chunks: four letters for the size, the length including these eight bytes, and the image. The image
is a PNG, or for 16 and 32 points "ARGB" followed by run-length encoded alpha, red, green, and blue channels, as iconutil writes it.
Sizes up to 32 pixels use a simpler drawing.
"""

import os
import struct
from itertools import groupby
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QBuffer, QIODevice, QRectF
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

ROOT = Path(__file__).parents[1]
ICONS = ROOT / "resources/icon"
BACKGROUND = ROOT / "packaging/release/disk_image"
BACKGROUND_SIZE = (640, 400)
# Chunk name, and pixels per side
RAW = (("ic04", 16), ("ic05", 32))
PNG = (
    ("ic11", 32),  # 16 points at 2x
    ("ic12", 64),
    ("ic07", 128),
    ("ic13", 256),
    ("ic08", 256),
    ("ic14", 512),
    ("ic09", 512),
    ("ic10", 1024),
)
SMALL = 32


def drawn(svg: Path, width: int, height: int) -> QImage:
    """Render a drawing at this size, with straight alpha."""
    renderer = QSvgRenderer(str(svg))
    if not renderer.isValid():
        raise SystemExit(f"Can't read {svg} as SVG.")
    image = QImage(width, height, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    renderer.render(painter, QRectF(0, 0, width, height))
    painter.end()
    return image.convertToFormat(QImage.Format.Format_ARGB32)


def icon(pixels: int) -> QImage:
    """Render the app's icon."""
    return drawn(ICONS / ("Slipstream-small.svg" if pixels <= SMALL else "Slipstream.svg"), pixels, pixels)


def png(image: QImage) -> bytes:
    """Encode an image as PNG."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return bytes(buffer.data().data())


def packed(channel: bytes) -> bytes:
    """Run-length encode a channel.

    A byte n < 128 precedes n + 1 literal bytes; a larger n precedes one byte that is repeated n - 125 times.
    """
    out, literal = bytearray(), bytearray()

    def flush() -> None:
        for start in range(0, len(literal), 128):
            part = literal[start : start + 128]
            out.append(len(part) - 1)
            out.extend(part)
        literal.clear()

    for value, same in groupby(channel):
        count = len(list(same))
        while count >= 3:
            flush()
            run = min(count, 130)
            out += bytes((run + 125, value))
            count -= run
        literal += bytes([value]) * count
    flush()
    return bytes(out)


def argb(image: QImage) -> bytes:
    """Encode an image as alpha, red, green, and blue channels."""
    straight = image.convertToFormat(QImage.Format.Format_RGBA8888)  # must outlive its bits
    pixels = bytes(straight.constBits())
    return b"ARGB" + b"".join(packed(pixels[channel::4]) for channel in (3, 0, 1, 2))


def icns() -> bytes:
    """Return the .icns file."""
    chunks = [(name, argb(icon(size))) for name, size in RAW] + [(name, png(icon(size))) for name, size in PNG]
    body = b"".join(name.encode() + struct.pack(">I", 8 + len(data)) + data for name, data in chunks)
    return b"icns" + struct.pack(">I", 8 + len(body)) + body


def main() -> None:
    application = QGuiApplication([])
    (ICONS / "Slipstream.icns").write_bytes(icns())
    width, height = BACKGROUND_SIZE
    for suffix, scale in (("", 1), ("@2x", 2)):
        drawn(BACKGROUND / "background.svg", width * scale, height * scale).save(str(BACKGROUND / f"background{suffix}.png"))
    application.quit()


if __name__ == "__main__":
    main()
