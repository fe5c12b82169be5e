"""Schemas: numbers are exact from the request's body to the answer, or refused; annotations are accepted."""

import asyncio
import enum
import ipaddress
import json
import logging
import pathlib
from decimal import Decimal
from typing import Any, Literal

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from mlx_engine.api_server.body import read_json
from mlx_engine.api_server.openai_tools import OfferedTools, schema_of
from mlx_engine.contract import exact_json
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import GenerationRequest, Message
from mlx_engine.formats import schemas
from mlx_engine.formats.token_grammar import reply_grammar
from tests.mlx_engine.formats.made_tokenizers import QWEN3, made


def body(text: str) -> Any:
    """Return the value of a request's body."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": text.encode()}

    return asyncio.run(read_json({"type": "http", "headers": []}, receive))


def state(schema: str):
    """Return the grammar for a schema that arrives in a request."""
    form = body(f'{{"type": "json_schema", "json_schema": {{"name": "a", "schema": {schema}}}}}')
    request = GenerationRequest(messages=(Message("user", "Hi"),), schema=schema_of(form, "response_format"))
    return reply_grammar(made("think", QWEN3), request, (), 0)


def accepts(schema: str, text: str) -> bool:
    """Return whether a schema's grammar allows a text as the whole answer."""
    grammar, tokens = state(schema), list(text.encode())
    size = len(made("think", QWEN3))
    masked = grammar.mask(mx.zeros((len(tokens) + 1, size)), tokens) == 0
    allowed = all(masked[at, token].item() for at, token in enumerate(tokens))
    return allowed and masked[-1, made("think", QWEN3).eos_token_id].item()


def refusal(schema: str) -> str:
    with pytest.raises(UserError) as caught:
        state(schema)
    assert caught.value.text.code == "bad_schema"
    return str(caught.value)


def exactly(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


wholes = st.one_of(
    st.integers(-(10**40), 10**40),
    st.builds(lambda power, more: 2**power + more, st.integers(50, 66), st.integers(-3, 3)),
    st.integers(-20, 20),
).map(str)
decimals = st.builds(lambda whole, part: f"{whole}.{part}", st.integers(-(10**21), 10**21), st.integers(0, 10**25))
exponents = st.builds(lambda whole, power: f"{whole}e{power}", st.integers(-999, 999), st.integers(-40, 400))
numbers = st.one_of(wholes, decimals, exponents)
KEYWORDS = ("const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def near(text: str) -> list[str]:
    """Return numbers at and next to a number, without exponents."""
    value = Decimal(text)
    if abs(value.adjusted()) > 60:
        return ["0", "1"]
    step = Decimal(1).scaleb(min(0, value.as_tuple().exponent))
    rounded = Decimal(repr(float(value)))
    found = [value, value + step, value - step, value + 1, value - 1, rounded, Decimal(int(float(value))), -value, Decimal(0)]
    return sorted({f"{each:f}".replace("-0", "0") if not each else f"{each:f}" for each in found})


@given(st.sampled_from(KEYWORDS), numbers, st.sampled_from(["integer", "number", None]), st.integers(0, 3))
def test_numbers_of_a_schema_are_matched_exactly_or_refused(keyword, number, kind, place):
    value = f"[{number}]" if keyword == "enum" else number
    inner = f'{{"{keyword}": {value}' + (f', "type": "{kind}"}}' if kind else "}")
    outer, around = [
        (inner, "%s"),
        (f'{{"$defs": {{"n": {inner}}}, "$ref": "#/$defs/n"}}', "%s"),
        (f'{{"type": "array", "items": {inner}}}', "[%s]"),
        (f'{{"type": "object", "properties": {{"{keyword}": {inner}}}}}', f'{{"{keyword}":%s}}'),
    ][place]
    try:
        state(outer)
    except UserError as error:
        assert error.text.code == "bad_schema" and (keyword in str(error) or "no value" in str(error)), error
        assert abs(Decimal(number)) > 2**53 - 1 or "." in number or "e" in number or keyword == "multipleOf"
        return
    validator = Draft202012Validator(exactly(outer))
    for text in near(number):
        if accepts(outer, around % text):
            assert validator.is_valid(exactly(around % text)), text


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ('{"enum": [1234567890123456789]}', "enum"),
        ('{"const": 9007199254740993}', "const"),
        ('{"const": 18446744073709551615}', "const"),
        ('{"const": [{"a": 1e23}]}', "const"),
        ('{"type": "integer", "minimum": 1234567890123456789, "maximum": 1234567890123456795}', "minimum"),
        ('{"type": "integer", "minimum": 1000000000000000000000000000000}', "minimum"),
        ('{"minimum": 12345678901234567890.5}', "minimum"),
        ('{"maximum": 0.1000000000000000055}', "maximum"),
        ('{"maximum": 1e400}', "maximum"),
        ('{"const": 1e9999999}', "const"),
        ('{"maximum": -1e1000001}', "maximum"),
        ('{"exclusiveMinimum": 9007199254740992}', "exclusiveMinimum"),
        ('{"$defs": {"enum": {"exclusiveMaximum": 1e18}}, "$ref": "#/$defs/enum"}', "exclusiveMaximum"),
        ('{"a": {"b": {"const": 9007199254740993}}, "$ref": "#/a/b"}', "const"),
        ('{"allOf": [{"multipleOf": 9999}, {"multipleOf": 99.99}]}', "multipleOf"),
        ('{"multipleOf": "3"}', "multipleOf"),
    ],
)
def test_a_number_that_would_change_is_refused_by_its_keyword(schema, keyword):
    assert keyword in refusal(schema)


def test_bounds_of_64_bits_are_exact():
    schema = '{"type": "integer", "minimum": 0, "maximum": 9223372036854775807}'
    assert accepts(schema, "9223372036854775807") and not accepts(schema, "9223372036854775808")
    schema = schema.replace("0", "-9223372036854775808", 1)
    for text, is_accepted in (("-9223372036854774784", True), ("-9223372036854775809", False), ("9223372036854775807", True)):
        assert accepts(schema, text) == is_accepted
    assert accepts('{"type": "integer", "maximum": 9007199254740991}', "9007199254740991")  # as Zod writes


def test_properties_with_the_names_of_keywords_are_no_keywords():
    names = ("const", "enum", "minimum", "multipleOf", "format", "uniqueItems", "$ref", "default", "examples")
    schema = {"type": "object", "properties": {name: {"type": "boolean"} for name in names}, "required": list(names)}
    assert accepts(json.dumps(schema), json.dumps(dict.fromkeys(names, True), separators=(",", ":")))


def test_a_tool_keeps_its_numbers_and_is_refused_by_the_keyword_if_strict():
    tool = (
        '{"type": "function", "function": {"name": "f", "strict": true, "parameters": {"type": "object", "properties": {"a": %s}}}}'
    )
    tools = body("[" + tool % '{"const": 0.1000000000000000055}' + "]")
    declared = OfferedTools(tools, ("function",)).declared
    assert "0.1000000000000000055" in exact_json.dumps(declared[0].parameters)
    with pytest.raises(schemas.BadSchema, match="const"):
        schemas.check(declared[0].parameters)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | numbers.map(exactly), lambda part: st.lists(part) | st.dictionaries(st.text(), part)
    )
)
def test_exact_json_returns_what_was_written(value):
    text = "".join(written(value))
    assert exactly(exact_json.dumps(exact_json.loads(text))) == exactly(text)


def written(value: Any) -> Any:
    if isinstance(value, Decimal):
        yield str(value)
    elif isinstance(value, list):
        yield "[" + ",".join("".join(written(item)) for item in value) + "]"
    elif isinstance(value, dict):
        yield "{" + ",".join(f"{json.dumps(name)}:{''.join(written(item))}" for name, item in value.items()) + "}"
    else:
        yield json.dumps(value)


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Everyday(BaseModel):
    model_config = ConfigDict(extra="forbid")
    path: pathlib.Path
    secret: SecretStr
    data: bytes
    network: ipaddress.IPv4Network
    colors: set[Color]
    flags: frozenset[bool]
    names: set[str]
    pick: set[Literal["a", "b"]] = Field(min_length=1)


@pytest.mark.parametrize("name", ["path", "password", "binary", "int32", "byte", "iri", "json-pointer", "regex", "ipv4network"])
def test_an_unknown_format_is_an_annotation_and_logged(name, caplog):
    schemas._logged.clear()
    with caplog.at_level(logging.WARNING):
        assert accepts(json.dumps({"type": ["string", "null"], "format": name}), '"anything"')
    assert name in caplog.text
    assert not accepts(json.dumps({"type": "string", "format": "date"}), '"anything"')


def test_everyday_types_of_pydantic_are_accepted():
    schema = json.dumps(Everyday.model_json_schema())
    answer = {"path": "/a", "secret": "b", "data": "c", "network": "10.0.0.0/8", "colors": ["green", "red"], "flags": [True]}
    answer |= {"names": ["x"], "pick": ["b"]}
    text = json.dumps(answer, separators=(",", ":"))
    assert accepts(schema, text) and Everyday.model_validate_json(text)
    for name, wrong in (("colors", ["red", "red"]), ("flags", [True, True]), ("pick", []), ("pick", ["a", "b", "a"])):
        assert not accepts(schema, json.dumps(answer | {name: wrong}, separators=(",", ":")))


def test_a_set_of_few_values_has_no_duplicates():
    schema = '{"type": "array", "uniqueItems": true, "items": {"enum": [1, true, "a"]}, "maxItems": 2}'
    assert accepts(schema, "[1,true]") and accepts(schema, "[]") and accepts(schema, '["a",1]')
    assert not accepts(schema, "[1,1]") and not accepts(schema, '[1,true,"a"]')
    assert accepts('{"type": "array", "uniqueItems": false}', "[1,1]")
    assert "no value" in refusal('{"type": "array", "uniqueItems": true, "items": {"type": "boolean"}, "minItems": 3}')


@given(
    st.lists(st.sampled_from(["1", "1.0", "1e0", "true", "0", "-0.0", "false", "2.5", "null", '"1"']), min_size=1, max_size=5),
    st.data(),
)
def test_no_set_has_equal_values(choices, data):
    schema = f'{{"type": "array", "uniqueItems": true, "items": {{"enum": [{",".join(choices)}]}}, "maxItems": 2.0}}'
    values = ["1" if each in ("1.0", "1e0") else "0" if each == "-0.0" else each for each in choices]
    items = data.draw(st.lists(st.sampled_from(values), max_size=3))
    text = f"[{','.join(items)}]"
    is_valid = Draft202012Validator(json.loads(schema)).is_valid(json.loads(text))
    assert accepts(schema, text) == (is_valid or (len(set(values)) > 4 and len(items) < 3))


@given(st.integers(0, 3), st.sampled_from(["{0}", "{0}.0", "{0}e0", "{1}.0e-1"]), st.integers(0, 3))
def test_counts_are_integers_however_they_are_written(count, form, size):
    number = form.format(count, 10 * count)
    texts = {"Length": '"' + "a" * size + '"', "Items": f"[{','.join('1' * size)}]"}
    texts["Properties"] = "{" + ",".join(f'"{at}":1' for at in range(size)) + "}"
    for what, text in texts.items():
        kind = {"Length": "string", "Items": "array", "Properties": "object"}[what]
        if what != "Properties" or count < 2:  # llguidance knows no others
            assert accepts(f'{{"type": "{kind}", "min{what}": {number}}}', text) == (size >= count)
        assert accepts(f'{{"type": "{kind}", "max{what}": {number}}}', text) == (size <= count)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"},
        {
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]}},
            "$ref": "#/$defs/b",
        },
        {"type": "object", "properties": {"loop": {"$ref": "#/properties/loop"}}},
        {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
        {"type": "array", "prefixItems": [{}, {"$ref": "#"}], "minItems": 2},
    ],
)
def test_recursion_without_an_end_is_refused_by_its_reference(schema):
    message = refusal(json.dumps(schema))
    assert "$ref" in message and "requires itself" in message


class Node(BaseModel):
    value: int
    next: "Node | None" = None
    children: list["Node"] = []


def test_recursion_with_an_end_is_accepted():
    schema = json.dumps(Node.model_json_schema())
    assert accepts(schema, '{"value":1,"next":{"value":2,"next":null},"children":[{"value":3}]}')
    assert accepts('{"type": "array", "items": {"$ref": "#"}}', "[[],[[]]]")


@pytest.mark.parametrize(
    "schema",
    [
        '{"type": "array", "uniqueItems": true, "items": {"type": "boolean"}, "minItems": -1}',
        '{"type": "array", "uniqueItems": true, "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"$ref": "#/$defs/a"}}}',
        '{"type": "array", "prefixItems": [{"$ref": "#"}], "minItems": 1e400}',
        '{"multipleOf": 1e-320}',
        '{"minimum": NaN}',
        '{"enum": [%s]}' % ("9" * 4000),
        json.dumps({"$defs": {f"a{at}": {"$ref": f"#/$defs/a{at + 1}"} for at in range(3000)}, "$ref": "#/$defs/a0"}),
    ],
    ids=range(7),
)  # fmt: skip
def test_hostile_schemas_are_refused_with_a_reason(schema):
    request = GenerationRequest(messages=(Message("user", "Hi"),), schema=schema)
    with pytest.raises(UserError) as caught:
        reply_grammar(made("think", QWEN3), request, (), 0)
    assert caught.value.text.code == "bad_schema"


FOREIGN = (
    "Unimplemented",
    "f64",
    "NoExtension",
    "coerce",
    "Unsatisfiable",
    "lexer",
    "Pointer",
    "registry",
    "regex for",
    "Regex is",
    "%json",
    "Parser",
)


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {}}, {"oneOf": [{"type": "string"}, {"type": "string"}]}, {"minimum": "5"}, {"type": "integer", "minimum": 10**18},
        {"$ref": "#/$defs/x"}, {"$ref": "http://x/y"}, {"$ref": "#a"}, {"enum": []}, {"multipleOf": 0.07}, {"allOf": [False]},
        {"type": "string", "maxLength": 10**11}, {"type": "string", "pattern": "["}, {"type": "string", "pattern": "(?=a)"},
        {"$schema": "http://unknown/", "type": "string"}, {"allOf": [{"const": "a"}, {"pattern": "b"}], "type": "string"},
        {"type": "integer", "minimum": 2, "maximum": 1},
    ],
)  # fmt: skip
def test_refusals_use_no_words_of_the_library(schema):
    message = refusal(json.dumps(schema))
    assert not any(word in message for word in FOREIGN), message


PIECES = st.recursive(
    st.sampled_from(["a", ".", "[a-z]", r"[\]{9}]", r"\d", r"\{", r"\p{L}", r"\x{41}", "a|b"]).map(lambda text: (text, 1)),
    lambda inner: (
        st.tuples(inner, st.integers(1, 300), st.sampled_from(["{%d}", "{0,%d}", "{%d,}"])).map(
            lambda drawn: (f"({drawn[0][0]}){drawn[2] % drawn[1]}", drawn[0][1] * drawn[1])
        )
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: ("".join(text for text, _ in parts), max(n for _, n in parts)))
        | inner.map(lambda part: (f"(?:{part[0]})+?", part[1]))
    ),
    max_leaves=6,
)


@given(PIECES)
def test_repeats_of_a_pattern_are_counted_through_groups(piece: tuple[str, int]) -> None:
    pattern, repeats = piece
    assert schemas._repeats(f"^{pattern}$") == repeats


@pytest.mark.parametrize("schema", ['{"type": "string", "pattern": "P"}', '{"type": "object", "patternProperties": {"P": {}}}'])
@pytest.mark.parametrize("pattern", ["^(a{1000}){1000}$", "^((a{30}){30}){30}$", "^a{99}{999}$", "^x(?:[(]a{200}|b){1,200}$"])
def test_patterns_whose_steps_would_take_seconds_are_refused(schema: str, pattern: str) -> None:
    """One such request kept the engine busy for minutes, after its client had left, too."""
    found = refusal(schema.replace('"P"', f'"{pattern}"'))
    assert ("patternProperties" if "patternProperties" in schema else "pattern") in found and "10,000" in found


def test_usual_repeats_are_accepted() -> None:
    assert accepts('{"type": "string", "pattern": "^(a{100}){2,100}$"}', f'"{"a" * 200}"')
    assert not accepts('{"type": "string", "pattern": "^(a{100}){2,100}$"}', f'"{"a" * 250}"')
