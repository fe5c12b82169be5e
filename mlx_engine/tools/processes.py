"""The processes that a program has started, even those that have left its process group."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from contextlib import suppress


async def started_by(program: int) -> dict[int, int]:
    """Return the IDs and the sessions of all processes below a program, and of the rest of its session.

    A process isn't found if it has left the session and its parent has ended.

    Args:
        program: process ID of a session leader, which may have ended.
    """
    parents = await _parents()
    sessions = {process: _session(process) for process in parents}
    found = {program} | {process for process, session in sessions.items() if session == program}
    while below := {process for process, parent in parents.items() if parent in found} - found:
        found |= below
    return {process: sessions[process] for process in found & set(parents) - {program}}


def kill_all(processes: Mapping[int, int]) -> None:
    """Kill those of these processes that are still running."""
    for process, session in processes.items():
        if session and _session(process) == session:  # otherwise, another process may have its ID
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)


async def _parents() -> dict[int, int]:
    """Return the parent of each process, or {} if they can't be listed."""
    with suppress(OSError):
        command = ("/bin/ps", "-A", "-o", "pid=,ppid=")
        ps = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
        output, _ = await ps.communicate()
        return {int(process): int(parent) for process, parent in map(str.split, output.decode().splitlines())}
    return {}


def _session(process: int) -> int:
    with suppress(OSError):
        return os.getsid(process)
    return 0
