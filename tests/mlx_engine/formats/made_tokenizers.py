"""Byte-level tokenizers for tests, with the markers of each family: a character can be split anywhere."""

import functools
import importlib

from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, TokenizerWrapper, _infer_tool_parser
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

CHATML = """\
{%- for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"""
QWEN3 = CHATML + "{% if not enable_thinking %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{% endif %}"
OPENS_THINKING = CHATML + "{{ '<think>\\n' }}{% endif %}"
DEEPSEEK = CHATML + "{{ '<think>' if thinking else '</think>' }}{% endif %}"
HARMONY = """\
{{- '<|start|>system<|message|>Reasoning: ' + (reasoning_effort or 'medium') + '<|end|>' }}
{%- for message in messages %}{{ '<|start|>' + message['role'] + '<|message|>' + message['content'] + '<|end|>' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}"""
GEMMA = """\
{%- if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{%- for message in messages %}
{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{- raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}
{{- '<start_of_turn>' + message['role'] + '\\n' + message['content'] + '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"""

# Writes what Qwen3's published template writes: thinking is kept after the last message of the user.
QWEN3_TOOLS = """\
{%- if tools %}
{{- '<|im_start|>system\\n' }}{% if messages[0].role == 'system' %}{{ messages[0].content + '\\n\\n' }}{% endif %}
{{- '# Tools\\n\\nYou may call these functions:\\n<tools>' }}{% for tool in tools %}{{ '\\n' }}{{ tool | tojson }}{% endfor %}
{{- '\\n</tools>\\n\\nCall a function with JSON in <tool_call></tool_call>.<|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}{{ '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}{% endif %}
{%- set last = namespace(user=0) %}
{%- for message in messages %}{% if message.role == 'user' %}{% set last.user = loop.index0 %}{% endif %}{% endfor %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- elif message.role == 'assistant' %}
{{- '<|im_start|>assistant\\n' }}
{%- set thinking = message.reasoning_content or '' %}
{%- if loop.index0 > last.user and (loop.last or thinking) %}
{{- '<think>\\n' + thinking.strip('\\n') + '\\n</think>\\n\\n' + message.content.lstrip('\\n') }}
{%- else %}{{ message.content }}{% endif %}
{%- for tool_call in message.tool_calls or [] %}{% set tool_call = tool_call.function %}
{{- '\\n' if message.content or not loop.first }}
{{- '<tool_call>\\n{"name": "' + tool_call.name + '", "arguments": ' }}{{ tool_call.arguments | tojson }}{{ '}\\n</tool_call>' }}
{%- endfor %}{{ '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user' if messages[loop.index0 - 1].role != 'tool' }}
{{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
{{- '<|im_end|>\\n' if loop.last or messages[loop.index0 + 1].role != 'tool' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}
{%- if not enable_thinking %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{% endif %}"""

MARKERS = {
    "think": ["<think>", "</think>"],
    "harmony": ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"],
    "gemma4": ["<|channel>", "<channel|>"],
    "muse": ["<|start|>", "<|message|>", "<|eom|>", "<|eot|>"],
    "magistral": ["[THINK]", "[/THINK]"],
    "none": [],
    "tool_call": ["<think>", "</think>", "<tool_call>", "</tool_call>"],
    "gemma4_calls": ["<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", '<|"|>'],
    "minimax_calls": ["<think>", "</think>", "<minimax:tool_call>", "</minimax:tool_call>"],
    "kimi_calls": [
        f"<|tool_{part}|>" for part in ("calls_section_begin", "calls_section_end", "call_begin", "call_argument_begin", "call_end")
    ],
    "llama_calls": ["<|python_tag|>"],
    "mistral_calls": ["[TOOL_CALLS]", "[ARGS]"],
}
SPECIAL = {"gemma4_calls", "kimi_calls", "llama_calls"}  # whose markers are special tokens


@functools.cache
def made(markers: str = "think", template: str = "") -> TokenizerWrapper:
    """A byte-level tokenizer with one family's markers. Byte b is token b, `<|im_end|>` and `<|return|>` end a reply."""
    # the printable character of each byte, as in every byte-level vocabulary
    letters = sorted(pre_tokenizers.ByteLevel.alphabet(), key=lambda letter: (ord(letter) >= 256, ord(letter)))
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    order = [*shown, *(byte for byte in range(256) if byte not in shown)]
    vocabulary = {letter: byte for letter, byte in zip(letters, order, strict=True)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    turns = ["<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>"]
    tokenizer.add_tokens([AddedToken(text, special=True, normalized=False) for text in turns])
    tokenizer.add_tokens([AddedToken(text, special=markers in SPECIAL, normalized=False) for text in MARKERS[markers]])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", clean_up_tokenization_spaces=False)
    fast.chat_template = template or None
    ends = {fast.convert_tokens_to_ids(text) for text in ("<|im_end|>", "<end_of_turn>")}
    if markers == "harmony":
        ends |= {fast.convert_tokens_to_ids("<|return|>"), fast.convert_tokens_to_ids("<|call|>")}
    parser = fast.init_kwargs["tool_parser_type"] = _infer_tool_parser(fast)
    module = importlib.import_module(f"mlx_lm.tool_parsers.{parser}") if parser else None
    return TokenizerWrapper(
        fast,
        BPEStreamingDetokenizer,
        eos_token_ids=sorted(ends),
        tool_call_start=module and module.tool_call_start,
        tool_call_end=module and module.tool_call_end,
        tool_parser=module and module.parse_tool_call,
    )


def ids(tokenizer: TokenizerWrapper, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))
