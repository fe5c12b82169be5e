"""Collects the licence of every part of the app: `python packaging/licences.py FOLDER` writes resources/licences.txt.

FOLDER holds the Mac's packages as installed; without one they are fetched (with uv) into a temporary folder, which takes some
hundred megabytes. One section a package, by name; a text that stands above already is pointed at and not repeated.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TO = ROOT / "resources/licences.txt"
PINS = ROOT / "packaging/macos/python3.13.txt"
TEXTS = ROOT / "packaging/licences"
APACHE = ROOT / "LICENSE"
# Packages whose wheel holds no licence text: where the text is, and for those that only name a licence, what it is.
MISSING: dict[str, tuple[str, tuple[Path, ...]]] = {
    "pyside6-essentials": ("LGPL-3.0-only", (TEXTS / "LGPL-3.0.txt", TEXTS / "GPL-3.0.txt")),
    "shiboken6": ("LGPL-3.0-only", (TEXTS / "LGPL-3.0.txt", TEXTS / "GPL-3.0.txt")),
    "sentencepiece": ("Apache-2.0", (APACHE,)),
    "tokenizers": ("Apache-2.0", (APACHE,)),
}
# Same makers, same licence, and the text lies in the other wheel.
SAME_AS = {"pyobjc-core": "pyobjc-framework-cocoa"}
MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use,
copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software
is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE
FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""
INTRODUCTION = """Slipstream is free software under the Apache License 2.0. It stands on the work of many others; here is whose, and
under which licence.

In the app for macOS there is besides Python (Python Software Foundation License 2.0, whose text stands under typing-extensions),
with OpenSSL (Apache License 2.0), libffi (MIT), SQLite (public domain), bzip2 (BSD style), XZ (0BSD) and mpdecimal (BSD, 2
clauses), and Briefcase's program that starts it (BSD, 3 clauses).

Qt, PySide6 and Shiboken are used under the GNU Lesser General Public License 3. They are unchanged, and lie as libraries of their
own in the app, in Contents/Resources/app_packages, where other builds of them can be put in their place. Their source is at
https://download.qt.io/official_releases/QtForPython/ and https://download.qt.io/official_releases/qt/.
"""


def normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def pinned() -> dict[str, str]:
    lines = PINS.read_text(encoding="utf-8").splitlines()
    return {normal(line.split("==")[0]): line.split("==")[1] for line in lines if "==" in line}


def licence_of(package: Distribution) -> str:
    """What the package calls its licence, in as few words as it has."""
    data = package.metadata
    said = data.get("License-Expression") or data.get("License") or ""
    if not said or len(said) > 80:
        classes = [line.rpartition(" :: ")[2] for line in data.get_all("Classifier") or [] if line.startswith("License ::")]
        said = ", ".join(classes) or said.splitlines()[0]
    return said


def home_of(package: Distribution) -> str:
    data = package.metadata
    links = dict(line.split(", ", 1) for line in data.get_all("Project-URL") or [] if ", " in line)
    by_name = {name.lower(): link for name, link in links.items()}
    names = ("homepage", "home", "repository", "source", "source code", "github", "documentation")
    return data.get("Home-page") or next((by_name[name] for name in names if name in by_name), "")


def texts_of(folder: Path) -> Iterator[str]:
    """The licence files that a dist-info folder holds."""
    names = ("licen", "copying", "notice", "authors")
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name.lower().startswith(names) and path.suffix not in (".py", ".json"):
            yield path.read_text(encoding="utf-8", errors="replace").strip()


def collect(site: Path) -> str:
    """The whole file. Packages that are not pinned are not the app's; a pinned one that is missing is an error."""
    folders = {normal(PathDistribution(path).metadata["Name"]): path for path in site.glob("*.dist-info")}
    introduction = "\n\n".join(textwrap.fill(paragraph, 78) for paragraph in INTRODUCTION.split("\n\n"))
    sections, seen = [f"{introduction}\n"], {}
    for name, version in sorted(pinned().items()):
        if name not in folders or PathDistribution(folders[name]).version != version:
            raise SystemExit(f"{name} {version} is not in {site}.")
        package = PathDistribution(folders[name])
        licence, texts = licence_of(package), list(texts_of(folders[SAME_AS.get(name, name)]))
        if name in MISSING:
            licence, files = MISSING[name]
            texts = [path.read_text(encoding="utf-8").strip() for path in files]
        elif not texts and licence == "MIT":
            texts = [f"Copyright (c) {package.metadata.get('Author') or package.metadata.get('Author-email')}\n\n{MIT}"]
        if not texts or not licence:
            raise SystemExit(f"{name} {version} tells no licence; look it up, and name it in {Path(__file__).name}.")
        heading = f"{name} {version}"
        parts = []
        for text in texts:
            parts.append(f"(The text is the one under {seen[text]}.)" if text in seen else text)
            seen.setdefault(text, name)
        home = f"\n{home_of(package)}" if home_of(package) else ""
        sections.append(f"{heading}\n{'-' * len(heading)}\n{licence}{home}\n\n" + "\n\n".join(parts) + "\n")
    return "\n\n".join(sections)


def fetch(folder: Path, min_os: str = "14.0") -> None:
    """Install the Mac's packages into a folder, on any system."""
    # copied, not linked: whoever changes a file there must not change uv's cache
    command = [
        "uv",
        "pip",
        "install",
        "--quiet",
        "--link-mode",
        "copy",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--target",
        str(folder),
    ]
    command += ["--python-platform", "aarch64-apple-darwin", "--python-version", "3.13", "--requirement", str(PINS)]
    subprocess.run(command, check=True, env={**os.environ, "MACOSX_DEPLOYMENT_TARGET": min_os})


def main(arguments: list[str]) -> None:
    if arguments:
        text = collect(Path(arguments[0]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            fetch(Path(folder))
            text = collect(Path(folder))
    TO.write_text(text, encoding="utf-8")
    print(f"{TO.relative_to(ROOT)}: {len(pinned())} packages, {len(text):,} characters")


if __name__ == "__main__":
    main(sys.argv[1:])
