"""A target's matrix products, head included, with the kernel `verify_matmul`.

One row uses the kernel too. A row then has the same bits in a plain step as in a block, so both choose the same token.
"""

from collections.abc import Callable, Iterable
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.activations import swiglu

from mlx_engine.kernels.verify_matmul import ROWS

Multiply = Callable[..., mx.array]


class StandIns:
    """Replaces the parts for which `stand_in` returns another module, until `release`."""

    def __init__(self, modules: Iterable[Any], stand_in: Callable[[nn.Module], nn.Module | None]) -> None:
        self.parts: list[tuple[nn.Module, str, nn.Module]] = []  # holder, name, mlx-lm's own module
        for holder in [part for module in modules for part in module.modules()]:
            for name, own in list(holder.items()):
                if isinstance(own, nn.Module) and (other := stand_in(own)) is not None:
                    self.parts.append((holder, name, own))
                    holder[name] = other

    def release(self) -> None:
        """Give the modules their own parts back."""
        for holder, name, own in self.parts:
            holder[name] = own
        self.parts = []


class Products(StandIns):
    """Replaces linear modules and embedding tables by ones that use the kernel."""

    def __init__(self, modules: Iterable[Any], multiply: Multiply) -> None:
        def stand_in(own: Any) -> nn.Module | None:
            if type(own) is nn.Linear or (type(own) is nn.QuantizedLinear and own.mode == "affine"):
                return KernelLinear(own, multiply)
            if type(own) is nn.Embedding or (type(own) is nn.QuantizedEmbedding and own.mode == "affine"):
                return _KernelEmbedding(own, multiply)
            return None

        super().__init__(modules, stand_in)


class KernelLinear(nn.Module):
    """Stands for a linear module and, optionally, what follows it: x [.., K] -> [.., N]."""

    def __init__(self, own: nn.Module, multiply: Multiply) -> None:
        super().__init__()
        dict.update(self, own)  # code that walks the model finds the same weights under the same names
        self._own, self._multiply = own, multiply
        self.group_size, self.bits = getattr(own, "group_size", 64), getattr(own, "bits", 16)

    def __call__(self, x: mx.array, residual: mx.array | None = None, gated: bool = False) -> mx.array:
        """Return the product plus any `residual`; if `gated`, silu of one half times the other."""
        rows = x.size // x.shape[-1]
        if 1 <= rows <= ROWS:
            flat, operands = x.reshape(rows, -1), (self.weight, self.get("scales"), self.get("biases"), self.group_size, self.bits)
            if "bias" not in self:
                added = None if residual is None else residual.reshape(rows, -1)
                return self._multiply(flat, *operands, added, gated).reshape(*x.shape[:-1], -1)
            product = self._multiply(flat, *operands).reshape(*x.shape[:-1], -1) + self.bias
        else:
            product = self._own(x)
        if gated:
            product = swiglu(*mx.split(product, 2, axis=-1))
        return product if residual is None else residual + product


class _KernelEmbedding(nn.Module):
    """Stands for an embedding table, which may be a tied head too.

    Token ids [..] -> [.., H]; hidden states [.., H] -> logits [.., V].
    """

    def __init__(self, own: nn.Module, multiply: Multiply) -> None:
        super().__init__()
        dict.update(self, own)
        self._own, self._multiply = own, multiply
        self.group_size, self.bits = getattr(own, "group_size", 64), getattr(own, "bits", 16)

    def __call__(self, tokens: mx.array) -> mx.array:
        return self._own(tokens)

    def as_linear(self, hidden: mx.array) -> mx.array:
        """Return the product with the table's rows."""
        rows = hidden.size // hidden.shape[-1]
        if not 1 <= rows <= ROWS:
            return self._own.as_linear(hidden)
        operands = (self.weight, self.get("scales"), self.get("biases"), self.group_size, self.bits)
        return self._multiply(hidden.reshape(rows, -1), *operands).reshape(*hidden.shape[:-1], -1)
