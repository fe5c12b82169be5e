"""Moves of the model folder: copy, verify, switch over, then remove the old files.

Nothing is lost if the program is killed: the old folder is complete and in use until the switch, and the new one after it. Running
the same move again continues it. A file gets its final name in the new folder once it is complete. A file that changed in the old
folder after it was copied is never removed.
"""

import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import home_path, open_regular, why_failed
from mlx_engine.models.downloads.download_queue import QueueFile
from mlx_engine.models.files import locks
from mlx_engine.models.files.hub_cache import (
    DeletedModels,
    HubCache,
    choose_folder,
    folder_variable,
    model_folder,
    move_lock,
    repo_busy,
    space_problem,
    uncleared_folder,
)

_PIECE = 1 << 20
_UNFINISHED = ".slipstream.moving"


@dataclass
class ModelMove:
    """A move of the model folder. `done` and `total` are bytes.

    Call `run` once. Setting its `stop` event ends the move and keeps the copies.
    """

    destination: Path
    notes: list[EngineText] = field(default_factory=list)
    total: int = 0
    done: int = 0

    def run(self, stop: threading.Event, report: Callable[[int, int], None] = lambda done, total: None) -> bool:
        """Move all models. Return False if stopped before the new folder is in use.

        Args:
            stop: set to stop the move before the new folder is in use.
            report: called with the bytes moved so far and in total.

        Raises:
            UserError: the models can't be moved, and are still in the old folder.
        """
        if variable := folder_variable():
            template = "The environment variable {variable} sets the model folder. Change it there."
            raise UserError("folder_set_by_environment", template, variable=variable)
        new = home_path(self.destination)
        if not new.is_absolute():
            template = "“{path}” isn't a full path. Enter a path that starts with /."
            raise UserError("path_not_absolute", template, path=str(self.destination))
        new = Path(os.path.normpath(new))
        queue = QueueFile()
        try:
            queue.path.parent.mkdir(parents=True, exist_ok=True)
            with ExitStack() as held:
                for place in (queue.running_lock, move_lock()):
                    if (lock := locks.acquire(place, timeout=locks.PROBE_TIMEOUT)) is None:
                        template = "Another copy of Slipstream is downloading or moving models. Quit it, then try again."
                        raise UserError("downloads_in_use", template)
                    held.callback(lock.release)
                self._check_not_downloading(model_folder())
                return self._move(model_folder(), new, stop, report)
        except OSError as error:
            template = "Can't read or write “{path}” ({reason}). Your models are unchanged."
            raise UserError("move_failed", template, path=str(error.filename or new), reason=why_failed(error)) from None

    def _move(self, old: Path, new: Path, stop: threading.Event, report: Callable[[int, int], None]) -> bool:
        if old == new and (uncleared := uncleared_folder()) is not None:  # an earlier move was interrupted during its cleanup
            old = uncleared
            self._check_not_downloading(old)
        else:
            self._check_folders(old, new)
            new.mkdir(parents=True, exist_ok=True)
            if not self._copy(old, new, stop, report):
                return False
            choose_folder(new, uncleared=old)
        try:
            for place, target in self._plan(old, new, _has_links(new)):
                self._remove(place, target)
            self._clear_folders(old)
            choose_folder(new)
        except OSError as error:  # the move has succeeded: the models are in the new folder
            template = "Can't remove “{path}” ({reason}). Delete the copies in “{old}”, or move the models to “{new}” again."
            path, reason = str(error.filename or old), why_failed(error)
            self._note(EngineText.of("old_models_left", template, path=path, reason=reason, old=str(old), new=str(new)))
        return True

    def _check_not_downloading(self, root: Path) -> None:
        for repo in sorted((root / ".locks").glob("models--*")):
            if locks.is_downloading(repo):
                raise repo_busy(locks.repo_name(repo))

    def _check_folders(self, old: Path, new: Path) -> None:
        here, there = old.resolve(), new.resolve()
        if here == there:
            raise UserError("models_already_there", "The models are already in “{folder}”. Choose another folder.", folder=str(new))
        if there.is_relative_to(here) or here.is_relative_to(there):
            template = "“{new}” and “{old}” overlap. Choose a folder that isn't inside “{old}” and doesn't contain it."
            raise UserError("folders_nested", template, new=str(new), old=str(old))
        if (new.exists() and not new.is_dir()) or not str(new).isprintable():  # the choice couldn't be read again
            raise UserError("not_a_folder", "“{path}” isn't a folder. Choose a folder.", path=str(new))

    def _copy(self, old: Path, new: Path, stop: threading.Event, report: Callable[[int, int], None]) -> bool:
        links, one_disk = _has_links(new), _on_one_disk(old, new)
        plan = self._plan(old, new, links)
        sizes = {place: 0 if place.is_symlink() else place.stat().st_size for place, _ in plan}
        self.total = sum(sizes.values())
        missing = {place for place, target in plan if not _same(place, target)}
        needed = sum(min(sizes[place], place.stat().st_blocks * 512) for place in missing if sizes[place])
        if not one_disk and (problem := space_problem(needed, new, shutil.disk_usage(new).free)):
            raise UserError.of(problem)
        for place, target in plan:
            if stop.is_set():
                return False
            report(self.done, self.total)
            if place in missing and not _same(place, target):
                target.parent.mkdir(parents=True, exist_ok=True)
                if not self._copy_file(place, target, links, one_disk, stop):
                    return False
            self.done += sizes[place]
        report(self.done, self.total)
        return True

    def _plan(self, old: Path, new: Path, links: bool) -> list[tuple[Path, Path]]:
        """Return each file with its destination."""
        files = list(self._files(old))
        linked: dict[Path, Path] = {}  # without links, a blob goes where a snapshot links to it
        for place in [] if links else [file for file in files if file.is_symlink()]:
            linked.setdefault(Path(os.path.normpath(place.parent / os.readlink(place))), new / place.relative_to(old))
        return [(place, linked.get(place, new / place.relative_to(old))) for place in files]

    def _copy_file(self, place: Path, target: Path, links: bool, one_disk: bool, stop: threading.Event) -> bool:
        temporary = target.with_name(target.name + _UNFINISHED)
        temporary.unlink(missing_ok=True)
        if place.is_symlink() and links:
            os.symlink(os.readlink(place), temporary)
        else:
            with suppress(OSError):
                if one_disk and not place.is_symlink():
                    os.link(place, temporary)
            if not temporary.exists() and not _copy_bytes(place, temporary, stop):
                temporary.unlink(missing_ok=True)
                return False
        os.replace(temporary, target)
        return True

    def _files(self, root: Path) -> Iterator[Path]:
        """Yield all files of models, blobs before the links to them."""
        for repo in sorted(root.glob("models--*")):
            if repo.is_symlink():
                self._note_left(repo)
                continue
            for part in ("blobs", "refs", "snapshots"):
                for folder, folders, names in os.walk(repo / part):
                    folders.sort()
                    for name in sorted([*names, *(one for one in folders if Path(folder, one).is_symlink())]):
                        place = Path(folder, name)
                        if name.endswith(_UNFINISHED):
                            continue
                        if place.is_symlink() and not place.resolve().is_relative_to(repo.resolve()):
                            self._note_left(place)
                        elif place.is_symlink() or place.is_file():
                            yield place

    def _remove(self, place: Path, target: Path) -> None:
        copied = place.is_symlink() and not place.exists() and target.is_file()  # a link to a blob that has been removed
        if copied or _same(place, target):
            place.unlink()
        else:
            template = "“{path}” changed during the move, so it was not moved."
            self._note(EngineText.of("file_changed_during_move", template, path=str(place)))

    def _clear_folders(self, root: Path) -> None:
        DeletedModels(HubCache(root)).purge()
        for repo in [one for one in root.glob("models--*") if not one.is_symlink()]:
            shutil.rmtree(root / ".locks" / repo.name, ignore_errors=True)
            locks.clear_exclusive(root / ".locks" / repo.name)
            for folder, _, _ in os.walk(repo, topdown=False):
                with suppress(OSError):
                    os.rmdir(folder)  # only if empty

    def _note_left(self, path: Path) -> None:
        template = "“{path}” is a link to another location, so it was not moved."
        self._note(EngineText.of("link_not_moved", template, path=str(path)))

    def _note(self, note: EngineText) -> None:
        if note not in self.notes:
            self.notes.append(note)


def _same(place: Path, target: Path) -> bool:
    """Return whether a file was copied and hasn't changed since."""
    try:
        if target.is_symlink():
            return place.is_symlink() and os.readlink(place) == os.readlink(target)
        old, new = place.stat(), target.stat()
        # two seconds: the resolution of FAT's time stamps
        return old.st_size == new.st_size and abs(old.st_mtime_ns - new.st_mtime_ns) <= 2_000_000_000
    except OSError:
        return False


def _has_links(folder: Path) -> bool:
    """Return whether the disk supports symbolic links, unlike FAT."""
    probe = folder / f".links{_UNFINISHED}"
    probe.unlink(missing_ok=True)
    try:
        os.symlink("nowhere", probe)
        probe.unlink()
    except OSError:
        return False
    return True


def _on_one_disk(old: Path, new: Path) -> bool:
    return old.is_dir() and old.stat().st_dev == new.stat().st_dev


def _copy_bytes(place: Path, target: Path, stop: threading.Event) -> bool:
    """Copy a file and its timestamps, and verify the copy. Return False if stopped."""
    wanted, copied = hashlib.sha256(), hashlib.sha256()
    with open_regular(place) as source, target.open("wb") as copy:
        before = os.fstat(source.fileno())
        while piece := source.read(_PIECE):
            if stop.is_set():
                return False
            wanted.update(piece)
            if piece.count(0) < len(piece):
                copy.write(piece)
            else:
                copy.seek(len(piece), os.SEEK_CUR)  # keep holes, since unfinished files are sparse
        copy.truncate()
        copy.flush()
        os.fsync(copy.fileno())
    with target.open("rb") as source:
        while piece := source.read(_PIECE):
            if stop.is_set():
                return False
            copied.update(piece)
    if copied.digest() != wanted.digest():
        template = "The copy “{path}” doesn't match the original. Your models are unchanged. Check the disk."
        raise UserError("copy_damaged", template, path=str(target))
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    return True
