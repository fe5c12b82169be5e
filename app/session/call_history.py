"""The log of the tool calls in all chats, as the user filters it."""

from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.session.chat_library import ChatLibrary
from app.session.reply_runner import ReplyRunner
from app.storage.call_log import LoggedCall
from app.storage.store import Store
from app.storage.store_thread import Pause, StoreThread

REFRESH_MS = 200  # after a change, because several come together

Tool = tuple[str, str]  # names of a server, or "", and of its tool


class CallHistory(QObject):
    """The latest calls, newest first. They are read from the chats when asked for.

    Attributes:
        shown: the calls that the filter lets pass.
        loaded: whether the calls have been read.
    """

    changed = Signal()

    def __init__(self, store: StoreThread, library: ChatLibrary, reply_runner: ReplyRunner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._library = store, library
        self._calls: list[LoggedCall] = []
        self._tool: Tool | None = None
        self.loaded = False
        self._reads = 0  # started so far, or ended by `close`
        self._timer = QTimer(self, singleShot=True, interval=REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        for signal in (reply_runner.waiting_changed, reply_runner.ended, library.changed):
            signal.connect(self._refresh_soon)

    @property
    def calls(self) -> list[LoggedCall]:
        """The calls of chats that aren't deleted."""
        return [call for call in self._calls if call.chat in self._library.entries]

    @property
    def shown(self) -> list[LoggedCall]:
        return [call for call in self.calls if self._tool in (None, tool_of(call))]

    @property
    def tools(self) -> list[Tool]:
        """The tools of all calls, in alphabetical order."""
        return sorted({tool_of(call) for call in self.calls})

    def title(self, call: LoggedCall) -> str:
        """Return the title of a call's chat, or an empty string if it was just deleted."""
        entry = self._library.entries.get(call.chat)
        return entry.title if entry is not None else ""

    def filter(self, tool: Tool | None) -> None:
        """Show only the calls to a tool."""
        self._tool = tool
        self.changed.emit()

    @Slot()
    def refresh(self) -> None:
        """Read the calls, and follow changes until `close`."""
        number = self._reads = self._reads + 1

        def read(store: Store, pause: Pause) -> list[LoggedCall]:
            return store.calls(pause) if number == self._reads else []

        self._store.read_long(read, partial(self._use, number))

    def close(self) -> None:
        """Forget the calls, which use memory only while they are shown."""
        self._timer.stop()
        self._calls, self._tool, self.loaded = [], None, False
        self._reads += 1

    def clear(self) -> None:
        """Empty the log. Chats keep their calls."""
        self._store.write(Store.clear_calls)
        self.refresh()

    @Slot()
    def _refresh_soon(self) -> None:
        if self.loaded:
            self._timer.start()

    def _use(self, number: int, calls: list[LoggedCall]) -> None:
        if number == self._reads:
            self._calls, self.loaded = calls, True
            self.changed.emit()


def tool_of(call: LoggedCall) -> Tool:
    """Return a call's tool, or the name that the model gave an unknown one."""
    return call.record.server, call.record.tool or call.record.call.name
