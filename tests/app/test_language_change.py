"""A new language takes effect at the next start, and one click restarts."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QApplication

from app.system import child
from app.text import language
from app.text.language import tr
from tests.app.conftest import Running, Start, draw_sidebar
from tests.app.scripted_engine import ScriptedEngine, commit
from tests.app.test_start import PATIENCE_S, ROOT


@pytest.fixture(autouse=True)
def _english_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(language.VARIABLE, raising=False)
    language.use("en")
    yield
    monkeypatch.setenv(language.VARIABLE, "en")
    language.use()
    language.translate_qt()


def restart(app: Running, start: Start, tmp_path: Path) -> Running:
    """Quit and start again in the language that the settings ask for, as two processes would."""
    app.services.preferences.restart_requested.emit()
    assert app.slipstream.restarting and not app.window.isVisible()
    app.until(lambda: app.services.client.wait(0) and app.services.store.wait(0))
    language.start(tmp_path / "settings.ini")
    language.translate_qt()
    return start(data=tmp_path)


def test_a_language_takes_effect_at_the_next_start(start: Start, tmp_path: Path) -> None:
    app = start(data=tmp_path)
    app.ask("Hello")
    app.type("A draft")
    app.services.preferences.language = "de"
    assert app.reply.buttons.regenerate.toolTip() == "Regenerate (keeps this reply)" and tr("Close") == "Close"
    again = restart(app, start, tmp_path)
    again.until(lambda: not again.session.chat.empty)
    assert (
        again.reply.buttons.regenerate.toolTip() == "Neu erzeugen (diese Antwort bleibt erhalten)"
        and again.window.composer.text == "A draft"
    )
    assert QApplication.translate("QPlatformTheme", "Cancel") == "Abbrechen"
    again.services.preferences.language = "en"
    back = restart(again, start, tmp_path)
    back.until(lambda: not back.session.chat.empty)
    assert back.reply.buttons.regenerate.toolTip() == "Regenerate (keeps this reply)"
    assert QApplication.translate("QPlatformTheme", "Cancel") == "Cancel"


@pytest.mark.parametrize("shape", ["showMaximized", "showFullScreen"])
def test_a_maximized_window_keeps_its_normal_size_after_a_restart(start: Start, tmp_path: Path, shape: str) -> None:
    app = start(data=tmp_path)
    place = QRect(40, 60, 700, 500)
    app.window.setGeometry(place)
    app.until(lambda: app.window.geometry() == place)
    getattr(app.window, shape)()
    state = app.window.windowState()
    app.until(lambda: app.window.geometry() != place)
    again = restart(app, start, tmp_path)
    assert again.window.windowState() == state != Qt.WindowState.WindowNoState
    assert again.window.normalGeometry() == place
    again.window.showNormal()
    again.until(lambda: again.window.geometry() == place)


def test_a_hidden_sidebar_keeps_its_width_after_a_restart(start: Start, tmp_path: Path) -> None:
    app = start(data=tmp_path)
    app.window.resize(1200, 700)
    app.until(lambda: app.window.width() == 1200)
    draw_sidebar(app, 333)
    app.window.split.toggle_sidebar()
    again = restart(app, start, tmp_path)
    assert not again.window.sidebar.isVisible()
    again.window.split.toggle_sidebar()
    again.until(lambda: again.window.sidebar.width() == 333)


RESTARTING = """
import sys
import threading
from PySide6.QtCore import QProcess
import app.application as application
from tests.benchmarks.recorded_engine import RecordedEngine

class Restarting(application.Slipstream):
    def __init__(self, app, where):
        super().__init__(app, where, RecordedEngine)
        self.services.loader.changed.connect(lambda: self.services.loader.ready and self.services.session.send("Go"))
        self.services.reply_runner.changed.connect(lambda turn: turn.reply.tokens > 30 and self.restart())

class Starter(QProcess):
    def startDetached(*command):
        print("started:", *command)
        return True, 1

application.Slipstream, application.QProcess = Restarting, Starter
sys.exit(application.run(["slipstream"]))
"""


def test_a_restart_during_a_reply_quits_and_starts_the_app_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RESTARTING],
        env={**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert done.stdout.splitlines() == [f"started: {sys.executable} ['-m', 'app']"]
    log = next(tmp_path.rglob("slipstream.log")).read_text()
    assert "Slipstream ends" in log and "could not start again" not in log


def test_a_bundle_is_restarted_with_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/Applications/Slipstream.app/Contents/MacOS/Slipstream")
    assert child.app_command() == ("/usr/bin/open", ["-n", "/Applications/Slipstream.app"])
    monkeypatch.setattr(sys, "executable", "/opt/slipstream/bin/slipstream")
    assert child.app_command() == ("/opt/slipstream/bin/slipstream", [])


def test_a_restart_does_not_cut_off_a_reply(start: Start) -> None:
    app = start(ScriptedEngine([[commit("Half"), threading.Event()]]))
    app.session.send("Tell me")
    app.until(lambda: app.activity.busy)
    app.services.preferences.restart_requested.emit()
    assert app.window.isVisible() and not app.slipstream.restarting
    assert any("A reply is being generated" in notice for notice in app.notices)
    app.activity.stop()
    app.until(lambda: not app.activity.busy)
