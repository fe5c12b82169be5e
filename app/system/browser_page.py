"""Pages in replies, opened in the browser. The app itself never runs them."""

import hashlib
import tempfile
from functools import cache
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from mlx_engine.contract.temporary_folders import delete_abandoned, temporary_folder

SUFFIXES = {"html": ".html", "htm": ".html", "xhtml": ".xhtml", "svg": ".svg"}  # by language of a code block
_PURPOSE = "pages"  # of the folder


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return temporary_folder(_PURPOSE)


def open_page(text: str, language: str) -> bool:
    """Open a page in the browser, and return whether that worked.

    Args:
        language: a key of `SUFFIXES`.
    """
    data = text.encode()
    try:
        file = Path(_folder().name, hashlib.sha256(data).hexdigest()[:16] + SUFFIXES[language])
        file.write_bytes(data)
    except OSError:
        return False
    return QDesktopServices.openUrl(QUrl.fromLocalFile(str(file)))


def delete_pages() -> None:
    """Delete the pages that were opened, also those of an app that was killed."""
    if _folder.cache_info().currsize:
        _folder().cleanup()
        _folder.cache_clear()
    delete_abandoned(_PURPOSE)
