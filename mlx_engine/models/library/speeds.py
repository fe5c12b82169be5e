"""Decoding speed of a pair on this machine: measured in replies, or predicted.

Predictions divide the tokens that a round yields by its time (`pass_times`, or measured). How many drafts the target accepts
depends on the text, so chats are predicted apart from code and math.
"""

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import median
from typing import Literal

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Stats
from mlx_engine.contract.files import data_folder, read_json, write_json
from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.contract.requests import Mode
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.registry import KINDS
from mlx_engine.hardware.machine import machine_model, total_memory
from mlx_engine.models.files.locks import acquire
from mlx_engine.models.library.library import repo_of
from mlx_engine.models.library.measured_costs import MeasuredCosts
from mlx_engine.models.library.pass_times import ALONE, PassTimes, RingLink

LADDER = (1, 2, 3, 4, 5, 6, 8, 12, 16)  # widths that the engine chooses from, see `decoding.costs`
_SHORTEST = 0.002  # seconds to read the weights; for smaller pairs, nothing is predicted
_LEAST_GAIN = 1.05  # a smaller gain isn't noticed
_ENOUGH = 3  # replies before measurements replace the prediction
_LAST = 20  # replies kept per pair and mode
_LEAST_TOKENS = 32  # shorter replies say little about speed
_MOST_PAIRS = 500
_PATIENCE = 5.0  # seconds to wait for another writer
_MODES: tuple[Mode, ...] = ("dflash", "plain")
_ACCEPTANCE = "acceptance"
_LIMITS = {"dflash": (1e-3, 1e9), "plain": (1e-3, 1e9), _ACCEPTANCE: (0.0, 1.0)}  # values outside are invalid
# Rates of replies by mode, and under `_ACCEPTANCE` the share of the drafter's tested drafts that each reply accepted
Rates = dict[str, list[float]]
SpeedKind = Literal["plain", "dflash", "chat", "code"]  # `dflash` has all texts, `code` also math


@dataclass(frozen=True)
class SpeedRange:
    """A range of tokens per second, with an explanation.

    Attributes:
        middle: the likely speed.
        gain: the lowest and highest ratio to plain decoding, if predicted.
    """

    low: float
    middle: float
    high: float
    reason: EngineText
    measured: bool = False
    gain: tuple[float, float] | None = None

    def __str__(self) -> str:
        low, high = _rounded(self.low), _rounded(self.high)
        rate = f"{low} tok/s" if low == high else f"{low}–{high} tok/s"
        if self.gain is None:
            return rate
        least, most = (f"{ratio:.1f}×" if ratio >= _LEAST_GAIN else "no gain" for ratio in self.gain)
        return f"{rate} ({least})" if least == most else f"{rate} ({least.removesuffix('×')} to {most})"

    @property
    def may_not_gain(self) -> bool:
        """Whether plain decoding may be as fast."""
        return self.gain is not None and self.gain[0] < _LEAST_GAIN

    @property
    def gains(self) -> bool:
        """Whether plain decoding may be slower."""
        return self.gain is not None and self.gain[1] >= _LEAST_GAIN


def predict_speeds(
    facts: MachineFacts,
    target: dict,
    drafter: DrafterConfig | None,
    sizes: tuple[int, int],
    context: int,
    acceptance: Sequence[float] = (),
    costs: MeasuredCosts | None = None,
    widths: Sequence[int] = LADDER,
    link: RingLink = ALONE,
) -> dict[SpeedKind, SpeedRange]:
    """Predict the speed of plain decoding and, if known, of drafting.

    Drafting is predicted for chats and for code and math, or as `dflash` from the user's own replies. The result is empty if the
    config lacks fields or the pair is tiny.

    Args:
        target: contents of config.json.
        sizes: bytes of the stored weights of target and drafter.
        context: tokens of a long chat, for the low end of the range.
        acceptance: the share of drafts that each of the pair's replies on this machine accepted.
        costs: measured costs of the pair's passes.
        widths: of rounds to choose from, and 1 for plain decoding.
        link: of several computers that run the target together.
    """
    times = PassTimes(facts, target, sizes[0], context, link)
    if not times.known or times.reading < _SHORTEST:
        return {}
    rounds = _Rounds(times, drafter, sizes[1], costs, widths)
    low, middle, high = sorted(rounds.plain(level) for level in (0, 1, 2))
    template = "Each token reads {read:,.2f} GB of weights, and this machine reads {bandwidth:,.0f} GB/s. Long chats are slower."
    reason = EngineText.of("speed_plain", template, read=times.read(1) / 1e9, bandwidth=facts.bandwidth / 1e9)
    if times.exchanges:
        template = "{reason} Each pass waits for the other computers {count} times, for {milliseconds:.2f} ms."
        values = {"count": times.exchanges, "milliseconds": 1000 * link.seconds}
        reason = EngineText.of("speed_of_several", template, reason=reason, **values)
    speeds: dict[SpeedKind, SpeedRange] = {"plain": SpeedRange(low, middle, high, reason)}
    if drafter is None:
        return speeds
    if acceptance:
        usual = median(acceptance)
        template = "Your replies with this pair reached {tokens:.1f} tokens per round."
        reason = EngineText.of("speed_own", template, tokens=_tokens(drafter.block_size, usual))
        speeds["dflash"] = rounds.drafted((min(acceptance), usual, max(acceptance)), reason)
    elif published := KINDS[drafter.kind].tokens_per_round:
        texts: dict[SpeedKind, tuple[float, float]] = {"chat": published.chat, "code": published.code}
        for kind, tokens in texts.items():
            few, many = (min(one, float(drafter.block_size)) for one in tokens)
            likely = [_acceptance(drafter.block_size, one) for one in (few, sqrt(few * many), many)]
            speeds[kind] = rounds.drafted(likely, _published(few, many))
    return speeds


def _published(few: float, many: float) -> EngineText:
    if few == many:
        template = "A published drafter of this kind reaches {tokens:g} tokens per round."
        return EngineText.of("speed_published_once", template, tokens=few)
    template = "Published drafters of this kind reach {few:g} to {many:g} tokens per round."
    return EngineText.of("speed_published", template, few=few, many=many)


def with_measured(predicted: dict[SpeedKind, SpeedRange], rates: Rates) -> dict[SpeedKind, SpeedRange]:
    """Replace predictions by the speeds of past replies."""
    speeds = predicted | measured_speeds(rates)
    if "dflash" in speeds:
        speeds = {kind: speed for kind, speed in speeds.items() if kind not in ("chat", "code")}
    return speeds


def measured_speeds(rates: Rates) -> dict[SpeedKind, SpeedRange]:
    """Return the speeds of past replies, for modes with enough replies."""
    found: dict[SpeedKind, SpeedRange] = {}
    for mode in _MODES:
        values = rates.get(mode, [])
        if len(values) >= _ENOUGH:
            template = "Measured in the last {count} replies on this machine; the median is {median} tok/s."
            reason = EngineText.of("speed_measured", template, count=len(values), median=_rounded(median(values)))
            found[mode] = SpeedRange(min(values), median(values), max(values), reason, measured=True)
    return found


class MeasuredSpeeds:
    """Decoding speeds of replies on this machine by pair, when read."""

    def __init__(self) -> None:
        self._rates = _read_rates()

    def rates(self, key: str) -> Rates:
        """Return tokens per second of a pair's last replies, oldest first."""
        return {mode: list(values) for mode, values in self._rates.get(key, {}).items() if mode in _MODES}

    def acceptance(self, key: str) -> list[float]:
        """Return the share of drafts that each of a pair's last replies accepted."""
        return list(self._rates.get(key, {}).get(_ACCEPTANCE, []))

    def ranked(self, target: Path, drafters: Sequence[Path]) -> tuple[Path, ...]:
        """Return a target's drafters in the order in which Auto tries them.

        The highest median comes first. Drafters with fewer than three replies come after the others, and those that weren't
        measured come last, in the given order.
        """

        def rank(drafter: Path) -> tuple[int, float]:
            rates = self._rates.get(speed_key(target, drafter), {}).get("dflash", [])
            return min(len(rates), _ENOUGH), median(rates or [0.0])

        return tuple(sorted(drafters, key=rank, reverse=True))


def record_speeds(key: str, replies: Iterable[Stats]) -> bool:
    """Save the speeds of a pair's replies. Other programs may do the same.

    Returns:
        Whether anything was saved: short replies and those in quiet mode say little, and a full disk or a lock that stays taken is
        ignored.
    """
    timed = [stats for stats in replies if (stats.decode_tok_s or 0) > 0 and not stats.rest_s]
    telling = [stats for stats in timed if stats.tokens >= _LEAST_TOKENS]
    if not telling:
        return False
    path = data_folder() / "speeds.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if (lock := acquire(path.with_name(".speeds.lock"), _PATIENCE)) is None:
            return False
    except OSError:
        return False
    try:
        pairs = _read_rates()
        rates = pairs.pop(key, {})
        for stats in telling:
            rates[stats.mode] = [*rates.get(stats.mode, []), float(stats.decode_tok_s or 0)][-_LAST:]
            tested, accepted = stats.tested - stats.lookup_tested, stats.accepted - stats.lookup_accepted  # the drafter's
            if tested >= _LEAST_TOKENS:
                rates[_ACCEPTANCE] = [*rates.get(_ACCEPTANCE, []), accepted / tested][-_LAST:]
        pairs[key] = rates  # last: the most recently used
        write_json(path, {"of": _this_machine(), "pairs": dict(list(pairs.items())[-_MOST_PAIRS:])})
    except UserError:
        return False
    finally:
        lock.release()
    return True


def speed_key(target: str | Path, drafter: str | Path | None) -> str:
    """Return the key of a pair's speeds, from its two repos or two folders.

    Folders in the hub's cache give the same key as their repos.
    """
    names = [repo_of(one) or str(one.resolve()) if isinstance(one, Path) else one for one in (target, drafter) if one]
    return " + ".join(names)


def _this_machine() -> list[object]:
    # without the host name, which may change with the network
    return [machine_model(), platform.machine(), os.cpu_count(), total_memory()]


def _read_rates() -> dict[str, Rates]:
    try:
        raw = read_json(data_folder() / "speeds.json")
    except UserError:
        return {}
    if not isinstance(raw, dict) or raw.get("of") != _this_machine() or not isinstance(raw.get("pairs"), dict):
        return {}
    return {str(key): _valid_rates(rates) for key, rates in raw["pairs"].items()}


def _valid_rates(raw: object) -> Rates:
    if not isinstance(raw, dict):
        return {}
    return {
        name: [float(v) for v in raw[name][-_LAST:] if isinstance(v, int | float) and least <= v <= most]
        for name, (least, most) in _LIMITS.items()
        if isinstance(raw.get(name), list)
    }


class _Rounds:
    """Speeds of a pair at a level of `Chip.seconds`; level 0 is also a long chat."""

    def __init__(
        self, times: PassTimes, drafter: DrafterConfig | None, size: int, costs: MeasuredCosts | None, widths: Sequence[int]
    ) -> None:
        self._times, self._drafter, self._size, self._costs, self._widths = times, drafter, size, costs, widths

    def plain(self, level: int) -> float:
        """Return the tokens per second of plain decoding."""
        return 1 / self._seconds(1, level)

    def drafted(self, chances: Sequence[float], reason: EngineText) -> SpeedRange:
        """Return the speed with a low, a likely, and a high acceptance."""
        rates = [self._best(chance, level) for level, chance in enumerate(chances)]
        gains = [rate / self.plain(level) for level, rate in enumerate(rates)]
        low, middle, high = sorted(rates)
        if self._costs is not None:
            reason = EngineText.of("speed_timed", "{reason} The time of a round was measured on this machine.", reason=reason)
        return SpeedRange(low, middle, high, reason, gain=(min(gains), max(gains)))

    def _best(self, chance: float, level: int) -> float:
        """Return the tokens per second at the best width."""
        assert self._drafter is not None
        offered = self._widths if self._costs is None else (1, *self._costs.widths)
        widths = [width for width in offered if width <= self._drafter.block_size]
        return max(_tokens(width, chance) / self._seconds(width, level) for width in widths)

    def _seconds(self, width: int, level: int) -> float:
        full = level == 0
        if self._costs is not None:
            return self._costs.seconds(width, full)
        seconds = self._times.seconds(width, level, full)
        if width == 1 or self._drafter is None:
            return seconds
        chain = KINDS[self._drafter.kind].chains
        draft = self._times.draft_seconds(self._drafter, self._size, 1 if chain else width, level)
        return seconds + draft * (width - 1 if chain else 1)


def _tokens(width: int, acceptance: float) -> float:
    """Return the expected tokens per round at an acceptance probability per draft."""
    return sum(acceptance**at for at in range(width))


def _acceptance(block: int, tokens: float) -> float:
    """Return the acceptance probability at which a block yields `tokens`."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if _tokens(block, middle) < tokens else (low, middle)
    return low


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}".removesuffix(".0")
