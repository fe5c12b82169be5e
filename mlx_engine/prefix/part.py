"""The parts that saved prompts consist of, and their keys."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

BLOCK = 256  # tokens of a whole part


@dataclass(frozen=True)
class SavedPart:
    """Up to 256 tokens of a prompt, and the file with what was computed for them.

    Attributes:
        pair: fingerprint of the pair.
        parent: key of the previous part; the fingerprint for the first one.
        start: position of the first token.
        has_states: whether the part has states that are valid only at its end.
        digest: checksum of the file.
        bytes: size of the file.
    """

    key: str
    pair: str
    parent: str
    start: int
    tokens: tuple[int, ...]
    has_states: bool
    digest: str = ""
    bytes: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.tokens)

    @property
    def file_name(self) -> str:
        return f"{self.key}-{self.digest}.safetensors"

    @classmethod
    def of(cls, pair: str, parent: str, start: int, tokens: Sequence[int], has_states: bool) -> "SavedPart":
        """Return a part that isn't stored yet."""
        return cls(key_of(parent, tokens, has_states), pair, parent, start, tuple(tokens), has_states)


def key_of(parent: str, tokens: Sequence[int], has_states: bool = False) -> str:
    """Return the key of the part after `parent`, 32 hexadecimal digits."""
    kind = b"states" if has_states else b"rows"
    return hashlib.sha256(parent.encode() + kind + packed(tokens)).hexdigest()[:32]


def chain(pair: str, tokens: Sequence[int]) -> list[str]:
    """Return the keys of all whole parts of a prompt."""
    keys, key = list[str](), pair
    for at in range(0, len(tokens) - BLOCK + 1, BLOCK):
        key = key_of(key, tokens[at : at + BLOCK])
        keys.append(key)
    return keys


def packed(tokens: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(tokens)}I", *tokens)


def unpacked(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 4}I", data)
