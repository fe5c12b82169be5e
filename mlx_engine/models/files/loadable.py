"""Checks of a target's and a drafter's folders before anything large is read."""

import json
from pathlib import Path

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import read_bounded
from mlx_engine.models.configs.families import why_not_runnable
from mlx_engine.models.configs.target_config import dflash_problem, pair_problem, target_problem
from mlx_engine.models.files.checkpoint import LARGEST_SETTINGS, read_config, weight_files

TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "tiktoken.model", "vocab.json")


def check_loadable(target: Path, drafter: Path | None) -> None:
    """Refuse a pair that can't run, before anything large is read.

    Raises:
        UserError: files are missing or cut short, or target and drafter don't fit together.
    """
    config = read_config(target)
    if problem := target_problem(config) or why_not_runnable(config):
        raise UserError.of(problem)
    weight_files(target)
    if not any((target / name).is_file() for name in TOKENIZER_FILES):
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


def _tokenizer_code(folder: Path) -> str:
    """Return the Python class in the model's folder that its tokenizer needs, or ""."""
    if any((folder / name).is_file() for name in TOKENIZER_FILES if name != "tiktoken.model"):
        return ""
    try:
        own = json.loads(read_bounded(folder / "tokenizer_config.json", LARGEST_SETTINGS))["auto_map"]["AutoTokenizer"]
    except (OSError, UserError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return str(own[0] if isinstance(own, list) and own else own)
