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
    """Group chats into sections. Empty projects are listed; empty days aren't.

    A pinned chat of a project is at the project's top.
    """
    newest = sorted(chats, key=lambda chat: (chat.changed, chat.id), reverse=True)
    archived = tuple(chat for chat in newest if chat.archived)
    newest = [chat for chat in newest if not chat.archived]
    by_name = sorted(projects, key=lambda project: (project.name.casefold(), project.id))
    inside: dict[str, list[ChatSummary]] = {project.id: [] for project in by_name}
    outside: list[ChatSummary] = []
    for chat in newest:
        inside.get(chat.project, outside).append(chat)
    found: list[ChatSection] = []
    if pinned := tuple(chat for chat in outside if chat.pinned):
        found.append(ChatSection(tr("Pinned"), pinned))
    if by_name:
        found.append(ChatSection(tr("Projects"), ()))
    for project in by_name:
        found.append(ChatSection(project.name, tuple(sorted(inside[project.id], key=lambda chat: not chat.pinned)), project.id))
    days: dict[str, list[ChatSummary]] = {}
    day, start = "", float("inf")
    for chat in outside:
        if not chat.pinned:
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
