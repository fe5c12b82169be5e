"""Tells screen readers what happened: a reply that has ended, and what the app has to say. Never each token."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent

from app.chat.conductor import Conductor
from app.conversations import wording
from app.conversations.chat_tree import Turn
from app.language import tr
from app.notice import Notice

LONGEST = 600  # characters of a reply; the rest is read in the chat


class Announcing(QObject):
    """Listens to the conductor; `say` hands a sentence to the system."""

    def __init__(self, conductor: Conductor, window: QObject, say: Callable[[str], None] | None = None) -> None:
        super().__init__(window)
        self._window = window
        self._say = say or self._announce
        conductor.reply_changed.connect(self._reply_changed)
        conductor.noticed.connect(self._noticed)

    @Slot(object)
    def _reply_changed(self, turn: Turn) -> None:
        if not turn.reply.running:  # the last change of a reply is its end
            self._say(sentence(turn))

    @Slot(object)
    def _noticed(self, notice: Notice) -> None:
        self._say(notice.text)

    def _announce(self, text: str) -> None:
        if QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._window, text))


def sentence(turn: Turn) -> str:
    """What is said of a reply that has ended."""
    reply = turn.reply
    if reply.error:
        return tr("The reply failed. {error}", error=reply.error)
    text = " ".join(reply.answer.split())
    if len(text) > LONGEST:
        text = text[:LONGEST].rsplit(" ", 1)[0] + " …"
    ending = wording.ending(reply)
    finished = tr("Reply finished, {ending}", ending=ending) if ending else tr("Reply finished")
    return f"{finished}. {text}" if text else finished
