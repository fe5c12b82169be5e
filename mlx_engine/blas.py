"""Choose the BLAS for MLX on Linux, before MLX is loaded.

MLX's Linux wheel is linked against the reference BLAS, for which a product of 16 rows costs as much as 16 products of one row, so a
verify would gain nothing. A system OpenBLAS that is loaded first, with global symbols, takes its place. On a Mac, Metal is used.

`SLIPSTREAM_BLAS` is `auto` (OpenBLAS if it is installed), `openblas` (or fail) or `wheel` (the reference BLAS, whose passes of 1
and of n rows agree bit for bit). `SLIPSTREAM_THREADS` is the number of BLAS threads.
"""

import ctypes
import os
import sys
from dataclasses import dataclass

from mlx_engine.errors import UserError

_LIBRARY = "libopenblas.so.0"
_INSTALL = "sudo apt-get install libopenblas0-pthread"


@dataclass(frozen=True)
class Blas:
    """The BLAS in use: `name` is "openblas", "wheel" or "metal"; `threads` is None for Metal."""

    name: str
    threads: int | None
    detail: str


_in_use: Blas | None = None


def prepare() -> Blas:
    """Load the BLAS that the environment selects. Call before anything imports `mlx`; later calls return the first choice.

    Raises:
        UserError: a variable has an invalid value, or OpenBLAS is required and not installed.
    """
    global _in_use
    if _in_use is None:
        _in_use = _choose()
    return _in_use


def _choose() -> Blas:
    wanted = os.environ.get("SLIPSTREAM_BLAS", "auto")
    if wanted not in ("auto", "openblas", "wheel"):
        raise UserError("blas_unknown", "SLIPSTREAM_BLAS is “{value}”. Use auto, openblas, or wheel.", value=wanted)
    threads = _threads()
    if sys.platform == "darwin":
        return Blas("metal", None, "Metal; no BLAS")
    if wanted == "wheel":
        return Blas("wheel", 1, "MLX's reference BLAS, one thread")
    if "mlx.core" in sys.modules:
        return Blas("wheel", 1, "MLX's reference BLAS; MLX was loaded before Slipstream could choose")
    os.environ["OPENBLAS_NUM_THREADS"] = str(threads)  # read once, when the library is loaded
    try:
        library = ctypes.CDLL(_LIBRARY, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        if wanted == "openblas":
            raise UserError(
                "blas_missing",
                "OpenBLAS ({library}) is not installed. Install it with: {command}",
                library=_LIBRARY,
                command=_INSTALL,
            ) from error
        return Blas("wheel", 1, f"MLX's reference BLAS, which is slow. For a fast one: {_INSTALL}")
    library.openblas_get_config.restype = ctypes.c_char_p
    return Blas("openblas", threads, library.openblas_get_config().decode().strip())


def _threads() -> int:
    text = os.environ.get("SLIPSTREAM_THREADS", "")
    if not text:
        return min(len(os.sched_getaffinity(0)), 8) if hasattr(os, "sched_getaffinity") else 1
    if not text.isdecimal() or int(text) < 1:
        raise UserError("threads_invalid", "SLIPSTREAM_THREADS is “{value}”. Use a whole number above 0.", value=text)
    return int(text)
