"""Who is fetching a repo now, this program or another: so that nobody removes or moves what is being written.

Whoever begins to fetch a repo, or removes it, does so alone (.locks/.slipstream.models--OWNER--NAME.lock). Whoever fetches holds a
mark of its own among the repo's locks (.locks/models--OWNER--NAME/ID.fetching.lock), and the system frees both when their holder
dies. The hub's own client marks nothing, but it locks each file that it fetches: that counts too.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mlx_engine.errors import UserError
from mlx_engine.pairs import locks

_MARK = ".fetching.lock"
LOOK = 0.2  # seconds that a lock is waited for: to look at one is to hold it for a moment, so that lookers see each other
TURN = 5.0  # seconds that the end of a removal is waited for


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """While it lasts, nobody else begins to fetch the repo whose locks lie in this folder, or removes it.

    Whoever fetches makes the folders and the mark under it, whoever removes looks for marks and removes: so one of the two comes
    first, and the other sees what it did.

    Raises:
        UserError: somebody else is at it for long.
    """
    door = _door(place)
    lock = None
    with suppress(OSError):  # on a full disk removing must go on, and nobody can make a mark there either
        door.parent.mkdir(exist_ok=True)  # and not what it lies in, which may be a disk that is not connected
        lock = locks.acquire(door, timeout=TURN)
        if lock is None:
            raise UserError(f"Another program is removing {name_of(place)} just now. Try again in a moment.")
    try:
        yield
    finally:
        if lock is not None:
            _remove(door)
            lock.release()


@contextmanager
def fetching(place: Path) -> Iterator[None]:
    """A mark that the repo whose locks lie in this folder is being fetched.

    Raises:
        UserError: it cannot be made.
    """
    mark = place / f"{uuid.uuid4().hex}{_MARK}"
    for left in place.glob(f"*{_MARK}"):
        is_held(left)  # one whose holder has died goes
    try:
        lock = locks.acquire(mark, timeout=1.0)  # somebody may be looking at it
    except OSError as error:
        raise UserError(
            f"{place} cannot be written to ({error.strerror}). Free some room there, or move the model folder."
        ) from None
    try:
        yield
    finally:
        if lock is not None:
            lock.release()
        _remove(mark)


def is_fetched(place: Path) -> bool:
    """Whether anybody is fetching the repo whose locks lie in this folder."""
    return any(is_held(lock) for lock in place.glob("*.lock"))


def name_of(place: Path) -> str:
    """The repo whose locks lie in this folder."""
    return "/".join(place.name.split("--")[1:])


def forget(place: Path) -> None:
    """Remove what a program that died while it was `alone` left of a repo that is not there any more."""
    _remove(_door(place))


def is_held(path: Path) -> bool:
    """Whether anybody holds a lock."""
    if not path.exists():
        return False
    try:
        lock = locks.acquire(path, timeout=LOOK)
    except OSError:  # it cannot be asked; what cannot be written to is not being written to either
        return False
    if lock is None:
        return True
    if path.name.endswith(_MARK):
        _remove(path)  # its holder has died; before the release, else whoever waits for it would hold a mark that is not there
    lock.release()
    return False


def _door(place: Path) -> Path:
    """The lock of whoever is `alone`: not among the repo's locks, which go with it."""
    return place.with_name(f".slipstream.{place.name}.lock")


def _remove(mark: Path) -> None:
    for place in (mark, mark.with_name(mark.name + ".soft")):
        with suppress(OSError):
            place.unlink()
