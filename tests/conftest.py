"""What holds for every test: no network, the wheel's own BLAS, and how many examples a property gets."""

import contextlib
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from tests import reference_blas

# MLX wakes a thread for every operation. A batch process isn't interrupted for that, which halves its system time.
if sys.platform == "linux":
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))

# Before anything imports MLX. In the wheel's BLAS a pass of one row and a pass of many rows agree bit for bit.
os.environ["SLIPSTREAM_BLAS"] = "wheel"
if blas := reference_blas.load():
    os.environ["LD_PRELOAD"] = str(blas)  # in the processes that tests start
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

# The user's own saved prompts, measurements, and list of connections are neither read nor changed
os.environ["XDG_CACHE_HOME"] = (caches := tempfile.TemporaryDirectory(prefix="slipstream-")).name
os.environ["XDG_DATA_HOME"] = str(Path(caches.name, "data"))

# On Linux, MLX compiles functions with a command named g++. clang++ takes the same options.
if not shutil.which("g++") and (clang := shutil.which("clang++")):
    commands = tempfile.TemporaryDirectory()
    Path(commands.name, "g++").symlink_to(clang)
    os.environ["PATH"] += os.pathsep + commands.name

# A shell that runs tests in the background ignores Ctrl-C, and so do its programs: tests that press Ctrl-C would wait forever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest
from hypothesis import HealthCheck, settings

# No deadline: a time says more about the machine than about the code. `sample` always tries the same examples, so that a change
# passes or fails by its own merit; `all` draws fresh ones.
settings.register_profile(
    "sample", max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.register_profile("all", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "sample"))


@pytest.hookimpl(optionalhook=True)  # so that tests also run with `-p no:xdist`
def pytest_xdist_auto_num_workers() -> int:
    """One process more than cores, because tests also wait."""
    return (len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1) + 1


def pytest_configure() -> None:
    """On Linux, precompile the header of the functions that MLX compiles: each then takes a quarter of the time."""
    gc.disable()  # until all tests are imported, which leaves hardly any garbage
    folder = Path(tempfile.gettempdir(), "mlx", version("mlx"), "cpu")  # MLX keeps the functions there, and g++ looks there first
    header = Path("mlx", "backend", "cpu", "compiled_preamble.h")
    precompiled = folder / f"{header}.gch"
    mlx = find_spec("mlx")
    if sys.platform != "linux" or precompiled.exists() or not mlx or not mlx.submodule_search_locations or not shutil.which("g++"):
        return
    include = Path(mlx.submodule_search_locations[0], "include")
    precompiled.parent.mkdir(parents=True, exist_ok=True)
    partial = precompiled.with_name(f"{precompiled.name}.{os.getpid()}.part")
    options = ["-std=c++17", "-O3", "-Wall", "-fPIC"]  # MLX's own; g++ ignores a header compiled with others
    command = ["g++", *options, "-w", "-x", "c++-header", "-I", str(include), str(include / header), "-o", str(partial)]
    if subprocess.run(command, capture_output=True).returncode == 0:
        partial.replace(precompiled)


def pytest_collection_finish() -> None:
    """Leave the many objects of imports and collection out of later garbage collections."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Turn automatic collections on again after tests of the window, which turn them off.

    First delete the windows that are garbage by now: a collection on another thread would delete them there, and a later test of
    the window could crash.
    """
    if not gc.isenabled() and "collector" not in getattr(item, "fixturenames", ()):
        gc.collect()
        gc.enable()
