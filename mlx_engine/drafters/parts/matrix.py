"""A weight matrix, in floating point or quantized."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

GROUPS = (64, 32)  # group sizes, in order of preference


@dataclass(frozen=True)
class Matrix:
    """A matrix [rows, columns], optionally with quantization scales and biases.

    Scales and biases are [rows, columns / group].
    """

    weight: mx.array
    scales: mx.array | None = None
    biases: mx.array | None = None
    bits: int = 16
    group: int = 0

    def __call__(self, x: mx.array, multiply: Callable[..., mx.array] | None = None, gated: bool = False) -> mx.array:
        """Return x [..., columns] times the transposed matrix, [..., rows].

        Args:
            x: [..., columns].
            multiply: the `verify_matmul` kernel, or None for MLX's products.
            gated: return silu(first half) * second half of the product, [..., rows / 2].
        """
        if multiply is not None:
            operands = (self.weight, self.scales, self.biases, self.group, self.bits)
            return multiply(x.reshape(-1, x.shape[-1]), *operands, None, gated).reshape(*x.shape[:-1], -1)
        if self.scales is None:
            y = x @ self.weight.T
        else:
            y = mx.quantized_matmul(x, self.weight, self.scales, self.biases, transpose=True, group_size=self.group, bits=self.bits)
        return _gated(y) if gated else y

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns before packing."""
        rows, stored = self.weight.shape
        return rows, stored if self.scales is None else self.scales.shape[1] * self.group

    def rows(self, indices: mx.array) -> mx.array:
        """Return the rows [..., columns] at indices [...]."""
        if self.scales is None:
            return self.weight[indices]
        biases = None if self.biases is None else self.biases[indices]
        return mx.dequantize(self.weight[indices], self.scales[indices], biases, group_size=self.group, bits=self.bits)

    def concatenated(self, *others: "Matrix") -> "Matrix":
        """Return the matrices concatenated along their rows, without requantizing.

        Matrices with different quantization settings are dequantized. With LoRA weights, the matrices stay separate.
        """
        parts = (self, *others)
        if any(isinstance(part, Adapted | Stacked) for part in parts):
            return Stacked(self.weight, parts=parts)
        if any((part.bits, part.group) != (self.bits, self.group) for part in others):
            return Matrix(mx.concatenate([part.floating().weight for part in parts]))
        weight = mx.concatenate([part.weight for part in parts])
        if self.scales is None:
            return Matrix(weight)
        scales = mx.concatenate([part.scales for part in parts if part.scales is not None])
        biases = [part.biases for part in parts if part.biases is not None]
        return Matrix(weight, scales, mx.concatenate(biases) if biases else None, self.bits, self.group)

    def part(self, rows: slice | mx.array) -> "Matrix":
        """Return a matrix with these rows only."""
        scales, biases = (None if array is None else array[rows] for array in (self.scales, self.biases))
        return Matrix(self.weight[rows], scales, biases, self.bits, self.group)

    def floating(self) -> "Matrix":
        """Return the matrix in floating point."""
        if self.scales is None:
            return self
        return Matrix(mx.dequantize(self.weight, self.scales, self.biases, group_size=self.group, bits=self.bits))

    def quantized(self, bits: int) -> "Matrix":
        """Quantize the matrix to `bits`.

        Returns:
            The same matrix if it is already quantized or can't be, or if `bits` is 16.
        """
        group = next((group for group in GROUPS if self.shape[1] % group == 0), None)
        if bits == 16 or self.scales is not None or group is None:
            return self
        weight, scales, biases = mx.quantize(self.weight, group_size=group, bits=bits)
        return Matrix(weight, scales, biases, bits, group)

    @property
    def arrays(self) -> list[mx.array]:
        return [array for array in (self.weight, self.scales, self.biases) if array is not None]


@dataclass(frozen=True)
class Adapted(Matrix):
    """A matrix plus LoRA weights b [rows, rank] and a [rank, columns]."""

    a: mx.array | None = None
    b: mx.array | None = None

    @classmethod
    def of(cls, matrix: Matrix, a: mx.array, b: mx.array) -> "Adapted":
        return cls(**vars(matrix), a=a, b=b)

    def __call__(self, x: mx.array, multiply: Callable[..., mx.array] | None = None, gated: bool = False) -> mx.array:
        assert self.a is not None and self.b is not None and not gated
        return super().__call__(x) + (x @ self.a.T) @ self.b.T


@dataclass(frozen=True)
class Stacked(Matrix):
    """Matrices whose products are concatenated. `weight` is the first one's."""

    parts: tuple[Matrix, ...] = ()

    def __call__(self, x: mx.array, multiply: Callable[..., mx.array] | None = None, gated: bool = False) -> mx.array:
        y = mx.concatenate([part(x) for part in self.parts], axis=-1)
        return _gated(y) if gated else y


def arrays_of(*things: Any) -> list[mx.array]:
    """Return all arrays in parts of drafters, without the target's, each once."""
    found: dict[int, mx.array] = {}
    waiting = [*things]
    while waiting:
        thing = waiting.pop(0)
        if isinstance(thing, mx.array):
            found[id(thing)] = thing
        elif type(thing) in (list, tuple):
            waiting += thing
        elif type(thing) is dict:  # the target's layers are subclasses of dict
            waiting += thing.values()
        elif type(thing).__module__.startswith("mlx_engine.drafters."):
            waiting += vars(thing).values()
    return [*found.values()]


def _gated(y: mx.array) -> mx.array:
    gate, up = mx.split(y, 2, axis=-1)
    return gate * mx.sigmoid(gate) * up
