"""Replace the reference BLAS of MLX's Linux wheel by one with the same results, several times faster."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".cpp")
CACHE = Path(__file__).parents[1] / ".metal_cache"
_OPTIONS = ["-std=c++17", "-O3", "-march=native", "-ffp-contract=off", "-fPIC", "-shared", "-w", "-Wl,--as-needed"]


def build() -> Path | None:
    """Compile the library for this processor, or return the cached one.

    Returns:
        None on other systems than Linux, or if no compiler can compile it.
    """
    compiler = shutil.which("g++") or shutil.which("clang++")
    if sys.platform != "linux" or not compiler:
        return None
    features = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith(("flags", "Features"))), "")
    settings = f"{compiler} {_OPTIONS} {platform.machine()} {features}".encode()
    out = CACHE / f"blas-{hashlib.sha256(SOURCE.read_bytes() + settings).hexdigest()[:24]}.so"
    if not out.exists():
        CACHE.mkdir(exist_ok=True)
        partial = out.with_name(f"{out.name}.{os.getpid()}.part")
        if subprocess.run([compiler, *_OPTIONS, str(SOURCE), "-o", str(partial)], capture_output=True).returncode:
            return None
        partial.replace(out)
    return out


def load() -> Path | None:
    """Load the library of `build`, before anything imports MLX, and return its path."""
    library = build()
    if library:
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    return library
