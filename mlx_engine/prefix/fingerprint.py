"""The fingerprint of a pair: what saved prompts depend on besides their tokens."""

import hashlib
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from mlx_engine.prefix.part_file import FORMAT

_READ = 1 << 16  # bytes at the start of a file
_SAMPLES, _SAMPLE = 32, 1 << 12  # number of samples of a file, and bytes of each


def fingerprint(folders: Iterable[Path | None], settings: Iterable[str]) -> str:
    """Return 32 hexadecimal digits that identify files, libraries, and settings.

    Large files aren't read completely: only their size, modification time, and samples are hashed.

    Args:
        folders: folders of the target and the drafter.
        settings: everything else that changes what is computed, such as number formats.

    Raises:
        OSError: a file can't be read.
    """
    digest = hashlib.sha256(repr((FORMAT, version("mlx"), version("mlx-lm"), *settings)).encode())
    for folder in folders:
        digest.update(b"folder")
        for path in sorted(folder.iterdir()) if folder else ():
            if not path.is_file() or path.suffix not in (".safetensors", ".json", ".jinja", ".model", ".txt", ".tiktoken"):
                continue
            about = path.stat()
            digest.update(repr((path.name, about.st_size, about.st_mtime_ns)).encode())
            with path.open("rb") as file:
                digest.update(file.read(_READ))
                for at in range(_SAMPLES):
                    file.seek(at * max(about.st_size - _SAMPLE, 0) // _SAMPLES)
                    digest.update(file.read(_SAMPLE))
    return digest.hexdigest()[:32]
