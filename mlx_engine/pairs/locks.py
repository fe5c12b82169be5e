"""Locks between programs, by a file. The system frees one when its holder dies.

Some file systems (of networks, mostly) have none. There the file's mere existence is the lock, as the hub's client does it too; it
names its holder, so that the mark of one that has died is taken away.
"""

import errno
import warnings
from pathlib import Path

import filelock

_NONE_HERE = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)  # what such file systems answer; ENOSYS filelock knows itself

warnings.filterwarnings("ignore", message="flock not supported")


def acquire(path: Path, timeout: float = 0.0) -> filelock.BaseFileLock | None:
    """The lock, held; None while another program, or another part of this one, holds it. Any thread may release it.

    Args:
        timeout: seconds to wait for it.

    Raises:
        OSError: the file cannot be made.
    """
    lock: filelock.BaseFileLock = filelock.FileLock(path, mode=0o664, thread_local=False)
    try:
        lock.acquire(timeout=timeout)
        return lock
    except filelock.Timeout:
        return None
    except OSError as error:
        if error.errno not in _NONE_HERE:
            raise
    # under a name of its own: the empty file that the failure left would count as held
    lock = filelock.SoftFileLock(path.with_name(path.name + ".soft"), thread_local=False)
    try:
        lock.acquire(timeout=timeout)
    except filelock.Timeout:
        return None
    return lock
