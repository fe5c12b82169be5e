"""Export of chats, as lossless JSON or readable Markdown."""

import base64
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.storage import wording
from app.storage.chat_tree import Chat, new_id
from app.storage.project import Project
from app.storage.records import chat_to_json, files_in
from app.storage.store import ChatSummary
from app.text.language import tr
from app.text.plain_text import fenced
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_write
from mlx_engine.contract.visible import visible

FORMAT, VERSION = "slipstream-chats", 1
MAX_BYTES = 1 << 30  # of a file that can be imported
_PIECES = 2000  # small pieces of text, such as numbers and keys, between two pauses


def export(
    chats: Sequence[tuple[Chat, ChatSummary]],
    projects: Mapping[str, Project],
    to: Path,
    pause: Callable[[], object] = lambda: None,
    whole: Project | None = None,
) -> str:
    """Write chats as JSON (.json) or Markdown, and return a message for the user.

    Args:
        chats: the chats and their entries.
        projects: all projects.
        to: the file.
        pause: called between chats, and between pieces of their text.
        whole: a project that is exported even if it has no chats.

    Raises:
        UserError: there is nothing to export, or too much for a file that can be imported again, or the file can't be written.
    """
    if not chats and (whole is None or not is_json(to)):
        raise UserError("nothing_to_export", "No chats to export.")
    if is_json(to):
        values = to_json(chats, projects, pause, whole)
        pieces = []
        for number, piece in enumerate(json.JSONEncoder(ensure_ascii=False, indent=1).iterencode(values)):
            pieces.append(piece)
            if number % _PIECES == 0:
                pause()
        write_file(to, "".join(pieces) + "\n")
    else:
        texts = []
        for chat, _ in chats:
            texts.append(to_markdown(chat).rstrip())
            pause()
        write_file(to, "\n\n---\n\n".join(texts) + "\n")
    if not chats and whole is not None:
        return tr("Exported the project “{name}” to {to}.", name=whole.name, to=to)
    return tr("Exported {chats} to {to}.", chats=wording.chats(len(chats)), to=to)


def is_json(to: Path) -> bool:
    """Whether an export to this file contains everything, not only texts."""
    return to.suffix.lower() == ".json"


def check_size(size: int) -> None:
    """Check the bytes of all images and PDFs of an export.

    Raises:
        UserError: a file with them would be too large to be imported again.
    """
    if size > MAX_BYTES // 2:
        template = "The chats have {size} of images and PDFs, too much for one file. Export fewer chats at a time."
        raise UserError("export_too_large", template, size=wording.size(size))


def to_json(
    chats: Sequence[tuple[Chat, ChatSummary]],
    projects: Mapping[str, Project],
    pause: Callable[[], object] = lambda: None,
    whole: Project | None = None,
) -> dict[str, Any]:
    """Return complete chats, their projects, and their files as JSON values.

    `pause` is called between chats and between files.
    """
    used = {summary.project for _, summary in chats} | ({whole.id} if whole is not None else set())
    files = {digest: data for chat, _ in chats for digest, data in files_in(chat).items()}
    check_size(sum(map(len, files.values())))
    values, encoded = [], {}
    for chat, summary in chats:
        marks = {"pinned": summary.pinned, "archived": summary.archived}
        values.append(chat_to_json(chat) | {"folder": summary.project} | marks)
        pause()
    for digest, data in files.items():
        encoded[digest] = base64.b64encode(data).decode()
        pause()
    return {
        "format": FORMAT,
        "version": VERSION,
        "folders": [_project(one) for one in projects.values() if one.id in used],  # what earlier versions call them
        "chats": values,
        "files": encoded,
    }


def _project(one: Project) -> dict[str, Any]:
    """Return a project as JSON values. Its documents and model are only named."""
    return {"id": one.id, "name": one.name, "created": one.created, "settings": one.options()}


def to_markdown(chat: Chat, with_thoughts: bool = True) -> str:
    """Return the shown branch: title, date, system prompt, and messages by speaker."""
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(chat.created))
    parts = [f"# {chat.title}", f"*{day}*"]
    if chat.settings.system.strip():
        parts += ["## System prompt", chat.settings.system.strip()]
    cut = chat.cut
    for turn in chat.turns:
        if turn.asked is not None:
            parts += ["## You", turn.prompt, *(f"*(attached: {one.name})*" for one in turn.asked.own_files)]
            parts += [f"*(passages of documents)*\n\n{_code(one.text)}" for one in turn.asked.attachments if one.passages]
        for number, step in enumerate(turn.reply.shown_steps):
            if with_thoughts and step.thinking.strip():
                parts += ["<details><summary>Thoughts</summary>", step.thinking.strip(), "</details>"]
            if turn.answered is not None and number == 0:
                parts.append(f"## {turn.reply.origin or 'Slipstream'}")
            if step.unreadable:
                parts += ["*(tool call: unreadable)*", _code(step.answer)]
            else:
                parts.append(step.answer.strip())
            for call in step.calls:
                parts += [f"*(tool call: {call.state})*", _code(f"{call.call.name} {call.call.arguments}"), _code(call.result)]
                parts += [f"*(image: {image.name or 'image'})*" for image in call.images]
        if cut is not None and turn.last is cut.summary:
            parts += [f"*({tr('The model reads this summary in place of the messages above:')})*", turn.last.summary]
        if turn.answered is not None and (remark := turn.reply.error or wording.ending(turn.reply)):
            parts.append(f"*({remark})*")
    return "\n\n".join(part for part in parts if part) + "\n"


def _code(text: str) -> str:
    """Return untrusted text as a Markdown code block."""
    return fenced(visible(text)) if text else ""


def write_file(file: Path, content: bytes | str) -> None:
    """Replace a file atomically: an error leaves the existing file unchanged.

    Raises:
        UserError: the file can't be written.
    """
    part = file.with_name(f".{file.name[:40]}.{new_id()[:8]}")
    try:
        try:
            part.write_bytes(content.encode() if isinstance(content, str) else content)
            os.replace(part, file)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(file, error) from error
