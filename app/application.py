"""Startup and shutdown of the app."""

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from PySide6.QtCore import QEvent, QObject, QProcess, QSocketNotifier, QTimer, Signal, Slot
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from app.rendering.highlighting import warm_up
from app.session.memory_watch import MemoryWatch
from app.session.notice import Notice
from app.session.services import Services
from app.storage.store_thread import BUG_PAGE
from app.system import child, crash_log, data_paths
from app.system.chat_link import is_chat_link
from app.system.data_paths import DataPaths
from app.system.garbage import GarbageCollector
from app.system.macos import Activity, offer_service
from app.system.single_instance import SingleInstance
from app.text import language
from app.text.language import tr
from app.widgets.controls import window_icon
from app.widgets.theme import Theme
from app.window.dock_menu import set_dock_menu
from app.window.main_window import MainWindow
from app.window.outside_text import OutsideText
from mlx_engine.contract.events import Stats
from mlx_engine.engine.host import EngineHost
from mlx_engine.network import traffic
from mlx_engine.remote.switch import EngineSwitch

log = logging.getLogger(__name__)

SERVER_TIMEOUT_S = 5.0
QUIT_TIMEOUT_S = 20.0  # loading part of a large model takes a few seconds


class Slipstream(QObject):
    """The running app. `start` shows the window and loads models in the background."""

    ended = Signal()  # everything is saved and the engine's thread has ended

    def __init__(self, app: QApplication, paths: DataPaths, make_engine: Callable[[], Any] | None = None) -> None:
        super().__init__(app)
        self.theme = Theme(app)
        client = EngineSwitch(EngineHost(make_engine, str(paths.log_file)))
        self.services = services = Services(client, paths, self.theme, self)
        self.restarting = False  # start again after quitting
        self.service: Any = None  # receiver of the Services menu, which macOS doesn't keep
        self.window = MainWindow(self.theme, services)
        self.window.closed.connect(self.close)
        self._activity = Activity()
        self._memory = MemoryWatch(self)
        self._memory.short.connect(services.notices.post)
        self._memory.critical.connect(services.tuning.pause_for_memory)
        services.preferences.restart_requested.connect(self.restart)
        services.engine.stopped.connect(self._save_and_end)
        services.picker.downloads.changed.connect(self._hold_downloads)
        services.tuning.changed.connect(self._hold_tuning)
        services.loader.calibration.changed.connect(self._hold_calibration)
        services.benchmark.changed.connect(self._hold_benchmark)
        services.activity.changed.connect(self._hold_reply)
        services.server.activity_changed.connect(self._hold_server)
        services.reply_runner.finished.connect(self._watch_peak)

    @Slot()
    def restart(self) -> None:
        """Restart the app, unless a reply or comparison is running."""
        activity = self.services.activity
        if notice := activity.alone_refusal():
            self.services.notices.post(notice)
            return
        self.restarting = self.window.quit()

    @Slot()
    def show_window(self) -> None:
        self.window.bring_to_front()

    def start(self) -> None:
        self.window.show()
        self._memory.start()
        self.services.start()
        threading.Thread(target=warm_up, name="lexers", daemon=True).start()

    @Slot()
    def _hold_reply(self) -> None:
        runner = self.services.reply_runner
        waits = bool(runner.runs) and runner.asking == runner.runs and not self.services.compactor.running
        held = self.services.activity.busy and not waits
        self._activity.set_held("reply", held, tr("Generating a reply"))

    @Slot()
    def _hold_server(self) -> None:
        self._activity.set_held("server", bool(self.services.server.activity), tr("Generating a reply"))

    @Slot(object, object)
    def _watch_peak(self, run: object, stats: Stats) -> None:
        self._memory.note_peak(stats.peak_memory_bytes)

    @Slot()
    def _hold_downloads(self) -> None:
        self._activity.set_held("download", self.services.picker.downloads.running, tr("Downloading models"))

    @Slot()
    def _hold_tuning(self) -> None:
        self._activity.set_held("tuning", self.services.tuning.running, tr("Tuning a drafter"))

    @Slot()
    def _hold_calibration(self) -> None:
        self._activity.set_held("calibration", self.services.loader.calibration.running, tr("Measuring speed"))

    @Slot()
    def _hold_benchmark(self) -> None:
        benchmark = self.services.benchmark
        held = benchmark.running and not benchmark.paused and not benchmark.waiting  # what it waits for is held itself
        self._activity.set_held("benchmark", held, tr("Measuring speed"))

    @Slot()
    def close(self) -> None:
        """Hide the window at once, stop and save everything, then emit `ended`."""
        self.window.hide()
        QTimer.singleShot(0, self.services.close)

    @Slot()
    def _save_and_end(self) -> None:
        if not self.services.store.wait(QUIT_TIMEOUT_S):
            log.error("The store did not stop")
        self.ended.emit()

    def report_bug(self) -> None:
        """Show a notice about an unhandled exception."""
        text = tr("Something went wrong in Slipstream. Details are in {log_file}.", log_file=self.services.paths.log_file)
        self.services.notices.post(Notice(text, "error", help=BUG_PAGE))


class FileOpening(QObject):
    """An event filter for requests from macOS to open a file or link, or to quit.

    Other URLs are ignored. `quit_app` returns False if the user cancels quitting from the Dock or logging out.
    """

    opened = Signal(object)  # Path
    link_opened = Signal(str)

    def __init__(self, quit_app: Callable[[], bool], parent: QObject) -> None:
        super().__init__(parent)
        self._quit_app = quit_app

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent):
            file, link = event.file(), bytes(event.url().toEncoded().data()).decode()
            if is_chat_link(link) or is_chat_link(file):  # Qt calls an invalid URL a file
                self.link_opened.emit(link if is_chat_link(link) else file)
                return True
            if file:
                self.opened.emit(Path(file))
                return True
        if event.type() == QEvent.Type.Quit and not self._quit_app():
            event.ignore()  # otherwise Qt would close the window again and quit
            return True
        return False


class Signals(QObject):
    """A handler of SIGINT and SIGTERM that emits `quit_requested`."""

    quit_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        # Python runs signal handlers only while it runs Python code. A byte through this pair wakes an idle window.
        self._writer, self._reader = socket.socketpair()
        self._writer.setblocking(False)
        self._reader.setblocking(False)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._read)
        signal.set_wakeup_fd(self._writer.fileno())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: object) -> None:
        self.quit_requested.emit()

    @Slot()
    def _read(self) -> None:
        self._reader.recv(64)


def run(arguments: list[str]) -> int:
    """Run the app and end the process. If another instance runs, return a status."""
    QApplication.setApplicationName(data_paths.NAME)
    QApplication.setApplicationDisplayName(data_paths.NAME)
    app = QApplication(arguments)
    app.setWindowIcon(window_icon())
    app.setQuitOnLastWindowClosed(False)  # the engine's thread ends first
    language.translate_qt()
    GarbageCollector(app)

    paths = data_paths.find()
    instance = SingleInstance(paths.data or paths.settings)
    links = [argument for argument in arguments[1:] if is_chat_link(argument)]
    if not instance.claim():
        if instance.raise_first(links):
            return 0
        print("Slipstream is already running but doesn't respond. Quit it, then start it again.", file=sys.stderr)
        return 1

    slipstream = Slipstream(app, paths)
    services = slipstream.services
    crash = crash_log.start(paths.log_file, slipstream.report_bug)
    log.info("Slipstream starts")
    signals = Signals()
    signals.quit_requested.connect(slipstream.window.quit)
    instance.raise_requested.connect(slipstream.show_window)
    opening = FileOpening(slipstream.window.quit, app)
    opening.opened.connect(services.library.import_file)
    app.installEventFilter(opening)
    outside = OutsideText(slipstream.window)
    opening.link_opened.connect(outside.open_link)
    instance.link_passed.connect(outside.open_link)
    for link in links:
        outside.open_link(link)
    slipstream.service = offer_service(outside.ask_quickly)
    set_dock_menu(slipstream.window)
    slipstream.ended.connect(app.quit)
    slipstream.start()
    if crash is not None:
        text = tr("Slipstream quit unexpectedly last time. For details, choose Help ▸ Report a Problem.")
        services.notices.post(Notice(text, stays=True, help=BUG_PAGE))
    status = app.exec()
    services.close()  # if the window hasn't
    services.save_chats()
    services.server.close(SERVER_TIMEOUT_S)
    services.tuning.wait(int(1000 * QUIT_TIMEOUT_S))
    ended = services.client.wait(QUIT_TIMEOUT_S)
    services.engine.drain()
    ended = services.store.wait(QUIT_TIMEOUT_S) and ended
    app.processEvents()  # links that arrived during the shutdown
    instance.release()
    services.settings.sync()
    if slipstream.restarting and not QProcess.startDetached(*child.app_command())[0]:
        log.error("Slipstream could not start again")
    log.info("Slipstream ends")
    if not ended:
        log.error("The engine or the store did not stop; exiting without it")
    _leave(status if ended else 1)


def _leave(status: int) -> NoReturn:
    """End the process without dismantling Python and Qt: nothing is left to save.

    Threads that are abandoned at the end, such as one that looks through models on a disk that doesn't answer, could otherwise
    hold up quitting, or crash it by using what is being dismantled.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):  # it is closed
                stream.flush()
    traffic.close()
    os._exit(status)
