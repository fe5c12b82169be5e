"""Tools in TypeScript: the text that Kimi's own code writes, and JSON where it writes none."""

import pytest

from mlx_engine.contract.requests import Message, ToolSpec
from mlx_engine.formats import chat_prompt
from mlx_engine.formats.typescript_tools import typescript
from tests.mlx_engine.formats.made_tokenizers import made

TEMPLATE = """\
{%- if tools %}{{ tools_ts_str or (tools | tojson) }}{% endif %}
{%- for message in messages %}{{ message.role + ': ' + message.content }}{% endfor %}
{%- if false %}<tool_call> tool_call.name{% endif %}"""
NESTED = {
    "type": "object",
    "required": ["rooms", "at"],
    "additionalProperties": False,
    "properties": {
        "rooms": {
            "type": "array", "description": "Rooms\n\nto look at", "maxItems": 3,
            "items": {"type": "string", "description": "Its name", "minLength": 1},
        },
        "mode": {"enum": ["fast", 2, None], "default": "fast"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "at": {"anyOf": [{"type": "string"}, {"type": ["integer", "null"]}], "description": "When"},
        "owner": {"$ref": "#/$defs/Person"},
        "tags": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "number"}}},
        "any": True,
    },
    "$defs": {"Person": {
        "type": "object", "description": "Who", "properties": {"name": {"type": "string"}, "friend": {"$ref": "#/$defs/Person"}},
        "required": ["name"],
    }},
}  # fmt: skip
# Also what Kimi K2.5's own writer (tool_declaration_ts.py) makes of it
WRITTEN = """\
# Tools

## functions
namespace functions {
// Who
interface Person {
  name: string,
  friend?: Person
}
// Look around.
type look = (_: {
  // When
  at: string | number | null,
  // Rooms

  // to look at
  // maxItems: 3
  rooms: Array<
    // Its name
    // minLength: 1
    string
  >,
  any?: any,
  // maximum: 9, minimum: 1
  // Default: 3
  limit?: number,
  // Default: "fast"
  mode?: "fast" | 2 | None,
  owner?: Person,
  tags?: {
    [k: string]: Array<number>
  },
  [k: string]: never
}) => any;
type clock = (_: {}) => any;
}
"""
LOOK, CLOCK = ToolSpec("look", "Look around.", NESTED), ToolSpec("clock", None, {})


def text(*tools: ToolSpec) -> str:
    tokenizer = made("tool_call", TEMPLATE)
    return tokenizer.decode(chat_prompt.template(tokenizer, [Message("user", "Hi")], tools=tools, reply=False))


def test_tools_are_written_as_kimis_own_code_does() -> None:
    assert typescript([LOOK.declaration, CLOCK.declaration]) == WRITTEN
    assert text(LOOK, CLOCK) == WRITTEN + "user: Hi"


def test_a_reference_to_the_whole_schema_leads_to_an_interface() -> None:
    tree = {"properties": {"value": {"type": "number"}, "next": {"$ref": "#"}}, "required": ["value"]}
    expected = "interface parameters {\n  next?: parameters,\n  value: number\n}\ntype tree = (_: parameters) => any;\n"
    assert expected in typescript([ToolSpec("tree", None, tree).declaration])


@pytest.mark.parametrize(
    "inner",
    [
        {"$ref": "other.json"},
        {"$ref": "#/$defs/Missing"},
        {"title": "no type"},
        {"type": ["string", "unheard-of"]},
        {"enum": ["a"], "type": "integer"},
        {"enum": ["a"], "type": ["string", "integer"]},
        {"anyOf": 3},
        [],
    ],
)
def test_a_schema_that_cannot_be_written_is_declared_in_json(inner: object) -> None:
    tool = ToolSpec("odd", None, {"type": "object", "properties": {"b": inner, "a": {}}})
    shown = text(tool)
    assert (
        shown.startswith('[{"function": {"name": "odd", "parameters": {"properties": {"a": {}, "b": ') and "namespace" not in shown
    )


def test_a_schema_nested_too_deeply_is_declared_in_json() -> None:
    inner: dict = {"type": "string"}
    for _ in range(300):
        inner = {"type": "array", "items": inner}
    assert "Array<Array<" in text(ToolSpec("deep", None, {"properties": {"a": inner}}))
    for _ in range(300):
        inner = {"type": "array", "items": inner}
    assert text(ToolSpec("deep", None, {"properties": {"a": inner}})).endswith("user: Hi")
