"""Get the text that MLX passes to Metal for a kernel, and turn it into C++.

MLX generates the text, and `mx.export_function` returns it even without Metal. Tests therefore compile what a Mac compiles, with
four changes: `#line` before the header and the body, `threadgroup` declarations become shared memory, `constant` becomes `const`,
and a function that calls the kernel is appended.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

# The emulator's expression for each of Metal's attributes.
ATTRIBUTES = {
    "dispatch_quadgroups_per_threadgroup": "(msl::group.threads + 3) / 4",
    "dispatch_simdgroups_per_threadgroup": "(msl::group.dispatched_size.x * msl::group.dispatched_size.y"
    " * msl::group.dispatched_size.z + 31) / 32",
    "dispatch_threads_per_threadgroup": "msl::group.dispatched_size",
    "grid_origin": "uint3(0)",
    "grid_size": "msl::group.grid",
    "quadgroup_index_in_threadgroup": "t.index / 4",
    "quadgroups_per_threadgroup": "(msl::group.threads + 3) / 4",
    "simdgroup_index_in_threadgroup": "t.simdgroup",
    "simdgroups_per_threadgroup": "msl::group.simdgroups",
    "thread_execution_width": "uint(msl::SIMD)",
    "thread_index_in_quadgroup": "t.lane % 4",
    "thread_index_in_simdgroup": "t.lane",
    "thread_index_in_threadgroup": "t.index",
    "thread_position_in_grid": "t.in_grid",
    "thread_position_in_threadgroup": "t.in_threadgroup",
    "threadgroup_position_in_grid": "msl::group.position",
    "threadgroups_per_grid": "msl::group.groups",
    "threads_per_grid": "msl::group.grid",
    "threads_per_simdgroup": "uint(msl::SIMD)",
    "threads_per_threadgroup": "msl::group.size",
}


class KernelFault(AssertionError):
    """A fault in a kernel. The message includes file and line if they are known."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of the kernel function that MLX generated."""

    name: str
    type: str  # C++ type including * or &, without the address space
    buffer: bool


@dataclass(frozen=True)
class MetalText:
    """The text that MLX passes to Metal for one call."""

    function: str
    text: str
    grid: tuple[int, int, int]
    threadgroup: tuple[int, int, int]


def metal_text(kernel: Callable[..., Any], inputs: Sequence[mx.array], **call: Any) -> MetalText:
    """Return the text of an `mx.fast.metal_kernel` for a call with these arguments."""
    seen: list[dict[str, Any]] = []
    mx.export_function(seen.append, lambda *arrays: kernel(inputs=list(arrays), **call), *inputs)
    name, text, *sizes = next(entry for entry in seen if entry.get("name") == "CustomKernel")["arguments"][:8]
    return MetalText(name, text, (sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5]))


def parameters(metal: MetalText) -> list[Parameter]:
    """Return the parameters of the kernel function, in order."""
    start = metal.text.index(f"void {metal.function}(\n") + len(f"void {metal.function}(\n")
    found = []
    for line in metal.text[start : metal.text.index(") {\n", start)].split(",\n"):
        match = re.fullmatch(r"\s*(.+?)\s+(\w+) \[\[(\w+)(?:\(\d+\))?\]\]", line)
        assert match, f"unexpected form of a parameter: {line}"
        kind = re.sub(r"\b(device|constant)\s+", "", match[1])
        found.append(Parameter(match[2], kind, match[3] == "buffer"))
    return found


def as_cpp(metal: MetalText, header: str, name: str) -> str:
    """Return C++ that defines `emulator_kernel(buffers, thread)`, to run one thread.

    Args:
        metal: from `metal_text`.
        header: the header that the kernel was created with.
        name: the kernel's name, for messages.
    """
    text = metal.text
    instance = re.search(r"\ntemplate \[\[host_name\(.*?\)\]\] \[\[kernel\]\] decltype\((.+?)\) .*?;\n", text, re.DOTALL)
    call = instance[1] if instance else metal.function
    if instance:
        text = text[: instance.start()] + text[instance.end() :]
    body = text.index(") {\n", text.index(f"void {metal.function}(\n", len(header))) + len(") {\n")
    text = f'#line 1 "{name} (header)"\n{text[:body]}#line 1 "{name} (body)"\n{text[body:]}'
    buffers = 0
    values = []
    for parameter in parameters(metal):
        if not parameter.buffer:
            values.append(ATTRIBUTES[parameter.name])
            continue
        values.append(
            f"*({parameter.type[:-1]}*)b[{buffers}]" if parameter.type.endswith("&") else f"({parameter.type})b[{buffers}]"
        )
        buffers += 1
    export = '__attribute__((visibility("default")))'
    function = f'extern "C" {export} void emulator_kernel(void** b, const msl::Thread& t)'
    entry = f'#line 1 "launch"\n{function} {{ {call}({", ".join(values)}); }}\n'
    return f'#include "{PROLOGUE}"\n{_constants(_shared(text, name))}{entry}'


PROLOGUE = "mlx/backend/metal/kernels/utils.h"  # MLX puts this header before every kernel


def _constants(text: str) -> str:
    """Replace `constant` with `const`. Function constants stay 0."""
    text = re.sub(r"\bconstant\b(?=[^;{}]*\[\[function_constant)", "", text)
    text = re.sub(r"\b(const|constexpr)\s+constant\b", r"\1", text)
    text = re.sub(r"\bconstant\s+(const|constexpr)\b", r"\1", text)
    return re.sub(r"\bconstant\b", "const", text)


_DECLARATION = re.compile(
    r"\bthreadgroup\s+(?:alignas\(\w+\)\s+)?((?:const\s+)?[\w:]+(?:\s*<[^;{}()]*?>)?(?:::\w+)*)\s+(\w+\s*(?:\[[^\];]*\]\s*)*(?:,\s*\w+\s*(?:\[[^\];]*\]\s*)*)*);"
)


def _shared(text: str, name: str) -> str:
    """Replace `threadgroup T a[N];` with a reference to threadgroup memory."""
    spans = list(_kernel_bodies(text))

    def reference(match: re.Match[str]) -> str:
        if not any(begin <= match.start() < end for begin, end in spans):
            raise KernelFault(f"{location(text, match.start())}: {name}: threadgroup memory declared outside a kernel function")
        out = []
        for declared in re.findall(r"(\w+)\s*((?:\[[^\]]*\]\s*)*)", match[2]):
            variable, dimensions = declared
            kind = f"{match[1]}{dimensions.strip()}"
            key = f"msl_key_{variable}"
            out.append(f'static char {key}; auto& {variable} = msl::shared<{kind}>(&{key}, "{variable}");')
        lines = match[0].count("\n")
        return " ".join(out) + "\n" * lines

    return _DECLARATION.sub(reference, text)


def _kernel_bodies(text: str) -> list[tuple[int, int]]:
    found = []
    for match in re.finditer(r"\[\[\s*kernel\b[^\]]*\]\]|\bkernel\s+void\b", text):
        at = text.find("(", match.end())
        end = _closing(text, at, "()") if at >= 0 else -1
        begin = text.find("{", end) if end >= 0 else -1
        if begin >= 0 and not text[end + 1 : begin].strip():
            found.append((begin, _closing(text, begin, "{}")))
    return found


def _closing(text: str, at: int, pair: str) -> int:
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == pair[0]) - (text[i] == pair[1])
        if depth == 0:
            return i
    return len(text)


def location(text: str, at: int) -> str:
    """Return file:line of a position, according to the last #line directive."""
    lines = text[:at].split("\n")
    for back, line in enumerate(reversed(lines)):
        if directive := re.match(r'#line (\d+) "(.*)"', line):
            return f"{directive[2]}:{int(directive[1]) + back - 1}"
    return f"line {len(lines)}"
