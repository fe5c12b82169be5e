"""`slipstream bench --roofline`: what this machine can do at most, and what the loaded pair's passes reach of it."""

import argparse
import json
import sys
from dataclasses import asdict

from mlx_engine.events import CalibrationProgress, Roofline
from mlx_engine.terminal import interrupt
from mlx_engine.terminal.pair import MakeEngine, open_pair


def run(given: argparse.Namespace, make_engine: MakeEngine) -> int:
    """Measure and print; 130 when interrupted."""
    engine, info = open_pair(make_engine, given)
    found = None
    with interrupt.stops_reply() as cancel:
        for event in engine.roofline(cancel, again=True):
            if isinstance(event, CalibrationProgress):
                if sys.stderr.isatty():
                    print(f"\r\033[K{event.step} …", end="", file=sys.stderr, flush=True)
            else:
                found = event
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if found is None:
        print("Stopped; nothing is reported.", file=sys.stderr)
        return 130
    print(json.dumps({"pair": info.name, **as_json(found)}, ensure_ascii=False) if given.json else table(found))
    return 0


def as_json(found: Roofline) -> dict:
    """The roofline with what follows from it."""
    phases = [
        asdict(phase) | {"floor_s": found.floor_s(phase), "bound": found.bound(phase), "reached": found.reached(phase)}
        for phase in found.phases
    ]
    return {"machine": asdict(found.facts), "phases": phases, "plain_ceiling_tok_s": found.plain_ceiling}


def table(found: Roofline) -> str:
    """For a person."""
    facts = found.facts
    lines = [
        f"{facts.name}: {facts.device}, {facts.memory_bytes / 2**30:.0f} GiB, {facts.cores} cores, measured {facts.measured}",
        f"memory {facts.bandwidth / 1e9:.1f} GB/s, arithmetic {facts.compute / 1e12:.2f} TFLOP/s ({facts.dtype})",
        "",
        f"{'pass':10}{'tokens':>8}{'after':>8}{'time':>12}{'at best':>12}{'limit':>10}{'reached':>10}{'reads':>12}{'computes':>12}",
    ]
    for phase in found.phases:
        lines.append(
            f"{phase.name:10}{phase.rows:>8}{phase.depth:>8}{1e3 * phase.seconds:>9.1f} ms{1e3 * found.floor_s(phase):>9.2f} ms"
            f"{found.bound(phase):>10}{f'{found.reached(phase):.0%}'.replace('%', ' %'):>10}{phase.bytes / 1e6:>9,.0f} MB"
            f"{phase.operations / 1e9:>8,.1f} GFLOP"
        )
    if found.plain_ceiling is not None:
        lines += [
            "",
            f"Plain decoding could reach {found.plain_ceiling:,.0f} tokens a second here if nothing but the limit held it up.",
        ]
    if any(found.reached(phase) > 1 for phase in found.phases):
        lines += ["More than 100 %: the weights come out of the processor's own cache, which is quicker than memory."]
    return "\n".join(lines)
