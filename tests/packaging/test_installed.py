"""Wheel and sdist are complete, and an installed wheel runs outside the checkout, read-only, with an empty home folder."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.packaging import ROOT
from tests.tracked import tracked

PARTS = ("app", "mlx_engine", "metal", "resources", "docs")
# Root can write everywhere except to a read-only mount
READ_ONLY = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"')
PATIENCE_S = 300  # for a busy machine


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the tracked files, so that no local file gets into the build."""
    folder = tmp_path_factory.mktemp("source")
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


def build(source: Path, kind: str, to: Path) -> Path:
    """Build with the build system of pyproject.toml."""
    code = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(to)!r}))"
    made = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=True)
    return to / made.stdout.split()[-1]


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(source, "wheel", tmp_path_factory.mktemp("wheel"))


def test_the_wheel_contains_exactly_the_apps_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert held == {name for name in tracked() if name.split("/")[0] in PARTS}
        for name in ("resources/licenses.txt", "resources/demo_pair/target/model.safetensors", "resources/icon/Slipstream.icns"):
            assert archive.read(name) == (ROOT / name).read_bytes()


@pytest.mark.long
def test_the_sdist_builds_the_same_wheel(source: Path, wheel: Path, tmp_path: Path) -> None:
    sdist = build(source, "sdist", tmp_path)
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (folder,) = (tmp_path / "unpacked").iterdir()
    (tmp_path / "again").mkdir()
    again = build(folder, "wheel", tmp_path / "again")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert {name: one.read(name) for name in one.namelist()} == {name: other.read(name) for name in other.namelist()}


class Installed:
    """A read-only environment with the wheel installed, and an empty home folder."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.home = folder / "home"
        self._environment = environment
        self._prefix = (*READ_ONLY, str(folder / "environment")) if os.geteuid() == 0 else ()

    def start(self, *command: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self._prefix, str(self.folder / "environment/bin" / command[0]), *command[1:]],
            cwd=self.home,
            env={**self._environment, "HOME": str(self.home), "TMPDIR": str(self.folder / "temporary"), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str, **environment: str) -> tuple[int, str, str]:
        process = self.start(*command, **environment)
        out, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out, err


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Iterator[Installed]:
    """Install the wheel and the pinned versions from the package index."""
    keep = ("PATH", "LANG", "LC_ALL")
    index = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    environment = {name: os.environ[name] for name in keep if name in os.environ}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "environment"], check=True)
        pip = [folder / "environment/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command = [*pip, "--constraint", ROOT / "packaging/constraints.txt", wheel]
        subprocess.run(command, check=True, env={**environment, **index, "HOME": os.environ.get("HOME", name)})
        for place in ("home", "temporary"):
            (folder / place).mkdir()
        subprocess.run(["chmod", "-R", "a-w", folder / "environment"], check=True)
        made = Installed(folder, environment)
        status, _, err = made.run("python", "-c", "import sys; open(sys.prefix + '/written', 'w')")
        assert status and ("Read-only" in err or "Permission" in err), err
        yield made
        subprocess.run(["chmod", "-R", "u+w", folder / "environment"], check=True)


@contextmanager
def screen() -> Iterator[str]:
    """Start an X server and yield its display."""
    if sys.platform == "darwin":
        # skipped: a Mac has no X server; the bundle's self-test opens the window there
        pytest.skip("a Mac has no X server; the bundle's self-test opens the window there")
    if shutil.which("Xvfb") is None:
        pytest.fail("Xvfb is missing. Install it with: sudo apt-get install -y xvfb")
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1440x900x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        with os.fdopen(read) as number:
            yield f":{number.readline().strip()}"
    finally:
        server.terminate()
        server.wait()


@pytest.mark.long
def test_the_self_test_passes_when_installed(installed: Installed) -> None:
    with screen() as display:
        status, out, err = installed.run("slipstream-app", "--selftest", DISPLAY=display, QT_QPA_PLATFORM="xcb")
    assert status == 0, out + err
    report = json.loads(out)
    assert report["ok"] and {"identical", "window"} <= {step["name"] for step in report["steps"] if step["state"] == "ok"}
    assert "on xcb" in out


@pytest.mark.long
def test_the_app_starts_and_quits_when_installed(installed: Installed) -> None:
    with screen() as display:
        app = installed.start("slipstream-app", DISPLAY=display, QT_QPA_PLATFORM="xcb")
        deadline = time.monotonic() + PATIENCE_S
        while not (logs := list(installed.home.rglob("slipstream.log"))) and time.monotonic() < deadline and app.poll() is None:
            time.sleep(0.2)
        time.sleep(5)  # the window is open, and the pair is loading
        running = app.poll() is None
        app.send_signal(signal.SIGINT)
        out, err = app.communicate(timeout=PATIENCE_S)
    assert running and app.returncode == 0, out + err
    assert "Traceback" not in err and logs
    log = logs[0].read_text()
    assert "Slipstream starts" in log and "Slipstream ends" in log and "Traceback" not in log


@pytest.mark.long
def test_the_command_works_when_installed(installed: Installed) -> None:
    status, out, err = installed.run("slipstream", "compare", "How many divisors does 84 have?", "--json")
    assert status == 0, err
    assert json.loads(out)
    status, out, _ = installed.run("slipstream", "--version")
    assert status == 0 and out.startswith("slipstream ")
