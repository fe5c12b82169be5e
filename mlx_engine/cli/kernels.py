"""`slipstream doctor --kernels`: test the Metal kernels and select faster ones."""

import argparse
import platform
from dataclasses import asdict
from importlib.metadata import version

import mlx.core as mx

from mlx_engine.calibration.kernel_selection import NO_METAL
from mlx_engine.cli.console import note, print_json, say
from mlx_engine.cli.session import measure, open_pair
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.machine_events import KernelRows, KernelSaving, KernelsSelected, KernelTrial, row_ranges
from mlx_engine.contract.requests import SelectKernels
from mlx_engine.kernels.operations import KERNELS

_EXPLANATION = (
    "Columns show the share of the time that each kernel saves, by tokens of a pass; * marks passes that use it.",
    "“Error” is the largest difference from plain MLX in float32 on this pair's arrays, relative to the largest value.",
)


def run(args: argparse.Namespace, client: EngineClient) -> int:
    """Test the kernels, print the results, and return the exit code."""
    if not mx.metal.is_available():
        _print(args, KernelsSelected(tuple(KernelTrial(name, NO_METAL) for name in KERNELS)), "")
        return 0
    info = open_pair(client, args)
    found = measure(client, SelectKernels(again=True))
    if not isinstance(found, KernelsSelected):
        note("Stopped. Nothing was selected.")
        return 130
    _print(args, found, info.name)
    return 0


def _print(args: argparse.Namespace, found: KernelsSelected, pair: str) -> None:
    device = str(mx.device_info().get("device_name", "")) if mx.metal.is_available() else platform.machine()
    machine = f"{platform.system()} {platform.release()}, {device}, mlx {version('mlx')}"
    if args.json:
        kernels = [asdict(trial) | {"used": bool(trial.used_at), "why": str(trial.why)} for trial in found.trials]
        print_json({"machine": machine, "pair": pair, "kept": found.saved, "switch": found.switch, "kernels": kernels})
        return
    say(f"{machine}{', ' if pair else ''}{pair}")
    bands = sorted({(saving.at.first, saving.at.last) for trial in found.trials for saving in trial.savings})
    titles = [row_ranges([KernelRows(0, *band)]) for band in bands]
    say(f"{'kernel':22}{'':6}{'error':>10}  reason")
    for trial in found.trials:
        error = "–" if trial.off is None else f"{trial.off:.1e}"
        say(f"{trial.kernel:22}{'used' if trial.used_at else 'off':6}{error:>10}  {trial.why}")
    if bands:
        say(f"\n{'kernel':22}{'context':>10}" + "".join(f"{title:>9} " for title in titles))
    for trial in found.trials:
        for depth in found.depths if trial.savings else ():
            found_at = {(saving.at.first, saving.at.last): saving for saving in trial.savings if saving.at.depth == depth}
            say(f"{trial.kernel:22}{depth:>10,}" + "".join(_cell(trial, found_at.get(band)) for band in bands))
    if found.switch:
        say(f"Long-context kernels are used from {found.switch:,} tokens.")
    say(*(_EXPLANATION if pair else ("Plain MLX is used instead of the kernels.",)))


def _cell(trial: KernelTrial, saving: KernelSaving | None) -> str:
    """Return a saving with a mark if the kernel is used there."""
    return f"{'–':>9} " if saving is None else f"{saving.share:>9.1%}{'*' if saving.at in trial.used_at else ' '}"
