"""The folders in which LM Studio keeps its models.

LM Studio's home is the folder that ~/.lmstudio-home-pointer names (`findLMStudioHome` in lmstudio-ai/lmstudio-js). In settings.json
there, `downloadsFolder` names another folder for models. Models are in PUBLISHER/NAME, as on the hub.
"""

import os
from contextlib import suppress
from pathlib import Path

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import home_path, read_bounded, read_json

_POINTER = "~/.lmstudio-home-pointer"
_HOMES = ("~/.lmstudio", "~/.cache/lm-studio")  # the second one is that of older versions
_LONGEST_PATH = 5000  # bytes


def lm_studio_folders() -> list[Path]:
    """Return the folders that may hold LM Studio's models, the chosen one first."""
    found = []
    for home in [*_pointed_home(), *map(home_path, _HOMES)]:
        with suppress(UserError):  # damaged settings
            settings = read_json(home / "settings.json")
            found += _absolute(settings.get("downloadsFolder") if isinstance(settings, dict) else None)
        found.append(home / "models")
    return list(dict.fromkeys(found))


def _pointed_home() -> list[Path]:
    with suppress(OSError, UserError, ValueError):
        return _absolute(read_bounded(home_path(_POINTER), _LONGEST_PATH).decode().strip())
    return []


def _absolute(path: object) -> list[Path]:
    return [Path(path)] if isinstance(path, str) and path.isprintable() and os.path.isabs(path) else []
