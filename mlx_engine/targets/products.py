"""Matrix products of a target, its head's too, for which up to 16 rows go through a kernel; more go as ever.

One row goes through it too: a row then has the same bits in a plain step as in a block, so that both choose alike.
"""

from collections.abc import Callable, Iterable
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.activations import swiglu

from mlx_engine.kernels.verify_matmul import ROWS

Multiply = Callable[..., mx.array]


class Products:
    """What stands in place of the linear modules and embedding tables below these, until `release`."""

    def __init__(self, modules: Iterable[Any], multiply: Multiply) -> None:
        self.parts: list[tuple[nn.Module, str, nn.Module]] = []  # holder, name, its own
        for holder in [part for module in modules for part in module.modules()]:
            for name, own in list(holder.items()):
                if type(own) is nn.Linear or (type(own) is nn.QuantizedLinear and own.mode == "affine"):
                    self.parts.append((holder, name, own))
                    holder[name] = _Product(own, multiply)
                elif type(own) is nn.Embedding or (type(own) is nn.QuantizedEmbedding and own.mode == "affine"):
                    self.parts.append((holder, name, own))
                    holder[name] = _Table(own, multiply)

    def release(self) -> None:
        """Give the modules their own parts back."""
        for holder, name, own in self.parts:
            holder[name] = own
        self.parts = []


def added(residual: mx.array, product: nn.Module, x: mx.array) -> mx.array:
    """residual [.., N] plus the product of x [.., K], in one kernel where the product is one."""
    return product(x, residual) if isinstance(product, _Product) else residual + product(x)


def gated(product: nn.Module, x: mx.array) -> mx.array:
    """Of the product's columns, silu of the first half times the second, [.., N / 2]; in one kernel where the product is one."""
    return product(x, gated=True) if isinstance(product, _Product) else _followed(product(x), None, True)


class _Product(nn.Module):
    """Stands for a linear module: x [.., K] -> [.., N], and for what may follow it."""

    def __init__(self, own: nn.Module, multiply: Multiply) -> None:
        super().__init__()
        dict.update(self, own)  # whoever walks the model finds the same weights under the same names
        self._own, self._multiply = own, multiply
        self.group_size, self.bits = getattr(own, "group_size", 64), getattr(own, "bits", 16)

    def __call__(self, x: mx.array, residual: mx.array | None = None, gated: bool = False) -> mx.array:
        """Through the kernel if there are 1 to 16 rows."""
        rows = x.size // x.shape[-1]
        if not 1 <= rows <= ROWS:
            return _followed(self._own(x), residual, gated)
        weights = (self.weight, self.get("scales"), self.get("biases"), self.group_size, self.bits)
        flat = x.reshape(rows, -1)
        if "bias" in self:
            product = self._multiply(flat, *weights).reshape(*x.shape[:-1], -1)
            return _followed(product + self.bias, residual, gated)
        within = None if residual is None else residual.reshape(rows, -1)
        return self._multiply(flat, *weights, within, gated).reshape(*x.shape[:-1], -1)


class _Table(nn.Module):
    """Stands for an embedding table: token ids [..] -> [.., H]; as a tied head, hidden states [.., H] -> logits [.., V]."""

    def __init__(self, own: nn.Module, multiply: Multiply) -> None:
        super().__init__()
        dict.update(self, own)
        self._own, self._multiply = own, multiply

    def __call__(self, tokens: mx.array) -> mx.array:
        return self._own(tokens)

    def as_linear(self, hidden: mx.array) -> mx.array:
        """Through the kernel if there are 1 to 16 rows."""
        rows = hidden.size // hidden.shape[-1]
        if not 1 <= rows <= ROWS:
            return self._own.as_linear(hidden)
        weights = (self.weight, self.get("scales"), self.get("biases"))
        packing = (getattr(self._own, "group_size", 64), getattr(self._own, "bits", 16))
        return self._multiply(hidden.reshape(rows, -1), *weights, *packing).reshape(*hidden.shape[:-1], -1)


def _followed(product: mx.array, residual: mx.array | None, gated: bool) -> mx.array:
    if gated:
        product = swiglu(*mx.split(product, 2, axis=-1))
    return product if residual is None else residual + product
