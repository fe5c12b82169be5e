"""Startup: one instance, any home folder, crashes, and child processes without Qt."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtNetwork import QLocalSocket
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.__main__ import main
from app.application import FileOpening
from app.system import data_paths
from app.system.single_instance import MAX_LINE, SingleInstance, address
from tests.benchmarks import window

PATIENCE_S = 120  # for busy machines
ROOT = Path(__file__).parents[2]


def python(code: str, folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """A process of its own, with its temporary files in `folder`."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "TMPDIR": str(folder), "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


# The whole app in a process, with a recording for an engine; it closes itself in mid-reply.
APP = """
import sys
from PySide6.QtCore import QTimer
import app.application as application
import app.window.main_window
from tests.benchmarks.recorded_engine import RecordedEngine

class Closing(application.Slipstream):
    def __init__(self, app, where):
        super().__init__(app, where, RecordedEngine)
        self.services.loader.changed.connect(lambda: self.services.loader.ready and self.services.session.send("Go"))
        self.services.reply_runner.changed.connect(lambda turn: turn.reply.tokens > 30 and self.window.close())
        self.ended.connect(lambda: print("notices:", self.services.notices.texts or seen))
        self.ended.connect(lambda: print("draft:", self.services.message.draft))
    def start(self):
        self.services.notices.posted.connect(lambda notice: seen.append(notice.text))
        super().start()

seen = []
application.Slipstream = Closing
app.window.main_window.confirm = lambda *_: True  # quitting although the chat can't be saved
sys.exit(application.run(["slipstream", *sys.argv[1:]]))
"""


def test_the_app_starts_replies_and_ends_on_ctrl_c_without_errors(tmp_path: Path) -> None:
    code = APP.replace("self.window.close())", "__import__('os').kill(__import__('os').getpid(), 2))")
    process = python(code, tmp_path, "slipstream://new?text=Not%20sent", HOME=str(tmp_path))
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert "Traceback" not in err and "QThread" not in err
    assert "draft: Not sent\n" in out
    log = next(tmp_path.rglob("slipstream.log")).read_text()
    assert "Slipstream starts" in log and "Slipstream ends" in log and "Traceback" not in log


def test_an_unwritable_home_is_reported_once(tmp_path: Path) -> None:
    process = python(APP, tmp_path, HOME="/dev/null", XDG_CONFIG_HOME="", XDG_DATA_HOME="", XDG_STATE_HOME="")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert out.count("write to your home folder") == 1
    assert list(tmp_path.rglob("slipstream.log"))


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[SingleInstance]:
    (tmp_path / "data").mkdir()
    first = SingleInstance(tmp_path / "data")
    yield first
    first.release()


CRASH = """
import os, signal
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from app.system.single_instance import SingleInstance
app = QCoreApplication([])
one = SingleInstance(Path(os.environ["TMPDIR"]) / "data")
assert one.claim()
os.kill(os.getpid(), signal.SIGKILL)
"""
SECOND = """
import os, sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from app.system.single_instance import SingleInstance
app = QCoreApplication([])
second = SingleInstance(Path(os.environ["TMPDIR"]) / "data")
sys.exit(7 if second.claim() else 0 if second.raise_first(sys.argv[1:]) else 1)
"""


def test_a_second_instance_raises_the_first_window_and_exits(qtbot: QtBot, instance: SingleInstance, tmp_path: Path) -> None:
    assert instance.claim()
    with qtbot.waitSignal(instance.raise_requested, timeout=1000 * PATIENCE_S):
        second = python(SECOND, tmp_path)
    qtbot.waitUntil(lambda: second.poll() is not None, timeout=1000 * PATIENCE_S)
    assert second.wait() == 0


def test_a_second_instance_passes_links_on(qtbot: QtBot, instance: SingleInstance, tmp_path: Path) -> None:
    assert instance.claim()
    passed: list[str] = []
    instance.link_passed.connect(passed.append)
    raised: list[bool] = []
    instance.raise_requested.connect(lambda: raised.append(True))
    links = ["slipstream://new?text=a%20b", "slipstream://new?text=c d\nraise\n\U0001f600", "slipstream:" + "x" * 100_000]
    second = python(SECOND, tmp_path, *links)
    qtbot.waitUntil(lambda: second.poll() is not None, timeout=1000 * PATIENCE_S)
    assert second.wait() == 0
    assert passed == [links[0], "slipstream://new?text=c%20d%0Araise%0A%F0%9F%98%80", links[2]]
    assert not raised, "a link shows its own window"


def test_a_program_that_sends_no_end_is_disconnected(qtbot: QtBot, instance: SingleInstance, tmp_path: Path) -> None:
    assert instance.claim()
    socket = QLocalSocket()
    socket.connectToServer(address(tmp_path / "data"))
    assert socket.waitForConnected()
    with qtbot.waitSignal(socket.disconnected, timeout=1000 * PATIENCE_S):
        socket.write(b"x" * 2 * MAX_LINE)


def test_a_socket_left_by_a_crash_is_replaced(qtbot: QtBot, instance: SingleInstance, tmp_path: Path) -> None:
    assert python(CRASH, tmp_path).wait(PATIENCE_S) != 0
    assert Path(address(tmp_path / "data")).exists()
    assert instance.claim()
    with qtbot.waitSignal(instance.raise_requested, timeout=1000 * PATIENCE_S):
        second = python(SECOND, tmp_path)
    qtbot.waitUntil(lambda: second.poll() is not None, timeout=1000 * PATIENCE_S)
    assert second.wait() == 0


def test_the_app_starts_where_no_lock_can_be_created() -> None:
    assert SingleInstance(Path("/dev/null")).claim()


def test_a_database_has_one_lock_for_every_tmpdir(
    instance: SingleInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert instance.claim()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    assert not SingleInstance(tmp_path / "data").claim()
    assert SingleInstance(tmp_path / "elsewhere").claim()  # of another database


def test_the_address_is_short_enough_for_a_socket(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a long name of a folder"] * 9)
    assert len(address(deep).encode()) < 104 and address(deep) == address(deep) != address(deep / "x")


def test_writable_standard_folders_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    found = data_paths.find()
    assert not found.temporary
    assert tmp_path in found.log_file.parents and tmp_path in found.settings_file.parents


def test_an_unhandled_exception_is_logged_and_reported(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from app.system import crash_log
crash_log.start(Path(sys.argv[1]), lambda: print("told"))
raise ZeroDivisionError("a bug")
"""
    out, _ = python(code, tmp_path, str(tmp_path / "slipstream.log")).communicate(timeout=PATIENCE_S)
    assert out.splitlines() == ["told"]
    assert "ZeroDivisionError: a bug" in (tmp_path / "slipstream.log").read_text()


def test_a_crash_is_reported_once_at_the_next_start(tmp_path: Path) -> None:
    code = APP.replace("self.window.close())", "__import__('faulthandler')._sigsegv())")
    crashed = python(code, tmp_path, HOME=str(tmp_path))
    crashed.communicate(timeout=PATIENCE_S)
    assert crashed.returncode < 0
    for times in (1, 0):
        process = python(APP, tmp_path, HOME=str(tmp_path))
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
        assert out.count("quit unexpectedly last time") == times
    assert "Segmentation fault" in next(tmp_path.rglob("crash-before.log")).read_text()


def test_the_self_test_and_child_processes_never_import_qt(tmp_path: Path) -> None:
    code = """
import sys, app.__main__ as entry, app.selftest
app.selftest.run_selftest = lambda options: 0
assert entry.main(["--selftest"]) == 0
assert entry.main(["--child", "mlx_engine.contract.errors"]) == 0
import mlx_engine.media.media_child
assert not [name for name in sys.modules if name.startswith("PySide6")]
assert "mlx" not in sys.modules
"""
    process = python(code, tmp_path)
    assert process.wait(PATIENCE_S) == 0, process.stderr.read() if process.stderr else ""


def test_the_markdown_parser_is_ready_for_threads(tmp_path: Path) -> None:
    """It puts its rules together when it is first asked for them, and returns only half of them until then."""
    code = "from app.rendering.markdown import _parser as p;"
    code += "print(all(one.__cache__ for one in (p.core.ruler, p.block.ruler, p.inline.ruler, p.inline.ruler2)))"
    process = python(code, tmp_path)
    assert process.communicate(timeout=PATIENCE_S)[0].strip() == "True"


def test_only_engine_modules_run_as_child(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--child", "http.server"]) == 2
    assert "mlx_engine" in capsys.readouterr().err


def test_the_bench_reports_gaps_rate_and_busy_share(qtbot: QtBot) -> None:
    report = window.measure(recorded=True, mode="dflash", seconds=0.4, tok_s=1000.0, history=6)
    assert report.tokens == 400 and report.replies == 1 and report.open_ms > 0
    assert 0 < report.p99_gap_ms <= report.longest_gap_ms
    assert 0 < report.busy < 1


def test_an_export_opened_from_macos_is_imported(begin: Callable[..., Any], qapp: QApplication, tmp_path: Path) -> None:
    app = begin()
    app.ask("A question to keep")
    app.until(lambda: len(app.library.entries) == 1)
    file = tmp_path / "chats.json"
    app.library.export_chats(list(app.library.entries), file)
    app.until(file.exists)
    app.library.delete(list(app.library.entries))
    opening = FileOpening(lambda: True, app.services)
    opening.opened.connect(app.library.import_file)
    qapp.installEventFilter(opening)
    try:
        QApplication.sendEvent(qapp, QFileOpenEvent(str(file)))
        app.until(lambda: len(app.library.entries) == 1)
    finally:
        qapp.removeEventFilter(opening)
