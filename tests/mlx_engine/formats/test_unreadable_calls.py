"""Calls that can't be parsed: commits say which text belongs to them, and no text is lost or changed."""

import itertools
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mlx_engine.contract.events import Commit
from mlx_engine.formats.chat_prompt import RenderedPrompt
from mlx_engine.formats.reply_text import ReplyText
from tests.mlx_engine.formats.made_calls import FAMILIES, TOOLS, call, events_of, format_of, tokenizer_of, written
from tests.mlx_engine.formats.made_tokenizers import ids
from tests.mlx_engine.formats.test_reply_calls import heard, reply_with_calls

BLOCKS = st.lists(st.integers(1, 30), max_size=30)
STOPS = st.sampled_from([(), ("Köln",), ("see", "clock"), (".\n\n",), ("}",), (": ", '"')])
CLOSED = [family for family in FAMILIES if family not in ("gpt_oss", "llama", "mistral")]  # their blocks have an end
# Where the text of a call begins. Messages of gpt-oss begin with the tool's name, which was in the header.
BEGINNINGS = {family: re.escape(format_of(family).start) for family in FAMILIES}
BEGINNINGS |= {"llama": r'\{"name":', "gpt_oss": "(?:weather|clock) "}


def runs(family, tokens, blocks=(), stop=(), tools=TOOLS, ended=True):
    """Return the texts of the answer, and whether they belong to calls that can't be parsed."""
    events = events_of(ReplyText(tokenizer_of(family), RenderedPrompt([], [], []), stop, tools), tokens, blocks, ended)
    commits = [event for event in events if isinstance(event, Commit)]
    assert not any(commit.unreadable_call for commit in commits if commit.channel == "thinking" or not commit.text)
    assert all(sum(size for _, size in commit.runs) == len(commit.text) for commit in commits)
    found = [(commit.unreadable_call, commit.text) for commit in commits if commit.channel == "answer" and commit.text]
    return [(marked, "".join(text for _, text in group)) for marked, group in itertools.groupby(found, key=lambda run: run[0])]


def text_of(found):
    return "".join(text for _, text in found)


def answer_of(parts):
    return "".join(text for channel, text in parts if channel == "answer")


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
def test_the_text_of_a_cut_call_is_marked_from_its_beginning(family, data):
    tokens = reply_with_calls(family)
    tokens = tokens[: data.draw(st.integers(0, len(tokens)))]
    found = runs(family, tokens, data.draw(BLOCKS), ended=False)
    text = text_of(found)
    beginning = re.search(BEGINNINGS[family], text)
    expected = [(False, text[: beginning.start()]), (True, text[beginning.start() :])] if beginning else [(False, text)]
    assert found == [run for run in expected if run[1]]
    assert text == answer_of(heard(family, tokens, ended=False))


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
def test_marks_are_the_same_in_all_blocks_and_do_not_change_the_text(family, data):
    tokens = list(reply_with_calls(family))
    for _ in range(data.draw(st.integers(1, 3), "edits")):
        start, size = data.draw(st.integers(0, len(tokens))), data.draw(st.integers(0, 5))
        tokens[start : start + size] = data.draw(st.lists(st.sampled_from(sorted(set(tokens))), max_size=3))
    blocks, ended, stop = data.draw(BLOCKS), data.draw(st.booleans()), data.draw(STOPS)
    found = runs(family, tokens, blocks, stop, ended=ended)
    assert found == runs(family, tokens, stop=stop, ended=ended)
    assert text_of(found) == answer_of(heard(family, tokens, blocks, stop, ended=ended))


@st.composite
def damaged(draw, family):
    """Return the text of a block whose calls can't be parsed."""
    form = format_of(family)
    block = written(family, [call("weather", {"city": "Köln", "days": 3})]).strip()
    body = block.removeprefix(form.start).removesuffix(form.end)
    start, end = sorted((draw(st.integers(0, len(body))), draw(st.integers(0, len(body)))))
    body = body[:start] + draw(st.sampled_from(["", "x", " oh no ", "{", "😀"])) + body[end:]
    assume(not form.in_value(body) and not form.calls(body, []) and (form.end or body.strip()))
    return form.start + body + form.end


@pytest.mark.parametrize("family", CLOSED)
@given(data=st.data())
def test_only_the_text_of_damaged_calls_is_marked(family, data):
    """Prose, good calls, and damaged ones in any order."""
    good = written(family, [call("clock", {"city": "Köln"})]).strip()
    kinds = data.draw(st.lists(st.sampled_from(["prose", "good", "damaged"]), max_size=6))
    parts = [{"prose": "Let me see.", "good": good}.get(kind) or data.draw(damaged(family)) for kind in kinds]
    found = runs(family, ids(tokenizer_of(family), " ".join(parts)), data.draw(BLOCKS))
    marked, prose = ("".join(text for each, text in found if each is wanted) for wanted in (True, False))
    assert marked == "".join(part for kind, part in zip(kinds, parts, strict=True) if kind == "damaged")
    assert "".join(prose.split()) == "Letmesee." * kinds.count("prose")


@pytest.mark.parametrize("family", ["llama", "mistral"])
@given(data=st.data())
def test_a_damaged_call_without_an_end_is_marked_up_to_the_end_of_the_reply(family, data):
    start = format_of(family).start
    text = start + data.draw(st.sampled_from(["{", "[1]", "weather", "Köln {}", '{"name": 1}', "weather[ARGS]{"]))
    before = data.draw(st.sampled_from(["", "Let me see.", "Hm. "]))
    found = runs(family, ids(tokenizer_of(family), before + text), data.draw(BLOCKS))
    assert found == [run for run in ((False, before), (True, text)) if run[1]]


@pytest.mark.parametrize("body", ["{broken", "[1]", "Köln"])
def test_a_damaged_message_to_a_tool_is_marked_with_the_name_of_the_tool(body):
    header = "<|channel|>commentary to=functions.clock json<|message|>"
    message = "<|channel|>commentary<|message|>Let me see.<|end|><|start|>assistant"
    tokens = ids(tokenizer_of("gpt_oss"), f"{message}{header}{body}<|call|>")
    assert runs("gpt_oss", tokens) == [(False, "Let me see.\n\n"), (True, f"clock {body}")]
    assert runs("gpt_oss", tokens, tools=()) == [(False, f"Let me see.\n\nclock {body}")]


@pytest.mark.parametrize("family", FAMILIES)
def test_no_text_is_marked_if_the_request_has_no_tools(family):
    assert not any(marked for marked, _ in runs(family, reply_with_calls(family), tools=()))


def test_a_stop_sequence_ends_a_call_that_can_not_be_parsed():
    """The end of the text may be held back, because it may begin a stop sequence."""
    tokens = ids(tokenizer_of("qwen3"), "So: <tool_call>{broken</tool_call> Hm.")
    assert runs("qwen3", tokens, stop=("roke",)) == [(False, "So: "), (True, "<tool_call>{b")]
    assert runs("qwen3", tokens, stop=("call> H",)) == [(False, "So: "), (True, "<tool_call>{broken</tool_")]
    assert runs("qwen3", tokens, stop=(": <tool_call>",)) == [(False, "So")]
    assert runs("qwen3", tokens, stop=("call> no",)) == [(False, "So: "), (True, "<tool_call>{broken</tool_call>"), (False, " Hm.")]
