"""Checkpoint folders: config, recommended sampling, and weight files."""

import hashlib
import json
import re
from pathlib import Path

from safetensors import SafetensorError, safe_open

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_read, not_regular_file, open_regular, read_bounded
from mlx_engine.contract.requests import Sampling
from mlx_engine.models.files.repo import is_wanted

LARGEST_CONFIG = 4_000_000  # bytes; published ones have a few thousand
LARGEST_INDEX = 64_000_000  # bytes; one entry per tensor
LARGEST_SETTINGS = 16_000_000  # bytes of each file of `_SETTINGS`, which are read whole
_SAMPLES, _SAMPLE = 64, 1 << 14  # number of samples of a weight file, and bytes of each
_LARGEST_VOCABULARY = 128_000_000  # bytes of each other file except weights; published ones have up to 40 million
_SETTINGS = frozenset(
    "added_tokens.json chat_template.jinja chat_template.json config.json generation_config.json special_tokens_map.json "
    "tokenizer_config.json".split()
)
# The number formats of MLX
_FORMATS = frozenset("BOOL U8 U16 U32 U64 I8 I16 I32 I64 F8_E4M3 F8_E8M0 F16 BF16 F32 C64".split())
_SHARD = re.compile(r"(.*)-([0-9]{5})-of-([0-9]{5})\.safetensors", re.DOTALL)
_TEMPLATES = "additional_chat_templates"  # a folder that transformers reads
# Fields of generation_config.json, and their valid ranges
_SAMPLING = {"temperature": (0.0, 5.0), "top_p": (0.0, 1.0), "min_p": (0.0, 1.0), "repetition_penalty": (0.5, 3.0)}


def read_config(folder: Path) -> dict:
    """Return the config.json of a checkpoint folder.

    Refuses model files that aren't regular or are far too large, since reading them could block forever or exhaust memory.
    """
    path = folder / "config.json"
    try:
        if not folder.is_dir():
            template = "Can't find the folder “{folder}”. Choose a folder with a model's config.json and weights."
            raise UserError("no_checkpoint_folder", template, folder=str(folder))
        for file in (*folder.iterdir(), *(folder / _TEMPLATES).glob("*")):
            if is_wanted(file.name) and file.exists() and not file.is_dir():
                _check_readable(file)
        config = json.loads(read_bounded(path, LARGEST_CONFIG))
        if isinstance(config, dict):
            return config
    except FileNotFoundError:
        template = "“{folder}” has no config.json, so it isn't a complete model. Choose another folder."
        raise UserError("no_config", template, folder=str(folder)) from None
    except OSError as error:
        raise cannot_read(path, error) from None
    except (ValueError, RecursionError):
        pass
    raise UserError("invalid_config", "“{path}” isn't a valid model config. Download the model again.", path=str(path))


def _check_readable(file: Path) -> None:
    if not file.is_file():
        raise not_regular_file(file)
    is_small = file.name in _SETTINGS or file.parent.name == _TEMPLATES
    size, largest = file.stat().st_size, LARGEST_SETTINGS if is_small else _LARGEST_VOCABULARY
    if size > largest and file.suffix != ".safetensors":
        template = "“{path}” is too large ({size:,.0f} MB, limit {limit:,.0f} MB). Download the model again, or choose another one."
        raise UserError("model_file_too_large", template, path=str(file), size=size / 1e6, limit=largest / 1e6)


def recommended_sampling(folder: Path) -> Sampling:
    """Return the sampling that the target's authors recommend, or greedy sampling."""
    try:
        data = json.loads(read_bounded(folder / "generation_config.json", LARGEST_CONFIG))
    except (OSError, UserError, ValueError, RecursionError):
        return Sampling()
    if not isinstance(data, dict) or data.get("do_sample") is not True:
        return Sampling()
    values = {"temperature": 1.0}  # the default of transformers
    for name, (low, high) in _SAMPLING.items():
        value = data.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
            values[name] = float(value)
    top_k = data.get("top_k")
    return Sampling(**values, top_k=top_k if type(top_k) is int and top_k > 0 else 0)


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of a checkpoint, after checking their headers.

    Raises:
        UserError: a file is missing or damaged, or MLX can't read a tensor.
    """
    files = weight_paths(folder)
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        try:
            named = set(json.loads(read_bounded(index, LARGEST_INDEX))["weight_map"].values())
            if not all(isinstance(name, str) and name.isprintable() for name in named):
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise damaged_weights(str(index)) from None
    else:
        named = _numbered(files)
    if missing := sorted(named - {file.name for file in files}):
        template = "“{folder}” is missing weight files, such as {file}. Existing files are kept. Download the model again."
        raise UserError("weights_missing", template, folder=str(folder), file=missing[0])
    if not files:
        template = "“{folder}” has no weights (model*.safetensors). Download the model again, or choose another folder."
        raise UserError("no_weights", template, folder=str(folder))
    for file in files:
        check_safetensors(file, str(file))
        with safe_open(file, framework="np") as tensors:
            formats = {name: tensors.get_slice(name).get_dtype() for name in tensors.keys()}  # noqa: SIM118
        if unknown := next((name for name in formats if formats[name] not in _FORMATS), None):
            template = "MLX can't read “{tensor}” in “{file}”, which is stored as {format}. Choose another model."
            raise UserError("weights_format_unknown", template, tensor=unknown, file=str(file), format=formats[unknown])
    return files


def _numbered(files: list[Path]) -> set[str]:
    """Return the names of all shards that the names of some shards count."""
    found = {(match[1], match[3]) for file in files if (match := _SHARD.fullmatch(file.name))}
    return {f"{name}-{number:05}-of-{count}.safetensors" for name, count in found for number in range(1, int(count) + 1)}


def weight_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in weight_paths(folder))


def weight_paths(folder: Path) -> list[Path]:
    """Return the safetensors files of a model and its separate MTP head."""
    return sorted(file for file in folder.glob("m*.safetensors") if is_wanted(file.name))


def weights_checksum(folder: Path) -> str:
    """Return 64 hexadecimal digits that identify a checkpoint's weights.

    Large files aren't read whole: their size and samples are hashed.

    Raises:
        UserError: a file can't be read.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.glob("model*.safetensors")):
        try:
            size = path.stat().st_size
            digest.update(repr((path.name, size)).encode())
            with open_regular(path) as file:
                for at in range(_SAMPLES):
                    file.seek(at * max(size - _SAMPLE, 0) // (_SAMPLES - 1))
                    digest.update(file.read(_SAMPLE))
        except OSError as error:
            raise cannot_read(path, error) from None
    return digest.hexdigest()


def check_safetensors(file: Path, name: str) -> None:
    """Check that a safetensors file has all the data that its header describes."""
    try:
        open_regular(file).close()
        with safe_open(file, framework="np"):
            pass
    except OSError as error:
        raise cannot_read(file, error) from None
    except SafetensorError:
        raise damaged_weights(name) from None


def damaged_weights(name: str) -> UserError:
    return UserError("damaged_weights", "“{name}” is damaged or incomplete. Download the model again.", name=name)
