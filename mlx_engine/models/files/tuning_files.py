"""Files of tuned drafters, and of the runs that tune them.

The result of a run is LoRA weights: a small file next to the drafter. Until a run ends, its replies and weights are in the cache.
"""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import platformdirs
from safetensors import SafetensorError, safe_open

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_delete, cannot_write, read_json, write_json
from mlx_engine.contract.requests import Message, Role
from mlx_engine.models.files.checkpoint import weights_checksum
from mlx_engine.models.files.locks import acquire

_PROMPTS, _PROGRESS = "prompts.json", "progress.json"  # in a run's folder


@dataclass(frozen=True)
class LoraRecord:
    """What LoRA weights were made for, and what they gained.

    Attributes:
        drafter: checksum of the drafter's weights.
        target: checksum of the target's weights.
        date: day of tuning, such as 2026-11-30.
        before, after: tokens per round on held-out prompts of the user.
        general_before, general_after: the same on general prompts; 0 if there were none.
    """

    drafter: str
    target: str
    date: str
    before: float
    after: float
    general_before: float = 0.0
    general_after: float = 0.0


def lora_path(drafter: Path, target: Path) -> Path:
    """Return where a drafter's LoRA weights for a target are stored."""
    return drafter / f"tuned-{weights_checksum(target)[:12]}.safetensors"


def read_record(file: Path) -> LoraRecord:
    """Return the record of LoRA weights.

    Raises:
        UserError: the file is damaged.
    """
    try:
        with safe_open(file, framework="np") as header:
            found: dict[str, Any] = dict(header.metadata() or {})
        return LoraRecord(**{each.name: each.type(found[each.name]) for each in fields(LoraRecord) if callable(each.type)})
    except (OSError, SafetensorError, KeyError, ValueError):
        raise damaged_lora(file) from None


def remove_lora(drafter: Path, target: Path) -> Path | None:
    """Delete a drafter's LoRA weights, and return their file or None.

    Raises:
        UserError: the file can't be deleted.
    """
    file = lora_path(drafter, target)
    try:
        file.unlink()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot_delete(file, error) from None
    return file


def damaged_lora(file: Path) -> UserError:
    template = "The tuned drafter in {file} is damaged, so it isn't used. Delete the file, or tune again."
    return UserError("adapter_damaged", template, file=file.name)


def digest(value: object) -> str:
    """Return a short hash of a value's `repr`."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def run_folder(target: Path, drafter: Path) -> Path:
    """Return the folder of a pair's run."""
    return _runs() / digest([weights_checksum(target), weights_checksum(drafter)])


def _runs() -> Path:
    return platformdirs.user_cache_path("Slipstream", appauthor=False) / "tuning"


@contextmanager
def locked_run(target: Path, drafter: Path) -> Iterator[Path]:
    """Return the folder of a pair's run, and delete those of other pairs.

    Raises:
        UserError: another process tunes the drafter, or the folder can't be made.
    """
    folder = run_folder(target, drafter)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = acquire(folder / "lock")
    except OSError as error:
        raise cannot_write(folder, error) from None
    if lock is None:
        raise UserError("tuning_already", "This drafter is already being tuned. Wait for it to finish, then try again.")
    try:
        delete_runs(keep=folder)
        yield folder
    finally:
        lock.release()


def delete_runs(keep: Path | None = None) -> bool:
    """Delete unfinished runs, except those in progress and one to keep.

    Returns:
        Whether there was anything to delete.
    """
    found = False
    for folder in _runs().glob("*"):
        with suppress(OSError):
            if folder != keep and (lock := acquire(folder / "lock")):
                found |= any(file.name != "lock" for file in folder.iterdir())
                shutil.rmtree(folder, ignore_errors=True)
                lock.release()
    return found


@dataclass(frozen=True)
class UnfinishedRun:
    """A run that hasn't ended, with its prompts and progress from 0 to 1."""

    prompts: tuple[tuple[Message, ...], ...]
    fraction: float


def unfinished_run(target: Path, drafter: Path) -> UnfinishedRun | None:
    """Return the window's unfinished run of a pair, or None if there is none."""
    try:
        folder = run_folder(target, drafter)
        prompts = tuple(tuple(_message(*fields) for fields in prompt) for prompt in read_json(folder / _PROMPTS))
        return UnfinishedRun(prompts, float(read_json(folder / _PROGRESS) or 0.0))
    except (UserError, OSError, TypeError, ValueError):
        return None


def _message(role: Role, content: str) -> Message:
    if not isinstance(role, str) or not isinstance(content, str):
        raise TypeError
    return Message(role, content)


def save_run_prompts(folder: Path, prompts: Sequence[tuple[Message, ...]]) -> None:
    """Save the prompts of the run in a folder, so that new chats don't change the run.

    Raises:
        UserError: the file can't be written.
    """
    write_json(folder / _PROMPTS, [[(message.role, message.content) for message in prompt] for prompt in prompts])


def save_run_progress(folder: Path, fraction: float) -> None:
    """Save the progress of the run in a folder.

    Raises:
        UserError: the file can't be written.
    """
    write_json(folder / _PROGRESS, fraction)
