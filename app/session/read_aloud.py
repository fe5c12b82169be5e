"""Replies that are read aloud, one at a time."""

from PySide6.QtCore import QObject, Signal, Slot

from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.storage.chat_tree import Chat, Turn
from app.system.speech import Speaker


class ReadAloud(QObject):
    """The reply that the system's voice reads.

    Attributes:
        speaker: the voice.
        turn: the turn of the reply that is read, or None.
    """

    changed = Signal()  # `turn`

    def __init__(self, session: ChatSession, library: ChatLibrary, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.speaker = Speaker(self)
        self.turn: Turn | None = None
        self.speaker.ended.connect(self._end)
        for signal in (session.chat_changed, library.removed):
            signal.connect(self.stop)

    @property
    def available(self) -> bool:
        """Whether the system has a voice."""
        return self.speaker.available

    def toggle(self, turn: Turn, text: str) -> None:
        """Read the reply of a turn, or stop if it is being read.

        Args:
            turn: the turn.
            text: the part of its reply for the voice.
        """
        again = self.turn is turn
        self.speaker.stop()
        if not again and text.strip():
            self.turn = turn
            self.speaker.speak(text)
            self.changed.emit()

    @Slot()
    def stop(self) -> None:
        self.speaker.stop()

    @Slot(object)
    def stop_in(self, chat: Chat) -> None:
        """Stop if a reply of a chat is being read."""
        if any(turn is self.turn for turn in chat.turns):
            self.stop()

    @Slot()
    def _end(self) -> None:
        self.turn = None
        self.changed.emit()
