"""Pictures are decoded in another process, kept within a limit, and sized before they are decoded."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.storage.pictures import StoredFile
from app.widgets import picture_loader
from app.widgets.picture_loader import FULL, MOST_PIXELS, PictureLoader, Shown, fitted
from app.widgets.picture_tile import PictureTile
from app.widgets.theme import Theme
from tests.app.pictures import landscape, picture

PATIENCE_MS = 120_000


def shown(data: bytes, width: int = 320, height: int = 200) -> Shown:
    return Shown("lake.png", StoredFile.of(data), width, height, "PNG")


@given(st.integers(1, 60_000), st.integers(1, 60_000), st.integers(1, 2000), st.integers(1, 2000))
def test_a_picture_fits_and_keeps_its_shape(width: int, height: int, most: int, highest: int) -> None:
    for bound in (QSize(most, highest), FULL):
        found = fitted(width, height, bound)
        assert 1 <= found.width() <= width and 1 <= found.height() <= height
        assert found.width() * found.height() <= MOST_PIXELS
        if bound == FULL:
            continue
        assert found.width() <= most and found.height() <= highest
        assert found.width() == most or found.height() == highest or found == fitted(width, height, FULL)
        scale = min(found.width() / width, found.height() / height), max((found.width() + 1) / width, (found.height() + 1) / height)
        assert scale[0] <= scale[1]


def test_pictures_are_decoded_and_damaged_ones_say_so(qtbot: QtBot) -> None:
    loader = PictureLoader()
    good, bad = shown(landscape()), shown(b"\x89PNG\r\n\x1a\n" + b"x" * 50)
    with qtbot.waitSignals([loader.decoded, loader.decoded], timeout=PATIENCE_MS):
        assert loader.get(good, QSize(64, 64)) is None
        assert loader.get(bad, FULL) is None
    image, problem = loader.get(good, QSize(64, 64)), loader.get(bad, FULL)
    assert isinstance(image, QImage) and image.size() == QSize(64, 40)
    assert QColor(image.pixel(20, 30)).name() == "#28463c"  # a mountain
    assert isinstance(problem, str) and "lake.png" in problem
    loader.close()
    assert loader.get(good, FULL) is None and not loader._waiting


def test_the_latest_request_is_decoded_first_and_the_limit_of_bytes_holds(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    loader, gate, order = PictureLoader(), threading.Event(), list[int]()

    def decode(one: Shown, bound: QSize, cancel: threading.Event) -> tuple[memoryview, int, int]:
        gate.wait(PATIENCE_MS / 1000)
        order.append(one.page)
        return memoryview(bytes(3 * 100 * 100)), 100, 100

    monkeypatch.setattr(picture_loader, "_decode", decode)
    monkeypatch.setattr(picture_loader, "MOST_BYTES", 3 * 40_000)  # of 32 bits
    file = StoredFile.of(b"x")
    for page in range(1, 7):
        loader.get(Shown("x", file, page=page), FULL)
        loader.get(Shown("x", file, page=page), FULL)
    gate.set()
    qtbot.waitUntil(lambda: not loader._waiting, timeout=PATIENCE_MS)
    assert order in ([1, 6, 5, 4, 3, 2], [6, 5, 4, 3, 2, 1])  # the thread may take the first one before the others come
    assert loader.bytes == 3 * 40_000 and {key[0][1] for key in loader._results} == set(order[-3:])


@pytest.mark.parametrize(("width", "height"), [(320, 200), (4000, 20), (20, 4000), (1, 1), (6000, 4000)])
def test_a_tile_has_its_size_before_it_is_decoded(qapp: QApplication, qtbot: QtBot, width: int, height: int) -> None:
    tile = PictureTile(Theme(qapp, "light"), Shown("x.png", StoredFile.of(b"x"), width, height, "PNG"))
    qtbot.addWidget(tile)
    size = tile.sizeHint()
    assert 40 <= size.width() <= 360 and 40 <= size.height() <= 270
    assert tile.heightForWidth(size.width()) == size.height() and tile.heightForWidth(100) <= size.height()


def test_a_picture_says_what_it_is() -> None:
    one = picture("lake.gif", format="GIF", frames=3)
    assert one.picture is not None
    said = Shown.of(one.name, one.picture)
    assert said.facts == f"320 × 200 · {said.facts.split(' · ')[1]} · first frame only"
    assert said.alt_text.startswith("Image: lake.gif, 320 × 200, ")
    assert Shown("gone.png", StoredFile("0" * 64, b""), 3, 2).alt_text == "Image: gone.png, Missing"
    assert Shown("a.pdf", one.picture.file, page=3).alt_text == "Page 3 of a.pdf"


def test_an_error_in_the_program_ends_neither_the_thread_nor_the_wait(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    loader, good, other = PictureLoader(), shown(landscape()), shown(landscape(321))

    def fail(one: Shown, bound: QSize, cancel: threading.Event) -> tuple[memoryview, int, int]:
        assert one is not good
        return memoryview(bytes(3)), 1, 1

    monkeypatch.setattr(picture_loader, "_pixels", fail)
    loader.get(good, FULL)
    qtbot.waitUntil(lambda: not loader.busy, timeout=PATIENCE_MS)
    assert loader.get(good, FULL) == "Can't show “lake.png”."
    loader.get(other, FULL)
    qtbot.waitUntil(lambda: isinstance(loader.get(other, FULL), QImage), timeout=PATIENCE_MS)


@pytest.mark.parametrize(("width", "height"), [(12_000, 8_400), (4097, 4097), (100_000, 168)])
def test_a_very_large_picture_is_reduced_to_the_limit(width: int, height: int) -> None:
    found = fitted(width, height, FULL)
    assert 0.99 * MOST_PIXELS < found.width() * found.height() <= MOST_PIXELS or found == QSize(width, height)


def test_a_tile_of_a_known_picture_has_its_shape_even_if_its_size_was_unknown(qapp: QApplication, qtbot: QtBot) -> None:
    theme, file = Theme(qapp, "light"), StoredFile.of(landscape(300, 300))
    for number in range(2):  # the second one is in the cache
        tile = PictureTile(theme, Shown("a.png", file))
        qtbot.addWidget(tile)
        if number == 0:
            qtbot.waitUntil(lambda: not theme.pictures.busy, timeout=PATIENCE_MS)
        assert tile.sizeHint() == QSize(270, 270)
