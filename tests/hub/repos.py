"""What the local hub serves: repos with commits, each commit a set of files."""

import hashlib
import json
import struct
from dataclasses import dataclass, field

import numpy as np

TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
SMALL = 1_000_000  # bytes: larger files, and all weights, are LFS files, as on the hub


@dataclass(frozen=True)
class StoredFile:
    """One file of a commit. LFS files go by their SHA-256, others by their git blob id, which is a SHA-1."""

    data: bytes
    lfs: bool
    sha256: str
    blob_id: str

    @property
    def digest(self) -> str:
        return self.sha256 if self.lfs else self.blob_id


def stored(path: str, data: bytes) -> StoredFile:
    lfs = path.endswith((".safetensors", ".parquet")) or len(data) > SMALL
    pointer = b"version https://git-lfs.github.com/spec/v1\n"
    named = pointer if lfs else data
    return StoredFile(
        data,
        lfs,
        hashlib.sha256(data).hexdigest(),
        hashlib.sha1(b"blob %d\0" % len(named) + named).hexdigest(),
    )


@dataclass
class Repo:
    """A repo: commits by id, and branches that name one."""

    commits: dict[str, dict[str, StoredFile]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    gated: bool = False
    admitted: frozenset[str] = frozenset()  # tokens that may read a gated repo
    private: bool = False
    tags: tuple[str, ...] = ()

    def commit(self, files: dict[str, bytes], forget: bool = False) -> str:
        """Add a commit to main; `forget` drops the earlier ones, like a squashed history."""
        tree = {path: stored(path, data) for path, data in files.items()}
        commit = hashlib.sha1(json.dumps([(path, file.digest) for path, file in sorted(tree.items())]).encode()).hexdigest()
        self.commits = {**({} if forget else self.commits), commit: tree}  # other threads still read the earlier ones
        self.branches["main"] = commit
        return commit

    def resolve(self, revision: str) -> str | None:
        commit = self.branches.get(revision, revision)
        return commit if commit in self.commits else None


def noise(seed: int, size: int) -> bytes:
    """Incompressible bytes that depend on the seed."""
    return np.random.default_rng(seed).bytes(size)


def weights(seed: int, size: int) -> bytes:
    """A safetensors file of exactly `size` bytes: one tensor of bytes."""
    for data in range(size - 8, 0, -1):
        header = json.dumps({"w": {"dtype": "U8", "shape": [data], "data_offsets": [0, data]}}).encode()
        room = size - 8 - data
        if len(header) <= room:
            header = header.ljust(room)
            return struct.pack("<Q", room) + header + noise(seed, data)
    raise ValueError(f"{size} bytes are too few for a header")


def config(**fields: object) -> bytes:
    return json.dumps(fields).encode()


TARGET = {"model_type": "qwen3", "hidden_size": 64, "vocab_size": 128, "num_hidden_layers": 4, "max_position_embeddings": 4096}
DRAFTER = {
    "architectures": ["DFlashDraftModel"],
    "hidden_size": 64,
    "vocab_size": 128,
    "num_target_layers": 4,
    "block_size": 8,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "dflash_config": {"target_layer_ids": [1, 2], "mask_token_id": 127},
}


# Files of the repos below that must never be downloaded: programs, pickles, nested files, names that look like path tricks.
UNWANTED = frozenset(
    """README.md modeling_evil.py modeling..py tokenizer.json..py weights..bin x..pkl a..b/c.json pytorch_model.bin
    original/model.safetensors dflash.py""".split()
)


def target_files(*sizes: int, seed: int = 0) -> dict[str, bytes]:
    """A target with a weight file per size, small files, and Python that must never be downloaded."""
    names = [f"model-{n + 1:05d}-of-{len(sizes):05d}.safetensors" for n in range(len(sizes))]
    return {
        "config.json": config(**TARGET),
        "tokenizer.json": noise(seed + 99, 30_000),
        "tokenizer_config.json": config(tokenizer_class="Qwen2Tokenizer", chat_template=TEMPLATE),
        "README.md": b"# A target\n",
        **dict.fromkeys(
            ("modeling_evil.py", "modeling..py", "tokenizer.json..py"), b"raise SystemExit('never fetched, never run')\n"
        ),
        **dict.fromkeys(("weights..bin", "x..pkl", "a..b/c.json"), b"{}"),
        "pytorch_model.bin": noise(seed + 98, 2_000_000),
        "original/model.safetensors": weights(seed + 97, 200_000),
        **{name: weights(seed + n, size) for n, (name, size) in enumerate(zip(names, sizes, strict=True))},
    }


def drafter_files(size: int, seed: int = 50) -> dict[str, bytes]:
    return {
        "config.json": config(**DRAFTER),
        "dflash.py": b"raise SystemExit('never fetched, never run')\n",
        "model.safetensors": weights(seed, size),
    }


# A model with an MTP head, and what the head consists of.
WHOLE = {
    "model_type": "qwen3_5",
    "text_config": {
        "model_type": "qwen3_5_text",
        "hidden_size": 64,
        "vocab_size": 128,
        "num_hidden_layers": 4,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
    },
}


def tensors(shapes: dict[str, tuple[int, ...]], dtype: str = "BF16", value: int = 0x2A80) -> bytes:
    """A safetensors file whose tensors, in this order, hold one 16-bit value.

    A wrong byte of 0x2A80 gives infinity or another number, depending on the byte.
    """
    entries, at = {}, 0
    for name, shape in shapes.items():
        size = (4 if dtype == "U32" else 2) * int(np.prod(shape))
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    header = json.dumps(entries).encode()
    return struct.pack("<Q", len(header)) + header + struct.pack("<H", value) * (at // 2)


def whole_files(rows: int = 500, alone: bool = False) -> dict[str, bytes]:
    """An original model in two files; the second one also has an MTP head of 2 * rows rows, in two places, or `alone` has it."""
    head = {"mtp.fc.weight": (rows, 512), "mtp.norm.weight": (rows, 512)}
    rest = {"lm_head.weight": (900, 512), "model.norm.weight": (100, 512)}
    mixed = {name: (head | rest)[name] for name in ("lm_head.weight", "mtp.fc.weight", "model.norm.weight", "mtp.norm.weight")}
    first, second = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    places = {"model.embed_tokens.weight": first, **dict.fromkeys(mixed, second)}
    if alone:
        places |= dict.fromkeys(head, "mtp.safetensors")
    return {
        "config.json": config(**WHOLE),
        "tokenizer.json": noise(3, 1000),
        "model.safetensors.index.json": config(weight_map=places),
        first: tensors({"model.embed_tokens.weight": (3000, 512)}),
        second: tensors(rest if alone else mixed),
        **({"mtp.safetensors": tensors(head)} if alone else {}),
    }
