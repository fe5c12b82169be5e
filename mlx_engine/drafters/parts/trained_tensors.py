"""A drafter's tensors in training, trained and frozen ones."""

import mlx.core as mx

from mlx_engine.drafters.parts.drafter_config import StoredFormat
from mlx_engine.drafters.parts.matrix import Adapted, Matrix
from mlx_engine.drafters.parts.tensors import LOW_RANK, Tensors

Trained = dict[str, mx.array]
"""What is trained by published name; LoRA weights have the suffixes of `LOW_RANK`."""


class RecordedTensors(Tensors):
    """Tensors that keep what is taken, to use it again for training."""

    def __init__(self, weights: dict[str, mx.array], dtype: mx.Dtype, stored: StoredFormat | None, bits: int) -> None:
        super().__init__(weights, dtype, stored, bits)
        self.taken: dict[str, mx.array | Matrix] = {}

    def take(self, name: str, *shape: int) -> mx.array:
        taken = self.taken[name] = super().take(name, *shape)
        return taken

    def matrix(self, module: str, rows: int, columns: int, quantize: bool = True) -> Matrix:
        taken = self.taken[module] = super().matrix(module, rows, columns, quantize)
        return taken

    def table(self, name: str, rows: int, columns: int) -> Matrix:
        taken = self.taken[name] = super().table(name, rows, columns)
        return taken

    def integers(self, name: str, count: int) -> mx.array:
        taken = self.taken[name] = super().integers(name, count)
        return taken


class TrainedTensors(Tensors):
    """Tensors of a drafter that is a differentiable function of what is trained.

    Args:
        recorded: the others.
        trained: what is trained.
    """

    def __init__(self, recorded: RecordedTensors, trained: Trained) -> None:
        self._recorded, self._trained = recorded, trained

    def __contains__(self, name: str) -> bool:
        return name in self._recorded.taken or name.removesuffix(".weight") in self._recorded.taken

    def take(self, name: str, *shape: int) -> mx.array:
        taken = self._recorded.taken[name]
        assert isinstance(taken, mx.array)
        return self._trained[name].astype(taken.dtype) if name in self._trained else taken

    def matrix(self, module: str, rows: int, columns: int, quantize: bool = True) -> Matrix:
        taken = self._recorded.taken[module]
        assert isinstance(taken, Matrix)
        weight, dtype = self._trained.get(f"{module}.weight"), self._recorded.dtype
        base = taken if weight is None else Matrix(weight.astype(dtype))
        a, b = (self._trained.get(module + suffix) for suffix in LOW_RANK)
        return base if a is None or b is None else Adapted.of(base, a.astype(dtype), b.astype(dtype))

    def table(self, name: str, rows: int, columns: int) -> Matrix:
        return self.matrix(name, rows, columns)

    def integers(self, name: str, count: int) -> mx.array:
        return self.take(name)

    def settle(self, arrays: list[mx.array]) -> None:
        """Leave everything to the caller: arrays depend on what is trained."""
