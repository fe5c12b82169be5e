"""Unsent messages and edits of each chat, kept across restarts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from PySide6.QtCore import QObject, QSettings, QTimer, Signal, Slot

from app.session.chat_library import ChatLibrary
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat, Node
from app.storage.json_values import as_dict, parse_json
from app.storage.store import Store
from app.storage.store_thread import StoreThread
from app.storage.stored_drafts import QUICK_CHAT, StoredDraft

SAVE_MS = 1000  # after the first change since the last save
NEXT_CHAT = "next"  # among the IDs of unsaved chats: the message of the next new chat, or quick chat
_SETTING = "drafts"  # texts by chat, of earlier versions, and those that came after the end
_NEW = ""  # in place of the ID of a new chat, which isn't saved yet


@dataclass(eq=False)
class Draft:
    """An unsent message, or an edit of a message that wasn't sent.

    Attributes:
        chat: ID of its chat, or "" for the next new chat, or `QUICK_CHAT`.
        edits: ID of the message that is edited, or "".
        files: its files. Those still being read are added to this list.
        open: whether the edit goes on when the chat is opened.
        original: the text and files of the edited message.
        waits: whether it is sent as soon as possible, so that nothing may be added to it.
        left: an earlier run's draft in its place, if it waited when that was read. It takes this draft's place in the end.
        stored: what the database has.
    """

    chat: str = _NEW
    edits: str = ""
    text: str = ""
    files: list[Attachment] = field(default_factory=list)
    open: bool = False
    original: tuple[str, tuple[Attachment, ...]] = ("", ())
    waits: bool = False
    left: StoredDraft | None = None
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
        own = StoredDraft(self.chat, self.edits, *kept, self.open)
        return self.left.followed_by(own) if self.left is not None else own


class Drafts(QObject):
    """The drafts of all chats, which are saved soon after each change.

    Saving begins when those of an earlier run have been read.
    """

    read = Signal()  # those of an earlier run are there
    _taken_over = Signal()  # from the store's thread: the database has what earlier versions saved in the settings

    def __init__(self, library: ChatLibrary, store: StoreThread, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._library, self._store, self._settings = library, store, settings
        self._drafts: dict[tuple[str, str], Draft] = {}
        self._discarded: list[StoredDraft] = []  # still in the database
        self._filled = self._ended = False
        saved = as_dict(parse_json(str(settings.value(_SETTING, "", str))))
        self._texts_before = {chat: text for chat, text in saved.items() if isinstance(text, str) and text}
        self.earlier = ""  # the text of the next new chat that an earlier run left
        self._timer = QTimer(self, singleShot=True, interval=SAVE_MS)
        self._timer.timeout.connect(self.save)
        library.drafts_read.connect(self._fill)
        self._taken_over.connect(self._remove_setting)

    @property
    def unsaved(self) -> bool:
        """Whether the next new chat, or quick chat, has a message that can't be saved."""
        new = [draft for (chat, _), draft in self._drafts.items() if chat in (_NEW, QUICK_CHAT)]
        return NEXT_CHAT in self._library.unsaved and not all(draft.empty for draft in new)

    def of(self, chat: Chat, edited: Node | None = None, new: str = _NEW) -> Draft:
        """Return a chat's unsent message, or the edit of one of its messages.

        Args:
            new: in place of the ID of an empty chat.
        """
        key = new if chat.empty else chat.id, edited.id if edited is not None else ""
        draft = self._drafts.get(key)
        if draft is None:
            draft = self._drafts[key] = Draft(*key)
            if edited is not None:
                draft.text, draft.files = edited.text, list(edited.own_files)
        if edited is not None:
            draft.original = edited.text, edited.own_files
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
        key = draft.chat, draft.edits
        if self._drafts.get(key) is draft:
            del self._drafts[key]
            if (left := draft.left) is not None:
                self._drafts[key] = Draft(*key, left.text, list(left.attachments), left.open, stored=draft.stored)
                draft.left = None
            elif draft.stored is not None:
                self._discarded.append(replace(draft.stored, text="", attachments=()))
            self.save_soon()

    @Slot()
    def save_soon(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def save(self) -> None:
        """Save all changes now, or when the drafts of an earlier run have been read."""
        self._timer.stop()
        if self._ended:
            self._save_in_settings()
        if self._ended or not self._filled:
            return
        records, self._discarded = self._discarded, []
        for draft in self._drafts.values():
            record = draft.record
            if record != draft.stored and (draft.stored is not None or record.text or record.attachments):
                records.append(record)
                draft.stored = record
        for record in records:
            new, empty = record.chat in (_NEW, QUICK_CHAT), not (record.text or record.attachments)
            unsaved = record.chat if not new else "" if empty else NEXT_CHAT
            self._store.write(partial(Store.save_draft, draft=record), chat_id=unsaved, key=("draft", record.chat, record.edits))

    def end(self) -> None:
        """Save all changes before the app quits, even if nothing has been read yet."""
        self.save()
        first, self._ended = not self._ended, True
        if first and not self._filled:
            for draft in self._drafts.values():  # the settings take texts, because the database may never be opened
                self._store.write(partial(Store.add_to_draft, draft=replace(draft.record, text=draft.text if draft.edits else "")))
            self._save_in_settings()

    def _save_in_settings(self) -> None:
        """Save texts that other apps send while the app quits. The database may be closed."""
        texts = dict(self._texts_before)
        for draft in self._drafts.values():
            stored = draft.stored.text if draft.stored is not None else ""
            added = draft.text.removeprefix(stored).strip()
            if added and not draft.edits:
                before = StoredDraft(draft.chat, "", texts.get(draft.chat, ""))
                texts[draft.chat] = before.followed_by(StoredDraft(draft.chat, "", added)).text
        if texts:
            self._settings.setValue(_SETTING, json.dumps(texts))

    @Slot(object)
    def _fill(self, stored: tuple[StoredDraft, ...]) -> None:
        """Add an earlier run's drafts to those typed since, unless the app quits."""
        if self._ended:
            return
        found, earlier = {(one.chat, one.edits): one for one in stored}, self._texts_before
        for chat, text in earlier.items():
            one = StoredDraft(chat, "", text)
            found[chat, ""] = found[chat, ""].followed_by(one) if (chat, "") in found else one
        for key, one in found.items():
            draft = self._drafts.setdefault(key, Draft(*key))
            draft.stored = one
            if draft.waits:
                draft.left = one
                continue
            whole = one.followed_by(StoredDraft(*key, draft.text, tuple(draft.files)))
            draft.text, draft.files[:], draft.open = whole.text, whole.attachments, one.open
        self.earlier = found[_NEW, ""].text if (_NEW, "") in found else ""
        self._filled = True
        if earlier and self._store.keeps:
            self._store.write(partial(self._take_over, [found[chat, ""] for chat in earlier]))
        self.save_soon()
        self.read.emit()

    def _take_over(self, drafts: Sequence[StoredDraft], store: Store) -> None:
        """Save what earlier versions saved in the settings, on the store's thread."""
        for draft in drafts:
            store.save_draft(draft)
        self._taken_over.emit()

    @Slot()
    def _remove_setting(self) -> None:
        self._texts_before = {}
        if not self._ended:  # else the settings have what has come since
            self._settings.remove(_SETTING)
