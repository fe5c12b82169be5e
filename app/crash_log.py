"""Nothing goes wrong in silence: crashes, exceptions and Qt's complaints all reach one log file."""

import faulthandler
import logging
import logging.handlers
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

log = logging.getLogger("slipstream")

_levels = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


def start(file: Path, tell: Callable[[], None] | None = None) -> Path | None:
    """Log to `file` from now on. `tell` is called after an exception that nothing caught, to say so in the window.

    Returns:
        Where the last run wrote of its crash, if it crashed and that was not told yet.
    """
    handler = logging.handlers.RotatingFileHandler(file, maxBytes=1_000_000, backupCount=2, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    # A file of its own: a crash is written by a signal handler, straight to the descriptor, beside Python's buffers.
    crash, told = file.with_name("crash.log"), file.with_name("crash-before.log")
    crashed = _set_aside(crash, told)
    _crash_files.append(crash.open("a", encoding="utf-8"))
    faulthandler.enable(_crash_files[-1])

    def unhandled(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        log.critical("Unhandled exception", exc_info=(kind, error, trace))
        if tell is not None:
            tell()

    def unhandled_in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            log.critical("Unhandled exception in a thread", exc_info=(args.exc_type, args.exc_value, args.exc_traceback))

    sys.excepthook = unhandled
    threading.excepthook = unhandled_in_thread
    qInstallMessageHandler(_from_qt)
    return told if crashed else None


def _set_aside(crash: Path, told: Path) -> bool:
    """What the last run wrote of its crash gets another name; False when it wrote nothing."""
    try:
        if not crash.stat().st_size:
            return False
        crash.replace(told)
    except OSError:
        return False
    return True


def stop() -> None:
    """Give the hooks back, for whoever runs the app inside another program."""
    sys.excepthook = sys.__excepthook__
    threading.excepthook = threading.__excepthook__
    qInstallMessageHandler(None)
    faulthandler.disable()
    while _crash_files:
        _crash_files.pop().close()
    root = logging.getLogger()
    for handler in list(root.handlers):
        if isinstance(handler, logging.handlers.RotatingFileHandler):
            root.removeHandler(handler)
            handler.close()


_crash_files: list = []


def _from_qt(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    logging.getLogger("qt").log(_levels.get(kind, logging.WARNING), "%s", message)
