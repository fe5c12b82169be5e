"""Work on threads of a pool, with results delivered on the window's thread."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from PySide6.QtCore import QObject, QThreadPool, Signal, Slot
from shiboken6 import isValid

from app.language import tr, translated
from mlx_engine.errors import UserError

log = logging.getLogger(__name__)


class Background(QObject):
    """Runs work and delivers results on the thread that created this object."""

    failed = Signal(str)  # the error of work without its own error handler

    _finished = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(4)
        self._open = True
        self._finished.connect(self._deliver)

    def run(
        self,
        work: Callable[[], Any],
        then: Callable[[Any], object] | None = None,
        failed: Callable[[str], object] | None = None,
    ) -> None:
        """Run `work` and pass its result to `then`, or the text of its error to `failed`."""

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
            with suppress(RuntimeError):  # the window is gone
                self._finished.emit(receiver, value)

        if self._open:
            self._pool.start(job)

    def close(self, seconds: float = 1.0) -> None:
        """Drop work that has not started and the results of the rest."""
        self._open = False
        self._pool.clear()
        self._pool.waitForDone(int(1000 * seconds))

    @Slot(object, object)
    def _deliver(self, receiver: Callable[[Any], object] | None, value: object) -> None:
        if self._open and receiver is not None:
            receiver(value)


def while_open(receiver: Callable[[Any], None]) -> Callable[[Any], None]:
    """Wrap a widget's method so that it is not called after the widget was deleted."""
    widget = receiver.__self__  # type: ignore[attr-defined]
    return lambda value: receiver(value) if isValid(widget) else None
