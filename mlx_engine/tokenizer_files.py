"""Read the tokenizer of a model's folder, whose rules come from the hub."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import load_tokenizer

from mlx_engine import chat
from mlx_engine.errors import UserError
from mlx_engine.pairs.checkpoint import LARGEST_SETTINGS
from mlx_engine.pairs.data_files import read_bounded

_NAMES = ("tokenizer.json", "tokenizer.model", "tiktoken.model", "vocab.json")
_LARGEST_GROWTH = 16  # characters that a tokenizer may turn one into; published ones reach 3


def has_tokenizer(folder: Path) -> bool:
    return any((folder / name).is_file() for name in _NAMES)


def tokenizer_code(folder: Path) -> str:
    """Return the Python class in the model's folder that its tokenizer needs, or ""."""
    if any((folder / name).is_file() for name in _NAMES if name != "tiktoken.model"):
        return ""
    try:
        own = json.loads(read_bounded(folder / "tokenizer_config.json", LARGEST_SETTINGS))["auto_map"]["AutoTokenizer"]
    except (OSError, UserError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return str(own[0] if isinstance(own, list) and own else own)


def read_tokenizer(folder: Path, config: dict) -> TokenizerWrapper:
    """Read a tokenizer, and run it once, because a damaged one may fail only then.

    Raises:
        ValueError: it makes texts much longer, so the tokenizers library could exhaust the memory and end the process.
    """
    with suppress(FileNotFoundError):
        rules = json.loads((folder / "tokenizer.json").read_bytes())
        for part in ("normalizer", "decoder"):
            if _growth(_steps(rules.get(part))) > _LARGEST_GROWTH:
                raise ValueError(f"The {part} makes texts much longer.")
    tokenizer = load_tokenizer(folder, {"trust_remote_code": False}, eos_token_ids=_end_tokens(config))
    tokenizer.decode(tokenizer.encode("a"))
    chat.can_think(tokenizer)  # looks up tokens
    return tokenizer


def _steps(part: Any) -> list[dict]:
    """Return the steps of a normalizer or decoder in tokenizer.json, in order."""
    if not isinstance(part, dict):
        return []
    inner = [*(part.get("normalizers") or ()), *(part.get("decoders") or ())]
    return [part] if part.get("type") != "Sequence" else [step for one in inner for step in _steps(one)]


def _growth(steps: list[dict]) -> int:
    """Return how many characters one character can become, at most.

    Regular expressions count as if they matched every character.
    """
    replacements = [step for step in steps if step.get("type") == "Replace"]
    texts = [step["content"] for step in replacements]
    most = max((len(text) for text in texts), default=1)
    for at, text in enumerate(texts):
        for later, content in zip(replacements[at + 1 :], texts[at + 1 :], strict=True):
            if most > _LARGEST_GROWTH:
                return most
            pattern = later["pattern"].get("String")
            text = text.replace(pattern, content) if pattern else content * len(text) if content else text
            most = max(most, len(text))
    return most


def _end_tokens(config: dict) -> list[int] | None:
    """Return the end tokens of a config merged with generation_config.json, or None."""
    found = config.get("eos_token_id")
    tokens = [token for token in (found if isinstance(found, list) else [found]) if type(token) is int and token >= 0]
    return tokens or None
