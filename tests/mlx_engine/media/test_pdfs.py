"""Pages of PDFs: their texts, which ones should be pictures and why, and the pictures."""

import io

import numpy as np
import pytest
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import FreeText, Link

from mlx_engine.contract.errors import UserError
from mlx_engine.media import pdf_reader, pdfs
from mlx_engine.media.images import image_size
from mlx_engine.media.pdfs import PdfPage, pdf_pages, pdf_picture
from tests.mlx_engine.media.made_media import line, locked, pdf, picture, saved, written

LONG = "".join(line("A line of text that says what the page is about", y=y) for y in (180, 160, 140))
CHART = "20 20 m " + "".join(f"{30 + 10 * step} {40 + 37 * step % 90} l " for step in range(14)) + "S "
JPEG = saved(picture(), "JPEG")


@pytest.mark.parametrize(
    ("instructions", "why"),
    [
        ("", ""),  # blank
        (LONG, ""),
        (line("Title"), ""),  # little text, and nothing else
        ("q 180 0 0 180 10 10 cm /I Do Q", "little_text"),  # scanned
        (line("7") + "10 10 80 20 re f", "little_text"),
        (LONG + "q 100 0 0 50 10 10 cm /I Do Q", "figures"),
        (LONG + "q 20 0 0 20 10 10 cm /I Do Q", ""),  # a logo
        (LONG + "q 100 0 0 50 500 500 cm /I Do Q", ""),  # outside the page
        (LONG + CHART, "figures"),
        (LONG + "20 20 150 80 re S", ""),  # a frame
        (LONG + "20 20 m 180 20 l S 20 190 m 180 190 l S", ""),  # below a header and above a footer
        (LONG + "20 20 m 180 20 l S 20 60 m 180 60 l S 20 80 m 180 80 l S", "table"),
        (LONG + "20 20 160 0.5 re f 20 60 160 0.5 re f 20 80 160 0.5 re f", "table"),  # rules that are thin boxes
        (LONG + "20 20 80 20 re 100 20 80 20 re 20 40 80 20 re 100 40 80 20 re S", "table"),  # cells
        (LONG + "q .5 0 0 .5 0 0 cm 40 40 m 360 40 l S 40 80 m 360 80 l S 40 99 m 360 99 l S Q", "table"),
    ],
)
def test_a_page_is_a_picture_if_its_text_says_less(instructions: str, why: str) -> None:
    (page,) = pdf_pages(pdf(instructions, image=JPEG))
    assert (page.why, page.kind) == (why, "picture" if why else "text")


def test_fields_and_notes_make_a_page_a_picture_but_links_do_not() -> None:
    for annotation, why in (
        (FreeText(text="Signed", rect=(10, 10, 90, 90)), "annotations"),
        (Link(rect=(10, 10, 90, 90), url="https://example.org"), ""),
    ):
        writer = PdfWriter(PdfReader(io.BytesIO(pdf(LONG))))
        writer.add_annotation(0, annotation)
        assert pdf_pages(written(writer))[0].why == why


def test_texts_are_read_page_by_page() -> None:
    found = pdf_pages(pdf(line("First") + line("second line", y=80), "", line("a" * 600)))
    size = (1449, 1449)  # of a picture, which has the same sides as the page
    assert found == (PdfPage(1, "First\nsecond line", size=size), PdfPage(2, "", size=size), PdfPage(3, "a" * 600, size=size))


def test_a_hyphen_at_a_line_end_stays() -> None:
    (page,) = pdf_pages(pdf(line("with a hy-", y=100) + line("phen in it", y=86)))
    assert page.text == "with a hy-phen in it"


def test_a_page_is_drawn_with_the_wanted_pixels() -> None:
    data = pdf(line("Hi") + "100 0 100 50 re f", size=(200, 50))
    facts = image_size(pdf_picture(data, 1, 40_000))
    assert (facts.format, facts.width, facts.height) == ("PNG", 400, 100)
    (page,) = pdf_pages(data)
    facts = image_size(pdf_picture(data, 1))
    assert page.size == (facts.width, facts.height)
    drawn = np.asarray(Image.open(io.BytesIO(pdf_picture(data, 1, 10_000))))
    assert (drawn[:, 150:] == 0).all() and (drawn[:5, :5] == 255).all()


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256"])
def test_a_pdf_that_opens_without_a_password_is_read(algorithm: str) -> None:
    assert pdf_pages(locked("", "owner", algorithm))[0].text == "Secret"
    with pytest.raises(UserError, match="password-protected"):
        pdf_pages(locked("pass", algorithm=algorithm))


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7\nnothing", pdf(LONG)[:300], saved(picture(), "PNG")])
def test_what_is_no_pdf_is_refused_by_name(data: bytes) -> None:
    for read in (lambda: pdf_pages(data, "a.pdf"), lambda: pdf_picture(data, 1, name="a.pdf")):
        with pytest.raises(UserError, match=r"“a\.pdf” is damaged"):
            read()


def test_limits_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pdf(line("One"), line("Two"))
    with pytest.raises(UserError, match=r"“a\.pdf” has no page 3\. It has 2 pages"):
        pdf_picture(data, 3, name="a.pdf")
    line_of_points = pdf(LONG, size=(20_000, 3))
    assert pdf_pages(line_of_points)[0].size is None
    with pytest.raises(UserError, match=r"Page 1 of “a\.pdf” has a size that can't be shown"):
        pdf_picture(line_of_points, 1, name="a.pdf")
    monkeypatch.setattr(pdfs, "MOST_BYTES", 1_000_000)
    with pytest.raises(UserError, match="limit for PDFs is 1 MB"):
        pdf_pages(bytes(1_000_001))
    for limit, code in (("MOST_PAGES", "pdf_too_many_pages"), ("MOST_TEXT", "pdf_too_much_text")):
        with monkeypatch.context() as patched, pytest.raises(pdf_reader.Unreadable) as refused:
            patched.setattr(pdf_reader, limit, 1)
            pdf_reader.pages(memoryview(data), 10_000)
        assert refused.value.code == code
