"""The bandwidth limit of downloads, saved between runs."""

import threading
import time
from pathlib import Path
from typing import Any

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import data_folder, read_json, write_json

_MOST = 1e12  # bytes per second; higher limits count as none
_POLL = 0.25  # seconds between checks for a changed limit


def download_limit() -> float | None:
    """Return the saved limit in bytes per second, or None for no limit."""
    try:
        raw = read_json(_file())
    except UserError:
        return None
    rate: Any = raw.get("bytes_per_s") if isinstance(raw, dict) else None
    return float(rate) if type(rate) in (int, float) and 0 < rate < _MOST else None


def save_download_limit(rate: float | None) -> None:
    write_json(_file(), {"bytes_per_s": rate})


def _file() -> Path:
    return data_folder() / "bandwidth.json"


class Throttle:
    """A bandwidth limit in bytes per second that several connections share."""

    def __init__(self, rate: float | None = None) -> None:
        self._lock = threading.Lock()
        self._rate, self._busy_until, self._changes = rate, 0.0, 0

    def limit(self, rate: float | None) -> None:
        with self._lock:
            self._rate, self._busy_until = rate, 0.0
            self._changes += 1

    def take(self, count: int, stop: threading.Event) -> None:
        """Wait until `count` bytes fit the limit, the limit changes, or `stop` is set."""
        with self._lock:
            if self._rate is None:
                return
            self._busy_until = max(self._busy_until, time.monotonic() - 0.1) + count / self._rate
            until, changes = self._busy_until, self._changes
        while changes == self._changes and (left := until - time.monotonic()) > 0 and not stop.wait(min(left, _POLL)):
            pass
