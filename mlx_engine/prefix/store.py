"""Prefixes on disk: files of stored parts, and an index of them.

A *part* is up to 256 tokens of a prompt and everything computed for them. Its key is a hash of the pair and of all tokens up to its
end, so chats with a common beginning share its parts. A file is written completely or not at all. Its name contains its key and a
checksum of its content. The index can be rebuilt from the files. Several processes can use a store at the same time.

This module needs no MLX, so any program can list, check, and clear a store.
"""

import hashlib
import json
import logging
import os
import re
import shutil
import sqlite3
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from mlx_engine.prefix.part import SavedPart, chain, packed, unpacked

log = logging.getLogger(__name__)

FORMAT = "slipstream-prefix-1"
DEFAULT_QUOTA = 10_000_000_000  # bytes
_QUOTA_SHARE = 0.1  # of the free disk space, if that is less
KEEP_FREE = 5_000_000_000  # bytes of disk space
INDEX = "saved-prompts.sqlite"
_VERSION = 1
_FILE = re.compile(r"[0-9a-f]{32}-[0-9a-f]{32}\.safetensors")  # any other file in the folder is the user's
_UNFINISHED = re.compile(r"[0-9a-f]{32}\.([0-9]+)\.unfinished")
_LARGEST_HEADER = 4 << 20  # bytes
_CANDIDATES = 64  # parts that are compared with the rest of a prompt
_BUSY_S, _RETRY_S = 2.0, 0.02  # seconds to wait for another process, and between tries to open the index
_BATCH = 500  # parameters of one SQL statement
_LARGEST_FACT = 1 << 53
_FAULTS = (OSError, sqlite3.Error, ValueError, TypeError, OverflowError, struct.error)  # of a disk, or of a damaged index
_SCHEMA = """
CREATE TABLE IF NOT EXISTS parts (
    key TEXT PRIMARY KEY, digest TEXT NOT NULL, pair TEXT NOT NULL, parent TEXT NOT NULL, start INTEGER NOT NULL,
    tokens BLOB NOT NULL, has_states INTEGER NOT NULL, bytes INTEGER NOT NULL, used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS parts_by_parent ON parts(parent, used);
CREATE INDEX IF NOT EXISTS parts_by_use ON parts(used, start);
CREATE INDEX IF NOT EXISTS parts_by_pair ON parts(pair, bytes);
CREATE TABLE IF NOT EXISTS chats (key TEXT, chat TEXT, PRIMARY KEY (key, chat)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS keys_by_chat ON chats(chat);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
"""
_SELECT = "SELECT key, pair, parent, start, tokens, has_states, digest, bytes FROM parts"


def default_folder() -> Path:
    """Return the folder where prompts are saved unless the user chooses another one."""
    return platformdirs.user_cache_path("Slipstream", appauthor=False) / "prefixes"


@dataclass(frozen=True)
class StoreUse:
    """The contents of a store, and the computation that it has saved.

    Attributes:
        quota: bytes that the parts may take.
        pairs: fingerprint, number of parts, and bytes of each pair.
        saved_tokens: prompt tokens that were read instead of computed.
    """

    folder: Path
    parts: int
    bytes: int
    quota: int
    pairs: tuple[tuple[str, int, int], ...]
    saved_tokens: int


class PrefixStore:
    """Parts in a folder, with an index.

    Its methods may be called from any thread. Damaged files and a damaged index are deleted, never used. If the disk or the
    index fails, lookups find nothing and nothing is written.

    Args:
        folder: created if it doesn't exist.
        quota: bytes that the parts may take; None for the smaller of 10 GB and 10 % of the free disk space.
        keep_free: bytes of disk space to leave free.
    """

    def __init__(self, folder: Path, quota: int | None = None, keep_free: int = KEEP_FREE) -> None:
        self.folder, self._keep_free = folder, keep_free
        self._lock = threading.RLock()
        self._index: sqlite3.Connection | None = None
        self._complained = False
        self.quota = quota if quota is not None else DEFAULT_QUOTA
        with self._guarded():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if quota is None:
                self.quota = min(DEFAULT_QUOTA, int(shutil.disk_usage(folder).free * _QUOTA_SHARE))
            self._open_index()
            self._shrink(0)

    def close(self) -> None:
        with self._lock, suppress(sqlite3.Error):
            if self._index is not None:
                self._index.close()
            self._index = None

    # Lookup

    def whole_parts(self, pair: str, tokens: Sequence[int]) -> list[SavedPart]:
        """Return the stored whole parts at the beginning of a prompt, up to the first gap."""
        keys = chain(pair, tokens)
        found = {part.key: part for part in self._select("key", keys)}
        length = next((at for at, key in enumerate(keys) if key not in found), len(keys))
        return [found[key] for key in keys[:length]]

    def following(self, parents: Sequence[str], has_states: bool) -> list[SavedPart]:
        """Return the most recently used parts that follow one of `parents`.

        Args:
            parents: keys of parts, or fingerprints.
            has_states: whether to return the parts with states, or those without.
        """
        return self._select("parent", parents, has_states)

    def known(self, keys: Sequence[str]) -> set[str]:
        """Return which of these parts are stored."""
        return {part.key for part in self._select("key", keys)}

    def _select(self, column: str, values: Sequence[str], has_states: bool | None = None) -> list[SavedPart]:
        parts = list[SavedPart]()
        with self._guarded():
            for at in range(0, len(values) if self._index else 0, _BATCH):
                some = values[at : at + _BATCH]
                where = f"{column} IN ({','.join('?' * len(some))})"
                if has_states is not None:
                    where += f" AND has_states = {int(has_states)} ORDER BY used DESC LIMIT {_CANDIDATES}"
                parts += [_part(row) for row in self._execute(f"{_SELECT} WHERE {where}", some)]
        return parts

    def touch(self, keys: Sequence[str], chat: str | None = None) -> None:
        """Mark parts as used now, by a chat if given.

        They and the parts added until the next call count as used at the same time. Among those, later parts of a prompt are
        deleted first, because they can't be read without the earlier ones.
        """
        with self._guarded():
            use = (self.fact("uses") or 0) + 1
            self.note("uses", use)
            self._execute_many("UPDATE parts SET used = ? WHERE key = ?", [(use, key) for key in keys])
            self._belong(keys, chat)

    def _belong(self, keys: Sequence[str], chat: str | None) -> None:
        if chat is not None:
            self._execute_many("INSERT OR IGNORE INTO chats VALUES (?, ?)", [(key, chat) for key in keys])

    def path(self, part: SavedPart) -> Path | None:
        """Return a part's file if its content is intact and matches the part, or None.

        A damaged file is deleted.
        """
        path = self.folder / part.file_name
        with suppress(OSError, ValueError), path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest()[:32] == part.digest and _read_header(path) == part:
                return path
        self.remove([part])
        return None

    # Changes

    def add(
        self,
        part: SavedPart,
        header: Mapping[str, object],
        buffers: Sequence[bytes],
        chat: str | None = None,
        replaces: Sequence[str] = (),
    ) -> bool:
        """Write a part, and return whether it is stored.

        Args:
            part: the part, without digest and size.
            header: tensors by name, as in a safetensors header.
            buffers: the tensors' bytes, in order.
            chat: the chat that the part belongs to.
            replaces: keys of parts that are no longer needed.
        """
        facts = {"format": FORMAT, "key": part.key, "pair": part.pair, "parent": part.parent, "start": str(part.start)}
        facts |= {"tokens": packed(part.tokens).hex(), "has_states": str(int(part.has_states))}
        given = header.get("__metadata__", {})
        assert isinstance(given, dict)
        head = json.dumps({**header, "__metadata__": {**given, **facts}}).encode()
        head += b" " * (-len(head) % 8)
        content = (struct.pack("<Q", len(head)), head, *buffers)
        size = sum(map(len, content))
        digest = hashlib.sha256()
        for piece in content:
            digest.update(piece)
        stored = replace(part, digest=digest.hexdigest()[:32], bytes=size)
        unfinished, path = self.folder / f"{part.key}.{os.getpid()}.unfinished", self.folder / stored.file_name
        has_room = False
        with self._guarded():
            has_room = self._index is not None and self._shrink(size)
        if not has_room or not self._write(unfinished, content, path):
            return False
        with self._guarded():
            self._insert(stored)
            self._belong([part.key], chat)
            self.remove(self._select("key", replaces))
            return True
        with suppress(OSError):
            path.unlink(missing_ok=True)  # the index can't count it
        return False

    def _write(self, unfinished: Path, content: Iterable[bytes], path: Path) -> bool:
        """Write a file without holding the lock."""
        try:
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.writelines(content)
            os.replace(unfinished, path)
            return True
        except OSError as error:
            self.complain(error)
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            return False

    def remove(self, parts: Iterable[SavedPart]) -> None:
        """Delete parts and their files."""
        with self._guarded():
            for part in parts:
                self._execute("DELETE FROM parts WHERE key = ? AND digest = ?", (part.key, part.digest))
                self._execute("DELETE FROM chats WHERE key = ? AND key NOT IN (SELECT key FROM parts)", (part.key,))
                (self.folder / part.file_name).unlink(missing_ok=True)

    def forget(self, chat: str) -> None:
        """Delete the parts that only this chat has used."""
        with self._guarded():
            query = "SELECT key FROM chats WHERE chat = ? EXCEPT SELECT key FROM chats WHERE chat != ?"
            keys = [key for (key,) in self._execute(query, (chat, chat))]
            self.remove(self._select("key", keys))
            self._execute("DELETE FROM chats WHERE chat = ?", (chat,))
            self._erase()

    def _erase(self) -> None:
        """Remove deleted prompts from the index's own log."""
        self._execute("PRAGMA wal_checkpoint(TRUNCATE)", ())

    def clear(self) -> None:
        """Delete everything."""
        with self._guarded():
            for path in self.folder.iterdir():
                if _FILE.fullmatch(path.name):
                    path.unlink(missing_ok=True)
            self._execute("DELETE FROM parts", ())
            self._execute("DELETE FROM chats", ())
            self._erase()

    def verify(self) -> tuple[int, int]:
        """Delete damaged files. Return the numbers of intact and damaged files."""
        checked = [self.path(part) is not None for part in self._all()]
        return checked.count(True), checked.count(False)

    # Facts

    def use(self) -> StoreUse:
        """Return the store's contents and savings."""
        pairs = list[tuple[str, int, int]]()
        with self._guarded():
            pairs = self._execute("SELECT pair, COUNT(*), SUM(bytes) FROM parts GROUP BY pair ORDER BY 3 DESC", ())
        count, size = sum(each[1] for each in pairs), sum(each[2] for each in pairs)
        return StoreUse(self.folder, count, size, self.quota, tuple(pairs), int(self.fact("saved tokens") or 0))

    def fact(self, name: str) -> float | None:
        """Return a saved number."""
        with self._guarded():
            for (value,) in self._execute("SELECT value FROM facts WHERE name = ?", (name,)):
                return float(value)
        return None

    def note(self, name: str, value: float) -> None:
        """Save a number."""
        with self._guarded():
            self._execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    # Index

    def _open_index(self) -> None:
        """Open the index, and match it to the files.

        An index that is damaged or of another version is built again.
        """
        path, until, is_new = self.folder / INDEX, time.monotonic() + _BUSY_S, False
        while True:
            try:
                self._connect(path)
                self._match_index_to_files()
                return
            except _FAULTS as error:
                self.close()
                is_locked = "locked" in str(error)
                if time.monotonic() > until if is_locked else is_new:
                    raise
            if is_locked:  # SQLite doesn't wait when two processes open a new index
                time.sleep(_RETRY_S)
                continue
            is_new = True
            for suffix in ("", "-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)

    def _connect(self, path: Path) -> None:
        self._index = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        path.chmod(0o600)
        (version,), *_ = self._execute("PRAGMA user_version", ())
        if version not in (0, _VERSION):
            raise sqlite3.DatabaseError("another version")
        for setting in ("journal_mode = WAL", "synchronous = OFF", "secure_delete = ON"):  # it can be built again from the files
            self._execute(f"PRAGMA {setting}", ())
        self._index.executescript(_SCHEMA)
        self._execute(f"PRAGMA user_version = {_VERSION}", ())
        facts = self._execute("SELECT value FROM facts", ())
        if self._execute("PRAGMA quick_check(1)", ()) != [("ok",)] or not all(0 <= fact < _LARGEST_FACT for (fact,) in facts):
            raise sqlite3.DatabaseError("damaged")

    def _match_index_to_files(self) -> None:
        """Add the files that the index lacks, and remove entries without a file."""
        files, known = set[tuple[str, int]](), {(part.file_name, part.bytes): part for part in self._all()}
        for entry in os.scandir(self.folder):
            if _FILE.fullmatch(entry.name):
                with suppress(FileNotFoundError):  # another process deleted it
                    files.add((entry.name, entry.stat().st_size))
            elif (unfinished := _UNFINISHED.fullmatch(entry.name)) and not _is_running(unfinished[1]):
                Path(entry).unlink(missing_ok=True)
        self.remove(known[each] for each in known.keys() - files)
        for name, _ in files - known.keys():
            part = _read_header(self.folder / name)
            if part is None or part.file_name != name:
                (self.folder / name).unlink(missing_ok=True)
            else:
                self._insert(part)

    def _insert(self, part: SavedPart) -> None:
        before = [other for other in self._select("key", [part.key]) if other.digest != part.digest]
        values = (part.key, part.digest, part.pair, part.parent, part.start, packed(part.tokens), int(part.has_states), part.bytes)
        use = int(self.fact("uses") or 0)
        self._execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*values, use))
        for other in before:
            (self.folder / other.file_name).unlink(missing_ok=True)

    def _shrink(self, room: int) -> bool:
        """Make room for a file of `room` bytes. Return whether there is enough.

        Deletes the least recently used parts.
        """
        if room > self.quota:
            return False
        while True:
            held = self._execute("SELECT COALESCE(SUM(bytes), 0) FROM parts", ())[0][0]
            free = shutil.disk_usage(self.folder).free
            excess = max(held + room - self.quota, room + self._keep_free - free)
            if excess <= 0:
                return True
            oldest = [_part(row) for row in self._execute(f"{_SELECT} ORDER BY used, start DESC LIMIT 64", ())]
            if not oldest:
                return False
            for part in oldest:
                self.remove([part])
                excess -= part.bytes
                if excess <= 0:
                    break

    def _all(self) -> Iterator[SavedPart]:
        return map(_part, self._execute(_SELECT, ()))

    def _execute(self, query: str, values: Sequence[object]) -> list:
        if self._index is None:
            return []
        with closing(self._index.execute(query, values)) as rows:
            return rows.fetchall()

    def _execute_many(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        if self._index is not None:
            self._index.execute("BEGIN IMMEDIATE")
            try:
                self._index.executemany(query, rows)
            finally:
                self._index.execute("COMMIT")

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Hold the lock, and log the first failure of the disk or the index."""
        with self._lock:
            try:
                yield
            except _FAULTS as error:
                self.complain(error)

    def complain(self, error: Exception) -> None:
        """Log the first failure."""
        if not self._complained:
            self._complained = True
            log.warning("Prompts can't be saved in or read from %s (%s)", self.folder, error)


def _part(row: Sequence) -> SavedPart:
    """Return a row of the index as a part.

    Raises:
        ValueError: the row is damaged. Other exceptions in `_FAULTS` are possible, too.
    """
    key, pair, parent, start, tokens, has_states, digest, size = row
    part = SavedPart.of(pair, parent, start, unpacked(tokens), bool(has_states))
    if part.key != key:
        raise ValueError("damaged")
    return replace(part, digest=digest, bytes=size)


def _read_header(path: Path) -> SavedPart | None:
    """Return the part that a file contains, or None if its header is damaged."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _LARGEST_HEADER:
                return None
            facts = json.loads(file.read(length))["__metadata__"]
        if facts["format"] != FORMAT:
            return None
        tokens = unpacked(bytes.fromhex(facts["tokens"]))
        part = SavedPart.of(facts["pair"], facts["parent"], int(facts["start"]), tokens, facts["has_states"] == "1")
        return replace(part, digest=path.stem[-32:], bytes=path.stat().st_size)
    except (*_FAULTS, KeyError, RecursionError, AttributeError):
        return None


def _is_running(pid: str) -> bool:
    with suppress(PermissionError):
        try:
            os.kill(int(pid), 0)
        except (ProcessLookupError, ValueError, OverflowError):
            return False
    return True
