"""A drafter's published tensors, checked for name, shape, dtype, and finiteness."""

import os
from pathlib import Path

import mlx.core as mx

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_write
from mlx_engine.drafters.parts.drafter_config import StoredFormat
from mlx_engine.drafters.parts.matrix import Matrix
from mlx_engine.kernels.support import dtype_name

# Published prefix -> prefix used here
_ALIASES = (("encoder.output_norm_enc.", "hidden_norm."), ("encoder.fc.", "fc."), ("midlayer.", "layers.0."))
# Leftovers of training
_UNUSED = ("t2d", "verifier_norm.weight", "verifier_lm_head.weight")
LOW_RANK = (".lora_a", ".lora_b")  # suffixes of LoRA weights [rank, columns] and [rows, rank]
_FLOATS = (mx.float32, mx.bfloat16, mx.float16)


def save_tensors(file: Path, tensors: dict[str, mx.array], metadata: dict[str, str]) -> None:
    """Replace a safetensors file.

    Raises:
        UserError: the file can't be written.
    """
    mx.eval(tensors)  # so that the errors below are those of the disk
    fresh = file.with_name(f".{file.stem}.new.safetensors")
    try:
        mx.save_safetensors(str(fresh), tensors, metadata=metadata)
        os.replace(fresh, file)
    except (OSError, RuntimeError) as error:
        raise cannot_write(file, error if isinstance(error, OSError) else OSError(str(error))) from None
    finally:
        fresh.unlink(missing_ok=True)


class Tensors:
    """A drafter's tensors. Each must be taken exactly once.

    Args:
        weights: tensors by published name.
        dtype: dtype of taken tensors.
        stored: storage format of quantized tensors; None if the config declares none.
        bits: bits per weight of floating-point matrices; 16 leaves them unquantized.
    """

    def __init__(self, weights: dict[str, mx.array], dtype: mx.Dtype, stored: StoredFormat | None = None, bits: int = 16) -> None:
        self._weights = {plain_name(name): array for name, array in weights.items() if plain_name(name) not in _UNUSED}
        self.dtype, self._stored, self._bits = dtype, stored, bits
        self._checks: list[tuple[str, mx.array]] = []

    def __contains__(self, name: str) -> bool:
        return name in self._weights

    def take(self, name: str, *shape: int) -> mx.array:
        """Take a floating-point tensor of this shape.

        Raises:
            UserError: the tensor is missing, has another shape, or isn't floating-point.
        """
        array = self._pop(name)
        if array.dtype not in _FLOATS:
            raise UserError(
                "drafter_tensor_not_floating",
                "The drafter's “{name}” is stored as {dtype}, not as floating point. Download it again, or choose another drafter.",
                name=name,
                dtype=dtype_name(array.dtype),
            )
        _check_shape(name, array.shape, shape)
        self._check_finite_later(name, array)
        return array.astype(self.dtype)

    def matrix(self, module: str, rows: int, columns: int, quantize: bool = True) -> Matrix:
        """Take the matrix `module`.weight, [rows, columns]; quantize it if `quantize`.

        Raises:
            UserError: as for `take`.
        """
        name = f"{module}.weight"
        if f"{module}.scales" not in self._weights:
            whole = Matrix(self.take(name, rows, columns))
            return whole.quantized(self._bits) if quantize else whole
        if self._stored is None:
            raise UserError(
                "drafter_quantization_undeclared",
                "The drafter's “{name}” is stored quantized, but its config.json lacks “quantization”. Download it again, "
                "or choose another drafter.",
                name=module,
            )
        bits, group = self._stored.exceptions.get(module, (self._stored.bits, self._stored.group))
        if columns * bits % 32 or columns % group:
            raise UserError(
                "drafter_groups_do_not_divide",
                "The drafter's “{name}” has {columns} columns, not a multiple of the group size {group}. Download it "
                "again, or choose another drafter.",
                name=module,
                columns=columns,
                group=group,
            )
        weight, scales, biases = (self._pop(f"{module}.{part}") for part in ("weight", "scales", "biases"))
        if weight.dtype != mx.uint32:
            raise UserError(
                "drafter_tensor_not_packed",
                "The drafter's “{name}” is stored as {dtype}, not as packed integers. Download it again, or choose another "
                "drafter.",
                name=name,
                dtype=dtype_name(weight.dtype),
            )
        _check_shape(name, weight.shape, (rows, columns * bits // 32))
        for part, array in (("scales", scales), ("biases", biases)):
            _check_shape(f"{module}.{part}", array.shape, (rows, columns // group))
            self._check_finite_later(f"{module}.{part}", array)
        return Matrix(weight, scales.astype(self.dtype), biases.astype(self.dtype), bits, group)

    def table(self, name: str, rows: int, columns: int) -> Matrix:
        """Take an unquantized matrix, published with or without the suffix `.weight`."""
        if name in self._weights:
            return Matrix(self.take(name, rows, columns))
        return self.matrix(name, rows, columns, quantize=False)

    def integers(self, name: str, count: int) -> mx.array:
        """Take a vector of integers, int64 [count]."""
        array = self._pop(name)
        if array.dtype not in (mx.int64, mx.int32, mx.uint32):
            raise UserError(
                "drafter_tensor_not_integer",
                "The drafter's “{name}” is stored as {dtype}, not as integers. Download it again, or choose another drafter.",
                name=name,
                dtype=dtype_name(array.dtype),
            )
        _check_shape(name, array.shape, (count,))
        return array.astype(mx.int64)

    def settle(self, arrays: list[mx.array]) -> None:
        """Evaluate arrays, so that their source tensors are freed.

        Raises:
            UserError: a tensor contains NaN or infinity.
        """
        checks, self._checks = self._checks, []
        mx.eval(arrays, [check for _, check in checks])
        for name, check in checks:
            if not check.item():
                raise UserError(
                    "drafter_tensor_not_finite",
                    "The drafter's “{name}” contains NaN or infinity. Download it again, or choose another drafter.",
                    name=name,
                )

    def finish(self) -> None:
        """Check that all tensors were taken.

        Raises:
            UserError: a tensor was not taken.
        """
        if self._weights:
            raise UserError(
                "drafter_tensors_unexpected",
                "The drafter's config.json doesn't account for the tensor “{name}” (unexpected tensors: {count}). Choose "
                "another drafter, or use plain decoding.",
                count=len(self._weights),
                name=min(self._weights),
            )

    def _pop(self, name: str) -> mx.array:
        array = self._weights.pop(name, None)
        if array is None:
            raise UserError(
                "drafter_tensor_missing",
                "The drafter's weights lack “{name}”. Download it again, or choose another drafter.",
                name=name,
            )
        return array

    def _check_finite_later(self, name: str, array: mx.array) -> None:
        self._checks.append((name, mx.isfinite(array).all()))


def plain_name(name: str) -> str:
    """Return a tensor's name without the prefixes of some publishers."""
    name = name.removeprefix("model.")
    for published, here in _ALIASES:
        if name.startswith(published):
            name = here + name[len(published) :]
    return name


def _check_shape(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise UserError(
            "drafter_tensor_shape",
            "The drafter's “{name}” has shape {shape}, but its config.json requires {expected}. Download it again, or choose "
            "another drafter.",
            name=name,
            shape=str([*shape]),
            expected=str([*expected]),
        )
