"""Ctrl-C while a reply is written: the first press stops the reply, a second one the program."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stops_reply() -> Iterator[threading.Event]:
    """Within, Ctrl-C sets the event that is handed out; pressed again before the reply has stopped, it interrupts as ever."""
    cancel = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if cancel.is_set():
            raise KeyboardInterrupt
        cancel.set()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield cancel
    finally:
        signal.signal(signal.SIGINT, before)
