"""Passages of documents for messages to models that can't call tools."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.session.background_work import Background
from app.session.chat_library import ChatLibrary
from app.session.notice import Notice, Notices
from app.session.pair_session import PairLoader
from app.session.tool_box import ToolBox
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat
from app.text.language import tr
from mlx_engine.documents.citations import quoted_passages
from mlx_engine.documents.document_search import FoundPassage
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.document_tools import Documents

MOST_PASSAGES = 5
MOST_TOKENS, SHARE = 2_000, 4  # of the passages: at most this many tokens, and this part of the context
TOKEN_BYTES = 3  # of a text, a careful estimate
TYPING_S = 5.0  # between two looks through the folders while a message is being written
_KEPT = 8  # latest searches


@dataclass(frozen=True)
class PassageQuery:
    """A search for the passages that fit a message.

    Attributes:
        server: the built-in server with the documents.
        most_bytes: of the passages as text.
    """

    server: ServerConfig
    text: str
    most_bytes: int


class MessagePassages(QObject):
    """Searches for the passages that fit each message, and adds them to its files.

    So they are counted, stored, and sent again like a file. Messages get them if the chat has Documents on, and the model runs on
    this computer and can't call tools.
    """

    changed = Signal()  # what `searching` returns

    def __init__(
        self, library: ChatLibrary, loader: PairLoader, tools: ToolBox, notices: Notices, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._library, self._loader, self._tools, self._notices = library, loader, tools, notices
        self._background = Background(self, threads=1)
        self._documents: tuple[ServerConfig, Documents] | None = None
        self._found: dict[PassageQuery, tuple[Attachment, ...]] = {}  # the latest last
        self._running: set[PassageQuery] = set()
        self._failed: set[ServerConfig] = set()  # whose last search failed

    def added_to(self, chat: Chat, text: str, files: Sequence[Attachment]) -> tuple[Attachment, ...]:
        """Return a message's files with the passages that were found for it."""
        query = self._query(chat, text)
        return (*files, *self._found.get(query, ())) if query is not None else tuple(files)

    def searching(self, chat: Chat, text: str, typing: bool = False) -> bool:
        """Search the passages for a message if necessary, and return whether that runs.

        Args:
            typing: whether the message is being written. Then its search doesn't start while another one runs, so that the message
                that is sent next waits for one search at most. Ask again when `changed` is emitted.
        """
        query = self._query(chat, text)
        if query is None or query in self._found:
            return False
        if query not in self._running and not (typing and self._running):
            self._running.add(query)
            max_age_s = TYPING_S if typing else 0.0
            search = partial(self._search, query, max_age_s)
            self._background.run(search, partial(self._succeed, query), partial(self._fail, query))
        return True

    def servers(self, chat: Chat) -> list[ServerConfig]:
        """Return the built-in server whose passages a chat's messages get, if any."""
        query = self._query(chat, "?")
        return [query.server] if query is not None else []

    @Slot()
    def forget(self) -> None:
        """Search again for equal messages, because files may have changed."""
        self._found.clear()

    def close(self) -> None:
        if self._documents is not None:
            self._documents[1].close()  # ends a search that waits for the index
        self._background.close()

    def _query(self, chat: Chat, text: str) -> PassageQuery | None:
        pair = self._loader.pair
        if pair is None or not text or self._loader.can_call_tools or self._loader.sent_to:
            return None
        chosen = self._tools.chosen(chat.settings, self._library.project_of(chat))
        server = next((config for config in chosen if config.builtin == "documents" and config.folders), None)
        if server is None:
            return None
        return PassageQuery(server, text, TOKEN_BYTES * min(MOST_TOKENS, pair.context_limit // SHARE))

    def _search(self, query: PassageQuery, max_age_s: float) -> str:
        """Return the passages as text for a model. Runs on its own thread."""
        server = query.server
        if self._documents is None or self._documents[0] != server:
            if self._documents is not None:
                self._documents[1].close()
            self._documents = server, Documents(server.folders, self._tools.index_of(server))
        found = self._documents[1].find(query.text, MOST_PASSAGES, wait_s=None, max_age_s=max_age_s)
        return fitting(found, query.most_bytes)

    def _succeed(self, query: PassageQuery, text: str) -> None:
        self._failed.discard(query.server)
        self._keep(query, text)

    def _keep(self, query: PassageQuery, text: str) -> None:
        self._running.discard(query)
        while len(self._found) >= _KEPT:
            del self._found[next(iter(self._found))]
        self._found[query] = (Attachment(tr("Documents"), text, len(text.encode()), passages=True),) if text else ()
        self.changed.emit()

    def _fail(self, query: PassageQuery, why: str) -> None:
        self._keep(query, "")
        if query.server not in self._failed:
            self._failed.add(query.server)
            text = tr("The documents can't be searched, so messages get no passages of them.")
            self._notices.post(Notice(text, "error", topic="passages"))


def fitting(passages: Sequence[FoundPassage], most_bytes: int) -> str:
    """Return as many of the first passages as fit, as text for a model."""
    texts = (quoted_passages(passages[:count]) for count in range(len(passages), 0, -1))
    return next((text for text in texts if len(text.encode("utf-8", "surrogatepass")) <= most_bytes), "")
