"""The sections of the chat list: pinned chats, folders, then the day of each chat's last question."""

import calendar
import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from app.conversations.store import ChatSummary, Folder
from app.language import tr


@dataclass(frozen=True)
class ChatSection:
    """A heading and its chats, newest first. `folder` is a folder's id if the heading is its name."""

    title: str
    chats: tuple[ChatSummary, ...]
    folder: str = ""


def sections(chats: Iterable[ChatSummary], folders: Iterable[Folder], now: float) -> list[ChatSection]:
    """Put every chat into exactly one section. Empty folders are listed, empty days are not."""
    newest = sorted(chats, key=lambda chat: (chat.changed, chat.id), reverse=True)
    rest = [chat for chat in newest if not chat.pinned]
    found: list[ChatSection] = []
    if pinned := tuple(chat for chat in newest if chat.pinned):
        found.append(ChatSection(tr("Pinned"), pinned))
    for folder in sorted(folders, key=lambda folder: (folder.name.casefold(), folder.id)):
        found.append(ChatSection(folder.name, tuple(chat for chat in rest if chat.folder == folder.id), folder.id))
    ids = {section.folder for section in found} - {""}
    days: dict[str, list[ChatSummary]] = {}
    for chat in rest:
        if chat.folder not in ids:
            days.setdefault(day_name(chat.changed, now), []).append(chat)
    return found + [ChatSection(title, tuple(chats)) for title, chats in days.items()]


def day_name(at: float, now: float) -> str:
    """Today, Yesterday, Previous 7 Days, Previous 30 Days, or the month. Times in the future count as today."""
    day, today = datetime.date.fromtimestamp(at), datetime.date.fromtimestamp(now)
    days = (today - day).days
    if days <= 0:
        return tr("Today")
    if days == 1:
        return tr("Yesterday")
    if days <= 7:
        return tr("Previous 7 Days")
    if days <= 30:
        return tr("Previous 30 Days")
    return f"{calendar.month_name[day.month]} {day.year}"
