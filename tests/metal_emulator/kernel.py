"""Run a kernel under several thread schedules and compare the outputs."""

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import mlx.core as mx
import numpy as np

from tests.metal_emulator.compiler import Compiler, build, compilers, load, with_lines
from tests.metal_emulator.text import KernelFault, MetalText, as_cpp, metal_text, parameters

SCHEDULES = ((0, 0), (1, 0), (2, 1))  # order of threads and threadgroups (forward, backward, shuffled) and random seed
MAX_THREADS = 1024  # per threadgroup
MAX_SHARED = 32 * 1024  # bytes of threadgroup memory
_INPUT, _OUTPUT, _INITIALIZED = 0, 1, 2
_MLX_KERNEL = mx.fast.metal_kernel  # kept because tests replace it with the emulator


class Kernel:
    """A replacement for kernels from `mx.fast.metal_kernel` that runs on the CPU.

    It checks the arguments as MLX does.
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
        self._mlx = _MLX_KERNEL(
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
        self._texts: dict[Any, MetalText] = {}  # by the shapes and types of inputs and the other arguments

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
        """Return the outputs.

        Raises:
            KernelFault: the kernel has a fault under some schedule and compiler.
        """
        arrays = [array if isinstance(array, mx.array) else mx.array(array) for array in inputs]
        words = [_words(array) for array in arrays]
        mx.eval(arrays, words)
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
        key = (tuple((array.shape, str(array.dtype)) for array in arrays), repr(call))
        if key not in self._texts:
            self._texts[key] = metal_text(self._mlx, arrays, **call)
        metal = self._texts[key]
        if verbose:
            print(metal.text)
        if prod(threadgroup) > MAX_THREADS:
            raise KernelFault(f"{self.name}: a threadgroup of {prod(threadgroup)} threads; Metal allows {MAX_THREADS}")
        memory = [_Memory(array, of_array, self._contiguous) for array, of_array in zip(arrays, words, strict=True)]
        outputs = [(tuple(shape), dtype) for shape, dtype in zip(output_shapes, output_dtypes, strict=True)]
        # Outputs are compared within one compiler: the garbage in uninitialized locals differs between compilers.
        results = []
        for compiler in compilers():
            first, *others = (self._run(metal, compiler, schedule, memory, outputs, init_value) for schedule in SCHEDULES)
            for other in others:
                self._compare(first, other, compiler)
            results.append(first)
        return [_array(bits, shape, dtype) for bits, (shape, dtype) in zip(results[0], outputs, strict=True)]

    def _run(
        self,
        metal: MetalText,
        compiler: Compiler,
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
            inputs = dict(zip(self._inputs, memory, strict=True))
            described = dict(zip(self._outputs, outputs, strict=True))
            for parameter in parameters(metal):
                if not parameter.buffer:
                    continue
                name = parameter.name
                base, _, suffix = name.rpartition("_")
                if name in described:
                    shape, dtype = described[name]
                    size = prod(shape) * dtype.size
                    address = machine.emulator_buffer(name.encode(), size, _OUTPUT if init_value is None else _INITIALIZED)
                    if init_value is not None:
                        filled = mx.full(shape, init_value, dtype)
                        start = _Memory(filled, _words(filled), contiguous=True).bytes
                        ctypes.memmove(address, start, size)
                    results.append((name, len(buffers), address, size))
                elif name in inputs:
                    address = inputs[name].copy_to(machine, name)
                else:
                    types = {"shape": np.int32, "strides": np.int64, "ndim": np.int32}
                    value = np.array(getattr(inputs[base], suffix), types[suffix])
                    address = machine.emulator_buffer(name.encode(), value.nbytes, _INPUT)
                    ctypes.memmove(address, value.ctypes.data, value.nbytes)
                buffers.append(address)
            pointers = (ctypes.c_void_p * len(buffers))(*buffers)
            triple = ctypes.c_uint * 3
            entry = ctypes.cast(machine.emulator_kernel, ctypes.c_void_p)
            if machine.emulator_run(entry, pointers, triple(*metal.grid), triple(*metal.threadgroup), *schedule):
                raise KernelFault(f"{self.name}: {with_lines(machine.emulator_message().decode(), machine._name)}")
            if (shared := machine.emulator_threadgroup_bytes()) > MAX_SHARED:
                raise KernelFault(f"{self.name}: {shared} bytes of threadgroup memory; Metal allows {MAX_SHARED}")
            for name, number, _, size in results:
                if (byte := machine.emulator_unwritten(number)) >= 0:
                    raise KernelFault(f"{self.name}: nothing writes byte {byte} of the output {name}, which has {size}")
            return [np.frombuffer(ctypes.string_at(address, size), np.uint8) for _, _, address, size in results]
        finally:
            machine.emulator_close()

    def _compare(self, first: list[np.ndarray], other: list[np.ndarray], compiler: Compiler) -> None:
        for name, a, b in zip(self._outputs, first, other, strict=True):
            if not self._atomic and (a != b).any():
                byte = int(np.flatnonzero(a != b)[0])
                raise KernelFault(
                    f"{self.name}: the output {name} depends on the order of the threads, first at byte {byte}, with {compiler}"
                )


metal_kernel = Kernel


@lru_cache(maxsize=64)
def _library(metal: MetalText, header: str, name: str, compiler: Compiler) -> ctypes.CDLL:
    try:
        return load(build(as_cpp(metal, header, name), compiler))
    except KernelFault as fault:
        raise KernelFault(f"{name}: {fault}") from None


def _words(array: mx.array) -> mx.array:
    """Return the array as unsigned integers, of at least one dimension. NumPy has no bfloat16."""
    words = {1: mx.uint8, 2: mx.uint16, 4: mx.uint32, 8: mx.uint64}[array.dtype.size]
    return array.view(words) if array.ndim else array.reshape(1).view(words)


class _Memory:
    """An input's bytes, from its lowest to its highest element."""

    def __init__(self, array: mx.array, words: mx.array, contiguous: bool) -> None:
        view = np.asarray(words)
        if contiguous:
            view = np.ascontiguousarray(view)
        self.ndim = array.ndim
        self.shape = array.shape
        self.strides = [stride // view.itemsize for stride in view.strides] if array.ndim else []
        ends = [(size - 1) * stride for size, stride in zip(view.shape, view.strides, strict=True) if size]
        low, high = sum(end for end in ends if end < 0), sum(end for end in ends if end > 0)
        self._first = -low  # offset of the first element; not 0 if strides are negative
        start = view.__array_interface__["data"][0] + low
        self.bytes = ctypes.string_at(start, high - low + view.itemsize) if view.size else b""

    def copy_to(self, machine: ctypes.CDLL, name: str) -> int:
        """Copy the bytes to a new emulator buffer; return the first element's address."""
        address: int = machine.emulator_buffer(name.encode(), len(self.bytes), _INPUT)
        ctypes.memmove(address, self.bytes, len(self.bytes))
        return address + self._first


def _array(data: np.ndarray, shape: tuple[int, ...], dtype: mx.Dtype) -> mx.array:
    words = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[dtype.size]
    return mx.array(data.view(words).reshape(shape)).view(dtype) if shape else mx.array(data.view(words)).view(dtype).reshape(())
