"""Output to the terminal. No other module writes to it.

Terminals execute control characters. Replies, file and repo names, and error messages may contain such characters, so they are
replaced with visible symbols.
"""

import json
import logging
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from mlx_engine.contract.visible import JSON_ESCAPES, visible, without_controls

_DIM, _NORMAL = "\033[2m", "\033[0m"
LINE_EVERY = 30.0  # seconds between lines about progress, without a terminal


_format_warning = warnings.formatwarning


def _line(text: str) -> str:
    return visible(text).replace("\n", "␊")


def say(*lines: str) -> None:
    """Print lines to standard output."""
    for line in lines or ("",):
        print(_line(line), flush=True)


def note(*lines: str) -> None:
    """Print lines to standard error."""
    for line in lines or ("",):
        print(_line(line), file=sys.stderr)


def progress(text: str) -> None:
    """Replace the progress line of a terminal; an empty text removes it."""
    if shows_progress():
        print(f"\r\033[K{_line(text)[:200]}", end="", file=sys.stderr, flush=True)


def shows_progress() -> bool:
    return sys.stderr.isatty()


class ProgressLine:
    """Progress of long work: one line on a terminal, else lines at intervals.

    Args:
        quiet: whether to leave a terminal alone, too.
    """

    def __init__(self, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_live = shows_progress() and not quiet
        self._clock, self._last = clock, clock()

    def show(self, text: str) -> None:
        """Show the state. Without a terminal, only once in a while."""
        if self.is_live or self._clock() - self._last >= LINE_EVERY:
            self.say(text)

    def say(self, text: str) -> None:
        """Show a message immediately."""
        self._last = self._clock()
        progress(text) if self.is_live else note(text)

    def end(self) -> None:
        if self.is_live:
            progress("")


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False).translate(JSON_ESCAPES))


def write(text: str, dim: bool = False, raw: bool = False) -> None:
    """Write part of a reply, with control characters made visible.

    Args:
        raw: whether a pipe gets the text as it is.
    """
    if at_terminal():
        text = f"{_DIM}{visible(text)}{_NORMAL}" if dim else visible(text)
    elif not raw:
        text = without_controls(text)
    sys.stdout.write(text)
    sys.stdout.flush()


def ask(prompt: str) -> str:
    """Return a line of standard input.

    Raises:
        EOFError: standard input has ended.
    """
    return input(_line(prompt))


def at_terminal() -> bool:
    return sys.stdout.isatty()


class _VisibleFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def _visible_warning(*args: Any, **kwargs: Any) -> str:
    return visible(_format_warning(*args, **kwargs))


def _show_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write(visible("".join(traceback.format_exception(kind, error, trace))))


def prepare() -> None:
    """Print “?” for unencodable characters, and replace closed streams.

    Control characters in Python's log messages, warnings, and tracebacks are replaced too.
    """
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_VisibleFormatter())
    warnings.formatwarning = _visible_warning
    sys.excepthook = _show_bug
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        with suppress(AttributeError):  # a test's stream may lack the method
            getattr(sys, name).reconfigure(errors="replace")


def show_log(name: str) -> None:
    """Print a logger's lines to standard error, with the time of day."""
    handler = logging.StreamHandler()
    handler.setFormatter(_VisibleFormatter("%(asctime)s  %(message)s", "%H:%M:%S"))
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


def flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()


def discard_unreadable() -> None:
    """Flush the output, or discard it if the reader, such as `head`, has exited."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
