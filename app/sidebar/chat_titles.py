"""Titles of new chats, written by the loaded model while it is idle."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QTimer, Slot

from app.chat.conductor import Conductor
from app.conversations.chat_tree import Chat
from app.conversations.plain_text import short_title
from app.engine_adapter import Delivery
from mlx_engine.events import Commit, Failed, Finished
from mlx_engine.requests import GenerationRequest, Message

IDLE_MS = 800  # longer than the context meter waits, because its count would interrupt the title
PROMPT_CHARS, ANSWER_CHARS = 2000, 600  # of the first turn: a title is not worth reading more
MAX_TOKENS = 32
_TASK = "Write a title of at most six words for the conversation below, in its language. Reply with the title only.\n\n"


class ChatTitles(QObject):
    """Replaces the title of a chat after its first reply, unless the user has renamed the chat.

    Any request interrupts a title. It is started again when the engine is idle.

    Args:
        enabled: whether the user wants generated titles.
    """

    def __init__(self, conductor: Conductor, enabled: Callable[[], bool], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._conductor, self._enabled = conductor, enabled
        self._waiting: dict[str, tuple[str, GenerationRequest]] = {}  # by chat: its title so far, and the request
        self._timer = QTimer(self, singleShot=True, interval=IDLE_MS)
        self._timer.timeout.connect(self._start)
        conductor.reply_job.finished.connect(self._add)
        conductor.engine.idle.connect(self._timer.start)

    @Slot()
    def _add(self) -> None:
        """Add the chat whose first reply has just ended."""
        chat = self._conductor.reply_job.chat
        if chat is not None and len(list(chat.root.below())) == 2 and chat.title == chat.first_words and self._wanted:
            self._waiting[chat.id] = chat.title, _request(chat)

    @property
    def _wanted(self) -> bool:
        return self._enabled() and not self._conductor.loader.has_demo  # the demo pair can't write titles

    @Slot()
    def _start(self) -> None:
        titles = {one: entry.title for one, entry in self._conductor.library.entries.items() if one in self._waiting}
        self._waiting = {one: found for one, found in self._waiting.items() if titles.get(one) == found[0]}
        if self._waiting and self._wanted and not self._conductor.engine.busy:
            chat_id, (_, request) = next(iter(self._waiting.items()))
            self._conductor.engine.submit(request, partial(self._receive, chat_id, []))

    def _receive(self, chat_id: str, pieces: list[str], deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            match delivery.event:
                case Commit(channel="answer") as commit:
                    pieces.append(commit.text)
                case Finished(reason) if reason != "cancelled":
                    entry, waiting = self._conductor.library.entries.get(chat_id), self._waiting.pop(chat_id, None)
                    if entry is not None and waiting is not None and entry.title == waiting[0]:
                        self._conductor.library.rename(chat_id, short_title("".join(pieces)))
                case Failed():
                    self._waiting.pop(chat_id, None)


def _request(chat: Chat) -> GenerationRequest:
    turn = chat.turns[0]
    question = turn.asked.prompt_text if turn.asked is not None else ""
    return GenerationRequest(
        (Message("user", f"{_TASK}{question[:PROMPT_CHARS]}\n\n{turn.reply.answer[:ANSWER_CHARS]}"),),
        max_tokens=MAX_TOKENS,
        reuse=False,  # keeps the snapshots of chats
        gives_way=True,
    )
