"""Messages that wait in chats that aren't open."""

from dataclasses import dataclass

from PySide6.QtCore import QObject, Slot

from app.session.activity import SessionActivity
from app.session.attachment_reader import AttachmentReader
from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.session.drafts import Draft, Drafts
from app.session.notice import Notice, Notices
from app.session.pair_session import PairLoader
from app.session.tool_box import ToolBox
from app.storage.chat_tree import Chat, Turn
from app.text.language import tr

STOPPED = ("cancelled", "interrupted", "error")  # replies after which the user may want to change the message


@dataclass(frozen=True)
class _Waiting:
    chat: Chat
    draft: Draft
    after: Turn | None  # whose reply the message waits for


class OutgoingMessages(QObject):
    """Messages that were waiting when their chats were left, one per chat.

    Each is sent in its chat once nothing keeps it from being sent. If it can't be sent, it is a draft again, and a notice says so.
    After a restart, all are drafts.
    """

    def __init__(
        self,
        session: ChatSession,
        activity: SessionActivity,
        library: ChatLibrary,
        loader: PairLoader,
        tools: ToolBox,
        attachments: AttachmentReader,
        drafts: Drafts,
        notices: Notices,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._activity, self._library, self._loader = session, activity, library, loader
        self._attachments, self._drafts, self._notices = attachments, drafts, notices
        self._waiting: dict[str, _Waiting] = {}  # by the ID of the chat
        for signal in (loader.changed, loader.loaded, tools.changed, activity.changed):
            signal.connect(self._send)

    def add(self, chat: Chat, draft: Draft, after: Turn | None) -> bool:
        """Let a message wait in a chat that is left, and return whether it can.

        A new chat isn't stored, and only an open chat reads files and draws pages.
        """
        if chat.id not in self._library.entries or self._attachments.busy or self._session.lacks_pages(chat, draft.files):
            return False
        self._waiting[chat.id] = _Waiting(chat, draft, after)
        return True

    def take(self, chat: Chat) -> Draft | None:
        """Return what was waiting in a chat that is opened."""
        one = self._waiting.pop(chat.id, None)
        return one.draft if one is not None else None

    def end(self) -> None:
        """Send no more messages, because the app quits. They are drafts already."""
        self._waiting.clear()

    @Slot()
    def _send(self) -> None:
        for one in list(self._waiting.values()):
            if self._waiting.get(one.chat.id) is not one:
                continue  # sent already: the start of another one's reply calls this
            if one.chat is not self._session.chat:  # else `take` follows
                self._try(one)

    def _try(self, one: _Waiting) -> None:
        """Send a message if nothing keeps it from being sent."""
        chat, draft, loader = one.chat, one.draft, self._loader
        if chat.id not in self._library.entries:
            del self._waiting[chat.id]
        elif one.after is not None and one.after.reply.reason in STOPPED:
            self._put_back(one)
        elif self._activity.refusal_in(chat) is not None or loader.running:
            return
        elif self._activity.refusal(chat) is not None or self._session.lacks_pages(chat, draft.files):
            self._put_back(one)
        elif not self._session.tools_starting_in(chat):
            del self._waiting[chat.id]
            self._session.send_in(chat, draft.text, draft.files, draft.edits)
            self._drafts.discard(draft)
            self._drafts.save()

    def _put_back(self, one: _Waiting) -> None:
        del self._waiting[one.chat.id]
        text = tr("Your message in “{title}” wasn't sent. It is a draft there.", title=one.chat.title)
        self._notices.post(Notice(text, topic=f"waiting {one.chat.id}", stays=True))
