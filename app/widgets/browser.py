"""Addresses that open in the browser."""

from PySide6.QtCore import QUrl
from PySide6.QtGui import QCursor, QDesktopServices
from PySide6.QtWidgets import QToolTip, QWidget

from app.text.language import tr
from app.widgets.controls import announce


def open_in_browser(address: QUrl, owner: QWidget) -> None:
    """Open an address in the browser, or say at the pointer that none opens."""
    if not QDesktopServices.openUrl(address):
        text = tr("Can't open a browser. Set a default browser in the system's settings, or copy the link.")
        QToolTip.showText(QCursor.pos(), text, owner)
        announce(owner, text)
