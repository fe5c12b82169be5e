"""Unsent messages and edits of each chat, kept across restarts."""

import json
from dataclasses import dataclass, field, replace
from functools import partial

from PySide6.QtCore import QObject, QSettings, QTimer, Signal, Slot

from app.session.chat_library import ChatLibrary
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat, Node
from app.storage.json_values import as_dict, parse_json
from app.storage.store import Store
from app.storage.store_thread import StoreThread
from app.storage.stored_drafts import StoredDraft

SAVE_MS = 1000  # after the first change since the last save
_SETTING = "drafts"  # texts by chat: those of earlier versions, and those that the database can't take
_NEW = ""  # in place of the ID of a new chat, which isn't saved yet


@dataclass(eq=False)
class Draft:
    """An unsent message, or an edit of a message that wasn't sent.

    Attributes:
        chat: ID of its chat, or "" for the next new chat.
        edits: ID of the message that is edited, or "".
        files: its files. Those still being read are added to this list.
        open: whether the edit goes on when the chat is opened.
        original: the text and files of the edited message.
        stored: what the database has.
    """

    chat: str = _NEW
    edits: str = ""
    text: str = ""
    files: list[Attachment] = field(default_factory=list)
    open: bool = False
    original: tuple[str, tuple[Attachment, ...]] = ("", ())
    stored: StoredDraft | None = None

    @property
    def empty(self) -> bool:
        return not self.text and not self.files

    @property
    def unchanged(self) -> bool:
        """Whether an edit changes nothing."""
        return (self.text, tuple(self.files)) == self.original

    @property
    def record(self) -> StoredDraft:
        """What the database keeps: nothing of an edit that changes nothing."""
        kept = ("", ()) if self.edits and self.unchanged else (self.text, tuple(self.files))
        return StoredDraft(self.chat, self.edits, *kept, self.open)


class Drafts(QObject):
    """The drafts of all chats. They are saved soon after each change."""

    read = Signal()  # those of an earlier run are there

    def __init__(self, library: ChatLibrary, store: StoreThread, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._library, self._store, self._settings = library, store, settings
        self._drafts: dict[tuple[str, str], Draft] = {}
        self._discarded: list[StoredDraft] = []  # still in the database
        self._filled = False
        self.earlier = ""  # the text of the next new chat that an earlier run left
        self._timer = QTimer(self, singleShot=True, interval=SAVE_MS)
        self._timer.timeout.connect(self.save)
        library.drafts_read.connect(self._fill)

    def of(self, chat: Chat, edited: Node | None = None) -> Draft:
        """Return a chat's unsent message, or the edit of one of its messages."""
        key = _NEW if chat.empty else chat.id, edited.id if edited is not None else ""
        draft = self._drafts.get(key)
        if draft is None:
            draft = self._drafts[key] = Draft(*key)
            if edited is not None:
                draft.text, draft.files = edited.text, list(edited.attachments)
        if edited is not None:
            draft.original = edited.text, edited.attachments
        return draft

    def open_edit(self, chat: Chat) -> str:
        """Return the ID of the message whose edit goes on in a chat, or ""."""
        return next((draft.edits for draft in self._drafts.values() if draft.chat == chat.id and draft.edits and draft.open), "")

    def claim(self, draft: Draft, chat: Chat) -> None:
        """Give the next new chat's message to the chat that it was."""
        self.discard(draft)
        draft.chat, draft.stored = chat.id, None
        self._drafts[draft.chat, draft.edits] = draft

    def discard(self, draft: Draft) -> None:
        """Forget a draft that was sent or given up."""
        if self._drafts.get((draft.chat, draft.edits)) is draft:
            del self._drafts[draft.chat, draft.edits]
            if draft.stored is not None:
                self._discarded.append(replace(draft.stored, text="", attachments=()))
            self.save_soon()

    @Slot()
    def save_soon(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def save(self) -> None:
        """Save all changes now."""
        self._timer.stop()
        if not self._store.keeps or not self._filled:
            self._save_in_settings()
            return
        records, self._discarded = self._discarded, []
        for draft in self._drafts.values():
            record = draft.record
            if record != draft.stored and (draft.stored is not None or record.text or record.attachments):
                records.append(record)
                draft.stored = record
        for record in records:
            self._store.write(partial(Store.save_draft, draft=record), chat_id=record.chat)

    def _save_in_settings(self) -> None:
        """Save texts while the database can't be used, isn't read yet, or is closed."""
        texts = {} if self._filled else self._texts_in_settings
        for draft in self._drafts.values():
            if not draft.edits:
                texts[draft.chat] = _joined(texts.get(draft.chat, ""), draft.text)
        self._settings.setValue(_SETTING, json.dumps({chat: text for chat, text in texts.items() if text}))

    @property
    def _texts_in_settings(self) -> dict[str, str]:
        saved = as_dict(parse_json(str(self._settings.value(_SETTING, "", str))))
        return {chat: text for chat, text in saved.items() if isinstance(text, str)}

    @Slot(object)
    def _fill(self, stored: tuple[StoredDraft, ...]) -> None:
        """Add the drafts of an earlier run to those typed since the launch."""
        found, texts = {(one.chat, one.edits): one for one in stored}, self._texts_in_settings
        for chat, text in texts.items():
            one = found.get((chat, ""), StoredDraft(chat, "", ""))
            found[chat, ""] = replace(one, text=_joined(one.text, text))
        for key, one in found.items():
            draft = self._drafts.setdefault(key, Draft(*key))
            draft.text, draft.open, draft.stored = _joined(one.text, draft.text), one.open, one
            draft.files[:0] = [file for file in one.attachments if file not in draft.files]
        self.earlier = found[_NEW, ""].text if (_NEW, "") in found else ""
        self._filled = True
        if texts:
            for chat in texts:
                self._drafts[chat, ""].stored = None
            self.save()
            self._store.write(lambda store: None, lambda _: self._settings.remove(_SETTING))
        self.read.emit()


def _joined(first: str, second: str) -> str:
    """Return two versions of a draft as one."""
    if not first.strip() or first in second:
        return second
    return first if not second.strip() or second in first else f"{first}\n\n{second}"
