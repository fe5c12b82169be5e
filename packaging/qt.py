"""The parts of Qt that the app uses.

The release removes all others from the bundle, about 90 MB. The app's imports decide which modules stay, and load commands decide
which libraries. Qt finds plugins and translations by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from programs import DYLIBS, open_program

PACKAGES = ("PySide6", "shiboken6")
# The window, its native controls, SVG pictures, and SVG icons
PLUGINS = (
    "platforms/libqcocoa.dylib",
    "styles/libqmacstyle.dylib",
    "imageformats/libqsvg.dylib",
    "iconengines/libqsvgicon.dylib",
)
_IMPORT = re.compile(r"^\s*(?:from|import) PySide6\.(\w+)", re.MULTILINE)


def imported_modules(sources: Path) -> set[str]:
    """Return the modules of Qt that the app in a checkout imports."""
    files = (sources / "app").rglob("*.py")
    return {name for file in files for name in _IMPORT.findall(file.read_text(encoding="utf-8"))}


def required(sources: Path) -> list[str]:
    """Return patterns of the files that no library loads, relative to app_packages."""
    translations = [path.stem.removeprefix("slipstream_") for path in (sources / "resources/translations").glob("*.qm")]
    return [
        *(f"{folder}/*.py" for folder in (*PACKAGES, "PySide6/support")),
        "shiboken6/Shiboken.abi3.so",
        *(f"PySide6/{name}.abi3.so" for name in sorted(imported_modules(sources))),
        *(f"PySide6/Qt/plugins/{plugin}" for plugin in PLUGINS),
        *(f"PySide6/Qt/translations/qtbase_{language}.qm" for language in sorted(translations)),
    ]


def is_required(path: str, patterns: list[str]) -> bool:
    return any(PurePosixPath(f"/{path}").match(f"/{pattern}") for pattern in patterns)  # all of the path


def unused(packages: Path, sources: Path) -> Iterator[Path]:
    """Yield the files of Qt's packages in app_packages that the app doesn't use."""
    files = [path for name in PACKAGES for path in sorted((packages / name).rglob("*")) if path.is_file() and not path.is_symlink()]
    by_name = {path.name: path for path in files}
    waiting = [path for pattern in required(sources) for path in packages.glob(pattern)]
    used: set[Path] = set()
    while waiting:
        used.add(path := waiting.pop())
        program = open_program(path)
        for library in program.texts(*DYLIBS) if program is not None else ():
            found = by_name.get(library.rpartition("/")[2])
            if found is not None and found not in used:
                waiting.append(found)
    frameworks = {parent for path in used for parent in path.parents if parent.suffix == ".framework"}
    for path in files:
        if path not in used and frameworks.isdisjoint(path.parents) and path.parent.name != "__pycache__":
            yield path


def prune(packages: Path, sources: Path) -> None:
    """Remove the parts that the app doesn't use."""
    for path in list(unused(packages, sources)):
        path.unlink()
    for name in PACKAGES:
        for folder in sorted((packages / name).rglob("*"), reverse=True):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
