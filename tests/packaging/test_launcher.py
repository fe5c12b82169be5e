"""Child processes end without help when the bundle's launcher runs them, whatever goes wrong in them."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

LAUNCHER = Path(__file__).with_name("launcher.py")
TIMEOUT_S = 60
RAISE = "raise ValueError('a bug')"
WRITES_TO_NOBODY = """
import os, socket
reader, writer = os.pipe()
here, there = socket.socketpair()
os.close(reader)
there.close()
for write in (lambda: os.write(writer, b"x"), lambda: here.send(b"x")):
    try:
        write()
    except BrokenPipeError:
        print("not read")
"""
THREAD = "import threading, time; threading.Thread(target=time.sleep, args=(3600,)).start()\n"


def launch(tmp_path: Path, *arguments: str, code: str | None = None) -> SimpleNamespace:
    """Run the app with these arguments. `code` is what the module mlx_engine.child_of_a_test does."""
    alert, packages = tmp_path / "alert.txt", tmp_path / "app_packages"
    packages.mkdir()
    paths = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "paths.pth").write_text("\n".join(paths) + "\nimport child_modules\n")
    (packages / "child_modules.py").write_text(f"import mlx_engine\nmlx_engine.__path__.append({str(tmp_path)!r})\n")
    if code is not None:
        (tmp_path / "child_of_a_test.py").write_text(code)
    command = [sys.executable, "-I", "-S", str(LAUNCHER), str(alert), str(packages), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"The process did not end. Alert: {alert.read_text() if alert.exists() else 'none'}\n{err}")
    assert not alert.exists()
    return SimpleNamespace(status=process.returncode, out=out, err=err)


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("print('done')", 0, ""),
        (RAISE, 1, "ValueError: a bug"),
        (THREAD + RAISE, 1, "ValueError: a bug"),
        ("raise KeyboardInterrupt", 1, "KeyboardInterrupt"),
        ("raise SystemExit", 0, ""),
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit('no model')", 1, "no model"),
    ],
)
def test_a_child_ends_with_its_status_and_error(tmp_path: Path, code: str, status: int, error: str) -> None:
    child = launch(tmp_path, "--child", "mlx_engine.child_of_a_test", code=code)
    assert child.status == status, child.err
    assert error in child.err
    assert (child.out.strip() == "done") is ("done" in code)  # standard output is the launcher's, not the system log


def test_writing_to_a_closed_pipe_or_socket_is_an_error_not_the_end(tmp_path: Path) -> None:
    child = launch(tmp_path, "--child", "mlx_engine.child_of_a_test", code=WRITES_TO_NOBODY)
    assert child.status == 0, child.err
    assert child.out.split("\n") == ["not read", "not read", ""]


def test_a_file_that_exceeds_the_limit_is_an_error_not_the_end(tmp_path: Path) -> None:
    code = """
import resource, tempfile
resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
with tempfile.TemporaryFile(buffering=0) as file:
    try:
        file.write(b"x")
        file.write(b"x")
    except OSError:
        print("too large")
"""
    child = launch(tmp_path, "--child", "mlx_engine.child_of_a_test", code=code)
    assert child.status == 0 and child.out == "too large\n", child.err


def test_a_module_that_does_not_exist_ends_the_child(tmp_path: Path) -> None:
    child = launch(tmp_path, "--child", "mlx_engine.no_such_module")
    assert child.status == 1 and "no_such_module" in child.err


def test_a_child_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    child = launch(tmp_path, "--child", "http.server")
    assert child.status == 2 and "--child requires" in child.err


def test_an_unknown_argument_of_the_self_test_ends_it(tmp_path: Path) -> None:
    child = launch(tmp_path, "--selftest", "--no-such-option")
    assert child.status == 2 and "unknown arguments" in child.out
