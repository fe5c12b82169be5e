"""The memory of child processes."""

import os
import subprocess
import sys

from mlx_engine.hardware import child_process


def test_the_memory_of_a_process_is_known() -> None:
    filled = b"x" * 200_000_000
    held = child_process.footprint(os.getpid())
    assert len(filled) < held < 50_000_000_000
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    assert child_process.footprint(gone.pid) is None
