"""Work on other threads whose results arrive on the window's thread."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from PySide6.QtCore import QObject, QThreadPool, Signal, Slot
from shiboken6 import isValid

from app.text.language import tr, translated
from mlx_engine.contract.errors import UserError

log = logging.getLogger(__name__)

SAVE_MS = 20_000  # the keychain can ask the user


class Background(QObject):
    """Thread pools that deliver results on the thread that created this object.

    Quitting waits for work that saves something, and abandons the rest.
    """

    failed = Signal(str)  # the error of work without an error handler

    _finished = Signal(object, object)

    def __init__(self, parent: QObject | None = None, threads: int = 4) -> None:
        super().__init__(parent)
        self._pool, self._saving = QThreadPool(self), QThreadPool(self)
        self._pool.setMaxThreadCount(threads)
        self._saving.setMaxThreadCount(threads)
        self._open = True
        self._finished.connect(self._deliver)

    def run(
        self,
        work: Callable[[], Any],
        then: Callable[[Any], object] | None = None,
        failed: Callable[[str], object] | None = None,
        saves: bool = False,
    ) -> None:
        """Run `work` and pass its result to `then`, or the text of its error to `failed`.

        Args:
            saves: whether quitting must not cut it off.
        """

        def job() -> None:
            receiver: Callable[[Any], object] | None
            try:
                receiver, value = then, work()
            except UserError as error:
                receiver, value = failed or self.failed.emit, translated(error.text)
            except Exception as error:
                log.exception("Background work failed")
                receiver = failed or self.failed.emit
                value = tr("Something went wrong ({error}). See the log for details.", error=error)
            with suppress(RuntimeError):  # the window has been deleted
                self._finished.emit(receiver, value)

        if self._open:
            (self._saving if saves else self._pool).start(job)

    def close(self) -> None:
        """Finish saving, cancel other work, and drop the results."""
        self._open = False
        self._pool.clear()
        self._pool.waitForDone(1000)
        if not self._saving.waitForDone(SAVE_MS):
            log.error("Background work didn't finish saving")

    @Slot(object, object)
    def _deliver(self, receiver: Callable[[Any], object] | None, value: object) -> None:
        if self._open and receiver is not None:
            receiver(value)


def while_open(receiver: Callable[..., None]) -> Callable[..., None]:
    """Wrap a widget's method to do nothing after the widget has been deleted."""
    widget = receiver.__self__  # type: ignore[attr-defined]
    return lambda *values: receiver(*values) if isValid(widget) else None
