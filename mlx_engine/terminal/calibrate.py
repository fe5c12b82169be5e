"""`slipstream calibrate`: measure what passes cost for a pair on this machine, for automatic widths."""

import argparse
import json
import sys
from dataclasses import asdict

from mlx_engine.events import Calibrated, CalibrationProgress
from mlx_engine.terminal import interrupt
from mlx_engine.terminal.pair import MakeEngine, open_pair


def run(given: argparse.Namespace, make_engine: MakeEngine) -> int:
    """Measure and print; 130 when it was interrupted."""
    engine, _ = open_pair(make_engine, given)
    found = None
    with interrupt.stops_reply() as cancel:
        for event in engine.calibrate(cancel):
            if isinstance(event, CalibrationProgress):
                _progress(f"{event.step} … {event.fraction:.0%}".replace("%", " %"))
            else:
                found = event
    _progress("")
    if found is None:
        print("Stopped; nothing was kept.", file=sys.stderr)
        return 130
    print(json.dumps(asdict(found)) if given.json else table(found))
    return 0


def table(found: Calibrated) -> str:
    """Milliseconds by depth and width."""
    lines = ["milliseconds", f"{'tokens':>8}{'plain step':>12}" + "".join(f"{f'width {width}':>16}" for width in found.widths)]
    for i, depth in enumerate(found.depths):
        rounds = zip(found.draft_s[i], found.verify_s[i], strict=True)
        both = "".join(f"{f'{1000 * draft:.1f} + {1000 * verify:.1f}':>16}" for draft, verify in rounds)
        lines.append(f"{depth:>8,}{1000 * found.plain_s[i]:>12.1f}{both}")
    lines.append("A round is a draft + a verify. " + ("Kept for later." if found.saved else "It could not be kept for later."))
    return "\n".join(lines)


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
