"""Runs a kernel under several schedules, and compares what they give."""

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import mlx.core as mx
import numpy as np

from tests.metal_emulator.compiler import compilers, library, require, with_lines
from tests.metal_emulator.text import KernelFault, MetalText, as_cpp, parameters, reveal

# order of threads and threadgroups, seed
SCHEDULES = ((0, 0), (1, 0), (2, 1))
MOST_THREADS = 1024  # of a threadgroup
MOST_SHARED = 32 * 1024  # bytes of threadgroup memory
_INPUT, _OUTPUT, _INITIALISED = 0, 1, 2
_OF_MLX = mx.fast.metal_kernel  # a test may put the emulator in its place


class Kernel:
    """A kernel, called as MLX's is called.

    Args:
        name, input_names, output_names, source, header, ensure_row_contiguous, atomic_outputs, compile_options: as
            `mx.fast.metal_kernel` takes them; it is made too, and finds what is wrong with them.
    """

    def __init__(
        self,
        name: str,
        input_names: Sequence[str],
        output_names: Sequence[str],
        source: str,
        header: str = "",
        ensure_row_contiguous: bool = True,
        atomic_outputs: bool = False,
        **options: Any,
    ) -> None:
        self._mlx = _OF_MLX(
            name=name,
            input_names=list(input_names),
            output_names=list(output_names),
            source=source,
            header=header,
            ensure_row_contiguous=ensure_row_contiguous,
            atomic_outputs=atomic_outputs,
            **options,
        )
        self.name, self.header = name, header
        self._inputs, self._outputs = list(input_names), list(output_names)
        self._contiguous, self._atomic = ensure_row_contiguous, atomic_outputs

    def __call__(
        self,
        inputs: Sequence[Any],
        output_shapes: Sequence[Sequence[int]],
        output_dtypes: Sequence[mx.Dtype],
        grid: tuple[int, int, int],
        threadgroup: tuple[int, int, int],
        template: Sequence[tuple[str, Any]] | None = None,
        init_value: float | None = None,
        verbose: bool = False,
        stream: Any = None,
    ) -> list[mx.array]:
        """The outputs. Raises KernelFault for whatever the kernel does wrong, under any schedule and with any compiler."""
        require()
        arrays = [array if isinstance(array, mx.array) else mx.array(array) for array in inputs]
        mx.eval(arrays)
        call: dict[str, Any] = {
            "output_shapes": output_shapes,
            "output_dtypes": output_dtypes,
            "grid": grid,
            "threadgroup": threadgroup,
        }
        if template is not None:
            call["template"] = template
        if init_value is not None:
            call["init_value"] = init_value
        metal = reveal(self._mlx, arrays, **call)
        if verbose:
            print(metal.text)
        if prod(threadgroup) > MOST_THREADS:
            raise KernelFault(f"{self.name}: a threadgroup of {prod(threadgroup)} threads; Metal allows {MOST_THREADS}")
        memory = [_Memory(array, self._contiguous) for array in arrays]
        outputs = [(tuple(shape), dtype) for shape, dtype in zip(output_shapes, output_dtypes, strict=True)]
        runs = [
            (compiler, schedule, self._run(metal, compiler, schedule, memory, outputs, init_value))
            for compiler in compilers()
            for schedule in SCHEDULES
        ]
        _, _, first = runs[0]
        for compiler, _, results in runs[1:]:
            self._compare(first, results, compiler)
        return [_array(bits, shape, dtype) for bits, (shape, dtype) in zip(first, outputs, strict=True)]

    def _run(
        self,
        metal: MetalText,
        compiler: str,
        schedule: tuple[int, int],
        memory: "list[_Memory]",
        outputs: list[tuple[tuple[int, ...], mx.Dtype]],
        init_value: float | None,
    ) -> list[np.ndarray]:
        machine = _library(metal, self.header, self.name, compiler)
        machine.emulator_open()
        try:
            buffers = list[int]()
            results: list[tuple[str, int, int, int]] = []  # name, number, address, bytes
            given = dict(zip(self._inputs, memory, strict=True))
            made = dict(zip(self._outputs, outputs, strict=True))
            for parameter in parameters(metal):
                if not parameter.buffer:
                    continue
                name = parameter.name
                base, _, suffix = name.rpartition("_")
                if name in made:
                    shape, dtype = made[name]
                    size = prod(shape) * dtype.size
                    filled = init_value is not None
                    address = machine.emulator_buffer(name.encode(), size, _INITIALISED if filled else _OUTPUT)
                    if init_value is not None:
                        start = _Memory(mx.full(shape, init_value, dtype), contiguous=True).bytes
                        ctypes.memmove(address, start, size)
                    results.append((name, len(buffers), address, size))
                elif name in given:
                    address = given[name].place(machine, name)
                else:
                    facts = {"shape": np.int32, "strides": np.int64, "ndim": np.int32}
                    value = np.array(getattr(given[base], suffix), facts[suffix])
                    address = machine.emulator_buffer(name.encode(), value.nbytes, _INPUT)
                    ctypes.memmove(address, value.ctypes.data, value.nbytes)
                buffers.append(address)
            pointers = (ctypes.c_void_p * len(buffers))(*buffers)
            triple = ctypes.c_uint * 3
            entry = ctypes.cast(machine.emulator_kernel, ctypes.c_void_p)
            bad = machine.emulator_run(entry, pointers, triple(*metal.grid), triple(*metal.threadgroup), *schedule)
            if bad:
                raise KernelFault(f"{self.name}: {with_lines(machine.emulator_message().decode(), machine._name)}")
            if (shared := machine.emulator_threadgroup_bytes()) > MOST_SHARED:
                raise KernelFault(f"{self.name}: {shared} bytes of threadgroup memory; Metal allows {MOST_SHARED}")
            for name, number, _, size in results:
                if (byte := machine.emulator_unwritten(number)) >= 0:
                    raise KernelFault(f"{self.name}: nothing writes byte {byte} of the output {name}, which has {size}")
            return [np.frombuffer(ctypes.string_at(address, size), np.uint8) for _, _, address, size in results]
        finally:
            machine.emulator_close()

    def _compare(self, first: list[np.ndarray], other: list[np.ndarray], compiler: str) -> None:
        for name, a, b in zip(self._outputs, first, other, strict=True):
            if not self._atomic and (a != b).any():
                byte = int(np.flatnonzero(a != b)[0])
                raise KernelFault(
                    f"{self.name}: the output {name} depends on the order of the threads, first at byte {byte} ({compiler})"
                )


metal_kernel = Kernel


@lru_cache(maxsize=64)
def _library(metal: MetalText, header: str, name: str, compiler: str) -> ctypes.CDLL:
    try:
        return library(as_cpp(metal, header, name), compiler)
    except KernelFault as fault:
        raise KernelFault(f"{name}: {fault}") from None


class _Memory:
    """An input as a kernel sees it: the bytes from its lowest to its highest element, and where its first element is among them."""

    def __init__(self, array: mx.array, contiguous: bool) -> None:
        words = {1: mx.uint8, 2: mx.uint16, 4: mx.uint32, 8: mx.uint64}[array.dtype.size]
        view = np.asarray(array.view(words) if array.ndim else array.reshape(1).view(words))
        if contiguous:
            view = np.ascontiguousarray(view)
        self.ndim = array.ndim
        self.shape = array.shape
        self.strides = [stride // view.itemsize for stride in view.strides] if array.ndim else []
        ends = [(size - 1) * stride for size, stride in zip(view.shape, view.strides, strict=True) if size]
        low, high = sum(end for end in ends if end < 0), sum(end for end in ends if end > 0)
        self._first = -low
        start = view.__array_interface__["data"][0] + low
        self.bytes = ctypes.string_at(start, high - low + view.itemsize) if view.size else b""

    def place(self, machine: ctypes.CDLL, name: str) -> int:
        address: int = machine.emulator_buffer(name.encode(), len(self.bytes), _INPUT)
        ctypes.memmove(address, self.bytes, len(self.bytes))
        return address + self._first


def _array(data: np.ndarray, shape: tuple[int, ...], dtype: mx.Dtype) -> mx.array:
    words = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[dtype.size]
    return mx.array(data.view(words).reshape(shape)).view(dtype) if shape else mx.array(data.view(words)).view(dtype).reshape(())
