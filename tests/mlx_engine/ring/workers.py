"""Workers on this computer, as processes."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from mlx_engine.ring.pairing import KnownWorker
from mlx_engine.ring.ring_plan import RingPlan

HOST = "127.0.0.1"


class RunningWorker:
    """A worker's process.

    Args:
        folders: models to find.
        open_files: how many files it can open; by default as many as on macOS.

    Attributes:
        known: how leaders know it.
    """

    def __init__(self, *folders: Path, open_files: int = 256) -> None:
        command = [sys.executable, "-m", "tests.mlx_engine.ring.worker_process", HOST, *map(str, folders)]
        limit = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (open_files, open_files))
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=limit)
        assert self._process.stdout
        port, code = json.loads(self._process.stdout.readline())
        self.known = KnownWorker(HOST, port, code)

    def stop(self, number: signal.Signals) -> None:
        """Send a signal to the worker and its rank."""
        self.kill_rank(number)
        self._process.send_signal(number)

    def kill_rank(self, number: signal.Signals = signal.SIGKILL) -> bool:
        """Send a signal to the process that runs the rank. Return whether there is one."""
        if self._process.poll() is not None:
            return False
        ranks = children(self._process.pid, "mlx_engine.ring.follower")
        for rank in ranks:
            with suppress(ProcessLookupError):
                os.kill(rank, number)
        return bool(ranks)

    def close(self) -> None:
        self._process.kill()  # its rank ends with it
        with self._process:
            pass


def children(process: int, module: str) -> list[int]:
    """Return the child processes that run a module."""
    found = subprocess.run(["pgrep", "-P", str(process), "-f", module], stdout=subprocess.PIPE, check=False).stdout
    return [int(child) for child in found.split()]


@contextmanager
def running_workers(count: int, *folders: Path) -> Iterator[list[RunningWorker]]:
    with ExitStack() as stack:
        workers = []
        for _ in range(count):
            workers.append(worker := RunningWorker(*folders))
            stack.callback(worker.close)
        yield workers


def plan(workers: list[RunningWorker], **options: float) -> RingPlan:
    return RingPlan(tuple(worker.known for worker in workers), **{"silent_s": 120.0, "pass_s": 600.0, **options})
