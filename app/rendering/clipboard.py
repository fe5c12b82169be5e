"""Copying Markdown, which other apps paste as rich text or as it is."""

from PySide6.QtCore import QMimeData
from PySide6.QtGui import QGuiApplication

from app.rendering.html_writer import to_html

MAX_RICH = 500_000  # characters; longer text is copied as Markdown only


def copy_markdown(text: str) -> None:
    """Copy Markdown, and its rich text for apps that prefer it."""
    copied = QMimeData()
    copied.setText(text)
    if len(text) <= MAX_RICH:
        copied.setHtml(to_html(text))
    QGuiApplication.clipboard().setMimeData(copied)
