"""Decoding speed of a pair on this machine: measured in replies, or predicted.

The prediction is a roofline: a pass reads each weight once and does its arithmetic at this machine's measured rates. DFlash's gain
depends on how many drafts the target accepts, and so on the text.
"""

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Stats
from mlx_engine.contract.files import data_folder, read_json, write_json
from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.contract.requests import Mode
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.registry import KINDS
from mlx_engine.hardware.machine import machine_model, total_memory
from mlx_engine.models.configs.target_config import layer_states, text_config, whole
from mlx_engine.models.files.locks import acquire
from mlx_engine.models.library.library import repo_of

LADDER = (1, 2, 3, 4, 5, 6, 8, 12, 16)  # widths that the engine chooses from, see `decoding.costs`
# A pass of 8 rows over 4-bit weights takes up to 2.7 times as long as one row (M4 Pro, ml-explore/mlx, issue 3839).
_ROW_COST = (2.7 - 1) / (8 - 1)
_SHORTEST = 0.002  # seconds per step; below that, launch overhead dominates, so nothing is predicted
_ENOUGH = 3  # replies before measurements replace the prediction
_LAST = 20  # replies kept per pair and mode
_LEAST_TOKENS = 32  # shorter replies say little about speed
_MOST_PAIRS = 500
_FASTEST = 1e9  # tokens per second; higher values are invalid
_PATIENCE = 5.0  # seconds to wait for another writer
_MODES: tuple[Mode, ...] = ("dflash", "plain")
Rates = dict[Mode, list[float]]


@dataclass(frozen=True)
class SpeedRange:
    """A range of tokens per second, with an explanation."""

    low: float
    high: float
    reason: EngineText
    measured: bool = False

    def __str__(self) -> str:
        low, high = _rounded(self.low), _rounded(self.high)
        return f"{low} tok/s" if low == high else f"{low}–{high} tok/s"


def predict_speeds(
    facts: MachineFacts, target: dict, drafter: DrafterConfig | None, sizes: tuple[int, int], context: int
) -> dict[Mode, SpeedRange]:
    """Predict the speed of plain decoding and, if known, of drafting.

    Returns an empty result if the config lacks fields or the pair is tiny.

    Args:
        target: contents of config.json.
        sizes: bytes of the stored weights of target and drafter.
        context: tokens of a long chat, for the low end of the range.
    """
    passes = _Passes(facts, target, sizes, context)
    if not passes.known or passes.seconds(1, full=False) < _SHORTEST:
        return {}
    slow, fast = 1 / passes.seconds(1, full=True), 1 / passes.seconds(1, full=False)
    template = "Each token reads {read:,.2f} GB of weights, and this machine reads {bandwidth:,.0f} GB/s. Long chats are slower."
    reason = EngineText.of("speed_plain", template, read=passes.read(1) / 1e9, bandwidth=facts.bandwidth / 1e9)
    speeds: dict[Mode, SpeedRange] = {"plain": SpeedRange(slow, fast, reason)}
    if drafter is not None and (published := KINDS[drafter.kind].tokens_per_round):
        few, many = (min(tokens, drafter.block_size) for tokens in published)
        template = "Published drafters of this kind reach {few:g} to {many:g} tokens per round, depending on the text."
        reason = EngineText.of("speed_dflash", template, few=few, many=many)
        least, most = passes.best(drafter, few, full=True), passes.best(drafter, many, full=False)
        speeds["dflash"] = SpeedRange(max(least, slow), max(most, fast), reason)
    return speeds


def measured_speeds(rates: Rates) -> dict[Mode, SpeedRange]:
    """Return the speeds of past replies, for modes with enough replies."""
    found: dict[Mode, SpeedRange] = {}
    for mode, values in rates.items():
        if len(values) >= _ENOUGH:
            template = "Measured in the last {count} replies on this machine; the median is {median} tok/s."
            reason = EngineText.of("speed_measured", template, count=len(values), median=_rounded(median(values)))
            found[mode] = SpeedRange(min(values), max(values), reason, measured=True)
    return found


class MeasuredSpeeds:
    """Decoding speeds of replies on this machine by pair, when read."""

    def __init__(self) -> None:
        self._rates = _read_rates()

    def rates(self, key: str) -> Rates:
        """Return tokens per second of a pair's last replies, oldest first."""
        return {mode: list(values) for mode, values in self._rates.get(key, {}).items()}

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
        Whether anything was saved: short replies say little, and a full disk or a lock that stays taken is no error.
    """
    telling = [stats for stats in replies if (stats.decode_tok_s or 0) > 0 and stats.tokens >= _LEAST_TOKENS]
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
        mode: [float(v) for v in raw[mode][-_LAST:] if isinstance(v, int | float) and 0 < v < _FASTEST]
        for mode in _MODES
        if isinstance(raw.get(mode), list)
    }


class _Passes:
    """Predicted times of a target's passes."""

    def __init__(self, facts: MachineFacts, target: dict, sizes: tuple[int, int], context: int) -> None:
        text = text_config(target)
        self._facts, self._context, (self._size, self._draft) = facts, context, sizes
        quantization = target.get("quantization")
        settings = quantization if isinstance(quantization, dict) else {}
        bits, group = whole(settings, "bits") or 16, whole(settings, "group_size") or 64
        self._quantized = bits < 16
        self._stored = (bits + (32 / group if self._quantized else 0)) / 8  # bytes per weight
        hidden, vocabulary = whole(text, "hidden_size"), whole(text, "vocab_size")
        self._states = layer_states(target)
        self.known = bool(hidden and vocabulary and self._states)
        self._head = (hidden or 0) * (vocabulary or 0) * self._stored
        self._chosen, self._experts, self._expert_bytes = self._moe(text, hidden or 0)
        unread = 0.0 if text.get("tie_word_embeddings") else self._head
        self._dense = max(self._size - unread - self._expert_bytes, 0.0)

    def _moe(self, text: dict, hidden: int) -> tuple[int, int, float]:
        """Return experts per token, total experts, and the bytes of all experts."""
        chosen = next((found for name in ("num_experts_per_tok", "top_k_experts") if (found := whole(text, name))), 0)
        names = ("num_experts", "num_local_experts", "n_routed_experts")
        experts = next((found for name in names if (found := whole(text, name))), 0)
        inner = whole(text, "moe_intermediate_size") or whole(text, "intermediate_size") or 0
        if not chosen or experts <= chosen:
            return 1, 1, 0.0
        layers = (whole(text, "num_hidden_layers") or 0) - (whole(text, "first_k_dense_replace") or 0)
        return chosen, experts, min(layers * experts * 3 * hidden * inner * self._stored, 0.98 * self._size)

    def read(self, rows: int) -> float:
        """Return the bytes of weights that a pass reads."""
        # rows choose their experts independently
        return self._dense + self._expert_bytes * (1 - (1 - self._chosen / self._experts) ** rows)

    def seconds(self, rows: int, full: bool) -> float:
        """Return a pass's minimum seconds, with a full context if `full`."""
        element = 4 if self._facts.device == "CPU" else 2
        past = sum(state.bytes(self._context, element) for state in self._states or ()) if full else 0
        used = (self._dense + self._expert_bytes * self._chosen / self._experts) / self._stored  # weights used per row
        return max((self.read(rows) + past) / self._facts.bandwidth, 2 * rows * used / self._facts.compute)

    def best(self, drafter: DrafterConfig, tokens: float, full: bool) -> float:
        """Return the tokens per second at the best width, given the yield of a full block."""
        acceptance = _acceptance(drafter.block_size, tokens)
        draft = (self._draft * drafter.used_share + self._head) / self._facts.bandwidth
        rates = []
        for width in (width for width in LADDER if width <= drafter.block_size):
            factor = 1 + _ROW_COST * (width - 1) if full and self._quantized else 1.0
            seconds = max(self.seconds(width, full), factor * self.seconds(1, full))
            drafts = width - 1 if KINDS[drafter.kind].chains else min(width - 1, 1)
            rates.append(_tokens(width, acceptance) / (seconds + drafts * draft))
        return max(rates)


def _tokens(width: int, acceptance: float) -> float:
    """Return the expected tokens per round at an acceptance probability per draft."""
    return sum(acceptance**at for at in range(width))


def _acceptance(block: int, tokens: float) -> float:
    """Return the acceptance probability at which a block yields `tokens`."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _tokens(block, middle) < tokens else (low, middle)
    return low


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}".removesuffix(".0")
