"""The chat template, ChatML with Qwen3's thinking switch and tools, and the same in Python for generating the corpus.

With `enable_thinking` the reply opens its own think block. Without it (the default) the prompt closes an empty one, as in Qwen3.
Replies before the last question are rendered without either, so that two renderings of a conversation agree up to its last question.
Calls after the last question keep their think block, so that the prompt after a result begins with the prompt of its call.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

Message = dict[str, Any]
Tool = dict[str, Any]

CHAT_TEMPLATE = """\
{%- set last = namespace(question=-1) %}
{%- for message in messages %}
{%- if message['role'] == 'user' %}
{%- set last.question = loop.index0 %}
{%- endif %}
{%- endfor %}
{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0]['role'] == 'system' %}
{{- messages[0]['content'] + '\\n\\n' }}
{%- endif %}
{{- "# Tools\\n\\nYou may call one or more functions to assist with the user query.\\n\\n" }}
{{- "You are provided with function signatures within <tools></tools> XML tags:\\n<tools>" }}
{%- for tool in tools %}
{{- '\\n' }}
{{- tool | tojson }}
{%- endfor %}
{{- '\\n</tools>\\n\\nFor each function call, return a json object with function name and arguments within ' }}
{{- '<tool_call></tool_call> XML tags:\\n<tool_call>\\n' }}
{{- '{"name": <function-name>, "arguments": <args-json-object>}\\n</tool_call><|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- set content = message['content'] or '' %}
{%- if message['role'] == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1]['role'] != 'tool' %}
{{- '<|im_start|>user' }}
{%- endif %}
{{- '\\n<tool_response>\\n' + content + '\\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1]['role'] != 'tool' %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- elif message['role'] == 'assistant' %}
{%- if loop.index0 < last.question %}
{%- set content = content.split('</think>')[-1].lstrip('\\n') %}
{%- elif '</think>' not in content and message['reasoning_content'] %}
{%- set content = '<think>\\n' + message['reasoning_content'].strip('\\n') + '\\n</think>\\n\\n' + content %}
{%- elif '</think>' not in content and not enable_thinking %}
{%- set content = '<think>\\n\\n</think>\\n\\n' + content %}
{%- endif %}
{{- '<|im_start|>assistant\\n' + content }}
{%- for tool_call in message['tool_calls'] or [] %}
{%- if tool_call.function %}
{%- set tool_call = tool_call.function %}
{%- endif %}
{%- if not loop.first or message['content'] %}
{{- '\\n' }}
{%- endif %}
{{- '<tool_call>\\n{"name": ' + (tool_call.name | tojson) + ', "arguments": ' }}
{{- (tool_call.arguments | tojson) + '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif not (tools and loop.first and message['role'] == 'system') %}
{{- '<|im_start|>' + message['role'] + '\\n' + content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- if not enable_thinking %}
{{- '<think>\\n\\n</think>\\n\\n' }}
{%- endif %}
{%- endif %}"""

EMPTY_THINKING = "<think>\n\n</think>\n\n"
TOOLS_BEFORE = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
)
TOOLS_AFTER = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
)
Part = tuple[str, str]
"""A piece of a rendered conversation and who writes it: "prompt", "reply", or "earlier" (a reply that lacks its opening)."""


def without_thinking(content: str) -> str:
    """Return what later turns see of a reply."""
    return content.split("</think>")[-1].lstrip("\n")


def call_text(name: str, arguments: dict[str, Any]) -> str:
    """Return a tool call as the model writes it."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}\n</tool_call>"


def parts(messages: Sequence[Message], thinking: bool, tools: Sequence[Tool] = ()) -> Iterator[Part]:
    """Yield the prompt for the next reply in pieces, as the template renders it. Calls and answers from results are replies."""
    last = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=-1)
    opening = "<|im_start|>assistant\n"
    if tools:
        system = messages[0]["content"] + "\n\n" if messages[0]["role"] == "system" else ""
        listed = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
        yield f"<|im_start|>system\n{system}{TOOLS_BEFORE}{listed}{TOOLS_AFTER}<|im_end|>\n", "prompt"
    for i, message in enumerate(messages):
        content, role = message["content"], message["role"]
        before = messages[i - 1]["role"] if i else ""
        if role == "tool":
            yield f"<|im_start|>user\n<tool_response>\n{content}\n</tool_response><|im_end|>\n", "prompt"
        elif role == "assistant":
            calls = "\n".join(call_text(**call["function"]) for call in message.get("tool_calls", ()))
            thought = message.get("reasoning_content", "")
            if i > last:
                yield opening + ("" if thinking else EMPTY_THINKING), "prompt"
                yield (f"<think>\n{thought}\n</think>\n\n" if thought else "") + content + calls + "<|im_end|>", "reply"
            else:
                yield opening, "prompt"
                yield without_thinking(content) + calls + "<|im_end|>", "earlier" if calls or before == "tool" else "prompt"
            yield "\n", "prompt"
        elif not (tools and i == 0 and role == "system"):
            yield f"<|im_start|>{role}\n{content}<|im_end|>\n", "prompt"
    yield opening + ("" if thinking else EMPTY_THINKING), "prompt"


def prompt(messages: Sequence[Message], thinking: bool, tools: Sequence[Tool] = ()) -> str:
    """Return the prompt for the next reply, as the template renders it."""
    return "".join(text for text, _ in parts(messages, thinking, tools))
