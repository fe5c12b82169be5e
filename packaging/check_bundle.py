"""Check a Slipstream.app without starting it.

    python packaging/check_bundle.py Slipstream.app [--min-os 26.2] [--signed]

Runs on any system, because macholib reads the programs. Prints one line per problem, and notes. The exit code is 1 if there are
problems.
"""

from __future__ import annotations

import argparse
import base64
import csv
import fnmatch
import hashlib
import plistlib
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from xml.parsers.expat import ExpatError

from macholib import mach_o

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "packaging"))

import bytecode  # noqa: E402
import qt  # noqa: E402
from programs import ARM64, DYLIBS, Program, open_program  # noqa: E402

SYSTEM = ("/usr/lib/", "/System/Library/")
# Packages whose libraries declare a newer system than their wheel, and which one. dyld rejects a library only for missing symbols,
# and the system symbols that these use are older than macOS 14. Not yet tried on a Mac with macOS 14.
DECLARED_NEWER = {"PySide6": (15, 0), "shiboken6": (15, 0)}
# Libraries that keep a search path of their builder. They load only libraries of the system, so dyld never uses it.
UNUSED_PATHS = ("PIL/.dylibs/libjpeg.62.4.0.dylib",)
# MLX's kernels for the matrix units of newer chips, which only the wheel for macOS 26 contains
NEWEST_KERNELS = (26, b"nax")
LOCALIZATIONS = {"zh_CN": "zh-Hans"}  # Qt's names of languages to Apple's
SIZE_BUDGET = 600 << 20
BUILD_LEFTOVERS = re.compile(r"(^|/)(__pycache__/.*|\.DS_Store|direct_url\.json|__editable__.*|.*\.(whl|pyc|pth|orig|rej))$")
PRIVACY = re.compile(r"NS\w+UsageDescription")


@dataclass(frozen=True)
class Expected:
    """What the bundle should contain, read from the checkout that it was built from."""

    root: Path
    min_os: tuple[int, ...]
    signed: bool = False
    size_budget: int = SIZE_BUDGET
    build_root: Path | None = None  # no file may contain this path

    @cached_property
    def project(self) -> dict:
        return tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))

    @property
    def app(self) -> dict:
        return self.project["tool"]["briefcase"]["app"]["app"]

    @property
    def entitlements(self) -> dict:
        return self.app["macOS"]["entitlement"]

    @cached_property
    def pins(self) -> dict[str, str]:
        lines = (self.root / self.app["requirement_installer_args"][1]).read_text(encoding="utf-8").splitlines()
        return {normal(line.split("==")[0]): line.split("==")[1].strip() for line in lines if "==" in line}

    @property
    def python(self) -> str:
        """The Python version that packages are resolved for, such as 3.13."""
        return Path(self.app["requirement_installer_args"][1]).stem.removeprefix("python")

    def cleaned(self, folder: str) -> list[str]:
        """Return the patterns that the configuration removes from a folder of Contents."""
        paths = (pattern.partition(f"/Contents/{folder}/") for pattern in self.app["macOS"]["cleanup_paths"])
        return [inner for _, found, inner in paths if found]

    def removed(self, path: str) -> bool:
        """Return whether the build may remove this file of app_packages."""
        parts = path.split("/")
        if parts[0] in qt.PACKAGES:
            return not qt.is_required(path, self.parts_of_qt)
        return any(
            len(parts) >= len(pattern) and all(map(fnmatch.fnmatchcase, parts, pattern)) for pattern in self._removed_from_packages
        )

    @cached_property
    def parts_of_qt(self) -> list[str]:
        return qt.required(self.root)

    @property
    def localizations(self) -> Path:
        """The folder with translations of Info.plist."""
        return self.root / "packaging/release/localizations"

    @cached_property
    def _removed_from_packages(self) -> list[list[str]]:
        return [pattern.split("/") for pattern in self.cleaned("Resources/app_packages")]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def version_of(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


@dataclass
class Bundle:
    """A bundle and the problems found in it."""

    path: Path
    expected: Expected
    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def contents(self) -> Path:
        return self.path / "Contents"

    @property
    def packages(self) -> Path:
        return self.contents / "Resources/app_packages"

    @property
    def starter(self) -> Path:
        """The program that starts Python."""
        return self.contents / "MacOS" / self.expected.app["formal_name"]

    @cached_property
    def files(self) -> list[Path]:
        return sorted(path for path in self.path.rglob("*") if path.is_symlink() or path.is_file())

    @cached_property
    def info(self) -> dict:
        try:
            return plistlib.loads((self.contents / "Info.plist").read_bytes())
        except (OSError, plistlib.InvalidFileException, ValueError, ExpatError) as error:
            self.wrong(self.contents / "Info.plist", f"can't be read: {error}")
            return {}

    @cached_property
    def programs(self) -> list[Program]:
        found = []
        for path in self.files:
            if not path.is_symlink():
                try:
                    if (program := open_program(path)) is not None:
                        found.append(program)
                except ValueError as error:
                    self.wrong(path, str(error))
        return found

    def is_compiled_module(self, path: Path) -> bool:
        source = bytecode.source_of(path, self.expected.python)
        return path == bytecode.compiled(source, self.expected.python) and source.is_file()

    def name(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix() if path.is_relative_to(self.path) else str(path)

    def wrong(self, path: Path, what: str) -> None:
        self.findings.append(f"{self.name(path)}: {what}")


def check_info(bundle: Bundle) -> None:
    """Check Info.plist against the configuration, and that the files it names exist."""
    info, expected = bundle.info, bundle.expected
    if not info:
        return
    plist = bundle.contents / "Info.plist"
    version = expected.project["project"]["version"]
    wanted = {
        "CFBundleIdentifier": f"{expected.project['tool']['briefcase']['bundle']}.app",
        "CFBundleName": expected.app["formal_name"],
        "CFBundleExecutable": expected.app["formal_name"],
        "CFBundlePackageType": "APPL",
        "CFBundleShortVersionString": version,
        "CFBundleVersion": version,
        "LSMinimumSystemVersion": ".".join(map(str, expected.min_os)),
        "NSPrincipalClass": "NSApplication",
        "MainModule": "app",
        **expected.app["macOS"]["info"],
    }
    for key, value in wanted.items():
        if info.get(key) != value:
            bundle.wrong(plist, f"{key} is {info.get(key)!r}, not {value!r}")
    translated = sorted(path.stem.removeprefix("slipstream_") for path in (expected.root / "resources/translations").glob("*.qm"))
    languages = ["en", *(LOCALIZATIONS.get(name, name) for name in translated)]
    if info.get("CFBundleLocalizations") != languages:
        bundle.wrong(plist, f"CFBundleLocalizations lists {info.get('CFBundleLocalizations')}, the app has {languages}")
    for source in sorted(expected.localizations.glob("*.lproj/*")):
        copy = bundle.contents / "Resources" / source.relative_to(expected.localizations)
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            bundle.wrong(copy, f"is not {source.relative_to(expected.root).as_posix()}")
    for key in info.keys() - wanted.keys():
        if PRIVACY.fullmatch(key):
            bundle.wrong(plist, f"{key} is not used by the app")
    executable = bundle.contents / "MacOS" / str(info.get("CFBundleExecutable"))
    if not executable.is_file() or not executable.stat().st_mode & 0o111:
        bundle.wrong(executable, "is missing or not executable")
    icon = bundle.contents / "Resources" / str(info.get("CFBundleIconFile"))
    drawn = expected.root / f"{expected.app['icon']}.icns"
    if not icon.is_file() or icon.read_bytes() != drawn.read_bytes():
        bundle.wrong(icon, f"is not the icon {drawn.relative_to(expected.root).as_posix()}")


def check_programs(bundle: Bundle) -> None:
    """Check the architecture and minimum system of every program."""
    if not bundle.programs:
        bundle.wrong(bundle.path, "contains no program")
    for program in bundle.programs:
        if program.architectures != {ARM64}:
            bundle.wrong(program.path, f"is for {sorted(map(hex, program.architectures))}, not only arm64")
        part = program.path.relative_to(bundle.packages).parts[0] if program.path.is_relative_to(bundle.packages) else ""
        if program.min_os > bundle.expected.min_os:
            declared = ".".join(map(str, program.min_os))
            if program.min_os <= DECLARED_NEWER.get(part, (0, 0)):
                bundle.notes.append(f"{bundle.name(program.path)}: declares macOS {declared}, as expected of {part}")
            else:
                bundle.wrong(program.path, f"needs macOS {declared}, the bundle only {'.'.join(map(str, bundle.expected.min_os))}")


def check_python(bundle: Bundle) -> None:
    """Check that the app's program loads the right Python version, and all of it."""
    name = f"Python.framework/Versions/{bundle.expected.python}"
    starter = next((program for program in bundle.programs if program.path == bundle.starter), None)
    if starter is None or starter.kinds != {mach_o.MH_EXECUTE}:
        bundle.wrong(bundle.starter, "is not an executable program")
    elif f"@rpath/{name}/Python" not in starter.texts(*DYLIBS):
        bundle.wrong(bundle.starter, f"does not load Python {bundle.expected.python}")
    home = bundle.contents / "Frameworks" / name
    if not (home / f"lib/python{bundle.expected.python}/encodings/__init__.py").is_file():
        bundle.wrong(home, "has no standard library, so Python can't start")
    for pattern in bundle.expected.cleaned("Frameworks"):
        for path in (bundle.contents / "Frameworks").glob(pattern):
            bundle.wrong(path, "should have been removed")


def check_links(bundle: Bundle) -> None:
    """Check that each library that a program loads is in the system or in the bundle.

    As in dyld, @rpath is looked up in the program first, then in the programs that load it, and last in the app's program.
    """
    loaders: dict[Path, set[Path]] = {program.path: set() for program in bundle.programs}
    unresolved = []
    for program in bundle.programs:
        unused = program.path in {bundle.packages / name for name in UNUSED_PATHS}
        if unused and not all(library.startswith(SYSTEM) for library in program.texts(*DYLIBS)):
            bundle.wrong(program.path, "loads libraries by a search path of its builder")
        for rpath in program.texts(mach_o.LC_RPATH):
            if rpath.startswith("/") and not rpath.startswith(SYSTEM) and not unused:
                bundle.wrong(program.path, f"looks for libraries in {rpath}")
        for library in program.texts(*DYLIBS):
            if library.startswith(SYSTEM):
                continue
            if library.startswith("/"):
                bundle.wrong(program.path, f"loads {library}, which other Macs may not have")
            elif (found := _find(library, program, bundle)) is None:
                unresolved.append((program, library))
            else:
                loaders.setdefault(found, set()).add(program.path)
    by_path = {program.path: program for program in bundle.programs}
    for program, library in unresolved:
        askers = [by_path[path] for path in loaders[program.path] | ({bundle.starter} & by_path.keys())]
        if not any(_find(library, asker, bundle) for asker in askers):
            bundle.wrong(program.path, f"loads {library}, which is not found")


def _find(library: str, program: Program, bundle: Bundle) -> Path | None:
    """Return the library's file if it is in the bundle."""
    beginnings = {"@loader_path": program.path.parent, "@executable_path": bundle.contents / "MacOS"}
    rpaths = [rpath for rpath in program.texts(mach_o.LC_RPATH) if not rpath.startswith("/")]
    name = library.removeprefix("@rpath/")
    for place in [f"{rpath}/{name}" for rpath in rpaths] if name != library else [library]:
        for sign, folder in beginnings.items():
            place = place.replace(sign, str(folder))
        found = Path(place).resolve()
        if found.is_file() and found.is_relative_to(bundle.path.resolve()):
            return bundle.path / found.relative_to(bundle.path.resolve())
    return None


def check_frameworks(bundle: Bundle) -> None:
    """Check that frameworks have the links that codesign requires."""
    for framework in bundle.path.rglob("*.framework"):
        if not (framework / "Versions/Current").is_symlink():
            bundle.wrong(framework, "has no link Versions/Current, so codesign refuses it")
        for part in framework.iterdir():
            if part.name != "Versions" and not part.is_symlink():
                bundle.wrong(part, "should be a link into Versions/Current")
        name = framework.stem
        if not (framework / name).exists():
            bundle.wrong(framework / name, "is missing")


def check_metallib(bundle: Bundle) -> None:
    """Check that MLX's kernels are next to its library, the only place MLX looks."""
    libraries = [path for path in bundle.files if path.name == "libmlx.dylib"]
    if len(libraries) != 1:
        bundle.wrong(bundle.packages / "mlx", f"has {len(libraries)} files libmlx.dylib, not one")
    for library in libraries:
        metallib = library.with_name("mlx.metallib")
        if not metallib.is_file():
            bundle.wrong(metallib, "is missing next to libmlx.dylib, so MLX can't start")
            continue
        data = metallib.read_bytes()
        if data[:4] != b"MTLB":
            bundle.wrong(metallib, "is not a Metal library")
        least, name = NEWEST_KERNELS
        if bundle.expected.min_os[0] >= least and name not in data:
            bundle.wrong(metallib, "lacks the kernels for the newest chips: it is from an older system's wheel")
    others = [path for path in bundle.files if path.suffix == ".metallib" and path.with_name("libmlx.dylib") not in libraries]
    for path in others:
        bundle.wrong(path, "is a Metal library where MLX doesn't look for it")


def check_sources(bundle: Bundle) -> None:
    """Check that code and data equal the checkout's."""
    for source in bundle.expected.app["sources"]:
        theirs = bundle.contents / "Resources/app" / source
        for path in sorted((bundle.expected.root / source).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                copy = theirs / path.relative_to(bundle.expected.root / source)
                if not copy.is_file():
                    bundle.wrong(copy, "is missing")
                elif copy.read_bytes() != path.read_bytes():
                    bundle.wrong(copy, f"differs from {path.relative_to(bundle.expected.root).as_posix()}")


def check_packages(bundle: Bundle) -> None:
    """Check that all packages are complete and have the pinned versions.

    Files must be unchanged, except for programs, which Briefcase reduces to one architecture and signs.
    """
    found = {}
    programs = {program.path for program in bundle.programs}
    for record in sorted(bundle.packages.glob("*.dist-info/RECORD")):
        name, _, version = record.parent.name.removesuffix(".dist-info").rpartition("-")
        found[normal(name)] = version
        with record.open(newline="", encoding="utf-8") as file:
            for path, digest, *_ in csv.reader(file):
                there = bundle.packages / path
                if path.startswith("..") or path.endswith(".pyc") or bundle.expected.removed(path):
                    continue
                if not there.is_file():
                    bundle.wrong(there, f"is missing, though {record.parent.name} lists it")
                elif digest and there not in programs and record.parent not in there.parents:
                    kind, _, value = digest.partition("=")
                    seen = base64.urlsafe_b64encode(hashlib.new(kind, there.read_bytes()).digest()).rstrip(b"=").decode()
                    if seen != value:
                        bundle.wrong(there, "was changed")
    for name, version in bundle.expected.pins.items():
        if found.get(name) != version:
            bundle.wrong(bundle.packages, f"{name} is {found.get(name, 'missing')}, not {version}")
    for name in found.keys() - bundle.expected.pins.keys():
        bundle.wrong(bundle.packages, f"{name} is not a pinned package")


def check_qt(bundle: Bundle) -> None:
    """Check that Qt's packages have what the app uses, and nothing else.

    `check_links` finds libraries that are missing.
    """
    for pattern in bundle.expected.parts_of_qt:
        if not any(bundle.packages.glob(pattern)):
            bundle.wrong(bundle.packages / pattern, "is missing, though the app uses it")
    for path in qt.unused(bundle.packages, bundle.expected.root):
        bundle.wrong(path, "is not used by the app")


def check_bytecode(bundle: Bundle) -> None:
    """Check that all modules are compiled by the bundle's Python."""
    library, python = bytecode.folders(bundle.path, bundle.expected.python)[0], bundle.expected.python
    magic = bytecode.magic_number(library)
    if not magic:
        bundle.wrong(library, "has no importlib, so its version of compiled modules is unknown")
        return
    for source in bytecode.sources(bundle.path, python):
        if not bytecode.is_compiled(source, python, magic):
            bundle.wrong(source, f"is not compiled for Python {python}")


def check_licenses(bundle: Bundle) -> None:
    """Check that the licenses in the About window cover every package."""
    file = bundle.contents / "Resources/app/resources/licenses.txt"
    if not file.is_file():
        bundle.wrong(file, "is missing")
        return
    text = file.read_text(encoding="utf-8")
    headings = {normal(name): version for name, version in re.findall(r"^(\S+) (\S+)\n-{3,}$", text, re.MULTILINE)}
    for name, version in bundle.expected.pins.items():
        if headings.get(name) != version:
            bundle.wrong(file, f"lacks the license of {name} {version}")


def check_signature(bundle: Bundle) -> None:
    """Check that all programs are signed for the hardened runtime.

    Only the app's program may have entitlements.
    """
    for program in bundle.programs:
        if bundle.expected.signed and not program.hardened:
            bundle.wrong(program.path, "is not signed for the hardened runtime")
        wanted = bundle.expected.entitlements if program.path == bundle.starter else {}
        if bundle.expected.signed and program.signature and program.entitlements != wanted:
            extra = sorted(program.entitlements.keys() - wanted.keys())
            missing = sorted(wanted.keys() - program.entitlements.keys())
            bundle.wrong(program.path, f"entitlements: {extra} not allowed, {missing} missing")
    if bundle.expected.signed and not (bundle.contents / "_CodeSignature/CodeResources").is_file():
        bundle.wrong(bundle.contents / "_CodeSignature/CodeResources", "is missing, so the bundle is not signed as a whole")


def check_leftovers(bundle: Bundle) -> None:
    """Check for build leftovers, links that leave the bundle, and the size."""
    place = str(bundle.expected.build_root).encode() if bundle.expected.build_root else None
    size = 0
    for path in bundle.files:
        name = bundle.name(path)
        if BUILD_LEFTOVERS.search(name) and not bundle.is_compiled_module(path):
            bundle.wrong(path, "is left over from the build")
        if path.is_symlink():
            if not path.exists() or not path.resolve().is_relative_to(bundle.path.resolve()):
                bundle.wrong(path, "is a link out of the bundle or to nothing")
            continue
        data = path.read_bytes()
        size += len(data)
        if place is not None and place in data:
            bundle.wrong(path, f"contains the path of the build, {place.decode()}")
        if path.parent.name == "bin" and data[:3] == b"#!/":
            bundle.wrong(path, "is a script for the build machine's Python")
    bundle.notes.append(f"{size / (1 << 20):.0f} MB of {bundle.expected.size_budget >> 20}, {len(bundle.programs)} programs")
    if size > bundle.expected.size_budget:
        bundle.wrong(bundle.path, f"{size >> 20} MB is more than the limit of {bundle.expected.size_budget >> 20} MB")


CHECKS: tuple[Callable[[Bundle], None], ...] = (
    check_info,
    check_programs,
    check_python,
    check_links,
    check_frameworks,
    check_metallib,
    check_sources,
    check_packages,
    check_qt,
    check_bytecode,
    check_licenses,
    check_signature,
    check_leftovers,
)


def examine(path: Path, expected: Expected) -> Bundle:
    """Run all checks."""
    bundle = Bundle(path, expected)
    for check in CHECKS:
        check(bundle)
    return bundle


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("app", type=Path)
    parser.add_argument("--min-os", default="14.0", help="minimum system of this build (default: 14.0)")
    parser.add_argument("--signed", action="store_true", help="require signatures for the hardened runtime")
    parser.add_argument("--build-root", type=Path, default=ROOT, help="folder of the build, whose path the bundle must not contain")
    given = parser.parse_args(arguments)
    if not (given.app / "Contents").is_dir():
        print(f"{given.app} is not an app: it has no Contents folder.", file=sys.stderr)
        return 2
    expected = Expected(ROOT, version_of(given.min_os), given.signed, build_root=given.build_root)
    bundle = examine(given.app, expected)
    for note in bundle.notes:
        print(f"note  {note}")
    for finding in bundle.findings:
        print(f"error {finding}")
    print(f"{len(bundle.findings)} errors." if bundle.findings else "No problems found.")
    return 1 if bundle.findings else 0


if __name__ == "__main__":
    sys.exit(main())
