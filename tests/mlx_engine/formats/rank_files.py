"""Made-up tiktoken files in the layout of Kimi's repos, their reference in the tiktoken package, and texts in 30 scripts."""

import base64
import json
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import tiktoken
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers.convert_slow_tokenizer import bytes_to_unicode

SCRIPTS = (
    "LATIN GREEK CYRILLIC ARMENIAN HEBREW ARABIC SYRIAC THAANA DEVANAGARI BENGALI GURMUKHI GUJARATI ORIYA TAMIL TELUGU KANNADA "
    "MALAYALAM SINHALA THAI LAO TIBETAN MYANMAR GEORGIAN HANGUL ETHIOPIC CHEROKEE KHMER MONGOLIAN HIRAGANA KATAKANA CJK"
).split()
# The published pattern of Kimi K2, as it is written there
PATTERN = "|".join(
    [
        r"""[\p{Han}]+""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    ]
)
# By distance from the first special token, as in Kimi K2.5
SPECIAL = {
    **{0: "[BOS]", 1: "[EOS]", 2: "<|im_end|>", 3: "<|im_user|>", 4: "<|im_assistant|>", 10: "<|im_system|>"},
    **{11: "<|tool_calls_section_begin|>", 12: "<|tool_calls_section_end|>", 13: "<|tool_call_begin|>"},
    **{14: "<|tool_call_argument_begin|>", 15: "<|tool_call_end|>", 17: "<|im_middle|>", 22: "<think>", 23: "</think>"},
    **{254: "[UNK]", 255: "[PAD]"},
}
SHOWN = (11, 12, 13, 14, 15, 22, 23)  # tokens that aren't hidden from texts
RESERVED = 256
TEMPLATE = """\
{%- macro turn(role, name) -%}<|im_{{ role }}|>{{ name }}<|im_middle|>{%- endmacro -%}
{%- if tools -%}{{ turn('system', 'tool_declare') }}{{ tools_ts_str or (tools | tojson) }}<|im_end|>{%- endif -%}
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
{{ turn('assistant', 'assistant') }}<think>{{ message.reasoning_content or '' }}</think>{{ message.content }}
{%- if message.tool_calls -%}<|tool_calls_section_begin|>
{%- for call in message.tool_calls -%}
<|tool_call_begin|>{{ call.id }}<|tool_call_argument_begin|>{{ call.function.arguments | tojson }}<|tool_call_end|>
{%- endfor -%}<|tool_calls_section_end|>{%- endif -%}
{%- elif message.role == 'tool' -%}
{{ turn('system', message.name) }}## Return of {{ message.tool_call_id }}\n{{ message.content }}
{%- else -%}{{ turn(message.role, message.role) }}{{ message.content }}{%- endif -%}
<|im_end|>
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ turn('assistant', 'assistant') }}<think>{%- if thinking is defined and thinking is false -%}</think>{%- endif -%}
{%- endif -%}"""

_MARKS = (
    *(" ", " ", " ", "  ", "   ", "\n", "\n\n", " \n ", "\r\n", "\t", "\u00a0", "\u0085", "\u2028", "\u200b", "\u3000 ", "\ufeff"),
    *(".", ", ", "!?", "...\n", "—", "«", "»", " (", ") ", "/", "::", " $", "%", "_", "'", "''", "\u2019s", "\0", "\x7f", "\ufffd"),
    *("'s", "'S ", "'t", "'re", "'VE", "'m", "'ll", "'Ll ", "'d", "'x", "'\u017f", "I'm", " don't", "we'll've"),
    *("1", "12", "123", "1234", " 1234567", "3.14", "\u0661\u0662\u0663\u0664", "\u2167", "\u00bd", "\U0001d7d8", "1a2", "\u3007"),
    *("e\u0301", "\u0301", " \u0301\u0302", "a\u0300\u0301\u0302", "\u0d4d", "\ufe0f", "\u20dd"),
    *("😀", "👩\u200d🚀", "🇩🇪🇫🇷", "1\ufe0f\u20e3", "👍🏽👍🏿", "❤\ufe0f", "\U000e0041", "\U0010ffff", "\U000f0000", "\uffff"),
    *("汉字", "漢a", "a漢", " 漢", "漢's", "々〆", "\U00020000\U0002a6df", "日本語です", "ＡＢｃ", "ǅǆ", "ßẞ", "ﬁ", "İı", "ΣΣς"),
    *("<|im_end|>", "<|im_user|>user<|im_middle|>", "<think>", "</think>", "<|im_end", "<|reserved_token_1|>", "[BOS]", "[EO"),
)


@cache
def letters(script: str) -> list[str]:
    """Letters, marks and digits of a script."""
    return [
        character
        for character in map(chr, range(0x20, 0x1FFFF))
        if unicodedata.name(character, "").startswith(script) and unicodedata.category(character)[0] in "LMN"
    ]


def texts(count: int, seed: int) -> Iterator[str]:
    """Texts of one to three scripts each, with everything between words that the pattern distinguishes."""
    random = Random(seed)
    for at in range(count):
        scripts = [SCRIPTS[at % len(SCRIPTS)], *random.sample(SCRIPTS, random.choice((0, 0, 1, 2)))]
        parts = list[str]()
        for _ in range(random.randint(1, 25)):
            word = "".join(random.choices(letters(random.choice(scripts)), k=random.randint(1, 8)))
            parts.append(random.choice((word, word, word.title(), word.upper(), word.lower())))
            parts.append("".join(random.choices(_MARKS, k=random.choice((0, 1, 1, 1, 2, 4)))))
        yield "".join(parts)


@cache
def trained_ranks(size: int = 3000) -> tuple[bytes, ...]:
    """Tokens of an ordinary vocabulary: those that merging pairs by frequency makes of the texts."""
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(PATTERN), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False, min_frequency=2)
    common = (text for text in texts(600, seed=99))
    english = ["I don't know what they're doing, but we'll see 2024 times.\n\n  It's THE SAME for everyone else's.\n"] * 20
    tokenizer.train_from_iterator([*common, *english], trainer)
    byte_of = {letter: byte for byte, letter in bytes_to_unicode().items()}
    ids = sorted((number, text) for text, number in tokenizer.get_vocab().items())
    return tuple(bytes(byte_of[letter] for letter in text) for _, text in ids)


def reference(ranks: tuple[bytes, ...]) -> tiktoken.Encoding:
    special = {f"<|reserved_token_{number}|>": number for number in range(len(ranks), len(ranks) + RESERVED)}
    special = {SPECIAL.get(number - len(ranks), text): number for text, number in special.items()}
    ranked = {token: rank for rank, token in enumerate(ranks)}
    return tiktoken.Encoding(name="made", pat_str=PATTERN, mergeable_ranks=ranked, special_tokens=special)


def write_kimi(folder: Path, ranks: tuple[bytes, ...]) -> Path:
    """Write the tokenizer's files of a Kimi repo."""
    lines = (base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(ranks))
    (folder / "tiktoken.model").write_bytes(b"".join(lines))
    named = {
        str(len(ranks) + at): {"content": text, "lstrip": False, "normalized": False, "special": at not in SHOWN}
        for at, text in SPECIAL.items()
    }
    settings = {
        "added_tokens_decoder": named,
        "auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]},
        "bos_token": "[BOS]",
        "eos_token": "[EOS]",
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "tokenizer_class": "TikTokenTokenizer",
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder
