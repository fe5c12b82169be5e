"""A weight matrix, in floating point or quantised."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import mlx.core as mx

GROUPS = (64, 32)  # values that share one scale: the first that divides a row


@dataclass(frozen=True)
class Matrix:
    """A matrix [rows, columns]. Quantised: `weight` holds packed uint32, `scales` and `biases` [rows, columns / group]."""

    weight: mx.array
    scales: mx.array | None = None
    biases: mx.array | None = None
    bits: int = 16
    group: int = 0

    def __call__(self, x: mx.array) -> mx.array:
        """x [..., columns] -> [..., rows]."""
        if self.scales is None:
            return x @ self.weight.T
        return mx.quantized_matmul(x, self.weight, self.scales, self.biases, transpose=True, group_size=self.group, bits=self.bits)

    def through(self, multiply: Callable[..., mx.array], x: mx.array, gated: bool = False) -> mx.array:
        """The same by `multiply`, which has the contract of `kernels.verify_matmul`, and for any number of rows.

        `gated`: silu of the result's first half times the second, [..., rows / 2].
        """
        operands = (self.weight, self.scales, self.biases, self.group, self.bits)
        return multiply(x.reshape(-1, x.shape[-1]), *operands, None, gated).reshape(*x.shape[:-1], -1)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix that is meant."""
        rows, stored = self.weight.shape
        return rows, stored if self.scales is None else self.scales.shape[1] * self.group

    def rows(self, indices: mx.array) -> mx.array:
        """Chosen rows, [..., columns] for indices [...]."""
        if self.scales is None:
            return self.weight[indices]
        biases = None if self.biases is None else self.biases[indices]
        return mx.dequantize(self.weight[indices], self.scales[indices], biases, group_size=self.group, bits=self.bits)

    def below(self, *others: Self) -> "Matrix":
        """This matrix with others of the same columns below it. A row is quantised by itself, so nothing is rounded anew.

        Matrices that are quantised otherwise than this one are dequantised, and so is this one.
        """
        parts = (self, *others)
        if any((part.bits, part.group) != (self.bits, self.group) for part in others):
            return Matrix(mx.concatenate([part.floating().weight for part in parts]))
        if self.scales is None:
            return Matrix(mx.concatenate([part.weight for part in parts]))
        scales = mx.concatenate([part.scales for part in parts if part.scales is not None])
        biases = [part.biases for part in parts if part.biases is not None]
        weight = mx.concatenate([part.weight for part in parts])
        return Matrix(weight, scales, mx.concatenate(biases) if biases else None, self.bits, self.group)

    def part(self, start: int, stop: int) -> "Matrix":
        """Rows `start` to `stop`."""
        scales, biases = (None if array is None else array[start:stop] for array in (self.scales, self.biases))
        return Matrix(self.weight[start:stop], scales, biases, self.bits, self.group)

    def floating(self) -> "Matrix":
        """In floating point."""
        if self.scales is None:
            return self
        return Matrix(mx.dequantize(self.weight, self.scales, self.biases, group_size=self.group, bits=self.bits))

    def quantised(self, bits: int) -> "Matrix":
        """At so many bits; unchanged when it is quantised already, at 16, or when its rows do not divide into groups."""
        group = next((group for group in GROUPS if self.shape[1] % group == 0), None)
        if bits == 16 or self.scales is not None or group is None:
            return self
        weight, scales, biases = mx.quantize(self.weight, group_size=group, bits=bits)
        return Matrix(weight, scales, biases, bits, group)

    @property
    def arrays(self) -> list[mx.array]:
        """What it consists of."""
        return [array for array in (self.weight, self.scales, self.biases) if array is not None]
