"""Check all kernels on a Mac.

    python -m tests.strict_metal compile REPORT.json [--standard 3.1 …]
    python -m tests.strict_metal run REPORT.json

`compile` gives every text to Metal's command-line compiler and runs nothing. `run` runs every kernel on the GPU and compares the
results with the references, in one process per kernel and dtype. The exit code is 1 if the compiler rejects a text or a kernel is
not right.
"""

import argparse
import json
import platform
import sys
from dataclasses import asdict
from pathlib import Path

import mlx.core as mx

from mlx_engine.kernels.operations import KERNELS
from tests.strict_metal.apple_compiler import STANDARDS, all_texts, compile_texts
from tests.strict_metal.calls import DTYPES
from tests.strict_metal.on_gpu import compare, run_all


def compile_all(report: Path, standards: list[str]) -> int:
    mx.set_default_device(mx.cpu)  # the GPU of a hosted Mac may not work
    texts, results = all_texts(), {}
    for standard in standards:
        results[standard] = found = compile_texts(texts, standard)
        print(f"Metal {standard}: {found.texts} texts, {len(found.errors)} rejected, {sum(found.warnings.values())} warnings")
        for name, output in found.errors.items():
            print(f"error {name}: {output}")
        for line, count in found.warnings.items():
            print(f"{count} times {line}")
    write(report, {"standards": {standard: asdict(found) for standard, found in results.items()}})
    return 1 if any(found.errors for found in results.values()) else 0


def run(report: Path) -> int:
    outcomes = run_all()
    write(report, {"kernels": [asdict(outcome) for outcome in outcomes]})
    return 1 if any(outcome.state != "ok" for outcome in outcomes) else 0


def write(report: Path, found: dict) -> None:
    head = {"system": platform.platform(), "mlx": mx.__version__}
    report.write_text(json.dumps({**head, **found}, indent=1), encoding="utf-8")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = made.add_subparsers(dest="mode", required=True)
    compiling = modes.add_parser("compile", help="compile every text with xcrun metal")
    compiling.add_argument("report", type=Path)
    compiling.add_argument("--standard", nargs="+", default=list(STANDARDS), help="versions of the language (default: all)")
    running = modes.add_parser("run", help="run every kernel and compare it with its reference")
    running.add_argument("report", type=Path)
    one = modes.add_parser("one", help="run one kernel in one dtype in this process")
    one.add_argument("kernel", choices=KERNELS)
    one.add_argument("dtype", choices=DTYPES)
    return made


def main(arguments: list[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    if given.mode == "compile":
        return compile_all(given.report, given.standard)
    if given.mode == "run":
        return run(given.report)
    print(json.dumps(compare(given.kernel, DTYPES[given.dtype])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
