"""Deleted repos that can still be restored: moved out of the model folder now, purged later.

They stay on the same disk, in the cache's .locks folder, where no program looks for models.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from mlx_engine.errors import UserError
from mlx_engine.pairs.cache import Cache, folder_bytes, link_leads_out
from mlx_engine.pairs.data_files import cannot_write

_FOLDER = ".slipstream.deleted"


class DeletedModels:
    """The repos that were deleted from one cache and not freed yet."""

    def __init__(self, cache: Cache | None = None) -> None:
        self._cache = cache or Cache()
        self._root = self._cache.root / ".locks" / _FOLDER

    def delete(self, repos: Sequence[str]) -> int:
        """Delete all of the repos or, on an error, none; return the bytes that `purge` will free."""
        with self._cache.removing(repos):
            for repo in repos:
                if self._cache.folder(repo).is_dir():
                    shutil.rmtree(self._place(repo), ignore_errors=True)  # an earlier deletion of the same repo
            with self._cache.staying():
                deleted = self._delete(repos)
            return sum(map(self.size_of, deleted))

    def _delete(self, repos: Sequence[str]) -> list[str]:
        deleted: list[str] = []
        try:
            for repo in repos:
                folder = self._cache.folder(repo)
                if folder.is_symlink():
                    raise link_leads_out(folder)
                if folder.is_dir():
                    self._root.mkdir(parents=True, exist_ok=True)
                    os.rename(folder, self._place(repo))
                    deleted.append(repo)
        except (OSError, UserError) as error:
            self._restore(deleted)
            raise (error if isinstance(error, UserError) else cannot_write(self._cache.root, error)) from None
        return deleted

    def restore(self, repos: Sequence[str]) -> None:
        """Restore repos, unless they were downloaded again."""
        with self._cache.staying():
            self._restore(repos)

    def _restore(self, repos: Sequence[str]) -> None:
        for repo in repos:
            folder = self._cache.folder(repo)
            if folder.exists():
                continue
            try:
                os.rename(self._place(repo), folder)
            except FileNotFoundError:
                raise UserError("repo_purged", "{repo} can no longer be restored. Download it again.", repo=repo) from None
            except OSError as error:
                raise cannot_write(folder, error) from None

    def size_of(self, repo: str) -> int:
        """Bytes that a deleted repo still occupies."""
        return folder_bytes(self._place(repo))

    def purge(self, repos: Sequence[str] | None = None) -> int:
        """Delete repos permanently, by default all; return the bytes freed."""
        freed = 0
        for place in [self._root] if repos is None else map(self._place, repos):
            before = folder_bytes(place)
            shutil.rmtree(place, ignore_errors=True)
            freed += before - folder_bytes(place)
        return freed

    def _place(self, repo: str) -> Path:
        return self._root / self._cache.folder(repo).name
