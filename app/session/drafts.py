"""Unsent messages of each chat, kept across restarts."""

import json

from PySide6.QtCore import QObject, QSettings, Slot

from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.session.next_message import NextMessage
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat
from app.storage.json_values import as_dict, parse_json

_SETTING = "drafts"
_NEW = ""  # key of a new chat, which is not saved yet


class Drafts(QObject):
    """The drafts of all chats. Attached files are kept until the app quits."""

    def __init__(
        self, session: ChatSession, library: ChatLibrary, message: NextMessage, settings: QSettings, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session, self._library, self._message, self._settings = session, library, message, settings
        saved = as_dict(parse_json(str(settings.value(_SETTING, "", str))))
        self._texts = {chat: text for chat, text in saved.items() if isinstance(text, str)}
        self._files: dict[str, list[Attachment]] = {}  # shared lists: files still being read are added
        self._chat = session.chat
        self._at_start = True  # whether no other chat has been opened yet
        self._shown = ""
        session.chat_changed.connect(self._change)
        self._show(self._chat)

    def save(self) -> None:
        """Save all drafts except those of deleted chats."""
        known = self._library.entries  # empty until the list is read
        texts = {**self._texts, _key(self._chat): self._message.draft}
        kept = {key: text for key, text in texts.items() if text and (key == _NEW or not known or key in known)}
        self._settings.setValue(_SETTING, json.dumps(kept))

    @Slot()
    def _change(self) -> None:
        chat = self._session.chat
        typed = self._message.draft not in ("", self._shown)
        if self._at_start and typed and self._chat.empty and not self._texts.get(_key(chat)):
            self._texts[_NEW] = self._shown  # keep text typed while the last chat was being read
        else:
            key = _key(self._chat)
            self._texts[key], self._files[key] = self._message.draft, self._message.draft_files
            self._show(chat)
        self._at_start, self._chat = False, chat

    def _show(self, chat: Chat) -> None:
        self._shown = self._texts.pop(_key(chat), "")
        self._message.show_draft(self._shown, self._files.pop(_key(chat), []))


def _key(chat: Chat) -> str:
    return _NEW if chat.empty else chat.id
