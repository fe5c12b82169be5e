"""A target's linear layers, including the head, on the `verify_matmul` kernel.

Single rows use the kernel too. A row then has the same bits in a plain step and in a block, so both choose the same token.
"""

from collections.abc import Callable, Iterable
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.activations import swiglu

from mlx_engine.kernels.verify_matmul import ROWS

Multiply = Callable[..., mx.array]


class Replacements:
    """Replacements for a model's modules, active until `release`.

    Args:
        modules: the modules to search, with all their children.
        replacement: returns the replacement for a module, or None to keep the module.
    """

    def __init__(self, modules: Iterable[Any], replacement: Callable[[nn.Module], nn.Module | None]) -> None:
        self.parts: list[tuple[nn.Module, str, nn.Module]] = []  # (holder, name, original)
        for holder in [part for module in modules for part in module.modules()]:
            for name, own in list(holder.items()):
                if isinstance(own, nn.Module) and (other := replacement(own)) is not None:
                    self.parts.append((holder, name, own))
                    holder[name] = other

    def release(self) -> None:
        """Restore the original modules."""
        for holder, name, own in self.parts:
            holder[name] = own
        self.parts = []


class KernelLayers(Replacements):
    """Replacements for linear layers and embedding tables that use the kernel."""

    def __init__(self, modules: Iterable[Any], multiply: Multiply) -> None:
        def replacement(own: Any) -> nn.Module | None:
            if type(own) is nn.Linear or (type(own) is nn.QuantizedLinear and own.mode == "affine"):
                return KernelLinear(own, multiply)
            if type(own) is nn.Embedding or (type(own) is nn.QuantizedEmbedding and own.mode == "affine"):
                return _KernelEmbedding(own, multiply)
            return None

        super().__init__(modules, replacement)


class KernelLinear(nn.Module):
    """Replacement for a linear layer that uses the kernel: x [.., K] -> [.., N]."""

    def __init__(self, own: nn.Module, multiply: Multiply) -> None:
        super().__init__()
        dict.update(self, own)  # same weights under the same names, for code that walks the model
        self._own, self._multiply = own, multiply
        self.group_size, self.bits = getattr(own, "group_size", 64), getattr(own, "bits", 16)

    def __call__(self, x: mx.array, residual: mx.array | None = None, gated: bool = False) -> mx.array:
        """Return the product, optionally gated and with a residual added.

        Args:
            x: [.., K].
            residual: added last, in the shape of the result.
            gated: return silu(first half) * second half of the product, [.., N / 2].
        """
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
    """Replacement for an embedding table, which can also serve as a tied head.

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
        """Return the logits [.., V] of hidden states [.., H]."""
        rows = hidden.size // hidden.shape[-1]
        if not 1 <= rows <= ROWS:
            return self._own.as_linear(hidden)
        operands = (self.weight, self.get("scales"), self.get("biases"), self.group_size, self.bits)
        return self._multiply(hidden.reshape(rows, -1), *operands).reshape(*hidden.shape[:-1], -1)


def fuse_linear(*parts: nn.Module) -> nn.Module | None:
    """Return one linear layer with the rows of all parts, in order, or None.

    The parts' weights become views of the fused weight, so no memory is duplicated.

    Returns:
        None if the parts differ in type, quantization, or input size, or if one has a bias.
    """
    kind, first = type(parts[0]), parts[0]
    if kind not in (nn.Linear, nn.QuantizedLinear) or any(type(part) is not kind or "bias" in part for part in parts):
        return None
    fused: Any
    if kind is nn.Linear:
        fused = nn.Linear(1, 1, bias=False)
    else:
        settings = {(part.group_size, part.bits, part.mode) for part in parts}
        if len(settings) > 1:
            return None
        group, bits, mode = settings.pop()
        fused = nn.QuantizedLinear(group, 1, False, group, bits, mode)
    names = [name for name in ("weight", "scales", "biases") if isinstance(first.get(name), mx.array)]
    if any(len({(part[name].dtype, part[name].shape[1:]) for part in parts}) > 1 for name in names):
        return None
    for name in names:
        arrays = [part[name] for part in parts]
        fused[name] = mx.concatenate(arrays)
        mx.eval(fused[name])
        at = 0
        for part, array in zip(parts, arrays, strict=True):
            part[name] = fused[name][at : at + array.shape[0]]
            at += array.shape[0]
        del arrays, array
        mx.eval([part[name] for part in parts])  # now views: frees the originals
    return fused
