"""Predicted times of a target's passes and of a drafter's drafts.

A pass reads each weight once and does its arithmetic. Neither time hides the other completely, so they add up like the sides of a
right triangle. Each layer also takes some dispatches, and each pass one synchronization. The few constants, and how well published
measurements agree with them: docs/performance.md, "How good are the predictions?"
"""

import re
from dataclasses import dataclass
from math import hypot

from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.models.configs.target_config import layer_states, text_config, whole
from mlx_engine.models.fit import loaded_drafter_bytes

# Share of the rate of large matrix products that products of few rows reach. MLX's kernels: 0.36, so that 8 rows take 2.7 times as
# long as one (M4 Pro, ml-explore/mlx, issue 3839). Kernels made for few rows: 0.8, as calculated. Likely: between them
_EFFICIENCY = (0.36, 0.54, 0.8)
_DISPATCH = 3.5e-6  # seconds; about 400 of them and a synchronization take 1.5 ms
_SYNCHRONIZATION = 1e-4  # seconds
_DISPATCHES = 11  # per layer
_EXPERT_DISPATCHES = 40  # per layer with routed experts, as plain decoding shows: 35B-A3B at 8 bits on an M5 Max, 81 tok/s
# M1 and M2 compute bfloat16 in float32: a prompt takes 1.34 times as long as in float16 (M2 Max, raullenchai/Rapid-MLX, issue 3154)
_EMULATION = 1.34
_NARROW, _TILE, _DENSE_TILE = 6, 32, 64  # MLX: rows from which M1 and M2 run tiles, and the rows of a tile (`get_qmv_batch_limit`)
_WIDE = 12  # most rows that M3 and later run without a tile
_DENSE_WIDE = 15  # the same without quantization (`gemv_wide`)
_NEURAL = 5  # generation from which GPUs have accelerators for matrix products
_ACCELERATED = 60.0  # operations per byte that only accelerators reach. All GPUs without them reach 25 to 40
_SPEEDUP = 4.0  # of large products by accelerators (M5 Max: 60 and 15 TFLOP/s)


@dataclass(frozen=True)
class RingLink:
    """The connection of several computers that run a target together.

    Attributes:
        ranks: number of computers, which are assumed to be equal.
        seconds: time of one exchange of results.
    """

    ranks: int = 1
    seconds: float = 0.0


@dataclass(frozen=True)
class PassWeights:
    """Weights that a pass uses.

    Attributes:
        read: bytes.
        used: number of weights that each row is multiplied by.
        quantized: whether they are stored in fewer than 16 bits.
    """

    read: float
    used: float
    quantized: bool


ALONE = RingLink()


@dataclass(frozen=True)
class Chip:
    """Measured rates of a machine, and what they mean for products of a few rows."""

    facts: MachineFacts

    @property
    def generation(self) -> int | None:
        """The number after the M, or None if the chip isn't known to be Apple's."""
        found = re.match(r"Apple M(\d+)", self.facts.name)
        return int(found[1]) if found else None

    @property
    def accelerated(self) -> bool:
        """Whether large products ran on neural accelerators, which needs macOS 26."""
        return (self.generation or 0) >= _NEURAL and self.facts.compute > _ACCELERATED * self.facts.bandwidth

    def seconds(self, weights: PassWeights, rows: int, state: float, level: int) -> float:
        """Return the time of products of `rows` rows, without dispatches.

        Args:
            state: bytes read besides the weights.
            level: 0 for a pessimistic, 1 for a likely, and 2 for an optimistic time.
        """
        generation, reads, tile, rate = self.generation, 1, 0, self.facts.compute / (_SPEEDUP if self.accelerated else 1)
        if generation in (1, 2):
            rate /= _EMULATION
            if rows >= (_NARROW if weights.quantized else 2):
                tile = _TILE if weights.quantized else _DENSE_TILE
            else:  # each row reads all weights
                reads = rows
        elif rows > (_WIDE if weights.quantized else _DENSE_WIDE):
            if self.accelerated and (level == 2 or not weights.quantized):
                tile, rate = _TILE, rate * _SPEEDUP
            elif level < 2 and self.facts.device != "CPU":  # kernels made for 16 rows need no larger tile
                tile = _TILE if weights.quantized else _DENSE_TILE
        # Tiles come closer to the full rate, but not on M1 and M2, where no published drafter is faster than plain decoding
        rate *= _EFFICIENCY[min(level + 1, 2) if tile and generation not in (1, 2) else level]
        return hypot((reads * weights.read + state) / self.facts.bandwidth, 2 * max(rows, tile) * weights.used / rate)


class PassTimes:
    """Predicted times of a target's passes.

    Args:
        target: contents of config.json.
        stored: bytes of its stored weights.
        context: tokens of a long chat.
        link: of several computers. Each reads the head, and its part of the rest.

    Attributes:
        known: whether the config has the fields that predictions need.
        exchanges: number of exchanges of a pass, which wait for each other: two for each layer.
    """

    def __init__(self, facts: MachineFacts, target: dict, stored: int, context: int, link: RingLink = ALONE) -> None:
        text = text_config(target)
        self._chip, self._context, self._link = Chip(facts), context, link
        quantization = target.get("quantization")
        settings = quantization if isinstance(quantization, dict) else {}
        bits, group = whole(settings, "bits") or 16, whole(settings, "group_size") or 64
        self._quantized = bits < 16
        self._width = (bits + (32 / group if self._quantized else 0)) / 8  # bytes per weight
        hidden, vocabulary = whole(text, "hidden_size"), whole(text, "vocab_size")
        self._states = layer_states(target)
        self.known = bool(hidden and vocabulary and self._states)
        self._head = (hidden or 0) * (vocabulary or 0)
        self._layers = whole(text, "num_hidden_layers") or 0
        self._chosen, self._experts, self._routed, self._expert_bytes = self._moe(text, hidden or 0, stored)
        unread = 0.0 if text.get("tie_word_embeddings") else self._head * self._width
        self._dense = max(stored - unread - self._expert_bytes, 0.0)
        self.exchanges = 2 * self._layers if link.ranks > 1 else 0

    def _moe(self, text: dict, hidden: int, stored: int) -> tuple[int, int, int, float]:
        """Return experts per token, total experts, their layers, and their bytes."""
        chosen = next((found for name in ("num_experts_per_tok", "top_k_experts") if (found := whole(text, name))), 0)
        names = ("num_experts", "num_local_experts", "n_routed_experts")
        experts = next((found for name in names if (found := whole(text, name))), 0)
        inner = whole(text, "moe_intermediate_size") or whole(text, "intermediate_size") or 0
        if not chosen or experts <= chosen:
            return 1, 1, 0, 0.0
        layers = max(self._layers - (whole(text, "first_k_dense_replace") or 0), 0)
        return chosen, experts, layers, min(layers * experts * 3 * hidden * inner * self._width, 0.98 * stored)

    def read(self, rows: int) -> float:
        """Return the bytes of weights that a pass reads."""
        # rows choose their experts independently
        return self._own(self._dense + self._expert_bytes * (1 - (1 - self._chosen / self._experts) ** rows))

    def _own(self, size: float) -> float:
        """Return the first computer's part of weight bytes."""
        head = min(self._head * self._width, size)
        return head + (size - head) / self._link.ranks

    @property
    def reading(self) -> float:
        """The seconds in which a plain step reads its weights."""
        return self.read(1) / self._chip.facts.bandwidth

    def seconds(self, rows: int, level: int, full: bool = False) -> float:
        """Return a pass's time at a level, with a full context if `full`."""
        element = 4 if self._chip.facts.device == "CPU" else 2
        past = sum(state.bytes(self._context, element) for state in self._states or ()) / self._link.ranks if full else 0
        used = self._own(self._dense + self._expert_bytes * self._chosen / self._experts) / self._width
        weights = PassWeights(self.read(rows), used, self._quantized)
        own = self._chip.seconds(weights, rows, past, level) + _dispatched(self._layers - self._routed, self._routed)
        return own + self.exchanges * self._link.seconds

    def draft_seconds(self, drafter: DrafterConfig, stored: int, rows: int, level: int) -> float:
        """Return the time of a draft of `rows` rows, with the target's head.

        Args:
            stored: bytes of the drafter's stored weights.
        """
        published = (drafter.stored.bits + 32 / drafter.stored.group) / 8 if drafter.stored else 2.0
        held = loaded_drafter_bytes(drafter, stored, self._chip.facts.device == "CPU") * drafter.used_share
        weights = stored * drafter.used_share / published
        narrow = held < weights * published or drafter.stored is not None
        own = self._chip.seconds(PassWeights(held, weights, narrow), rows, 0, level)
        head = self._chip.seconds(PassWeights(self._head * self._width, self._head, self._quantized), rows, 0, level)
        return own + head + _dispatched(drafter.layers, 0)


def _dispatched(layers: int, routed: int) -> float:
    return _SYNCHRONIZATION + _DISPATCH * (_DISPATCHES * layers + _EXPERT_DISPATCHES * routed)
