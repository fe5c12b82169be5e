"""`slipstream calibrate`: measure the cost of a pair's passes on this machine."""

import argparse
from dataclasses import asdict

from mlx_engine.cli.console import note, print_json, say
from mlx_engine.cli.session import measure, open_pair
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.machine_events import Calibrated
from mlx_engine.contract.requests import Calibrate


def run(args: argparse.Namespace, client: EngineClient) -> int:
    open_pair(client, args)
    found = measure(client, Calibrate())
    if not isinstance(found, Calibrated):
        note("Stopped. Nothing was saved.")
        return 130
    figures = asdict(found)
    figures["kept"] = figures.pop("saved")
    print_json(figures) if args.json else say(*table(found))
    return 0


def table(found: Calibrated) -> list[str]:
    """Return a table of milliseconds by width and depth."""
    lines = ["milliseconds", f"{'tokens':>12}" + "".join(f"{depth:>18,}" for depth in found.depths)]
    lines.append(f"{'plain step':>12}" + "".join(f"{1000 * plain:>18.1f}" for plain in found.plain_s))
    for at, width in enumerate(found.widths):
        rounds = [(drafts[at], verifies[at]) for drafts, verifies in zip(found.draft_s, found.verify_s, strict=True)]
        cells = [f"{1000 * draft:.1f} + {1000 * verify:.1f}" for draft, verify in rounds]
        lines.append(f"{f'width {width}':>12}" + "".join(f"{cell:>18}" for cell in cells))
    return [*lines, "Each round is a draft + a verify. " + ("Saved." if found.saved else "Can't save the results.")]
