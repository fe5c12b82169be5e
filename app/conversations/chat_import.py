"""Import of chats from Slipstream's JSON and databases, and ChatGPT's export."""

import json
import time
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.conversations import chatgpt_import, wording
from app.conversations.chat_export import FORMAT, VERSION
from app.conversations.json_values import as_dict, as_text, as_time
from app.conversations.records import chat_from_json
from app.conversations.salvage import ImportedChat, ImportedChats, newer, read_database
from app.conversations.store import Folder
from app.language import tr
from mlx_engine.errors import UserError
from mlx_engine.pairs.data_files import cannot_read, open_regular

MAX_BYTES = 1 << 30
MAX_VALUES = 40_000_000  # in JSON; small values take up to 60 times as much memory as their text


def read(file: Path) -> ImportedChats:
    """Read the chats of a file.

    Raises:
        UserError: the file can't be read or contains no chats.
    """
    name = file.name
    try:
        if file.stat().st_size > MAX_BYTES:
            raise _too_large(name)
        with open_regular(file) as opened:
            start = opened.read(16)
        if start == b"SQLite format 3\0":
            return read_database(file)
        text = _from_zip(file) if start[:4] == b"PK\3\4" else file.read_bytes()
        if sum(map(text.count, (b"[", b"{", b","))) > MAX_VALUES:
            raise _too_large(name)
        data = json.loads(text)
    except OSError as error:
        raise cannot_read(file, error) from error
    except (ValueError, RecursionError) as error:
        raise UserError(
            "import_not_json",
            "“{name}” isn't a valid JSON file. Choose a JSON file exported from Slipstream, or conversations.json from ChatGPT.",
            name=name,
        ) from error
    return from_json(data, name)


def _too_large(name: str) -> UserError:
    return UserError("import_too_large", "“{name}” is too large. Choose the JSON file inside the export.", name=name)


def from_json(data: object, name: str) -> ImportedChats:
    """Read chats from parsed JSON. Error messages contain `name`, the file's name."""
    if isinstance(data, Mapping) and data.get("format") == FORMAT:
        if data.get("version") != VERSION:
            raise newer(name)
        return _from_export(data, name)
    found = data if isinstance(data, list) else [data]
    conversations = [one for one in found if chatgpt_import.is_conversation(one)]
    if not conversations:
        raise UserError(
            "import_no_chats",
            "“{name}” contains no chats. Choose a JSON file exported from Slipstream, or conversations.json from ChatGPT.",
            name=name,
        )
    imported = ImportedChats()
    for one in conversations:
        try:
            chat = chatgpt_import.chat_from(one)
        except UserError:
            continue
        if not chat.empty:
            imported.chats.append(ImportedChat(chat))
    if not imported.chats:
        raise UserError("import_all_damaged", "None of the chats in “{name}” can be read.", name=name)
    if skipped := len(conversations) - len(imported.chats):
        imported.remark = tr("Skipped {chats} without readable messages.", chats=wording.chats(skipped))
    return imported


def _from_export(data: Mapping[str, Any], name: str) -> ImportedChats:
    chats, folders = data.get("chats"), data.get("folders")
    if not isinstance(chats, list) or not isinstance(folders, list):
        raise UserError("import_no_list", "“{name}” is damaged: it has no list of chats.", name=name)
    imported = ImportedChats()
    for one in folders:
        found = as_dict(one)
        folder = Folder(as_text(found.get("id")), as_text(found.get("name")), as_time(found.get("created"), time.time()))
        if folder.id and folder.name:
            imported.folders.append(folder)
    known = {folder.id for folder in imported.folders}
    for one in chats:
        try:
            chat = chat_from_json(one)
        except UserError as error:
            raise UserError("import_failed", "Can't import “{name}”. {reason}", name=name, reason=error.text) from None
        folder_id = as_text(one.get("folder"))
        imported.chats.append(ImportedChat(chat, folder_id if folder_id in known else "", one.get("pinned") is True))
    return imported


def _from_zip(file: Path) -> bytes:
    """Return conversations.json from ChatGPT's archive."""
    name = file.name
    try:
        with zipfile.ZipFile(file) as archive:
            entry = next((one for one in archive.infolist() if one.filename.rsplit("/", 1)[-1] == "conversations.json"), None)
            if entry is None:
                raise UserError(
                    "import_wrong_archive",
                    "“{name}” contains no conversations.json. Choose an archive exported from ChatGPT.",
                    name=name,
                )
            if entry.file_size > MAX_BYTES:
                raise _too_large(name)
            return archive.read(entry)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise UserError("import_archive_damaged", "The archive “{name}” is damaged. Download it again.", name=name) from error
    except RuntimeError as error:  # encrypted, or an unsupported compression
        raise UserError(
            "import_archive_locked", "Can't unpack “{name}”. Unpack it with another app, then import conversations.json.", name=name
        ) from error
