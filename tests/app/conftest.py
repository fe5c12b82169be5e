"""The window under test: the real thread, a scripted engine, folders that vanish."""

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["SLIPSTREAM_LANGUAGE"] = "en"

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QDialog, QMainWindow, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.application import Slipstream
from app.system.appearance import DEFAULT_TEXT_SIZE
from app.system.data_paths import DataPaths
from app.system.garbage import GarbageCollector
from app.text import language
from app.views.transcript.message_views import PromptView, ReplyView
from app.views.transcript.transcript import Transcript
from tests.app.scripted_engine import ScriptedEngine
from tests.app.served_engine import LOCAL_ONLY, ServedEngine

language.use()

SERVED = bool(os.environ.get("SLIPSTREAM_TEST_SERVED"))
PATIENCE_MS = 120_000  # for busy machines


def reply_views(transcript: Transcript) -> list[ReplyView]:
    """Return the replies that are built, in order."""
    while transcript._deferred.isActive():
        transcript._show_next_deferred()
    return [entry.view for entry in transcript.column.entries if isinstance(entry.view, ReplyView)]


class Running:
    """The app, its engine, and the few things that tests do again and again."""

    def __init__(self, slipstream: Slipstream, engine: ScriptedEngine, qtbot: QtBot) -> None:
        self.slipstream = slipstream
        self.engine = engine
        self.window = slipstream.window
        self.conductor = slipstream.conductor
        self._qtbot = qtbot

    def until(self, condition: Callable[[], bool]) -> None:
        self._qtbot.waitUntil(condition, timeout=PATIENCE_MS)

    def load(self) -> None:
        self.slipstream.start()
        self.until(lambda: self.conductor.loader.progress is None)

    def type(self, text: str) -> None:
        self.window.composer.field.setPlainText(text)

    def send(self, text: str) -> None:
        self.type(text)
        self.window.composer.button.click()

    def ask(self, text: str) -> None:
        """Send and wait for the end."""
        self.send(text)
        self.until(lambda: not self.conductor.busy and self.window.foot.waiting.isHidden())

    @property
    def reply(self):  # type: ignore[no-untyped-def]
        return reply_views(self.window.transcript)[-1]

    @property
    def questions(self) -> list[PromptView]:
        """All that are shown; one that was just sent appears a frame later."""
        shown = len(self.conductor.chat.turns)
        column = self.window.transcript.column
        self.until(lambda: len([entry for entry in column.entries if isinstance(entry.view, PromptView)]) == shown)
        return [entry.view for entry in column.entries if isinstance(entry.view, PromptView)]

    @property
    def notices(self) -> list[str]:
        return self.window.foot.notices.texts()


def draw_sidebar(app: Running, width: int) -> None:
    """Make the list of chats this wide, as the mouse does at its edge."""
    app.window.split.moveSplitter(width, 1)


class _StrayWindows(QObject):
    """A filter that records widgets which are shown before they have a parent, and so are windows."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        shown = event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow()
        if shown and not isinstance(watched, QDialog | QMainWindow | QMenu):
            self.shown.append(f"{type(watched).__name__} {watched.accessibleName()}")
        return False


@pytest.fixture
def stray_windows(qapp: QApplication) -> Iterator[list[str]]:
    """The widgets that were shown as windows of their own during the test."""
    watch = _StrayWindows()
    qapp.installEventFilter(watch)
    yield watch.shown
    qapp.removeEventFilter(watch)


@pytest.fixture(scope="package", autouse=True)
def collector(qapp: QApplication) -> Iterator[GarbageCollector]:
    """Collects garbage as in the app until a test without a window: see `pytest_runtest_setup`."""
    collector = GarbageCollector(qapp)
    yield collector
    collector.deleteLater()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With replies from a server, leave out tests without a window, and those that make no sense then."""
    if SERVED:
        folder = Path(__file__).parent
        left_out = tuple(name for names in LOCAL_ONLY.values() for name in names)
        tests = [(item, f"{item.path.relative_to(folder).as_posix()}::{item.name}") for item in items]
        windows = ("start", "begin_with_demo")
        items[:] = [
            item
            for item, name in tests
            if any(window in getattr(item, "fixturenames", ()) for window in windows)
            and not any(name == each or name.startswith((f"{each}::", f"{each}[")) for each in left_out)
        ]


@pytest.fixture(autouse=SERVED)
def served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts the engines of all windows behind Slipstream's own server."""
    monkeypatch.setattr("app.application.EngineSwitch", ServedEngine)


@pytest.fixture
def start(qapp: QApplication, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Running]]:
    """Starts apps, by default with a pair loaded; each is closed at the end and its thread has ended then."""
    monkeypatch.setattr("app.window.main_window.confirm", lambda *_: True)  # quitting with unsaved chats
    monkeypatch.setattr("app.views.chat.notice_bar.SHOWN_MS", 2 * PATIENCE_MS)  # a busy machine may be slower than a reader
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # where downloads and measured speeds are kept
    started: list[Running] = []
    qapp.setQuitOnLastWindowClosed(False)

    def begin(
        engine: ScriptedEngine | None = None,
        loaded: bool = True,
        data: Path | None = None,
        data_writable: bool = True,
        temporary: bool = False,
    ) -> Running:
        engine = engine or ScriptedEngine()
        slipstream = Slipstream(qapp, DataPaths(tmp_path, tmp_path, data, data_writable, temporary), lambda: engine)
        running = Running(slipstream, engine, qtbot)
        started.append(running)
        if loaded:
            running.load()
        return running

    yield begin
    for running in started:
        if running.engine.load_gate:
            running.engine.load_gate.set()
        running.window.close()
        running.window.server.close(120)
        running.slipstream.tuning.wait(120_000)
        assert running.slipstream.client.wait(120)
        assert running.slipstream.store.wait(120)
        running.slipstream.theme.set_appearance("system")
        running.slipstream.theme.set_contrast("system")
        running.slipstream.theme.set_text_size(DEFAULT_TEXT_SIZE)
        running.window.deleteLater()
    qapp.processEvents()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
