"""The hub's cache on this disk: the layout that huggingface_hub and mlx-lm read, so that other programs share the files.

models--OWNER--NAME/blobs/DIGEST                  the bytes, by SHA-256 (LFS) or git blob id
models--OWNER--NAME/snapshots/COMMIT/PATH         a relative link to a blob
models--OWNER--NAME/refs/main                     the commit that main named
.locks/models--OWNER--NAME/DIGEST.lock            held by whoever fetches that blob
.locks/models--OWNER--NAME/ID.fetching.lock       held by whoever fetches the repo (see active_use.py)
.locks/.slipstream.models--OWNER--NAME.lock       held by whoever begins to fetch the repo, or removes it
"""

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

import filelock
from huggingface_hub import scan_cache_dir
from huggingface_hub.errors import CacheNotFound
from huggingface_hub.file_download import repo_folder_name

from mlx_engine.errors import UserError
from mlx_engine.pairs import active_use, locks
from mlx_engine.pairs.model_folder import choice_trouble, chosen_folder, folder_left, model_folder, moving_lock
from mlx_engine.pairs.partial import SUFFIX, received_so_far
from mlx_engine.pairs.repo import Listing, RemoteFile, check_repo


class Cache:
    """One cache folder: the one where models lie now (see model_folder.py), if none is given."""

    def __init__(self, root: Path | None = None) -> None:
        now = model_folder()  # asked once: a move may end meanwhile
        self.root = Path(root or now).expanduser()
        self._was_in_force = self.root == now

    def folder(self, repo: str) -> Path:
        return self.root / repo_folder_name(repo_id=check_repo(repo), repo_type="model")

    def blob(self, listing: Listing, file: RemoteFile) -> Path:
        return self.folder(listing.repo) / "blobs" / file.digest

    def partial(self, listing: Listing, file: RemoteFile) -> Path:
        return self.folder(listing.repo) / "blobs" / (file.digest + SUFFIX)

    def snapshot(self, repo: str, commit: str) -> Path:
        return self.folder(repo) / "snapshots" / commit

    def prepare(self, listing: Listing) -> None:
        """Make the repo's folders.

        Raises:
            UserError: they cannot be made, or one of them is a link that leads out of the cache.
        """
        folder, held = self.folder(listing.repo), self.locks(listing.repo)
        if self.root == chosen_folder() and not self.root.is_dir():  # made anew it would fill the disk that another is mounted on
            raise UserError(f"The model folder {self.root} is not there. Connect its disk, or choose another folder.")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            inside = self.root.resolve()
            parts = ("", "blobs", "refs", "snapshots", f"snapshots/{listing.commit}")
            for place in (*(folder / part for part in parts), held):
                if not place.resolve().is_relative_to(inside):
                    raise UserError(f"{place} leads out of the model folder {self.root}. Remove that link; nothing was written.")
                if place.name != listing.commit:  # a snapshot's own folder is made when all of it is here
                    place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"The model folder {self.root} cannot be written to ({error.strerror}). Free it, or move the model folder."
            ) from None

    def lock(self, listing: Listing, file: RemoteFile, patience: float = 0.0) -> filelock.BaseFileLock | None:
        """The lock that other programs respect too; None while one of them holds it. The system frees it when its holder dies.

        Args:
            patience: seconds to wait for it, so that whoever but looks at it is not taken for its holder.
        """
        return locks.acquire(self.locks(listing.repo) / f"{file.digest}.lock", patience)

    def locks(self, repo: str) -> Path:
        """The folder of a repo's locks."""
        return self.root / ".locks" / self.folder(repo).name

    @contextmanager
    def fetching(self, listings: Sequence[Listing]) -> Iterator[None]:
        """While it lasts, there are folders for these repos, and nobody removes or moves them.

        Raises:
            UserError: as `prepare` says, or one of the repos is being removed, or the models are being moved, just now,
                or were since this object was made.
        """
        self._refuse_moved()  # so that nothing is written there
        with ExitStack() as held:
            for listing in listings:
                with self._alone(listing.repo):
                    self.prepare(listing)
                    held.enter_context(active_use.fetching(self.locks(listing.repo)))
            # and after the marks are there: a move takes its lock first and looks for marks then, so one of the two sees the other
            self._refuse_moved()
            yield

    def _refuse_moved(self) -> None:
        """The models are being moved out of this folder, or were since this object was made."""
        if self._is_left() and active_use.is_held(moving_lock()):
            raise UserError("The models are being moved to another folder. Wait for its end, then start the download again.")
        self._refuse_left("start the download again")

    def _refuse_left(self, then: str) -> None:
        """The models were moved out of this folder since this object was made; `then` is what there is to do."""
        if self._was_in_force and (now := model_folder()) != self.root:  # asked once more: a move may have ended since
            if trouble := choice_trouble():  # or nobody can tell where they are
                raise UserError(f"{trouble} Mend that, then {then}.")
            raise UserError(f"The models were moved to {now} meanwhile. {then[0].upper()}{then[1:]}.")

    @contextmanager
    def removing(self, repos: Sequence[str]) -> Iterator[None]:
        """While it lasts, nobody begins to fetch these repos, or removes them beside.

        Raises:
            UserError: one of them is being fetched, or removed, now.
        """
        with ExitStack() as held:
            for repo in sorted(set(repos)):
                held.enter_context(self._alone(repo))
            self.refuse_while_fetched(repos)
            yield

    @contextmanager
    def staying(self) -> Iterator[None]:
        """While it lasts, which is to be a moment, for others say meanwhile that they are being moved, nobody moves the models.

        Raises:
            UserError: they are being moved now, or were since this object was made.
        """
        lock = None
        if self._is_left():
            with suppress(OSError):  # as on a full disk: whoever cannot make the lock cannot move the models either
                moving_lock().parent.mkdir(parents=True, exist_ok=True)
                lock = locks.acquire(moving_lock(), timeout=active_use.TURN)
                if lock is None:
                    raise UserError("The models are being moved to another folder. Wait for its end, then try this again.")
        try:
            self._refuse_left("try this again")
            yield
        finally:
            if lock is not None:
                lock.release()

    def _is_left(self) -> bool:
        """Whether a move of the models is one out of this folder."""
        return self._was_in_force or self.root in (model_folder(), folder_left())

    def _alone(self, repo: str) -> AbstractContextManager[None]:
        place = self.locks(repo)
        if place.parent.resolve().is_relative_to(self.root.resolve()):
            return active_use.alone(place)
        return nullcontext()  # nothing is written through a link out of the cache: `prepare` refuses it

    def is_fetched(self, repo: str) -> bool:
        """Whether anybody is fetching a repo into this cache now."""
        return active_use.is_fetched(self.locks(repo))

    def refuse_while_fetched(self, repos: Sequence[str]) -> None:
        """Raises:
        UserError: one of the repos is being fetched now.
        """
        if busy := [repo for repo in repos if self.is_fetched(repo)]:
            raise UserError(f"{' and '.join(busy)} is being fetched just now. Stop that download, or wait for its end.")

    def has(self, listing: Listing, file: RemoteFile) -> bool:
        """Whether the file is here, whole. What has its name was checked before it got it."""
        return any(
            self._is_whole(place, file)
            for place in (self.blob(listing, file), self.snapshot(listing.repo, listing.commit) / file.path)
        )

    def _is_whole(self, place: Path, file: RemoteFile) -> bool:
        try:
            return place.stat().st_size == file.size and place.resolve().is_relative_to(self.root.resolve())
        except OSError:
            return False

    def received(self, listing: Listing) -> int:
        """Bytes of a listing that are here, finished or not."""
        finished = {file: file.size for file in listing.files if self.has(listing, file)}
        return sum(finished.get(file) or received_so_far(self.partial(listing, file), file.size) for file in listing.files)

    def publish(self, listing: Listing, revision: str = "main") -> Path:
        """Make the snapshot of a listing whose blobs are all here; returns its folder. No other program sees any of it before."""
        snapshot = self.snapshot(listing.repo, listing.commit)
        snapshot.mkdir(parents=True, exist_ok=True)
        for file in listing.files:
            blob, pointer = self.blob(listing, file), snapshot / file.path
            if not blob.exists():
                continue  # on a disk without links the bytes stand in the snapshot already
            temporary = snapshot / f".{uuid.uuid4().hex}"
            try:
                os.symlink(os.path.relpath(blob, snapshot), temporary)
                os.replace(temporary, pointer)
            except OSError:
                with suppress(OSError):
                    temporary.unlink()
                if file.lfs:
                    os.replace(blob, pointer)
                else:
                    shutil.copyfile(blob, pointer)  # small, and two names may share one blob
        if revision != listing.commit:
            ref = self.folder(listing.repo) / "refs" / revision
            ref.parent.mkdir(parents=True, exist_ok=True)
            temporary = ref.with_name(f".{uuid.uuid4().hex}")
            temporary.write_text(listing.commit, encoding="ascii")
            os.replace(temporary, ref)
        return snapshot

    def discard(self, repo: str) -> int:
        """Remove what an unfinished download left, and nothing that a snapshot uses, or that another program is fetching; returns
        the bytes freed. Needs no network."""
        folder = self.folder(repo)
        if folder.is_symlink() or (folder / "blobs").is_symlink():
            return 0
        try:
            with self.removing([repo]):
                return _discard(folder)
        except UserError:
            return 0

    def remove(self, repo: str) -> int:
        """Remove a repo, all its snapshots; returns the bytes freed.

        Raises:
            UserError: it is being fetched, or removed by another program, or its folder leads out of the cache.
        """
        with self.removing([repo]):
            return self._remove(repo)

    def _remove(self, repo: str) -> int:
        folder, freed = self.folder(repo), 0
        try:
            found = scan_cache_dir(self.root)
        except (CacheNotFound, ValueError, OSError):
            return 0
        known = [repo for repo in found.repos if repo.repo_path == folder.resolve()]
        commits = [revision.commit_hash for repo in known for revision in repo.revisions]
        if commits:
            strategy = found.delete_revisions(*commits)
            freed += strategy.expected_freed_size
            strategy.execute()
        if folder.is_symlink():
            raise UserError(f"{folder} leads out of the model folder {self.root}, so it is left alone. Remove that link by hand.")
        if folder.is_dir():  # unfinished files
            freed += sum(min(file.stat().st_blocks * 512, file.stat().st_size) for file in folder.glob("blobs/*") if file.is_file())
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(self.locks(repo), ignore_errors=True)
        return freed

    def free_bytes(self) -> int:
        """Room on the disk of the cache."""
        place = self.root
        while not place.exists():
            place = place.parent
        return shutil.disk_usage(place).free


def _discard(folder: Path) -> int:
    freed = 0
    used = {pointer.resolve() for pointer in folder.glob("snapshots/*/**/*")}
    for place in folder.glob("blobs/*"):
        ours = place.name.endswith(SUFFIX) or "." not in place.name  # not another program's unfinished files
        if ours and place.is_file() and not place.is_symlink() and place.resolve() not in used:
            with suppress(OSError):
                # allocated bytes: an unfinished file is sparse
                freed += min(place.stat().st_blocks * 512, place.stat().st_size)
                place.unlink()
    for place in (folder / "snapshots", folder / "blobs", folder / "refs", folder):
        with suppress(OSError):
            place.rmdir()  # only when empty
    return freed
