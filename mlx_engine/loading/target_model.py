"""Read a target's model and tokenizer from its folder."""

import json
import logging
import re
import traceback
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import cast

import mlx.core as mx
import mlx.nn as nn
import mlx_lm.utils
from huggingface_hub.errors import StrictDataclassError
from mlx.utils import tree_flatten
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import load_model

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import LoadProgress
from mlx_engine.formats.template_sandbox import on_thread, renderer
from mlx_engine.formats.tokenizer_files import read_tokenizer
from mlx_engine.hardware import memory
from mlx_engine.kernels.support import dtype_name
from mlx_engine.models.configs.families import family_of
from mlx_engine.models.configs.target_config import text_config, with_older_names
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.network import hub_session
from mlx_engine.targets import model_arguments
from mlx_engine.targets.sharded import ShardedTarget
from mlx_engine.targets.sharding import Sharding, shard
from mlx_engine.targets.target import Target
from mlx_engine.targets.weights import Weights

hub_session.install()  # models are read from this disk; should a library ask the hub anyway, Offline refuses that

# transformers warns of prompts that exceed the context, which are refused with a message of our own.
for _library in map(logging.getLogger, ("transformers", "huggingface_hub")):
    _library.setLevel(logging.ERROR)
    _library.handlers.clear()  # they print to the terminal
    _library.propagate = True

_DEFAULT_CONTEXT = 4096  # tokens, if config.json states none
_MAX_QUOTE = 160  # characters
_TRIED_ROWS = 64
_FLOATING = (nn.Linear, nn.Embedding, nn.RMSNorm)  # their weights are floating point
_infer_any_quantization, _load_any_config = mlx_lm.utils.infer_quant_config, mlx_lm.utils.load_config


@dataclass(frozen=True)
class TargetModel:
    """A target's model in memory, for one `Target` after the other.

    Attributes:
        folder: where it was read.
        config: contents of config.json.
        dtype: number format of its computations.
        weights: its weights.
        vocabulary: number of tokens, as config.json states it.
        context_limit: the most tokens of a chat.
        files: names, sizes, and times of the files in the folder.
        sharding: this rank's place, if several ranks run the target together.
    """

    folder: Path
    model: nn.Module
    tokenizer: TokenizerWrapper
    config: dict
    dtype: mx.Dtype
    weights: Weights
    vocabulary: int
    context_limit: int
    files: tuple[tuple[str, int, int], ...]
    sharding: Sharding | None = None

    def is_of(self, folder: Path) -> bool:
        """Return whether reading this folder would return the same model."""
        return folder == self.folder and _files(folder) == self.files

    def wrapped(self, taps: Sequence[int] = ()) -> Target:
        """Return a target with these taps."""
        family = family_of(self.config)
        if self.sharding is None or family is None:
            return Target(self.model, self.vocabulary, family, taps)
        return ShardedTarget(self.model, self.vocabulary, family, taps, self.sharding.tell)


def read_target(folder: Path, sharding: Sharding | None = None) -> Generator[LoadProgress, None, TargetModel]:
    """Read a target that has passed `check_loadable`, yielding progress.

    On a CPU everything is computed in float32, because half-precision and quantized products are slow there and round early.

    Args:
        folder: where the target is.
        sharding: this rank's place, to read only its part of the layers.

    Raises:
        UserError: the files can't be read as a model.
    """
    renderer.start()
    yield LoadProgress(0.1, EngineText.of("reading_target", "Reading the target"))
    files = _files(folder)
    model, tokenizer, config = _read_target(folder)
    if sharding is not None and (family := family_of(config)) is not None:
        shard(model, family.head, sharding.group)
    on_cpu = mx.default_device() == mx.Device(mx.cpu)
    if on_cpu:
        model.set_dtype(mx.float32)
    mx.eval(model.parameters())
    refuse_nonfinite(cast(list[tuple[str, mx.array]], tree_flatten(model.parameters())), folder)
    text = text_config(config)
    vocabulary = _positive(text, "vocab_size", len(tokenizer), folder)
    context_limit = _positive(text, "max_position_embeddings", _DEFAULT_CONTEXT, folder)
    dtype = mx.float32 if on_cpu else _dtype(model)
    return TargetModel(folder, model, tokenizer, config, dtype, Weights(model), vocabulary, context_limit, files, sharding)


def refuse_nonfinite(arrays: list[tuple[str, mx.array]], folder: Path) -> None:
    """Refuse weights that contain NaN or infinity."""
    floats = [(name, array) for name, array in arrays if mx.issubdtype(array.dtype, mx.floating) and array.size]
    # The maximum and minimum are NaN if any number is, and need no copy of the weights
    finite = mx.stack([mx.isfinite(array.max()) & mx.isfinite(array.min()) for _, array in floats])
    for (name, _), is_finite in zip(floats, cast(list[bool], finite.tolist()), strict=True):
        if not is_finite:
            raise UserError(
                "weights_not_finite",
                "The weights of “{model}” contain NaN or infinity (“{tensor}”). Download the model again, or choose another one.",
                model=folder.name,
                tensor=name,
            )


def _files(folder: Path) -> tuple[tuple[str, int, int], ...]:
    found = ((one.name, one.stat()) for one in sorted(folder.iterdir()) if one.is_file())
    return tuple((name, status.st_size, status.st_mtime_ns) for name, status in found)


def _read_target(folder: Path) -> tuple[nn.Module, TokenizerWrapper, dict]:
    """Read model and tokenizer with mlx-lm, without running code in the folder."""
    if fault := model_arguments.value_fault(read_config(folder)):
        raise config_fault(folder, fault)
    try:
        model, config = load_model(folder, lazy=True, strict=True, trust_remote_code=False)
        _refuse_formats(model, folder)
        _try_shapes(model)
    except UserError:
        raise
    except Exception as error:  # a well-formed config can fail anywhere inside mlx-lm
        if memory.exhausted(error):
            raise
        raise _load_error(error, folder) from error
    try:
        return model, on_thread(lambda: read_tokenizer(folder, config)), config
    except UserError:
        raise
    except Exception as error:  # the tokenizers library raises a bare Exception for a damaged file
        if any("configuration_" in frame.filename for frame in traceback.extract_tb(error.__traceback__)):
            raise _load_error(error, folder) from error  # transformers reads config.json too
        raise UserError(
            "tokenizer_unreadable",
            "Can't read the tokenizer of “{name}”: tokenizer.json or tokenizer_config.json is damaged or unsupported. Download "
            "the model again, or choose another one.",
            name=folder.name,
        ) from error


def _refuse_formats(model: nn.Module, folder: Path) -> None:
    """Refuse tensors in a number format that their layers can't use."""
    for name, module in model.named_modules():
        is_packed = "scales" in module
        tensors = ("weight", "scales", "biases") if is_packed else ("weight",) * isinstance(module, _FLOATING)
        for tensor in (each for each in tensors if each in module):
            dtype = module[tensor].dtype
            if is_packed and tensor == "weight":
                fits = dtype == mx.uint32
            elif tensor == "scales" and module.mode != "affine":
                fits = dtype == mx.uint8
            else:
                fits = mx.issubdtype(dtype, mx.floating)
            if not fits:
                raise _do_not_fit(folder, _format_fault(f"{name}.{tensor}", dtype))


def _format_fault(tensor: str, dtype: mx.Dtype) -> EngineText:
    return EngineText.of("tensor_format", "“{tensor}” is stored as {dtype}", tensor=tensor, dtype=dtype_name(dtype))


class _Misfit(ValueError):
    """The weights don't match config.json, for a reason that is an `EngineText`."""


def _try_shapes(model: nn.Module) -> None:
    """Build the graphs of a prompt and a step, which fails if the config is invalid."""
    caches = make_prompt_cache(model)
    for rows in (_TRIED_ROWS, 1):
        model(mx.zeros((1, rows), mx.int32), cache=caches)


def _infer_quantization(path: str, module: nn.Module, weights: dict[str, mx.array]) -> dict:
    """Infer the quantization as mlx-lm does, and refuse tensors that don't fit.

    MLX would divide by a group size of 0 and end the process.
    """
    if (weight := weights.get(f"{path}.weight")) is None:
        raise ValueError(f"Missing 1 parameters: {path}.weight")
    scales, expected = weights[f"{path}.scales"], module.weight.shape
    for name, array in (("weight", weight), ("scales", scales)):
        if array.shape[:-1] != expected[:-1] or array.ndim != len(expected) or not 0 < array.shape[-1] <= expected[-1]:
            raise ValueError(f"Expected shape {expected} but received shape {array.shape} for parameter {path}.{name}")
    if (biases := weights.get(f"{path}.biases")) is not None and scales.dtype == mx.uint8:
        raise _Misfit(_format_fault(f"{path}.scales", scales.dtype))  # their formats have no biases
    is_group = expected[-1] // scales.shape[-1] in (32, 64, 128)
    if biases is not None and biases.shape != scales.shape and not is_group:  # otherwise, the biases are to blame
        raise ValueError(f"Expected shape {biases.shape} but received shape {scales.shape} for parameter {path}.scales")
    try:
        inferred: dict = _infer_any_quantization(path, module, weights)
    except ValueError:
        raise _Misfit(_format_fault(f"{path}.scales", scales.dtype)) from None
    return inferred


def config_fault(folder: Path, fault: EngineText) -> UserError:
    return UserError(
        "config_fault",
        "The config.json file of “{name}” {fault}. Download the model again, or choose another one.",
        name=folder.name,
        fault=fault,
    )


def _do_not_fit(folder: Path, reason: EngineText) -> UserError:
    template = "The weights of “{name}” don't match its config.json ({reason}). Download the model again, or choose another one."
    return UserError("weights_do_not_fit", template, name=folder.name, reason=reason)


def _load_error(error: Exception, folder: Path) -> UserError:
    """Return why a target can't be loaded, naming the config.json field if possible."""
    config, name, reason = read_config(folder), folder.name, str(error)
    if reason.startswith("Model type "):
        return UserError(
            "family_unknown_to_mlx_lm",
            "The installed mlx-lm can't run “{name}” (family “{family}”), and Slipstream never runs Python code that comes with a "
            "model. Choose another model.",
            name=name,
            family=str(config["model_type"]),
        )
    mismatch = error.args[0] if isinstance(error, _Misfit) else _mismatch(reason) if isinstance(error, ValueError) else None
    if fault := model_arguments.size_fault(config) if mismatch else model_arguments.fault(config):
        return config_fault(folder, fault)
    if mismatch:
        return _do_not_fit(folder, mismatch)
    if isinstance(error, StrictDataclassError) and (named := re.search(r"(?:for field '|The `)(\w+)", reason)):
        return config_fault(folder, EngineText.of("config_field_invalid", "has an invalid “{field}”", field=named[1]))
    last = traceback.extract_tb(error.__traceback__)[-1]
    if "mlx_lm" in last.filename and (last.line or "").startswith("raise "):  # a refusal by mlx-lm, not a bug
        return UserError(
            "model_unreadable",
            "mlx-lm can't load “{name}”: {reason}. Download the model again, or choose another one.",
            name=name,
            reason=shorten(reason, _MAX_QUOTE, placeholder="…").rstrip("."),
        )
    return config_fault(folder, EngineText.of("config_not_of_family", "doesn't match its model family"))


def _mismatch(reason: str) -> EngineText | None:
    """Return how weights differ from their model, from MLX's message, or None."""
    if found := re.match(r"Expected shape (\(.*\)) but received shape (\(.*\)) for parameter (\S+)", reason):
        template = "“{tensor}” has shape {found}, not {expected}"
        return EngineText.of("tensor_shape_differs", template, tensor=found[3], found=found[2], expected=found[1])
    if found := re.match(r"Missing \d+ parameters:\s*([^\s,]+)", reason):
        return EngineText.of("tensor_missing", "“{tensor}” is missing", tensor=found[1].rstrip("."))
    if found := re.match(r"Received \d+ parameters not in model:\s*([^\s,]+)", reason):
        return EngineText.of("tensor_not_in_model", "“{tensor}” isn't part of the model", tensor=found[1].rstrip("."))
    return None


def _positive(text: dict, name: str, default: int, folder: Path) -> int:
    """Return a number of tokens from config.json.

    Raises:
        UserError: the number isn't a positive integer.
    """
    value = text.get(name)
    if value is None:
        return default
    if type(value) is not int or value < 1:
        template = "sets “{field}” to {value}, but it must be a whole number above 0"
        shown = json.dumps(value)[:60]
        raise config_fault(folder, EngineText.of("config_field_not_positive", template, field=name, value=shown))
    return value


def _dtype(model: nn.Module) -> mx.Dtype:
    """Return the dtype of a target's first norm, which is never quantized."""
    norms = [module.weight.dtype for _, module in model.named_modules() if isinstance(module, nn.RMSNorm)]
    return norms[0] if norms else mx.bfloat16


def _load_config(folder: Path) -> dict:
    """Load a config as mlx-lm does, with older names of its fields."""
    try:
        return with_older_names(_load_any_config(folder))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return with_older_names(mlx_lm.utils._decode_tagged_floats(read_config(folder)))


vars(mlx_lm.utils).update(infer_quant_config=_infer_quantization, load_config=_load_config)
