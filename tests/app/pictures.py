"""Images and PDFs for tests, drawn when they are needed."""

import io
from functools import cache

from PIL import Image, ImageDraw
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from app.storage.attachments import Attachment
from app.storage.pictures import Page, Picture, StoredFile


@cache
def landscape(width: int = 320, height: int = 200, format: str = "PNG") -> bytes:
    """Mountains below a sun."""
    image = Image.new("RGB", (width, height))
    draw = ImageDraw.Draw(image)
    for y in range(height):
        draw.line([(0, y), (width, y)], fill=(40 + 150 * y // height, 90 + 80 * y // height, 200 - 60 * y // height))
    sun = width * 0.6, height * 0.15
    draw.ellipse([*sun, sun[0] + width * 0.15, sun[1] + width * 0.15], fill=(255, 240, 200))
    draw.polygon([(0, height), (width * 0.35, height * 0.4), (width * 0.7, height)], fill=(40, 70, 60))
    draw.polygon([(width * 0.4, height), (width * 0.75, height * 0.55), (width, height * 0.8), (width, height)], fill=(25, 50, 45))
    made = io.BytesIO()
    image.save(made, format)
    return made.getvalue()


def picture(name: str = "lake.png", width: int = 320, height: int = 200, format: str = "PNG", frames: int = 1) -> Attachment:
    data = landscape(width, height, format)
    return Attachment(name, "", len(data), picture=Picture(StoredFile.of(data), width, height, format, frames))


def lost(name: str = "gone.png") -> Attachment:
    return Attachment(name, "", 9, picture=Picture(StoredFile("0" * 64, b""), 320, 200, "PNG"))


def pdf(*pages: str, password: str = "", algorithm: str = "RC4-128") -> bytes:
    """A PDF with a line of text on each page; an empty string makes an empty page."""
    writer = PdfWriter()
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding"}
    named = DictionaryObject({NameObject(key): NameObject(value) for key, value in font.items()})
    for text in pages:
        page = writer.add_blank_page(200, 200)
        resources = DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/F1"): named})})
        page[NameObject("/Resources")] = resources
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 10 100 Td ({text}) Tj ET".encode() if text else b"")
        page[NameObject("/Contents")] = writer._add_object(content)
    if password:
        writer.encrypt(password, algorithm=algorithm)
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


@cache
def document_data() -> bytes:
    """A PDF with a page of text, a scanned page, and a page with a table."""
    scan, table = Image.open(io.BytesIO(landscape(800, 1000))), Image.new("RGB", (800, 1000), "white")
    draw = ImageDraw.Draw(table)
    for row in range(12):
        draw.line([(80, 120 + 60 * row), (720, 120 + 60 * row)], fill="black", width=3)
    text = PdfReader(io.BytesIO(pdf("First page of a report about mountains and lakes, written for tests of documents")))
    writer = PdfWriter()
    writer.add_page(text.pages[0])
    for image in (scan, table):
        made = io.BytesIO()
        image.save(made, "PDF")
        writer.add_page(PdfReader(made).pages[0])
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def document(name: str = "report.pdf") -> Attachment:
    data = document_data()
    pages = Page(1, "First page"), Page(2, "", "little_text", "picture"), Page(3, "Third page", "table", "picture")
    return Attachment(name, "First page\n\nThird page", len(data), 3, document=StoredFile.of(data), page_list=pages)
