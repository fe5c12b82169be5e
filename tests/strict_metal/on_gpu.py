"""Run the kernels on this machine's GPU, and compare them with their references."""

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Literal

import mlx.core as mx

from mlx_engine.kernels.agreement import CheckedKernel
from mlx_engine.kernels.operations import KERNELS
from tests.strict_metal.calls import DTYPES, calls

TIMEOUT_S = 600


@dataclass(frozen=True)
class Outcome:
    """What became of one kernel in one dtype, in a process of its own."""

    kernel: str
    dtype: str
    state: Literal["ok", "wrong", "ended"]  # "ended": the process was killed, aborted or hung
    detail: str
    output: str = ""  # the end of the process's standard error

    @property
    def line(self) -> str:
        return f"{self.state:5} {self.kernel} {self.dtype}: {self.detail}"


def compare(kernel: str, dtype: mx.Dtype, build: Any = mx.fast.metal_kernel) -> tuple[int, list[str]]:
    """Run all calls of a kernel; return their number, and what is wrong."""
    checked = {False: CheckedKernel(kernel, build), True: CheckedKernel(kernel, build, row_exact=True)}
    count, wrong = 0, []
    for call in calls(kernel, dtype):
        count += 1
        try:
            if not KERNELS[kernel].supports(*call.arguments):
                raise ValueError(f"call {count} is not supported")
            getattr(checked[call.row_exact].operations(), kernel)(*call.arguments)
        except Exception as error:  # a driver may raise anything; the other calls count too
            wrong.append(f"{type(error).__name__}: {error}")
    return count, [*wrong, *(one.agreement.wrong for one in checked.values() if one.agreement.wrong)]


def run_apart(kernel: str, dtype: str, timeout_s: float = TIMEOUT_S) -> Outcome:
    """Compare a kernel in a process of its own, because a driver's exception ends the process."""
    command = [sys.executable, "-m", "tests.strict_metal", "one", kernel, dtype]
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return Outcome(kernel, dtype, "ended", f"no result within {timeout_s:.0f} s")
    output = result.stderr[-4000:]
    try:
        count, wrong = json.loads(result.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return Outcome(kernel, dtype, "ended", _reason(result.returncode, output), output)
    detail = wrong[0] if wrong else f"{count} calls agree with the reference"
    return Outcome(kernel, dtype, "wrong" if wrong else "ok", detail, output)


def run_all() -> list[Outcome]:
    """Compare all kernels in all dtypes, and print a line for each."""
    outcomes = []
    for kernel in KERNELS:
        for dtype in DTYPES:
            outcomes.append(run_apart(kernel, dtype))
            print(outcomes[-1].line, flush=True)
    return outcomes


def _reason(status: int, output: str) -> str:
    """Describe the end of a process: its signal or status, and the line that says most."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    line = next((line for line in lines if "uncaught exception" in line), lines[-1] if lines else "no message")
    return f"{signal.Signals(-status).name if status < 0 else f'exit code {status}'}: {line[:300]}"
