"""The configuration of the Mac's build: Briefcase's table, pinned versions, version and changes."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging import ROOT, script

PYTHONS = ("3.12", "3.13")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
APP = PROJECT["tool"]["briefcase"]["app"]["app"]


def pins(file: Path) -> dict[str, Requirement]:
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.lstrip().startswith("#")]
    return {canonicalize_name(one.name): one for one in map(Requirement, lines)}


def mac(python: str) -> dict[str, Requirement]:
    return pins(ROOT / f"packaging/macos/python{python}.txt")


def on_a_mac(python: str) -> dict[str, str]:
    return {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64", "python_version": python}


def applies(marker: Marker | None, python: str) -> bool:
    return marker is None or marker.evaluate({**on_a_mac(python), "extra": ""})


@pytest.mark.parametrize("python", PYTHONS)
def test_the_macs_versions_include_mac_only_packages(python: str) -> None:
    found = mac(python)
    assert {"mlx", "mlx-metal", "pyobjc-core", "pyobjc-framework-cocoa", "pyside6-essentials"} <= found.keys()
    assert "mlx-cpu" not in found
    metal, mlx = found["mlx-metal"].specifier, found["mlx"].specifier
    assert metal == mlx, "MLX and its Metal package are one release"


@pytest.mark.parametrize("python", PYTHONS)
def test_the_macs_versions_agree_with_the_projects(python: str) -> None:
    everywhere = pins(ROOT / "packaging/constraints.txt")
    for name, pin in mac(python).items():
        assert [clause.operator for clause in pin.specifier] == ["=="], pin
        assert name in everywhere and pin.specifier == everywhere[name].specifier, f"{pin} is not the version in constraints.txt"
    direct = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
    wanted = {canonicalize_name(one.name) for one in direct if applies(one.marker, python)}
    assert wanted <= mac(python).keys()


@pytest.mark.long
def test_resolving_for_the_mac_gives_these_versions(release_tools: Path, tmp_path: Path, clean_environment: Any) -> None:
    environment = {**clean_environment, "PATH": f"{release_tools}:{clean_environment['PATH']}"}
    subprocess.run([ROOT / "packaging/macos/resolve.sh", tmp_path], env=environment, check=True)
    for python in PYTHONS:
        name = f"python{python}.txt"
        assert (tmp_path / name).read_text() == (ROOT / "packaging/macos" / name).read_text()


def test_the_bundle_uses_the_macs_versions_and_mlxs_minimum_system() -> None:
    constraint = APP["requirement_installer_args"][1]
    assert APP["requirement_installer_args"][0] == "--constraint" and (ROOT / constraint).is_file()
    assert APP["macOS"]["min_os_version"] == "14.0" and APP["macOS"]["universal_build"] is False
    for source in APP["sources"]:
        assert (ROOT / source / "__init__.py").is_file()
    assert (ROOT / f"{APP['icon']}.icns").is_file()


def test_wheel_and_bundle_contain_the_same_packages() -> None:
    shipped = {source.split("/")[0] for source in APP["sources"]}
    patterns = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    assert shipped == {pattern.rstrip("*") for pattern in patterns} == {"app", "mlx_engine", "metal", "resources", "docs"}


def texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    else:
        assert isinstance(value, str | bool), f"Briefcase would write {value!r} as text"
        if isinstance(value, str):
            yield value


def test_additions_to_info_plist_are_valid() -> None:
    """Briefcase doesn't escape strings, so XML characters would break the file."""
    info = APP["macOS"]["info"]
    assert not [text for text in texts(info) if re.search("[<>&]", text)]
    assert info["NSHighResolutionCapable"] is True and info["NSRequiresAquaSystemAppearance"] is False
    types = info["CFBundleDocumentTypes"][0]
    assert "public.json" in types["LSItemContentTypes"] and types["LSHandlerRank"] == "Alternate"
    assert all(text.endswith(".") and "Slipstream" in text for key, text in info.items() if key.endswith("UsageDescription"))


def test_texts_for_permissions_are_translated() -> None:
    english = {key: text for key, text in APP["macOS"]["info"].items() if key.endswith("UsageDescription")}
    files = {file.parent.stem: file for file in (ROOT / "packaging/release/localizations").glob("*.lproj/InfoPlist.strings")}
    assert {"en", *files} == set(APP["macOS"]["info"]["CFBundleLocalizations"])
    for file in files.values():
        lines = file.read_text(encoding="utf-8").splitlines()
        assert lines.pop(0).startswith("/* ") and all(re.fullmatch(r'"\w+" = "[^"\\]+";', line) for line in lines), file
        translated = {line.split('"')[1]: line.split('"')[3] for line in lines}
        assert translated.keys() == english.keys() and not set(translated.values()) & set(english.values())
        assert all("Slipstream" in text and text.endswith((".", "。")) for text in translated.values())


# macOS ends a program without the text, and denies access to one without the entitlement
@pytest.mark.parametrize(
    ("entitlement", "texts"),
    [
        ("automation.apple-events", ["AppleEvents"]),
        ("personal-information.addressbook", ["Contacts"]),
        ("personal-information.calendars", ["Calendars", "CalendarsFullAccess", "Reminders", "RemindersFullAccess"]),
        ("personal-information.photos-library", ["PhotoLibrary"]),
    ],
)
def test_programs_of_tools_may_ask_for_permissions(entitlement: str, texts: list[str]) -> None:
    assert APP["macOS"]["entitlement"][f"com.apple.security.{entitlement}"] is True
    for text in texts:
        assert "as a tool" in APP["macOS"]["info"][f"NS{text}UsageDescription"]


def test_the_parts_of_qt_that_python_loads_stay_in_the_bundle() -> None:
    qt = script("qt.py")
    modules = qt.imported_modules(ROOT)
    assert {"QtCore", "QtGui", "QtWidgets"} <= modules
    code = f"""
import sys
from PySide6 import {", ".join(sorted(modules))}
from PySide6.QtCore import QLibraryInfo
print(QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath) + "/qtbase_de.qm")
print(*filter(None, (getattr(module, "__file__", None) for module in sys.modules.values())), sep="\\n")
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = [line.partition("/site-packages/")[2] for line in result.stdout.splitlines()]
    found = [path for path in found if path.startswith(qt.PACKAGES)]
    assert len(found) > len(modules)
    assert [path for path in found if not qt.is_required(path, qt.required(ROOT))] == []


def test_a_childs_output_stays_its_own() -> None:
    """With Python 3.14, or with std-nslog, the launcher redirects standard output to the system log, where no parent reads it."""
    assert script("release/release.py").PYTHON == (3, 13)
    assert APP["requirement_installer_args"][1] == "packaging/macos/python3.13.txt"
    pins = (ROOT / "packaging/macos/python3.13.txt").read_text(encoding="utf-8")
    assert "nslog" not in pins and "nslog" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_every_entitlement_has_a_reason() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    start = lines.index("[tool.briefcase.app.app.macOS.entitlement]")
    reasons, explained = 0, {}
    for line in lines[start + 1 : lines.index("[tool.ruff]")]:
        if line.startswith("#"):
            reasons += 1
        elif line:
            explained[line.split('"')[1]] = reasons
    assert set(explained) == set(APP["macOS"]["entitlement"])
    assert all(explained.values())


def test_version_and_changes_agree() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (\S+)", changes, re.MULTILINE)
    assert versions[0] == PROJECT["project"]["version"]
    numbers = [tuple(map(int, version.split("."))) for version in versions]
    assert numbers == sorted(set(numbers), reverse=True), "CFBundleVersion must increase with each release"
    assert "version" not in PROJECT["tool"]["briefcase"] and "version" not in APP


@pytest.mark.long
def test_briefcase_reads_the_configuration(release_tools: Path) -> None:
    code = """
from pathlib import Path
from briefcase.config import DraftAppConfig, parse_config
from briefcase.console import Console
_, apps = parse_config(Path("pyproject.toml"), platform="macOS", output_format="app", console=Console())
read = apps["app"]
app = DraftAppConfig(app_name=read.pop("app_name"), **read)
print(app.bundle_identifier, app.formal_name, app.version, app.license, app.main_module(), sep="|")
"""
    result = subprocess.run([release_tools / "python", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    version = PROJECT["project"]["version"]
    assert result.stdout.splitlines()[-1] == f"org.slipstream.app|Slipstream|{version}|Apache-2.0|app"
    assert "WARNING" not in result.stdout
