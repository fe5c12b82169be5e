"""Pages of PDFs that a chat sent to a model which couldn't see them."""

import logging
import threading
from contextlib import suppress
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal, Slot

from app.session.chat_library import ChatLibrary
from app.session.pair_session import PairLoader
from app.storage.attached_files import with_page_pictures
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat, Node
from mlx_engine.contract.errors import WorkCancelled

log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Drawing:
    """A PDF whose pages are being drawn on a thread of its own."""

    chat: Chat
    node: Node
    pdf: Attachment
    cancel: threading.Event = field(default_factory=threading.Event)
    result: Attachment | None = None


class ChatPages(QObject):
    """Draws such pages once the loaded model sees, so that the next reply gets them."""

    changed = Signal()

    _ended = Signal(object)  # _Drawing, from its thread

    def __init__(self, library: ChatLibrary, loader: PairLoader, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._library, self._loader = library, loader
        self._drawing: _Drawing | None = None
        self._tried: set[tuple[str, Attachment]] = set()  # ids of messages, and their PDFs
        self._ended.connect(self._take)

    @property
    def drawing(self) -> bool:
        return self._drawing is not None

    def draw(self, chat: Chat) -> None:
        """Draw the pages of a chat's shown branch, one PDF after the other."""
        old = self._drawing
        if old is not None and old.chat is chat and self._loader.can_see:
            return
        self.stop()
        asked = [turn.asked for turn in chat.turns if turn.asked is not None] if self._loader.can_see else []
        undrawn = ((node, pdf) for node in asked for pdf in node.attachments if _is_undrawn(pdf))
        node, pdf = next((one for one in undrawn if (one[0].id, one[1]) not in self._tried), (None, None))
        if node is not None and pdf is not None:
            self._drawing = one = _Drawing(chat, node, pdf)
            threading.Thread(target=self._draw, args=(one,), name="pages", daemon=True).start()
        if self._drawing is not old:
            self.changed.emit()

    def stop(self) -> None:
        """Stop drawing. The pages are drawn when they are needed again."""
        if self._drawing is not None:
            self._drawing.cancel.set()
            self._drawing = None

    def _draw(self, one: _Drawing) -> None:
        try:
            one.result = with_page_pictures(one.pdf, one.cancel)
        except WorkCancelled:
            return
        except Exception:
            log.exception("Pages of a chat could not be drawn")
        with suppress(RuntimeError):  # the window is gone
            self._ended.emit(one)

    @Slot(object)
    def _take(self, one: _Drawing) -> None:
        if one is not self._drawing:
            return
        self._drawing = None
        drawn, files = one.result, one.node.attachments
        self._tried.add((one.node.id, drawn or one.pdf))
        if drawn is not None and drawn != one.pdf:
            one.node.attachments = tuple(drawn if file == one.pdf else file for file in files)
            self._library.save(one.chat, [one.node])
        self.draw(one.chat)
        self.changed.emit()


def _is_undrawn(file: Attachment) -> bool:
    has_document = file.document is not None and bool(file.document.data)
    return has_document and any(page.sent == "picture" and not page.shown for page in file.page_list)
