"""Repos that were deleted and may still be brought back: taken out of the model folder in one step, their room freed later.

They lie on the same disk, in the cache's own .locks, where no program looks for models. Whoever deletes says when they go for good.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from mlx_engine.errors import UserError
from mlx_engine.pairs.cache import Cache

_FOLDER = ".slipstream.deleted"


class Aside:
    """What was deleted from one cache and not yet freed."""

    def __init__(self, cache: Cache | None = None) -> None:
        self._cache = cache or Cache()
        self._root = self._cache.root / ".locks" / _FOLDER

    def take(self, repos: Sequence[str]) -> int:
        """Delete repos: no program finds them any more. Returns the bytes that `free` will free of them.

        Raises:
            UserError: one cannot be taken, or the models are being moved just now; all are where they were.
        """
        with self._cache.removing(repos):
            for repo in repos:
                if self._cache.folder(repo).is_dir():
                    shutil.rmtree(self._there(repo), ignore_errors=True)  # deleted before, and fetched again since
            with self._cache.staying():
                taken = self._take(repos)
            return sum(map(self.bytes_of, taken))

    def _take(self, repos: Sequence[str]) -> list[str]:
        taken: list[str] = []
        try:
            for repo in repos:
                here, there = self._cache.folder(repo), self._there(repo)
                if here.is_symlink():
                    raise UserError(
                        f"{here} leads out of the model folder {self._cache.root}, so it is left alone. Remove that link by hand."
                    )
                if not here.is_dir():
                    continue
                self._root.mkdir(parents=True, exist_ok=True)
                os.rename(here, there)
                taken.append(repo)
        except (OSError, UserError) as error:
            self._put_back(taken)
            if isinstance(error, UserError):
                raise
            raise UserError(f"{self._cache.root} cannot be written to ({error.strerror}). Nothing was deleted.") from None
        return taken

    def put_back(self, repos: Sequence[str]) -> None:
        """Bring repos back. One that was fetched again meanwhile stays as it is now.

        Raises:
            UserError: one cannot be brought back, or the models are being moved just now.
        """
        with self._cache.staying():
            self._put_back(repos)

    def _put_back(self, repos: Sequence[str]) -> None:
        for repo in repos:
            here, there = self._cache.folder(repo), self._there(repo)
            if here.exists():
                continue
            try:
                os.rename(there, here)
            except FileNotFoundError:
                raise UserError(f"{repo} was freed for good meanwhile. Fetch it again.") from None
            except OSError as error:
                raise UserError(f"{here} cannot be written to ({error.strerror}).") from None

    def bytes_of(self, repo: str) -> int:
        """What a deleted repo still takes on the disk."""
        return _size(self._there(repo))

    def free(self, repos: Sequence[str] | None = None) -> int:
        """Remove repos for good, all by default; returns the bytes freed."""
        places = [self._root] if repos is None else [self._there(repo) for repo in repos]
        freed = 0
        for place in places:
            before = _size(place)
            shutil.rmtree(place, ignore_errors=True)
            freed += before - _size(place)
        return freed

    def _there(self, repo: str) -> Path:
        return self._root / self._cache.folder(repo).name


def _size(place: Path) -> int:
    """Allocated bytes: an unfinished file is sparse, and a link is none of the file's."""
    found = 0
    for folder, _, names in os.walk(place):
        for name in names:
            try:
                told = os.lstat(os.path.join(folder, name))
            except OSError:
                continue
            found += min(told.st_blocks * 512, told.st_size)
    return found
