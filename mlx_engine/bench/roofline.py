"""`slipstream bench --roofline`: this machine's limits, and how close the pair's passes come to them."""

import argparse
from dataclasses import asdict
from typing import Any

from mlx_engine.events import Roofline
from mlx_engine.host import EngineDoor
from mlx_engine.requests import MeasureMachine
from mlx_engine.terminal.console import note, print_json, say
from mlx_engine.terminal.session import measure, open_pair


def run(given: argparse.Namespace, door: EngineDoor) -> int:
    """Measure and print, and return the exit code."""
    info = open_pair(door, given)
    found = measure(door, MeasureMachine(again=True))
    if not isinstance(found, Roofline):
        note("Stopped. There is nothing to report.")
        return 130
    print_json({"pair": info.name, **as_json(found)}) if given.json else say(*table(found).split("\n"))
    return 0


def as_json(found: Roofline) -> dict[str, Any]:
    phases = [
        asdict(phase) | {"floor_s": found.floor_s(phase), "bound": found.bound(phase), "reached": found.reached(phase)}
        for phase in found.phases
    ]
    return {"machine": asdict(found.facts), "phases": phases, "plain_ceiling_tok_s": found.plain_ceiling}


def table(found: Roofline) -> str:
    facts = found.facts
    lines = [
        f"{facts.name}: {facts.device}, {facts.memory_bytes / 2**30:.0f} GiB, {facts.cores} cores, measured {facts.measured}",
        f"memory {facts.bandwidth / 1e9:.1f} GB/s, arithmetic {facts.compute / 1e12:.2f} TFLOP/s ({facts.dtype})",
        "",
        f"{'pass':10}{'tokens':>8}{'depth':>8}{'time':>12}{'limit':>12}{'bound':>10}{'reached':>10}{'reads':>12}{'computes':>12}",
    ]
    for phase in found.phases:
        lines.append(
            f"{phase.name:10}{phase.rows:>8}{phase.depth:>8}{1e3 * phase.seconds:>9.1f} ms{1e3 * found.floor_s(phase):>9.2f} ms"
            f"{found.bound(phase):>10}{found.reached(phase):>10.0%}{phase.bytes / 1e6:>9,.0f} MB"
            f"{phase.operations / 1e9:>8,.1f} GFLOP"
        )
    if found.plain_ceiling is not None:
        lines += ["", f"At the limit, plain decoding would reach {found.plain_ceiling:,.0f} tokens per second on this machine."]
    if any(found.reached(phase) > 1 for phase in found.phases):
        lines += ["More than 100% means that the weights are read from the processor's cache."]
    return "\n".join(lines)
