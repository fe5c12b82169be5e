"""Start-up and shutdown: one instance, a log, settings, the engine's thread, the window."""

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QProcess, QSettings, QSocketNotifier, Signal, Slot
from PySide6.QtWidgets import QApplication

from app import child, crash_log, data_paths, language
from app.chat.conductor import Conductor
from app.conversations.database import open_store
from app.data_paths import Places
from app.engine_adapter import EngineAdapter
from app.file_opening import FileOpening
from app.language import tr
from app.machine.memory_watch import MemoryWatch
from app.macos import Activity
from app.models.picker import Picker
from app.rendering.highlighting import warm_up
from app.single_instance import SingleInstance
from app.store_thread import StoreThread
from app.widgets.icon import window_icon
from app.widgets.theme import Theme
from app.window.main_window import MainWindow
from mlx_engine.events import Stats
from mlx_engine.host import EngineHost
from mlx_engine.requests import LoadPair

log = logging.getLogger(__name__)

# A round takes milliseconds, a big model's load step some seconds. Whoever takes longer than this to notice is stuck.
PATIENCE_S = 20.0


class Slipstream(QObject):
    """The running app. `start` shows the window at once and loads the models behind it."""

    ended = Signal()  # the window is closed and the engine's thread has ended

    def __init__(self, app: QApplication, where: Places, make_engine: Callable[[], Any] | None = None) -> None:
        super().__init__(app)
        self._where = where
        settings = QSettings(str(where.settings_file), QSettings.Format.IniFormat, self)
        self.theme = Theme(app)
        self.host = EngineHost(make_engine, str(where.log_file))
        self.engine = EngineAdapter(self.host, self)
        self.store = StoreThread(lambda: open_store(where.data, where.keeps), str(where.log_file), self)
        self.conductor = Conductor(self.engine, self, self.store)
        self.picker = Picker(self.conductor, self)
        self.picker.downloads.changed.connect(self._note_downloads)
        self._settings = settings
        self.restarting = False  # the app starts again after it has ended
        self.window = MainWindow(self.theme, self.conductor, settings, str(where.logs), self.picker)
        self.window.closed.connect(self.close)
        self.window.preferences.restart_requested.connect(self.restart)
        self.engine.stopped.connect(self._finish)
        self._activity = Activity()
        self._memory = MemoryWatch(self)
        self._memory.short.connect(self.conductor.notify)
        self.conductor.busy_changed.connect(self._note_work)
        self.conductor.reply_job.finished.connect(self._note_peak)

    @Slot()
    def restart(self) -> None:
        """Quit, then start the app again."""
        self.restarting = True
        self.window.close()

    @Slot()
    def close_window(self) -> None:
        self.window.close()

    @Slot()
    def show_window(self) -> None:
        """Come to the front."""
        self.window.bring_to_front()

    def start(self) -> None:
        self.window.show()
        if self._where.complaint:
            self.conductor.notify(self._where.complaint)
        self._memory.start()
        self.window.updates.start()
        self.conductor.library.load()
        self.conductor.use(last_pair(self._settings))
        self.picker.start()
        threading.Thread(target=warm_up, name="lexers", daemon=True).start()

    @Slot()
    def _note_work(self) -> None:
        """Neither sleep nor App Nap while a reply or a comparison is written."""
        self._activity.set_held("reply", self.conductor.busy, tr("A reply is being written"))

    @Slot(object)
    def _note_peak(self, stats: Stats) -> None:
        self._memory.note_peak(stats.peak_memory_bytes)

    @Slot()
    def _note_downloads(self) -> None:
        self._activity.set_held("download", self.picker.downloads.running, tr("Models are being fetched"))

    @Slot()
    def close(self) -> None:
        """End a reply that runs, free the models on their own thread; `ended` follows. The window is gone at once."""
        self.window.hide()
        self.picker.close()
        self.conductor.attachments.end()
        self.conductor.save_settings()
        self.engine.close()

    @Slot()
    def _finish(self) -> None:
        """The last reply has ended; now its text goes to the disk."""
        if not self.store.wait(PATIENCE_S):
            log.error("The store did not end")
        self.ended.emit()

    def tell_of_bug(self) -> None:
        """An exception nothing caught: it is in the log, and the chat goes on."""
        self.conductor.notify(
            tr("Something went wrong inside Slipstream; the details are in {log_file}.", log_file=self._where.log_file)
        )


def last_pair(settings: QSettings) -> LoadPair:
    """The pair that was used last, if it is still there; else the demo pair."""
    target, drafter = (str(settings.value(name) or "") for name in ("target", "drafter"))
    if not target or not Path(target).is_dir() or (drafter and not Path(drafter).is_dir()):
        return LoadPair()
    return LoadPair(Path(target), Path(drafter) if drafter else None)


class Signals(QObject):
    """Ctrl-C in a terminal, or the system's request to end, closes the window as a click does."""

    asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        # Python runs its handlers between two lines of Python, and an idle window runs none: a byte through this pair wakes it.
        self._awake, self._asleep = socket.socketpair()
        self._awake.setblocking(False)
        self._asleep.setblocking(False)
        self._notifier = QSocketNotifier(self._asleep.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._woken)
        signal.set_wakeup_fd(self._awake.fileno())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: object) -> None:
        self.asked.emit()

    @Slot()
    def _woken(self) -> None:
        self._asleep.recv(64)


def run(arguments: list[str]) -> int:
    """The app from start to end; the process's exit status."""
    QApplication.setApplicationName(data_paths.NAME)
    QApplication.setApplicationDisplayName(data_paths.NAME)
    app = QApplication(arguments)
    app.setWindowIcon(window_icon())
    app.setQuitOnLastWindowClosed(False)  # the engine's thread ends first
    language.translate_qt()

    where = data_paths.find()
    instance = SingleInstance(where.data or where.settings)
    if not instance.claim():
        if instance.call_first():
            return 0
        print("Slipstream is already running but does not answer. Quit it, then start it again.", file=sys.stderr)
        return 1

    slipstream = Slipstream(app, where)
    crashed = crash_log.start(where.log_file, slipstream.tell_of_bug)
    log.info("Slipstream starts")
    signals = Signals()
    signals.asked.connect(slipstream.close_window)
    instance.called.connect(slipstream.show_window)
    opening = FileOpening(app)
    opening.opened.connect(slipstream.conductor.library.import_file)
    app.installEventFilter(opening)
    slipstream.ended.connect(app.quit)
    slipstream.start()
    if crashed:
        words = tr("Slipstream ended unexpectedly the last time. Your chats are kept; the details are in")
        slipstream.conductor.notify(f"{words} {crashed}.")
    status = app.exec()
    # Quit may have come past the window: from the Dock, or when the user logs out.
    slipstream.conductor.attachments.end()
    slipstream.conductor.save_settings()
    ended = slipstream.host.wait(PATIENCE_S)
    slipstream.engine.drain()
    ended = slipstream.store.wait(PATIENCE_S) and ended
    instance.release()
    if slipstream.restarting and not QProcess.startDetached(*child.app_command())[0]:
        log.error("Slipstream could not start again")
    log.info("Slipstream ends")
    if not ended:
        log.error("The engine did not stop; the process ends without it")
        logging.shutdown()
        os._exit(1)
    return status
