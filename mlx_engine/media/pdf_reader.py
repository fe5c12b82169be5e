"""Texts and pictures of a PDF's pages, in the child process.

PDFium is built without JavaScript and without XFA. It isn't thread-safe.
"""

import ctypes
import io
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from math import ceil, sqrt

import pypdfium2
import pypdfium2.raw as pdfium

from mlx_engine.media.unreadable import Unreadable

MOST_PAGES = 2000
MOST_TEXT = 2_000_000  # characters
_EVERYWHERE = (-1e6, -1e6, 1e6, 1e6)  # text outside the page, too
# What a page has to have to be read as a picture. Lengths are in points
_FEW_LETTERS = 50
_IMAGE_SHARE = 0.05  # of the page
_DRAWING_SHARE = 0.03
_SLANTED = (12, 200)  # curves and slanted lines: of a large drawing, and of any
_RULES = 3  # horizontal lines of the same extent make a table
_RULE_LENGTH, _RULE_GRID = 30, 3
_MOST_OBJECTS, _MOST_SEGMENTS = 3000, 6000  # a page with more is drawn
_DEEPEST_OUTLINE, _MOST_ENTRIES = 6, 10_000  # levels, and entries of an outline
_FIELDS = frozenset((pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP, pdfium.FPDF_ANNOT_TEXT))  # annotations without content

Box = tuple[float, float, float, float]  # left, bottom, right, top


def pages(data: memoryview, pixels: int) -> dict[str, object]:
    """Return each page's text, why it should be a picture, and the picture's size.

    Without a reason, the text is enough. A page that can't be drawn has the size 0 x 0.
    """
    found = []
    with _document(data) as document:
        for page, text in _page_texts(document, MOST_PAGES, MOST_TEXT, "pdf_too_much_text"):
            scale = _scale(page, pixels)
            found.append((text, _why_picture(page, text), *(ceil(edge * scale) for edge in page.get_size())))
    return {"pages": found}


def texts(data: memoryview, most_pages: int, most_text: int) -> tuple[list[str], list[tuple[int, str, int]]]:
    """Return all pages' texts, and level, title, and page of each outline entry."""
    with _document(data) as document:
        found = [text for _, text in _page_texts(document, most_pages, most_text, "document_too_much_text")]
        outline = []
        for entry in islice(document.get_toc(max_depth=_DEEPEST_OUTLINE), _MOST_ENTRIES):
            target = entry.get_dest()
            place = None if target is None else target.get_index()
            if place is not None and 0 <= place < len(found):
                outline.append((entry.level, entry.get_title(), place))
    return found, outline


def _page_texts(
    document: pypdfium2.PdfDocument, most_pages: int, most_text: int, too_much: str
) -> Iterator[tuple[pypdfium2.PdfPage, str]]:
    """Yield each page, open until the next one, and its text."""
    if (count := len(document)) > most_pages:
        raise Unreadable("pdf_too_many_pages", pages=count, limit=most_pages)
    room = most_text
    for number in range(count):
        with closing(document[number]) as page, closing(page.get_textpage()) as textpage:
            room -= textpage.count_chars()
            if room < 0:
                raise Unreadable(too_much, limit=most_text)
            yield page, _cleaned(textpage.get_text_bounded(*_EVERYWHERE))


def picture(data: memoryview, number: int, pixels: int) -> bytes:
    """Return a PNG of a page, counted from 1, with about this many pixels."""
    with _document(data) as document:
        if number > len(document):
            raise Unreadable("pdf_no_page", number=number, pages=len(document))
        with closing(document[number - 1]) as page:
            if not (scale := _scale(page, pixels)):
                raise Unreadable("pdf_page_size", number=number)
            with closing(page.render(scale=scale, may_draw_forms=False)) as bitmap:
                file = io.BytesIO()
                bitmap.to_pil().convert("RGB").save(file, "PNG", compress_level=1)
    return file.getvalue()


def _scale(page: pypdfium2.PdfPage, pixels: int) -> float:
    """Return the scale that gives a page this many pixels, or 0 if it has none."""
    width, height = page.get_size()
    can_draw = 0 < width < 1e6 and 0 < height < 1e6 and 1 / 100 < width / height < 100
    return sqrt(pixels / (width * height)) if can_draw else 0.0


@contextmanager
def _document(data: memoryview) -> Iterator[pypdfium2.PdfDocument]:
    try:
        document = pypdfium2.PdfDocument(bytes(data))
    except pypdfium2.PdfiumError as error:
        locked = error.err_code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY)
        raise Unreadable("pdf_locked" if locked else "pdf_damaged") from error
    with document:
        if len(document) < 1:
            raise Unreadable("pdf_damaged")
        yield document


def _cleaned(text: str) -> str:
    """Return a text with plain line ends and hyphens."""
    text = text.replace("\x02", "-").replace("\ufffe", "-")  # hyphens at line ends, where PDFium joins the lines
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).replace("\0", "").strip()


def _why_picture(page: pypdfium2.PdfPage, text: str) -> str:
    """Return why a page's text says less than the page, or ""."""
    if any(subtype not in _FIELDS for subtype in _annotations(page)):
        return "annotations"
    left, bottom, right, top = page_box = page.get_bbox()
    area = max((right - left) * (top - bottom), 1.0)
    image_area, drawing_area, slanted, segments = 0.0, 0.0, 0, 0
    rules: dict[tuple[int, int], set[int]] = {}
    drawn = written = False
    for count, thing in enumerate(page.get_objects(max_depth=4)):
        if count == _MOST_OBJECTS or segments > _MOST_SEGMENTS:
            return "figures"
        if thing.type == pdfium.FPDF_PAGEOBJ_TEXT:
            written = True
        elif thing.type == pdfium.FPDF_PAGEOBJ_IMAGE:
            image_area += _shown(_bounds(thing), page_box)
        elif thing.type == pdfium.FPDF_PAGEOBJ_PATH:
            drawn = True
            slanted_before = slanted
            for x, y, from_x, from_y, curved in _segments(thing, _MOST_SEGMENTS - segments):
                segments += 1
                if curved or (abs(x - from_x) > 1 and abs(y - from_y) > 1):
                    slanted += 1
                elif abs(x - from_x) >= _RULE_LENGTH:
                    ends = sorted((round(x / _RULE_GRID), round(from_x / _RULE_GRID)))
                    rules.setdefault((ends[0], ends[1]), set()).add(round(y / _RULE_GRID))
            if slanted > slanted_before:
                drawing_area += _shown(_bounds(thing), page_box)
    if any(len(heights) >= _RULES for heights in rules.values()):
        return "table"
    letters = sum(char.isalnum() for char in text)
    if letters < _FEW_LETTERS and (drawn or image_area or (written and not letters)):
        return "little_text"
    few, many = _SLANTED
    if image_area > _IMAGE_SHARE * area or slanted >= many or (slanted >= few and drawing_area > _DRAWING_SHARE * area):
        return "figures"
    return ""


def _annotations(page: pypdfium2.PdfPage) -> Iterator[int]:
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MOST_OBJECTS)):
        if annotation := pdfium.FPDFPage_GetAnnot(page, index):
            yield pdfium.FPDFAnnot_GetSubtype(annotation)
            pdfium.FPDFPage_CloseAnnot(annotation)


def _place(thing: pypdfium2.PdfObject) -> pypdfium2.PdfMatrix:
    """Return the matrix from an object's forms to the page."""
    matrix, form = pypdfium2.PdfMatrix(), thing.container
    while form is not None:
        matrix, form = matrix.multiply(form.get_matrix()), form.container
    return matrix


def _bounds(thing: pypdfium2.PdfObject) -> Box:
    return _place(thing).on_rect(*thing.get_bounds())


def _shown(box: Box, page: Box) -> float:
    """Return the area of a box that is on the page."""
    width = min(box[2], page[2]) - max(box[0], page[0])
    height = min(box[3], page[3]) - max(box[1], page[1])
    return max(width, 0.0) * max(height, 0.0)


def _segments(path: pypdfium2.PdfObject, most: int) -> Iterator[tuple[float, float, float, float, bool]]:
    """Yield a path's segments: end, start, and whether it is curved."""
    matrix = path.get_matrix().multiply(_place(path))
    x, y = ctypes.c_float(), ctypes.c_float()
    last = first = (0.0, 0.0)
    for index in islice(range(pdfium.FPDFPath_CountSegments(path)), most + 1):
        segment = pdfium.FPDFPath_GetPathSegment(path, index)
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        point, kind = matrix.on_point(x.value, y.value), pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            first = point
        else:
            yield *point, *last, kind == pdfium.FPDF_SEGMENT_BEZIERTO
        last = point
        if pdfium.FPDFPathSegment_GetClose(segment):
            yield *first, *point, False
