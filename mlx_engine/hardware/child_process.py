"""A child process for work on content from outside, which the engine can kill.

Such content can crash a library, exhaust memory, or take forever, and Python can't interrupt a library. The child gets bytes on a
pipe, has almost no environment, and is killed when it exceeds a limit or when the request is canceled. `child_loop.py` is its side.
"""

import ctypes
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import ceil
from pathlib import Path

from mlx_engine.contract.errors import WorkCancelled
from mlx_engine.hardware import child_loop

_START_SECONDS = 60.0
_POLL_SECONDS = 0.02
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PIECE = 1 << 20  # bytes
_ENVIRONMENT = ("LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "TZ")  # where Python finds its parts, and the local time


def module_command(module: str) -> list[str]:
    """Return the command that runs a module of the engine in a child process."""
    # A bundle contains no Python program; the app runs the module
    in_python = "python" in Path(sys.executable).name.lower()
    return [sys.executable, *(["-P", "-m"] if in_python else ["--child"]), module]


class ChildFailure(Exception):
    """An error for a request without an answer.

    Attributes:
        reason: "slow", "large" (memory or answer), "ended" (a crash), "start" (it can't start), or "stopped" (by `stop`).
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ChildProcess:
    """A child process that answers requests, one at a time.

    It starts when it is first needed, and again after it was killed.

    Args:
        module: name of a module that runs `child_loop.serve`.
        memory: bytes that it may hold.
    """

    def __init__(self, module: str, memory: int) -> None:
        self.module, self.memory = module, memory
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._stops = 0

    def start(self) -> None:
        """Start the process before it is needed, without waiting for it."""
        if self._turn.acquire(blocking=False):  # otherwise it runs
            try:
                with suppress(ChildFailure):  # the next request reports it
                    self._start()
            finally:
                self._turn.release()

    def stop(self) -> None:
        """End the process, and fail the requests that wait for it.

        A later request starts it again.
        """
        self._stops += 1
        with suppress(AttributeError):  # there is none
            self._process.kill()  # type: ignore[union-attr]
        with self._turn:
            self._kill()

    def end_idle(self) -> None:
        """End the process if it does nothing."""
        if self._turn.acquire(blocking=False):
            try:
                self._kill()
            finally:
                self._turn.release()

    def ask(
        self, request: Sequence[bytes | memoryview], seconds: float, most: int, cancel: threading.Event | None = None
    ) -> memoryview:
        """Return the answer to a request.

        Args:
            request: its parts, which are sent without a copy.
            seconds: time limit, without the time until the process is free.
            most: bytes that the answer may have.

        Raises:
            ChildFailure: the process exceeded a limit, crashed, was stopped, or can't start.
            WorkCancelled: `cancel` was set.
        """
        stops = self._stops

        def check() -> None:
            if cancel is not None and cancel.is_set():
                raise WorkCancelled
            if self._stops != stops:
                raise ChildFailure("stopped")

        while not self._turn.acquire(timeout=_POLL_SECONDS):
            check()
        try:
            check()
            process = self._start()
            if not self._ready:
                try:
                    self._exchange(process, [], _START_SECONDS, 0, check)
                except ChildFailure as failure:
                    raise failure if failure.reason == "large" else ChildFailure("start") from failure
                self._ready = True
            head = child_loop.REQUEST.pack(sum(map(len, request)), ceil(seconds) + 1)
            return self._exchange(process, [head, *request], seconds, most, check)
        except BaseException as error:
            self._kill()
            if isinstance(error, ChildFailure) and self._stops != stops:  # the process was killed, whatever that looked like
                raise ChildFailure("stopped") from error
            raise
        finally:
            self._turn.release()

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._kill()
        try:
            self._process = subprocess.Popen(
                [*module_command(self.module), str(self.memory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                start_new_session=True,  # so that Ctrl-C in a terminal doesn't reach it
            )
        except OSError as error:
            raise ChildFailure("start") from error
        assert self._process.stdin
        os.set_blocking(self._process.stdin.fileno(), False)
        return self._process

    def _kill(self) -> None:
        process, self._process, self._ready = self._process, None, False
        if process is not None:
            process.kill()
            with process:  # waits, and closes the pipes
                pass

    def _exchange(
        self,
        process: subprocess.Popen[bytes],
        request: Sequence[bytes | memoryview],
        seconds: float,
        most: int,
        check: Callable[[], None],
    ) -> memoryview:
        """Write a request, and return the answer.

        Args:
            check: is called often, and raises if the request was canceled.
        """
        assert process.stdin and process.stdout
        deadline, looked = time.monotonic() + seconds, 0.0
        unsent = [memoryview(part) for part in request if part]
        answer, length = bytearray(), child_loop.ANSWER.size
        with selectors.PollSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if unsent:
                selector.register(process.stdin, selectors.EVENT_WRITE)
            while len(answer) < length:
                check()
                if (now := time.monotonic()) > deadline:
                    raise ChildFailure("slow")
                if now > looked + _POLL_SECONDS:
                    looked = now
                    held = footprint(process.pid)
                    if process.poll() is None if held is None else held > self.memory:  # never unwatched
                        raise ChildFailure("large")
                for key, _ in selector.select(_POLL_SECONDS):
                    if key.fileobj is process.stdin:
                        try:
                            unsent[0] = unsent[0][os.write(key.fd, unsent[0][:_PIECE]) :]
                        except BrokenPipeError:  # the end of its output follows
                            unsent.clear()
                        if unsent and not unsent[0]:
                            del unsent[0]
                        if not unsent:
                            selector.unregister(process.stdin)
                    elif piece := os.read(key.fd, _PIECE):
                        answer += piece
                    else:
                        raise ChildFailure(_reason(process.wait()))
                if length == child_loop.ANSWER.size <= len(answer):
                    length += child_loop.ANSWER.unpack_from(answer)[0]
                    if length > most + child_loop.ANSWER.size:
                        raise ChildFailure("large")
        if len(answer) > length:  # more than an answer
            raise ChildFailure("ended")
        return memoryview(answer)[child_loop.ANSWER.size :]


def _reason(status: int) -> str:
    return {child_loop.TOO_LARGE: "large", -signal.SIGALRM: "slow"}.get(status, "ended")


def footprint(pid: int) -> int | None:
    """Return the bytes of memory that a process holds; None if it has ended."""
    if sys.platform == "darwin":
        usage = (ctypes.c_uint64 * 16)()  # struct rusage_info_v0, whose last fields are resident size, footprint, start, and exit
        return usage[9] if ctypes.CDLL(None).proc_pid_rusage(pid, 0, usage) == 0 else None
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return None
