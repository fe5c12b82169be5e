"""Copying a target to a worker that doesn't have it.

The pieces travel on the encrypted connection. A file has another name until its checksum is right and it is on the disk. After an
interruption, complete files aren't copied again; the others are, from their beginning.
"""

import hashlib
import os
import shutil
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import LoadProgress
from mlx_engine.contract.files import cannot_delete, cannot_read, cannot_write, open_regular
from mlx_engine.models.files.hub_cache import space_problem
from mlx_engine.models.files.repo import is_wanted
from mlx_engine.network.frames import ChannelClosed
from mlx_engine.ring.links import START_S, WorkerLink

_PIECE = 1 << 20  # bytes
_PARTIAL = ".incomplete"
_MOST_FILES = 1000


def send_model(link: WorkerLink, folder: Path) -> Generator[LoadProgress]:
    """Copy a target to a worker, yielding progress.

    Raises:
        UserError: the worker is lost, or has no space; or a file can't be read.
    """
    files = {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if is_wanted(path.name) and path.is_file()}
    link.tell(["files", [[name, size] for name, size in files.items()]])
    [wanted] = link.wait_for("wanted", START_S)
    names = [name for name in files if name in wanted]
    whole, sent = max(sum(files[name] for name in names), 1), 0
    for name in names:
        for message in _pieces(folder / name):
            link.tell(message)
            link.check()
            sent += _PIECE
            template = "Copying the target to “{name}” ({share:.0%})"
            yield LoadProgress(0.05, EngineText.of("copying_to_worker", template, name=link.name, share=min(sent / whole, 1.0)))
    link.wait_for("copied")


def _pieces(path: Path) -> Iterator[list[str]]:
    digest = hashlib.sha256()
    try:
        with open_regular(path) as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
                yield ["piece", b64encode(piece).decode()]
    except OSError as error:
        raise cannot_read(path, error) from None
    yield ["whole", digest.hexdigest()]


def receive_model(folder: Path, receive: Callable[[], Any], send: Callable[[Any], object]) -> None:
    """Receive what `send_model` sends. Files that are complete aren't sent again.

    Raises:
        UserError: the disk is full.
        ChannelClosed: the leader is gone, or sends something else.
    """
    match receive():
        case ["files", [*offered]] if len(offered) <= _MOST_FILES and all(map(_is_offer, offered)):
            missing = [(name, size) for name, size in offered if not _has(folder / name, size)]
        case _:
            raise ChannelClosed("ended")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for partial in folder.glob(f"*{_PARTIAL}"):
            partial.unlink()
        if (problem := space_problem(sum(size for _, size in missing), folder, shutil.disk_usage(folder).free)) is not None:
            raise UserError.of(problem)
        send(["wanted", [name for name, _ in missing]])
        for name, size in missing:
            _receive_file(folder / name, size, receive)
    except OSError as error:
        raise cannot_write(folder, error) from None
    send(["copied"])


def _is_offer(offer: Any) -> bool:
    match offer:
        case [str(name), int(size)]:
            return size >= 0 and Path(name).name == name and not name.startswith(".") and is_wanted(name)
    return False


def _has(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def _receive_file(path: Path, size: int, receive: Callable[[], Any]) -> None:
    digest, held, partial = hashlib.sha256(), 0, path.with_name(path.name + _PARTIAL)
    with open(partial, "wb") as file:
        while True:
            match receive():
                case ["piece", str(text)]:
                    try:
                        piece = b64decode(text, validate=True)
                    except ValueError:
                        raise ChannelClosed("ended") from None
                    held += len(piece)
                    if held > size:
                        raise ChannelClosed("large")
                    digest.update(piece)
                    file.write(piece)
                case ["whole", str(found)]:
                    if held != size or digest.hexdigest() != found:
                        raise ChannelClosed("damaged")
                    file.flush()
                    os.fsync(file.fileno())
                    break
                case _:
                    raise ChannelClosed("ended")
    partial.replace(path)


def remove_copies(folder: Path) -> int:
    """Delete all copies in a folder, and return how many bytes that frees.

    Raises:
        UserError: one can't be deleted.
    """
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    try:
        if folder.is_dir():
            shutil.rmtree(folder)
    except OSError as error:
        raise cannot_delete(folder, error) from None
    return size
