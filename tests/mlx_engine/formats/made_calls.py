"""Chat templates that write tool calls as the published templates of each family do."""

import json

from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall, ToolSpec
from mlx_engine.formats import chat_prompt
from mlx_engine.formats.format_registry import call_format
from tests.mlx_engine.formats.made_tokenizers import made

TOOLS = tuple(
    ToolSpec(name, None, {"type": "object", "properties": properties, "$defs": {"most": {"anyOf": [{"type": "integer"}, {}]}}})
    for name, properties in (
        ("weather", {"city": {"type": "string"}, "days": {"type": "integer"}, "note": {"type": ["string", "null"]}, "at": {}}),
        ("typed", {
            "rain": {"type": "number"}, "sunny": {"type": "boolean"}, "hours": {"type": "array"}, "place": {"type": "object"},
            "most": {"$ref": "#/$defs/most"},
        }),
        ("clock", {}),
        ("anything", True),
    )
)  # fmt: skip
_TURNS = """\
{%- if tools %}{{ '<|im_start|>system\\n' }}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{{ '<|im_end|>\\n' }}{% endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content }}
{%- if message.tool_call_id is defined %}{{ ' [' + message.tool_call_id + ' of ' + message.name + ']' }}{% endif %}
{%- if message.tool_calls %}CALLS{% endif %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
_EACH = "{%- for tool_call in message.tool_calls %}{% set tool_call = tool_call.function %}"
_ARGUMENTS = "{%- for key, value in tool_call.arguments | items %}"
_VALUE = "{{ value if value is string else value | tojson }}"

# The markers of each tokenizer, and what its template writes for an assistant's calls.
WRITTEN = {
    "qwen3": ("tool_call", _EACH + """\
{{- '\\n<tool_call>\\n{"name": "' + tool_call.name + '", "arguments": ' }}{{ tool_call.arguments | tojson }}{{ '}\\n</tool_call>' }}
{%- endfor %}"""),
    "qwen3_coder": ("tool_call", _EACH + """\
{{- '\\n<tool_call>\\n<function=' + tool_call.name + '>\\n' }}""" + _ARGUMENTS + """\
{{- '<parameter=' + key + '>\\n' }}""" + _VALUE + """{{ '\\n</parameter>\\n' }}{% endfor %}
{{- '</function>\\n</tool_call>' }}
{%- endfor %}"""),
    "gemma4": ("gemma4_calls", """\
{%- macro written(value) %}
{%- if value is string %}{{ '<|"|>' + value + '<|"|>' }}
{%- elif value is mapping %}{{ '{' }}{% for key, value in value | dictsort %}{{ ',' if not loop.first }}{{ key + ':' }}
{{- written(value) }}{% endfor %}{{ '}' }}
{%- elif value is iterable %}{{ '[' }}{% for value in value %}{{ ',' if not loop.first }}{{ written(value) }}{% endfor %}{{ ']' }}
{%- else %}{{ value | tojson }}{% endif %}
{%- endmacro %}""" + _EACH + """\
{{- '<|tool_call>call:' + tool_call.name }}{{ written(tool_call.arguments) }}{{ '<tool_call|>' }}
{%- endfor %}"""),
    "llama": ("llama_calls", """\
{%- for tool_call in message.tool_calls %}{% set tool_call = tool_call.function %}{{- '; ' if not loop.first }}
{{- '{"name": "' + tool_call.name + '", "parameters": ' }}{{ tool_call.arguments | tojson }}{{ '}' }}
{%- endfor %}{% if false %}<|python_tag|>{% endif %}"""),
    "minimax": ("minimax_calls", "{{ '\\n<minimax:tool_call>\\n' }}" + _EACH + """\
{{- '<invoke name="' + tool_call.name + '">\\n' }}""" + _ARGUMENTS + """\
{{- '<parameter name="' + key + '">' }}""" + _VALUE + """{{ '</parameter>\\n' }}{% endfor %}{{ '</invoke>\\n' }}
{%- endfor %}{{ '</minimax:tool_call>' }}"""),
    "kimi": ("kimi_calls", """\
{{- '<|tool_calls_section_begin|>' }}{% for tool_call in message.tool_calls %}
{{- '<|tool_call_begin|>' + tool_call.id + '<|tool_call_argument_begin|>' }}
{{- tool_call.function.arguments | tojson }}{{ '<|tool_call_end|>' }}
{%- endfor %}{{ '<|tool_calls_section_end|>' }}"""),
    "glm": ("tool_call", _EACH + """\
{{- '\\n<tool_call>' + tool_call.name + '\\n' }}""" + _ARGUMENTS + """\
{{- '<arg_key>' + key + '</arg_key>\\n<arg_value>' }}""" + _VALUE + """{{ '</arg_value>\\n' }}{% endfor %}{{ '</tool_call>' }}
{%- endfor %}"""),
    "mistral": ("mistral_calls", _EACH + """\
{{- '[TOOL_CALLS]' + tool_call.name + '[ARGS]' }}{{ tool_call.arguments | tojson }}
{%- endfor %}"""),
}  # fmt: skip
HARMONY = """\
{%- if tools %}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}
{%- for message in messages %}
{%- if message.tool_calls %}
{{- '<|start|>assistant to=functions.' + message.tool_calls[0].function.name + '<|channel|>commentary json<|message|>' }}
{{- message.tool_calls[0].function.arguments | tojson }}{{ '<|call|>' }}
{%- elif message.role == 'tool' %}
{{- '<|start|>functions.' + message.name + ' to=assistant<|channel|>commentary<|message|>' + message.content + '<|end|>' }}
{%- else %}{{ '<|start|>' + message.role + '<|message|>' + message.content + '<|end|>' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}"""

FAMILIES = ("gpt_oss", *WRITTEN)


def tokenizer_of(family):
    if family == "gpt_oss":
        return made("harmony", HARMONY)
    markers, calls = WRITTEN[family]
    return made(markers, _TURNS.replace("CALLS", calls))


def format_of(family):
    return call_format(tokenizer_of(family))


def call(name, arguments, identifier="1"):
    return ToolCall(identifier, name, json.dumps(arguments, ensure_ascii=False))


def written(family, calls):
    """Return the text of these calls in a family's template, up to the end of the turn."""
    tokenizer = tokenizer_of(family)
    if family == "kimi":
        calls = [ToolCall(f"functions.{each.name}:{at}", each.name, each.arguments) for at, each in enumerate(calls)]
    messages = (Message("user", "Hi"), Message("assistant", "", calls=tuple(calls)))
    text = tokenizer.decode(chat_prompt.template(tokenizer, messages, tools=TOOLS, reply=False))
    return text.partition("<|im_start|>assistant\n")[2].removesuffix("\n").removesuffix("<|im_end|>")


def events_of(reply, tokens, blocks=(), ended=True):
    """Return the events of a reply whose tokens arrive in blocks of these sizes."""
    events, at = [], 0
    for size in [*blocks, len(tokens)]:
        block = tokens[at : at + size]
        at += len(block)
        events += [] if reply.ended else reply.add(block, ["drafter"] * len(block))
    return [*events, *reply.finish(ended)]


def asked(*messages, **options):
    return GenerationRequest(messages=messages or (Message("user", "Hi"),), tools=TOOLS, **options)
