"""The chats whose replies ended while another chat was open."""

from PySide6.QtCore import QObject, QSettings, Signal, Slot

from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.session.reply_run import ReplyRun
from app.session.reply_runner import ReplyRunner

_SETTING = "new_replies"  # IDs of chats


class NewReplies(QObject):
    """The chats with a reply that the user hasn't seen, until they are opened.

    They are kept across restarts.
    """

    changed = Signal()

    def __init__(
        self,
        session: ChatSession,
        library: ChatLibrary,
        reply_runner: ReplyRunner,
        settings: QSettings,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._library, self._settings = session, library, settings
        self._chats = {one for one in str(settings.value(_SETTING, "", str)).split(" ") if one}  # IDs
        reply_runner.ended.connect(self._add)
        session.chat_changed.connect(self._see_open)
        library.removed.connect(self._remove)

    def __contains__(self, chat_id: str) -> bool:
        return chat_id in self._chats

    def see(self, chat_id: str) -> None:
        """Record that the user sees a chat that isn't open."""
        self._remove([chat_id])

    @Slot(object)
    def _add(self, run: ReplyRun) -> None:
        if run.chat.id != self._session.chat.id and run.chat.id in self._library.entries:
            self._keep(self._chats | {run.chat.id})

    @Slot()
    def _see_open(self) -> None:
        self._remove([self._session.chat.id])

    @Slot(object)
    def _remove(self, chats: list[str]) -> None:
        self._keep(self._chats.difference(chats))

    def _keep(self, chats: set[str]) -> None:
        if chats != self._chats:
            self._chats = chats
            self._settings.setValue(_SETTING, " ".join(sorted(chats)))
            self.changed.emit()
