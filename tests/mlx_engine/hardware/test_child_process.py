"""Child processes: requests that wait while they are stopped, and their memory."""

import os
import subprocess
import sys
import threading

import pytest

from mlx_engine.hardware import child_process
from mlx_engine.hardware.child_process import ChildFailure, ChildProcess


class _Asked(threading.Event):
    """A request's cancel event that says when the request looks at it, while it works or waits."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = threading.Event()

    def is_set(self) -> bool:
        self.seen.set()
        return super().is_set()


def test_stop_ends_requests_that_wait_and_later_ones_start_the_process_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A waiting request would otherwise start the process again, and `stop` would wait for it."""
    child = ChildProcess("a.module", 1 << 30)
    child._ready = True
    starts, asked = 0, [_Asked() for _ in range(3)]

    def exchange(process, request, seconds, most, check):
        while True:
            check()

    def start() -> None:
        nonlocal starts
        starts += 1

    monkeypatch.setattr(child, "_start", start)
    monkeypatch.setattr(child, "_exchange", exchange)
    reasons: list[str] = []

    def ask(cancel: _Asked) -> None:
        with pytest.raises(ChildFailure) as failure:
            child.ask([b"x"], 60, 100, cancel)
        reasons.append(failure.value.reason)

    threads = [threading.Thread(target=ask, args=(cancel,)) for cancel in asked]
    for thread in threads:
        thread.start()
    for cancel in asked:
        assert cancel.seen.wait(30)
    child.stop()
    for thread in threads:
        thread.join(30)
    assert reasons == ["stopped"] * 3 and starts == 1
    monkeypatch.setattr(child, "_exchange", lambda *_: memoryview(b"answer"))
    assert child.ask([b"x"], 60, 100) == b"answer"


def test_the_memory_of_a_process_is_known() -> None:
    filled = b"x" * 200_000_000
    held = child_process.footprint(os.getpid())
    assert len(filled) < held < 50_000_000_000
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    assert child_process.footprint(gone.pid) is None
