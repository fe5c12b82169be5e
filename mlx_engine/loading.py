"""Load a target and a drafter from two folders."""

import json
import logging
import re
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import shorten
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn
import mlx_lm.utils
from huggingface_hub.errors import StrictDataclassError
from mlx.utils import tree_flatten
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import load_model

from mlx_engine import chat, memory
from mlx_engine.channels import call_format
from mlx_engine.decoding.costs import CostTable
from mlx_engine.decoding.width import PairHistory
from mlx_engine.drafters import adapter
from mlx_engine.drafters.dflash import DFlashDrafter
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.loading import load as load_drafter
from mlx_engine.drafters.loading import tapped, usual_bits
from mlx_engine.drafters.tensors import read as read_tensors
from mlx_engine.errors import EngineText, UserError
from mlx_engine.events import LoadProgress, PairInfo
from mlx_engine.families import family_of, why_not_runnable
from mlx_engine.kernels.operations import PLAIN, ROW_EXACT, Operations, with_kernels
from mlx_engine.pairs.checkpoint import read_config, recommended_sampling, weight_files
from mlx_engine.pairs.drafter_config import DrafterConfig, parse
from mlx_engine.pairs.library import model_name, pair_name
from mlx_engine.pairs.mtp_head import pair_bytes
from mlx_engine.pairs.target_config import dflash_problem, pair_problem, target_problem, text_config
from mlx_engine.pairs.tuning_files import adapter_path
from mlx_engine.targets import arguments, exact, exact_check
from mlx_engine.targets.target import Target
from mlx_engine.targets.weights import Weights
from mlx_engine.template_sandbox import on_thread, renderer
from mlx_engine.tokenizer_files import has_tokenizer, read_tokenizer, tokenizer_code
from mlx_engine.warmup import warm

# transformers warns of prompts that exceed the context, which are refused with a message of our own.
for _library in map(logging.getLogger, ("transformers", "huggingface_hub")):
    _library.setLevel(logging.ERROR)
    _library.handlers.clear()  # they print to the terminal
    _library.propagate = True

_DEFAULT_CONTEXT = 4096  # tokens, if config.json states none
_MAX_QUOTE = 160  # characters
_TRIED_ROWS = 64
_infer_any_quantization, _load_any_config = mlx_lm.utils.infer_quant_config, mlx_lm.utils.load_config


def _exact_operations() -> Operations:
    if mx.default_device().type == mx.gpu and mx.metal.is_available():
        return with_kernels(ROW_EXACT, row_exact=True)
    return replace(PLAIN, row_exact=True)


@dataclass(frozen=True)
class TargetModel:
    """A target's model in memory. A `Target` wraps it for one drafter, and its `release` frees it for the next one.

    Attributes:
        folder: where it was read.
        config: contents of config.json.
        dtype: number format of its computations.
        weights: its weights.
        vocabulary: number of tokens, as config.json states it.
        context_limit: the most tokens of a chat.
        files: names, sizes, and times of the files in the folder.
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

    def is_of(self, folder: Path) -> bool:
        """Return whether reading this folder would return the same model."""
        return folder == self.folder and _files(folder) == self.files


@dataclass
class LoadedPair:
    """A target in memory, and its drafter if it has one.

    Attributes:
        dtype: number format of the target's computations.
        weights: the target's weights.
        model: the target's model.
        history: measured speed and acceptance of the pair.
        folders: folders of the target and the drafter.
        ranges: operations by the context length from which they run; the first length is 0.
        operations: the operations in use.
        kernel_turns: measurements of a canceled kernel selection.
        exact_operations: the operations of exact replies.
        exact_history: speed and acceptance of exact replies; None until the pair passed the check of exact mode.
    """

    target: Target
    tokenizer: TokenizerWrapper
    drafter: Drafter | None
    dtype: mx.Dtype
    info: PairInfo
    weights: Weights
    model: TargetModel
    history: PairHistory
    folders: tuple[Path, Path | None]
    ranges: tuple[tuple[int, Operations], ...] = ((0, PLAIN),)
    operations: Operations = PLAIN
    kernel_turns: dict[int, list[Any]] = field(default_factory=dict)
    exact_operations: Operations = field(default_factory=_exact_operations)
    exact_history: PairHistory | None = None

    @property
    def held(self) -> int:
        """Bytes of all weights in memory.

        On a CPU, weights take more memory than in their files. A quantized drafter takes less.
        """
        return self.weights.held + (sum(array.nbytes for array in self.drafter.parameters()) if self.drafter else 0)

    def use_costs(self, table: CostTable) -> None:
        """Use these costs to choose widths, starting with the next reply."""
        self.history = PairHistory(self.info.block_size, table)
        if self.exact_history is not None:
            self.exact_history = PairHistory(self.exact_history.block, table)

    @contextmanager
    def exactly(self) -> Iterator[PairHistory]:
        """Run row-exact operations in this block, and yield the history for exact replies.

        Raises:
            UserError: the pair doesn't support exact mode, which is checked once.
        """
        if self.drafter is None:
            raise UserError(
                "exact_without_drafter",
                "Exact mode needs a drafter, but none is loaded. Turn exact mode off.",
            )
        try:
            self.target.use(self.exact_operations)
            if self.exact_history is None:
                exact_check.check(self.target, self.exact_operations)
                self.exact_history = PairHistory(min(self.info.block_size, exact.ROWS), self.history.costs.table)
            yield self.exact_history
        finally:
            self.target.use(self.operations)

    def use(self, operations: Operations, *longer: tuple[int, Operations]) -> None:
        """Use these operations, starting with the next reply.

        Args:
            operations: for short contexts.
            longer: ascending context lengths, each with the operations for that length and above.
        """
        self.ranges = ((0, operations), *longer)
        self.run_at(0)

    def run_at(self, length: int) -> None:
        """Switch to the operations for a context of this length."""
        self.run_operations(next(operations for start, operations in reversed(self.ranges) if start <= length))

    def run_operations(self, operations: Operations) -> None:
        """Switch to these operations."""
        self.operations = operations
        self.target.use(operations)
        if self.drafter is not None:
            self.drafter.operations = operations


def check(target: Path, drafter: Path | None) -> None:
    """Refuse a pair that can't run, before anything large is read.

    Raises:
        UserError: files are missing or cut short, or target and drafter don't fit together.
    """
    config = read_config(target)
    if problem := target_problem(config) or why_not_runnable(config):
        raise UserError.of(problem)
    weight_files(target)
    if not has_tokenizer(target):
        raise UserError(
            "no_tokenizer", "The model in “{folder}” has no tokenizer (tokenizer.json). Download it again.", folder=str(target)
        )
    if code := tokenizer_code(target):
        raise UserError(
            "tokenizer_needs_code",
            "The tokenizer of “{name}” requires custom Python code ({code}), which Slipstream never runs. "
            "Choose a copy of the model that has a tokenizer.json.",
            name=target.name,
            code=code,
        )
    if drafter is None:
        return
    if problem := dflash_problem(config):
        raise UserError("drafter_not_usable", "{reason} Load the target without a drafter to use plain decoding.", reason=problem)
    if problem := pair_problem(config, read_config(drafter)):
        raise UserError.of(problem)
    weight_files(drafter)


def read_target(folder: Path) -> Generator[LoadProgress, None, TargetModel]:
    """Read a target that has passed `check`. Yield progress, and return the model.

    On a CPU everything is computed in float32, because half-precision and quantized products are slow there and round early.

    Raises:
        UserError: the files can't be read as a model.
    """
    renderer.start()
    yield LoadProgress(0.1, EngineText.of("reading_target", "Reading the target"))
    files = _files(folder)
    model, tokenizer, config = _read_target(folder)
    on_cpu = mx.default_device() == mx.Device(mx.cpu)
    if on_cpu:
        model.set_dtype(mx.float32)
    mx.eval(model.parameters())
    _refuse_nonfinite(cast(list[tuple[str, mx.array]], tree_flatten(model.parameters())), folder)
    text = text_config(config)
    vocabulary = _positive(text, "vocab_size", len(tokenizer), folder)
    context_limit = _positive(text, "max_position_embeddings", _DEFAULT_CONTEXT, folder)
    dtype = mx.float32 if on_cpu else _dtype(model)
    return TargetModel(folder, model, tokenizer, config, dtype, Weights(model), vocabulary, context_limit, files)


def load(
    source: TargetModel, drafter_folder: Path | None, drafter_bits: int | None = None, tuned: bool = True
) -> Iterator[LoadProgress | LoadedPair]:
    """Load a drafter that has passed `check`, and combine it with a target that no other pair uses.

    Args:
        source: the target's model.
        drafter_folder: folder of the drafter, or None.
        drafter_bits: bits that the drafter's matrices are quantized to, 4 or 8; 16 for as published; None for automatic.
        tuned: whether to use the drafter's adapter for this target, if there is one. One that can't be used is ignored.

    Yields:
        `LoadProgress` events, then the `LoadedPair`.

    Raises:
        UserError: the files can't be read as a drafter.
    """
    renderer.start()
    model, config, dtype, target_folder = source.model, source.config, source.dtype, source.folder
    sizes = pair_bytes(target_folder, drafter_folder)
    target, drafter, why_plain = None, None, None
    is_tuned, why_not_tuned = False, None
    try:
        if drafter_folder is None:
            target = Target(model, source.vocabulary)
            why_plain = dflash_problem(config) or EngineText.of("no_drafter", "no drafter is loaded")
        else:
            yield LoadProgress(0.8, EngineText.of("reading_drafter", "Reading the drafter"))
            layers, read_drafter = [*model.layers], parse(read_config(drafter_folder))
            target = Target(model, source.vocabulary, family_of(config), tapped(read_drafter, layers))
            target.caches().check()
            bits = drafter_bits or usual_bits(sizes[1])
            tensors = read_tensors(drafter_folder)
            if tuned and (file := adapter_path(drafter_folder, target_folder)).exists():
                try:
                    adapter.merge(tensors, file, drafter_folder, target_folder, read_drafter.stored)
                    is_tuned = True
                except UserError as error:
                    why_not_tuned = error.text
            drafter = load_drafter(drafter_folder, dtype, target.embed, target.head, bits, layers, tensors)
            _refuse_nonfinite([("drafter", array) for array in drafter.parameters()], drafter_folder)
            _check_drafter_tokens(drafter.config, target, "vocab_size" in text_config(config))
        yield LoadProgress(0.95, EngineText.of("warming_up", "Warming up"))
        _check_target_tokens(target)
        warm(target, drafter, source.context_limit)
    except BaseException as error:
        if target is not None:
            target.release()
        is_known = isinstance(error, UserError) or not isinstance(error, Exception) or memory.exhausted(error)
        if not is_known and (fault := arguments.fault(config)):  # otherwise it's a bug
            raise _config_fault(target_folder, fault) from error
        raise
    yield LoadProgress(1.0, EngineText.of("ready", "Ready"))
    info = PairInfo(
        name=pair_name(target_folder),
        target=model_name(target_folder),
        drafter=model_name(drafter_folder) if drafter_folder else "",
        family=str(config.get("model_type")),
        drafter_kind=drafter.config.kind if drafter else "",
        drafter_folder=drafter_folder,
        block_size=drafter.config.block_size if drafter else 1,
        context_limit=source.context_limit,
        target_bytes=sizes[0],
        drafter_bytes=sizes[1],
        can_think=chat.can_think(source.tokenizer),
        takes_effort=chat.takes_effort(source.tokenizer),
        can_call_tools=call_format(source.tokenizer) is not None,
        why_plain=why_plain,
        drafter_weights=_format(drafter) if drafter else "",
        sampling=recommended_sampling(target_folder),
        tuned=is_tuned,
        why_not_tuned=why_not_tuned,
    )
    folders = target_folder, drafter_folder
    history = PairHistory(info.block_size)
    yield LoadedPair(target, source.tokenizer, drafter, dtype, info, source.weights, source, history, folders)


def _format(drafter: DFlashDrafter) -> str:
    return f"{drafter.bits} bit" if drafter.bits < 16 else str(drafter.dtype).removeprefix("mlx.core.")


def _refuse_nonfinite(arrays: list[tuple[str, mx.array]], folder: Path) -> None:
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


def _check_target_tokens(target: Target) -> None:
    """Refuse a target that can choose a token without an embedding.

    MLX would read memory outside the table.

    Raises:
        UserError: there are more logits than embeddings.
    """
    logits = target.forward(mx.zeros(1, mx.uint32), target.caches()).shape[-1]
    if logits > target.rows:
        raise UserError(
            "more_logits_than_embeddings",
            "The model has logits for {logits:,} tokens, but embeddings for only {rows:,}. Download it again, or choose "
            "another one.",
            logits=logits,
            rows=target.rows,
        )


def _check_drafter_tokens(config: DrafterConfig, target: Target, declared: bool) -> None:
    """Refuse a drafter with tokens that the target's embedding table lacks.

    Args:
        config: config of the drafter.
        target: the loaded target.
        declared: whether the target's config.json states a vocabulary size, which `check` has compared with the drafter's.

    Raises:
        UserError: target and drafter have different vocabularies.
    """
    tokens = config.vocab_size or target.rows
    if tokens > target.rows or (tokens < target.rows and not declared) or config.mask_token >= target.rows:
        raise UserError(
            "drafter_vocabulary_differs",
            "The drafter's vocabulary has {tokens:,} tokens and its mask token is {mask:,}, but the target has {rows:,} tokens. "
            "Choose another drafter.",
            tokens=tokens,
            mask=config.mask_token,
            rows=target.rows,
        )


def _files(folder: Path) -> tuple[tuple[str, int, int], ...]:
    found = ((one.name, one.stat()) for one in sorted(folder.iterdir()) if one.is_file())
    return tuple((name, status.st_size, status.st_mtime_ns) for name, status in found)


def _read_target(folder: Path) -> tuple[nn.Module, TokenizerWrapper, dict]:
    """Read model and tokenizer with mlx-lm, without running code in the folder."""
    if fault := arguments.value_fault(read_config(folder)):
        raise _config_fault(folder, fault)
    try:
        model, config = load_model(folder, lazy=True, strict=True, trust_remote_code=False)
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


def _try_shapes(model: nn.Module) -> None:
    """Build the graphs of a prompt and a step, which fails if the config is invalid."""
    caches = make_prompt_cache(model)
    for rows in (_TRIED_ROWS, 1):
        model(mx.zeros((1, rows), mx.int32), cache=caches)


def _infer_quantization(path: str, module: nn.Module, weights: dict[str, mx.array]) -> dict:
    """Infer the quantization as mlx-lm does, but refuse a group size of 0.

    MLX would divide by the group size and end the process.
    """
    inferred: dict = _infer_any_quantization(path, module, weights)
    if inferred.get("group_size", 1) < 1:
        expected, found = module.weight.shape, weights[f"{path}.scales"].shape
        raise ValueError(f"Expected shape {expected} but received shape {found} for parameter {path}.scales")
    return inferred


def _config_fault(folder: Path, fault: EngineText) -> UserError:
    return UserError(
        "config_fault",
        "The config.json file of “{name}” {fault}. Download the model again, or choose another one.",
        name=folder.name,
        fault=fault,
    )


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
    mismatch = _mismatch(reason) if isinstance(error, ValueError) else None
    if fault := arguments.size_fault(config) if mismatch else arguments.fault(config):
        return _config_fault(folder, fault)
    if mismatch:
        return UserError(
            "weights_do_not_fit",
            "The weights of “{name}” don't match its config.json ({reason}). Download the model again, or choose another one.",
            name=name,
            reason=mismatch,
        )
    if isinstance(error, StrictDataclassError) and (named := re.search(r"(?:for field '|The `)(\w+)", reason)):
        return _config_fault(folder, EngineText.of("config_field_invalid", "has an invalid “{field}”", field=named[1]))
    last = traceback.extract_tb(error.__traceback__)[-1]
    if "mlx_lm" in last.filename and (last.line or "").startswith("raise "):  # a refusal by mlx-lm, not a bug
        return UserError(
            "model_unreadable",
            "mlx-lm can't load “{name}”: {reason}. Download the model again, or choose another one.",
            name=name,
            reason=shorten(reason, _MAX_QUOTE, placeholder="…").rstrip("."),
        )
    return _config_fault(folder, EngineText.of("config_not_of_family", "doesn't match its model family"))


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
        raise _config_fault(folder, EngineText.of("config_field_not_positive", template, field=name, value=shown))
    return value


def _dtype(model: nn.Module) -> mx.Dtype:
    """Return the dtype of a target's first norm, which is never quantized."""
    norms = [module.weight.dtype for _, module in model.named_modules() if isinstance(module, nn.RMSNorm)]
    return norms[0] if norms else mx.bfloat16


def _load_config(folder: Path) -> dict:
    """Load a config as mlx-lm does, but ignore a damaged generation_config.json."""
    try:
        return _load_any_config(folder)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return mlx_lm.utils._decode_tagged_floats(read_config(folder))


vars(mlx_lm.utils).update(infer_quant_config=_infer_quantization, load_config=_load_config)
