"""The file of a saved part: safetensors with a header that describes the part."""

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mlx_engine.prefix.index import FAULTS
from mlx_engine.prefix.part import SavedPart, packed, unpacked

FORMAT = "slipstream-prefix-1"
_LARGEST_HEADER = 4 << 20  # bytes


def content(part: SavedPart, header: Mapping[str, object], buffers: Sequence[bytes]) -> tuple[SavedPart, list[bytes]]:
    """Return a part with its digest and size, and the pieces of its file.

    Args:
        part: the part, without digest and size.
        header: tensors by name, as in a safetensors header.
        buffers: the tensors' bytes, in order.
    """
    facts = {"format": FORMAT, "key": part.key, "pair": part.pair, "parent": part.parent, "start": str(part.start)}
    facts |= {"tokens": packed(part.tokens).hex(), "has_states": str(int(part.has_states))}
    given = header.get("__metadata__", {})
    assert isinstance(given, dict)
    head = json.dumps({**header, "__metadata__": {**given, **facts}}).encode()
    head += b" " * (-len(head) % 8)
    pieces = [struct.pack("<Q", len(head)), head, *buffers]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return replace(part, digest=digest.hexdigest()[:32], bytes=sum(map(len, pieces))), pieces


def read_header(path: Path) -> SavedPart | None:
    """Return the part that a file contains, or None if its header is damaged."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _LARGEST_HEADER:
                return None
            facts = json.loads(file.read(length))["__metadata__"]
        if facts["format"] != FORMAT:
            return None
        tokens = unpacked(bytes.fromhex(facts["tokens"]))
        part = SavedPart.of(facts["pair"], facts["parent"], int(facts["start"]), tokens, facts["has_states"] == "1")
        return replace(part, digest=path.stem[-32:], bytes=path.stat().st_size)
    except (*FAULTS, KeyError, RecursionError, AttributeError):
        return None
