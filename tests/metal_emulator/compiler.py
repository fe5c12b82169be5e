"""Find C++ compilers, compile kernels with the emulator, and look up source lines."""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mlx.core as mx

from tests.metal_emulator.text import PROLOGUE, KernelFault

HERE = Path(__file__).parent
MACHINE = HERE / "machine"
CACHE = HERE.parents[1] / ".metal_cache"
MLX_HEADERS = Path(mx.__file__).parent / "include"

_COMMON = ["-std=c++17", "-fPIC", "-w", "-Wno-reserved-user-defined-literal", "-g1", "-fvisibility=hidden"]
# The thread-sanitizer instrumentation reports every memory access to the emulator. Locals start as garbage, as on a GPU. Products
# and sums are not fused, so that results are the same on every machine.
_KERNEL = [*_COMMON, "-O1", "-fsanitize=thread", "-ftrivial-auto-var-init=pattern", "-ffp-contract=off", "-fno-strict-aliasing"]
_ONLY = {
    "g++": ["-fsingle-precision-constant", "--param=tsan-instrument-func-entry-exit=0"],
    # clang doesn't instrument vector accesses, nor, by default, a read that a write follows.
    "clang++": [
        *("-fno-vectorize", "-fno-slp-vectorize"),
        *("-mllvm", "-tsan-instrument-read-before-write=1", "-mllvm", "-tsan-instrument-func-entry-exit=0"),
    ],
}
# A Linux linker takes longer to read the C++ library than for all the rest; `load` adds it instead.
_LIBRARIES = ["-nodefaultlibs", "-lgcc"] if sys.platform == "linux" else []
# Before version 16, clang compiles this to a plain memcpy. The emulator would miss such writes, and races through such copies.
_STRUCT_COPY = "struct Block { float values[16]; };\nvoid copy(Block* to, const Block* from) { *to = *from; }\n"
_REPORTED_COPY = {"g++": "__tsan_write_range", "clang++": "__tsan_memcpy"}


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: its command, family (g++ or clang++), version, and further options for kernels."""

    command: tuple[str, ...]
    family: str
    version: str
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.family} ({self.version})"


@cache
def compilers() -> tuple[Compiler, ...]:
    """Return the compilers to run every kernel with: one g++, one clang++, or both.

    Warns if all installed compilers of a family are unsuitable.

    Raises:
        RuntimeError: no compiler is suitable. Kernel tests then fail, because skipping them would leave the kernels untested.
    """
    suitable: dict[str, Compiler] = {}
    problems: dict[str, str] = {}
    for name in _names():
        compiler = _identify(name)
        if compiler and compiler.family not in suitable:  # on a Mac, g++ is a second name of clang++
            if problem := _problem(compiler):
                problems.setdefault(compiler.family, f"{compiler} can't be used for the Metal kernel tests: {problem}")
            else:
                suitable[compiler.family] = compiler
    found = [problem for family, problem in problems.items() if family not in suitable]
    if not suitable:
        raise RuntimeError("\n".join([*found, _advice(problems)]))
    for problem in found:
        warnings.warn(problem, stacklevel=2)
    return tuple(suitable.values())


def _names() -> Iterator[str]:
    """Return installed commands: g++ and clang++, then versioned ones, newest first."""
    for family in _ONLY:
        numbered = {path.name for folder in os.get_exec_path() for path in Path(folder).glob(f"{family}-[0-9]*")}
        by_version = sorted(numbered, key=lambda name: [int(n) for n in re.findall(r"\d+", name)], reverse=True)
        yield from (name for name in (family, *by_version) if shutil.which(name))


def _identify(name: str) -> Compiler | None:
    """Return the compiler behind a command, or None if the command doesn't run.

    macOS has stubs for tools that aren't installed.
    """
    macros = subprocess.run([name, "-dM", "-E", "-x", "c++", "-"], input="", capture_output=True, text=True).stdout
    version = re.search(r'__VERSION__ "(.*)"', macros)
    return Compiler((name,), "clang++" if "__clang__" in macros else "g++", version[1]) if version else None


def _problem(compiler: Compiler) -> str:
    """Return why a compiler is unsuitable, or an empty string."""
    command = [*compiler.command, *_KERNEL, *_ONLY[compiler.family], "-S", "-x", "c++", "-", "-o", "-"]
    done = subprocess.run(command, input=_STRUCT_COPY, capture_output=True, text=True)
    if done.returncode:
        return next((line for line in done.stderr.splitlines() if "error" in line), "it doesn't compile")
    return "" if _REPORTED_COPY[compiler.family] in done.stdout else "its thread-sanitizer instrumentation misses copied structs."


def _advice(problems: dict[str, str]) -> str:
    if sys.platform == "darwin":
        return "The Metal kernel tests need Apple's command line tools 15 or later. To install them: xcode-select --install"
    package = "g++-12" if "g++" in problems else "g++"  # on Ubuntu 22.04, g++ is version 11
    command = f"sudo apt-get update && sudo apt-get install -y {package}"
    return f"The Metal kernel tests need g++ 12 or later, or clang 16 or later. To install one: {command}"


@cache
def _machine(compiler: Compiler) -> tuple[str, list[str]]:
    """Return a hash of all common sources, and the emulator's object files. For g++, precompile the header of all kernels."""
    texts = b"".join(path.read_bytes() for path in sorted(MACHINE.rglob("*")) if path.is_file())
    settings = repr((compiler, _KERNEL, _ONLY, _LIBRARIES, mx.__version__)).encode()
    digest = hashlib.sha256(texts + settings).hexdigest()[:24]
    objects = []
    for name in ("machine", "memory"):
        out = CACHE / f"{digest}-{name}.o"
        if not out.exists():
            _compile([*compiler.command, *_COMMON, "-O2", f"-I{MACHINE}", "-c", str(MACHINE / f"{name}.cpp")], out)
        objects.append(str(out))
    header = CACHE / f"{digest}.gch"
    if compiler.family == "g++" and not header.exists():  # clang would refuse it once packages are installed again
        _compile([*compiler.command, *_kernel_flags(compiler), "-x", "c++-header", str(MLX_HEADERS / PROLOGUE)], header)
    return digest, objects


def _kernel_flags(compiler: Compiler) -> list[str]:
    return [*_KERNEL, *_ONLY[compiler.family], *compiler.options, f"-I{MACHINE}", f"-I{MLX_HEADERS}"]


def build(cpp: str, compiler: Compiler) -> Path:
    """Compile a kernel's C++ text into a shared library, or return the cached one.

    Raises:
        KernelFault: the text doesn't compile. The message contains the compiler's first errors.
    """
    digest, objects = _machine(compiler)
    key = hashlib.sha256(f"{digest}\0{cpp}".encode()).hexdigest()[:24]
    out = CACHE / f"{key}.so"
    if not out.exists():
        precompiled = ["-include", str(CACHE / digest)] if compiler.family == "g++" else []
        compiled = out.with_suffix(".o")  # stays: a Mach-O library refers to it for line numbers
        _compile([*compiler.command, *_kernel_flags(compiler), *precompiled, "-c", "-x", "c++", "-"], compiled, cpp)
        _compile([*compiler.command, "-shared", str(compiled), *objects, *_LIBRARIES], out)
    return out


def load(path: Path) -> ctypes.CDLL:
    """Load a library from `build`, and set the types of the emulator's functions."""
    if sys.platform == "linux":
        ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(path))
    library.emulator_buffer.restype = ctypes.c_void_p
    library.emulator_buffer.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    library.emulator_message.restype = ctypes.c_char_p
    library.emulator_unwritten.restype = ctypes.c_long
    library.emulator_threadgroup_bytes.restype = ctypes.c_size_t
    return library


def _compile(command: list[str], out: Path, text: str = "") -> None:
    """Run a compiler. `out` appears atomically, because tests run in parallel."""
    CACHE.mkdir(exist_ok=True)
    partial = out.with_name(f"{out.name}.{os.getpid()}.part")
    done = subprocess.run([*command, "-o", str(partial)], input=text, capture_output=True, text=True, cwd=CACHE)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise KernelFault("\n".join(["does not compile:", *errors[:6]]))
    partial.replace(out)


def with_lines(message: str, library: str) -> str:
    """Replace each `@offset` in an emulator message with file:line of the kernel."""
    return re.sub(r"@([0-9a-f]+)", lambda match: _line(library, int(match[1], 16)), message)


def _line(library: str, offset: int) -> str:
    address = hex(offset - 1)  # the offset is a return address, one instruction after the access
    if sys.platform == "darwin":
        tool, options = "atos", ["-fullPath", "-i", "-o", library, "-offset"]
    else:
        tool, options = shutil.which("addr2line") or "llvm-addr2line", ["-i", "-e", library]
    if shutil.which(tool) is None:
        return f"(install {tool} to see the line)"
    return innermost_line(subprocess.run([tool, *options, address], capture_output=True, text=True).stdout)


def innermost_line(frames: str) -> str:
    """Return the innermost file:line outside the emulator.

    Args:
        text: output of addr2line or atos, which list inlined calls first.
    """
    lines = re.findall(r"^(?:.* \(in .+?\) \()?(.+:\d+)(?: \(discriminator \d+\))?\)?$", frames, re.MULTILINE)
    ours = [line for line in lines if not line.startswith((str(MACHINE), "??"))]
    return ours[0].removeprefix(f"{CACHE}/") if ours else "?"
