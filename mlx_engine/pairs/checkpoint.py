"""A checkpoint folder on disk: its config, and whether its weight files are whole. Reads headers only and imports no MLX."""

import json
import struct
from pathlib import Path

from mlx_engine.errors import UserError


def read_config(folder: Path, role: str) -> dict:
    """The config.json of a checkpoint folder.

    Args:
        folder: the checkpoint.
        role: "target" or "drafter", for the error messages.

    Raises:
        UserError: no such folder, no config.json, or one that is not a JSON object.
    """
    try:
        there = folder.is_dir()
    except OSError as error:
        raise UserError(f"The folder {folder} cannot be looked into ({error.strerror}).") from None
    if not there:
        raise UserError(f"There is no folder {folder}. Give the folder that holds the {role}'s config.json and weights.")
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{folder} has no config.json, so it is not a {role}. Is the download complete?") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"The {role}'s config.json in {folder} cannot be read ({error}). Download it again.") from None
    if not isinstance(config, dict):
        raise UserError(f"The {role}'s config.json in {folder} holds no JSON object. Download it again.")
    return config


def weight_files(folder: Path, role: str) -> list[Path]:
    """The safetensors files of a checkpoint folder, each checked to be as long as its own header says.

    Raises:
        UserError: none are there, a shard that the index names is missing, or one is cut short or damaged.
    """
    files = sorted(folder.glob("model*.safetensors"))
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        try:
            named = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise UserError(f"The {role}'s {index.name} in {folder} is damaged. Download it again.") from None
        if missing := sorted(named - {file.name for file in files}):
            raise UserError(
                f"The {role} in {folder} lacks {len(missing)} of its weight files, the first is {missing[0]}. "
                "Download it again; what is there already is kept."
            )
    if not files:
        raise UserError(f"The {role} in {folder} has no weights (model*.safetensors). Is the download complete?")
    for file in files:
        _check_whole(file, role)
    return files


def weight_bytes(folder: Path) -> int:
    """Bytes of all weight files of a checkpoint folder."""
    return sum(file.stat().st_size for file in folder.glob("model*.safetensors"))


def _check_whole(file: Path, role: str) -> None:
    """A safetensors file is an 8-byte header length, a JSON header, then the data whose end the header tells."""
    damaged = f"The {role}'s {file.name} is damaged. Download it again."
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            start = stream.read(8)
            if len(start) < 8:
                raise UserError(f"The {role}'s {file.name} is cut short: it holds {size} bytes. Download it again.")
            length = struct.unpack("<Q", start)[0]
            if length > 100_000_000:
                raise UserError(damaged)
            if 8 + length > size:
                raise UserError(f"The {role}'s {file.name} is cut short: it holds {size:,} bytes. Download it again.")
            header = json.loads(stream.read(length))
        end = max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0)
    except OSError as error:
        raise UserError(f"The {role}'s {file.name} cannot be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise UserError(damaged) from None
    if size < 8 + length + end:
        raise UserError(
            f"The {role}'s {file.name} is cut short: it holds {size:,} of {8 + length + end:,} bytes. Download it again."
        )
