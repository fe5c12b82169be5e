"""Who is fetching a repo now, this program or another: so that nobody removes or moves what is being written.

Whoever fetches holds a mark of its own among the repo's locks (.locks/models--OWNER--NAME/ID.fetching.lock), and the system frees
it when its holder dies. The hub's own client marks nothing, but it locks each file that it fetches: that counts too.
"""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mlx_engine.errors import UserError
from mlx_engine.pairs import locks

_MARK = ".fetching.lock"
LOOK = 0.2  # seconds that a lock is waited for: to look at one is to hold it for a moment, so that lookers see each other


@contextmanager
def fetching(places: Sequence[Path], moving: Path | None) -> Iterator[None]:
    """Fetch the repos whose locks lie in these folders.

    Args:
        moving: the lock that a move of the models holds; None where they cannot be moved.

    Raises:
        UserError: the models are being moved, or a mark cannot be made.
    """
    with ExitStack() as held:
        for place in places:
            mark = place / f"{uuid.uuid4().hex}{_MARK}"
            for left in place.glob(f"*{_MARK}"):
                _is_held(left)  # one whose holder has died goes
            try:
                lock = locks.acquire(mark, timeout=1.0)  # somebody may be looking at it
            except OSError as error:
                raise UserError(
                    f"{place} cannot be written to ({error.strerror}). Free some room there, or move the model folder."
                ) from None
            held.callback(_remove, mark)
            if lock is not None:
                held.callback(lock.release)
        # after the marks are there: a move takes its lock first and looks for marks then, so one of the two sees the other
        if moving is not None and _is_held(moving):
            raise UserError("The models are being moved to another folder. Wait for its end, then start the download again.")
        yield


def is_fetched(place: Path) -> bool:
    """Whether anybody is fetching the repo whose locks lie in this folder."""
    return any(_is_held(lock) for lock in place.glob("*.lock"))


def _is_held(path: Path) -> bool:
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


def _remove(mark: Path) -> None:
    for place in (mark, mark.with_name(mark.name + ".soft")):
        with suppress(OSError):
            place.unlink()
