"""Prefixes on disk: files of stored parts, and an index of them.

A *part* is up to 256 tokens of a prompt and everything computed for them. Its key is a hash of the pair and of all tokens up to its
end, so chats with a common beginning share its parts. A file is written completely or not at all. Its name contains its key and a
checksum of its content. Owner files list the parts of each chat. The index can be rebuilt from all these files. Several processes
can use a store at the same time.

This module needs no MLX, so any program can list, check, and clear a store.
"""

import hashlib
import logging
import math
import os
import re
import secrets
import shutil
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from mlx_engine.prefix import index
from mlx_engine.prefix.index import FAULTS, SELECT, part_of
from mlx_engine.prefix.owners import NO_CHAT, OWNER_FILE, Owners, alone, locked, owner_of
from mlx_engine.prefix.part import SavedPart, chain, packed
from mlx_engine.prefix.part_file import content, read_header

log = logging.getLogger(__name__)

DEFAULT_QUOTA = 10_000_000_000  # bytes
AUTOMATIC_QUOTA = 0
_QUOTA = "quota"  # name of the fact
_QUOTA_SHARE = 0.1  # of the free disk space, if that is less
KEEP_FREE = 5_000_000_000  # bytes of disk space
_FILE = re.compile(r"[0-9a-f]{32}-[0-9a-f]{32}\.safetensors")  # any other file in the folder is the user's
_UNFINISHED = re.compile(r"[0-9a-f]{32}\.(.+)\.unfinished")
_CANDIDATES = 64  # parts that are compared with the rest of a prompt
_BUSY_S, _DELETE_S = 2.0, 60.0  # seconds to wait for another process, in general and to delete what the user wants deleted
_RETRY_S = 0.02  # between tries to open the index
_BATCH = 500  # parameters of one SQL statement


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
        quota: bytes that the parts may take, from now on and for all processes; AUTOMATIC_QUOTA for the smaller of 10 GB and 10 %
            of the free disk space; None for what was given last, or else AUTOMATIC_QUOTA. Opening a store deletes intact parts only
            if a quota is given.
        keep_free: bytes of disk space to leave free.
    """

    def __init__(self, folder: Path, quota: int | None = None, keep_free: int = KEEP_FREE) -> None:
        self.folder, self._keep_free = folder, keep_free
        self._owners = Owners(folder)
        self._lock = threading.RLock()
        self._index: sqlite3.Connection | None = None
        self._index_file: tuple[int, int] | None = None
        self._is_changing = self._is_closed = False
        self._complained = False
        self._given_quota = None if quota is None else min(quota, index.LARGEST_FACT)
        self._automatic_quota = DEFAULT_QUOTA
        with self._guarded():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._automatic_quota = min(DEFAULT_QUOTA, int(shutil.disk_usage(folder).free * _QUOTA_SHARE))
        self._change(self._apply_quota)

    @property
    def quota(self) -> int:
        """Bytes that the parts may take."""
        noted = self.fact(_QUOTA)
        return int(noted if noted is not None else self._given_quota or 0) or self._automatic_quota

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._disconnect()

    def _apply_quota(self) -> None:
        if self._given_quota is not None:
            self.note(_QUOTA, self._given_quota)
            self._shrink(0, self._latest_use() + 1)

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
        """Return indexed parts that have files.

        A process that is killed after it has deleted files leaves them in the index until the next opening.
        """
        parts = list[SavedPart]()
        with self._guarded():
            for at in range(0, len(values) if self._index else 0, _BATCH):
                some = values[at : at + _BATCH]
                where = f"{column} IN ({','.join('?' * len(some))})"
                if has_states is not None:
                    where += f" AND has_states = {int(has_states)} ORDER BY used DESC LIMIT {_CANDIDATES}"
                parts += [part_of(row) for row in self._execute(f"{SELECT} WHERE {where}", some)]
        return [part for part in parts if (self.folder / part.file_name).exists()]

    def touch(self, keys: Sequence[str], chat: str | None = None) -> int:
        """Mark parts as used now, by a chat if given.

        Returns the number of this use, or 0 if that failed. Of parts with the same use, later ones of a prompt are deleted first,
        because they can't be read without the earlier ones.
        """
        use = 0

        def touch() -> None:
            nonlocal use
            use = self._latest_use() + 1
            self.note("uses", use)
            stored = [key for key in keys if self._execute("UPDATE parts SET used = ? WHERE key = ? RETURNING key", (use, key))]
            if chat is not None:
                self._owners.add(owner_of(chat), stored)

        return use if self._change(touch) else 0

    def own(self, key: str, chat: str) -> bool:
        """Make a part belong to a chat, too. Return whether the part is stored."""

        def own() -> bool:
            self._owners.add(owner_of(chat), stored := self.known([key]))
            return bool(stored)

        return self._change(own)

    def path(self, part: SavedPart) -> Path | None:
        """Return a part's file if its content is intact and matches the part, or None.

        A damaged file is deleted.
        """
        path = self.folder / part.file_name
        with suppress(OSError, ValueError), path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest()[:32] == part.digest and read_header(path) == part:
                return path
        self.remove([part])
        return None

    # Changes

    def add(
        self,
        part: SavedPart,
        header: Mapping[str, object],
        buffers: Sequence[bytes],
        chat: str = NO_CHAT,
        replaces: Sequence[str] = (),
        use: float = math.inf,
    ) -> bool:
        """Write a part, and return whether it is stored.

        Only parts with an earlier use are deleted to make room for it.

        Args:
            part: the part, without digest and size.
            header: tensors by name, as in a safetensors header.
            buffers: the tensors' bytes, in order.
            chat: the chat that the part belongs to.
            replaces: keys of parts that the chat no longer needs.
            use: number of the use that the part belongs to; see `touch`. The latest one by default.
        """
        stored, pieces = content(part, header, buffers)
        path, owner = self.folder / stored.file_name, owner_of(chat)
        unfinished = self.folder / f"{part.key}.{owner}-{secrets.token_hex(4)}.unfinished"

        def finish() -> bool:
            if not unfinished.exists():  # the chat's prompts were deleted during the wait
                return False
            os.replace(unfinished, path)
            try:
                self._owners.add(owner, [part.key])
                self._insert(stored, use)
                self.remove(self._select("key", sorted(self._owners.discard(owner, replaces))))
            except BaseException:
                path.unlink(missing_ok=True)  # the index can't count it
                raise
            return True

        try:
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                locked(file.fileno())  # otherwise another process takes the file for one of a killed process
                if not self._change(lambda: self._shrink(stored.bytes, self._latest_use(use))):
                    return False
                file.writelines(pieces)
                file.flush()
                return self._change(finish)
        except OSError as error:
            self.complain(error)
            return False
        finally:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)

    def remove(self, parts: Iterable[SavedPart]) -> None:
        """Delete parts and their files."""

        def remove() -> None:
            for part in parts:
                self._execute("DELETE FROM parts WHERE key = ? AND digest = ?", (part.key, part.digest))
                (self.folder / part.file_name).unlink(missing_ok=True)

        self._change(remove)

    def forget(self, *chats: str) -> None:
        """Delete the parts that only these chats have used."""
        self._disown(lambda: {owner_of(chat) for chat in chats})

    def keep_only(self, chats: Iterable[str]) -> None:
        """Delete the parts that neither one of these chats nor a program has used."""
        self._disown(lambda: self._owners.all() - {owner_of(chat) for chat in (NO_CHAT, *chats)})

    def _disown(self, owners: Callable[[], set[str]]) -> None:
        def disown() -> None:
            for owner in (gone := owners()):
                self._owners.drop(owner)
            self._match_index_to_files(gone)

        self._delete(disown)

    def clear(self) -> bool:
        """Delete everything. Return whether that succeeded."""

        def clear() -> None:
            for entry in self._files():
                if any(each.fullmatch(entry.name) for each in (_FILE, _UNFINISHED, OWNER_FILE)):
                    Path(entry).unlink(missing_ok=True)
            self._execute("DELETE FROM parts", ())

        return self._delete(clear)

    def _delete(self, delete: Callable[[], None]) -> bool:
        """Run `delete` with a new index if it fails. Return whether it did."""
        deleted = self._change(delete, _DELETE_S)
        if not deleted and not self._is_closed:
            with self._guarded(), alone(self.folder, _DELETE_S):
                self._disconnect()
                index.delete(self.folder)
            deleted = self._change(delete, _DELETE_S)
        with self._guarded():
            self._erase()
        return deleted

    def _erase(self) -> None:
        """Remove deleted prompts from the index's own log."""
        self._execute("PRAGMA wal_checkpoint(TRUNCATE)", ())

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
        until, is_new = time.monotonic() + _BUSY_S, False
        while True:
            try:
                self._index = index.connect(self.folder, self._owners, _BUSY_S)
                self._index_file = index.identity(self.folder)
                index.transact(self._index, self._match_index_to_files)
                if self._given_quota is not None and self.fact(_QUOTA) is None:  # built again
                    self.note(_QUOTA, self._given_quota)
                deque(self._all(), maxlen=0)  # raises if a row is damaged
                self._erase()
                return
            except FAULTS as error:
                self._disconnect()
                is_locked = "locked" in str(error)
                if time.monotonic() > until if is_locked else is_new:
                    raise
            if is_locked:  # by a process of an earlier version, or on a file system without locks
                time.sleep(_RETRY_S)
            else:
                is_new = True
                index.delete(self.folder)

    def _disconnect(self) -> None:
        with suppress(sqlite3.Error):
            if self._index is not None:
                self._index.close()
        self._index = None

    def _match_index_to_files(self, gone: Collection[str] = ()) -> None:
        """Delete files without owner or writer, then index the others.

        Args:
            gone: owners whose files aren't finished, either.
        """
        owned = self._owners.read()
        keys = set[str]().union(*owned.values())
        files = set[tuple[str, int]]()
        for entry in self._files():
            with suppress(FileNotFoundError):  # another process deleted it
                if _FILE.fullmatch(entry.name):
                    if entry.name[:32] in keys:
                        files.add((entry.name, entry.stat().st_size))
                    else:
                        Path(entry).unlink()
                elif (unfinished := _UNFINISHED.fullmatch(entry.name)) and (
                    unfinished[1].partition("-")[0] in gone or not _is_written(Path(entry))
                ):
                    Path(entry).unlink()
        known = {
            (f"{key}-{digest}.safetensors", size) for key, digest, size in self._execute("SELECT key, digest, bytes FROM parts", ())
        }
        for name, _ in known - files:
            self._execute("DELETE FROM parts WHERE key = ? AND digest = ?", (name[:32], name[33:65]))
        for name, _ in files - known:
            part = read_header(self.folder / name)
            if part is None or part.file_name != name:
                (self.folder / name).unlink(missing_ok=True)
            else:
                self._insert(part)
        self._owners.retain(owned, {name[:32] for name, _ in files})

    def _files(self) -> list[os.DirEntry]:
        with os.scandir(self.folder) as entries:
            return [entry for entry in entries if not entry.is_dir(follow_symlinks=False)]

    def _latest_use(self, limit: float = math.inf) -> int:
        """Return the number of the latest use, or `limit` if that is earlier."""
        return int(min(self.fact("uses") or 0, limit))

    def _insert(self, part: SavedPart, use: float = math.inf) -> None:
        before = [other for other in self._select("key", [part.key]) if other.digest != part.digest]
        values = (part.key, part.digest, part.pair, part.parent, part.start, packed(part.tokens), int(part.has_states), part.bytes)
        self._execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*values, self._latest_use(use)))
        for other in before:
            (self.folder / other.file_name).unlink(missing_ok=True)

    def _shrink(self, room: int, use: int) -> bool:
        """Make room for a file of `room` bytes. Return whether there is enough.

        Deletes the least recently used parts, of those used before `use`.
        """
        if room > self.quota:
            return False
        while True:
            held = self._execute("SELECT COALESCE(SUM(bytes), 0) FROM parts", ())[0][0]
            free = shutil.disk_usage(self.folder).free
            excess = max(held + room - self.quota, room + self._keep_free - free)
            if excess <= 0:
                return True
            oldest = [part_of(row) for row in self._execute(f"{SELECT} WHERE used < ? ORDER BY used, start DESC LIMIT 64", (use,))]
            if not oldest:
                return False
            for part in oldest:
                self.remove([part])
                excess -= part.bytes
                if excess <= 0:
                    break

    def _all(self) -> Iterator[SavedPart]:
        return map(part_of, self._execute(SELECT, ()))

    def _execute(self, query: str, values: Sequence[object]) -> list:
        if self._index is None:
            return []
        with closing(self._index.execute(query, values)) as rows:
            return rows.fetchall()

    def _change(self, action: Callable[[], bool | None], seconds: float = _BUSY_S) -> bool:
        """Change files and index in one transaction, while no other process does.

        Args:
            action: makes the changes, and may return False if it failed.
            seconds: to wait for other processes.

        Returns:
            Whether the action succeeded.
        """
        done = False
        with self._guarded():
            if self._is_changing:
                return action() is not False
            if self._is_closed:
                return False
            self._is_changing = True
            try:
                with alone(self.folder, seconds):
                    if self._index is None or self._index_file != index.identity(self.folder):  # built again by another process
                        self._disconnect()
                        self._open_index()
                    assert self._index is not None
                    done = index.transact(self._index, action)
            finally:
                self._is_changing = False
        return done

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Hold the lock, and log the first failure of the disk or the index."""
        with self._lock:
            was_changing = self._is_changing
            try:
                yield
            except FAULTS as error:
                if was_changing:
                    raise
                self.complain(error)

    def complain(self, error: Exception) -> None:
        """Log the first failure."""
        if not self._complained:
            self._complained = True
            reason = getattr(error, "strerror", None) or error
            log.warning("Prompts can't be saved in or read from “%s” (%s)", self.folder, reason)


def _is_written(path: Path) -> bool:
    """Return whether a process is writing an unfinished file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not locked(descriptor)
    finally:
        os.close(descriptor)
