"""Two folders -> a pair that is ready to run, or a sentence that says why not."""

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import mlx.core as mx
import mlx.nn as nn
from huggingface_hub.errors import StrictDataclassError
from mlx.utils import tree_flatten
from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import load_model, load_tokenizer

from mlx_engine import chat, memory
from mlx_engine.decoding.costs import CostTable
from mlx_engine.decoding.width import PairHistory
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.drafters.loading import load as load_drafter
from mlx_engine.drafters.loading import usual_bits
from mlx_engine.errors import EngineText, UserError
from mlx_engine.events import KernelTrial, LoadProgress, PairInfo
from mlx_engine.families import family_of, why_not_runnable
from mlx_engine.kernels.operations import PLAIN, Operations
from mlx_engine.pairs.advised import advised_sampling
from mlx_engine.pairs.checkpoint import read_config, weight_bytes, weight_files
from mlx_engine.pairs.compatibility import misfit, text_config, why_not_dflash, why_not_target
from mlx_engine.pairs.demo import demo_pair
from mlx_engine.pairs.drafter_config import parse
from mlx_engine.pairs.library import repo_of
from mlx_engine.targets import arguments
from mlx_engine.targets.target import Target
from mlx_engine.targets.weights import Weights
from mlx_engine.warmup import warm

# It warns of prompts beyond the context, and of "indexing errors" there; such a prompt is refused here in a sentence of our own.
logging.getLogger("transformers").setLevel(logging.ERROR)

_DEFAULT_CONTEXT = 4096  # tokens, for a config that does not say
_LONGEST_QUOTE = 160  # characters
_AGAIN = "Download it again, or pick another target."
# How Python fails on a config that makes no sense; mlx-lm's own refusals are ValueErrors with a sentence, but so are many stumbles
_STUMBLES = (TypeError, KeyError, AttributeError, IndexError, ArithmeticError, AssertionError)
_WEIGHTS_DIFFER = ("parameters not in model", "Missing ", "Expected shape")  # load_weights of MLX
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tiktoken.model", "vocab.json")


@dataclass
class LoadedPair:
    """A target and, if there is one, its drafter, in memory. `dtype` is what the target computes in."""

    target: Target
    tokenizer: TokenizerWrapper
    drafter: Drafter | None
    dtype: mx.Dtype
    info: PairInfo
    weights: Weights  # the target's
    history: PairHistory
    operations: Operations = PLAIN
    kernel_trials: list[KernelTrial] = field(default_factory=list)  # of a selection that was cancelled

    @property
    def held(self) -> int:
        """Bytes of all weights in memory, which on a CPU are more than in the files, and fewer where a drafter was quantised."""
        return self.weights.held + (sum(array.nbytes for array in self.drafter.parameters()) if self.drafter else 0)

    def use_costs(self, table: CostTable) -> None:
        """Choose widths by these costs from the next reply on."""
        self.history = PairHistory(self.info.block_size, table)

    def use(self, operations: Operations) -> None:
        """Run these operations from the next reply on."""
        self.operations = operations
        self.target.use(operations)
        if self.drafter is not None:
            self.drafter.operations = operations


def check(target: Path, drafter: Path | None) -> None:
    """Refuse what can be refused before anything large is read.

    Raises:
        UserError: files missing or cut short, or the two do not go together.
    """
    config = read_config(target, "target")
    if reason := why_not_target(config):
        raise UserError(reason)
    if reason := why_not_runnable(config):
        raise UserError(f"{reason} Pick another target.")
    weight_files(target, "target")
    if not any((target / name).is_file() for name in _TOKENIZERS):
        raise UserError(f"The target in {target} has no tokenizer (tokenizer.json). Download it again.")
    if code := _tokenizer_code(target):
        raise UserError(
            f"The tokenizer of the target in {target.name} needs Python code of its own ({code}), which is never run here. "
            "Pick a copy of it that has a tokenizer.json."
        )
    if drafter is None:
        return
    if reason := why_not_dflash(config):
        raise UserError(f"{reason} Load the target without a drafter to decode plainly.")
    if reason := misfit(config, read_config(drafter, "drafter")):
        raise UserError(reason)
    weight_files(drafter, "drafter")


def load(target_folder: Path, drafter_folder: Path | None, drafter_bits: int | None = None) -> Iterator[LoadProgress | LoadedPair]:
    """Load a pair from two folders that `check` has passed; the last thing yielded is the `LoadedPair`.

    On a CPU everything is computed in float32: half precision and quantised products are slow there and round early.

    Args:
        target_folder: the target.
        drafter_folder: its drafter, or None.
        drafter_bits: what the drafter's matrices are quantised to, 4 or 8; 16 for as published; None for what usually suits.

    Raises:
        UserError: what shows only while reading.
    """
    yield LoadProgress(0.1, EngineText.of("reading_target", "Reading the target"))
    model, tokenizer, config = _read_target(target_folder)
    on_cpu = mx.default_device() == mx.Device(mx.cpu)
    if on_cpu:
        model.set_dtype(mx.float32)
    mx.eval(model.parameters())
    _refuse_broken(cast(list[tuple[str, mx.array]], tree_flatten(model.parameters())), "target", target_folder)
    dtype = mx.float32 if on_cpu else _dtype(model)
    weights = Weights(model)
    text = text_config(config)
    vocabulary = _at_least_one(text, "vocab_size", len(tokenizer))
    context_limit = _at_least_one(text, "max_position_embeddings", _DEFAULT_CONTEXT)
    if drafter_folder is None:
        target, drafter = Target(model, vocabulary), None
        reason = why_not_dflash(config)
        why_plain = EngineText("no_dflash", reason) if reason else EngineText.of("no_drafter", "no drafter is loaded")
    else:
        yield LoadProgress(0.8, EngineText.of("reading_drafter", "Reading the drafter"))
        drafter_config = parse(read_config(drafter_folder, "drafter"))
        target = Target(model, vocabulary, family_of(config), drafter_config.taps)
        try:
            target.caches().check()
            bits = drafter_bits or usual_bits(weight_bytes(drafter_folder))
            drafter = load_drafter(drafter_folder, dtype, target.embed, target.head, bits)
            _refuse_broken([("", array) for array in drafter.parameters()], "drafter", drafter_folder)
        except BaseException:
            target.release()
            raise
        why_plain = None
    yield LoadProgress(0.95, EngineText.of("warming_up", "Warming up"))
    try:
        warm(target, drafter, context_limit)
    except _STUMBLES as error:
        target.release()
        if wrong := arguments.fault(config):  # else the mistake is ours
            raise UserError(f"The target's config.json in {target_folder.name} {wrong}. {_AGAIN}") from error
        raise
    yield LoadProgress(1.0, EngineText.of("ready", "Ready"))
    info = PairInfo(
        name=_name(target_folder),
        target=_called(target_folder),
        drafter=_called(drafter_folder) if drafter_folder else "",
        family=str(config.get("model_type")),
        block_size=drafter.config.block_size if drafter else 1,
        context_limit=context_limit,
        target_bytes=weight_bytes(target_folder),
        drafter_bytes=weight_bytes(drafter_folder) if drafter_folder else 0,
        can_think=chat.can_think(tokenizer),
        takes_effort=chat.takes_effort(tokenizer),
        why_plain=why_plain,
        drafter_weights="" if drafter is None else _weights(drafter.bits, dtype),
        sampling=advised_sampling(target_folder),
    )
    yield LoadedPair(target, tokenizer, drafter, dtype, info, weights, PairHistory(info.block_size))


def _refuse_broken(arrays: list[tuple[str, mx.array]], role: str, folder: Path) -> None:
    """Refuse weights with a NaN or an infinity: the model could only answer with nonsense, and nobody would know why."""
    numbers = [(name, array) for name, array in arrays if mx.issubdtype(array.dtype, mx.floating) and array.size]
    # the largest and the smallest are NaN if any is, and are read without a copy of the weights
    sound = mx.stack([mx.isfinite(array.max()) & mx.isfinite(array.min()) for _, array in numbers])
    broken = [name for (name, _), fine in zip(numbers, cast(list[bool], sound.tolist()), strict=True) if not fine]
    if broken:
        place = f", the first in “{broken[0]}”" if broken[0] else ""
        raise UserError(
            f"The {role} in {folder.name} has weights that are no finite numbers{place}. Download it again, or pick another {role}."
        )


def _tokenizer_code(folder: Path) -> str:
    """The class in a repository's own Python without which its tokenizer cannot be read; empty where it can."""
    if any((folder / name).is_file() for name in _TOKENIZERS if name != "tiktoken.model"):
        return ""
    try:
        own = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))["auto_map"]["AutoTokenizer"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return str(own[0] if isinstance(own, list) and own else own)


def _weights(bits: int, dtype: mx.Dtype) -> str:
    return str(dtype).removeprefix("mlx.core.") if bits == 16 else f"{bits} bit"


def _name(target: Path) -> str:
    """What people call the pair: the demo pair by its name, others by their folder, which may be `PAIR/target`."""
    if target == demo_pair()[0]:
        return "Demo pair"
    return target.parent.name if target.name == "target" else _called(target).split("/")[-1]


def _called(folder: Path) -> str:
    """A checkpoint's name: a snapshot of the hub's cache has its repo's, any other folder its own."""
    return repo_of(folder) or folder.name


def _read_target(folder: Path) -> tuple[nn.Module, TokenizerWrapper, dict]:
    """mlx-lm reads model and tokenizer; code inside the folder is never run."""
    try:
        model, config = load_model(folder, lazy=True, strict=True, trust_remote_code=False)
    except Exception as error:  # a config that is well-formed JSON can fail anywhere inside mlx-lm
        if memory.exhausted(error):
            raise
        raise _unbuildable(error, folder) from error
    try:
        tokenizer = load_tokenizer(folder, {"trust_remote_code": False}, eos_token_ids=config.get("eos_token_id"))
    except Exception as error:  # the tokenizers library raises a bare Exception for a damaged file
        if isinstance(error, (StrictDataclassError, *_STUMBLES)):  # transformers reads config.json too
            raise _unbuildable(error, folder, "tokenizer") from error
        raise UserError(f"The target's tokenizer in {folder.name} cannot be read: {_first_line(error)}") from error
    return model, tokenizer, config


def _unbuildable(error: Exception, folder: Path, part: str = "model") -> UserError:
    """Why a target cannot be built, in words for a person. What Python ran into is none; the field that led there is looked for."""
    config, name = read_config(folder, "target"), folder.name
    said = " ".join(str(error).split()).rstrip(".")
    if said.startswith("Model type "):
        return UserError(
            f"The installed mlx-lm has no model for the family “{config['model_type']}” of the target in {name}, and Python code "
            "that comes with a model is never run here. Pick another target."
        )
    differ = isinstance(error, ValueError) and any(words in said for words in _WEIGHTS_DIFFER)
    if wrong := arguments.too_small(config) if differ else arguments.fault(config):
        return UserError(f"The target's config.json in {name} {wrong}. {_AGAIN}")
    said = said if len(said) <= _LONGEST_QUOTE else said[: _LONGEST_QUOTE - 1] + "…"
    if differ:
        return UserError(f"The target in {name} cannot be loaded: its weights do not fit its config.json ({said}). {_AGAIN}")
    if field := re.match(r"Validation error for field '(\w+)'", said):
        return UserError(f"The target's config.json in {name} has “{field[1]}” as something that it cannot be. {_AGAIN}")
    if isinstance(error, _STUMBLES):
        return UserError(f"The target's config.json in {name} does not describe a {part} of the family that it names. {_AGAIN}")
    return UserError(f"The target in {name} cannot be loaded: {said}. {_AGAIN}")


def _at_least_one(text: dict, field: str, default: int) -> int:
    """A number of tokens that config.json may tell.

    Raises:
        UserError: it tells none.
    """
    value = text.get(field)
    if value is None:
        return default
    if type(value) is not int or value < 1:
        raise UserError(f"The target's “{field}” is {json.dumps(value)[:60]}; it has to be a whole number from 1 up. {_AGAIN}")
    return value


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _dtype(model: nn.Module) -> mx.Dtype:
    """What a target's activations are in: the dtype of its first norm, which is never quantised."""
    norms = [module.weight.dtype for _, module in model.named_modules() if isinstance(module, nn.RMSNorm)]
    return norms[0] if norms else mx.bfloat16
