"""The side of a child process: it answers requests on its pipes, within limits.

Imports little, so that children start quickly. `child_process.py` is the other side.

A request is its length and its time limit, then its bytes. An answer is its length and its bytes. An empty answer says that the
process is ready.
"""

import os
import resource
import signal
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

REQUEST = struct.Struct("<QI")  # bytes, seconds
ANSWER = struct.Struct("<Q")  # bytes
TOO_LARGE = 3  # exit status
_OPEN_FILES = 64


def serve(answer: Callable[[memoryview], bytes], memory: int) -> None:
    """Answer requests until standard input ends.

    The kernel ends this process when a request takes too long, even if the parent was killed. It writes no files.

    Args:
        memory: bytes of address space.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    with suppress(ValueError, OSError):  # on macOS, where every process reserves more; the parent watches the memory
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    _write(answers, b"")
    while len(head := requests.read(REQUEST.size)) == REQUEST.size:
        length, seconds = REQUEST.unpack(head)
        try:
            if len(request := requests.read(length)) < length:
                return
            signal.alarm(seconds)
            answered = answer(memoryview(request))
        except MemoryError:
            os._exit(TOO_LARGE)
        _write(answers, answered)
        signal.alarm(0)
        del request, answered  # before the next request is read


def _write(answers: BinaryIO, answer: bytes) -> None:
    answers.write(ANSWER.pack(len(answer)))
    answers.write(answer)
    answers.flush()
