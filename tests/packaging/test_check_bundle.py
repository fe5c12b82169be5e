"""Checking a bundle: a good one passes, and every kind of damage is found."""

import base64
import csv
import hashlib
import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.examples import SAMPLE
from tests.packaging import ROOT, script
from tests.packaging.assembled import (
    BUNDLE,
    DYLIB,
    DYNLOAD,
    PYTHON,
    X86_64,
    assemble,
    program,
    qt,
    release,
    signature,
    small_checkout,
    starter,
    thin_and_clean,
    universal,
)

check = script("check_bundle.py")
licenses = script("licenses.py")
NEWEST = "26.2"
LOTTIE = "vectorimageformats/libqlottievectorimage.dylib"


def install(site: Path, name: str, version: str, files: dict[str, bytes]) -> None:
    """Create an installed package."""
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    files = {**files, f"{folder}/METADATA": f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n".encode()}
    rows = []
    for path, data in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append((path, f"sha256={digest}", len(data)))
    with (site / folder / "RECORD").open("w", newline="") as file:
        csv.writer(file).writerows([*rows, (f"{folder}/RECORD", "", "")])


def pyside6(min_os: tuple[int, int]) -> dict[str, bytes]:
    """Return files as in PySide6's wheel: those that the app uses, and some of the others."""
    files = {"PySide6/__init__.py": b"pass\n", "PySide6/support/deprecated.py": b"pass\n", "PySide6/QtCore.pyi": b""}
    files["PySide6/scripts/recipes/PySide6/__init__.tmpl.py"] = b""
    options = {"min_os": min_os, "signed": signature(None)}
    for name in ("QtDBus", "QtQuick", *qt.imported_modules(ROOT)):
        loads = [_framework(name), "@rpath/libpyside6.dylib", "/usr/lib/libSystem.B.dylib"]
        files[f"PySide6/{name}.abi3.so"] = program(
            BUNDLE, libraries=loads, rpaths=["@loader_path", "@loader_path/Qt/lib"], **options
        )
        files |= wheel_framework(name, min_os, [_framework("QtDBus")] if name == "QtGui" else [])
    files["PySide6/libpyside6.dylib"] = program(**options)
    for plugin, name in (
        *((plugin, "QtSvg") for plugin in qt.PLUGINS),
        ("vectorimageformats/libqlottievectorimage.dylib", "QtQuick"),
    ):
        loads = [_framework(name)]
        files[f"PySide6/Qt/plugins/{plugin}"] = program(libraries=loads, rpaths=["@loader_path/../../lib"], **options)
    for name in ("qtbase_de", "qtbase_zh_CN", "qtbase_fr", "designer_de"):
        files[f"PySide6/Qt/translations/{name}.qm"] = b"qm"
    return files


def _framework(name: str) -> str:
    return f"@rpath/{name}.framework/Versions/A/{name}"


def wheel_framework(name: str, min_os: tuple[int, int], loads: Sequence[str] = ()) -> dict[str, bytes]:
    """Return a framework's files as PySide6's wheels contain them: no links, a copy of Resources."""
    folder, info = f"PySide6/Qt/lib/{name}.framework", plistlib.dumps({"CFBundleExecutable": name})
    library = program(libraries=loads, rpaths=["@loader_path/../../../"], min_os=min_os, signed=signature(None))
    return {f"{folder}/Versions/A/{name}": library} | {
        f"{folder}/{place}Resources/Info.plist": info for place in ("", "Versions/A/")
    }


def small_site(site: Path, min_os: tuple[int, int]) -> None:
    """Create every pinned package with the few files that the checks look at."""
    libraries = {"rpaths": ["@loader_path/lib"], "min_os": min_os, "signed": signature(None)}
    shared = {**libraries, "rpaths": ["@loader_path"]}
    metal = b"MTLB" + (b" kernels, nax kernels" if min_os[0] >= 26 else b" kernels")
    contents: dict[str, dict[str, bytes]] = {
        "mlx": {"mlx/core.cpython-313-darwin.so": program(BUNDLE, libraries=["@rpath/libmlx.dylib"], **libraries)},
        "mlx-metal": {"mlx/lib/libmlx.dylib": program(min_os=min_os, signed=signature(None)), "mlx/lib/mlx.metallib": metal},
        "mlx-lm": {"mlx_lm/models/qwen3.py": b"pass\n", "mlx_lm/chat_templates/one.py": b"chat_template = ''\n"},
        "pyside6-essentials": pyside6(min_os),
        "shiboken6": {
            "shiboken6/__init__.py": b"pass\n",
            "shiboken6/Shiboken.abi3.so": program(BUNDLE, libraries=["@rpath/libshiboken6.dylib"], **shared),
            "shiboken6/libshiboken6.dylib": program(min_os=(15, 0), signed=signature(None)),
            "shiboken6/include/shiboken.h": b"",
        },
    }
    for name, version in check.Expected(ROOT, (14, 0)).pins.items():
        install(site, name, version, contents.get(name, {f"{name.replace('-', '_')}.py": b"pass\n"}))
    qt.prune(site, ROOT)
    release.link_frameworks(site)


def expected(min_os: str = "14.0", signed: bool = True, checkout: Path = ROOT, **more: object) -> object:
    return check.Expected(checkout, check.version_of(min_os), signed, **more)


def entitlements() -> dict[str, bool]:
    return dict(expected().entitlements)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Iterator[Path]:
    """A bundle of a small checkout."""
    folder = tmp_path_factory.mktemp("good")
    small_site(folder / "site", (14, 0))
    app = assemble(folder, folder / "site", entitlements=entitlements(), checkout=checkout)
    yield app
    findings = check.examine(app, expected(checkout=checkout, build_root=ROOT)).findings
    assert findings == [], "a test wrote into a file of the good bundle"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of this checkout."""
    folder = tmp_path_factory.mktemp("whole")
    small_site(folder / "site", (14, 0))
    return assemble(folder, folder / "site", entitlements=entitlements())


def copied(good: Path, folder: Path) -> Path:
    """Return a bundle with the same files, which are written only with `replace`. The starter is a copy: its mode changes."""

    def copy(file: str, to: str) -> None:
        (shutil.copy2 if file.endswith(STARTER) else os.link)(file, to)

    return Path(shutil.copytree(good, folder / "Slipstream.app", symlinks=True, copy_function=copy))


def replace(file: Path, data: bytes) -> None:
    """Write a file, or a new one in place of a link."""
    if file.exists() and file.stat().st_nlink > 1:
        file.unlink()
    file.write_bytes(data)


def test_a_good_bundle_passes(whole: Path, checkout: Path, tmp_path: Path) -> None:
    bundle = check.examine(whole, expected(build_root=ROOT))
    assert bundle.findings == []
    assert any("shiboken6" in note and "macOS 15.0" in note for note in bundle.notes)
    small_site(tmp_path / "site", (26, 2))
    app = assemble(tmp_path, tmp_path / "site", NEWEST, entitlements(), checkout)
    assert check.examine(app, expected(NEWEST, checkout=checkout)).findings == []


PACKAGES = "Contents/Resources/app_packages"
APP = "Contents/Resources/app"
LIBMLX = f"{PACKAGES}/mlx/lib/libmlx.dylib"
QTCORE = f"{PACKAGES}/PySide6/Qt/lib/QtCore.framework"
STARTER = "Contents/MacOS/Slipstream"
QT = f"{PACKAGES}/PySide6/Qt"
COMPILED = f"{APP}/app/__pycache__/__main__.cpython-313.pyc"
NOT_COMPILED = r"app/__main__.py: is not compiled for Python 3\.13"
Break = Callable[[Path], object]


def rewrite(path: str, data: bytes) -> Break:
    return lambda app: replace(app / path, data)


def remove(path: str) -> Break:
    return lambda app: (app / path).unlink()


def move(path: str, to: str) -> Break:
    return lambda app: shutil.move(app / path, app / to)


def plist(**changes: object) -> Break:
    def change(app: Path) -> None:
        file = app / "Contents/Info.plist"
        replace(file, plistlib.dumps({**plistlib.loads(file.read_bytes()), **changes}))

    return change


def recompile(change: Callable[[bytes], bytes]) -> Break:
    return lambda app: replace(app / COMPILED, change((app / COMPILED).read_bytes()))


def rename_package(before: str, after: str) -> Break:
    def change(app: Path) -> None:
        folder = next((app / PACKAGES).glob(f"{before}-*.dist-info"))
        record = (folder / "RECORD").read_text().replace(folder.name, after)
        replace(folder / "RECORD", record.encode())
        folder.rename(folder.with_name(after))

    return change


def drop_license(app: Path) -> None:
    file = app / APP / "resources/licenses.txt"
    replace(file, file.read_bytes().replace(b"\nrich 15", b"\nrich 14"))


def start_with(**said: object) -> Break:
    return rewrite(STARTER, starter(**{"signed": signature(entitlements()), **said}))


UNSIGNED = signature(None, hardened=False)
# How a good bundle is damaged, and what every finding must match
BROKEN: dict[str, tuple[Break, str]] = {
    "a library for both architectures": (rewrite(LIBMLX, universal(signed=signature(None))), "not only arm64"),
    "a library for Intel": (rewrite(LIBMLX, program(architecture=X86_64, signed=signature(None))), "not only arm64"),
    "a library for a newer system": (rewrite(LIBMLX, program(min_os=(26, 2), signed=signature(None))), "needs macOS 26.2"),
    "a library newer than is known of its package": (
        rewrite(f"{PACKAGES}/shiboken6/libshiboken6.dylib", program(min_os=(15, 4), signed=signature(None))),
        "needs macOS 15.4",
    ),
    "a search path of the builder": (
        rewrite(LIBMLX, program(rpaths=["/opt/homebrew/lib"], signed=signature(None))),
        "looks for libraries in /opt/homebrew/lib",
    ),
    "a library of the builder": (
        rewrite(LIBMLX, program(libraries=["/usr/local/lib/libx.dylib"], signed=signature(None))),
        "loads /usr/local/lib/libx.dylib",
    ),
    "a library that is nowhere": (
        rewrite(LIBMLX, program(libraries=["@rpath/libjaccl.dylib"], rpaths=["@loader_path"], signed=signature(None))),
        "loads @rpath/libjaccl.dylib",
    ),
    "a library that others would find": (
        rewrite(f"{PACKAGES}/shiboken6/libshiboken6.dylib", program(libraries=["@rpath/libmlx.dylib"], signed=signature(None))),
        "libshiboken6.dylib: loads @rpath/libmlx.dylib",
    ),
    "a broken program": (rewrite(LIBMLX, program()[:60]), "can't be read as a program|was changed"),
    "a framework as in its wheel": (
        lambda app: (
            (app / QTCORE / "Versions/Current").unlink(),
            (app / QTCORE / "Resources").unlink(),
            shutil.copytree(app / QTCORE / "Versions/A/Resources", app / QTCORE / "Resources"),
        ),
        "no link Versions/Current|should be a link|QtCore: is missing|link out of the bundle or to nothing",
    ),
    "a framework without a link to its library": (remove(f"{QTCORE}/QtCore"), "QtCore: is missing"),
    "no kernels": (remove(f"{PACKAGES}/mlx/lib/mlx.metallib"), "mlx.metallib"),
    "kernels in another place": (move(f"{PACKAGES}/mlx/lib/mlx.metallib", f"{PACKAGES}/mlx/mlx.metallib"), "mlx.metallib"),
    "kernels that are none": (rewrite(f"{PACKAGES}/mlx/lib/mlx.metallib", b"version https://git-lfs"), "mlx.metallib"),
    "a package without a data file": (
        remove(f"{PACKAGES}/mlx_lm/chat_templates/one.py"),
        r"is missing, though mlx_lm|one.cpython-313.pyc: is left over",
    ),
    "a package that was changed": (
        rewrite(f"{PACKAGES}/mlx_lm/models/qwen3.py", b"evil()\n"),
        "was changed|qwen3.py: is not compiled",
    ),
    "a package of another version": (rename_package("mlx_lm", "mlx_lm-0.33.0.dist-info"), "mlx-lm is 0.33.0, not 0.32.2"),
    "a package less": (lambda app: shutil.rmtree(next((app / PACKAGES).glob("pyobjc_core-*"))), "pyobjc-core is missing"),
    "a package more": (
        lambda app: install(app / PACKAGES, "evil", "1.0", {"evil.py": b""}),
        "evil is not a pinned package|evil.py: is not compiled",
    ),
    "no demo pair": (remove(f"{APP}/resources/demo_pair/target/model.safetensors"), "model.safetensors: is missing"),
    "another source": (rewrite(f"{APP}/app/__main__.py", b""), "differs from app/__main__.py|is not compiled"),
    "another least system": (plist(LSMinimumSystemVersion="11.0"), "LSMinimumSystemVersion is '11.0'"),
    "another build": (plist(CFBundleVersion="1"), "CFBundleVersion is '1', not "),
    "a text without its translation": (remove("Contents/Resources/de.lproj/InfoPlist.strings"), "is not packaging/release/local"),
    "another version": (plist(CFBundleShortVersionString="9.9"), "CFBundleShortVersionString"),
    "a blurred window": (plist(NSHighResolutionCapable=False), "NSHighResolutionCapable"),
    "a language less": (plist(CFBundleLocalizations=["en", "de"]), "CFBundleLocalizations"),
    "no languages": (plist(CFBundleAllowMixedLocalizations=False), "CFBundleAllowMixedLocalizations"),
    "no document types": (plist(CFBundleDocumentTypes=[]), "CFBundleDocumentTypes"),
    "a question that nothing asks": (plist(NSMicrophoneUsageDescription="Why not."), "NSMicrophoneUsageDescription is not used"),
    "a broken Info.plist": (rewrite("Contents/Info.plist", b"<plist>"), "Info.plist: can't be read"),
    "another icon": (rewrite("Contents/Resources/app.icns", b"icns"), "is not the icon"),
    "a program that cannot start": (lambda app: (app / STARTER).chmod(0o644), "not executable"),
    "a starter for Intel": (start_with(architecture=X86_64), "Slipstream: is for .* not only arm64"),
    "a starter for a newer system": (start_with(min_os=(15, 0)), "Slipstream: needs macOS 15.0"),
    "a starter that is a library": (start_with(kind=DYLIB), "Slipstream: is not an executable program"),
    "a starter that is a script": (
        rewrite(STARTER, b"#!/bin/sh\n"),
        "Slipstream: is not an executable program|loads @rpath/Python",
    ),
    "a starter for another Python": (
        start_with(libraries=["@rpath/Python.framework/Versions/3.12/Python"]),
        "does not load Python 3.13|loads @rpath/Python.framework/Versions/3.12/Python",
    ),
    "a starter that looks for the machine's Python": (
        start_with(rpaths=["/Library/Frameworks"]),
        "looks for libraries in /Library/Frameworks|loads @rpath/Python.framework",
    ),
    "no Python": (
        lambda app: shutil.rmtree(app / PYTHON),
        "loads @rpath/Python.framework|has no (standard library|importlib)|link out of the bundle or to nothing|Python: is missing",
    ),
    "a Python for both processors": (
        rewrite(f"{PYTHON}/Python", universal(signed=signature(None))),
        "Python: is for .*not only arm64",
    ),
    "a Python for a newer system": (
        rewrite(f"{PYTHON}/Python", program(min_os=(26, 0), signed=signature(None))),
        "Versions/3.13/Python: needs macOS 26.0",
    ),
    "a Python without a signature": (rewrite(f"{PYTHON}/Python", program()), "not signed for the hardened runtime"),
    "an extension module of Python for Intel": (
        rewrite(f"{PYTHON}/{DYNLOAD}/math.cpython-313-darwin.so", program(BUNDLE, X86_64, signed=signature(None))),
        "math.cpython-313-darwin.so: is for .* not only arm64",
    ),
    "a library of Python less": (remove(f"{PYTHON}/lib/libssl.3.dylib"), "_ssl.*: loads @rpath/Python.framework/.*libssl"),
    "no standard library": (
        remove(f"{PYTHON}/lib/python3.13/encodings/__init__.py"),
        "has no standard library|encodings/__pycache__/__init__.cpython-313.pyc: is left over",
    ),
    "Python's own tests": (lambda app: (app / PYTHON / "lib/python3.13/test").mkdir(), "test: should have been removed"),
    "a license that is not told": (drop_license, "lacks the license of rich 15|licenses.txt: differs"),
    "no licenses": (remove(f"{APP}/resources/licenses.txt"), "licenses.txt: is missing"),
    "an entitlement too many": (
        start_with(signed=signature({**entitlements(), "com.apple.security.get-task-allow": True})),
        r"entitlements: \['com.apple.security.get-task-allow'\] not allowed",
    ),
    "an entitlement too few": (start_with(signed=signature({})), "entitlements: .* missing"),
    "a library with entitlements": (rewrite(LIBMLX, program(signed=signature(entitlements()))), "entitlements: .* not allowed"),
    "a library without a signature": (rewrite(LIBMLX, program()), "not signed for the hardened runtime"),
    "a signature that is not hardened": (rewrite(LIBMLX, program(signed=UNSIGNED)), "not signed for the hardened runtime"),
    "no seal": (remove("Contents/_CodeSignature/CodeResources"), "not signed as a whole"),
    "a link that leads out": (lambda app: (app / APP / "out").symlink_to("/usr/bin"), "link out of the bundle"),
    "a part of Qt that the app doesn't use": (
        rewrite(f"{QT}/plugins/imageformats/libqtga.dylib", program(signed=signature(None))),
        "libqtga.dylib: is not used by the app",
    ),
    "a plugin of Qt less": (remove(f"{QT}/plugins/imageformats/libqsvg.dylib"), "libqsvg.dylib: is missing"),
    "a module of Qt less": (remove(f"{PACKAGES}/PySide6/QtSvg.abi3.so"), "QtSvg.abi3.so: is missing"),
    "a library of Qt less": (lambda app: shutil.rmtree(app / f"{QT}/lib/QtDBus.framework"), "QtGui: loads @rpath/QtDBus.framework"),
    "a translation of Qt less": (remove(f"{QT}/translations/qtbase_de.qm"), "qtbase_de.qm: is missing"),
    "a module that is not compiled": (remove(COMPILED), NOT_COMPILED),
    "a module compiled by another Python": (recompile(lambda data: b"\xa7" + data[1:]), NOT_COMPILED),
    "a module that is compared with its source": (recompile(lambda data: data[:4] + b"\3" + data[5:]), NOT_COMPILED),
    "a module compiled from another source": (recompile(lambda data: data[:8] + bytes(8)), NOT_COMPILED),
    "a module compiled for another Python": (
        rewrite(COMPILED.replace("-313", "-312"), b"\0"),
        "__main__.cpython-312.pyc: is left over",
    ),
    "a compiled module without its source": (
        rewrite(COMPILED.replace("__main__", "other"), b"\0"),
        "other.cpython-313.pyc: is left over",
    ),
    "a compiled file": (rewrite(f"{APP}/app/x.pyc", b"\0"), "left over from the build"),
    "the path of the build": (rewrite(f"{PACKAGES}/made.txt", f"in {ROOT}".encode()), "contains the path of the build"),
    "a script": (
        lambda app: ((app / PACKAGES / "bin").mkdir(), (app / PACKAGES / "bin/hf").write_bytes(b"#!/usr/bin/python3\n")),
        "is a script for the build machine's Python",
    ),
}


# In `make test`, bundles have several kinds of damage. Neighbors in the list may damage the same file.
STRIDE = 19 if SAMPLE else len(BROKEN)


@pytest.mark.parametrize("first", range(STRIDE))
def test_every_kind_of_damage_is_found_and_nothing_else(good: Path, checkout: Path, tmp_path: Path, first: int) -> None:
    app, patterns = copied(good, tmp_path), []
    for damage, finding in list(BROKEN.values())[first::STRIDE]:
        damage(app)
        patterns.append(finding)
    findings = check.examine(app, expected(checkout=checkout, build_root=ROOT)).findings
    causes = [[pattern for pattern in patterns if check.re.search(pattern, one)] for one in findings]
    assert all(len(one) == 1 for one in causes), list(zip(findings, causes, strict=True))
    assert {pattern for one in causes for pattern in one} == set(patterns), findings


def test_kernels_of_an_older_wheel_are_found_in_the_newest_build(checkout: Path, tmp_path: Path) -> None:
    small_site(tmp_path / "site", (14, 0))
    app = assemble(tmp_path, tmp_path / "site", NEWEST, entitlements(), checkout)
    assert [one.partition(": ")[2] for one in check.examine(app, expected(NEWEST, checkout=checkout)).findings] == [
        "lacks the kernels for the newest chips: it is from an older system's wheel"
    ]


def test_a_bundle_that_is_too_big_is_found(whole: Path) -> None:
    findings = check.examine(whole, expected(size_budget=1 << 20)).findings
    assert len(findings) == 1 and "more than the limit of 1 MB" in findings[0]


def test_the_command_prints_errors_and_sets_the_exit_code(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([str(whole), "--signed"]) == 0 and "No problems found." in capsys.readouterr().out
    app = copied(whole, tmp_path)
    (app / LIBMLX).with_name("mlx.metallib").unlink()
    assert check.main([str(app)]) == 1
    assert "error Contents/Resources/app_packages/mlx/lib/mlx.metallib" in capsys.readouterr().out
    command = [sys.executable, str(ROOT / "packaging/check_bundle.py"), str(tmp_path)]
    assert subprocess.run(command, capture_output=True).returncode == 2


@pytest.mark.long
@pytest.mark.parametrize("min_os", ["14.0", NEWEST])
def test_a_bundle_of_the_macs_real_wheels_and_its_damage(
    release_tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, min_os: str
) -> None:
    """All wheels are real; the app's program and Python are not (see tests/packaging/assembled.py)."""
    monkeypatch.setenv("PATH", str(release_tools), prepend=":")
    site = tmp_path / "app_packages"
    licenses.fetch(site, min_os)
    assert licenses.collect(site) == (ROOT / "resources/licenses.txt").read_text(encoding="utf-8")
    thin_and_clean(site)
    app = assemble(tmp_path, site, min_os)
    good = check.examine(app, expected(min_os, signed=False))
    assert good.findings == []
    assert len(good.programs) > 50
    metallib = app / PACKAGES / "mlx/lib/mlx.metallib"
    assert metallib.stat().st_size > 100 << 20

    def damaged(path: Path, data: bytes | None) -> list[str]:
        before = path.read_bytes() if path.exists() else None
        if data is None:
            path.unlink()
        else:
            path.write_bytes(data)
        findings = check.examine(app, expected(min_os, signed=False)).findings
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_bytes(before)
        return findings

    packages = app / PACKAGES
    qt = packages / "PySide6/Qt/lib/QtCore.framework/Versions/A/QtCore"
    if min_os == NEWEST:
        found = damaged(metallib, b"MTLB of an older wheel")
        assert found and all(check.re.search("lacks the kernels|was changed", one) for one in found)
        return
    for path, data, finding in (
        (metallib, None, "mlx.metallib"),
        (metallib, b"MTLC", "is not a Metal library|was changed|lacks the kernels"),
        (packages / "mlx/lib/libmlx.dylib", program(min_os=(27, 0)), "needs macOS 27.0"),
        (packages / "mlx/lib/libjaccl.dylib", None, "libjaccl"),
        (qt, program(architecture=X86_64), "not only arm64"),
        (qt, program(rpaths=["/usr/local/lib"]), "looks for libraries in /usr/local/lib"),
        (packages / check.UNUSED_PATHS[0], program(libraries=["@rpath/libx.dylib"]), "by a search path of its builder|libx"),
        (packages / "mlx_lm/models/qwen3.py", None, "mlx_lm"),
        (packages / "numpy/__init__.py", b"", "was changed|is not compiled"),
        (app / "Contents/Resources/app/resources/demo_pair/drafter/config.json", None, "is missing"),
        (app / "Contents/Info.plist", b"", "Info.plist"),
        (app / PYTHON / "Python", program(DYLIB, min_os=(28, 0)), "needs macOS 28.0"),
    ):
        found = damaged(path, data)
        assert found and not [one for one in found if not check.re.search(finding, one)], (path, found)
