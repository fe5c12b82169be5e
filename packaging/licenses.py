"""Collect the licenses of all packages in the app into resources/licenses.txt.

    python packaging/licenses.py [FOLDER]

FOLDER has the Mac's packages installed. Without it, uv downloads them into a temporary folder, some hundred megabytes. The file has
one section per package, sorted by name; a repeated text is replaced by a reference.
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
TO = ROOT / "resources/licenses.txt"
PINS = ROOT / "packaging/macos/python3.13.txt"
TEXTS = ROOT / "packaging/licenses"
APACHE = ROOT / "LICENSE"
# Packages whose wheel has no license text: the license, and where its text is
MISSING: dict[str, tuple[str, tuple[Path, ...]]] = {
    "pyside6-essentials": ("LGPL-3.0-only", (TEXTS / "LGPL-3.0.txt", TEXTS / "GPL-3.0.txt")),
    "shiboken6": ("LGPL-3.0-only", (TEXTS / "LGPL-3.0.txt", TEXTS / "GPL-3.0.txt")),
    "sentencepiece": ("Apache-2.0", (APACHE,)),
    "tokenizers": ("Apache-2.0", (APACHE,)),
}
# Packages whose wheel contains libraries with another license: both licenses, and where the other's text is
BUNDLING: dict[str, tuple[str, tuple[Path, ...]]] = {
    "pi-heif": ("BSD-3-Clause; its libraries LGPL-3.0", (TEXTS / "LGPL-3.0.txt", TEXTS / "GPL-3.0.txt")),
}
# Packages with the same authors and license, where only the other wheel has the text
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
INTRODUCTION = """Slipstream is free software under the Apache License 2.0. It contains the following third-party software.

The app for macOS also contains Python (Python Software Foundation License 2.0, see typing-extensions for its text) with OpenSSL
(Apache License 2.0), libffi (MIT), SQLite (public domain), bzip2 (BSD style), XZ (0BSD) and mpdecimal (BSD, 2 clauses), and
Briefcase's launcher (BSD, 3 clauses).

Qt, PySide6 and Shiboken are used under the GNU Lesser General Public License 3. They are unmodified, separate libraries in
Contents/Resources/app_packages of the app, where they can be replaced by other builds. Libraries and plugins that the app doesn't
use are left out. Their source code is at https://download.qt.io/official_releases/QtForPython/ and
https://download.qt.io/official_releases/qt/.

libheif and libde265, in pi-heif, are used under the same license and in the same way. Their source code is at
https://github.com/strukturag/libheif and https://github.com/strukturag/libde265.
"""


def normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def pinned() -> dict[str, str]:
    lines = PINS.read_text(encoding="utf-8").splitlines()
    return {normal(line.split("==")[0]): line.split("==")[1] for line in lines if "==" in line}


def license_of(package: Distribution) -> str:
    """Return the package's shortest name for its license."""
    data = package.metadata
    name = data.get("License-Expression") or data.get("License") or ""
    if not name or len(name) > 80:
        classes = [line.rpartition(" :: ")[2] for line in data.get_all("Classifier") or [] if line.startswith("License ::")]
        name = ", ".join(classes) or name.splitlines()[0]
    return name


def home_of(package: Distribution) -> str:
    data = package.metadata
    links = dict(line.split(", ", 1) for line in data.get_all("Project-URL") or [] if ", " in line)
    by_name = {name.lower(): link for name, link in links.items()}
    names = ("homepage", "home", "repository", "source", "source code", "github", "documentation")
    return data.get("Home-page") or next((by_name[name] for name in names if name in by_name), "")


def texts_of(folder: Path) -> Iterator[str]:
    """Yield the license texts in a dist-info folder."""
    names = ("licen", "copying", "notice", "authors")
    for path in sorted(folder.rglob("*")):
        named = path.name.lower().startswith(names) or "LICENSES" in str(path.relative_to(folder).parent)  # pypdfium2's folders
        if path.is_file() and named and path.suffix not in (".py", ".json"):
            yield path.read_text(encoding="utf-8", errors="replace").strip()


def collect(site: Path) -> str:
    """Return the text of licenses.txt for the pinned packages, which must all exist."""
    folders = {normal(PathDistribution(path).metadata["Name"]): path for path in site.glob("*.dist-info")}
    introduction = "\n\n".join(textwrap.fill(paragraph, 78) for paragraph in INTRODUCTION.split("\n\n"))
    sections, seen = [f"{introduction}\n"], {}
    for name, version in sorted(pinned().items()):
        if name not in folders or PathDistribution(folders[name]).version != version:
            raise SystemExit(f"{name} {version} is not in {site}.")
        package = PathDistribution(folders[name])
        license, texts = license_of(package), list(texts_of(folders[SAME_AS.get(name, name)]))
        if name in MISSING:
            license, files = MISSING[name]
            texts = [path.read_text(encoding="utf-8").strip() for path in files]
        elif name in BUNDLING:
            license, files = BUNDLING[name]
            texts += [path.read_text(encoding="utf-8").strip() for path in files]
        elif not texts and license == "MIT":
            texts = [f"Copyright (c) {package.metadata.get('Author') or package.metadata.get('Author-email')}\n\n{MIT}"]
        if not texts or not license:
            raise SystemExit(f"{name} {version} has no license text. Look it up and add it to {Path(__file__).name}.")
        heading = f"{name} {version}"
        parts = []
        for text in texts:
            parts.append(f"(See {seen[text]} for the text.)" if text in seen else text)
            seen.setdefault(text, name)
        home = f"\n{home_of(package)}" if home_of(package) else ""
        sections.append(f"{heading}\n{'-' * len(heading)}\n{license}{home}\n\n" + "\n\n".join(parts) + "\n")
    return "\n\n".join(sections)


def fetch(folder: Path, min_os: str = "14.0") -> None:
    """Download and install the Mac's packages into a folder, on any system."""
    # Copy instead of linking, so that changes to the files don't change uv's cache
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
