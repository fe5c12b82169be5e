"""A word-level tokenizer for tiny targets, with a chat template that drops earlier thinking, as published ones do."""

from mlx_lm.tokenizer_utils import TokenizerWrapper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

MARKS = ("<unk>", "<system>", "<user>", "<assistant>", "<end>", "<think>", "</think>")
WORDS = tuple(f"w{i}" for i in range(112))

_TEMPLATE = """
{%- for message in messages %} <{{ message['role'] }}>
{%- if message['role'] == 'assistant' and loop.last and not enable_thinking %} <think> </think>{% endif %}
{#- #} {{ message['content'] }} <end>
{%- endfor %}
{%- if add_generation_prompt %} <assistant>
{%- if enable_thinking %} <think>{% else %} <think> </think>{% endif %}
{%- endif %}"""


def tokenizer() -> TokenizerWrapper:
    """Return a tokenizer with ids below 120, for targets of at least 124 tokens."""
    words = Tokenizer(WordLevel({word: i for i, word in enumerate(MARKS + WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = WhitespaceSplit()
    made = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", eos_token="<end>")
    made.chat_template = _TEMPLATE
    return TokenizerWrapper(made)
