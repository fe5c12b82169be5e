"""Parts with random content, and damage to files, for tests of the store."""

import random
from pathlib import Path

from mlx_engine.prefix import part_store as stores
from mlx_engine.prefix.part import BLOCK, SavedPart
from mlx_engine.prefix.part_store import PrefixStore

PAIR = "f" * 32
ROOMY = 1 << 30


def tokens_of(chat: int, count: int) -> list[int]:
    """Tokens of a chat: 64 that all chats share, then its own."""
    return [*range(64), *(1000 * chat + at for at in range(count - 64))]


def save(store: PrefixStore, tokens: list[int], chat: str = "chat", size: int = 64) -> list[SavedPart]:
    """Save the whole parts of a prompt with random content, up to the first one without room."""
    parts, parent = list[SavedPart](), PAIR
    keys = stores.chain(PAIR, tokens)
    store.touch(sorted(store.known(keys)), chat)
    for at in range(0, len(tokens) - BLOCK + 1, BLOCK):
        part = SavedPart.of(PAIR, parent, at, tokens[at : at + BLOCK], False)
        if not store.known([part.key]):
            tensor = {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}
            if not store.add(part, {"__metadata__": {"rows": "1"}, "rows.0": tensor}, [random.randbytes(size)], chat):
                break
        parts.append(part)
        parent = part.key
    return parts


def files(store: PrefixStore) -> list[Path]:
    return sorted(store.folder.glob("*.safetensors"))


def damage(path: Path, how: str, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    match how:
        case "flip":
            at = rng.randrange(len(data))
            data[at] ^= 1 << rng.randrange(8)
        case "cut":
            del data[rng.randrange(len(data)) :]
        case "empty":
            data.clear()
        case "add":
            data += b"\0"
    path.write_bytes(data)
