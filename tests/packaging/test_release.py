"""The release steps: what each does, in which order, and its errors."""

import hashlib
import importlib.util
import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.packaging import ROOT, script
from tests.packaging.assembled import ARM64, X86_64, assemble, bytecode, program, universal

release = script("release/release.py")
SECRETS = {
    "SLIPSTREAM_SIGNING_IDENTITY": "Developer ID Application: Nobody (TEAM123456)",
    "SLIPSTREAM_NOTARY_KEY_FILE": "/nowhere/key.p8",
    "SLIPSTREAM_NOTARY_KEY_ID": "KEYKEYKEY1",
    "SLIPSTREAM_NOTARY_ISSUER": "1234-issuer",
    "SLIPSTREAM_CERTIFICATE_FILE": "/nowhere/certificate.p12",
    "SLIPSTREAM_CERTIFICATE_PASSWORD": "password-of-certificate",
    "SLIPSTREAM_KEYCHAIN_PASSWORD": "password-of-keychain",
}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    site = folder / "site"
    for path in ("mlx/core.so", "mlx/lib/libmlx.dylib", "Qt/lib/QtCore.framework/Versions/A/QtCore"):
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(program())
    (site / "mlx/lib/mlx.metallib").write_bytes(b"MTLB")
    (folder / "macos14").mkdir()
    assemble(folder / "macos14", site)
    return folder


@dataclass
class Result:
    returncode: int
    stdout: str
    stderr: str


def run(step: str, dist: Path, *options: str, **environment: str) -> Result:
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("SLIPSTREAM_", "GITHUB_"))}
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(os, "environ", {**bare, **environment})
        status = release.main([step, "--dist", str(dist), *options])
    return Result(status, out.getvalue(), err.getvalue())


def commands(step: str, dist: Path, *options: str, **environment: str) -> list[str]:
    result = run(step, dist, "--dry-run", *options, **environment)
    assert result.returncode == 0, result.stderr
    return [line.removeprefix("$ ") for line in result.stdout.splitlines() if line.startswith("$ ")]


@pytest.mark.parametrize("step", release.STEPS)
def test_a_dry_run_prints_every_step_changes_nothing_and_prints_no_secret(step: str, dist: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in dist.rglob("*")}
    stamp = release.STAMP.read_bytes() if release.STAMP.exists() else None
    with_secrets = run(step, dist, "--dry-run", **SECRETS)
    without = run(step, dist, "--dry-run")
    assert with_secrets.returncode == without.returncode == 0, with_secrets.stderr + without.stderr
    assert with_secrets.stdout and without.stdout
    for result in (with_secrets, without):
        assert not [name for name, value in SECRETS.items() if value in result.stdout + result.stderr]
    assert {path: path.stat().st_mtime_ns for path in dist.rglob("*")} == before
    assert (release.STAMP.read_bytes() if release.STAMP.exists() else None) == stamp


@pytest.mark.parametrize("step", ["keychain", "image", "notarize"])
def test_a_real_run_prints_no_secret(step: str, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release.sys, "platform", "darwin")
    monkeypatch.setattr(release.subprocess, "run", lambda words, **options: subprocess.CompletedProcess(words, 0))
    result = run(step, dist, **SECRETS)
    assert result.returncode == 0, result.stderr
    assert "$SLIPSTREAM_" in result.stdout
    assert not [name for name, value in SECRETS.items() if value in result.stdout + result.stderr]


def test_release_is_a_command(dist: Path) -> None:
    command = [sys.executable, "packaging/release/release.py", "staple", "--dist", str(dist), "--dry-run"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0 and "stapler staple" in result.stdout


def test_the_build_sets_the_minimum_system_and_checks_the_bundle(dist: Path) -> None:
    version = release.Release("14.0", {}).version
    for min_os in ("14.0", "26.2"):
        found = commands("build", dist, "--min-os", min_os)
        briefcase = [line for line in found if " briefcase " in line]
        assert [re.search(r"briefcase (\w+) macOS app", line)[1] for line in briefcase] == ["create", "build"]
        assert all(f'min_os_version="{min_os}"' in line and f'build="{version}"' in line for line in briefcase)
        assert "check_bundle.py" in found[-1] and f"--min-os {min_os}" in found[-1]


@pytest.mark.parametrize(("bundled", "runs"), [((3, 14), (3, 13, 0)), ((3, 13), (3, 14, 0)), ((3, 15), (3, 15, 1))])
def test_a_python_whose_output_goes_to_the_system_log_is_refused(
    dist: Path, monkeypatch: pytest.MonkeyPatch, bundled: tuple[int, int], runs: tuple[int, int, int]
) -> None:
    monkeypatch.setattr(release, "PYTHON", bundled)
    monkeypatch.setattr(release.sys, "version_info", runs)
    result = run("build", dist)
    assert result.returncode == 1 and "system log" in result.stderr and "Build with Python 3.13" in result.stderr


@pytest.mark.parametrize("version", ["0.2", "0.2.0rc1", "0.2.0.dev3", "1.2.3.4"])
def test_a_version_that_macos_cannot_order_is_refused(dist: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(release.Release, "version", version)
    result = run("build", dist, "--dry-run")
    assert result.returncode == 1 and version in result.stderr and "three numbers" in result.stderr


def test_modules_are_compiled_for_good_and_without_the_builders_path(tmp_path: Path) -> None:
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    library, packages, sources = bytecode.folders(tmp_path, python)
    for folder in (library, packages / "package", sources):
        folder.mkdir(parents=True)
        (folder / "module.py").write_text("import sys\nFILE = sys._getframe().f_code.co_filename\n")
    for path in ("numpy/tests/test_it.py", "transformers/models/qwen3/modeling_qwen3.py"):
        (packages / path).parent.mkdir(parents=True)
        (packages / path).touch()
    subprocess.run([sys.executable, *bytecode.command(tmp_path, python)], check=True)
    assert len(list(tmp_path.rglob("*.pyc"))) == len(list(bytecode.sources(tmp_path, python))) == 3
    magic = importlib.util.MAGIC_NUMBER
    for folder in (library, packages / "package", sources):
        source = folder / "module.py"
        file = bytecode.compiled(source, python)
        assert bytecode.is_compiled(source, python, magic) and bytecode.source_of(file, python) == source
        assert str(tmp_path).encode() not in file.read_bytes()
    times = "import module, os; os.utime(module.__file__, (1, 1)); print(module.FILE == module.__file__)"
    command = [sys.executable, "-c", times]
    for _ in range(2):  # after the first run, the source has another time
        ran = subprocess.run(command, cwd=sources, env={"PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True)
        assert ran.stdout == "True\n", ran.stderr
    (sources / "module.py").write_text("raise ValueError\n")
    assert not bytecode.is_compiled(sources / "module.py", python, magic)
    assert subprocess.run(command, cwd=sources, env={"PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True).returncode == 0


def test_a_build_knows_which_macos_it_is_for(dist: Path) -> None:
    for min_os, build in (("14.0", "macos14"), ("26.2", "macos26")):
        assert f'"build": "{build}"' in run("build", dist, "--min-os", min_os, "--dry-run").stdout


def test_universal_programs_are_reduced_to_arm64_and_other_files_kept(tmp_path: Path) -> None:
    file = tmp_path / "Python"
    for data, left in (
        (universal(min_os=(11, 0)), program(min_os=(11, 0))),
        (program(), program()),
        (bytes.fromhex("cafebabe00000041") + b"a Java class", None),
        (b"\xca\xfe", None),
        (b"", None),
    ):
        file.write_bytes(data)
        file.chmod(0o755)
        release.thin(file)
        assert file.read_bytes() == (data if left is None else left)
        assert file.stat().st_mode & 0o777 == 0o755
    file.write_bytes(universal().replace(ARM64.to_bytes(4, "big"), X86_64.to_bytes(4, "big"), 1))
    with pytest.raises(release.Refusal, match="no part for arm64"):
        release.thin(file)


def framework(folder: Path) -> Path:
    """Create a framework as PySide6's wheels contain it."""
    root = folder / "QtCore.framework"
    for path in ("Versions/A/QtCore", "Versions/A/Resources/Info.plist", "Resources/Info.plist"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"data")
    return root


def test_frameworks_get_the_links_that_wheels_lack(tmp_path: Path) -> None:
    root = framework(tmp_path / "PySide6/Qt/lib")
    for _ in range(2):  # the second time changes nothing
        release.link_frameworks(tmp_path)
        links = {path.relative_to(root).as_posix(): os.readlink(path) for path in root.rglob("*") if path.is_symlink()}
        current = {name: f"Versions/Current/{name}" for name in ("QtCore", "Resources")}
        assert links == {"Versions/Current": "A", **current}
        assert (root / "Resources/Info.plist").read_bytes() == (root / "QtCore").read_bytes() == b"data"


@pytest.mark.parametrize("change", ["Versions/B/QtCore", "Resources/Info.plist", "Resources/other", "Headers/a.h"])
def test_a_framework_of_another_layout_is_refused(tmp_path: Path, change: str) -> None:
    path = framework(tmp_path) / change
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"other data")
    with pytest.raises(release.Refusal, match=r"QtCore\.framework"):
        release.link_frameworks(tmp_path)


def test_everything_is_done_before_briefcase_signs(dist: Path) -> None:
    lines = run("build", dist, "--dry-run").stdout.splitlines()
    steps = (" create ", "other architectures", "parts of Qt", "frameworks the links", "translations", "compileall", " build macOS")
    places = [next(n for n, line in enumerate(lines) if words in line) for words in steps]
    assert places == sorted(places)


def test_signing_runs_inside_out_and_only_the_app_gets_entitlements(dist: Path) -> None:
    found = commands("sign", dist, **SECRETS)
    assert all("--options runtime" in line and "--timestamp " in line for line in found)
    parts = [line.rpartition("Slipstream.app")[2] for line in found]
    assert parts[-1] == "" and [line for line in found if "--entitlements" in line] == found[-1:]
    places = {part: number for number, part in enumerate(parts)}
    inner = "/Contents/Resources/app_packages/Qt/lib/QtCore.framework"
    assert places[f"{inner}/Versions/A/QtCore"] < places[inner] < places[""]
    assert "/Contents/Resources/app_packages/mlx/lib/libmlx.dylib" in parts
    assert not [part for part in parts if part.endswith(("metallib", ".py", "/Current"))]
    adhoc = commands("sign", dist, SLIPSTREAM_SIGNING_IDENTITY="-")
    assert all("--timestamp=none" in line for line in adhoc)


def test_the_image_is_signed_notarized_and_stapled_in_this_order(dist: Path) -> None:
    found = commands("image", dist, **SECRETS)
    assert [re.search(r"dmgbuild|codesign|notarytool|stapler", line)[0] for line in found] == [
        "dmgbuild",
        "codesign",
        "notarytool",
        "stapler",
    ]
    assert ["notarytool" in line for line in commands("image", dist, SLIPSTREAM_SIGNING_IDENTITY="-")] == [False, False]


def test_verification_checks_signature_and_bundle_and_runs_the_self_test(dist: Path) -> None:
    found = commands("verify", dist, **SECRETS)
    for word in (
        "codesign --verify --deep --strict",
        "check_bundle.py",
        "--signed",
        "stapler validate",
        "spctl --assess",
        "--selftest",
    ):
        assert any(word in line for line in found), word


@pytest.mark.parametrize("step", ["sign", "notarize", "image", "keychain"])
# on a Mac these steps would run: they would sign and submit the test's bundle
@pytest.mark.skipif(sys.platform == "darwin", reason="on a Mac the step would run")
def test_steps_that_need_a_mac_are_refused(step: str, dist: Path) -> None:
    result = run(step, dist)
    assert result.returncode == 1 and "Traceback" not in result.stderr
    assert re.search(r"SLIPSTREAM_\w+ is not set|Run this step on a Mac", result.stderr)
    assert "Run this step on a Mac" in run("staple", dist, **SECRETS).stderr


def test_a_step_that_is_too_early_names_the_step_before_it(tmp_path: Path) -> None:
    assert "Run the step `build` first" in run("sign", tmp_path, **SECRETS).stderr
    assert "Run the step `image` first" in run("checksums", tmp_path).stderr


def test_checksums_are_those_of_the_images(tmp_path: Path) -> None:
    (tmp_path / "a.dmg").write_bytes(b"a")
    (tmp_path / "b.dmg").write_bytes(b"b")
    assert run("checksums", tmp_path).returncode == 0
    lines = (tmp_path / "SHA256SUMS").read_text().splitlines()
    assert lines == [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}.dmg" for name in "ab"]


def test_notes_are_the_changes_of_this_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run("notes", tmp_path)
    assert found.returncode == 0 and found.stdout.strip()
    changes, _, images = found.stdout.partition("\n## Which file")
    assert changes.strip() in (ROOT / "CHANGELOG.md").read_text() and "\n## " not in changes
    for min_os in ("14.0", "26.2"):
        assert f"`{release.Release(min_os, {}).image.name}`" in images


def test_the_disk_image_settings_refer_to_existing_files() -> None:
    code = (ROOT / "packaging/release/disk_image/settings.py").read_text(encoding="utf-8")
    found = {"defines": {"app": "/x/Slipstream.app"}, "__file__": str(ROOT / "packaging/release/disk_image/settings.py")}
    exec(code, found)
    for name in ("icon", "background"):
        assert Path(str(found[name])).is_file()
    locations, (_, (width, height)) = found["icon_locations"], found["window_rect"]
    assert (width, height) == script("icon.py").BACKGROUND_SIZE
    assert all(0 < x < width and 0 < y < height for x, y in locations.values())
