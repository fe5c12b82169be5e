"""The folder in which models are stored: the hub's cache, or the folder that the user moved it to."""

import os
from pathlib import Path

from huggingface_hub import constants

from mlx_engine.errors import EngineText, UserError
from mlx_engine.pairs.data_files import data_folder, read_json, write_json

_VARIABLES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME")


def model_folder() -> Path:
    """Return the folder named by the environment, or chosen by the user, or the hub's default."""
    return (None if folder_variable() else chosen_folder()) or Path(constants.HF_HUB_CACHE).expanduser()


def folder_variable() -> str:
    """Return the environment variable that names the folder and overrides the user's choice; empty if none does."""
    return next((name for name in _VARIABLES if os.environ.get(name)), "")


def chosen_folder() -> Path | None:
    """Return the folder that the user moved the models to."""
    return _saved("folder")


def uncleared_folder() -> Path | None:
    """Return the old folder of a move that was interrupted after its copy was complete."""
    return _saved("left")


def choose_folder(folder: Path, uncleared: Path | None = None) -> None:
    write_json(_file(), {"folder": str(folder), **({"left": str(uncleared)} if uncleared else {})})


def move_lock() -> Path:
    """Return the file that is locked while models are moved."""
    return data_folder() / "model-folder.moving.lock"


def model_folder_problem() -> EngineText | None:
    """Return why the user's choice of the folder can't be read."""
    if folder_variable():
        return None
    try:
        saved = read_json(_file())
        if saved is None or chosen_folder() is not None:
            return None
        reason = EngineText.of("model_folder_missing", "“{path}” names no folder.", path=str(_file()))
    except UserError as error:
        reason = error.text
    template = "{reason} That file says where your models are. Until it is repaired, Slipstream looks for them in “{folder}”."
    return EngineText.of("model_folder_unknown", template, reason=reason, folder=str(model_folder()))


def _file() -> Path:
    return data_folder() / "model-folder.json"


def _saved(name: str) -> Path | None:
    try:
        saved = read_json(_file())
    except UserError:  # see `model_folder_problem`
        return None
    value = saved.get(name) if isinstance(saved, dict) else None
    return Path(value) if isinstance(value, str) and value.isprintable() and os.path.isabs(value) else None
