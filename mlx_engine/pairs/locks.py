"""Locks between programs, so that no repo is removed or moved during its download.

A program takes a repo's exclusive lock to start a download or to remove the repo. During a download it holds a mark of its own
among the repo's locks (ID.fetching.lock). The system releases both if their holder dies. The hub's own client makes no marks, but
it locks each file that it downloads, which counts too.

Some file systems, mostly on networks, have no locks. There the file's existence is the lock, as in the hub's own client. It names
its holder, so that the lock of a dead program is removed.
"""

import errno
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock

from mlx_engine.errors import UserError
from mlx_engine.pairs.data_files import cannot_write

_UNSUPPORTED = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)  # errors of file systems without locks; filelock handles ENOSYS
_MARK = ".fetching.lock"
PROBE_TIMEOUT = 0.2  # seconds; a program that tests a lock holds it for a moment, which other programs wait for
EXCLUSIVE_TIMEOUT = 5.0  # seconds to wait for the end of a removal

warnings.filterwarnings("ignore", message="flock not supported")


def acquire(path: Path, timeout: float = 0.0) -> filelock.BaseFileLock | None:
    """Return the held lock, or None if another holder keeps it for `timeout` seconds. Any thread may release it.

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
    # under another name: the empty file that the failed attempt left would count as held
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
    except OSError:  # no program can be writing to an unwritable folder
        return False
    if lock is None:
        return True
    if path.name.endswith(_MARK):
        _remove(path)  # a dead program's mark; before the release, or a waiting program would hold a mark that is gone
    lock.release()
    return False


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Keep other programs from starting to download, or removing, the repo with this lock folder.

    Inside it, a download creates folders and its mark, and a removal checks for marks and removes. So the second sees the first.
    """
    path = _exclusive_lock(folder)
    lock = None
    with suppress(OSError):  # on a full disk, removing must still work, and no program can create a mark
        path.parent.mkdir(exist_ok=True)  # without parents, which may be on a disconnected disk
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
        is_held(other)  # removes marks of dead programs
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
    """Whether any program is downloading the repo with this lock folder."""
    return any(is_held(lock) for lock in folder.glob("*.lock"))


def repo_name(folder: Path) -> str:
    return "/".join(folder.name.split("--")[1:])


def clear_exclusive(folder: Path) -> None:
    """Remove the exclusive lock that a program may have left when it died, for a repo that is gone."""
    _remove(_exclusive_lock(folder))


def _exclusive_lock(folder: Path) -> Path:
    """Next to the repo's lock folder, since that is removed with the repo."""
    return folder.with_name(f".slipstream.{folder.name}.lock")


def _remove(path: Path) -> None:
    for place in (path, path.with_name(path.name + ".soft")):
        with suppress(OSError):
            place.unlink()
