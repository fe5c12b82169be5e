"""The icon file, read by the rules of its format."""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QIcon, QImage
from PySide6.QtWidgets import QApplication

from app.widgets.controls import window_icon
from tests.packaging import ROOT, script

FILE = ROOT / "resources/icon/Slipstream.icns"
# Chunk -> pixels of a macOS icon set: 16, 32, 128, 256 and 512 points, each at 1x and 2x
SIZES = {
    "ic04": 16,
    "ic11": 32,
    "ic05": 32,
    "ic12": 64,
    "ic07": 128,
    "ic13": 256,
    "ic08": 256,
    "ic14": 512,
    "ic09": 512,
    "ic10": 1024,
}


def chunks(data: bytes) -> Iterator[tuple[str, bytes]]:
    assert data[:4] == b"icns" and struct.unpack(">I", data[4:8])[0] == len(data)
    at = 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at + 4 : at + 8])
        yield data[at : at + 4].decode(), data[at + 8 : at + length]
        at += length


def unpacked(data: bytes, count: int) -> tuple[bytes, int]:
    """Decode `count` bytes of a channel, and return them with the length of their code."""
    out, at = bytearray(), 0
    while len(out) < count:
        head = data[at]
        if head < 128:
            out += data[at + 1 : at + head + 2]
            at += head + 2
        else:
            out += data[at + 1 : at + 2] * (head - 125)
            at += 2
    assert len(out) == count
    return bytes(out), at


def rgba(image: QImage) -> np.ndarray:
    image = image.convertToFormat(QImage.Format.Format_RGBA8888)
    return np.frombuffer(bytes(image.constBits()), np.uint8).reshape(image.height(), image.width(), 4)


def picture(name: str, data: bytes) -> np.ndarray:
    size = SIZES[name]
    if data[:4] == b"ARGB":
        at, channels = 4, []
        for _ in range(4):
            channel, used = unpacked(data[at:], size * size)
            at += used
            channels.append(np.frombuffer(channel, np.uint8).reshape(size, size))
        assert at == len(data)
        return np.stack([*channels[1:], channels[0]], axis=-1)
    return rgba(QImage.fromData(data))


def test_the_icon_has_every_size_and_matches_the_drawings(qapp: QApplication) -> None:
    found = dict(chunks(FILE.read_bytes()))
    assert found.keys() == SIZES.keys()
    for name, data in found.items():
        pixels = picture(name, data)
        assert pixels.shape == (SIZES[name], SIZES[name], 4)
        drawn = rgba(script("icon.py").icon(SIZES[name]))
        assert np.abs(pixels.astype(int) - drawn).max() <= 3, f"{name}: run `python packaging/icon.py`"


def test_the_corners_are_transparent_and_the_darts_have_contrast(qapp: QApplication) -> None:
    for size in (16, 32, 128, 512):
        pixels = rgba(script("icon.py").icon(size))
        assert pixels[0, 0, 3] == pixels[-1, -1, 3] == 0
        assert pixels[size // 2, size // 2, 3] == 255
        light = pixels[..., :3].min(axis=-1)[pixels[..., 3] == 255]
        assert (light > 200).mean() > 0.04, f"the leading dart cannot be seen at {size}"


@given(st.binary(max_size=700) | st.lists(st.tuples(st.integers(0, 255), st.integers(1, 400)), max_size=5))
def test_run_length_coding_round_trips(channel: bytes | list[tuple[int, int]]) -> None:
    plain = channel if isinstance(channel, bytes) else b"".join(bytes([value]) * count for value, count in channel)
    packed = script("icon.py").packed(plain)
    if plain:
        assert unpacked(packed, len(plain)) == (plain, len(packed))
    else:
        assert packed == b""


def test_the_window_uses_the_icon(qapp: QApplication) -> None:
    icon = window_icon()
    assert isinstance(icon, QIcon)
    for size in (16, 64, 256):
        drawn = rgba(icon.pixmap(size, size).toImage())
        assert drawn[..., 3].max() == 255 and drawn[0, 0, 3] == 0


@pytest.mark.parametrize("name", ["background.png", "background@2x.png"])
def test_the_disk_images_background_is_opaque_and_has_its_size(name: str, qapp: QApplication) -> None:
    image = QImage(str(Path(ROOT / "packaging/release/disk_image") / name))
    scale = 2 if "@2x" in name else 1
    width, height = script("icon.py").BACKGROUND_SIZE
    assert (image.width(), image.height()) == (scale * width, scale * height)
    assert rgba(image)[..., 3].min() == 255
