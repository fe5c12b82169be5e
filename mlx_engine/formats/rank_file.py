"""Build a tokenizer from a file of ranks, the format of the tiktoken package.

Kimi's repos have such a file (tiktoken.model) and Python code that reads it. The code is never run: ranks, pattern and special
tokens are facts of the format. The code also divides texts with 25,000 characters between two spaces, to protect tiktoken from
them; here they are one piece.
"""

import base64
import json
from heapq import heapify, heappop, heappush
from pathlib import Path
from shutil import copyfile
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers.convert_slow_tokenizer import bytes_to_unicode

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import read_bounded
from mlx_engine.models.files.chat_template import SETTINGS_FILE, TEMPLATE_FILE, read_object
from mlx_engine.models.files.loadable import RANK_FILE

_LARGEST = 16_000_000  # bytes; Kimi's file has 2.8 million
_LONGEST_TOKEN = 1000  # bytes; published ones have up to about 128
_LONGEST_SPECIAL = 1000  # characters
_RESERVED = 256  # special tokens, which follow the ranks
_NOT_HAN = r"&&[^\p{Han}]"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = (rf"[{case}\p{{Lm}}\p{{Lo}}\p{{M}}{_NOT_HAN}]" for case in (r"\p{Lu}\p{Lt}", r"\p{Ll}"))
# How Kimi K2 and its successors divide a text before they merge bytes
_PATTERN = "|".join(
    (
        r"[\p{Han}]+",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
_NAMED = ("bos_token", "eos_token", "unk_token", "pad_token")
_KEPT = ("chat_template", "chat_template_type", "tool_parser_type", "model_max_length")


def write_fast_tokenizer(folder: Path, place: Path) -> None:
    """Write the tokenizer of a folder with ranks as tokenizer.json.

    Settings and template come along.

    Args:
        folder: the model's folder.
        place: an empty folder for the files.

    Raises:
        UserError: the ranks or special tokens are damaged.
    """
    settings = read_object(folder / SETTINGS_FILE) if (folder / SETTINGS_FILE).is_file() else {}
    ranks = _read_ranks(folder)
    special = _special_tokens(folder, settings, len(ranks))
    tokenizer = _byte_level(ranks)
    tokenizer.add_tokens([AddedToken(text, normalized=False, special=hidden) for text, hidden in special])
    for number, (text, _) in enumerate(special, len(ranks)):
        if tokenizer.token_to_id(text) != number:
            shown = (text if text.isprintable() else ascii(text))[:40]
            template = "names “{text}”, which is a token already"
            raise _damaged(folder, SETTINGS_FILE, EngineText.of("special_token_twice", template, text=shown))
    tokenizer.save(str(place / "tokenizer.json"), pretty=False)
    kept: dict[str, Any] = {name: settings[name] for name in _KEPT if name in settings}
    texts = {text for text, _ in special}
    named = {name: text for name in _NAMED if (text := _text_of(settings.get(name))) in texts}  # others would be added
    own = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    (place / SETTINGS_FILE).write_text(json.dumps(kept | named | own))
    if (folder / TEMPLATE_FILE).is_file():
        copyfile(folder / TEMPLATE_FILE, place / TEMPLATE_FILE)


def _read_ranks(folder: Path) -> list[bytes]:
    """Return the tokens of tiktoken.model in the order of their ranks."""
    try:
        lines = read_bounded(folder / RANK_FILE, _LARGEST).split(b"\n")
    except ValueError:
        template = "has more than {most:,} bytes"
        raise _damaged(folder, RANK_FILE, EngineText.of("rank_file_too_large", template, most=_LARGEST)) from None
    found: dict[int, bytes] = {}
    for number, line in enumerate(lines, 1):
        if not (line := line.rstrip(b"\r")):
            continue
        try:
            text, rank = line.split(b" ")
            token = base64.b64decode(text, validate=True)
            if not (rank.isdigit() and len(rank) < 9 and int(rank) not in found and 0 < len(token) <= _LONGEST_TOKEN):
                raise ValueError
        except ValueError:
            template = "has no valid token and rank in line {line}"
            raise _damaged(folder, RANK_FILE, EngineText.of("rank_line_invalid", template, line=number)) from None
        found[int(rank)] = token
    tokens = [found[rank] for rank in range(len(found)) if rank in found]
    if len(tokens) < len(found) or len({*tokens}) < len(tokens) or not {bytes([byte]) for byte in range(256)} <= {*tokens}:
        raise _damaged(folder, RANK_FILE, EngineText.of("rank_file_incomplete", "lacks or repeats tokens"))
    return tokens


def _special_tokens(folder: Path, settings: dict[str, Any], first: int) -> list[tuple[str, bool]]:
    """Return the special tokens that follow the ranks, and whether each is hidden.

    Those without a name in tokenizer_config.json are reserved.
    """
    special = [(f"<|reserved_token_{number}|>", True) for number in range(first, first + _RESERVED)]
    named = settings.get("added_tokens_decoder", {})
    for key, token in named.items() if isinstance(named, dict) else ():
        text = _text_of(token) if isinstance(token, dict) else ""
        at = int(key) - first if key.isascii() and key.isdigit() and len(key) < 9 else -1
        if not 0 < len(text) <= _LONGEST_SPECIAL or not 0 <= at < _RESERVED:
            template = "names an invalid special token ({number})"
            fault = EngineText.of("special_token_invalid", template, number=ascii(key)[1:-1][:20])
            raise _damaged(folder, SETTINGS_FILE, fault)
        special[at] = (text, token.get("special") is not False)
    return special


def _text_of(token: Any) -> str:
    """Return the text of a special token in tokenizer_config.json, or ""."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else ""


def _damaged(folder: Path, file: str, fault: EngineText) -> UserError:
    return UserError(
        "rank_file_damaged",
        "Can't read the tokenizer of “{name}”: {file} {fault}. Download the model again, or choose another one.",
        name=folder.name,
        file=file,
        fault=fault,
    )


def _byte_level(tokens: list[bytes]) -> Tokenizer:
    """Return a tokenizer that divides texts by Kimi's pattern and merges by rank."""
    letters = bytes_to_unicode()
    texts = ["".join(map(letters.__getitem__, token)) for token in tokens]
    ranks = {token: rank for rank, token in enumerate(tokens)}
    merges = []
    for token in tokens:
        if len(token) > 1 and (cut := _last_cut(token, ranks)):
            merges.append((texts[ranks[token[:cut]]], texts[ranks[token[cut:]]]))
    vocabulary = {text: rank for rank, text in enumerate(texts)}
    # tiktoken looks up the whole piece before it merges
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _last_cut(token: bytes, ranks: dict[bytes, int]) -> int:
    """Return where the last two parts of a token meet, or 0 if they never do.

    tiktoken merges the adjacent parts whose union has the lowest rank, the first of several. No merge crosses the ends of a token
    that arises, so inside it, merges are those of the token alone. So each token arises from one pair only, in any text.
    """
    if len(token) == 2:
        return 1
    ends = [*range(1, len(token) + 1)]  # by start of a part; 0 if it is merged with the part before
    starts = [*range(-1, len(token) - 1)]  # of the part before, by start of a part

    def candidate(start: int) -> tuple[int, int, int] | None:
        """Return rank, start and end of the union of a part and the next one."""
        middle = ends[start]
        if middle == len(token):
            return None
        end = ends[middle]
        rank = ranks.get(token[start:end])
        return None if rank is None else (rank, start, end)

    heap = [found for start in range(len(token) - 1) if (found := candidate(start))]
    heapify(heap)
    parts = len(token)
    while heap and parts > 2:
        _, start, end = heappop(heap)
        middle = ends[start]
        if not middle or middle == len(token) or ends[middle] != end:
            continue  # one of the parts has been merged
        ends[middle], ends[start] = 0, end
        if end < len(token):
            starts[end] = start
        parts -= 1
        for at in (start, starts[start]):
            if at >= 0 and (found := candidate(at)):
                heappush(heap, found)
    return ends[0] if parts == 2 else 0
