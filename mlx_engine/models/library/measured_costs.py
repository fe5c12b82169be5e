"""Calibrated costs of pairs, read without MLX.

`calibration.saved_calibration` writes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from math import inf
from pathlib import Path

import platformdirs

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import read_json
from mlx_engine.hardware.machine import machine_model

FORMAT = 9  # of saved cost tables
_LONGEST = 3600.0  # seconds; longer times are invalid
PairNames = tuple[str, str]  # repos, or names of folders


@dataclass(frozen=True)
class MeasuredCosts:
    """Measured seconds of a pair's passes, by context length and width."""

    widths: tuple[int, ...]
    plain: tuple[float, ...]  # [depths]
    rounds: tuple[tuple[float, ...], ...]  # [depths][widths]: verify and draft

    def seconds(self, width: int, full: bool) -> float:
        """Return a pass's time in the shortest measured context, or the longest."""
        depth = -1 if full else 0
        return self.plain[depth] if width == 1 else self.rounds[depth][self.widths.index(width)]


def measured_costs() -> dict[tuple[PairNames, tuple[int, int]], MeasuredCosts]:
    """Return the costs measured on this machine by the pair's names and bytes.

    Of several measurements, the latest counts: with other kernels, for example, or another number of threads.
    """
    folder = platformdirs.user_cache_path("Slipstream", appauthor=False) / "calibration"
    found = [each for file in folder.glob("*.json") if (each := _read(file)) is not None]
    return {pair: costs for _, pair, costs in sorted(found, key=lambda each: each[0])}


def _read(file: Path) -> tuple[float, tuple[PairNames, tuple[int, int]], MeasuredCosts] | None:
    """Return the time, pair, and costs of a calibration; None if they can't be used."""
    try:
        saved = read_json(file)
        of, table = saved["of"], saved["result"]
        [measured] = _positive([saved["measured"]], most=inf)
        if of["format"] != FORMAT or of["mlx"] != version("mlx") or of["machine"][1] != machine_model():
            return None
        target, target_bytes, drafter, drafter_bytes = of["pair"][:4]
        rounds = tuple(
            tuple(a + b for a, b in zip(_positive(verify), _positive(draft), strict=True))
            for verify, draft in zip(table["verify"], table["draft"], strict=True)
        )
        costs = MeasuredCosts(tuple(map(int, table["widths"])), _positive(table["plain"]), rounds)
        if not costs.plain or len(costs.plain) != len(rounds) or any(len(row) != len(costs.widths) for row in rounds):
            return None
        return measured, ((str(target), str(drafter)), (int(target_bytes), int(drafter_bytes))), costs
    except (UserError, ValueError, KeyError, TypeError, IndexError, OverflowError, PackageNotFoundError):
        return None


def _positive(values: Sequence[float], most: float = _LONGEST) -> tuple[float, ...]:
    if not all(0 < value < most for value in values):
        raise ValueError("not seconds")
    return tuple(map(float, values))
