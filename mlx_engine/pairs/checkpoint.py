"""A checkpoint folder on disk: its config, and whether its weight files are whole. Reads headers only and imports no MLX."""

import json
import math
import struct
from pathlib import Path

from mlx_engine.errors import UserError

LARGEST_CONFIG = 4_000_000  # bytes; published ones have some thousands, and a lie here would fill the memory
_LARGEST_INDEX = 64_000_000  # bytes; one entry for every tensor, so the largest models have some millions
_ANOTHER = "Pick another model, or download this one again."


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
        if path.stat().st_size > LARGEST_CONFIG:
            raise UserError(
                f"The {role}'s config.json in {folder} has {path.stat().st_size / 1e6:,.0f} MB, so it is none. {_ANOTHER}"
            )
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
            if index.stat().st_size > _LARGEST_INDEX:
                raise ValueError
            named = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
            if not all(isinstance(name, str) and name.isprintable() for name in named):
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise UserError(f"The {role}'s {index.name} in {folder} is damaged. Download it again.") from None
        if missing := sorted(named - {file.name for file in files}):
            raise UserError(
                f"The {role} in {folder} lacks {len(missing)} of its weight files, the first is {missing[0]}. "
                "Download it again; what is there already is kept."
            )
    if not files:
        raise UserError(f"The {role} in {folder} has no weights (model*.safetensors). Is the download complete?")
    for file in files:
        check_safetensors(file, f"The {role}'s {file.name}")
    return files


def weight_bytes(folder: Path) -> int:
    """Bytes of all weight files of a checkpoint folder."""
    return sum(file.stat().st_size for file in folder.glob("model*.safetensors"))


def check_safetensors(file: Path, name: str, way_out: str = "Download it again.") -> None:
    """Refuse a safetensors file whose header does not tell the truth about it. Reads the header only.

    The format: 8 bytes that hold the header's length, a JSON header, then the tensors' data, whose places the header tells.

    Args:
        name: of the file, for the error messages.
        way_out: what to do, for the error messages.

    Raises:
        UserError: it is cut short, or its header is no header, or names places outside the data, that overlap or have other lengths
            than shape and dtype say.
    """
    damaged = UserError(f"{name} is damaged. {way_out}")
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            start = stream.read(8)
            if len(start) < 8:
                raise UserError(f"{name} is cut short: it holds {size} bytes. {way_out}")
            length = struct.unpack("<Q", start)[0]
            if length > 100_000_000:
                raise damaged
            if 8 + length > size:
                raise UserError(f"{name} is cut short: it holds {size:,} bytes. {way_out}")
            header = json.loads(stream.read(length))
        places = [_place(entry) for tensor, entry in header.items() if tensor != "__metadata__"]
    except OSError as error:
        raise UserError(f"{name} cannot be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise damaged from None
    behind = 0
    for begin, end in sorted(places):
        if begin < behind:
            raise damaged
        behind = end
    if size < 8 + length + behind:
        raise UserError(f"{name} is cut short: it holds {size:,} of {8 + length + behind:,} bytes. {way_out}")


_BITS = {"F64": 64, "I64": 64, "U64": 64, "C64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16, "I16": 16, "U16": 16}
_BITS |= {"I8": 8, "U8": 8, "BOOL": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8}


def _place(entry: dict) -> tuple[int, int]:
    """Where a tensor's data begin and end.

    Raises:
        ValueError: not there, or of another length than shape and dtype make.
    """
    begin, end = entry["data_offsets"]
    shape = entry["shape"]
    if not all(type(number) is int and number >= 0 for number in (begin, end, *shape)):
        raise ValueError
    bits = _BITS.get(entry["dtype"])
    if end < begin or (bits is not None and (end - begin) * 8 != math.prod(shape) * bits):
        raise ValueError
    return begin, end
