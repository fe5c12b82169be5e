"""Finding and killing the processes that a program has started."""

import os
import subprocess
import sys

from mlx_engine.mcp.processes import kill_all, started_by
from tests.mlx_engine.mcp.running_servers import is_running, wait_until


def test_other_processes_are_neither_found_nor_killed() -> None:
    sleep = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    program, other = (subprocess.Popen(sleep, start_new_session=True) for _ in range(2))
    try:
        assert started_by(program.pid) == {}
        assert started_by(os.getpid()).keys() >= {program.pid, other.pid}
        kill_all({program.pid: program.pid + 1, other.pid: other.pid})  # as if the first ID had been used again
        wait_until(lambda: not is_running(other.pid))
        assert is_running(program.pid)
    finally:
        for process in (program, other):
            process.kill()
            process.wait()
