"""Locks between programs, so that no repo is removed or moved during its download.

A program takes a repo's exclusive lock to start a download or remove the repo. During a download, it holds its own mark
(ID.fetching.lock) in the repo's lock folder. The system releases both if the program dies. The hub's own client makes no marks, but
it locks each file that it downloads. Such a lock counts as a mark.

On file systems without locks, mostly network ones, the file's existence is the lock, as in the hub's own client. The file names its
holder, so that the lock of a dead program is removed.
"""

import errno
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_write

_UNSUPPORTED = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)  # from file systems without locks; filelock handles ENOSYS
_MARK = ".fetching.lock"
PROBE_TIMEOUT = 0.2  # seconds; testing a lock takes it for a moment, so others wait
EXCLUSIVE_TIMEOUT = 5.0  # seconds to wait for the end of a removal

warnings.filterwarnings("ignore", message="flock not supported")


def acquire(path: Path, timeout: float = 0.0) -> filelock.BaseFileLock | None:
    """Return the held lock, or None if it stays taken for `timeout` seconds.

    Any thread may release the lock.

    Raises:
        OSError: the file can't be created.
    """
    lock: filelock.BaseFileLock = filelock.FileLock(path, mode=0o664, thread_local=False)
    try:
        lock.acquire(timeout=timeout)
        return lock
    except filelock.Timeout:
        return None
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    # under another name, because the empty file left by the failed attempt would count as held
    lock = filelock.SoftFileLock(path.with_name(path.name + ".soft"), thread_local=False)
    try:
        lock.acquire(timeout=timeout)
    except filelock.Timeout:
        return None
    return lock


def is_held(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        lock = acquire(path, timeout=PROBE_TIMEOUT)
    except OSError:  # no program can download to a folder that isn't writable
        return False
    if lock is None:
        return True
    if path.name.endswith(_MARK):
        _remove(path)  # a dead program's mark; removed before the release, so that no waiting program gets a removed mark
    lock.release()
    return False


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Keep other programs from downloading or removing the repo of a lock folder.

    A download creates its mark under this lock, and a removal checks for marks under it, so whichever comes second sees the first.
    """
    path = _exclusive_lock(folder)
    lock = None
    with suppress(OSError):  # on a full disk, no program can create marks, and removing must still work
        path.parent.mkdir(exist_ok=True)  # without parents, since the disk may be disconnected
        lock = acquire(path, timeout=EXCLUSIVE_TIMEOUT)
        if lock is None:
            template = "Another program is removing {repo}. Try again in a moment."
            raise UserError("repo_being_removed", template, repo=repo_name(folder))
    try:
        yield
    finally:
        if lock is not None:
            _remove(path)
            lock.release()


@contextmanager
def downloading(folder: Path) -> Iterator[None]:
    """Mark the repo with this lock folder as being downloaded."""
    mark = folder / f"{uuid.uuid4().hex}{_MARK}"
    for other in folder.glob(f"*{_MARK}"):
        is_held(other)  # removes the marks of dead programs
    try:
        lock = acquire(mark, timeout=1.0)  # another program may be testing it
    except OSError as error:
        raise cannot_write(folder, error) from None
    try:
        yield
    finally:
        if lock is not None:
            lock.release()
        _remove(mark)


def is_downloading(folder: Path) -> bool:
    """Return whether any program is downloading the repo with this lock folder."""
    return any(is_held(lock) for lock in folder.glob("*.lock"))


def repo_name(folder: Path) -> str:
    return "/".join(folder.name.split("--")[1:])


def clear_exclusive(folder: Path) -> None:
    """Remove the exclusive lock that a dead program may have left for a removed repo."""
    _remove(_exclusive_lock(folder))


def _exclusive_lock(folder: Path) -> Path:
    """Return the lock's path, outside the lock folder, which is removed with the repo."""
    return folder.with_name(f".slipstream.{folder.name}.lock")


def _remove(path: Path) -> None:
    for place in (path, path.with_name(path.name + ".soft")):
        with suppress(OSError):
            place.unlink()
