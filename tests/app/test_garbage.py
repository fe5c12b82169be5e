"""Garbage is collected on the window's thread only."""

import threading

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.system.garbage import GarbageCollector
from tests.app.conftest import PATIENCE_MS


class Circle(QWidget):
    """A widget that only a collection frees."""

    def __init__(self) -> None:
        super().__init__()
        self.itself = self


def test_qt_objects_in_garbage_are_deleted_on_the_windows_thread(collector: GarbageCollector, qtbot: QtBot) -> None:
    """Automatic collections ran on whichever thread allocated much, and the window's next event could crash."""
    threads: list[threading.Thread] = []

    def note(_: QObject) -> None:
        threads.append(threading.current_thread())

    Circle().destroyed.connect(note, Qt.ConnectionType.DirectConnection)
    held: list[list[int]] = []
    busy = threading.Thread(target=lambda: held.extend([] for _ in range(100_000)))
    busy.start()
    busy.join()
    collector._timer.setInterval(10)
    qtbot.waitUntil(lambda: bool(threads), timeout=PATIENCE_MS)
    assert threads == [threading.main_thread()]
