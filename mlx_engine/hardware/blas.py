"""Choose the BLAS for MLX on Linux before MLX is loaded.

MLX's Linux wheel is linked against the reference BLAS, where a product of 16 rows costs as much as 16 products of one row, so
DFlash would gain nothing. A system OpenBLAS that is loaded first, with global symbols, replaces it. Macs use Metal.

`SLIPSTREAM_BLAS` is `auto` (OpenBLAS if installed), `openblas` (required), or `wheel` (the reference BLAS, where passes of 1 and n
rows agree bit for bit). `SLIPSTREAM_THREADS` is the number of BLAS threads.
"""

import ctypes
import os
import sys
from dataclasses import dataclass

from mlx_engine.contract.errors import UserError

_LIBRARY = "libopenblas.so.0"
_INSTALL = "sudo apt-get install libopenblas0-pthread"


@dataclass(frozen=True)
class Blas:
    """The BLAS in use: "openblas", "wheel", or "metal" (where `threads` is None)."""

    name: str
    threads: int | None
    detail: str


_in_use: Blas | None = None


def prepare() -> Blas:
    """Load the BLAS that the environment selects, once, before anything imports `mlx`.

    Raises:
        UserError: an environment variable has an invalid value, or a required OpenBLAS isn't installed.
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
        return Blas("wheel", 1, "MLX's reference BLAS, because MLX was loaded too early")
    os.environ["OPENBLAS_NUM_THREADS"] = str(threads)  # read when the library is loaded
    try:
        library = ctypes.CDLL(_LIBRARY, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        if wanted == "openblas":
            template = "OpenBLAS ({library}) isn't installed. Install it with: {command}"
            raise UserError("blas_missing", template, library=_LIBRARY, command=_INSTALL) from error
        return Blas("wheel", 1, "MLX's reference BLAS, which is slow")
    library.openblas_get_config.restype = ctypes.c_char_p
    return Blas("openblas", threads, library.openblas_get_config().decode().strip())


def _threads() -> int:
    text = os.environ.get("SLIPSTREAM_THREADS", "")
    if not text:
        return min(len(os.sched_getaffinity(0)), 8) if hasattr(os, "sched_getaffinity") else 1
    if not text.isdecimal() or int(text) < 1:
        raise UserError("threads_invalid", "SLIPSTREAM_THREADS is “{value}”. Use a whole number above 0.", value=text)
    return int(text)
