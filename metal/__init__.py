"""The Metal kernel sources, one file a kernel. README.md holds their contracts."""

from functools import cache
from pathlib import Path


@cache
def kernel_source(name: str) -> str:
    """The text of `NAME.metal`, for the header of `mx.fast.metal_kernel`; what a compiler says of it names the file."""
    return f'#line 1 "metal/{name}.metal"\n' + Path(__file__).with_name(f"{name}.metal").read_text(encoding="utf-8")
