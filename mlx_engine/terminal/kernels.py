"""`slipstream doctor --kernels`: test the Metal kernels with a pair, select the faster ones and show the evidence."""

import argparse
import platform
from dataclasses import asdict
from importlib.metadata import version

import mlx.core as mx

from mlx_engine.events import KernelsSelected, KernelTrial
from mlx_engine.host import EngineDoor
from mlx_engine.kernels.operations import KERNELS
from mlx_engine.requests import SelectKernels
from mlx_engine.terminal.console import note, print_json, say
from mlx_engine.terminal.session import measure, open_pair
from mlx_engine.tuning.kernel_selection import NO_METAL

_EXPLANATION = (
    'Times are per token, over whole replies. "Error" is the largest difference from plain MLX in float32 on this pair\'s own',
    "arrays, as a share of the largest value.",
)


def run(given: argparse.Namespace, door: EngineDoor) -> int:
    """Test and print, and return the exit code. Without Metal the exit code is 0: plain MLX does the kernels' work."""
    if not mx.metal.is_available():
        _print(given, tuple(KernelTrial(name, False, NO_METAL) for name in KERNELS), "", saved=False)
        return 0
    info = open_pair(door, given)
    found = measure(door, SelectKernels())
    if not isinstance(found, KernelsSelected):
        note("Stopped. Nothing was selected.")
        return 130
    _print(given, found.trials, info.name, found.saved)
    return 0


def _print(given: argparse.Namespace, trials: tuple[KernelTrial, ...], pair: str, saved: bool) -> None:
    device = str(mx.device_info().get("device_name", "")) if mx.metal.is_available() else platform.machine()
    machine = f"{platform.system()} {platform.release()}, {device}, mlx {version('mlx')}"
    if given.json:
        kernels = [asdict(trial) | {"why": str(trial.why)} for trial in trials]
        print_json({"machine": machine, "pair": pair, "kept": saved, "kernels": kernels})
        return
    say(f"{machine}{', ' if pair else ''}{pair}")
    say(f"{'kernel':22}{'':6}{'plain MLX':>12}{'kernel':>12}{'error':>12}  reason")
    for trial in trials:
        times = "".join(f"{'–' if each is None else f'{1000 * each:.2f} ms':>12}" for each in (trial.plain_s, trial.kernel_s))
        error = "–" if trial.off is None else f"{trial.off:.1e}"
        say(f"{trial.kernel:22}{'used' if trial.used else 'off':6}{times}{error:>12}  {trial.why}")
    say(*(_EXPLANATION if pair else ("Plain MLX is used instead of the kernels.",)))
