"""Load a faster `cblas_sgemm` for tests. The one in MLX's wheel gives the same bits, but takes most of a model's time."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".cpp")
CACHE = SOURCE.parents[1] / ".metal_cache"
_COMMAND = ["g++", "-O3", "-ffp-contract=off", "-shared", "-fPIC", str(SOURCE), "-o"]


def wheel() -> ctypes.CDLL | None:
    """Load the BLAS that MLX's wheel contains. Returns None if it contains none."""
    mlx = find_spec("mlx")
    found = (
        [path for folder in mlx.submodule_search_locations or () for path in Path(folder).parent.glob("mlx*.libs/libblas-*")]
        if mlx
        else []
    )
    return ctypes.CDLL(str(found[0])) if found else None


def load() -> ctypes.CDLL | None:
    """Let MLX use the faster function, if this comes before its import.

    Returns None where the wheel's own stays: on Macs, without g++, and on processors whose compilers may fuse products and sums.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64" or not shutil.which("g++"):
        return None
    reference = wheel()
    if reference is None:
        return None
    digest = hashlib.sha256(SOURCE.read_bytes() + repr(_COMMAND).encode()).hexdigest()[:24]
    library = CACHE / f"{digest}-blas.so"
    if not library.exists():
        CACHE.mkdir(exist_ok=True)
        partial = library.with_name(f"{library.name}.{os.getpid()}.part")
        if subprocess.run([*_COMMAND, str(partial)], capture_output=True).returncode:
            return None
        partial.replace(library)
    ours = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    ours.use_reference(ctypes.cast(reference.cblas_sgemm, ctypes.c_void_p))
    return ours
