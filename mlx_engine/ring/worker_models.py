"""The models of a worker: the leader's files, wherever they are on its disk."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import read_bounded
from mlx_engine.models.files.checkpoint import weights_checksum
from mlx_engine.models.library.library import local_models
from mlx_engine.models.library.pair import demo_pair

_MOST_CONFIG = 1 << 20  # bytes


def config_digest(folder: Path) -> str:
    """Return the SHA-256 of a model's config.json.

    Raises:
        UserError: it can't be read.
    """
    return hashlib.sha256(read_bounded(folder / "config.json", _MOST_CONFIG)).hexdigest()


def find_model(config: str, weights: str, folders: Iterable[Path] = ()) -> Path | None:
    """Return the folder of a model on this disk, or None.

    Args:
        config: its `config_digest`.
        weights: its `weights_checksum`.
        folders: other folders to look at.
    """
    for folder in (*folders, demo_pair()[0], *(model.folder for model in local_models() if not model.is_drafter)):
        try:
            if config_digest(folder) == config and weights_checksum(folder) == weights:
                return folder
        except (UserError, OSError, ValueError):
            continue
    return None
