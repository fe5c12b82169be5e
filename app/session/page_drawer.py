"""Drawing of the pages of PDFs that are sent as pictures."""

import logging
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal, Slot

from app.storage.attached_files import draw_pages
from app.storage.attachments import Attachment
from mlx_engine.contract.errors import WorkCancelled

log = logging.getLogger(__name__)

_State = tuple[str, tuple[int, ...], tuple[int, ...]]


@dataclass(eq=False)
class _Drawing:
    """A PDF whose pages are being drawn on a thread of its own."""

    pdf: Attachment
    drawn: Attachment  # with the pictures made so far
    cancel: threading.Event = field(default_factory=threading.Event)


class PageDrawer(QObject):
    """A drawer of pages, one PDF after the other.

    Attributes:
        pdfs: the PDF that is being drawn, and those that wait.
    """

    changed = Signal()  # `pdfs`, unless by `stop`
    drawn = Signal(object, object)  # Attachment, and the same with more pictures

    _ended = Signal(object)  # _Drawing, from its thread

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.pdfs: list[Attachment] = []
        self._drawing: _Drawing | None = None
        self._given_up: set[_State] = set()
        self._ended.connect(self._take)

    def draw(self, files: Iterable[Attachment]) -> None:
        """Draw the pages that these files lack, and stop drawing other files."""
        before = self.pdfs
        wanted = [pdf for pdf in dict.fromkeys(files) if self.can_draw(pdf)]
        if self._drawing is not None and self._drawing.pdf not in wanted:
            self.stop()
        self.pdfs = wanted
        self._start()
        if wanted != before:
            self.changed.emit()

    def can_draw(self, pdf: Attachment) -> bool:
        """Whether a PDF lacks pages that weren't given up and didn't fail."""
        return bool(pdf.undrawn) and _state(pdf) not in self._given_up

    def stop(self) -> None:
        """Stop drawing, and keep the pictures made so far."""
        one, self._drawing, self.pdfs = self._drawing, None, []
        if one is not None:
            one.cancel.set()
            self._keep(one.pdf, one.drawn)

    def give_up(self, files: Iterable[Attachment]) -> None:
        """Draw no pages of these files until other pages are chosen or `retry` is called."""
        self._given_up.update(_state(one) for one in files if one.undrawn)

    def retry(self) -> None:
        """Allow to draw what was given up or failed."""
        self._given_up.clear()

    def _start(self) -> None:
        if self._drawing is None and self.pdfs:
            self._drawing = one = _Drawing(self.pdfs[0], self.pdfs[0])
            threading.Thread(target=self._draw, args=(one,), name="pages", daemon=True).start()

    def _draw(self, one: _Drawing) -> None:
        try:
            for drawn in draw_pages(one.pdf, one.cancel):
                one.drawn = drawn
        except WorkCancelled:
            return
        except Exception:
            log.exception("Pages could not be drawn")
        with suppress(RuntimeError):  # the window is gone
            self._ended.emit(one)

    @Slot(object)
    def _take(self, one: _Drawing) -> None:
        if one is self._drawing:
            self._drawing = None
            self.give_up([one.drawn])
            self.pdfs = [pdf for pdf in self.pdfs if pdf != one.pdf]
            self._keep(one.pdf, one.drawn)
            self._start()
            self.changed.emit()

    def _keep(self, pdf: Attachment, drawn: Attachment) -> None:
        if drawn is not pdf:
            self.drawn.emit(pdf, drawn)


def _state(pdf: Attachment) -> _State:
    """Return what tells whether drawing a PDF again would give other pictures."""
    shown = tuple(page.number for page in pdf.page_list if page.shown)
    return pdf.document.digest if pdf.document is not None else "", pdf.undrawn, shown
