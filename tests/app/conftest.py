"""The window under test: the real thread, a scripted engine, folders that vanish."""

import os
import time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["SLIPSTREAM_LANGUAGE"] = "en"

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QObject, Qt, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QMainWindow, QMenu, QWidget

import app.application
from app.application import Slipstream
from app.rendering.code_view import CodeView
from app.session.notice import Notice
from app.session.services import Services
from app.storage.reply import Reply
from app.system.appearance import DEFAULT_TEXT_SIZE
from app.system.data_paths import DataPaths
from app.system.garbage import GarbageCollector
from app.text import language
from app.views.sidebar.sidebar import Sidebar
from app.views.transcript.message_views import PromptView, ReplyView
from app.views.transcript.transcript import Transcript
from app.widgets.theme import Theme
from app.window.dialogs import Dialogs
from app.window.window_commands import dialog_commands
from mlx_engine.contract.conditions import UNKNOWN
from mlx_engine.engine.host import EngineHost
from mlx_engine.hardware import sensors
from tests.app.scripted_engine import ScriptedEngine
from tests.app.served_engine import LOCAL_ONLY, ServedEngine

language.use()

D = TypeVar("D", bound=QDialog)
SERVED = bool(os.environ.get("SLIPSTREAM_TEST_SERVED"))
PATIENCE_MS = 120_000  # for busy machines


def wait_until(condition: Callable[[], bool]) -> None:
    """Deliver events until a condition holds.

    The timer is for conditions that other threads and processes fulfill. With a time limit, `processEvents` wouldn't sleep.
    """
    end = time.monotonic() + PATIENCE_MS / 1000
    timer = QTimer(interval=5)
    timer.start()
    while not condition():
        assert time.monotonic() < end, "the condition doesn't come true"
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)  # which an event loop does, too


def reply_views(transcript: Transcript) -> list[ReplyView]:
    """Return the replies that are built, in order."""
    wait_until(lambda: not any(entry.deferred for entry in transcript.column.entries))
    return [entry.view for entry in transcript.column.entries if isinstance(entry.view, ReplyView)]


class Look:
    """What preferences change without a window."""

    reduce_motion = False
    appearance = ""

    def set_appearance(self, appearance: str) -> None:
        self.appearance = appearance

    def set_contrast(self, contrast: str) -> None: ...
    def set_text_size(self, pixels: int) -> None: ...
    def show_token_sources(self, shown: bool) -> None: ...


class Session:
    """The app without a window, its engine, and the few things that tests do again and again."""

    until = staticmethod(wait_until)

    def __init__(self, services: Services, engine: ScriptedEngine) -> None:
        self.services, self.engine = services, engine
        self.session, self.activity, self.commands = services.session, services.activity, services.commands
        self.library, self.loader, self.tools, self.reply_runner = (
            services.library,
            services.loader,
            services.tools,
            services.reply_runner,
        )
        self.attachments, self.roofline_runner = services.attachments, services.roofline_runner
        self.message, self.meter = services.message, services.meter
        self.noticed: list[Notice] = []
        self.services.notices.posted.connect(self.noticed.append)
        self.stopped = False
        self.services.engine.stopped.connect(lambda: setattr(self, "stopped", True))

    @property
    def notices(self) -> list[str]:
        """Those that are still valid."""
        return self.services.notices.texts

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The prompts and answers of the open chat."""
        return [(turn.prompt, turn.reply.answer) for turn in self.session.chat.turns]

    @property
    def reply(self) -> Reply:
        return self.session.chat.turns[-1].reply

    @cached_property
    def theme(self) -> Theme:
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        return Theme(application)

    @cached_property
    def sidebar(self) -> Sidebar:
        """The sidebar without the rest of the window."""
        sidebar = Sidebar(self.theme, self.session, self.library, self.reply_runner, self.services.new_replies)
        sidebar.resize(250, 700)
        sidebar.show()
        return sidebar

    @cached_property
    def window(self) -> Any:
        """An empty window that has only the dialogs, for tests that need no chat."""
        return DialogWindow(self.theme, self.services)

    def dialog(self, kind: type[D]) -> D:
        """The open dialog of a kind."""
        found = self.window.dialogs.find(kind)
        assert found is not None
        return found

    def start(self) -> None:
        self.services.start()

    def load(self) -> None:
        self.start()
        self.until(lambda: self.loader.progress is None)

    def type(self, text: str) -> None:
        self.message.replace(text)

    def send(self, text: str) -> None:
        self.type(text)
        self.message.send()

    def idle(self) -> None:
        """Wait for the end of what is running."""
        self.until(lambda: not self.activity.busy)

    def ask(self, text: str) -> None:
        """Send and wait for the end."""
        before = self.session.chat.turns[-1:]
        self.send(text)
        self.until(lambda: not self.activity.replying_here and not self.message.note)
        assert self.session.chat.turns[-1:] != before, self.notices

    def run(self, command: str) -> None:
        self.commands.run(command)

    def press(self, title: str) -> None:
        """Press a button of the latest notice."""
        notices = self.services.notices
        notices.run(next(action for action in notices.valid[-1].actions if action.title == title))

    def can(self, command: str) -> bool:
        return self.commands[command].can() is None

    @property
    def answer(self) -> str:
        """The last answer as the user sees it."""
        turns = self.session.chat.turns
        return turns[-1].reply.answer if turns else ""

    def quit(self) -> None:
        """Quit, and wait until everything is saved."""
        self.services.save_state()
        self.services.close()
        self.wait_for_end()

    def wait_for_end(self) -> None:
        self.services.server.close(120)
        self.services.tuning.wait(120_000)
        assert self.services.client.wait(120)
        self.until(lambda: self.stopped)  # otherwise, the engine's thread could emit the signal of a deleted object
        assert self.services.store.wait(120)


class DialogWindow(QMainWindow):
    """A window without contents that opens the dialogs."""

    def __init__(self, theme: Theme, services: Services) -> None:
        super().__init__()
        self.dialogs = Dialogs(self, theme, services)
        services.commands.add(*dialog_commands(self.dialogs, services.loader, services.tuning))
        self.resize(1000, 760)
        self.show()


class Running(Session):
    """The app with its window."""

    def __init__(self, slipstream: Slipstream, engine: ScriptedEngine) -> None:
        super().__init__(slipstream.services, engine)
        self.slipstream, self.theme = slipstream, slipstream.theme
        self.window, self.sidebar = slipstream.window, slipstream.window.sidebar

    def start(self) -> None:
        self.slipstream.start()

    def type(self, text: str) -> None:
        """Write in the composer, or in the bubble whose message is being edited."""
        self.window.composer.active_field.setPlainText(text)

    def send(self, text: str) -> None:
        self.type(text)
        editor = self.window.composer.editor
        (editor.send_button if editor is not None else self.window.composer.button).click()

    def run(self, command: str) -> None:
        """Run a command from its menu."""
        self.window.menus[command].trigger()

    def can(self, command: str) -> bool:
        return self.window.menus[command].isEnabled()

    @property
    def answer(self) -> str:
        views = [entry.view for entry in self.reply.blocks.entries]
        return "".join(view.text if isinstance(view, CodeView) else view.toPlainText() for view in views)

    def quit(self) -> None:
        self.window.close()
        self.until(lambda: self.services.store.wait(0))

    @property
    def reply(self):  # type: ignore[no-untyped-def]
        return reply_views(self.window.transcript)[-1]

    @property
    def questions(self) -> list[PromptView]:
        """All that are shown; one that was just sent appears a frame later."""
        shown = len(self.session.chat.turns)
        column = self.window.transcript.column
        self.until(lambda: len([entry for entry in column.entries if isinstance(entry.view, PromptView)]) == shown)
        return [entry.view for entry in column.entries if isinstance(entry.view, PromptView)]


Begin = Callable[..., Session]  # the fixture `begin`
Start = Callable[..., Running]  # the fixture `start`


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
        windows = ("start", "begin", "begin_with_demo")
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


@pytest.fixture(autouse=True)
def calm_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer with unknown conditions, because heat and a lack of memory label replies."""
    monkeypatch.setattr(sensors, "read", lambda: UNKNOWN)
    monkeypatch.setattr(sensors, "memory_pressure", lambda: None)


@pytest.fixture(autouse=True)
def mouse_outside(qapp: QApplication) -> None:
    """Moves the mouse off the windows: a notice under it stays, and an earlier test could leave it there."""
    QCursor.setPos(0, 0)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of this test only, and no waiting for more events, for more typing, or for a cooler machine."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # where downloads and measured speeds are kept
    monkeypatch.setattr("app.session.qt_inbox.BATCH_MS", 1)
    monkeypatch.setattr("app.session.context_meter.COUNT_MS", 5)
    monkeypatch.setattr("app.session.compare_run.PAUSE_S", 0.0)
    monkeypatch.setattr("app.views.transcript.call_card.ARM_MS", 20)


def end(theme: Theme) -> None:
    """Give the application its usual look again, and delete the theme: all would follow the look of later tests."""
    theme.set_appearance("system")
    theme.set_contrast("system")
    theme.set_text_size(DEFAULT_TEXT_SIZE)
    theme.deleteLater()


@pytest.fixture
def begin(qapp: QApplication, tmp_path: Path, places: None, request: pytest.FixtureRequest) -> Iterator[Callable[..., Session]]:
    """Starts apps without a window, or in tests of views with an empty one, by default with a pair loaded."""
    started: list[Session] = []

    def begin(
        engine: ScriptedEngine | None = None,
        loaded: bool = True,
        data: Path | None = None,
        data_writable: bool = True,
        temporary: bool = False,
        look: Look | None = None,
    ) -> Session:
        engine = engine or ScriptedEngine()
        client = app.application.EngineSwitch(EngineHost(lambda: engine))
        paths = DataPaths(tmp_path, tmp_path, data, data_writable, temporary)
        session = Session(Services(client, paths, look or Look()), engine)
        started.append(session)
        if "views" in request.path.parts:
            assert session.window.dialogs  # some open without a click
        if loaded:
            session.load()
        return session

    yield begin
    for session in started:
        if session.engine.load_gate:
            session.engine.load_gate.set()
        if "sidebar" in vars(session):
            session.sidebar.deleteLater()
        if "window" in vars(session):
            session.window.dialogs.close_all()
            session.window.deleteLater()
        session.services.close()
        session.wait_for_end()
        if "theme" in vars(session):
            end(session.theme)
        session.services.engine.drain()
        session.services.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture
def start(qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: None) -> Iterator[Callable[..., Running]]:
    """Starts apps, by default with a pair loaded; each is closed at the end and its thread has ended then."""
    monkeypatch.setattr("app.window.main_window.confirm", lambda *_: True)  # quitting with unsaved chats
    monkeypatch.setattr("app.window.main_window.choose", lambda *texts: texts[-1])  # and settings
    monkeypatch.setattr("app.views.chat.notice_bar.SHOWN_MS", 2 * PATIENCE_MS)  # a busy machine may be slower than a reader
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
        running = Running(slipstream, engine)
        started.append(running)
        if loaded:
            running.load()
        return running

    yield begin
    for running in started:
        if running.engine.load_gate:
            running.engine.load_gate.set()
        QTest.keyRelease(running.window, Qt.Key.Key_Shift)  # the next test inherits no key
        running.quit()
        running.wait_for_end()
        end(running.theme)
        running.services.engine.drain()
        running.window.deleteLater()
        running.slipstream.deleteLater()  # with its sessions, whose timers would go on in later tests
    qapp.processEvents()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
