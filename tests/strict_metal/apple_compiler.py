"""Compile the kernels' texts with Metal's command-line compiler."""

import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx

from mlx_engine.kernels.operations import KERNELS
from tests.metal_emulator.text import MetalText
from tests.strict_metal.calls import DTYPES, calls
from tests.strict_metal.recorder import Recorder

STANDARDS = ("3.1", "3.2", "4.0")  # those that MLX compiles with: on macOS 14, 15, and 26
# As MLX compiles its own kernels
_COMPILER = ("xcrun", "-sdk", "macosx", "metal", "-x", "metal", "-Wall", "-Wextra", "-fno-fast-math", "-c", "-o", os.devnull)
_INCLUDE = Path(mx.__file__).parent / "include"
_PREAMBLE = '#include "mlx/backend/metal/kernels/utils.h"\n'  # MLX puts it in front of every text


@dataclass(frozen=True)
class Compiled:
    """What the compiler says about all texts in one version of the language.

    Attributes:
        errors: the output for each text that is rejected, by the kernel function's name.
        warnings: how often each line with a warning occurs.
    """

    texts: int
    errors: Mapping[str, str]
    warnings: Mapping[str, int]


def all_texts(kernels: Iterable[str] = tuple(KERNELS)) -> list[MetalText]:
    """Return every text that MLX would pass to Metal. Nothing is computed."""
    recorder = Recorder()
    for kernel in kernels:
        for dtype in DTYPES.values():
            for call in calls(kernel, dtype):
                call.metal(recorder)
    return list(recorder.texts.values())


def compile_texts(texts: list[MetalText], standard: str) -> Compiled:
    """Compile texts as one version of Metal's language, such as "3.1"."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:

        def run(number: int) -> subprocess.CompletedProcess[str]:
            file = Path(folder) / f"{number}.metal"
            file.write_text(_PREAMBLE + texts[number].text, encoding="utf-8")
            command = [*_COMPILER, f"-std=metal{standard}", f"-I{_INCLUDE}", str(file)]
            return subprocess.run(command, capture_output=True, text=True, errors="replace")

        results = list(pool.map(run, range(len(texts))))
    errors = {text.function: one.stderr.strip() for text, one in zip(texts, results, strict=True) if one.returncode != 0}
    lines = (line for one in results for line in one.stderr.splitlines() if " warning: " in line)
    return Compiled(len(texts), errors, dict(Counter(line.partition(".metal:")[2] or line for line in lines)))
