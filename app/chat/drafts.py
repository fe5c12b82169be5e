"""What was written and not sent stays with its chat, also over a quit."""

import json

from PySide6.QtCore import QObject, QSettings, Slot

from app.chat.composer import Composer
from app.chat.conductor import Conductor
from app.conversations.attachments import Attachment
from app.conversations.chat_tree import Chat

_SETTING = "drafts"
_NEW = ""  # stands for the chat that nothing was said in yet: it has no place on the disk


class Drafts(QObject):
    """Changes what stands in the composer when another chat is opened. Files come back too, until the app is quit."""

    def __init__(self, conductor: Conductor, composer: Composer, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._conductor, self._composer, self._settings = conductor, composer, settings
        self._texts = _read(str(settings.value(_SETTING, "", str)))
        self._files: dict[str, list[Attachment]] = {}  # the very lists: what is still being read comes into them
        self._chat = conductor.chat
        self._opened = False  # some chat, since the start
        conductor.chat_changed.connect(self._change)
        self._shown = ""
        self._show(self._chat)

    def store(self) -> None:
        """Write them down for the next start; those of chats that are gone are dropped, unless the list has not been read yet."""
        known = self._conductor.library.entries
        texts = {**self._texts, _name(self._chat): self._composer.draft}  # the open one's is not kept here: it may be sent yet
        kept = {chat: text for chat, text in texts.items() if text and (chat == _NEW or not known or chat in known)}
        self._settings.setValue(_SETTING, json.dumps(kept))

    @Slot()
    def _change(self) -> None:
        chat, first = self._conductor.chat, not self._opened
        typed = self._composer.draft not in ("", self._shown)
        if first and typed and self._chat.empty and not self._texts.get(_name(chat)):
            self._texts[_NEW] = self._shown  # typed while the chat of the last time was being read: it stays before one's eyes
        else:
            self._take()
            self._show(chat)
        self._opened, self._chat = True, chat

    def _take(self) -> None:
        name = _name(self._chat)
        self._texts[name], self._files[name] = self._composer.draft, self._composer.draft_files

    def _show(self, chat: Chat) -> None:
        name = _name(chat)
        self._shown = self._texts.pop(name, "")
        self._composer.show_draft(self._shown, self._files.pop(name, []))


def _name(chat: Chat) -> str:
    return _NEW if chat.empty else chat.id


def _read(written: str) -> dict[str, str]:
    """The drafts by chat; none where the settings hold something else."""
    try:
        found = json.loads(written)
    except ValueError:
        return {}
    return {chat: text for chat, text in found.items() if isinstance(text, str)} if isinstance(found, dict) else {}
