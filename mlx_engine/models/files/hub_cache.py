"""The folder of downloaded models.

It has the layout of huggingface_hub and mlx-lm, so that other programs can share the files:

models--OWNER--NAME/blobs/DIGEST                  file content, named by SHA-256 (LFS) or git blob ID
models--OWNER--NAME/snapshots/COMMIT/PATH         relative link to a blob
models--OWNER--NAME/refs/main                     commit of main at the time of the download
models--OWNER--NAME#mtp/                          the same for a model's MTP head; each blob is a part of a file
datasets--OWNER--NAME/                            the same for a set of prompts, in its own folder (see prompt_sets)
.locks/models--OWNER--NAME/DIGEST.lock            held while the blob is downloaded
.locks/models--OWNER--NAME/ID.fetching.lock       held while the repo is downloaded (see locks.py)
.locks/.slipstream.models--OWNER--NAME.lock       held while a download starts or the repo is removed
"""

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

import filelock
from huggingface_hub import constants

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import cannot_delete, cannot_write, data_folder, home_path, read_bounded, read_json, write_json
from mlx_engine.models.files import locks
from mlx_engine.models.files.partial import SUFFIX, received_so_far
from mlx_engine.models.files.repo import RemoteFile, RepoKind, RepoListing, check_repo, is_commit

_SPARE = 200_000_000  # bytes that downloads and moves leave free on the disk
_VARIABLES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME")


def model_folder() -> Path:
    """Return the folder set by the environment, by the user, or by the hub's client."""
    return (None if folder_variable() else chosen_folder()) or client_folder()


def client_folder() -> Path:
    """Return the folder of the hub's client, which mlx-lm uses too."""
    return home_path(constants.HF_HUB_CACHE)


def folder_variable() -> str:
    """Return the name of the environment variable that sets the folder, or ""."""
    return next((name for name in _VARIABLES if os.environ.get(name)), "")


def chosen_folder() -> Path | None:
    """Return the folder that the user moved the models to, or None."""
    return _saved("folder")


def uncleared_folder() -> Path | None:
    """Return the old folder of a move that was interrupted after copying, or None."""
    return _saved("left")


def choose_folder(folder: Path, uncleared: Path | None = None) -> None:
    write_json(_choice_file(), {"folder": str(folder), **({"left": str(uncleared)} if uncleared else {})})


def move_lock() -> Path:
    """Return the path of the lock file that is held while models are moved."""
    return data_folder() / "model-folder.moving.lock"


def model_folder_problem() -> EngineText | None:
    """Return why the user's choice of folder can't be read, or None."""
    if folder_variable():
        return None
    try:
        if read_json(_choice_file()) is None or chosen_folder() is not None:
            return None
        reason = EngineText.of("model_folder_missing", "“{path}” doesn't contain a folder path.", path=str(_choice_file()))
    except UserError as error:
        reason = error.text
    template = "For now, Slipstream is using “{folder}” for models: {reason}"
    return EngineText.of("model_folder_unknown", template, folder=str(model_folder()), reason=reason)


def _choice_file() -> Path:
    return data_folder() / "model-folder.json"


def _saved(name: str) -> Path | None:
    try:
        saved = read_json(_choice_file())
    except UserError:  # see `model_folder_problem`
        return None
    value = saved.get(name) if isinstance(saved, dict) else None
    return Path(value) if isinstance(value, str) and value.isprintable() and os.path.isabs(value) else None


class HubCache:
    """A folder of downloaded models; by default the current model folder.

    Args:
        kind: what the repos are, which their folders' names start with.
    """

    def __init__(self, root: Path | None = None, kind: RepoKind = "models") -> None:
        current = model_folder()  # read once, since a move may end at any time
        self.root, self._kind = home_path(root or current), kind
        self._was_current = self.root == current

    def folder(self, repo: str) -> Path:
        return self.root / f"{self._kind}--{check_repo(repo).replace('/', '--')}"

    def blob(self, listing: RepoListing, file: RemoteFile) -> Path:
        return self.folder(listing.repo) / "blobs" / file.digest

    def partial(self, listing: RepoListing, file: RemoteFile) -> Path:
        return self.folder(listing.repo) / "blobs" / (file.digest + SUFFIX)

    def snapshot(self, repo: str, commit: str) -> Path:
        return self.folder(repo) / "snapshots" / commit

    def lock_folder(self, repo: str) -> Path:
        return self.root / ".locks" / self.folder(repo).name

    def main_commit(self, repo: str) -> str | None:
        """Return the commit of main at the time of the download, or None if unknown."""
        try:
            commit = read_bounded(self.folder(repo) / "refs" / "main", 100).decode("ascii").strip()
        except (OSError, ValueError, UserError):
            return None
        return commit if is_commit(commit) else None

    def free_bytes(self) -> int:
        place = self.root
        while not place.exists():
            place = place.parent
        return shutil.disk_usage(place).free

    # --- Exclusion of other programs ----------------------------------------------------------------------------------------------
    @contextmanager
    def downloading(self, listings: Sequence[RepoListing]) -> Iterator[None]:
        """Create the folders of repos, and keep other programs from changing them."""
        self._check_not_moved()  # before writing anything there
        with ExitStack() as held:
            for listing in listings:
                with self._exclusive(listing.repo):
                    self.prepare(listing)
                    held.enter_context(locks.downloading(self.lock_folder(listing.repo)))
            # checked again with the marks in place: a move locks first and then looks for marks, so one of the two stops
            self._check_not_moved()
            yield

    @contextmanager
    def removing(self, repos: Sequence[str]) -> Iterator[None]:
        """Keep other programs from downloading or removing repos."""
        with ExitStack() as held:
            for repo in sorted(set(repos)):
                held.enter_context(self._exclusive(repo))
            self.check_not_downloading(repos)
            yield

    @contextmanager
    def staying(self) -> Iterator[None]:
        """Take the move lock, so that no program moves the models. Hold it only briefly."""
        lock = None
        if self._may_be_moved():
            with suppress(OSError):  # on a full disk, no program can lock for a move either
                move_lock().parent.mkdir(parents=True, exist_ok=True)
                lock = locks.acquire(move_lock(), timeout=locks.EXCLUSIVE_TIMEOUT)
                if lock is None:
                    raise _moving()
        try:
            self._check_current()
            yield
        finally:
            if lock is not None:
                lock.release()

    def lock(self, listing: RepoListing, file: RemoteFile, timeout: float = 0.0) -> filelock.BaseFileLock | None:
        """Take the lock of a blob, and return None if another program holds it."""
        return locks.acquire(self.lock_folder(listing.repo) / f"{file.digest}.lock", timeout)

    def is_downloading(self, repo: str) -> bool:
        return locks.is_downloading(self.lock_folder(repo))

    def check_not_downloading(self, repos: Sequence[str]) -> None:
        for repo in repos:
            if self.is_downloading(repo):
                raise repo_busy(repo)

    def _check_not_moved(self) -> None:
        if self._may_be_moved() and locks.is_held(move_lock()):
            raise _moving()
        self._check_current()

    def _check_current(self) -> None:
        if self._was_current and (now := model_folder()) != self.root:
            if problem := model_folder_problem():
                raise UserError.of(problem)
            raise UserError("models_moved", "The models were moved to “{folder}”. Try again.", folder=str(now))

    def _may_be_moved(self) -> bool:
        """Return whether a move in progress may be moving models out of this folder."""
        return self._was_current or self.root in (model_folder(), uncleared_folder())

    def _exclusive(self, repo: str) -> AbstractContextManager[None]:
        folder = self.lock_folder(repo)
        if folder.parent.resolve().is_relative_to(self.root.resolve()):
            return locks.exclusive(folder)
        return nullcontext()  # `prepare` refuses links that lead out of the cache

    # --- Downloads ----------------------------------------------------------------------------------------------------------------
    def prepare(self, listing: RepoListing) -> None:
        folder, lock_folder = self.folder(listing.repo), self.lock_folder(listing.repo)
        if self.root == chosen_folder() and not self.root.is_dir():  # creating it would use the disk below the mount point
            template = "Can't find the model folder “{folder}”. Connect its disk, or choose another folder."
            raise UserError("model_folder_gone", template, folder=str(self.root))
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            inside = self.root.resolve()
            parts = ("", "blobs", "refs", "snapshots", f"snapshots/{listing.commit}")
            for place in (*(folder / part for part in parts), lock_folder):
                if not place.resolve().is_relative_to(inside):
                    raise link_leads_out(place)
                if place.name != listing.commit:  # a snapshot's folder is created once it is complete
                    place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self.root, error) from None

    def has(self, listing: RepoListing, file: RemoteFile) -> bool:
        """Return whether a file is complete and verified."""
        for place in (self.blob(listing, file), self.snapshot(listing.repo, listing.commit) / file.path):
            with suppress(OSError):
                whole = place.is_file() and place.stat().st_size == file.size
                if whole and place.resolve().is_relative_to(self.root.resolve()):
                    return True
        return False

    def received(self, listing: RepoListing) -> int:
        """Return the downloaded bytes of a listing, including unfinished files."""
        finished = {file: file.size for file in listing.distinct if self.has(listing, file)}
        return sum(finished.get(file) or received_so_far(self.partial(listing, file), file.size) for file in listing.distinct)

    def publish(self, listing: RepoListing) -> Path:
        """Create the snapshot of a listing with complete blobs, and return its folder."""
        snapshot = self.snapshot(listing.repo, listing.commit)
        snapshot.mkdir(parents=True, exist_ok=True)
        last = {file.digest: file for file in listing.files}  # of those that share a blob
        for file in listing.files:
            blob, pointer = self.blob(listing, file), snapshot / file.path
            if not blob.exists():
                continue  # on a disk without links, the snapshot already contains the file
            pointer.parent.mkdir(parents=True, exist_ok=True)
            temporary = pointer.parent / f".{uuid.uuid4().hex}"
            try:
                os.symlink(os.path.relpath(blob, pointer.parent), temporary)
                os.replace(temporary, pointer)
            except OSError:
                with suppress(OSError):
                    temporary.unlink()
                if file.lfs and file is last[file.digest]:
                    os.replace(blob, pointer)
                else:
                    shutil.copyfile(blob, pointer)  # other revisions may share a small file's blob
        ref = self.folder(listing.repo) / "refs" / "main"
        temporary = ref.with_name(f".{uuid.uuid4().hex}")
        temporary.write_text(listing.commit, encoding="ascii")
        os.replace(temporary, ref)
        return snapshot

    # --- Removal ------------------------------------------------------------------------------------------------------------------
    def discard(self, repo: str) -> int:
        """Delete a repo's unfinished download unless in use, and return the bytes freed."""
        folder = self.folder(repo)
        if folder.is_symlink() or (folder / "blobs").is_symlink():
            return 0
        freed = 0
        with suppress(UserError), self.removing([repo]):
            used = {pointer.resolve() for pointer in folder.glob("snapshots/*/**/*")}
            for place in folder.glob("blobs/*"):
                ours = place.name.endswith(SUFFIX) or "." not in place.name  # not another program's unfinished files
                if ours and place.is_file() and not place.is_symlink() and place.resolve() not in used:
                    with suppress(OSError):
                        size = allocated_bytes(place)
                        place.unlink()
                        freed += size
            for place in (folder / "snapshots", folder / "blobs", folder / "refs", folder):
                with suppress(OSError):
                    place.rmdir()  # only if empty
        return freed

    def remove(self, repo: str) -> int:
        """Delete a repo with all its snapshots, and return the bytes freed."""
        folder = self.folder(repo)
        with self.removing([repo]):
            if folder.is_symlink():
                raise link_leads_out(folder)
            freed = folder_bytes(folder)
            try:
                shutil.rmtree(folder)
            except OSError as error:
                shutil.rmtree(folder, ignore_errors=True)
                if folder.exists():
                    raise cannot_delete(folder, error) from None
            shutil.rmtree(self.lock_folder(repo), ignore_errors=True)
        return freed


class DeletedModels:
    """Deleted repos of a cache, which can be restored until they are purged."""

    def __init__(self, cache: HubCache | None = None) -> None:
        self._cache = cache or HubCache()
        self._root = self._cache.root / ".locks" / ".slipstream.deleted"  # on the same disk, where no program looks for models

    def delete(self, repos: Sequence[str]) -> int:
        """Delete all repos, or none on an error, and return the bytes that can be purged."""
        with self._cache.removing(repos):
            for repo in repos:
                if self._cache.folder(repo).is_dir():
                    shutil.rmtree(self._place(repo), ignore_errors=True)  # from an earlier deletion
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
        """Restore repos, except those that were downloaded again."""
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
        """Return the bytes that a deleted repo still occupies."""
        return folder_bytes(self._place(repo))

    def purge(self, repos: Sequence[str] | None = None) -> int:
        """Delete repos (by default all) permanently, and return the bytes freed."""
        freed = 0
        for place in [self._root] if repos is None else map(self._place, repos):
            before = folder_bytes(place)
            shutil.rmtree(place, ignore_errors=True)
            freed += before - folder_bytes(place)
        return freed

    def _place(self, repo: str) -> Path:
        return self._root / self._cache.folder(repo).name


def allocated_bytes(path: Path) -> int:
    """Return the bytes that a file occupies on disk, fewer than its size if sparse."""
    status = path.lstat()
    return min(status.st_blocks * 512, status.st_size)


def folder_bytes(place: Path) -> int:
    """Return the bytes that the files in a folder occupy on disk."""
    found = 0
    for folder, _, names in os.walk(place):
        for name in names:
            with suppress(OSError):
                found += allocated_bytes(Path(folder, name))
    return found


def repo_busy(repo: str) -> UserError:
    template = "{repo} is being downloaded. Stop the download or wait for it to finish, then try again."
    return UserError("repo_being_downloaded", template, repo=repo)


def space_problem(missing: int, folder: Path, free: int) -> EngineText | None:
    """Return why `missing` more bytes don't fit on a disk with `free` bytes, or None."""
    if not missing or missing + _SPARE <= free:
        return None
    template = (
        "The disk that contains “{folder}” has only {free:,.2f} GB free, but {needed:,.2f} GB are needed. Free up space first."
    )
    return EngineText.of("no_space", template, needed=(missing + _SPARE) / 1e9, folder=str(folder), free=free / 1e9)


def link_leads_out(path: Path) -> UserError:
    template = "“{path}” is a link that points outside the model folder. Remove the link, then try again."
    return UserError("link_leads_out", template, path=str(path))


def _moving() -> UserError:
    return UserError("models_moving", "The models are being moved to another folder. Wait for the move to finish, then try again.")
