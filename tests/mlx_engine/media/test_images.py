"""Images are decoded as the reference processors do, upright and over white, or refused by name."""

import hashlib
import io
import os
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from mlx_engine.contract.attached_images import FORMATS, image_type
from mlx_engine.contract.errors import UserError, WorkCancelled
from mlx_engine.contract.limits import MAX_IMAGE_BYTES
from mlx_engine.hardware import child_process
from mlx_engine.media import image_decoder, images, media_process
from mlx_engine.media.images import ImageFacts, image_size, pixels
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.media.made_media import HEIC, chunk, dozen, exif, picture, png_of_size, saved

PICTURES = GOLDEN / "vision" / "pictures"
# Sizes and digests of tests/golden's resized pictures, for Qwen and for Gemma
RESIZED = {
    "alpha.png": ((96, 96, "c26758d08ca02317"), (384, 336, "76ee9158cde1c212")),
    "exif.jpg": ((128, 160, "1221d47560e4624c"), (336, 432, "dd7c63304aa2e01a")),
    "palette.gif": ((128, 96, "0c65de2874a12c5c"), (432, 336, "1a950df30cb4430e")),
    "photo.png": ((160, 96, "ef279c2d4de5a759"), (432, 336, "235e6d9f0677c98a")),
    "photo_b.png": ((160, 96, "7dddb75521f4d6b0"), (432, 336, "44e7f3bff3e848d6")),
    "tall.png": ((64, 288, "77407acd8a14dbe1"), (192, 768, "77b245d187b4d66f")),
    "tiny.png": ((64, 64, "4ac826a25ba3ce04"), (384, 384, "144f40c0499969e2")),
    "wide.jpg": ((352, 64, "95353f393e85de5b"), (912, 144, "43fce2159b60efbf")),
}
IMAGES = {name: data for name, data in dozen().items() if not name.endswith(".pdf")}


def upright(data: bytes) -> np.ndarray:
    facts = image_size(data)
    return pixels(data, facts.width, facts.height)


@pytest.mark.parametrize("name", sorted(RESIZED))
def test_resized_pictures_equal_the_reference(name: str) -> None:
    data = (PICTURES / "images" / name).read_bytes()
    for width, height, digest in RESIZED[name]:
        found = pixels(data, width, height)
        assert found.shape == (height, width, 3) and hashlib.sha256(found.tobytes()).hexdigest()[:16] == digest


@pytest.mark.parametrize("name", ["alpha.png", "palette.gif"])
def test_upright_pictures_equal_the_reference(name: str) -> None:
    data = (PICTURES / "images" / name).read_bytes()
    expected = Image.open(PICTURES / "upright" / Path(name).with_suffix(".png").name)
    np.testing.assert_array_equal(upright(data), np.asarray(expected))


@pytest.mark.parametrize("orientation", range(9))
@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_every_orientation_is_undone(format: str, orientation: int) -> None:
    options = {"lossless": True} if format == "WEBP" else {}
    data = saved(picture(), format, exif=exif(orientation), **options)
    expected = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    assert (image_size(data).width, image_size(data).height) == expected.size
    np.testing.assert_array_equal(upright(data), np.asarray(expected))


def test_a_heic_photo_is_turned_once() -> None:
    assert image_size(HEIC) == ImageFacts(32, 48, "HEIC")
    found = upright(HEIC).astype(int)
    assert (abs(found[:20] - (0, 0, 255)) < 9).all() and (abs(found[28:] - (255, 0, 0)) < 9).all()


@pytest.mark.parametrize("name", sorted(IMAGES))
def test_formats_are_found_by_content(name: str) -> None:
    facts = image_size(IMAGES[name], name)
    assert Path(name).suffix in FORMATS[facts.format].suffixes
    assert facts.frames == (2 if name.startswith("moving") else 1)


def test_white_is_below_whatever_is_transparent() -> None:
    gray = Image.new("LA", (4, 4), (80, 0))
    for clear in (gray, gray.convert("RGBA")):
        assert (upright(saved(clear, "PNG")) == 255).all()
    palette = Image.new("P", (4, 4), 1)
    palette.putpalette([9] * 6)
    assert (upright(saved(palette, "PNG", transparency=1)) == 255).all()
    assert (upright(saved(palette, "GIF", transparency=1)) == 255).all()
    assert (upright(saved(Image.new("RGB", (4, 4), (1, 2, 3)), "PNG", transparency=(1, 2, 3))) == 255).all()
    assert (upright(saved(Image.new("L", (4, 4), 7), "PNG", transparency=7)) == 255).all()
    half = upright(saved(Image.new("RGBA", (3, 3), (0, 0, 0, 128)), "PNG"))
    assert (half == 127).all()


def test_strips_of_large_pictures_leave_no_seams(monkeypatch: pytest.MonkeyPatch) -> None:
    from mlx_engine.media import image_decoder

    data = memoryview(saved(picture("RGBA", (40, 70)), "PNG"))
    whole = image_decoder.pixels(data, 40, 70)
    monkeypatch.setattr(image_decoder, "_STRIP", 40 * 9)
    assert image_decoder.pixels(data, 40, 70) == whole


def test_sixteen_bits_are_halved_and_not_clipped() -> None:
    values = np.arange(0, 65536, 64, dtype=np.uint16).reshape(32, 32)
    expected = np.repeat((values >> 8).astype(np.uint8)[..., None], 3, 2)
    for format in ("PNG", "TIFF"):
        np.testing.assert_array_equal(upright(saved(Image.fromarray(values), format)), expected)
    big_endian = Image.frombytes("I;16B", (32, 32), values.astype(">u2").tobytes())
    np.testing.assert_array_equal(upright(saved(big_endian, "TIFF")), expected)
    clear = saved(Image.fromarray(values), "PNG")
    at = clear.index(b"IDAT") - 4
    clear = clear[:at] + chunk(b"tRNS", b"\x12\x40") + clear[at:]  # one level is clear
    expected[values == 0x1240] = 255
    np.testing.assert_array_equal(upright(clear), expected)


def test_inks_and_bits_become_colors() -> None:
    white = upright(saved(Image.new("CMYK", (8, 8), (0, 0, 0, 0)), "TIFF"))
    assert (white == 255).all()
    assert (upright(saved(Image.new("1", (8, 8), 1), "PNG")) == 255).all()


@pytest.mark.parametrize(
    ("data", "code", "says"),
    [
        (b"", "image_unknown", "isn't an image"),
        (b"no image", "image_unknown", "isn't an image"),
        (saved(picture(), "BMP"), "image_format", "BMP"),
        (b"\0\0\0\x1cftypavif" + b"\0" * 90, "image_format", "AVIF"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image_format", "SVG"),
        (b"%PDF-1.7", "image_format", "PDF"),
        pytest.param(png_of_size(60_000, 60_000), "image_pixels", "60,000 × 60,000 pixels", id="bomb"),
        (saved(Image.new("F", (9, 9), 0.5), "TIFF"), "image_mode", "kind of color"),
        (saved(picture(), "PNG")[:90], "image_damaged", "damaged"),
        (saved(picture(), "JPEG")[:-200], "image_damaged", "damaged"),
    ],
)
def test_what_can_not_be_read_is_refused_by_name(data: bytes, code: str, says: str) -> None:
    with pytest.raises(UserError, match=says) as refused:
        image_size(data, "a.png")
        pixels(data, 8, 8, "a.png")
    assert refused.value.text.code == code and "“a.png”" in str(refused.value) and str(refused.value).endswith(".")


@pytest.mark.parametrize("brand", ["heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs", "mif1", "msf1"])
def test_what_the_decoder_reads_has_a_media_type(brand: str) -> None:
    for head in (b"\0\0\0\x1cftyp" + brand.encode(), b"II+\0", b"MM\0+"):
        assert image_type(head) == FORMATS[image_decoder.format_of(memoryview(head))].media_type


def test_a_file_of_too_many_bytes_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert images.MAX_IMAGE_BYTES == MAX_IMAGE_BYTES
    monkeypatch.setattr(images, "MAX_IMAGE_BYTES", 2_000_000)
    with pytest.raises(UserError, match="limit for images is 2 MB"):
        image_size(b"\x89PNG\r\n\x1a\n" + bytes(2_000_000))


def test_the_head_of_a_large_photo_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (400, 600, 3), dtype=np.uint8)
    sent: list[int] = []
    ask = images.ask
    monkeypatch.setattr(images, "ask", lambda *given, **options: (sent.append(len(given[3])), ask(*given, **options))[1])
    for format in ("JPEG", "PNG"):
        data = saved(Image.fromarray(noise), format, quality=100, exif=exif(8))
        assert image_size(data) == ImageFacts(400, 600, format) and len(data) > images._HEAD
    assert sent == [images._HEAD] * 2
    jpeg = saved(picture(), "JPEG")
    late = jpeg[:2] + (b"\xff\xed\xff\xff" + bytes(65533)) * 5 + jpeg[2:]  # its size is behind five segments of 64 KB
    assert image_size(late) == ImageFacts(48, 32, "JPEG")


# Limits


def test_a_canceled_image_is_not_read() -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(WorkCancelled):
        image_size(HEIC, cancel=cancel)


def test_a_request_canceled_while_it_waits_starts_no_process() -> None:
    media_process.images.stop()
    cancel, told = threading.Event(), list[type]()

    def wait() -> None:
        with pytest.raises(WorkCancelled) as canceled:
            image_size(HEIC, cancel=cancel)
        told.append(canceled.type)

    waits = threading.Thread(target=wait)
    with media_process.images._turn:
        waits.start()
        cancel.set()
        waits.join()
    assert told and media_process.images._process is None


def test_canceling_kills_the_process_and_the_next_one_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    cancel = threading.Event()
    looked = child_process.footprint
    monkeypatch.setattr(child_process, "footprint", lambda pid: (cancel.set(), looked(pid))[1])
    with pytest.raises(WorkCancelled):
        while True:  # until a request takes long enough for a look at its memory
            pixels(saved(picture(size=(2000, 2000)), "PNG"), 2000, 2000, cancel=cancel)
    assert media_process.images._process is None
    assert image_size(HEIC).format == "HEIC"


def test_an_image_whose_reading_is_stopped_is_not_called_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    assert image_size(HEIC).format == "HEIC"
    looked, stops = child_process.footprint, list[threading.Thread]()

    def stop(pid: int) -> int:
        if not stops:
            stops.append(threading.Thread(target=media_process.images.stop))
            stops[0].start()
        return looked(pid)

    monkeypatch.setattr(child_process, "footprint", stop)
    with pytest.raises(UserError, match=r"“a\.png” was stopped"):
        while True:  # until a request takes long enough for a look at its memory
            pixels(saved(picture(size=(2000, 2000)), "PNG"), 2000, 2000, "a.png")
    stops[0].join()
    assert image_size(HEIC).format == "HEIC"


def test_only_idle_processes_end_with_the_pair() -> None:
    assert image_size(HEIC).format == "HEIC"
    process = media_process.images._process
    assert process is not None
    with media_process.images._turn:
        media_process.end_idle()
        assert process.poll() is None
    media_process.end_idle()
    assert media_process.images._process is None and process.poll() is not None


def continued_with(pid: int, number: int) -> int:
    os.kill(pid, number)
    os.kill(pid, signal.SIGCONT)
    return 0


def test_a_crash_is_told_and_the_next_image_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for code, number in (("image_damaged", signal.SIGSEGV), ("image_slow", signal.SIGALRM)):
        assert image_size(HEIC).format == "HEIC"
        process = media_process.images._process
        assert process is not None
        os.kill(process.pid, signal.SIGSTOP)  # so that the signal comes while it has a request
        with monkeypatch.context() as patched:
            patched.setattr(child_process, "footprint", lambda pid, number=number: continued_with(pid, number))
            with pytest.raises(UserError) as told:
                image_size(HEIC, "a.heic")
        assert told.value.text.code == code
    assert image_size(HEIC).format == "HEIC"


def test_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    media_process.images.stop()
    monkeypatch.setattr(media_process.images, "memory", 300 << 20)
    bomb = saved(Image.new("L", (7500, 7500)), "PNG")
    assert len(bomb) < 300_000
    with pytest.raises(UserError, match="too much memory"):
        pixels(bomb, 8, 8)
    assert image_size(HEIC).format == "HEIC"
    media_process.images.stop()


@pytest.mark.parametrize("held", [media_process.MEMORY + 1, None])
def test_the_watched_footprint_is_limited_and_readable(held: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, which has no limit for it."""
    monkeypatch.setattr(child_process, "footprint", lambda pid: held)
    with pytest.raises(UserError, match="too much memory"):
        pixels(saved(picture(), "PNG"), 8, 8)


@pytest.mark.long
@pytest.mark.parametrize("format", ["JPEG", "PNG"])
def test_photos_of_a_hundred_megapixels_are_read(format: str) -> None:
    photo = Image.new("RGBA" if format == "PNG" else "RGB", (11648, 8736), "blue")
    data = saved(photo, format, exif=exif(6))
    assert image_size(data) == ImageFacts(8736, 11648, format)
    assert abs(pixels(data, 87, 116).astype(int) - (0, 0, 255)).max() < 3


def test_a_process_that_can_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    media_process.images.stop()
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    media_process.start()
    with pytest.raises(UserError, match="can't start"):
        image_size(HEIC)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows a process's environment and limits in /proc")
def test_the_process_knows_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    media_process.images.stop()
    assert image_size(HEIC).format == "HEIC"
    process = media_process.images._process
    assert process is not None
    known = Path(f"/proc/{process.pid}/environ").read_bytes().decode().split("\0")
    assert {entry.partition("=")[0] for entry in known if entry} <= {"LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "TZ"}
    limits = Path(f"/proc/{process.pid}/limits").read_text()
    assert [line.split()[3:5] for line in limits.splitlines() if line.startswith("Max file size")] == [["0", "0"]]


@pytest.mark.parametrize(
    "answer", [b"", b"[]\n", b"3\n", b'{"problem": "image_pixels", "values": {}}\n', b"\xff\n", b"[" * 9999, b"{}\n"]
)
def test_a_process_that_was_taken_over_can_only_answer_wrongly(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media_process.images, "ask", lambda *given: memoryview(answer))
    for read in (lambda: image_size(HEIC), lambda: pixels(HEIC, 8, 8)):
        with pytest.raises(UserError, match="is damaged"):
            read()
