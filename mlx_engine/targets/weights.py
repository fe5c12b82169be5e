"""Weight bytes and floating-point operations of a pass."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.switch_layers import QuantizedSwitchLinear, SwitchLinear


class Weights:
    """Byte and operation counts of a model, taken before `Target` replaces modules.

    An embedding table that isn't the head is not counted, because a token reads only one of its rows. In a mixture of E experts of
    which each row uses k, a pass reads E (1 - (1 - k / E)^rows) experts if choices are uniform.

    Attributes:
        held: bytes of all weights.
    """

    def __init__(self, model: nn.Module) -> None:
        self._dense = self._operations = 0
        self._experts: list[tuple[int, int, float]] = []  # bytes, operations per row, share used by a row
        self.held = 0
        self.head_bytes = self.head_operations = 0
        chosen = config_value(model, "num_experts_per_tok", "top_k_experts", "moe_topk", "num_experts_per_token") or 1
        table: tuple[int, int] | None = None
        for name, module in model.named_modules():
            arrays = {key: part for key, part in module.items() if isinstance(part, mx.array) and not key.startswith("_")}
            size = sum(array.nbytes for array in arrays.values())
            self.held += size
            weight = arrays.get("weight")
            operations = 0 if weight is None or weight.ndim < 2 else 2 * element_count(weight, getattr(module, "bits", 16))
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
        """Return the weight bytes that a pass of `rows` rows must read."""
        return self._dense + round(sum(size * (1 - (1 - share) ** rows) for size, _, share in self._experts))

    def operations(self, rows: int) -> int:
        """Return the number of floating-point operations in a pass's matrix products."""
        return rows * (self._operations + sum(operations for _, operations, _ in self._experts))


def config_value(model: nn.Module, *names: str) -> int | None:
    """Return the first of these config values that is set, or None."""
    arguments: Any = getattr(model, "args", None)
    inner = arguments.get("text_config") if isinstance(arguments, dict) else getattr(arguments, "text_config", None)
    for owner in (arguments, inner):
        for name in names:
            value = owner.get(name) if isinstance(owner, dict) else getattr(owner, name, None)
            if value:
                return int(value)
    return None


def element_count(weight: mx.array, bits: int) -> int:
    """Return the number of elements in an array, unpacked."""
    return weight.size * 32 // bits if weight.dtype == mx.uint32 and bits < 16 else weight.size
