"""`slipstream doctor --kernels`: tries our Metal kernels with a pair, says which are used and why, and keeps that."""

import argparse
import json
import platform
import sys
from dataclasses import asdict
from importlib.metadata import version

import mlx.core as mx

from mlx_engine.events import KernelsSelected, KernelTrial
from mlx_engine.kernels.operations import KERNELS
from mlx_engine.terminal import interrupt
from mlx_engine.terminal.pair import MakeEngine, open_pair
from mlx_engine.tuning.kernel_selection import NO_METAL

_EXPLAINED = (
    "Times are a token's, in whole replies. Off by: the largest difference from plain MLX in float32 on this pair's own arrays,\n"
    "as a share of the largest value."
)


def run(given: argparse.Namespace, make_engine: MakeEngine) -> int:
    """Try and print; 0 also where kernels are off, because then plain MLX does their work."""
    if not mx.metal.is_available():
        trials = tuple(KernelTrial(name, False, NO_METAL) for name in KERNELS)
        _print(given, trials, "", kept=False)
        return 0
    engine, info = open_pair(make_engine, given)
    found = None
    with interrupt.stops_reply() as cancel:
        for event in engine.prove(cancel):
            if isinstance(event, KernelsSelected):
                found = event
            elif sys.stderr.isatty():
                print(f"\r\033[K{event.step}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if found is None:
        print("Stopped; nothing is reported.", file=sys.stderr)
        return 130
    _print(given, found.trials, info.name, found.saved)
    return 0


def _print(given: argparse.Namespace, trials: tuple[KernelTrial, ...], pair: str, kept: bool) -> None:
    device = str(mx.device_info().get("device_name", "")) if mx.metal.is_available() else platform.machine()
    machine = f"{platform.system()} {platform.release()}, {device}, mlx {version('mlx')}"
    if given.json:
        print(json.dumps({"machine": machine, "pair": pair, "kept": kept, "kernels": [asdict(trial) for trial in trials]}))
        return
    print(f"{machine}{', ' if pair else ''}{pair}")
    print(f"{'kernel':22}{'':6}{'plain MLX':>12}{'kernel':>12}{'off by':>12}  why")
    for trial in trials:
        times = "".join(f"{'–' if each is None else f'{1000 * each:.2f} ms':>12}" for each in (trial.plain_s, trial.kernel_s))
        off = "–" if trial.off is None else f"{trial.off:.1e}"
        print(f"{trial.kernel:22}{'used' if trial.used else 'off':6}{times}{off:>12}  {trial.why}")
    print(_EXPLAINED if pair else "Plain MLX does their work.")
