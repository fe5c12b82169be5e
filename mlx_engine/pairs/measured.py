"""The speeds that replies have shown on this machine, by pair: kept, so that they stand where a guess stood."""

import os
import platform
from collections.abc import Callable

from mlx_engine.errors import UserError
from mlx_engine.events import Stats
from mlx_engine.pairs.checkpoint_paths import data_folder, read_json, write_json
from mlx_engine.pairs.room import all_memory, machine_model
from mlx_engine.requests import Mode

_LAST = 20  # replies of a pair and mode that count
_LEAST_TOKENS = 32  # a shorter reply says little of a speed
_MOST_PAIRS = 500
_FASTEST = 1e9  # tokens a second: no reply has shown more

Rates = dict[Mode, list[float]]


def _identity() -> list[object]:
    """What makes a machine this one. Not its name, which changes with the network."""
    return [machine_model(), platform.machine(), os.cpu_count(), all_memory()]


_MODES: tuple[Mode, ...] = ("dflash", "plain")


class MeasuredSpeeds:
    """Tokens a second after the first, by the pair's key. What cannot be written is kept for this run."""

    def __init__(self, read: Callable[[], object] | None = None) -> None:
        self._kept: dict[str, Rates] = {}
        try:
            raw = read() if read else read_json(data_folder() / "speeds.json")
        except UserError:
            raw = None
        if isinstance(raw, dict) and raw.get("of") == _identity() and isinstance(raw.get("pairs"), dict):
            self._kept = {str(key): _rates(rates) for key, rates in raw["pairs"].items()}

    def of(self, key: str) -> Rates:
        """The last replies' rates of a pair, oldest first."""
        return {mode: list(values) for mode, values in self._kept.get(key, {}).items()}

    def saw(self, key: str, stats: Stats) -> bool:
        """Note a reply; False where it was too short to say anything."""
        if stats.decode_tok_s is None or stats.decode_tok_s <= 0 or stats.tokens < _LEAST_TOKENS:
            return False
        rates = self._kept.pop(key, {})
        rates[stats.mode] = [*rates.get(stats.mode, []), float(stats.decode_tok_s)][-_LAST:]
        self._kept[key] = rates  # last, as the one that was used last
        for oldest in list(self._kept)[:-_MOST_PAIRS]:
            del self._kept[oldest]
        return True

    def keep(self) -> bool:
        """Write them; False where that is not possible."""
        try:
            write_json(data_folder() / "speeds.json", {"of": _identity(), "pairs": self._kept})
        except UserError:
            return False
        return True


def key(target: str, drafter: str | None) -> str:
    """What a pair's speeds are kept under: its two repos, or its two folders."""
    return f"{target} + {drafter}" if drafter else target


def _rates(raw: object) -> Rates:
    if not isinstance(raw, dict):
        return {}
    return {
        mode: [float(v) for v in raw[mode][-_LAST:] if isinstance(v, int | float) and 0 < v < _FASTEST]
        for mode in _MODES
        if isinstance(raw.get(mode), list)
    }
