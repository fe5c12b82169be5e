"""Kernels that fail as they do on a GPU: late, with the error of MLX's messages, and with arrays that contain anything."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any

import mlx.core as mx
import pytest

from mlx_engine.hardware import gpu_faults
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations

_RUN = "[METAL] Command buffer execution failed: {} ({}:kIOGPUCommandBufferCallbackError{})."
TIMEOUT = _RUN.format("Caused GPU Timeout Error", "00000002", "Timeout")
HANG = _RUN.format("Caused GPU Hang Error", "00000003", "Hang")
INTERACTIVITY = _RUN.format("Impacting Interactivity", "0000000e", "ImpactingInteractivity")
PAGE_FAULT = _RUN.format("Caused GPU Address Fault Error", "0000000b", "PageFault")
VICTIM = _RUN.format("Discarded (victim of GPU error/recovery)", "00000005", "InnocentVictim")
IGNORED = _RUN.format("Ignored (for causing prior/excessive GPU errors)", "00000004", "SubmissionsIgnored")
NO_MEMORY = _RUN.format("Insufficient Memory", "00000008", "OutOfMemory")
THREADS = "Thread group size (512) is greater than  the maximum allowed threads per threadgroup (448)."
PIPELINE = "[metal::Device] Unable to load kernel custom_kernel_verify_matmul\nXPC_ERROR_CONNECTION_INTERRUPTED\n"
LIBRARY = "[metal::Device] Unable to build metal library from source\nCompiler encountered an internal error\n"

BY_KERNEL = (TIMEOUT, HANG, INTERACTIVITY, PAGE_FAULT, THREADS, PIPELINE, LIBRARY)
INNOCENT = (VICTIM, IGNORED)
_AT_ONCE = (THREADS, PIPELINE, LIBRARY)  # raised where the pipeline is built, not by the work
_OF_MLX = "LU factorization failed"  # MLX's real error, which stands for that of the GPU


@dataclass
class FailingKernels:
    """Kernels, one of which fails at some of its calls. They compute what their references do.

    Attributes:
        name: the kernel that fails.
        message: of the error.
        at: numbers of the calls that fail, from 0.
        calls: number of calls of each kernel.
    """

    name: str = ""
    message: str = HANG
    at: range = range(0)

    def __post_init__(self) -> None:
        self.calls = Counter[str]()

    @property
    def failed(self) -> bool:
        return self.calls[self.name] > self.at.start and bool(self.at)

    @property
    def operations(self) -> Operations:
        entries: dict[str, Any] = {name: partial(self._call, name, kernel.reference) for name, kernel in KERNELS.items()}
        return replace(PLAIN, **entries, traceable=False)

    def _call(self, name: str, reference: Callable[..., Any], *arguments: Any) -> Any:
        number, self.calls[name] = self.calls[name], self.calls[name] + 1
        found = reference(*arguments)
        if name != self.name or number not in self.at:
            return found
        if self.message in _AT_ONCE:
            raise (ValueError if self.message is THREADS else RuntimeError)(self.message)
        return wrong(found)


def wrong(value: Any) -> Any:
    """Return a result whose arrays contain anything, and that raises an error somewhere, once it is computed."""
    if isinstance(value, mx.array):
        failure = mx.linalg.inv(mx.zeros((2, 2)), stream=mx.cpu).sum()
        return mx.where(mx.isnan(failure * mx.nan), mx.array(7, value.dtype), value)
    if isinstance(value, tuple):
        return tuple(wrong(each) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: wrong(getattr(value, each.name)) for each in fields(value)})
    return value


@contextmanager
def failing(kernels: FailingKernels) -> Iterator[None]:
    """Let MLX's errors in these kernels look like errors of the GPU."""
    find = gpu_faults.find

    def found(error: BaseException) -> gpu_faults.GpuFault | None:
        return find(RuntimeError(kernels.message) if _OF_MLX in str(error) else error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu_faults, "find", found)
        yield
