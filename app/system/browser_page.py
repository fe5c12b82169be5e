"""Pages in replies, opened in the browser. The app itself never runs them."""

import hashlib
import tempfile
from functools import cache
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

SUFFIXES = {"html": ".html", "htm": ".html", "xhtml": ".xhtml", "svg": ".svg"}  # by language of a code block


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="slipstream-pages-")  # only this user can read it; deleted when the app ends


def open_page(text: str, language: str) -> bool:
    """Open a page in the browser, and return whether there is one.

    Args:
        language: a key of `SUFFIXES`.
    """
    data = text.encode()
    file = Path(_folder().name, hashlib.sha256(data).hexdigest()[:16] + SUFFIXES[language])
    try:
        file.write_bytes(data)
    except OSError:
        return False
    return QDesktopServices.openUrl(QUrl.fromLocalFile(str(file)))
