"""Work that would make the window wait: done in threads of a pool, answered in the window's."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal, Slot
from shiboken6 import isValid

from app.language import tr, translated
from mlx_engine.errors import UserError

log = logging.getLogger(__name__)


class Background(QObject):
    """Answers come in the thread that this was made in, and none after `close`."""

    _answered = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(4)
        self._open = True
        self._answered.connect(self._hand_over)

    def run(self, work: Callable[[], Any], then: Callable[[Any], None], failed: Callable[[str], None]) -> None:
        """Do `work` and hand what it returns to `then`, or the sentence of its `UserError` to `failed`."""
        if self._open:
            self._pool.start(_Job(work, then, failed, self._answered.emit))

    def close(self, seconds: float = 1.0) -> None:
        """Forget what is still under way."""
        self._open = False
        self._pool.clear()
        self._pool.waitForDone(int(1000 * seconds))

    @Slot(object, object)
    def _hand_over(self, receiver: Callable[[Any], None], value: object) -> None:
        if self._open:
            receiver(value)


def while_there(receiver: Callable[[Any], None]) -> Callable[[Any], None]:
    """A widget's method as a receiver of answers: none reaches it once the widget was closed and deleted."""
    widget = receiver.__self__  # type: ignore[attr-defined]
    return lambda value: receiver(value) if isValid(widget) else None


class _Job(QRunnable):
    def __init__(
        self,
        work: Callable[[], Any],
        then: Callable[[Any], None],
        failed: Callable[[str], None],
        answer: Callable[[object, object], None],
    ) -> None:
        super().__init__()
        self._work, self._then, self._failed, self._answer = work, then, failed, answer

    def run(self) -> None:
        try:
            receiver, value = self._then, self._work()
        except UserError as error:
            receiver, value = self._failed, translated(error.text)
        except Exception as error:
            log.exception("Work behind the picker failed")
            receiver, value = (
                self._failed,
                tr("Something went wrong inside Slipstream ({error}); the log has the details.", error=error),
            )
        with suppress(RuntimeError):  # the window has gone meanwhile
            self._answer(receiver, value)
