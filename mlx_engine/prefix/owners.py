"""Which chats own which saved parts: one small file per chat, next to the parts.

A file's name is a hash of the chat's ID, and its lines are the keys of the chat's parts. Nothing else records who owns a part. A
part without an owner is deleted whenever the index is matched to the files, so removing a chat's file is what gives up its prompts.
"""

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

NO_CHAT = ""  # in place of a chat's ID: prompts of the terminal, and of programs that use the server
OWNER_FILE = re.compile(r"([0-9a-f]{32})\.owner")
_KEY = re.compile(rb"[0-9a-f]{32}")
_RETRY_S = 0.02


def owner_of(chat: str) -> str:
    """Return the name of a chat in files, 32 hexadecimal digits."""
    return hashlib.sha256(b"owner " + chat.encode(errors="surrogatepass")).hexdigest()[:32]


class Owners:
    """The owner files in a folder, used by one program at a time: see `alone`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> set[str]:
        """Return the owners of all parts."""
        with os.scandir(self._folder) as entries:
            return {found[1] for entry in entries if (found := OWNER_FILE.fullmatch(entry.name))}

    def read(self) -> dict[str, set[str]]:
        """Return the keys of each owner's parts."""
        return {owner: self.keys(owner) for owner in self.all()}

    def keys(self, owner: str) -> set[str]:
        """Return the keys of an owner's parts, and maybe of some that were deleted."""
        try:
            return {line.decode() for line in self._path(owner).read_bytes().split(b"\n") if _KEY.fullmatch(line)}
        except FileNotFoundError:
            return set()

    def add(self, owner: str, keys: Iterable[str]) -> None:
        """Make parts belong to an owner."""
        if missing := sorted(set(keys) - self.keys(owner)):
            with open(os.open(self._path(owner), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as file:
                # The newline before a key also ends a line that a killed process left incomplete
                file.write("".join(f"\n{key}" for key in missing).encode())

    def drop(self, owner: str) -> None:
        """Make all of an owner's parts no longer belong to it."""
        self._path(owner).unlink(missing_ok=True)

    def discard(self, owner: str, keys: Collection[str]) -> set[str]:
        """Remove parts from an owner. Return those that are left without an owner."""
        if not keys:
            return set()
        owned = self.keys(owner)
        self.retain({owner: owned}, owned.difference(keys))
        return set(keys).difference(*self.read().values())

    def retain(self, owned: Mapping[str, set[str]], stored: Collection[str]) -> None:
        """Of what `read` returned, drop the keys of deleted parts."""
        for owner, keys in owned.items():
            if not (left := keys.intersection(stored)):
                self.drop(owner)
            elif left != keys:
                unfinished = self._folder / f"{owner}.owner.unfinished"
                unfinished.unlink(missing_ok=True)
                with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                    file.write("\n".join(sorted(left)).encode())
                os.replace(unfinished, self._path(owner))

    def _path(self, owner: str) -> Path:
        return self._folder / f"{owner}.owner"


@contextmanager
def alone(folder: Path, seconds: float) -> Iterator[None]:
    """Keep other programs from changing a folder. Its file system may lack locks.

    Raises:
        BlockingIOError: another program changes it for longer than `seconds`.
    """
    descriptor, until = os.open(folder, os.O_RDONLY), time.monotonic() + seconds
    try:
        while not locked(descriptor):
            if time.monotonic() > until:
                raise BlockingIOError(f"Another program uses {folder}")
            time.sleep(_RETRY_S)
        yield
    finally:
        os.close(descriptor)


def locked(descriptor: int) -> bool:
    """Lock a file until it is closed. Return whether no other program has locked it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # the file system has no locks
    return True
