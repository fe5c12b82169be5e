"""Chats to files and from files: Markdown and JSON out, our own JSON, an earlier database and ChatGPT's export in."""

import json
import shutil
import sqlite3
import tempfile
import time
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app import language
from app.conversations import chatgpt_import, schema, whole_file
from app.conversations.chat_tree import Chat
from app.conversations.markdown_export import to_markdown
from app.conversations.plain_text import clean
from app.conversations.records import chat_from_json, chat_to_json, time_from
from app.conversations.salvage import salvage
from app.conversations.store import Entry, Folder
from app.language import tr
from mlx_engine.errors import UserError

FORMAT, VERSION = "slipstream-chats", 1
MOST_BYTES = 2 << 30


@dataclass
class Imported:
    """What a file held. `places` gives the folder's id and the pin of a chat, by its number in `chats`, where it has any."""

    chats: list[Chat] = field(default_factory=list)
    folders: list[Folder] = field(default_factory=list)
    places: dict[int, tuple[str, bool]] = field(default_factory=dict)
    remark: str = ""


def export(chats: Sequence[tuple[Chat, Entry]], folders: Mapping[str, Folder], to: Path) -> str:
    """Write chats to the file `to`: JSON or Markdown by its name. Returns what was done, in words.

    Raises:
        UserError: nothing to export, or the place cannot be written to.
    """
    if not chats:
        raise UserError(tr("There is no chat to export yet."))
    try:
        if to.suffix.lower() == ".json":
            whole_file.write(to, json.dumps(to_json(chats, folders), ensure_ascii=False, indent=1) + "\n")
        else:
            whole_file.write(to, "\n\n---\n\n".join(to_markdown(chat).rstrip() for chat, _ in chats) + "\n")
    except OSError as error:
        raise UserError(
            tr("{to} cannot be written: {strerror}. Choose another place.", to=to, strerror=error.strerror or error)
        ) from error
    return tr("Exported {chats} chat{len} to {to}.", chats=language.number(len(chats)), len="" if len(chats) == 1 else "s", to=to)


def to_json(chats: Sequence[tuple[Chat, Entry]], folders: Mapping[str, Folder]) -> dict[str, Any]:
    """Everything there is of these chats, so that reading it gives them back."""
    used = {entry.folder for _, entry in chats}
    return {
        "format": FORMAT,
        "version": VERSION,
        "folders": [{"id": one.id, "name": one.name, "created": one.created} for one in folders.values() if one.id in used],
        "chats": [chat_to_json(chat) | {"folder": entry.folder, "pinned": entry.pinned} for chat, entry in chats],
    }


def read(file: Path) -> Imported:
    """The chats of a file.

    Raises:
        UserError: it cannot be read, or is nothing that chats can be read from.
    """
    try:
        if file.stat().st_size > MOST_BYTES:
            raise UserError(
                tr("{name} is too large to be a file of chats. Choose the JSON file inside the export.", name=file.name)
            )
        with file.open("rb") as opened:
            begin = opened.read(16)
        if begin == b"SQLite format 3\0":
            return _from_database(file)
        data = json.loads(_from_zip(file) if begin[:4] == b"PK\3\4" else file.read_bytes())
    except OSError as error:
        raise UserError(tr("{name} cannot be read: {strerror}.", name=file.name, strerror=error.strerror or error)) from error
    except (ValueError, RecursionError) as error:
        raise UserError(
            tr(
                "{name} is no file of chats: it is not JSON, or is cut short. Choose a JSON export of Slipstream's, "
                "or the conversations.json of ChatGPT's export.",
                name=file.name,
            )
        ) from error
    return from_json(data, file.name)


def from_json(data: object, name: str) -> Imported:
    """The chats of a parsed JSON file; `name` is for what is told."""
    if isinstance(data, Mapping) and data.get("format") == FORMAT:
        if data.get("version") != VERSION:
            raise UserError(tr("{name} was written by a newer Slipstream. Update Slipstream, then import it again.", name=name))
        return _from_own(data, name)
    found = data if isinstance(data, list) else [data]
    conversations = [one for one in found if chatgpt_import.is_conversation(one)]
    if not conversations:
        raise UserError(
            tr(
                "{name} holds no chats. Choose a JSON export of Slipstream's, or the conversations.json of ChatGPT's export.",
                name=name,
            )
        )
    imported, skipped = Imported(), 0
    for one in conversations:
        try:
            chat = chatgpt_import.chat_from(one)
        except UserError:
            skipped += 1
            continue
        if chat.empty:
            skipped += 1
        else:
            imported.chats.append(chat)
    if not imported.chats:
        raise UserError(tr("{name} holds no chat that can be read.", name=name))
    if skipped:
        imported.remark = tr(
            "{skipped} empty or unreadable one{skipped_2} left out.",
            skipped=language.number(skipped),
            skipped_2="" if skipped == 1 else "s",
        )
    return imported


def _from_own(data: Mapping[str, Any], name: str) -> Imported:
    chats, folders = data.get("chats"), data.get("folders")
    if not isinstance(chats, list) or not isinstance(folders, list):
        raise UserError(tr("{name} is damaged: it holds no list of chats.", name=name))
    imported = Imported()
    for one in folders:
        if isinstance(one, Mapping) and isinstance(one.get("id"), str) and isinstance(one.get("name"), str):
            created = time_from(one.get("created"), time.time())
            imported.folders.append(Folder(clean(one["id"]), clean(one["name"]), created))
    known = {folder.id for folder in imported.folders}
    for number, one in enumerate(chats):
        try:
            chat = chat_from_json(one)
        except UserError as error:
            raise UserError(tr("{name} cannot be imported. {error}", name=name, error=error)) from None
        imported.chats.append(chat)
        folder = one.get("folder")
        imported.places[number] = (folder if folder in known else "", one.get("pinned") is True)
    return imported


def _from_database(file: Path) -> Imported:
    """Chats of a database that was set aside, or of another computer: a copy of it is opened, so that it stays as it is."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / file.name
        for source, target in zip(schema.beside(file), schema.beside(copy), strict=True):
            if source.exists() and not source.name.endswith("-shm"):
                shutil.copyfile(source, target)
        try:
            with closing(sqlite3.connect(copy)) as database:
                version = schema.version_of(database)
                if version > schema.VERSION:
                    raise UserError(
                        tr("{name} was written by a newer Slipstream. Update Slipstream, then import it again.", name=file.name)
                    )
                if not version:
                    raise UserError(tr("{name} is not a database of Slipstream's.", name=file.name))
                salvaged = salvage(database)
        except sqlite3.Error as error:
            raise UserError(
                tr("{name} is damaged ({error}), so nothing was imported from it.", name=file.name, error=error)
            ) from error
    if salvaged.damaged and not salvaged.chats:
        raise UserError(tr("{name} is damaged, and no chat in it can be read.", name=file.name))
    imported = Imported([chat for chat, _, _ in salvaged.chats], salvaged.folders)
    imported.places = {number: (folder, pinned) for number, (_, folder, pinned) in enumerate(salvaged.chats)}
    if salvaged.damaged:
        imported.remark = tr("The file is damaged; this is what could be read of it.")
        if salvaged.empty:
            imported.remark += " " + tr("Chats of which nothing is left: {count}.", count=language.number(salvaged.empty))
    return imported


def _from_zip(file: Path) -> bytes:
    """ChatGPT sends its export as an archive."""
    try:
        with zipfile.ZipFile(file) as archive:
            name = next((one for one in archive.namelist() if one.rsplit("/", 1)[-1] == "conversations.json"), None)
            if name is None or archive.getinfo(name).file_size > MOST_BYTES:
                raise UserError(tr("{name} holds no conversations.json. Choose the archive that ChatGPT sent.", name=file.name))
            return archive.read(name)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise UserError(tr("{name} is a damaged archive. Download it again.", name=file.name)) from error
    except RuntimeError as error:  # a password, or a way of packing that is not known here
        raise UserError(tr("{name} cannot be unpacked here. Unpack it, then import the JSON file.", name=file.name)) from error
