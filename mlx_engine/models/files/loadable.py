"""Checks of a target's and a drafter's folders before anything large is read."""

from pathlib import Path

from mlx_engine.contract.errors import UserError
from mlx_engine.models.configs.families import why_not_runnable
from mlx_engine.models.configs.target_config import dflash_problem, pair_problem, target_problem
from mlx_engine.models.files.chat_template import SETTINGS_FILE, read_object
from mlx_engine.models.files.checkpoint import read_config, weight_files

RANK_FILE = "tiktoken.model"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", RANK_FILE, "vocab.json")
_KNOWN_CODE = "tokenization_kimi.TikTokenTokenizer"  # what it does with the ranks is known


def check_loadable(target: Path, drafter: Path | None) -> None:
    """Refuse a pair that can't run, before anything large is read.

    Raises:
        UserError: files are missing or cut short, or target and drafter don't fit together.
    """
    if not target.is_dir():
        template = "Can't find the folder “{folder}”. If another app deleted the model, choose another one, or download it."
        raise UserError("model_gone", template, folder=str(target))
    config = read_config(target)
    if problem := target_problem(config) or why_not_runnable(config):
        raise UserError.of(problem)
    weight_files(target)
    if not has_tokenizer(target):
        raise UserError(
            "no_tokenizer", "The model in “{folder}” has no tokenizer (tokenizer.json). Download it again.", folder=str(target)
        )
    if code := _tokenizer_code(target):
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


def has_tokenizer(folder: Path) -> bool:
    return any((folder / name).is_file() for name in TOKENIZER_FILES)


def has_known_ranks(folder: Path) -> bool:
    """Return whether a folder's tokenizer is a file of ranks in Kimi's format."""
    return (folder / RANK_FILE).is_file() and not _has_rules(folder) and is_known_code(_settings_code(folder))


def is_known_code(code: str) -> bool:
    """Return whether Slipstream can do what a tokenizer's Python class does."""
    return code.rpartition("--")[2] == _KNOWN_CODE  # other repos name the one with the code first


def tokenizer_class(settings: dict) -> str:
    """Return the Python class that tokenizer_config.json names, or ""."""
    try:
        own = settings["auto_map"]["AutoTokenizer"]
    except (KeyError, TypeError):
        return ""
    return str(own[0] if isinstance(own, list) and own else own)


def _tokenizer_code(folder: Path) -> str:
    """Return the Python class in the model's folder that its tokenizer needs, or ""."""
    return "" if _has_rules(folder) or has_known_ranks(folder) else _settings_code(folder)


def _has_rules(folder: Path) -> bool:
    return any((folder / name).is_file() for name in TOKENIZER_FILES if name != RANK_FILE)


def _settings_code(folder: Path) -> str:
    try:
        return tokenizer_class(read_object(folder / SETTINGS_FILE))
    except (OSError, UserError, ValueError, RecursionError):
        return ""
