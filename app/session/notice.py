"""Messages to the user, and which of them are still valid."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices

from app.text.language import tr


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
    # What makes the notice outdated: see `Services._clear_outdated_notices`. "fits": the message fits into the context.
    until: Literal["", "loaded", "pair", "free", "idle", "chat", "server", "tools", "connections", "consent", "fits"] = ""
    again: str = ""  # name of the endpoint that a button tries again
    topic: str = ""  # a newer notice on the same topic replaces this one
    actions: tuple[NoticeAction, ...] = ()
    help: str = ""  # page and heading of Help: "tools#what-are-tools"
    stays: bool = False  # the user may be away when it appears, or has to do something

    @property
    def passing(self) -> bool:
        """Whether the notice goes away after a while, or when another chat opens."""
        needed = self.stays or self.offer or self.again or any(one.needed for one in self.actions)
        return self.kind == "info" and not needed and self.until in ("", "chat")


def exported(text: str, file: Path) -> Notice:
    """Return the notice of an export, with a button that opens the folder."""
    title = tr("Show in Finder") if sys.platform == "darwin" else tr("Show in Folder")
    show = NoticeAction(title, partial(QDesktopServices.openUrl, QUrl.fromLocalFile(str(file.parent))))
    return Notice(text, topic="export", actions=(show,))


class Notices(QObject):
    """The notices of all parts of the app that are still valid, the latest last."""

    posted = Signal(object)  # Notice
    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.valid: list[Notice] = []

    @property
    def texts(self) -> list[str]:
        return [notice.text for notice in self.valid]

    @Slot(object)
    def post(self, notice: Notice | str) -> None:
        new = Notice(notice) if isinstance(notice, str) else notice
        others = [one for one in self.valid if one.text != new.text and (one.topic != new.topic or not one.topic)]
        self._show([*others, new])
        self.posted.emit(new)

    def clear(self, until: str) -> None:
        """Remove the notices with this `until`."""
        self._show([one for one in self.valid if one.until != until and not (until == "chat" and one.passing)])

    def clear_passing(self) -> None:
        """Remove the notices that were shown long enough."""
        self._show([one for one in self.valid if not one.passing])

    @Slot()
    def clear_lasting(self) -> None:
        """Remove the notices that don't go away after a while."""
        self._show([one for one in self.valid if one.passing])

    @Slot()
    def clear_all(self) -> None:
        self._show([])

    @Slot()
    def close_latest(self) -> None:
        self._show(self.valid[:-1])

    def run(self, action: NoticeAction) -> None:
        """Run an action of the latest notice, which is closed."""
        self.close_latest()
        action.act()

    def _show(self, notices: list[Notice]) -> None:
        if notices != self.valid:
            self.valid = notices
            self.changed.emit()
