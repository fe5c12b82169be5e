"""Bytes of weights that a pass reads, and operations that it computes with them."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.switch_layers import QuantizedSwitchLinear, SwitchLinear


class Weights:
    """Counts of a model's weights, taken before `targets.target` replaces its parts.

    An embedding that is not the head is left out, because a token reads only one of its rows. Of a mixture's E experts, a row reads
    k, and a pass reads E (1 - (1 - k / E)^rows) if choices are uniform.
    """

    def __init__(self, model: nn.Module) -> None:
        self._dense = self._operations = 0
        self._experts: list[tuple[int, int, float]] = []  # bytes of all, operations per row, share that a row chooses
        self.held = 0  # bytes of all weights
        self.head_bytes = self.head_operations = 0
        chosen = said(model, "num_experts_per_tok", "top_k_experts", "moe_topk", "num_experts_per_token") or 1
        table: tuple[int, int] | None = None
        for name, module in model.named_modules():
            arrays = {key: part for key, part in module.items() if isinstance(part, mx.array) and not key.startswith("_")}
            size = sum(array.nbytes for array in arrays.values())
            self.held += size
            weight = arrays.get("weight")
            operations = 0 if weight is None or weight.ndim < 2 else 2 * numbers(weight, getattr(module, "bits", 16))
            if isinstance(module, nn.Embedding | nn.QuantizedEmbedding):
                table = (size, operations) if name.endswith("embed_tokens") else table
            elif weight is not None and isinstance(module, SwitchLinear | QuantizedSwitchLinear):
                share = min(chosen / weight.shape[0], 1.0)
                self._experts.append((size, round(operations * share), share))
            else:
                self._dense += size
                self._operations += operations
                if name.endswith("lm_head"):
                    self.head_bytes, self.head_operations = size, operations
        if not self.head_bytes and table is not None:  # tied
            self.head_bytes, self.head_operations = table
            self._dense += table[0]
            self._operations += table[1]

    def bytes(self, rows: int) -> int:
        """Bytes of weights that a pass of `rows` rows reads at least."""
        return self._dense + round(sum(size * (1 - (1 - share) ** rows) for size, _, share in self._experts))

    def operations(self, rows: int) -> int:
        """Floating-point operations of a pass's matrix products."""
        return rows * (self._operations + sum(operations for _, operations, _ in self._experts))


def said(model: nn.Module, *names: str) -> int | None:
    """Return the first of these numbers in the model's arguments."""
    arguments: Any = getattr(model, "args", None)
    inner = arguments.get("text_config") if isinstance(arguments, dict) else getattr(arguments, "text_config", None)
    for owner in (arguments, inner):
        for name in names:
            value = owner.get(name) if isinstance(owner, dict) else getattr(owner, name, None)
            if value:
                return int(value)
    return None


def numbers(weight: mx.array, bits: int) -> int:
    """Return how many numbers an array holds, packed ones included."""
    return weight.size * 32 // bits if weight.dtype == mx.uint32 and bits < 16 else weight.size
