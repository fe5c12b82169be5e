"""Compiles a kernel's C++ with the machine that runs it, once for a text, and finds lines for code addresses."""

import ctypes
import hashlib
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import mlx.core as mx

from tests.metal_emulator.text import KernelFault

HERE = Path(__file__).parent
MACHINE = HERE / "machine"
CACHE = HERE.parents[1] / ".metal_cache"
MLX_HEADERS = Path(mx.__file__).parent / "include"

_COMMON = ["-std=c++17", "-fPIC", "-w", "-Wno-reserved-user-defined-literal", "-g1", "-fvisibility=hidden"]
# Thread sanitizer's instrumentation tells the machine of every access to memory. Locals start as garbage, as on a GPU. Sums are not
# contracted to fused multiply-adds, so that one text gives one result everywhere.
_KERNEL = [*_COMMON, "-O1", "-fsanitize=thread", "-ftrivial-auto-var-init=pattern", "-ffp-contract=off", "-fno-strict-aliasing"]
_ONLY = {
    "g++": ["-fsingle-precision-constant", "--param=tsan-instrument-func-entry-exit=0"],
    # clang leaves out accesses of vectors, and reads that a write follows
    "clang++": [
        *("-fno-vectorize", "-fno-slp-vectorize"),
        *("-mllvm", "-tsan-instrument-read-before-write=1", "-mllvm", "-tsan-instrument-func-entry-exit=0"),
    ],
}


@cache
def compilers() -> tuple[str, ...]:
    """The C++ compilers of this machine, g++ first."""
    return tuple(name for name in ("g++", "clang++") if shutil.which(name))


def require() -> None:
    """Without a compiler the kernels go untested, so that is a failure, with the command that mends it.

    Raises:
        RuntimeError: there is none.
    """
    if not compilers():
        get = "xcode-select --install" if sys.platform == "darwin" else "sudo apt-get update && sudo apt-get install -y g++"
        raise RuntimeError(f"The Metal kernels are tried with g++ or clang++, and neither is here. To get one: {get}")


@cache
def _machine(compiler: str) -> tuple[str, list[str]]:
    """Hash of all that is compiled with every kernel, and its object files."""
    texts = b"".join(path.read_bytes() for path in sorted(MACHINE.rglob("*")) if path.is_file())
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    digest = hashlib.sha256(texts + version + mx.__version__.encode()).hexdigest()[:16]
    objects = []
    for name in ("machine", "memory"):
        out = CACHE / f"{compiler}-{digest}-{name}.o"
        if not out.exists():
            _compile([compiler, *_COMMON, "-O2", f"-I{MACHINE}", "-c", str(MACHINE / f"{name}.cpp")], out)
        objects.append(str(out))
    return digest, objects


def library(cpp: str, compiler: str) -> ctypes.CDLL:
    """The compiled kernel. A text that does not compile is a fault, with the compiler's own first error."""
    digest, objects = _machine(compiler)
    key = hashlib.sha256("\0".join([digest, compiler, *_KERNEL, *_ONLY[compiler], cpp]).encode()).hexdigest()[:24]
    out = CACHE / f"{key}.so"
    if not out.exists():
        source = CACHE / f"{key}.cpp"
        source.parent.mkdir(exist_ok=True)
        source.write_text(cpp, encoding="utf-8")
        flags = [*_KERNEL, *_ONLY[compiler], f"-I{MACHINE}", f"-I{MLX_HEADERS}"]
        compiled = out.with_suffix(".o")
        _compile([compiler, *flags, "-c", str(source)], compiled)
        _compile([compiler, "-shared", "-Wl,-Bsymbolic", str(compiled), *objects], out)
        compiled.unlink()
    found = ctypes.CDLL(str(out))
    found.emulator_buffer.restype = ctypes.c_void_p
    found.emulator_buffer.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    found.emulator_message.restype = ctypes.c_char_p
    found.emulator_unwritten.restype = ctypes.c_long
    found.emulator_threadgroup_bytes.restype = ctypes.c_size_t
    return found


def _compile(command: list[str], out: Path) -> None:
    """The result appears whole or not at all: tests may run side by side."""
    out.parent.mkdir(exist_ok=True)
    partial = out.with_name(f"{out.name}.{id(out)}.part")
    done = subprocess.run([*command, "-o", str(partial)], capture_output=True, text=True, cwd=CACHE)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise KernelFault("\n".join(["does not compile:", *errors[:6]]))
    partial.replace(out)


def with_lines(message: str, shared_object: str) -> str:
    """Every `@offset` in a machine's message as file:line of the kernel's text."""
    return re.sub(r"@([0-9a-f]+)", lambda match: _line(shared_object, int(match[1], 16)), message)


def _line(shared_object: str, offset: int) -> str:
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if tool is None:
        return "(no addr2line here to find the line)"
    command = [tool, "-i", "-e", shared_object, hex(offset - 1)]  # the return address lies behind the call
    frames = subprocess.run(command, capture_output=True, text=True).stdout.split("\n")
    ours = [frame for frame in frames if frame and str(MACHINE) not in frame and not frame.startswith("?")]
    return re.sub(r" \(discriminator.*", "", ours[0].removeprefix(f"{CACHE}/")) if ours else "?"
