"""Chats on paper: documents for the printer, and PDF files."""

from math import ceil

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QLocale, QRectF, QSize, Qt, QUrl
from PySide6.QtGui import QFont, QFontDatabase, QImage, QPageSize, QPainter, QPdfWriter, QTextDocument
from PySide6.QtSvg import QSvgRenderer

from app.rendering.html_writer import formula_source, to_html
from app.widgets.formulas import typeset

TEXT_SIZE = 10  # points
FORMULA_SIZE = 14  # pixels, as tall as the text
SHARPNESS = 6  # pixels of a formula's picture for one of the document
_STYLE = """
h1 { font-size: 17pt; } h2 { font-size: 12pt; margin-top: 18px; } h3 { font-size: 11pt; }
pre { background-color: #f3f3f5; white-space: pre-wrap; font-family: "MONO"; font-size: 8.5pt; }
code { font-family: "MONO"; font-size: 9pt; }
table { border-collapse: collapse; } th, td { border: 1px solid #c8c8cc; padding: 4px; }
table { margin-top: 8px; margin-bottom: 8px; } blockquote { margin-left: 20px; color: #505050; }
a { color: #0a58ca; }
"""


def code_font() -> str:
    """Return the name of the font of code. Call it on the window's thread."""
    return QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()


def document(markdown: str, code_font: str) -> QTextDocument:
    """Return a document with typeset formulas, black on white. Any thread can call it."""
    made = QTextDocument()
    font = QFont()
    font.setPointSizeF(TEXT_SIZE)
    made.setDefaultFont(font)
    made.setDefaultStyleSheet(_STYLE.replace("MONO", code_font))
    pictures = list[QImage]()

    def formula(latex: str, display: bool) -> str:
        found = typeset(latex, display, FORMULA_SIZE)
        if found is None:
            return formula_source(latex, display)
        size = QSize(ceil(found.width), ceil(found.ascent + found.descent))
        picture = QImage(size * SHARPNESS, QImage.Format.Format_ARGB32_Premultiplied)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        QSvgRenderer(QByteArray(found.svg)).render(painter, QRectF(picture.rect()))
        painter.end()
        pictures.append(picture)
        return f'<img src="formula:{len(pictures)}" width="{size.width()}" height="{size.height()}" style="vertical-align: middle">'

    text = to_html(markdown, formula)
    for number, picture in enumerate(pictures, 1):
        made.addResource(QTextDocument.ResourceType.ImageResource.value, QUrl(f"formula:{number}"), picture)
    made.setHtml(text)
    return made


def to_pdf(markdown: str, title: str, code_font: str) -> bytes:
    """Return a PDF with numbered pages, on the usual paper of the user's country."""
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    metric = QLocale().measurementSystem() == QLocale.MeasurementSystem.MetricSystem
    writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4 if metric else QPageSize.PageSizeId.Letter))
    writer.setTitle(title)
    writer.setCreator("Slipstream")
    document(markdown, code_font).print_(writer)
    del writer  # it writes the end of the file
    return bytes(data.data())
