"""Pages of PDFs that a chat sent to a model which couldn't see them."""

from PySide6.QtCore import QObject, Signal, Slot

from app.session.chat_library import ChatLibrary
from app.session.page_drawer import PageDrawer
from app.session.pair_session import PairLoader
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat


class ChatPages(QObject):
    """Draws such pages once the loaded model sees, so that the next reply gets them."""

    changed = Signal()

    def __init__(self, library: ChatLibrary, loader: PairLoader, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._library, self._loader = library, loader
        self._chat = Chat()
        self._drawer = PageDrawer(self)
        self._drawer.drawn.connect(self._keep)
        self._drawer.changed.connect(self.changed)

    @property
    def drawing(self) -> bool:
        return bool(self._drawer.pdfs)

    def draw(self, chat: Chat) -> None:
        """Draw the pages of a chat's shown branch."""
        if chat is not self._chat:
            self._drawer.draw(())
            self._chat = chat
        self._drawer.draw(self._files(chat))

    def lacking(self, chat: Chat) -> bool:
        """Whether pages of a chat's shown branch would be drawn."""
        return any(map(self._drawer.can_draw, self._files(chat)))

    def _files(self, chat: Chat) -> list[Attachment]:
        asked = [turn.asked for turn in chat.turns if turn.asked is not None] if self._loader.can_see else []
        return [file for node in asked for file in node.attachments]

    def stop(self) -> None:
        """Stop drawing. The pages are drawn when they are needed again."""
        self._drawer.stop()

    @Slot(object, object)
    def _keep(self, pdf: Attachment, drawn: Attachment) -> None:
        nodes = [node for node in self._chat.root.below() if pdf in node.attachments]
        for node in nodes:
            node.attachments = tuple(drawn if file == pdf else file for file in node.attachments)
        self._library.save(self._chat, nodes)
