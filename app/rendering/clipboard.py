"""Copying Markdown, which other apps paste as rich text or as it is."""

from PySide6.QtGui import QGuiApplication, QStandardItemModel

from app.rendering.html_writer import to_html

MAX_RICH = 500_000  # characters; longer text is copied as Markdown only


def copy_markdown(text: str) -> None:
    """Copy Markdown, and its rich text for apps that prefer it."""
    clipboard = QGuiApplication.clipboard()
    if len(text) > MAX_RICH:
        clipboard.setText(text)
        return
    # Made by Qt: the clipboard may delete it after Python has ended, and the destructor of one made in Python would crash.
    model = QStandardItemModel(1, 1)
    copied = model.mimeData([model.index(0, 0)])
    for kind in copied.formats():
        copied.removeFormat(kind)
    copied.setText(text)
    copied.setHtml(to_html(text))
    clipboard.setMimeData(copied)
