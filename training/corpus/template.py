"""The chat template, ChatML with Qwen3's thinking switch, and the same in Python for generating the corpus.

With `enable_thinking` the reply opens its own think block. Without it (the default) the prompt closes an empty one, as in Qwen3.
Earlier replies are rendered without either, so that two renderings of a conversation agree up to its last reply.
"""

from __future__ import annotations

Message = dict[str, str]

CHAT_TEMPLATE = """\
{%- for message in messages %}
{%- set content = message['content'] or '' %}
{%- if message['role'] == 'assistant' and not loop.last and '</think>' in content %}
{%- set content = content.split('</think>')[-1].lstrip('\\n') %}
{%- endif %}
{%- if message['role'] == 'assistant' and loop.last and '</think>' not in content and not enable_thinking %}
{%- set content = '<think>\\n\\n</think>\\n\\n' + content %}
{%- endif %}
{{- '<|im_start|>' + message['role'] + '\\n' + content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- if not enable_thinking %}
{{- '<think>\\n\\n</think>\\n\\n' }}
{%- endif %}
{%- endif %}"""


def without_thinking(content: str) -> str:
    """Return what later turns see of a reply."""
    return content.split("</think>")[-1].lstrip("\n")


def prompt(messages: list[Message], thinking: bool) -> str:
    """Return the prompt for the next reply, as the template renders it."""
    parts = []
    for message in messages:
        content = message["content"]
        if message["role"] == "assistant" and "</think>" in content:
            content = without_thinking(content)
        parts.append(f"<|im_start|>{message['role']}\n{content}<|im_end|>\n")
    parts.append("<|im_start|>assistant\n" + ("" if thinking else "<think>\n\n</think>\n\n"))
    return "".join(parts)
