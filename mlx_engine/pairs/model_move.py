"""The model folder to another place, perhaps another disk: copied, read back and compared, switched over, and only then removed.

Killed at any moment, nothing is lost: until the switch the old folder is in force and whole, after it the new one is. The same move
once more goes on where it stopped. A file gets its name at the new place when it is whole; what was changed at the old place since
it was copied is never removed.
"""

import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from mlx_engine.errors import UserError
from mlx_engine.pairs import active_use, locks
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.deleted_models import Aside
from mlx_engine.pairs.model_folder import choose_folder, fixed_by, folder_left, model_folder, moving_lock
from mlx_engine.pairs.queue_file import QueueFile

_PIECE = 1 << 20
_SPARE = 200_000_000  # bytes that a move leaves free on the disk
_UNFINISHED = ".slipstream.moving"


@dataclass
class Move:
    """`run` it once; `stop` keeps what was copied."""

    destination: Path
    notes: list[str] = field(default_factory=list)
    total: int = 0  # bytes
    done: int = 0

    def run(self, stop: threading.Event, tell: Callable[[int, int], None] = lambda done, total: None) -> bool:
        """Move every model; True when all is at the new place and in force, False when stopped before.

        `tell` is told of bytes done and bytes in all.

        Raises:
            UserError: why it cannot be moved. The models lie where they lay.
        """
        if name := fixed_by():
            raise UserError(f"{name} names the model folder, so it cannot be moved from here. Unset {name}, or change it.")
        new = self.destination.expanduser()
        if not new.is_absolute():
            raise UserError(f"“{self.destination}” does not say where on this machine. Give the folder's whole path, from / on.")
        new = Path(os.path.normpath(new))
        file = QueueFile()
        try:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            with ExitStack() as held:
                for place in (file.path.with_suffix(".running"), moving_lock()):
                    if (lock := locks.acquire(place, timeout=active_use.LOOK)) is None:
                        raise UserError("Another Slipstream is at the downloads. Quit it, then move the model folder.")
                    held.callback(lock.release)
                self._refuse_what_is_fetched(model_folder())
                return self._move(model_folder(), new, stop, tell)
        except OSError as error:
            where = error.filename or new
            raise UserError(f"{where} cannot be read or written ({error.strerror}). The models lie where they lay.") from None

    def _move(self, old: Path, new: Path, stop: threading.Event, tell: Callable[[int, int], None]) -> bool:
        if old == new and (left := folder_left()) is not None:  # a move that was stopped while it cleared up
            old = left
            self._refuse_what_is_fetched(old)
        else:
            self._refuse(old, new)
            new.mkdir(parents=True, exist_ok=True)
            if not self._copy(old, new, stop, tell):
                return False
            choose_folder(new, left=old)
        try:
            for place, target in self._plan(old, new, _has_links(new)):
                self._remove(place, target)
            self._clear_folders(old)
            choose_folder(new)
        except OSError as error:  # the models are where they should be; what is left over is no reason to say otherwise
            self._note(
                f"{error.filename or old} cannot be removed ({error.strerror}), so copies are left in {old}. Mend that and move "
                f"the models to {new} once more, or delete the copies yourself."
            )
        return True

    def _refuse_what_is_fetched(self, old: Path) -> None:
        """By a program at a terminal, or by the hub's own client."""
        for repo in sorted((old / ".locks").glob("models--*")):
            if active_use.is_fetched(repo):
                name = active_use.name_of(repo)
                raise UserError(f"{name} is being fetched just now. Stop that download, or wait for its end; then move the models.")

    def _refuse(self, old: Path, new: Path) -> None:
        here, there = old.resolve(), new.resolve()
        if here == there:
            raise UserError(f"The models are in {new} already.")
        if there.is_relative_to(here) or here.is_relative_to(there):
            raise UserError(f"{new} and {old} lie in one another. Give a folder outside.")
        if new.exists() and not new.is_dir():
            raise UserError(f"{new} is no folder. Give another one.")

    def _copy(self, old: Path, new: Path, stop: threading.Event, tell: Callable[[int, int], None]) -> bool:
        links, one_disk = _has_links(new), _on_one_disk(old, new)
        plan = self._plan(old, new, links)
        sizes = {place: 0 if place.is_symlink() else place.stat().st_size for place, _ in plan}
        self.total = sum(sizes.values())
        missing = {place for place, target in plan if not _same(place, target)}
        needed = sum(min(sizes[place], place.stat().st_blocks * 512) for place in missing if sizes[place])
        if needed and not one_disk and needed + _SPARE > (free := shutil.disk_usage(new).free):
            raise UserError(
                f"The models need {needed / 1e9:,.2f} GB on the disk of {new}, and {free / 1e9:,.2f} GB are free. Free some room "
                "there, or remove models first."
            )
        for place, target in plan:
            if stop.is_set():
                return False
            tell(self.done, self.total)
            if place in missing and not _same(place, target):
                target.parent.mkdir(parents=True, exist_ok=True)
                if not self._copy_one(place, target, links, one_disk, stop):
                    return False
            self.done += sizes[place]
        tell(self.done, self.total)
        return True

    def _plan(self, old: Path, new: Path, links: bool) -> list[tuple[Path, Path]]:
        """Every file and where it goes. On a disk without links a blob goes where a snapshot has its link to it."""
        files = list(self._files(old))
        held: dict[Path, Path] = {}
        for place in [] if links else [one for one in files if one.is_symlink()]:
            held.setdefault(Path(os.path.normpath(place.parent / os.readlink(place))), new / place.relative_to(old))
        return [(place, held.get(place, new / place.relative_to(old))) for place in files]

    def _copy_one(self, place: Path, target: Path, links: bool, one_disk: bool, stop: threading.Event) -> bool:
        temporary = target.with_name(target.name + _UNFINISHED)
        temporary.unlink(missing_ok=True)
        if place.is_symlink() and links:
            os.symlink(os.readlink(place), temporary)
        elif one_disk and not place.is_symlink() and _linked(place, temporary):
            pass  # the same bytes under a second name
        elif not _copied(place, temporary, stop):
            temporary.unlink(missing_ok=True)
            return False
        os.replace(temporary, target)
        return True

    def _files(self, root: Path) -> Iterator[Path]:
        """Everything that belongs to models: blobs before the links to them."""
        for repo in sorted(root.glob("models--*")):
            if repo.is_symlink():
                self._note(f"{repo} is a link and stays where it is.")
                continue
            for part in ("blobs", "refs", "snapshots"):
                for folder, folders, names in os.walk(repo / part):
                    folders.sort()
                    for name in sorted([*names, *(one for one in folders if Path(folder, one).is_symlink())]):
                        place = Path(folder, name)
                        if name.endswith(_UNFINISHED):
                            continue
                        if place.is_symlink() and not place.resolve().is_relative_to(repo.resolve()):
                            self._note(f"{place} leads out of its repo and stays where it is.")
                        elif place.is_symlink() or place.is_file():
                            yield place

    def _remove(self, place: Path, target: Path) -> None:
        copied = place.is_symlink() and not place.exists() and target.is_file()  # a link to a blob that was removed before it
        if copied or _same(place, target):
            place.unlink()
        else:
            self._note(f"{place} was changed while the models were moved, so it stays where it is.")

    def _clear_folders(self, root: Path) -> None:
        Aside(Cache(root)).free()  # what was deleted does not move: it goes for good
        for repo in [one for one in root.glob("models--*") if not one.is_symlink()]:
            shutil.rmtree(root / ".locks" / repo.name, ignore_errors=True)
            active_use.forget(root / ".locks" / repo.name)
            for folder, _, _ in os.walk(repo, topdown=False):
                with suppress(OSError):
                    os.rmdir(folder)  # only when empty

    def _note(self, words: str) -> None:
        if words not in self.notes:
            self.notes.append(words)


def _same(place: Path, target: Path) -> bool:
    """Whether a file is at the new place as it is at the old. What has its name there was compared before it got it."""
    try:
        if target.is_symlink():
            return place.is_symlink() and os.readlink(place) == os.readlink(target)
        old, new = place.stat(), target.stat()
        # two seconds: the coarsest clock of a file system, that of FAT
        return old.st_size == new.st_size and abs(old.st_mtime_ns - new.st_mtime_ns) <= 2_000_000_000
    except OSError:
        return False


def _has_links(folder: Path) -> bool:
    probe = folder / f".links{_UNFINISHED}"
    probe.unlink(missing_ok=True)
    try:
        os.symlink("nowhere", probe)
        probe.unlink()
    except OSError:  # FAT and its kin: the snapshots hold the files themselves, as the hub's client has it there
        return False
    return True


def _on_one_disk(old: Path, new: Path) -> bool:
    return old.is_dir() and old.stat().st_dev == new.stat().st_dev


def _linked(place: Path, target: Path) -> bool:
    try:
        os.link(place, target)
    except OSError:
        return False
    return True


def _copied(place: Path, target: Path, stop: threading.Event) -> bool:
    """Copy a file's bytes and time, read them back and compare; False when stopped."""
    wanted, found = hashlib.sha256(), hashlib.sha256()
    with place.open("rb") as source, target.open("wb") as copy:
        before = os.fstat(source.fileno())
        while piece := source.read(_PIECE):
            if stop.is_set():
                return False
            wanted.update(piece)
            if piece.count(0) < len(piece):
                copy.write(piece)
            else:
                copy.seek(len(piece), os.SEEK_CUR)  # a hole, as unfinished files have
        copy.truncate()
        copy.flush()
        os.fsync(copy.fileno())
    with target.open("rb") as source:
        while piece := source.read(_PIECE):
            if stop.is_set():
                return False
            found.update(piece)
    if found.digest() != wanted.digest():
        raise UserError(f"{target} does not read back as it was written. Check that disk; the models lie where they lay.")
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    return True
