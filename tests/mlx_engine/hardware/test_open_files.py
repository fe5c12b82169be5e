"""The limit of open files once the engine has been created."""

import subprocess
import sys

_CREATE = """
import resource
from mlx_engine.engine.host import local_engine
for limits in ((3000, 3500), (100, 256)):
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    local_engine()
    print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_the_engine_raises_the_limit_of_open_files_as_far_as_allowed() -> None:
    done = subprocess.run([sys.executable, "-c", _CREATE], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["3000 3500", "256 256"], done.stderr
