"""Compiled modules of the bundle.

The launcher writes none, so without them each start and each child process would compile a thousand modules. Python doesn't compare
them with their sources (PEP 552, unchecked hash): in a signed bundle, sources don't change, and times may.
"""

from __future__ import annotations

import _imp
import re
from collections.abc import Iterator
from pathlib import Path

UNCHECKED = 1  # PEP 552: a hash, which isn't checked
# Never loaded, and half of all code: packages' tests, and models that need PyTorch
UNCOMPILED = r"app_packages/(.*/tests/|transformers/models/.*/mod(eling|ular)_)"
OPTIONS = ("-q", "-f", "-j", "0", "-o", "0", "--invalidation-mode", "unchecked-hash", "-x", UNCOMPILED)
_NUMBER = re.compile(r"^MAGIC_NUMBER = \((\d+)\)", re.MULTILINE)


def folders(app: Path, python: str) -> list[Path]:
    """Return the folders of a bundle that have modules.

    The first is the standard library of Python `python`.
    """
    library = app / f"Contents/Frameworks/Python.framework/Versions/{python}/lib/python{python}"
    return [library, app / "Contents/Resources/app_packages", app / "Contents/Resources/app"]


def command(app: Path, python: str) -> list[str | Path]:
    """Return the arguments of Python `python` that compile all modules.

    Their paths in tracebacks are set when they are loaded.
    """
    return ["-m", "compileall", *OPTIONS, "-s", app, *folders(app, python)]


def sources(app: Path, python: str) -> Iterator[Path]:
    """Yield the modules that are compiled."""
    for folder in folders(app, python):
        for source in sorted(folder.rglob("*.py")):
            if re.search(UNCOMPILED, source.as_posix()) is None:
                yield source


def magic_number(library: Path) -> bytes:
    """Return the first bytes of modules that the Python of this library compiles.

    They are empty if the library doesn't tell.
    """
    source = library / "importlib/_bootstrap_external.py"
    found = _NUMBER.search(source.read_text(encoding="utf-8")) if source.is_file() else None
    return int(found[1]).to_bytes(2, "little") + b"\r\n" if found else b""


def compiled(source: Path, python: str) -> Path:
    """Return the path of a compiled module."""
    return source.parent / "__pycache__" / f"{source.stem}{_ending(python)}"


def source_of(compiled: Path, python: str) -> Path:
    """Return the path of the source of a compiled module."""
    return compiled.parent.parent / f"{compiled.name.removesuffix(_ending(python))}.py"


def _ending(python: str) -> str:
    return f".cpython-{python.replace('.', '')}.pyc"


def header(source: bytes, magic: bytes) -> bytes:
    """Return how a compiled module begins."""
    return magic + UNCHECKED.to_bytes(4, "little") + _imp.source_hash(int.from_bytes(magic, "little"), source)


def is_compiled(source: Path, python: str, magic: bytes) -> bool:
    """Return whether a module is compiled from this source, by this Python.

    It must not be compared with its source when it is loaded.
    """
    file, expected = compiled(source, python), header(source.read_bytes(), magic)
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(len(expected)) == expected
