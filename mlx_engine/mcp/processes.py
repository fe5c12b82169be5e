"""The processes of a program, even those that left its group."""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress

_PS_S = 1.0  # listing takes a few hundredths of this


def started_by(program: int) -> dict[int, int]:
    """Return the processes below a program and of its session.

    A process isn't found if it has left the session and its parent has ended.

    Args:
        program: process ID of a session leader, which may have ended.
    """
    parents = _parents()
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


def _parents() -> dict[int, int]:
    """Return the parent of each process, or {} if they can't be listed."""
    with suppress(OSError, subprocess.TimeoutExpired):
        ps = subprocess.run(("/bin/ps", "-A", "-o", "pid=,ppid="), capture_output=True, text=True, timeout=_PS_S)
        return {int(process): int(parent) for process, parent in map(str.split, ps.stdout.splitlines())}
    return {}


def _session(process: int) -> int:
    with suppress(OSError):
        return os.getsid(process)
    return 0
