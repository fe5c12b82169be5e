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
    """Return a table of milliseconds by depth and width."""
    lines = ["milliseconds", f"{'tokens':>8}{'plain step':>12}" + "".join(f"{f'width {width}':>16}" for width in found.widths)]
    for depth, plain, drafts, verifies in zip(found.depths, found.plain_s, found.draft_s, found.verify_s, strict=True):
        rounds = zip(drafts, verifies, strict=True)
        both = "".join(f"{f'{1000 * draft:.1f} + {1000 * verify:.1f}':>16}" for draft, verify in rounds)
        lines.append(f"{depth:>8,}{1000 * plain:>12.1f}{both}")
    return [*lines, "Each round is a draft + a verify. " + ("Saved." if found.saved else "Can't save the results.")]
