"""The sections of the chat list: pinned chats, projects, days, and the archive."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from app.storage.project import Project
from app.storage.store import ChatSummary
from app.text.dates import month_and_year
from app.text.language import tr

ARCHIVE = "archive"  # in place of a project's ID


@dataclass(frozen=True)
class ChatSection:
    """A heading and its chats, newest first.

    Attributes:
        project: the ID of a project, or `ARCHIVE`.
    """

    title: str
    chats: tuple[ChatSummary, ...]
    project: str = ""


def sections(chats: Iterable[ChatSummary], projects: Iterable[Project], now: float) -> list[ChatSection]:
    """Group chats into sections. Empty projects are listed; empty days aren't."""
    newest = sorted(chats, key=lambda chat: (chat.changed, chat.id), reverse=True)
    archived = tuple(chat for chat in newest if chat.archived)
    newest = [chat for chat in newest if not chat.archived]
    rest = [chat for chat in newest if not chat.pinned]
    found: list[ChatSection] = []
    if pinned := tuple(chat for chat in newest if chat.pinned):
        found.append(ChatSection(tr("Pinned"), pinned))
    for project in sorted(projects, key=lambda project: (project.name.casefold(), project.id)):
        found.append(ChatSection(project.name, tuple(chat for chat in rest if chat.project == project.id), project.id))
    ids = {section.project for section in found} - {""}
    days: dict[str, list[ChatSummary]] = {}
    day, start = "", float("inf")
    for chat in rest:
        if chat.project not in ids:
            if chat.changed < start:
                day, start = day_section(chat.changed, now)
            days.setdefault(day, []).append(chat)
    found += [ChatSection(title, tuple(chats)) for title, chats in days.items()]
    return [*found, ChatSection(tr("Archived"), archived, ARCHIVE)] if archived else found


def day_section(at: float, now: float) -> tuple[str, float]:
    """Return the heading for a time, and when its section begins."""
    day, today = date.fromtimestamp(at), date.fromtimestamp(now)
    named = ((0, tr("Today")), (1, tr("Yesterday")), (7, tr("Previous 7 Days")), (30, tr("Previous 30 Days")))
    for days, title in named:
        if (first := today - timedelta(days)) <= day:
            return title, datetime(first.year, first.month, first.day).timestamp()
    return month_and_year(day), datetime(day.year, day.month, 1).timestamp()
