"""MTP heads in a whole model: the tensors `mtp.*` of its weight files."""

import json
import struct
from math import prod
from pathlib import Path
from typing import Any

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_read, open_regular
from mlx_engine.drafters.mtp.config import may_have_mtp
from mlx_engine.models.files.checkpoint import read_config, weight_bytes, weight_paths
from mlx_engine.models.files.repo import Excerpt

PREFIX = "mtp."
LENGTH = struct.Struct("<Q")  # of the header, at the start of a file
LARGEST_HEADER = 32_000_000  # bytes; published ones have a few hundred thousand
_SIZES = {"BF16": 2, "F16": 2, "F32": 4, "U32": 4}  # bytes per value
# Each float's bits as an integer, and those of its exponent, which are all set in NaN and infinity
_EXPONENTS = {"BF16": ("<u2", 0x7F80), "F16": ("<u2", 0x7C00), "F32": ("<u4", 0x7F800000)}
_READ = 1 << 24
Header = dict[str, dict[str, Any]]  # tensors by name, in the order of their bytes


def head_bytes(folder: Path) -> int:
    """Return the bytes of the MTP head in a model's folder, or 0 if there is none.

    Raises:
        UserError: a file is damaged or can't be read.
    """
    found = 0
    for path in weight_paths(folder) if may_have_mtp(read_config(folder)) else ():
        try:
            with open_regular(path) as stream:
                (length,) = LENGTH.unpack(stream.read(LENGTH.size).ljust(LENGTH.size, b"\0"))
                header = parse_header(stream.read(min(length, LARGEST_HEADER)), path.name)
        except OSError as error:
            raise cannot_read(path, error) from None
        spans = [entry["data_offsets"] for name, entry in header.items() if name.startswith(PREFIX)]
        found += sum(end - first for first, end in spans)
    return found


def pair_bytes(target: Path, drafter: Path | None) -> tuple[int, int]:
    """Return the bytes of target and drafter, with a head counted once."""
    head = head_bytes(drafter) if drafter else 0
    inside = head if drafter == target else head_bytes(target)
    return weight_bytes(target) - inside, head or (weight_bytes(drafter) if drafter else 0)


def is_intact(path: Path, excerpt: Excerpt) -> bool:
    """Return whether a part of a head has its header and only finite values."""
    import numpy as np  # slow to import

    with open_regular(path) as stream:
        start = stream.read(len(excerpt.start))
        if start != excerpt.start:
            return False
        for dtype, first, end in head_tensors(parse_header(start[LENGTH.size :], path.name), path.name):
            if dtype not in _EXPONENTS:
                continue
            kind, exponent = _EXPONENTS[dtype]
            for at in range(first, end, _READ):
                stream.seek(len(start) + at)
                values = np.frombuffer(stream.read(min(_READ, end - at)), kind)
                if (values & exponent == exponent).any():
                    return False
    return True


def parse_header(text: bytes, name: str) -> Header:
    """Return the tensors in the header of a safetensors file.

    Raises:
        UserError: the header isn't valid.
    """
    try:
        header = json.loads(text)
        header.pop("__metadata__", None)
        tensors = dict(sorted(header.items(), key=lambda item: item[1]["data_offsets"]))
        at = 0
        for entry in tensors.values():  # without gaps, so that most damage shows
            first, end = entry["data_offsets"]
            if (type(first), type(end)) != (int, int) or first != at or end < first:
                raise ValueError(first)
            at = end
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _damaged_header(name) from None
    return tensors


def _damaged_header(name: str) -> UserError:
    return UserError("damaged_weights_header", "The header of “{file}” is damaged. Download it again.", file=name)


def head_tensors(header: Header, name: str) -> list[tuple[str, int, int]]:
    """Return dtype, first byte, and end of each tensor of the head.

    Raises:
        UserError: a tensor has a dtype that heads don't have, or its shape needs more or fewer bytes.
    """
    found = []
    for tensor, entry in header.items():
        if tensor.startswith(PREFIX):
            first, end = entry["data_offsets"]
            dtype = str(entry.get("dtype"))
            if dtype in _SIZES and _count(entry.get("shape")) * _SIZES[dtype] != end - first:
                raise _damaged_header(name)
            if dtype not in _SIZES:
                template = "Can't use “{tensor}” in {file}, which is stored as {dtype}. Choose another drafter."
                values = {"tensor": ascii(tensor)[1:-1][:80], "file": name, "dtype": ascii(dtype)[1:-1][:20]}
                raise UserError("head_tensor_not_usable", template, **values)
            found.append((dtype, first, end))
    return found


def _count(shape: object) -> int:
    """Return the number of values of a tensor, or -1 if its shape is invalid."""
    if not isinstance(shape, list) or len(shape) > 4 or not all(type(size) is int and 0 <= size < 2**40 for size in shape):
        return -1
    return prod(shape)
