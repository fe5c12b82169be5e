"""Log of crashes, unhandled exceptions, and Qt messages."""

import faulthandler
import logging
import logging.handlers
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

log = logging.getLogger("slipstream")
PREVIOUS = "crash-before.log"  # details of the last crash
MOST_SHOWN = 20_000  # characters

_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


def start(file: Path, report: Callable[[], None] | None = None) -> Path | None:
    """Log to `file`, and call `report` after each unhandled exception.

    Returns:
        The file with details if the previous run crashed.
    """
    handler = logging.handlers.RotatingFileHandler(file, maxBytes=1_000_000, backupCount=2, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    # Crashes have their own file: a signal handler writes them, bypassing Python's buffers.
    crash, previous = file.with_name("crash.log"), file.with_name(PREVIOUS)
    crashed = _move_aside(crash, previous)
    faulthandler.enable(crash.open("a", encoding="utf-8"))  # which keeps the file open

    def unhandled(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        log.critical("Unhandled exception", exc_info=(kind, error, trace))
        if report is not None:
            report()

    def unhandled_in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            log.critical("Unhandled exception in a thread", exc_info=(args.exc_type, args.exc_value, args.exc_traceback))

    sys.excepthook = unhandled
    threading.excepthook = unhandled_in_thread
    qInstallMessageHandler(_log_qt_message)
    return previous if crashed else None


def last_crash(folder: Path) -> str:
    """Return the time and details of the last crash, or an empty string."""
    file = folder / PREVIOUS
    try:
        when = datetime.fromtimestamp(file.stat().st_mtime)
        return f"{when:%Y-%m-%d %H:%M}\n{file.read_text(encoding='utf-8', errors='replace')[:MOST_SHOWN]}"
    except OSError:
        return ""


def _move_aside(crash: Path, previous: Path) -> bool:
    """Move the previous run's crash file aside; return whether it has details."""
    try:
        if not crash.stat().st_size:
            return False
        crash.replace(previous)
    except OSError:
        return False
    return True


def _log_qt_message(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    logging.getLogger("qt").log(_LEVELS.get(kind, logging.WARNING), "%s", message)
