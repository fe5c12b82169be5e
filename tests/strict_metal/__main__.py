"""Compile and run every kernel on a Mac.

    python -m tests.strict_metal REPORT.json

Metal's command-line compiler compiles all texts of the strict compile, and MLX compiles and runs all kernels. The exit code is 1 if
any of this fails.
"""

import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx

from tests.strict_metal.calls import CALLS
from tests.strict_metal.recorder import Recorder

DTYPES = (mx.float32, mx.float16, mx.bfloat16)
COMPILER = ["xcrun", "-sdk", "macosx", "metal", "-std=metal3.1", "-c", "-o", "/dev/null"]
_INCLUDE = Path(mx.__file__).parent / "include"
_PREAMBLE = '#include "mlx/backend/metal/kernels/utils.h"\n'  # MLX puts it in front of every text


def compile_texts(calls: Iterable[Callable[[Any, mx.Dtype], None]] = CALLS) -> tuple[int, list[str]]:
    """Return the number of texts, and the errors that Metal's compiler reports."""
    recorder = Recorder()
    for call in calls:
        for dtype in DTYPES:
            call(recorder, dtype)
    rejected = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.metal"
        for metal in recorder.texts.values():
            file.write_text(_PREAMBLE + metal.text, encoding="utf-8")
            result = subprocess.run([*COMPILER, f"-I{_INCLUDE}", str(file)], capture_output=True, text=True)
            if result.returncode != 0:
                rejected.append(f"{metal.function}: {result.stderr.strip()}")
    return len(recorder.texts), rejected


def run_kernels(calls: Iterable[Callable[[Any, mx.Dtype], None]] = CALLS) -> tuple[int, list[str]]:
    """Return the number of kernels that MLX compiled and ran, and all errors."""
    count, failed = 0, []

    def build(**definition: Any) -> Any:
        kernel = mx.fast.metal_kernel(**definition)

        def call(inputs: Sequence[Any], **rest: Any) -> list[mx.array]:
            nonlocal count
            count += 1
            try:
                mx.eval(outputs := kernel(inputs=inputs, **rest))
            except (RuntimeError, ValueError) as error:
                failed.append(f"{definition['name']} {rest.get('template')}: {error}")
                return [mx.zeros(shape, dtype) for shape, dtype in zip(rest["output_shapes"], rest["output_dtypes"], strict=True)]
            return outputs

        return call

    for function in calls:
        for dtype in DTYPES:
            function(build, dtype)
    return count, failed


def main(arguments: list[str]) -> int:
    """Write the report and return the exit code.

    Returns:
        0 for success, 1 for failures, 2 on a machine without Metal.
    """
    if not mx.metal.is_available():
        print("This needs a Mac with Metal.", file=sys.stderr)
        return 2
    texts, rejected = compile_texts()
    kernels, failed = run_kernels()
    report = {
        "system": platform.platform(),
        "device": mx.device_info(),
        "mlx": mx.__version__,
        "texts": texts,
        "rejected": rejected,
        "kernels": kernels,
        "failed": failed,
    }
    Path(arguments[0]).write_text(json.dumps(report, indent=1), encoding="utf-8")
    print(f"{texts} texts, {len(rejected)} rejected; {kernels} kernels run, {len(failed)} failed")
    print("\n".join([*rejected, *failed]))
    return 1 if rejected or failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
