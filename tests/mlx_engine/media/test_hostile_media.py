"""Damaged and hostile files: no crash of this process, no wait without end, a clear message each, and the child is back."""

import io
import random
import struct
import zlib
from collections import Counter
from collections.abc import Callable

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, NumberObject, StreamObject, TextStringObject

from mlx_engine.contract.errors import UserError
from mlx_engine.media import pdfs
from mlx_engine.media.images import image_size, pixels
from mlx_engine.media.pdfs import pdf_pages, pdf_picture
from tests.mlx_engine.media.made_media import HEIC, chunk, dozen, line, pdf, picture, png_of_size, saved, written

DOZEN = dozen()


def outcome(name: str, data: bytes) -> str:
    """Read a file in both ways; return "read" or the code of the error, whose message must be clear."""
    try:
        if name.endswith(".pdf"):
            assert pdf_pages(data, name)
            assert pdf_picture(data, 1, 10_000, name).startswith(b"\x89PNG")
        else:
            facts = image_size(data, name)
            assert min(facts.width, facts.height, facts.frames) > 0
            assert pixels(data, 9, 7, name).shape == (7, 9, 3)
    except UserError as error:
        assert f"“{name}”" in str(error) and str(error).endswith(".")
        return error.text.code
    return "read"


def mutation(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(changed))
        match rng.randrange(6):
            case 0:
                changed[at] = rng.randrange(256)
            case 1:
                changed[at] ^= 1 << rng.randrange(8)
            case 2:  # a length or a size
                changed[at : at + 4] = rng.choice((b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\xff\xff"))
            case 3:
                del changed[at : at + rng.randrange(1, 40)]
            case 4:
                changed[at:at] = changed[at : at + rng.randrange(1, 40)]
            case 5:
                changed[at:at] = rng.randbytes(rng.randrange(1, 9))
        if len(changed) < 2:
            return bytes(changed)
    return bytes(changed[: rng.randrange(len(changed))] if rng.random() < 0.1 else changed)


def mutated(count: int, seed: int) -> Counter[str]:
    rng, outcomes, names = random.Random(seed), Counter[str](), sorted(DOZEN)
    for number in range(count):
        name = names[number % len(names)]
        outcomes[outcome(name, mutation(rng, DOZEN[name]))] += 1
    assert {outcome(name, DOZEN[name]) for name in names} == {"read"}  # and later requests are answered
    return outcomes


def test_mutated_files_are_read_or_refused() -> None:
    outcomes = mutated(240, 1)
    assert outcomes["read"] > 20 and outcomes["image_damaged"] > 20 and outcomes["pdf_damaged"] > 2


@pytest.mark.long
def test_twenty_thousand_mutated_files_are_read_or_refused() -> None:
    outcomes = mutated(20_000, 2)
    print(outcomes)
    assert outcomes["image_slow"] + outcomes["pdf_too_slow"] == 0


@pytest.mark.parametrize("name", sorted(DOZEN))
def test_cut_files_are_read_or_refused(name: str) -> None:
    data = DOZEN[name]
    for length in (1, 3, 13, len(data) // 4, len(data) // 2, len(data) - 40):
        outcome(name, data[:length])
    assert outcome(name, data) == "read"


def tiff(*tags: tuple[int, int, int, int], after: int = 0) -> bytes:
    """Return a TIFF of one directory: number, kind, count and value of each tag."""
    entries = b"".join(struct.pack("<HHII", *tag) for tag in sorted(tags))
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + entries + struct.pack("<I", after)


def riff(kind: bytes, data: bytes) -> bytes:
    body = b"WEBP" + kind + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


JPEG = saved(picture(), "JPEG")
START = JPEG.index(b"\xff\xc0") + 5  # height and width
LARGE_GIF = b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\x08\x01\0\0;"
SIDES = [
    (256, 4, 1, 60_000),
    (257, 4, 1, 60_000),
    (258, 3, 1, 8),
    (262, 3, 1, 1),
    (273, 4, 1, 8),
    (278, 4, 1, 60_000),
    (279, 4, 1, 99),
]
TEXT_BOMB = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(100_000_000)))
PROFILE_BOMB = chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(100_000_000)))
BOMBS = {
    "png": (png_of_size(60_000, 60_000), "image_pixels"),
    "wide png": (png_of_size(2**31 - 1, 1), "image_pixels"),
    "empty png": (png_of_size(0, 5), "image_damaged"),
    "png text": (png_of_size(9, 9)[:33] + TEXT_BOMB + png_of_size(9, 9)[33:], "image_damaged"),
    "png profile": (png_of_size(9, 9)[:33] + PROFILE_BOMB + png_of_size(9, 9)[33:], None),
    "jpeg": (JPEG[:START] + b"\xff\xff\xff\xff" + JPEG[START + 4 :], "image_pixels"),
    "gif": (LARGE_GIF, "image_pixels"),
    "tiff": (tiff(*SIDES), "image_pixels"),
    "tiff of one strip": (tiff(*[(256, 4, 1, 9) if tag[0] == 256 else tag for tag in SIDES]), "image_damaged"),
    "tiff in a circle": (tiff(*[(number, kind, count, min(of, 9)) for number, kind, count, of in SIDES], after=8), None),
    "webp": (riff(b"VP8X", b"\0\0\0\0" + b"\xff\xff\x7f" * 2), "image_pixels"),
    "lossless webp": (riff(b"VP8L", b"\x2f" + b"\xff" * 20), "image_pixels"),
    "lossy webp": (riff(b"VP8 ", b"\x30\x01\0\x9d\x01\x2a\xff\x3f\xff\x3f" + bytes(20)), "image_pixels"),
    "heic": (HEIC.replace(b"ispe\0\0\0\0\0\0\0@\0\0\0@", b"ispe\0\0\0\0\0\0\xff\xff\0\0\xff\xff"), None),
    "no heic": (HEIC[:40] + bytes(400), "image_damaged"),
    "pdf in a png": (b"\x89PNG\r\n\x1a\n" + pdf(line("Hi")), "image_damaged"),
    "gif in a jpeg": (b"\xff\xd8\xff" + DOZEN["moving.gif"], "image_damaged"),
    "frames without end": (DOZEN["moving.gif"][:-1] + b",\0\0\0\0\1\0\1\0\0\2\0" * 2000, None),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused(name: str) -> None:
    data, code = BOMBS[name]
    assert len(data) < 1_000_000
    found = outcome("a.png", data)
    assert found == code or (code is None and found in ("read", "image_damaged", "image_pixels", "image_memory"))
    assert outcome("photo.heic", HEIC) == "read"


def changed(change: Callable[[PdfWriter], object], *pages: str) -> bytes:
    writer = PdfWriter(PdfReader(io.BytesIO(pdf(*pages or (line("Hi"),)))))
    change(writer)
    return written(writer)


def circle(writer: PdfWriter) -> None:
    writer._pages.get_object()["/Kids"].append(writer._pages)


def own_child(writer: PdfWriter) -> None:
    writer._pages.get_object()[NameObject("/Kids")] = ArrayObject([writer._pages])


def box(*sides: float) -> Callable[[PdfWriter], object]:
    return lambda writer: writer.pages[0].update({NameObject("/MediaBox"): ArrayObject(map(FloatObject, sides))})


def counted(writer: PdfWriter) -> None:
    writer._pages.get_object()[NameObject("/Count")] = NumberObject(2**31 - 1)


def script(writer: PdfWriter) -> None:
    action = {"/Type": NameObject("/Action"), "/S": NameObject("/JavaScript"), "/JS": TextStringObject("while (true) app.alert(1)")}
    writer.root_object[NameObject("/OpenAction")] = DictionaryObject({NameObject(key): of for key, of in action.items()})


PDFS = {
    "form that shows itself": pdf(line("Hi") + "/X Do"),
    "pages in a circle": changed(circle),
    "pages that contain themselves": changed(own_child),
    "stated pages": changed(counted),
    "huge page": changed(box(0, 0, 1e9, 1e9)),
    "thin page": changed(box(0, 0, 1e6, 0.001)),
    "empty page": changed(box(5, 5, 5, 5)),
    "reversed page": changed(box(100, 100, 0, 0)),
    "endless numbers": changed(box(-1e38, -1e38, 1e38, 1e38)),
    "script": changed(script),
    "file": changed(lambda writer: writer.add_attachment("evil.sh", b"rm -rf ~")),
    "table of itself": b"%PDF-1.7\nxref\n0 1\n0000000000 65535 f \ntrailer<</Size 1/Root 1 0 R/Prev 9>>\nstartxref\n9\n%%EOF",
    "nested arrays": b"%PDF-1.7\n1 0 obj\n" + b"[" * 200_000 + b"\nendobj\ntrailer<</Root 1 0 R>>\n%%EOF",
    "nested states": pdf("q " * 100_000 + line("Hi")),
    "many lines": pdf("0 0 m " + "9 9 l 0 9 l " * 100_000 + "S"),
}


@pytest.mark.parametrize("name", PDFS)
def test_hostile_pdfs_are_read_or_refused(name: str) -> None:
    outcome("a.pdf", PDFS[name])
    assert outcome("text.pdf", DOZEN["text.pdf"]) == "read"


def test_a_script_and_a_file_in_a_pdf_change_nothing() -> None:
    for name in ("script", "file"):
        assert pdf_pages(PDFS[name]) == pdf_pages(pdf(line("Hi")))


@pytest.mark.long
def test_a_pdf_that_unpacks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The instructions of its page are 140 MB, in a file of a few hundred kilobytes."""
    monkeypatch.setattr(pdfs, "_SECONDS", 3.0)
    squeeze, lines = zlib.compressobj(), b"0 0 m 9 9 l S\n" * 100_000
    content = StreamObject()
    content._data = b"".join(squeeze.compress(lines) for _ in range(100)) + squeeze.flush()
    content[NameObject("/Filter")] = NameObject("/FlateDecode")
    data = changed(lambda writer: writer.pages[0].update({NameObject("/Contents"): writer._add_object(content)}))
    assert len(data) < 1_000_000
    assert outcome("a.pdf", data) in ("pdf_too_slow", "pdf_memory", "pdf_damaged")
    assert outcome("text.pdf", DOZEN["text.pdf"]) == "read"
