"""How fast a pair may be here, as a range with its reason, until replies have shown it.

A pass reads every weight that it needs once and does its arithmetic, at the rates that were measured on this machine: the roofline.
What DFlash makes of it depends on how many drafts the target keeps, and that on the text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from mlx_engine.events import MachineFacts
from mlx_engine.pairs.compatibility import text_config
from mlx_engine.pairs.drafter_config import DrafterConfig
from mlx_engine.pairs.target_state import layer_states, whole
from mlx_engine.requests import Mode

LADDER = (1, 2, 3, 4, 5, 6, 8, 12, 16)  # widths that are chosen by themselves (`decoding.costs`)
# Tokens a round that were published, least to most. DFlash: 2.96 for prose of a 4-bit Muse at temperature 1 (z-lab/dflash, pull
# request 169), 5.42 for MATH500 on Qwen3.5-4B. DFlash 2: 3.18 of Gemma 4 E2B's drafter (its card), 6.76 for MATH500 on Qwen3.5-4B
# (speculators, pull request 1014).
PUBLISHED = {1: (2.96, 5.42), 2: (3.18, 6.76)}
# A pass of 8 rows over 4-bit weights takes up to 2.7 passes of one row (M4 Pro, ml-explore/mlx, issue 3839).
_DEAR_ROWS = (2.7 - 1) / (8 - 1)
_SHORTEST = 0.002  # seconds of a step below which starting its operations costs as much as reading weights: nothing is foretold
_ENOUGH = 3  # replies from which on what was measured is shown instead


@dataclass(frozen=True)
class Speed:
    """Tokens a second, from least to most, and in words where the range comes from."""

    low: float
    high: float
    reason: str
    measured: bool = False

    def __str__(self) -> str:
        low, high = rounded(self.low), rounded(self.high)
        return f"{low} tok/s" if low == high else f"{low}–{high} tok/s"


def expected(
    facts: MachineFacts, target: dict, drafter: DrafterConfig | None, sizes: tuple[int, int], context: int, generation: int = 1
) -> dict[Mode, Speed]:
    """Plain decoding and, with a drafter, DFlash.

    Args:
        target: content of its config.json.
        sizes: bytes of the weights as stored, target and drafter.
        context: tokens of a long chat, where keys and values are read besides.
    """
    passes = _Passes(facts, target, sizes, context)
    if not passes.known or passes.seconds(1, full=False) < _SHORTEST:
        return {}
    slow, fast = 1 / passes.seconds(1, full=True), 1 / passes.seconds(1, full=False)
    read = passes.read(1) / 1e9
    reason = (
        f"A token reads {read:,.2f} GB of weights, and this machine reads {facts.bandwidth / 1e9:,.0f} GB a second; "
        "in a long chat it reads the chat besides."
    )
    speeds: dict[Mode, Speed] = {"plain": Speed(slow, fast, reason)}
    if drafter is not None:
        few, many = PUBLISHED.get(generation, PUBLISHED[1])
        few, many = min(few, drafter.block_size), min(many, drafter.block_size)
        least, most = passes.best(drafter, few, full=True), passes.best(drafter, many, full=False)
        speeds["dflash"] = Speed(
            max(least, slow),
            max(most, fast),
            f"Published drafters of its kind yield {few:g} (prose) to {many:g} (maths) tokens a round; a round costs what was "
            "published at worst, at best what this machine's arithmetic allows. Where drafting does not pay, decoding is plain.",
        )
    return speeds


def seen(rates: dict[Mode, list[float]]) -> dict[Mode, Speed]:
    """What replies have shown, for the modes of which there are enough."""
    found: dict[Mode, Speed] = {}
    for mode, values in rates.items():
        if len(values) >= _ENOUGH:
            words = f"Measured here in the last {len(values)} replies, {rounded(median(values))} tok/s in the middle."
            found[mode] = Speed(min(values), max(values), words, measured=True)
    return found


class _Passes:
    """What a pass of the target over some rows takes."""

    def __init__(self, facts: MachineFacts, target: dict, sizes: tuple[int, int], context: int) -> None:
        text = text_config(target)
        self._facts, self._context, (self._size, self._draft) = facts, context, sizes
        quantised = target.get("quantization")
        bits = whole(quantised, "bits") or 16 if isinstance(quantised, dict) else 16
        group = whole(quantised, "group_size") or 64 if isinstance(quantised, dict) else 64
        self._quantised = bits < 16
        self._stored = (bits + (32 / group if self._quantised else 0)) / 8  # bytes a weight
        hidden, vocabulary = whole(text, "hidden_size"), whole(text, "vocab_size")
        self._states = layer_states(target)
        self.known = bool(hidden and vocabulary and self._states)
        self._head = (hidden or 0) * (vocabulary or 0) * self._stored
        self._unread = 0.0 if text.get("tie_word_embeddings") else self._head
        self._chosen, self._experts, self._expert_bytes = self._moe(text, hidden or 0)

    def _moe(self, text: dict, hidden: int) -> tuple[int, int, float]:
        """How many experts a token takes, of how many, and the bytes of all."""
        chosen = next((found for name in ("num_experts_per_tok", "top_k_experts") if (found := whole(text, name))), 0)
        names = ("num_experts", "num_local_experts", "n_routed_experts")
        experts = next((found for name in names if (found := whole(text, name))), 0)
        inner = whole(text, "moe_intermediate_size") or whole(text, "intermediate_size") or 0
        if not chosen or experts <= chosen:
            return 1, 1, 0.0
        layers = (whole(text, "num_hidden_layers") or 0) - (whole(text, "first_k_dense_replace") or 0)
        return chosen, experts, min(layers * experts * 3 * hidden * inner * self._stored, 0.98 * self._size)

    def read(self, rows: int) -> float:
        """Bytes of weights that a pass of so many rows reads: of experts those that any row chose, each by itself."""
        share = 1 - (1 - self._chosen / self._experts) ** rows
        rest = max(self._size - self._unread - self._expert_bytes, 0.0)
        return rest + self._expert_bytes * share

    def seconds(self, rows: int, full: bool) -> float:
        """A verify at its quickest, after an empty or a full context, whose keys and values are read once."""
        element = 4 if self._facts.device == "CPU" else 2
        past = sum(state.bytes(self._context, element) for state in self._states or ()) if full else 0
        rest = max(self._size - self._unread - self._expert_bytes, 0.0)
        used = (rest + self._expert_bytes * self._chosen / self._experts) / self._stored  # weights that a row is multiplied with
        return max((self.read(rows) + past) / self._facts.bandwidth, 2 * rows * used / self._facts.compute)

    def best(self, drafter: DrafterConfig, tokens: float, full: bool) -> float:
        """Tokens a second at the best width, where a round of a whole block would yield so many; `full`: at its dearest."""
        return max(self._by_width(drafter, _chance(drafter.block_size, tokens), full))

    def _by_width(self, drafter: DrafterConfig, chance: float, full: bool) -> Iterator[float]:
        draft = (self._draft + self._head) / self._facts.bandwidth
        for width in LADDER:
            if width <= drafter.block_size:
                dear = 1 + _DEAR_ROWS * (width - 1) if full and self._quantised else 1.0
                seconds = max(self.seconds(width, full), dear * self.seconds(1, full))
                yield _tokens(width, chance) / (seconds + (draft if width > 1 else 0.0))


def _tokens(width: int, chance: float) -> float:
    """Expected tokens of a round where each draft is kept with this chance once those before it were."""
    return sum(chance**at for at in range(width))


def _chance(block: int, tokens: float) -> float:
    """The chance with which a block of so many rows yields so many tokens."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _tokens(block, middle) < tokens else (low, middle)
    return low


def rounded(value: float) -> str:
    """With as many digits as tell something."""
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}".removesuffix(".0")
