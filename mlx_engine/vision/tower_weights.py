"""Loading a target's tower from its folder."""

from pathlib import Path
from typing import cast

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.kernels.support import dtype_name
from mlx_engine.vision.gemma_rules import GemmaRules
from mlx_engine.vision.gemma_tower import GemmaProjection, GemmaTower
from mlx_engine.vision.image_rules import ImageRules
from mlx_engine.vision.qwen_rules import QwenRules
from mlx_engine.vision.qwen_tower import QwenTower
from mlx_engine.vision.tower import Tower
from mlx_engine.vision.vision_checkpoint import tower_file_damaged, tower_misfit, tower_tensors

_BITS, _GROUPS = (2, 3, 4, 5, 6, 8), (16, 32, 64, 128)
_MODES = {(4, 32): "mxfp4", (4, 16): "nvfp4", (8, 32): "mxfp8"}  # of scales without biases, by bits and group size
_BOUNDS = ("input_min", "input_max", "output_min", "output_max")  # may be infinite


def load_tower(folder: Path, rules: ImageRules, dtype: mx.Dtype) -> Tower:
    """Load the tower of a target.

    Reads the tower's tensors only, under the names of transformers or mlx-vlm.

    Args:
        rules: from the same folder.
        dtype: number format of the computations. Activations exceed the range of float16, so bfloat16 replaces it.

    Raises:
        UserError: a tensor is missing, doesn't fit, or contains NaN.
    """
    arrays, dtype = _read(folder, rules), mx.bfloat16 if dtype == mx.float16 else dtype
    tower = _new_tower(rules)
    if isinstance(rules, QwenRules):
        _unfold(arrays)
    nn.quantize(tower, class_predicate=lambda path, module: _quantization(path, module, arrays, folder))
    fitting, checks = [], []
    for name, expected in cast(list[tuple[str, mx.array]], tree_flatten(tower.parameters())):
        array = _fitting(name, expected, arrays, folder)
        checks.append((name, _check(name, array)))
        fitting.append((name, array.astype(dtype) if mx.issubdtype(array.dtype, mx.floating) else array))
    tower.load_weights(fitting)
    tower.dtype = dtype
    mx.eval(tower.parameters(), [check for _, check in checks])
    for name, check in checks:
        if not check.item():
            raise UserError(
                "weights_not_finite",
                "The weights of “{model}” contain NaN or infinity (“{tensor}”). Download the model again, or choose another one.",
                model=folder.name,
                tensor=name,
            )
    return tower


def check_complete(folder: Path, rules: ImageRules) -> None:
    """Refuse a tower that lacks tensors, without reading weights.

    Raises:
        UserError: a tensor is missing.
    """
    stored = tower_tensors(folder, rules.family)
    for name, _ in cast(list[tuple[str, mx.array]], tree_flatten(_new_tower(rules).parameters())):
        if name not in stored:
            raise _missing(folder, name)


def _new_tower(rules: ImageRules) -> Tower:
    """Return a tower whose parameters aren't computed."""
    if isinstance(rules, QwenRules):
        return QwenTower(rules)
    assert isinstance(rules, GemmaRules)
    return GemmaTower(rules) if rules.depth else GemmaProjection(rules)


def _missing(folder: Path, name: str) -> UserError:
    return tower_misfit(folder, EngineText.of("tensor_missing", "“{tensor}” is missing", tensor=name))


def _read(folder: Path, rules: ImageRules) -> dict[str, mx.array]:
    stored = tower_tensors(folder, rules.family)
    files: dict[Path, dict[str, mx.array]] = {}
    for tensor in stored.values():
        if tensor.file not in files:
            try:
                files[tensor.file] = cast(dict[str, mx.array], mx.load(str(tensor.file)))  # reads the header
            except (RuntimeError, ValueError):
                raise tower_file_damaged(tensor.file) from None
    return {name: files[tensor.file][tensor.name] for name, tensor in stored.items()}


def _unfold(arrays: dict[str, mx.array]) -> None:
    """Turn the convolution over patches into a matrix."""
    name = "patch_embed.proj.weight"
    if (weight := arrays.get(name)) is not None and weight.ndim == 5 and weight.size:
        last = weight.shape[-1] == 3 != weight.shape[1]  # mlx-vlm has the channels last
        arrays[name] = (weight.moveaxis(-1, 1) if last else weight).reshape(weight.shape[0], -1)


def _quantization(path: str, module: nn.Module, arrays: dict[str, mx.array], folder: Path) -> dict | bool:
    """Return group size, bits, and mode of a matrix; False if it is floating point."""
    scales, packed = arrays.get(f"{path}.scales"), arrays.get(f"{path}.weight")
    if not isinstance(module, nn.Linear | nn.Embedding) or scales is None or packed is None:
        return False
    columns = module.weight.shape[1]
    group = columns // max(scales.size // module.weight.shape[0], 1)
    bits = packed.size // module.weight.shape[0] * 32 // columns
    mode = "affine" if f"{path}.biases" in arrays else _MODES.get((bits, group))
    if bits not in _BITS or group not in _GROUPS or columns % group or mode is None:
        raise tower_misfit(folder, _shape_fault(f"{path}.scales", scales, (module.weight.shape[0], columns // 64)))
    return {"group_size": group, "bits": bits, "mode": mode}


def _fitting(name: str, expected: mx.array, arrays: dict[str, mx.array], folder: Path) -> mx.array:
    array = arrays.get(name)
    if array is None:
        raise _missing(folder, name)
    if array.shape == (1,) and expected.shape == ():
        array = array.reshape(())
    if array.shape != expected.shape:
        raise tower_misfit(folder, _shape_fault(name, array, expected.shape))
    fits = mx.issubdtype(array.dtype, mx.floating) if mx.issubdtype(expected.dtype, mx.floating) else array.dtype == expected.dtype
    if not fits:
        template = "“{tensor}” is stored as {dtype}"
        raise tower_misfit(folder, EngineText.of("tensor_format", template, tensor=name, dtype=dtype_name(array.dtype)))
    return array


def _shape_fault(name: str, array: mx.array, expected: tuple[int, ...]) -> EngineText:
    template = "“{tensor}” has shape {found}, not {expected}"
    return EngineText.of("tensor_shape_differs", template, tensor=name, found=str(array.shape), expected=str(expected))


def _check(name: str, array: mx.array) -> mx.array:
    return (~mx.isnan(array) if name.endswith(_BOUNDS) else mx.isfinite(array)).all()
