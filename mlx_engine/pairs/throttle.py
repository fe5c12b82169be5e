"""A bandwidth limit that all connections share and that may be changed at any time."""

import threading
import time

_BREATH = 0.25  # seconds after which whoever waits looks whether the limit was changed


class Throttle:
    """Args: rate: bytes per second, or None for no limit."""

    def __init__(self, rate: float | None = None) -> None:
        self._lock = threading.Lock()
        self._owed_until = 0.0
        self._rate = rate
        self._changes = 0

    @property
    def rate(self) -> float | None:
        return self._rate

    @rate.setter
    def rate(self, value: float | None) -> None:
        with self._lock:
            self._rate, self._owed_until = value, 0.0
            self._changes += 1

    def take(self, count: int, stop: threading.Event) -> None:
        """Wait until `count` more bytes fit under the limit, until the limit is changed, or until `stop` is set."""
        if self._rate is None:
            return
        with self._lock:
            if self._rate is None:
                return
            now = time.monotonic()
            self._owed_until = max(self._owed_until, now - 0.1) + count / self._rate
            until, changes = self._owed_until, self._changes
        while changes == self._changes and (left := until - time.monotonic()) > 0 and not stop.wait(min(left, _BREATH)):
            pass
