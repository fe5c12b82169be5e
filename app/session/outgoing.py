"""Messages that wait in chats that aren't open."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Slot

from app.session.activity import SessionActivity
from app.session.attachment_reader import AttachmentReader
from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.session.context_use import ContextUse, use_text
from app.session.drafts import Draft, Drafts
from app.session.engine_adapter import EngineAdapter
from app.session.message_passages import MessagePassages
from app.session.notice import Notice, NoticeAction, Notices
from app.session.pair_session import PairLoader
from app.session.prompt_count import PromptCount
from app.session.tool_box import ToolBox
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat, Turn
from app.text.language import sentences, tr
from app.text.plain_text import clean

STOPPED = ("cancelled", "interrupted", "error")  # replies after which the user may want to change the message


@dataclass(eq=False)
class _Waiting:
    chat: Chat
    draft: Draft
    after: Turn | None  # whose reply the message waits for
    given_up: tuple[Attachment, ...]  # PDFs with pages that can't be drawn
    loading: bool  # whether it is for a pair that was being loaded
    count: PromptCount | None = None  # whether it fits, or the last answer
    fits: bool = False  # according to `count`


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
        engine: EngineAdapter,
        passages: MessagePassages,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._passages = passages
        self._session, self._activity, self._library, self._loader = session, activity, library, loader
        self._attachments, self._drafts, self._notices, self._engine = attachments, drafts, notices, engine
        self._waiting: dict[str, _Waiting] = {}  # by the ID of the chat
        loader.loaded.connect(self._forget_counts)
        loader.missed.connect(self._put_all_back)
        for signal in (loader.changed, loader.loaded, tools.changed, activity.changed, passages.changed):
            signal.connect(self._send)

    def add(self, chat: Chat, draft: Draft, after: Turn | None) -> bool:
        """Let a message wait in a chat that is left, and return whether it can.

        A new chat isn't stored, and only an open chat reads files and draws pages.
        """
        if chat.id not in self._library.entries or self._attachments.busy or self._session.lacks_pages(chat):
            return False
        given_up = tuple(file for file in draft.files if file.undrawn) if self._loader.can_see else ()
        self._waiting[chat.id] = _Waiting(chat, draft, after, given_up, self._loader.running)
        return True

    def take(self, chat: Chat) -> Draft | None:
        """Return what was waiting in a chat that is opened."""
        one = self._waiting.get(chat.id)
        if one is not None:
            self._remove(one)
        return one.draft if one is not None else None

    def end(self) -> None:
        """Send no more messages, because the app quits. They are drafts already."""
        for one in list(self._waiting.values()):
            self._remove(one)

    def _remove(self, one: _Waiting) -> None:
        self._forget_count(one)
        del self._waiting[one.chat.id]

    def _forget_count(self, one: _Waiting) -> None:
        if one.count is not None:
            one.count.cancel()
        one.count, one.fits = None, False

    @Slot()
    def _forget_counts(self) -> None:
        for one in self._waiting.values():
            self._forget_count(one)

    @Slot()
    def _put_all_back(self) -> None:
        """Keep messages that were for a pair that couldn't be loaded from another one."""
        for one in [one for one in self._waiting.values() if one.loading]:
            self._put_back(one, tr("The model it was for isn't available."))

    @Slot()
    def _send(self) -> None:
        for one in list(self._waiting.values()):
            if self._waiting.get(one.chat.id) is not one:
                continue  # sent already: the start of another one's reply calls this
            if one.chat is not self._session.chat:  # else `take` follows
                self._try(one)

    def _try(self, one: _Waiting) -> None:
        """Send a message if nothing keeps it from being sent."""
        chat, draft = one.chat, one.draft
        if chat.id not in self._library.entries:
            self._remove(one)
        elif one.after is not None and one.after.reply.reason in STOPPED:
            self._put_back(one)
        elif self._activity.refusal_in(chat) is not None or self._loader.running:
            return
        elif (refusal := self._activity.refusal(chat)) is not None:
            self._put_back(one, refusal.text)
        elif self._lacks_pages(one):
            self._put_back(one, tr("Pages of PDFs are read while their chat is open."))
        elif self._passages.searching(chat, clean(draft.text).strip()):
            return
        elif not self._session.tools_starting_in(chat) and self._fits(one):
            self._remove(one)
            self._session.send_in(chat, draft.text, self._files_of(one), draft.edits)
            self._drafts.discard(draft)
            self._drafts.save()

    def _lacks_pages(self, one: _Waiting) -> bool:
        """Whether the model sees pages that aren't drawn, but can be."""
        undrawn = any(file.undrawn and file not in one.given_up for file in one.draft.files)
        return (self._loader.can_see and undrawn) or self._session.lacks_pages(one.chat)

    def _fits(self, one: _Waiting) -> bool:
        """Return whether a message surely fits, or else count its tokens.

        Nothing is sent to a server to be counted.
        """
        chat, draft, pair = one.chat, one.draft, self._loader.pair
        files, before = self._files_of(one), chat.node_before(draft.edits)
        prompt = self._session.prompt_in(chat, clean(draft.text).strip(), files, before)
        if pair is None or self._loader.sent_to or prompt.most_tokens < pair.context_limit:
            return True
        if one.count is None or one.count.prompt != prompt:
            self._forget_count(one)
            one.count = PromptCount(self._engine, prompt, partial(self._counted, one))
        return one.fits

    def _files_of(self, one: _Waiting) -> tuple[Attachment, ...]:
        return self._passages.added_to(one.chat, clean(one.draft.text).strip(), one.draft.files)

    def _counted(self, one: _Waiting, use: ContextUse | None) -> None:
        if use is not None and use.full:
            self._put_back(one, use_text(use))
        else:
            one.fits = True  # or its reply says why it can't be counted
            self._send()

    def _put_back(self, one: _Waiting, why: str = "") -> None:
        self._remove(one)
        self._notices.post(not_sent(one.chat, one.chat.title, partial(self._session.open_chat, one.chat.id), why))


def not_sent(chat: Chat, title: str, open_chat: Callable[[], object], why: str = "") -> Notice:
    """Return the notice of a message that waited in a chat which the user doesn't see."""
    text = tr("Your message in “{title}” wasn't sent. It is a draft there.", title=title)
    show = NoticeAction(tr("Open Chat"), open_chat, needed=True)
    return Notice(sentences(text, why), topic=f"waiting {chat.id}", actions=(show,), stays=True)
