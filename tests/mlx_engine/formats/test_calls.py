"""Calls in text: each family's format is parsed, in any chunks, and what can't be parsed stays text."""

import itertools
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.formats.call_reader import CallReader
from mlx_engine.formats.format_registry import FORMATS
from mlx_engine.formats.mlx_lm_calls import MlxLmCalls
from mlx_engine.formats.muse import Muse
from mlx_engine.formats.typed_values import typed
from tests.examples import sampled
from tests.mlx_engine.formats import made_calls
from tests.mlx_engine.formats.made_calls import TOOLS, WRITTEN, call, format_of, tokenizer_of, written

TEXT = st.text(st.sampled_from('aé😀 "\\{}[]<>/|\n:,'), max_size=12).map(str.strip)
ARGUMENTS = st.fixed_dictionaries({"city": TEXT}, optional={"days": st.integers(-5, 5)})
VALUES = {
    "rain": st.integers(-5, 5) | st.sampled_from([0.5, -2e-3]),
    "sunny": st.booleans(),
    "hours": st.lists(st.integers() | TEXT, max_size=2),
    "place": st.dictionaries(st.sampled_from("ab"), TEXT | st.booleans() | st.none(), max_size=2),
}
CALLS = st.lists(
    st.one_of(
        ARGUMENTS.map(lambda given: call("weather", given)),
        st.fixed_dictionaries({}, optional=VALUES).map(lambda given: call("typed", given)),
        st.just(call("clock", {})),
    ),
    min_size=1,
    max_size=3,
)
CLOSED = [family for family in WRITTEN if family not in ("llama", "mistral")]  # whose calls don't end with the reply
FAMILIES = pytest.mark.parametrize("family", WRITTEN)


def read(family, text, cuts=(), ended=True, form=None):
    """Return runs of text, and the name and arguments of each call, from a text given in these chunks."""
    reader, parts = CallReader(form or format_of(family), TOOLS), []
    for start, end in itertools.pairwise([0, *cuts, len(text)]):
        parts += reader.add(text[start:end])
    parts += reader.finish(ended)
    assert "".join(part.text for part in parts) == text
    found = []
    for has_calls, group in itertools.groupby(parts, key=lambda part: bool(part.calls)):
        if has_calls:
            found += [(each.name, json.loads(each.arguments)) for part in group for each in part.calls]
        else:
            found.append("".join(part.text for part in group))
    return found


def calls_in(found):
    return [each for each in found if not isinstance(each, str)]


def named(calls):
    return [(each.name, json.loads(each.arguments)) for each in calls]


@FAMILIES
@sampled(6)
@given(calls=CALLS, prose=st.sampled_from(["", "Let me see.\n"]))
def test_calls_are_read_as_the_template_writes_them(family, calls, prose):
    """mlx-lm has a parser for most formats. It reads the same."""
    text, tokenizer = ("" if family == "llama" else prose) + written(family, calls), tokenizer_of(family)
    found = read(family, text)
    assert calls_in(found) == named(calls)
    assert "".join(each for each in found if isinstance(each, str)).strip() in (prose.strip(), "")
    if tokenizer.has_tool_calling:
        assert calls_in(read(family, text, form=MlxLmCalls(tokenizer))) == named(calls)


def test_every_format_is_tested():
    assert {type(format_of(family)) for family in made_calls.FAMILIES} == {type(form) for form in FORMATS} - {Muse}


def pieces(family):
    """Texts with whole calls, and anything else that may look like one."""
    form, whole = format_of(family), written(family, [call("weather", {"city": 'Köln {"a": 1}', "days": 3})])
    part = st.tuples(st.integers(0, len(whole)), st.integers(0, len(whole))).map(lambda ends: whole[min(ends) : max(ends)])
    return st.lists(st.one_of(st.sampled_from([whole, form.start, form.end, "\n", "Hm. ", '{"name": 1}']), part), max_size=6).map(
        "".join
    )


@FAMILIES
@sampled(6)
@given(data=st.data(), ended=st.booleans())
def test_streamed_text_gives_what_the_whole_text_gives(family, data, ended):
    text = data.draw(pieces(family))
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8).map(sorted))
    whole = read(family, text, ended=ended)
    assert read(family, text, cuts, ended) == whole == read(family, text, range(1, len(text)), ended)


@FAMILIES
def test_a_call_can_be_cut_anywhere(family):
    text = "\n" + written(family, [call("weather", {"city": "Köln", "days": 3}), call("clock", {})]) + "\n"
    whole = read(family, text)
    assert len(calls_in(whole)) == 2
    for cut in range(len(text)):
        assert read(family, text, [cut]) == whole


@FAMILIES
@sampled(6)
@given(data=st.data())
def test_damaged_calls_lose_no_text(family, data):
    text = written(family, [call("weather", {"city": "Köln", "days": 3}), call("clock", {})])
    for _ in range(data.draw(st.integers(1, 3), "edits")):
        start = data.draw(st.integers(0, len(text)))
        removed, added = data.draw(st.integers(0, 6)), data.draw(st.text(st.sampled_from('<>{}[]"|=:\\ax\n'), max_size=4))
        text = text[:start] + added + text[start + removed :]
    read(family, text)


@pytest.mark.parametrize(
    ("family", "text"),
    [
        ("qwen3", '<tool_call>\n{"name": "weather", "arguments": {"city": "Köln"}\n</tool_call>'),
        ("qwen3", '<tool_call>\n{"name": "", "arguments": {}}\n</tool_call>'),
        ("qwen3", '<tool_call>\n{"name": "weather", "arguments": [1]}\n</tool_call>'),
        ("qwen3", '<tool_call>\n{"name": "weather", "arguments": {"days": NaN}}\n</tool_call>'),
        ("qwen3", '<tool_call>\n{"name": "weather", "arguments": {"city": "\\ud800"}}\n</tool_call>'),
        ("qwen3", "<tool_call>" + '{"a":' * 100_000 + "</tool_call>"),
        ("qwen3_coder", "<tool_call>\n<function=weather>\n<parameter=city>\nKöln\n</function>\n</tool_call>"),
        ("qwen3_coder", "<tool_call>\nFirst, the weather.\n<function=weather>\n</function>\n</tool_call>"),
        ("gemma4", "<|tool_call>call:weather{city:Köln}<tool_call|>"),
        ("gemma4", '<|tool_call>call:weather{city:<|"|>Köln}<tool_call|>'),
        ("gemma4", "<|tool_call>call:clock{} and then call:clock{}<tool_call|>"),
        ("llama", '{"name": "weather", "parameters": {"city": "Köln"}'),
        ("llama", '{"name": "Köln", "inhabitants": 1000000}, says the encyclopedia'),
        ("llama", '<|python_tag|>weather.call(city="Köln")'),
        ("minimax", '<minimax:tool_call><invoke name="clock"></invoke><invoke name="weather"></minimax:tool_call>'),
        ("kimi", "<|tool_calls_section_begin|><|tool_call_begin|>clock<|tool_call_end|><|tool_calls_section_end|>"),
        ("glm", "<tool_call></tool_call>"),
        ("glm", "<tool_call>the weather, please</tool_call>"),
        ("glm", '<tool_call>{"name":"weather","arguments":{</tool_call>'),
        ("glm", "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Köln</tool_call>"),
        ("mistral", "[TOOL_CALLS]weather[ARGS]{broken"),
        ("mistral", "[TOOL_CALLS]clock[ARGS]{} and then some text"),
    ],
)
def test_malformed_calls_are_text(family, text):
    assert read(family, text) == [text]
    assert "".join(read(family, text[:3000], range(1, len(text[:3000])))) == text[:3000]


def test_a_malformed_call_is_logged_without_its_text(caplog):
    with caplog.at_level(logging.WARNING):
        read("qwen3", "<tool_call>my secret</tool_call>")
    (record,) = caplog.records
    assert "can't be parsed" in record.getMessage() and "secret" not in record.getMessage()


@FAMILIES
def test_names_and_arguments_that_no_tool_has_are_passed_on(family):
    assert calls_in(read(family, written(family, [call("no_tool", {"city": "a", "odd": "b"})]))) == [
        ("no_tool", {"city": "a", "odd": "b"})
    ]


@pytest.mark.parametrize("family", ["qwen3_coder", "glm", "minimax"])
def test_values_take_the_types_of_the_schema(family):
    calls = [
        call("weather", {"city": "12", "days": "3", "note": "5"}),
        call("weather", {"city": "1", "days": "many"}),
        call("weather", {"days": str(2**60 + 1)}),
        call("weather", {"days": "NaN", "odd": "1e999"}),
        call("weather", {"days": "...", "odd": "[1, Infinity]"}),
        call("typed", {"sunny": "True", "hours": "['a']", "place": '{"a": 1}', "most": "7", "rain": "2.0"}),
    ]
    assert calls_in(read(family, written(family, calls))) == [
        ("weather", {"city": "12", "days": 3, "note": "5"}),
        ("weather", {"city": "1", "days": "many"}),
        ("weather", {"days": 2**60 + 1}),
        ("weather", {"days": "NaN", "odd": "1e999"}),
        ("weather", {"days": "...", "odd": "[1, Infinity]"}),
        ("typed", {"sunny": True, "hours": ["a"], "place": {"a": 1}, "most": 7, "rain": 2.0}),
    ]


def test_mistral_may_give_ids_and_json():
    for text in (
        '[TOOL_CALLS]clock[CALL_ID]a1[ARGS]{}[TOOL_CALLS]typed[CALL_ID]b2[ARGS]{"rain": 1}',
        '[TOOL_CALLS][{"name": "clock", "id": "a1"}, {"name": "typed", "id": "b2", "arguments": {"rain": 1}}]',
    ):
        calls = format_of("mistral").calls(text.removeprefix("[TOOL_CALLS]"), TOOLS)
        assert [(each.id, each.name, each.arguments) for each in calls] == [("a1", "clock", "{}"), ("b2", "typed", '{"rain": 1}')]


@pytest.mark.parametrize("family", CLOSED)
def test_markers_in_a_value_belong_to_the_value(family):
    form = format_of(family)
    inner = f"a {form.end} b {form.start}{form.end} c"
    assert calls_in(read(family, written(family, [call("weather", {"city": inner}), call("clock", {})]))) == [
        ("weather", {"city": inner}),
        ("clock", {}),
    ]


def test_a_call_that_a_file_quotes_is_not_made():
    quoted = written("qwen3_coder", [call("weather", {"city": "Köln"})])
    text = f"<tool_call>\n<function=write>\n<parameter=text>\n{quoted}"
    assert calls_in(read("qwen3_coder", text)) == []
    assert calls_in(read("qwen3", written("qwen3", [call("write", {"text": written("qwen3", [call("clock", {})])})]))) == [
        ("write", {"text": written("qwen3", [call("clock", {})])})
    ]


@pytest.mark.parametrize("family", ["qwen3", "qwen3_coder", "minimax", "glm"])
def test_a_call_after_a_malformed_one_is_read(family):
    form = format_of(family)
    text = f"{form.start}<oh{form.end}\n" + written(family, [call("clock", {})])
    assert calls_in(read(family, text)) == [("clock", {})]


@pytest.mark.parametrize("family", CLOSED)
def test_an_open_call_is_made_only_if_the_reply_is_complete(family):
    text = written(family, [call("weather", {"city": "Köln"})]).removesuffix(format_of(family).end)
    assert calls_in(read(family, text)) == [("weather", {"city": "Köln"})]
    assert read(family, text, ended=False) == [text]


def test_answers_in_json_are_not_calls():
    for text in ('{"city": "Köln"}', "{", '{"name"', '[{"name": 1}]', ' {\n "name": "weather", "parameters": {}} is a call'):
        assert "".join(read("llama", text)) == text
    assert calls_in(read("llama", '{ "name" : "clock", "parameters": {}}')) == [("clock", {})]
    assert calls_in(read("llama", '<|python_tag|>{"name": "clock", "parameters": {}}')) == [("clock", {})]


def test_only_what_may_begin_a_call_is_held_back():
    reader = CallReader(format_of("llama"), TOOLS)
    assert [part.text for part in reader.add('{"na')] == []
    assert [part.text for part in reader.add('mely": 1, ')] == ['{"namely": 1,']
    reader = CallReader(format_of("qwen3"), TOOLS)
    assert [part.text for part in reader.add("a <tool")] == ["a"]
    assert [part.text for part in reader.add(" b")] == [" <tool b"]


def test_calls_have_different_ids_or_those_of_the_model():
    reader = CallReader(format_of("qwen3"), TOOLS)
    found = [each.id for part in reader.add(written("qwen3", [call("clock", {})] * 3)) for each in part.calls]
    assert len(set(found)) == 3 and all(len(each) == 9 and each.isalnum() for each in found)
    reader = CallReader(format_of("kimi"), TOOLS)
    assert [each.id for part in reader.add(written("kimi", [call("clock", {})] * 2)) for each in part.calls] == [
        "functions.clock:0",
        "functions.clock:1",
    ]


@pytest.mark.parametrize(("text", "value"), [("3.0", 3), ("-0.0", 0), ("1e2", 100), ("3.5", "3.5")])
def test_integers_may_be_written_as_numbers_with_a_fraction(text: str, value: object) -> None:
    found = typed(text, frozenset({"integer"}))
    assert found == value and type(found) is type(value)
