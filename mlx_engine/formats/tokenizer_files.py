"""Read the tokenizer in a model's folder, and check its untrusted rules."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import load_tokenizer

from mlx_engine.formats import chat_prompt
from mlx_engine.formats.rank_file import write_fast_tokenizer
from mlx_engine.models.files.chat_template import processor_template
from mlx_engine.models.files.loadable import has_known_ranks

_PARTS = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders", "post_processor": "processors"}
_LARGEST_GROWTH = 40  # characters that a tokenizer may turn one into; published ones reach 18, by NFKC or its like
_MOST_ADDED_TOKENS = 1000  # by the post-processor; published ones add one or two
_LONGEST_TOKEN = 10_000  # characters; published ones have a few hundred
# How many characters one can become. Texts in NFKC are longest: U+FDFA is a sentence
_FORMS = {"NFC": 3, "NFD": 4, "NFKC": 18, "NFKD": 18, "Lowercase": 2, "StripAccents": 1}
_FACTORS = {"BertNormalizer": 3, "ByteLevel": 4, "WordPiece": 2}
_may_match_nothing = re.compile(r"[?*|^$]|\(\)|\{[0,]|\\[bBAZzGKyYgk\d]")  # errs on the side of caution


def read_tokenizer(folder: Path, config: dict) -> TokenizerWrapper:
    """Read a tokenizer and run it once: a damaged one may fail only when used.

    Raises:
        ValueError: the tokenizer makes texts much longer, so the tokenizers library could exhaust the memory and end the process.
        UserError: a file of ranks is damaged.
    """
    own = processor_template(folder)  # transformers doesn't read it for text
    options = {"trust_remote_code": False} | ({"chat_template": own} if own else {})
    if not has_known_ranks(folder):
        return _read(folder, config, options)
    with TemporaryDirectory() as place:
        write_fast_tokenizer(folder, Path(place))
        return _read(Path(place), config, options)


def _read(folder: Path, config: dict, options: dict) -> TokenizerWrapper:
    with suppress(FileNotFoundError):
        _check_growth(json.loads((folder / "tokenizer.json").read_bytes()))  # reading it normalizes its added tokens
    tokenizer = load_tokenizer(folder, options, eos_token_ids=_end_tokens(config))
    if (rules := getattr(tokenizer, "backend_tokenizer", None)) is not None:  # converted from tokenizer.model, for example
        _check_growth({name: json.loads(part.__getstate__()) for name in _PARTS if (part := getattr(rules, name)) is not None})
    if max(map(len, tokenizer.get_vocab()), default=0) > _LONGEST_TOKEN:
        raise ValueError("A token is too long.")
    tokenizer.decode(tokenizer.encode("a"))
    chat_prompt.can_think(tokenizer)  # looks up tokens
    return tokenizer


def _check_growth(rules: dict) -> None:
    for name, inner in _PARTS.items():
        steps = [*_steps(rules.get(name), inner)]
        if _growth(steps) > _LARGEST_GROWTH or sum(map(_added_tokens, steps)) > _MOST_ADDED_TOKENS:
            raise ValueError(f"The {name} makes texts much longer.")


def _steps(part: Any, inner: str) -> Iterator[dict]:
    """Yield the steps of a part of tokenizer.json, with those of nested sequences."""
    if isinstance(part, dict):
        if part.get("type") == "Sequence":
            for one in part[inner]:
                yield from _steps(one, inner)
        else:
            yield part


def _growth(steps: list[dict]) -> float:
    """Return an upper bound for the number of characters that one character becomes."""
    growth, form = 1.0, 1
    for step in steps:
        kind = step.get("type")
        if kind in _FORMS:  # the next form adds little, unless a step between them writes other characters
            growth *= max(_FORMS[kind] / form, 1)
            form = max(_FORMS[kind], form)
            continue
        factor: float = _FACTORS.get(str(kind), 1)
        if kind == "Replace":
            text, regex, size = step["pattern"].get("String"), step["pattern"].get("Regex"), len(step["content"])
            matches = bool(text or (regex and not _may_match_nothing.search(regex)))  # at least one character
            factor = size / len(text or "x") if matches else 2 * size + 1
        elif kind == "Prepend":
            factor = len(step["prepend"])
        elif kind == "Precompiled":
            charsmap = base64.b64decode(step["precompiled_charsmap"])  # the length of a trie, the trie, and what it refers to
            texts = charsmap[4 + int.from_bytes(charsmap[:4], "little") :].split(b"\0")
            factor = max(len(text.decode(errors="replace")) for text in texts)
        growth *= max(factor, 1)
        form = 1
    return growth


def _added_tokens(step: dict) -> int:
    """Return how many tokens a step of the post-processor adds to each text."""
    if step.get("type") != "TemplateProcessing":
        return 0
    pieces = [piece["SpecialToken"]["id"] for piece in step["single"] if "SpecialToken" in piece]
    return sum(len(step["special_tokens"][name]["ids"]) for name in pieces)


def _end_tokens(config: dict) -> list[int] | None:
    """Return the end tokens of a config merged with generation_config.json, or None."""
    found = config.get("eos_token_id")
    tokens = [token for token in (found if isinstance(found, list) else [found]) if type(token) is int and token >= 0]
    return tokens or None
