"""The Metal kernel sources, one file per kernel."""

from functools import cache
from pathlib import Path


@cache
def kernel_source(name: str) -> str:
    """Return the source of NAME.metal as a header for `mx.fast.metal_kernel`.

    A `#line` directive makes compiler errors name the file.
    """
    return f'#line 1 "metal/{name}.metal"\n' + Path(__file__).with_name(f"{name}.metal").read_text(encoding="utf-8")
