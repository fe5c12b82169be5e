"""Import of chats from files of Slipstream and of other apps."""

import json
import sqlite3
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

from app.storage import chatgpt_import, wording
from app.storage.chat_export import FORMAT, MAX_BYTES, VERSION
from app.storage.chat_tree import Chat, Node, new_id
from app.storage.chatgpt_files import ChatGptFiles
from app.storage.claude_import import claude_chat, created_at, is_claude_chat
from app.storage.encoded_files import EncodedFiles
from app.storage.imported_files import JoinedFiles, LinkedImages
from app.storage.jan_import import MESSAGES, THREAD, is_jan_thread, is_thread_folder, jan_chat, read_thread
from app.storage.json_values import as_dict, as_text, as_time, parsed
from app.storage.lm_studio_import import is_lm_studio_chat, lm_studio_chat, lm_studio_files
from app.storage.open_webui_import import is_open_webui_chat, open_webui_chat
from app.storage.pictures import NO_DATA, FileData, FileSource, StoredFile
from app.storage.project import Project
from app.storage.recognition import KnownChats
from app.storage.records import chat_from_json, files_of, fill
from app.storage.salvage import ImportedChat, ImportedChats, newer, read_database, snapshots
from app.storage.store import Store
from app.text.language import tr, translated
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import cannot_read, open_regular

_PIECE = 1 << 24  # bytes per read
_MOST_FILES = 10_000  # of a folder
_MOST_REFUSED = 3  # files that a remark names
_READ = 0.4  # share of an import after which all chats have been read
MAX_VALUES = 40_000_000  # in JSON; small values take up to 60 times as much memory as their text

Progress = Callable[[float], object]  # gets the share of an import that is done


_T = TypeVar("_T")
_NO_FILES = ChatGptFiles()


class ImportCanceled(Exception):
    """Raised by a `Progress` to end an import, which then stores nothing."""


@dataclass
class ImportOutcome:
    """What was imported, and what wasn't because the library has it.

    Attributes:
        files: data of images and PDFs, which the chats have without it.
        chats: the new chats.
        projects: their projects and those without chats, with settings that give models no access.
        untrusted: those of them whose documents, model, or tools the user may add.
        known: number of chats that were there already.
        grown: those of them that have more messages in the file: the stored chat's id, and the file's chat.
        filled: those of them whose messages may have got back files that they lacked: the stored chats' ids.
        remark: about missing data.
    """

    files: FileSource
    chats: list[ImportedChat] = field(default_factory=list)
    projects: list[Project] = field(default_factory=list)
    untrusted: list[Project] = field(default_factory=list)
    known: int = 0
    grown: list[tuple[str, Chat]] = field(default_factory=list)
    filled: set[str] = field(default_factory=set)
    remark: str = ""


def _ignore(share: float) -> None: ...


def import_into(
    store: Store, source: Path | Sequence[Path], taken: Iterable[str] = (), progress: Progress = _ignore
) -> ImportOutcome:
    """Store the chats of files that the store doesn't have, all or none.

    Args:
        store: the store.
        source: Slipstream's JSON or database, an export or file of another app, a folder with these, or several files.
        taken: ids of chats that may not be stored yet.
        progress: called before each chat is read, compared, and stored, and between the lines or rows of the file. It may change
            the store.

    Raises:
        UserError: the file can't be read or contains no chats, or the chats can't be saved.
    """
    files = [source] if isinstance(source, Path) else source
    found = read(files[0], progress) if len(files) == 1 else read_several(files, progress)
    try:
        return _store(store, found, files[0].name, taken, progress)
    finally:
        found.files.close()


def _store(store: Store, found: ImportedChats, name: str, taken: Iterable[str], progress: Progress) -> ImportOutcome:
    lost: list[tuple[str, Node]] = []  # known messages whose files the library may lack
    completed: list[tuple[str, Node]] = []  # known messages with more images in the file
    outcome, known, ids = ImportOutcome(found.files, remark=found.remark), KnownChats(store), set(taken)
    for one in _reported(found.chats, progress, _READ, 0.7):
        chat = one.chat
        if (stored := known.find(chat, one.dated)) is not None:
            outcome.known += 1
            twins = [(twin.id, one.node) for one, twin in stored[1].twins.items() if one.node is not None]
            restored = [twin for twin in twins if files_of(twin[1])]
            more = [(twin.id, node) for node, twin in stored[1].more_images()]
            lost += restored
            completed += more
            if restored or more:
                outcome.filled.add(stored[0])
            for node in (missing := stored[1].missing_nodes()):
                if node.id in ids or store.has_any([node]):
                    node.id = new_id()
                ids.add(node.id)
            if missing:
                outcome.grown.append((stored[0], chat))
            continue
        chat.settings = replace(chat.settings, tool_servers=(), example_servers=())  # only the user turns tools on
        own = {chat.id, *(node.id for node in chat.root.below())}
        if not ids.isdisjoint(own) or store.load(chat.id) is not None or store.has_any(chat.root.below()):
            chat.renew_ids()
        ids |= own
        outcome.chats.append(one)
    with_chats = {one.project for one in found.chats}
    used = {one.project for one in outcome.chats} | {project.id for project in found.projects if project.id not in with_chats}
    outcome.projects = [project.harmless for project in found.projects if project.id in used]
    outcome.untrusted = [project for project in found.projects if project.id in used and project != project.harmless]
    try:
        for message in _filled(completed, found.files):
            store.complete([message])
            progress(0.7)
        for at, node in _filled(lost, found.files, only_for=store.lacks):
            store.restore_files([(at, files_of(node))])
            progress(0.7)
        _add(store, outcome, found.files, progress)
    except sqlite3.OperationalError as error:
        raise UserError(
            "import_not_saved", "Can't save the chats from “{name}”: {reason}.", name=name, reason=wording.disk_fault(error)
        ) from error
    return outcome


def _add(store: Store, outcome: ImportOutcome, files: FileData, progress: Progress) -> None:
    """Store the new chats one by one, and show them when all are there."""
    made = []
    try:
        for snapshot in snapshots(_reported(outcome.chats, progress, 0.7, 1.0), files):
            made.append(snapshot.summary)
            store.save_hidden(snapshot)
        store.show_all(made, outcome.projects)
    except BaseException:
        with suppress(sqlite3.Error):  # hidden chats are erased at the next launch, too
            store.erase(one.id for one in made)
        raise


def _filled(
    messages: Iterable[tuple[str, Node]], files: FileData, only_for: Callable[[list[StoredFile]], bool] = bool
) -> Iterator[tuple[str, Node]]:
    """Yield messages with the data of their files, one at a time.

    Args:
        messages: ids and messages.
        files: the data, which isn't kept.
        only_for: whether the data of a message's files is needed.
    """
    for message, node in messages:
        if only_for(files_of(node)):
            fill((node,), files)
        yield message, node
        fill((node,), NO_DATA)


def _reported(items: Sequence[_T], progress: Progress, first: float, last: float) -> Iterator[_T]:
    for number, item in enumerate(items):
        progress(first + (last - first) * number / len(items))
        yield item


def read(file: Path, progress: Progress = _ignore) -> ImportedChats:
    """Read the chats of a file or a folder.

    Raises:
        UserError: the file can't be read or contains no chats.
    """
    name = file.name
    try:
        if file.name in (THREAD, MESSAGES) and is_thread_folder(file.parent):
            file = file.parent
        if is_thread_folder(file):
            return _from_thread(file, progress)
        if file.is_dir():
            file = file / "conversations.json"  # an unpacked export of ChatGPT or Claude
            if not file.exists() and (inside := _chat_files(file.parent)):
                return read_several(inside, progress)
        if file.stat().st_size > MAX_BYTES:
            raise _too_large(name)
        with open_regular(file) as opened:
            start = opened.read(16)
        if start == b"SQLite format 3\0":
            return read_database(file, partial(progress, 0.0))
        is_archive = start[:4] == b"PK\3\4"
        encoded = EncodedFiles(file)
        content = _from_zip(file, progress) if is_archive else encoded.rest(partial(progress, 0.0))
        _check_size(name, progress, content)
        text = content.decode(json.detect_encoding(content), "surrogatepass")
        del content
        data = parsed(text, partial(progress, 0.0))
    except OSError as error:
        raise cannot_read(file, error) from error
    except (ValueError, RecursionError) as error:
        raise UserError(
            "import_not_json",
            "“{name}” isn't a valid JSON file. "
            "Choose a file with chats of Slipstream, ChatGPT, Claude, LM Studio, Jan, or Open WebUI.",
            name=name,
        ) from error
    del text
    return from_json(data, name, progress, ChatGptFiles(file if is_archive else file.parent), encoded, file.parent)


def _from_thread(folder: Path, progress: Progress) -> ImportedChats:
    """Read Jan's thread in a folder. The remark counts messages that can't be read."""
    thread = read_thread(folder, partial(_check_size, folder.name, progress))
    imported = from_json(thread, folder.name, progress, place=folder)
    if damaged := sum(not isinstance(one, Mapping) for one in thread["messages"]):
        imported.remark = tr("Messages in “{name}” that can't be read: {count}.", name=folder.name, count=damaged)
    return imported


def read_several(files: Sequence[Path], progress: Progress = _ignore) -> ImportedChats:
    """Read the chats of several files. The remark names those that can't be read.

    Raises:
        UserError: none of them has readable chats.
    """
    joined = JoinedFiles()
    imported, remarks, empty, refused = ImportedChats(joined), list[str](), 0, list[EngineText]()
    for number, file in enumerate(files):
        try:
            found = read(file, partial(_report_part, progress, number, len(files)))
        except UserError as error:
            if error.text.code == "import_all_damaged":
                empty += 1  # such as a new chat
            else:
                refused.append(error.text)  # names the file
            continue
        joined.add(found.files)
        imported.chats += found.chats
        imported.projects += found.projects
        remarks.append(found.remark)
    if refused and not imported.chats:
        template = "None of the {count} files can be imported. {reason}"
        raise UserError("import_none_readable", template, count=len(files), reason=refused[0])
    if not imported.chats:
        raise UserError("import_all_damaged", "None of the chats in “{name}” can be read.", name=files[0].parent.name)
    if empty:
        remarks.append(tr("Skipped {chats} without readable messages.", chats=wording.chats(empty)))
    for reason in refused[:_MOST_REFUSED]:
        remarks.append(tr("Skipped a file: {reason}", reason=translated(reason)))
    if more := len(refused[_MOST_REFUSED:]):
        remarks.append(tr("More files that can't be read: {count}.", count=more))
    imported.remark = " ".join(filter(None, remarks))
    return imported


def _report_part(progress: Progress, number: int, count: int, share: float) -> None:
    progress((number * _READ + share) / count)


def _chat_files(folder: Path) -> list[Path]:
    """Return a folder's conversations of LM Studio and threads of Jan, or JSON files."""
    threads = {found.parent for pattern in (f"*/{THREAD}", f"threads/*/{THREAD}") for found in folder.glob(pattern)}
    found = [*lm_studio_files(folder), *sorted(threads)] or sorted(folder.glob("*.json"))
    return found[:_MOST_FILES]


def _check_size(name: str, progress: Progress, content: bytes) -> None:
    if len(content) > MAX_BYTES or _values_in(content, progress) > MAX_VALUES:
        raise _too_large(name)


def _too_large(name: str) -> UserError:
    return UserError("import_too_large", "“{name}” is too large. Choose the JSON file inside the export.", name=name)


def from_json(
    data: object,
    name: str,
    progress: Progress = _ignore,
    files: ChatGptFiles = _NO_FILES,
    encoded: EncodedFiles | None = None,
    place: Path | None = None,
) -> ImportedChats:
    """Read chats from parsed JSON.

    Args:
        data: the JSON values.
        name: the file's name for messages.
        progress: gets the share that is done.
        files: images of ChatGPT's export.
        encoded: images and PDFs of Slipstream's export that aren't in the JSON values.
        place: the folder of the file, where LM Studio's and Jan's images are found.

    Raises:
        UserError: it contains no chats.
    """
    if isinstance(data, Mapping) and data.get("format") == FORMAT:
        if data.get("version") != VERSION:
            raise newer(name)
        return _from_export(data, name, progress, encoded or EncodedFiles())
    found = data if isinstance(data, list) else [data]
    conversations = [one for one in found if _is_chat(one)]
    if not conversations:
        raise UserError(
            "import_no_chats",
            "“{name}” contains no chats. Choose a file with chats of Slipstream, ChatGPT, Claude, LM Studio, Jan, or Open WebUI.",
            name=name,
        )
    images = LinkedImages()
    imported = ImportedChats(JoinedFiles(files, images))
    for one in _reported(conversations, progress, 0.1, _READ):
        try:
            chat = _chat_of(one, files, images, place)
        except UserError:
            continue
        if not chat.chat.empty:
            imported.chats.append(chat)
    if not imported.chats:
        raise UserError("import_all_damaged", "None of the chats in “{name}” can be read.", name=name)
    if skipped := len(conversations) - len(imported.chats):
        imported.remark = tr("Skipped {chats} without readable messages.", chats=wording.chats(skipped))
    return imported


def _is_chat(data: object) -> bool:
    tests = (chatgpt_import.is_conversation, is_claude_chat, is_lm_studio_chat, is_jan_thread, is_open_webui_chat)
    return any(is_chat(data) for is_chat in tests)


def _chat_of(data: Any, files: ChatGptFiles, images: LinkedImages, place: Path | None) -> ImportedChat:
    """Read a chat of another app.

    Raises:
        UserError: it is damaged.
    """
    if is_claude_chat(data):
        return ImportedChat(claude_chat(data), dated=created_at(data) > 0)
    if chatgpt_import.is_conversation(data):
        dated, archived = as_time(data.get("create_time"), 0.0) > 0, data.get("is_archived") is True
        return ImportedChat(chatgpt_import.chat_from(data, files), dated=dated, archived=archived)
    if is_lm_studio_chat(data):
        return lm_studio_chat(data, images, place)
    return jan_chat(data, images, place) if is_jan_thread(data) else open_webui_chat(data, images)


def _from_export(data: Mapping[str, Any], name: str, progress: Progress, files: EncodedFiles) -> ImportedChats:
    chats, projects = data.get("chats"), data.get("folders")
    if not isinstance(chats, list) or not isinstance(projects, list):
        raise UserError("import_no_list", "“{name}” is damaged: it has no list of chats.", name=name)
    files.add(data.get("files"))
    imported = ImportedChats(files)
    for one in projects:
        found = as_dict(one)
        project = Project(as_text(found.get("id")), as_text(found.get("name")), as_time(found.get("created"), time.time()))
        if project.id and project.name:
            imported.projects.append(project.with_options(found.get("settings")))
    known = {project.id for project in imported.projects}
    for one in _reported(chats, progress, 0.1, _READ):
        try:
            chat = chat_from_json(one)
        except UserError as error:
            raise UserError("import_failed", "Can't import “{name}”. {reason}", name=name, reason=error.text) from None
        project_id = as_text(one.get("folder"))
        inside, dated = project_id if project_id in known else "", as_time(one.get("created"), 0.0) > 0
        imported.chats.append(ImportedChat(chat, inside, one.get("pinned") is True, dated, one.get("archived") is True))
    return imported


def _read_all(opened: IO[bytes], progress: Progress) -> bytes:
    pieces = []
    while piece := opened.read(_PIECE):
        pieces.append(piece)
        progress(0.0)
    return b"".join(pieces)


def _values_in(content: bytes, progress: Progress) -> int:
    """Return the most values that JSON can have with as many separators."""
    count = 0
    for start in range(0, len(content), _PIECE):
        progress(0.0)
        count += sum(content.count(one, start, start + _PIECE) for one in (b"[", b"{", b","))
    return count


def _from_zip(file: Path, progress: Progress) -> bytes:
    """Return conversations.json from an archive of ChatGPT or Claude."""
    name = file.name
    try:
        with zipfile.ZipFile(file) as archive:
            entry = next((one for one in archive.infolist() if one.filename.rsplit("/", 1)[-1] == "conversations.json"), None)
            if entry is None:
                raise UserError(
                    "import_wrong_archive",
                    "“{name}” contains no conversations.json. Choose an archive exported from ChatGPT or Claude.",
                    name=name,
                )
            if entry.file_size > MAX_BYTES:
                raise _too_large(name)
            with archive.open(entry) as opened:
                return _read_all(opened, progress)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise UserError("import_archive_damaged", "The archive “{name}” is damaged. Download it again.", name=name) from error
    except RuntimeError as error:  # encrypted, or an unsupported compression
        raise UserError(
            "import_archive_locked", "Can't unpack “{name}”. Unpack it with another app, then import conversations.json.", name=name
        ) from error
