"""Imports of chats that run, and what imported projects may use."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from app.session.notice import Notice, NoticeAction
from app.storage import wording
from app.storage.chat_import import ImportOutcome
from app.storage.project import Project
from app.text.language import tr


@dataclass(eq=False)
class RunningImport:
    """An import that is waiting or running on the store's thread."""

    name: str  # of the file
    share: float = 0.0
    canceled: bool = False


def told(found: ImportOutcome, known: Container[str]) -> str:
    """Return what was imported, and what was there already.

    Args:
        found: the outcome.
        known: the projects that were there before.
    """
    texts = []
    if found.chats:
        texts.append(tr("Imported {count}.", count=wording.chats(len(found.chats))))
    used = {one.project for one in found.chats}
    for one in found.projects:
        if one.id not in used:
            there = tr("The project “{name}” is already there.", name=one.name)
            texts.append(there if one.id in known else tr("Imported the project “{name}”.", name=one.name))
    if found.known:
        texts.append(tr("{chats} already there.", chats=wording.chats(found.known)))
    if found.grown:
        texts.append(tr("New messages in {chats}.", chats=wording.chats(len(found.grown))))
    return " ".join(filter(None, (*texts, found.remark)))


def offer_of(project: Project, use: Callable[[], object]) -> Notice:
    """Return the offer to use what an imported project gives models access to."""
    servers = project.new_chats.tool_servers if project.new_chats is not None else ()
    named = [*project.documents, *([project.model.name] if project.model is not None else []), *map(wording.tool_server, servers)]
    listed = ", ".join(named)
    text = tr("The file names documents, a model, or tools for “{project}”: {listed}.", project=project.name, listed=listed)
    return Notice(text, topic=f"offer {project.id}", actions=(NoticeAction(tr("Use Them"), use, needed=True),))


def lacking(servers: Sequence[str]) -> str:
    """Return a text that names the servers of tools that this computer lacks."""
    return tr("Not set up on this computer: {servers}. Add them in Settings ▸ Tools.", servers=", ".join(servers))
