"""Briefcase's own macOS template gives the bundle that the release steps and the checks expect.

The template comes from the folder in BRIEFCASE_TEMPLATE, or from GitHub.
"""

import filecmp
import json
import os
import plistlib
import subprocess
from pathlib import Path

import pytest

from tests.packaging import ROOT, script
from tests.packaging.assembled import info_plist

URL = "https://github.com/beeware/briefcase-macOS-app-template.git"
DRIVER = Path(__file__).with_name("drive_briefcase.py")
release, check = script("release/release.py"), script("check_bundle.py")


@pytest.fixture(scope="module")
def template() -> str:
    if folder := os.environ.get("BRIEFCASE_TEMPLATE"):
        return folder
    try:
        subprocess.run(["git", "ls-remote", "--exit-code", URL, "HEAD"], check=True, capture_output=True, timeout=60)
    except subprocess.SubprocessError:
        pytest.skip("GitHub, where Briefcase's template is, can't be reached. The workflow mac.yml runs this test.")
    return URL


@pytest.mark.long
def test_the_template_gives_the_expected_names_plist_and_paths(
    template: str, release_tools: Path, tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    command = [release_tools / "python", DRIVER, template, tmp_path]
    result = subprocess.run(command, cwd=ROOT, env=clean_environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    paths = json.loads(result.stdout.splitlines()[-1])
    app = tmp_path / paths["app"]
    assert app == tmp_path / release.BUILT.relative_to(ROOT)
    bundle = check.Bundle(app, check.Expected(ROOT, (14, 0)))
    assert tmp_path / paths["executable"] == bundle.starter
    assert tmp_path / paths["packages"] == bundle.packages
    assert tmp_path / paths["python"] == app / "Contents/Frameworks/Python.framework"

    assert plistlib.loads((tmp_path / paths["plist"]).read_bytes()) == info_plist("14.0")
    assert plistlib.loads((tmp_path / paths["entitlements"]).read_bytes()) == bundle.expected.entitlements
    check.check_sources(bundle)
    check.check_info(bundle)
    missing = "Contents/MacOS/Slipstream: is missing or not executable"  # the launcher comes from another server
    assert bundle.findings == [missing]
    icon = app / "Contents/Resources" / bundle.info["CFBundleIconFile"]
    assert filecmp.cmp(icon, ROOT / "resources/icon/Slipstream.icns", shallow=False)
