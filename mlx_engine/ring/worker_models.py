"""The models of a worker: the leader's files, wherever they are on its disk."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_read, data_folder, open_regular, read_bounded
from mlx_engine.models.files.checkpoint import damaged_weights, weight_paths, weights_checksum
from mlx_engine.models.library.library import local_models
from mlx_engine.models.library.pair import demo_pair

_MOST_CONFIG = 1 << 20  # bytes
_MOST_HEADER = 100 << 20  # bytes, as safetensors has it
_BEGINNING = 4 << 10  # bytes of each tensor


def copies_folder() -> Path:
    """Return the folder with the copies of other computers' models."""
    return data_folder() / "worker-models"


def config_digest(folder: Path) -> str:
    """Return the SHA-256 of a model's config.json.

    Raises:
        UserError: it can't be read.
    """
    return hashlib.sha256(read_bounded(folder / "config.json", _MOST_CONFIG)).hexdigest()


def weights_digest(folder: Path) -> str:
    """Return the SHA-256 of what identifies a model's weights.

    Training changes all of a tensor. So the files' headers and the beginning of each tensor are hashed, besides `weights_checksum`.

    Raises:
        UserError: a file can't be read.
    """
    digest = hashlib.sha256(weights_checksum(folder).encode())
    for path in weight_paths(folder):
        try:
            with open_regular(path) as file:
                length = int.from_bytes(file.read(8), "little")
                header = file.read(min(length, _MOST_HEADER))
                digest.update(header)
                places = [tensor["data_offsets"] for name, tensor in json.loads(header).items() if name != "__metadata__"]
                for start, end in sorted(places):
                    file.seek(8 + length + start)
                    digest.update(file.read(max(min(end - start, _BEGINNING), 0)))
        except OSError as error:
            raise cannot_read(path, error) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise damaged_weights(str(path)) from None
    return digest.hexdigest()


def find_model(config: str, weights: str, folders: Iterable[Path] = ()) -> Path | None:
    """Return the folder of a model on this disk, or None.

    Args:
        config: its `config_digest`.
        weights: its `weights_digest`.
        folders: other folders to look at.
    """
    for folder in (*folders, demo_pair()[0], *(model.folder for model in local_models() if not model.is_drafter)):
        try:
            if config_digest(folder) == config and weights_digest(folder) == weights:
                return folder
        except (UserError, OSError, ValueError):
            continue
    return None
