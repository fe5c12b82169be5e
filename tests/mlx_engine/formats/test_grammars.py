"""Grammars of calls: whatever a model writes within them is parsed as the calls that the request allows."""

import json
import random
import re
from dataclasses import replace

import mlx.core as mx
import pytest
from jsonschema import Draft202012Validator

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall, ToolSpec
from mlx_engine.formats import chat_prompt
from mlx_engine.formats.reply_text import ReplyText
from mlx_engine.formats.token_grammar import reply_grammar
from tests.examples import SAMPLE
from tests.mlx_engine.formats.made_calls import FAMILIES, tokenizer_of, written
from tests.mlx_engine.formats.made_tokenizers import made

_AT = {"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"], "additionalProperties": False}
PARAMETERS = {
    "weather": {
        "type": "object",
        "$defs": {"at": _AT},
        "properties": {
            "city": {"enum": ["Rome", "São Paulo", "null island"]},
            "days": {"type": "integer", "minimum": 0, "maximum": 99},
            "at": {"$ref": "#/$defs/at"},
        },
        "required": ["city", "days"],
        "additionalProperties": False,
    },
    "clock": {"type": "object", "properties": {}, "additionalProperties": False},
}
TOOLS = tuple(ToolSpec(name, None, parameters, strict=True) for name, parameters in PARAMETERS.items())
FREE = ToolSpec("free", None, {"not": {}})  # not strict, and unsupported
_CLOSING = set(b'"}]\n<>/')


def asked(**options) -> GenerationRequest:
    return GenerationRequest(messages=(Message("user", "Hi"),), **{"tools": TOOLS, **options})


def walk(family: str, request: GenerationRequest, seed: int) -> tuple[str, list[ToolCall], bool]:
    """Write random tokens that the grammar allows; return the answer, its calls, and whether the reply ended."""
    tokenizer, rng, tokens = tokenizer_of(family), random.Random(seed), list[int]()
    prompt = chat_prompt.render(tokenizer, request)
    grammar = reply_grammar(tokenizer, request, prompt.opening, 0)
    ends, size = set(tokenizer.eos_token_ids), len(tokenizer)
    while len(tokens) < 600 and not ends & set(tokens):
        allowed = [at for at, value in enumerate(grammar.mask(mx.zeros((1, size)))[0].tolist()) if value == 0]
        special = [token for token in allowed if token >= 256]
        closing = [token for token in allowed if token in _CLOSING]
        some = next((part for part in (special, closing) if part and rng.random() < 0.4), allowed)
        tokens.append(rng.choice([token for token in some if token in ends] or some))
        grammar.add(tokens[-1:])
    reader = ReplyText(tokenizer, prompt, tools=request.tools)
    parts = [*reader.add(tokens, ["target"] * len(tokens)), *reader.finish(bool(ends & set(tokens)))]
    answer = "".join(part.text for part in parts if isinstance(part, Commit) and part.channel == "answer")
    return answer, [part for part in parts if isinstance(part, ToolCall)], bool(ends & set(tokens))


def call_tokens(family: str, calls: list[ToolCall]) -> list[int]:
    """Return the tokens of calls in the family's template; for gpt-oss, of the first call."""
    if family == "gpt_oss":
        text = f" to=functions.{calls[0].name}<|channel|>commentary json<|message|>{calls[0].arguments}<|call|>"
    else:
        text = written(family, calls).rstrip()
    assert text
    return list(tokenizer_of(family).encode(text, add_special_tokens=False))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("choice", ["required", "weather", "auto"])
def test_a_reply_calls_the_chosen_tools_with_valid_arguments(family, choice):
    ended = 0
    for seed in range(2 if SAMPLE else 8):
        answer, calls, complete = walk(family, asked(tool_choice=choice), seed)
        for call in calls:
            assert Draft202012Validator(PARAMETERS[call.name]).is_valid(json.loads(call.arguments)), call
        if complete and choice != "auto":
            ended += 1
            assert calls, answer
            assert choice == "required" or [call.name for call in calls] == ["weather"], calls
    assert ended or choice == "auto"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reply_without_choice_calls_nothing(family):
    assert not any(walk(family, asked(tool_choice="none"), seed)[1] for seed in range(4))
    tokenizer, request = tokenizer_of(family), asked(tool_choice="none")
    grammar = reply_grammar(tokenizer, request, chat_prompt.render(tokenizer, request).opening, 0)
    call = call_tokens(family, [ToolCall("1", "clock", "{}")])
    masked = grammar.mask(mx.zeros((len(call) + 1, len(tokenizer))), call)
    assert any(masked[at, token].item() != 0 for at, token in enumerate(call))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_published_templates_write_what_the_grammar_allows(family):
    tokenizer, request = tokenizer_of(family), asked(tool_choice="required")
    calls = [ToolCall("1", "weather", json.dumps({"city": "Rome", "days": 3, "at": {"x": True}})), ToolCall("2", "clock", "{}")]
    tokens = call_tokens(family, calls)
    grammar = reply_grammar(tokenizer, request, chat_prompt.render(tokenizer, request).opening, 0)
    masked = grammar.mask(mx.zeros((len(tokens) + 1, len(tokenizer))), tokens)
    wrong = [at for at, token in enumerate(tokens) if masked[at, token].item() != 0]
    assert not wrong, tokenizer.decode(tokens[: wrong[0] + 1])


def test_parameters_of_tools_that_are_not_strict_may_be_unsupported():
    _, calls, _ = walk("kimi", asked(tools=(FREE,), tool_choice="required"), 1)
    assert not calls or calls[0].name == "free"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "parameters",
    [{"properties": 5}, {"required": 5}, {"properties": {"a": {"type": 5}}}, {"properties": {"a": {"enum": 5}}}, {"$ref": "#/a"}],
    ids=str,
)
def test_invalid_parameters_are_refused(family, parameters):
    tool = ToolSpec('größe "x"', None, parameters, strict=True)
    with pytest.raises(UserError, match="schema"):
        reply_grammar(tokenizer_of(family), asked(tools=(tool,)), (), 0)


@pytest.mark.parametrize(
    ("family", "options", "code"),
    [
        ("qwen3", {"tool_choice": "missing"}, "unknown_tool_choice"),
        ("qwen3", {"tool_choice": "required", "tools": ()}, "no_tools_to_choose"),
        ("qwen3", {"tools": (replace(FREE, strict=True),)}, "bad_schema"),
    ],
)
def test_a_choice_that_cannot_be_followed_is_refused(family, options, code):
    with pytest.raises(UserError) as caught:
        reply_grammar(tokenizer_of(family), asked(**options), (), 0)
    assert caught.value.text.code == code


def test_formats_without_a_grammar_are_refused():
    tokenizer = made("none", "{{ tools }}<|tool_list_start|>")  # calls are written as in Python
    for options in ({"tool_choice": "required"}, {}):
        with pytest.raises(UserError) as caught:
            reply_grammar(tokenizer, asked(**options), (), 0)
        assert caught.value.text.code == "tool_choice_unsupported"


NESTED = {
    "type": "object",
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {"leaf": {"type": ["boolean", "null"]}, "Parts": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
            "additionalProperties": False,
        }
    },
    "properties": {
        "tree": {"$ref": "#/$defs/tree"},
        "size": {"anyOf": [{"type": "number", "minimum": 1, "maximum": 2}, {"type": "null"}]},
        "pick": {"enum": ["", "a b", 7, None, ["x", {"key": True}]]},
        "free": {"type": "array", "items": {}},
        "text": {"type": "string"},
    },
    "required": ["size", "tree"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("parameters", [NESTED, {**NESTED, "required": []}, {"type": "object"}], ids=["some", "none", "free"])
def test_nested_arguments_are_parsed_as_the_grammar_of_gemma_writes_them(parameters):
    tool = ToolSpec("plant", None, parameters, strict=True)
    found = []
    for seed in range(10 if SAMPLE else 30):
        answer, calls, complete = walk("gemma4", asked(tools=(tool,), tool_choice="plant"), seed)
        assert calls or not complete, answer
        found += [json.loads(call.arguments) for call in calls]
    assert len(found) > 2 and all(Draft202012Validator(parameters).is_valid(arguments) for arguments in found)


@pytest.mark.parametrize(
    ("keyword", "schema"),
    [
        ("minItems", {"type": "array", "minItems": 2}),
        ("pattern", {"type": "string", "pattern": "^a$"}),
        ("additionalProperties", {"type": "object", "additionalProperties": {"type": "string"}}),
        ("$ref", {"$ref": "#/$defs/missing"}),
        ("a b", {"type": "object", "properties": {"a b": {}}}),
        ("required", {"type": "object", "properties": {"a": {}}, "required": ["b"]}),
    ],
)
def test_gemmas_calls_refuse_what_their_grammar_cannot_express(keyword, schema):
    def tools(strict):
        parameters = {"type": "object", "properties": {"a": schema}}
        return (ToolSpec("plant", None, parameters, strict),)

    with pytest.raises(UserError, match=re.escape(keyword)):
        reply_grammar(tokenizer_of("gemma4"), asked(tools=tools(True)), (), 0)
    assert reply_grammar(tokenizer_of("gemma4"), asked(tools=tools(False), tool_choice="required"), (), 0)


def test_free_calls_have_no_grammar():
    assert reply_grammar(tokenizer_of("qwen3"), asked(tools=(FREE,)), (), 0) is None


def test_an_answer_with_a_schema_may_be_a_call_instead():
    schema = json.dumps({"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": False})
    for family in ("qwen3", "gpt_oss"):
        for seed in range(3 if SAMPLE else 6):
            answer, calls, complete = walk(family, asked(schema=schema), seed)
            assert calls or not complete or json.loads(answer) == {"a": 1}
