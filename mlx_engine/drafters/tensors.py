"""A drafter's tensors by their published names: checked for shape, for numbers that are none, and for any that nobody asked for."""

from pathlib import Path
from typing import cast

import mlx.core as mx

from mlx_engine.drafters.matrix import Matrix
from mlx_engine.errors import UserError
from mlx_engine.pairs.checkpoint import weight_files
from mlx_engine.pairs.drafter_config import Stored

# Published under other names: the part of a name -> what it is called here
_ALIASES = (("encoder.output_norm_enc.", "hidden_norm."), ("encoder.fc.", "fc."), ("midlayer.", "layers.0."))
# What training left in a checkpoint and proposing has no use for
_UNUSED = ("t2d", "verifier_norm.weight", "verifier_lm_head.weight")
_FLOATS = (mx.float32, mx.bfloat16, mx.float16)
AGAIN = "Download it again, or pick another drafter."


class Tensors:
    """Hands out tensors in one dtype; what is left at the end is an error.

    Args:
        weights: by their published names.
        dtype: to compute in.
        stored: how quantised ones are stored, if the config says that there are any.
        bits: what matrices are quantised to that are stored in floating point; 16 leaves them.
    """

    def __init__(self, weights: dict[str, mx.array], dtype: mx.Dtype, stored: Stored | None = None, bits: int = 16) -> None:
        self._weights = {_plain_name(name): array for name, array in weights.items() if _plain_name(name) not in _UNUSED}
        self._dtype, self._stored, self._bits = dtype, stored, bits
        self._checks: list[tuple[str, mx.array]] = []

    def __contains__(self, name: str) -> bool:
        return name in self._weights

    def take(self, name: str, *shape: int) -> mx.array:
        """A tensor of this shape, in floating point.

        Raises:
            UserError: it is missing, of another shape, or no floating-point tensor.
        """
        array = self._pop(name)
        if array.dtype not in _FLOATS:
            raise UserError(f"The drafter's “{name}” is stored as {_words(array.dtype)}, not in floating point. {AGAIN}")
        _check_shape(name, array.shape, shape)
        return self._finite(name, array.astype(self._dtype))

    def matrix(self, module: str, rows: int, columns: int, quantise: bool = True) -> Matrix:
        """The matrix `module`.weight [rows, columns], quantised as stored, or if `quantise` as asked for.

        Raises:
            UserError: as for `take`.
        """
        name = f"{module}.weight"
        if f"{module}.scales" not in self._weights:
            whole = Matrix(self.take(name, rows, columns))
            return whole.quantised(self._bits) if quantise else whole
        if self._stored is None:
            raise UserError(f"The drafter's “{module}” is stored quantised, but its config.json lacks “quantization”. {AGAIN}")
        bits, group = self._stored.exceptions.get(module, (self._stored.bits, self._stored.group))
        if columns * bits % 32 or columns % group:
            raise UserError(f"The drafter's “{module}” has {columns} columns, which do not divide into groups of {group}. {AGAIN}")
        weight, scales, biases = (self._pop(f"{module}.{part}") for part in ("weight", "scales", "biases"))
        if weight.dtype != mx.uint32:
            raise UserError(f"The drafter's “{name}” is stored as {_words(weight.dtype)}, not as packed integers. {AGAIN}")
        _check_shape(name, weight.shape, (rows, columns * bits // 32))
        for part, array in (("scales", scales), ("biases", biases)):
            _check_shape(f"{module}.{part}", array.shape, (rows, columns // group))
            self._finite(f"{module}.{part}", array)
        return Matrix(weight, scales.astype(self._dtype), biases.astype(self._dtype), bits, group)

    def table(self, name: str, rows: int, columns: int) -> Matrix:
        """A matrix whose rows are looked up, which is published with or without `.weight` and not quantised at load."""
        if name in self._weights:
            return Matrix(self.take(name, rows, columns))
        return self.matrix(name, rows, columns, quantise=False)

    def whole_numbers(self, name: str, count: int) -> mx.array:
        """A list of whole numbers, int64 [count]."""
        array = self._pop(name)
        if array.dtype not in (mx.int64, mx.int32, mx.uint32):
            raise UserError(f"The drafter's “{name}” is stored as {_words(array.dtype)}, not as whole numbers. {AGAIN}")
        _check_shape(name, array.shape, (count,))
        return array.astype(mx.int64)

    def settle(self, arrays: list[mx.array]) -> None:
        """Compute what was made of the tensors taken so far, so that their published form need not stay in memory.

        Raises:
            UserError: one of them holds a number that is none.
        """
        checks, self._checks = self._checks, []
        mx.eval(arrays, [check for _, check in checks])
        for name, check in checks:
            if not check.item():
                raise UserError(f"The drafter's “{name}” holds numbers that are none (NaN or infinite). {AGAIN}")

    def finish(self) -> None:
        """Nothing more is asked for.

        Raises:
            UserError: a tensor is left over.
        """
        if self._weights:
            name, more = min(self._weights), len(self._weights) - 1
            others = f" and {more} more tensors" if more else ""
            raise UserError(
                f"The drafter's weights hold “{name}”{others} that its config.json does not account for, so Slipstream would run "
                "it wrongly. Pick another drafter, or decode plainly."
            )

    def _pop(self, name: str) -> mx.array:
        array = self._weights.pop(name, None)
        if array is None:
            raise UserError(f"The drafter's weights lack “{name}”. {AGAIN}")
        return array

    def _finite(self, name: str, array: mx.array) -> mx.array:
        """Has the tensor looked at when it is settled."""
        self._checks.append((name, mx.isfinite(array).all()))
        return array


def read(folder: Path) -> dict[str, mx.array]:
    """All tensors of a drafter's folder, not yet in memory.

    Raises:
        UserError: files missing, cut short or damaged; or a part that only Python could read.
    """
    if (folder / "mask_embedding.pt").exists():
        raise UserError(
            f"The drafter in {folder.name} keeps its mask's embedding in mask_embedding.pt, a format that runs code when read. "
            "Pick another drafter, or decode plainly."
        )
    weights: dict[str, mx.array] = {}
    for file in weight_files(folder):
        try:
            weights.update(cast(dict[str, mx.array], mx.load(str(file))))
        except (RuntimeError, ValueError) as error:
            raise UserError(f"The drafter's {file.name} cannot be read: {str(error).splitlines()[0]}") from error
    return weights


def _plain_name(name: str) -> str:
    name = name.removeprefix("model.")
    for published, here in _ALIASES:
        if name.startswith(published):
            name = here + name[len(published) :]
    return name


def _check_shape(name: str, shape: tuple[int, ...], meant: tuple[int, ...]) -> None:
    if shape != meant:
        raise UserError(
            f"The drafter's “{name}” has shape {list(shape)}, but its config.json means {list(meant)}. Download it again."
        )


def _words(dtype: mx.Dtype) -> str:
    return str(dtype).removeprefix("mlx.core.")
