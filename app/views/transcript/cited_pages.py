"""Pages of attached PDFs that replies cite, and how they open."""

from functools import partial

from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QMenu, QWidget

from app.storage.attachments import Attachment, shortened
from app.storage.chat_tree import Turn
from app.views.pictures.picture_row import picture_of_page
from app.views.pictures.viewer import open_viewer
from app.widgets.theme import Theme


def pdfs_for(turn: Turn) -> list[Attachment]:
    """Return the PDFs that a reply can cite, latest first."""
    found: list[Attachment] = []
    for node in reversed(turn.asked.path() if turn.asked is not None else []):
        found += [one for one in node.attachments if one.page_list and one.document is not None and one.document.data]
    return list({one.document: one for one in reversed(found)}.values())[::-1]


def last_page(turn: Turn) -> int:
    """Return the largest page number that a reply can cite, or 0."""
    return max((len(one.page_list) for one in pdfs_for(turn)), default=0)


def open_page(theme: Theme, turn: Turn, page: int, parent: QWidget) -> None:
    """Show a page in the viewer.

    If several PDFs have the page, ask which one is meant.
    """
    pdfs = [one for one in pdfs_for(turn) if page <= len(one.page_list)]
    if len(pdfs) == 1:
        show_page(theme, pdfs[0], page, parent)
    elif pdfs:
        menu = QMenu(parent)
        menu.setToolTipsVisible(True)
        for one in pdfs:
            menu.addAction(shortened(one.name).replace("&", "&&"), partial(show_page, theme, one, page, parent))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(QCursor.pos())


def show_page(theme: Theme, pdf: Attachment, page: int, parent: QWidget) -> None:
    pictures = [picture_of_page(pdf, one.number) for one in pdf.page_list]
    open_viewer(theme, [one for one in pictures if one is not None], page - 1, parent.window())
