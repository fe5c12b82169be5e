"""Messages to the user, which the window shows above the composer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QObject, Signal, Slot


@dataclass(frozen=True)
class NoticeAction:
    """A button of a notice. `needed` keeps the notice until the user closes it."""

    title: str
    act: Callable[[], object]
    needed: bool = False


@dataclass(frozen=True)
class Notice:
    """A message to the user. It disappears unless it needs an action."""

    text: str
    kind: Literal["info", "error"] = "info"
    offer: Literal["", "load"] = ""  # "load" shows buttons that choose another model or load the demo pair
    # Outdated once models load, generation ends, another chat opens, the server has no error, mcp.json or the endpoints can be
    # read, the message fits, or files are read.
    until: Literal["", "loaded", "idle", "chat", "server", "tools", "connections", "fits", "read"] = ""
    again: str = ""  # name of the endpoint that a button tries again
    topic: str = ""  # a newer notice on the same topic replaces this one
    actions: tuple[NoticeAction, ...] = ()
    stays: bool = False  # the user may be away when it appears, or has to do something

    @property
    def passing(self) -> bool:
        """Whether the notice goes away after a while, or when another chat opens."""
        needed = self.stays or self.offer or self.again or any(one.needed for one in self.actions)
        return self.kind == "info" and not needed and self.until in ("", "chat")


class Notices(QObject):
    """The way of notices from all parts of the app to the window."""

    posted = Signal(object)  # Notice

    @Slot(object)
    def post(self, notice: Notice | str) -> None:
        self.posted.emit(Notice(notice) if isinstance(notice, str) else notice)
