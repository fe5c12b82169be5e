"""Pages of attached PDFs and of documents that replies cite, and how they open."""

from collections.abc import Callable
from functools import partial

from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QMenu, QWidget

from app.rendering.page_links import CitablePages, document_in, page_in
from app.storage.attachments import Attachment, shortened
from app.storage.chat_tree import Turn
from app.views.pictures.picture_row import picture_of_page
from app.views.pictures.viewer import open_viewer
from app.views.transcript.read_pages import PageRead, pages_read
from app.widgets.theme import Theme


def pdfs_for(turn: Turn) -> list[Attachment]:
    """Return the PDFs that a reply can cite, latest first."""
    found: list[Attachment] = []
    for node in reversed(turn.asked.path() if turn.asked is not None else []):
        found += [one for one in node.attachments if one.page_list and one.document is not None and one.document.data]
    return list({one.document: one for one in reversed(found)}.values())[::-1]


def citable_pages(turn: Turn) -> CitablePages:
    """Return the pages that a reply can cite."""
    last = max((len(one.page_list) for one in pdfs_for(turn)), default=0)
    return CitablePages(last, tuple((one.document, one.page) for one in pages_read(turn)))


def open_page(theme: Theme, turn: Turn, address: str, show: Callable[[PageRead], object], parent: QWidget) -> None:
    """Show a page that a reply cites.

    If several files have the page, and the reply doesn't say which one is meant, ask.

    Args:
        address: the citation's address.
        show: shows the page of a document.
    """
    page, document = page_in(address), document_in(address)
    read = [one for one in pages_read(turn) if one.page == page and document in ("", one.document)]
    pdfs = [pdf for pdf in pdfs_for(turn) if page <= len(pdf.page_list)] if not document else []
    choices: list[tuple[str, Callable[[], object]]] = [(pdf.name, partial(show_page, theme, pdf, page, parent)) for pdf in pdfs]
    choices += [(one.document, partial(show, one)) for one in read]
    if len(choices) == 1:
        choices[0][1]()
    elif choices:
        menu = QMenu(parent)
        menu.setToolTipsVisible(True)
        for name, choose in choices:
            menu.addAction(shortened(name).replace("&", "&&"), choose)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(QCursor.pos())


def show_page(theme: Theme, pdf: Attachment, page: int, parent: QWidget) -> None:
    pictures = [picture_of_page(pdf, one.number) for one in pdf.page_list]
    open_viewer(theme, [one for one in pictures if one is not None], page - 1, parent.window())
