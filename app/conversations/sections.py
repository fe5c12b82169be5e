"""Chats in the order in which a list shows them: pinned ones, folders, then by the day on which something was last said."""

import calendar
import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from app.conversations.store import Entry, Folder
from app.language import tr


@dataclass(frozen=True)
class Shelf:
    """A heading and the chats under it, newest first. `folder` is set when the heading is a folder's name."""

    title: str
    entries: tuple[Entry, ...]
    folder: str = ""


def shelves(entries: Iterable[Entry], folders: Iterable[Folder], now: float) -> list[Shelf]:
    """Every chat on exactly one shelf; empty folders are shown, empty days are not."""
    newest = sorted(entries, key=lambda entry: (entry.changed, entry.id), reverse=True)
    found: list[Shelf] = []
    if pinned := tuple(entry for entry in newest if entry.pinned):
        found.append(Shelf(tr("Pinned"), pinned))
    rest = [entry for entry in newest if not entry.pinned]
    known = sorted(folders, key=lambda folder: (folder.name.casefold(), folder.id))
    for folder in known:
        found.append(Shelf(folder.name, tuple(entry for entry in rest if entry.folder == folder.id), folder.id))
    ids = {folder.id for folder in known}
    days: dict[str, list[Entry]] = {}
    for entry in rest:
        if entry.folder not in ids:
            days.setdefault(day_name(entry.changed, now), []).append(entry)
    return found + [Shelf(title, tuple(chats)) for title, chats in days.items()]


def day_name(at: float, now: float) -> str:
    """Today, Yesterday, Previous 7 Days, Previous 30 Days, or the month. What lies ahead of a clock that was set back is today."""
    day, today = datetime.date.fromtimestamp(at), datetime.date.fromtimestamp(now)
    ago = (today - day).days
    if ago <= 0:
        return tr("Today")
    if ago == 1:
        return tr("Yesterday")
    if ago <= 7:
        return tr("Previous 7 Days")
    if ago <= 30:
        return tr("Previous 30 Days")
    return f"{calendar.month_name[day.month]} {day.year}"
