"""Where models lie: the hub's cache, or the folder that the user moved it to. Every part of Slipstream asks here."""

import os
from pathlib import Path

from huggingface_hub import constants

from mlx_engine.errors import UserError
from mlx_engine.pairs.checkpoint_paths import data_folder, read_json, write_json

_VARIABLES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME")


def model_folder() -> Path:
    """The folder in force: the environment's, the one chosen, or the hub's usual one."""
    return (None if fixed_by() else chosen_folder()) or Path(constants.HF_HUB_CACHE).expanduser()


def fixed_by() -> str:
    """The environment variable that names the folder, and so has the last word; empty when none does."""
    return next((name for name in _VARIABLES if os.environ.get(name)), "")


def chosen_folder() -> Path | None:
    """The folder that the user moved the models to; None when they lie where they always did."""
    return _kept("folder")


def folder_left() -> Path | None:
    """The folder that a move has yet to clear, because it was stopped after its copy was complete."""
    return _kept("left")


def choose_folder(folder: Path, left: Path | None = None) -> None:
    """Models lie there from now on. `left`: see `folder_left`.

    Raises:
        UserError: it cannot be kept.
    """
    write_json(_file(), {"folder": str(folder), **({"left": str(left)} if left else {})})


def moving_lock() -> Path:
    """The file that whoever moves the models holds locked."""
    return data_folder() / "model-folder.moving.lock"


def choice_trouble() -> str:
    """Why the folder that was chosen is not known, in a sentence; empty when all is well."""
    if fixed_by():
        return ""
    try:
        kept = read_json(_file())
    except UserError as error:
        why = str(error)
    else:
        if kept is None or chosen_folder() is not None:
            return ""
        why = f"{_file()} names no folder."
    return f"{why} Where models were moved to stands there, so until then they are looked for in {model_folder()}."


def _file() -> Path:
    return data_folder() / "model-folder.json"


def _kept(name: str) -> Path | None:
    try:
        kept = read_json(_file())
    except UserError:  # `choice_trouble` says it
        return None
    value = kept.get(name) if isinstance(kept, dict) else None
    return Path(value) if isinstance(value, str) and value.isprintable() and os.path.isabs(value) else None
