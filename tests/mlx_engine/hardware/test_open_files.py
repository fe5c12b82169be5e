"""The limit of open files once the engine has been created."""

import subprocess
import sys

import pytest

_CREATE = """
import resource, sys
from mlx_engine.engine.host import local_engine
resource.setrlimit(resource.RLIMIT_NOFILE, tuple(map(int, sys.argv[1:])))
local_engine()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(("before", "after"), [((100, 256), (256, 256)), ((3000, 3500), (3000, 3500))])
def test_the_engine_raises_the_limit_of_open_files_as_far_as_allowed(before: tuple[int, int], after: tuple[int, int]) -> None:
    command = [sys.executable, "-c", _CREATE, *map(str, before)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [*map(str, after)], done.stderr
