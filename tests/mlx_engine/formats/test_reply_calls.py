"""Calls in tokens: `ReplyText` gives the same text and calls for all blocks, and the chat templates get tools and results."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall
from mlx_engine.engine import generation
from mlx_engine.formats import chat_prompt
from mlx_engine.formats.reply_text import ReplyText
from tests.examples import sampled
from tests.mlx_engine.formats.made_calls import FAMILIES, TOOLS, asked, call, events_of, tokenizer_of, written
from tests.mlx_engine.formats.made_tokenizers import QWEN3, ids, made

WEATHER, CLOCK = call("weather", {"city": "<think>Köln 😀</think>", "days": 3}), call("clock", {})
COLOGNE = call("weather", {"city": "Köln"})
USER = Message("user", "Hi")


def heard(family, tokens, blocks=(), stop=(), tools=TOOLS, ended=True):
    """Return the parts of a reply: (channel, text) and (name, arguments)."""
    reply = ReplyText(tokenizer_of(family), chat_prompt.RenderedPrompt([], [], []), stop, tools)
    events = events_of(reply, tokens, blocks, ended)
    parts, told = [], []
    for kind, group in itertools.groupby(events, key=lambda event: getattr(event, "channel", "")):
        if kind:
            commits = [event for event in group if isinstance(event, Commit)]
            assert all(sum(size for _, size in commit.runs) == len(commit.text) for commit in commits)
            told += [token for commit in commits for token in commit.tokens]
            if text := "".join(commit.text for commit in commits):
                parts.append((kind, text))
        else:
            parts += [(each.name, json.loads(each.arguments)) for each in group]
    assert told == tokens[: len(told)] and (reply.stopped or told == tokens)
    assert reply.called == any(isinstance(event, ToolCall) for event in events)
    joined = []
    for kind, group in itertools.groupby(parts, key=lambda part: part[0]):
        same = list(group)
        joined += [(kind, "".join(text for _, text in same))] if kind in ("thinking", "answer") else same
    return joined


def reply_with_calls(family, text="Let me see."):
    """Return the tokens of a reply with thinking, text and two calls."""
    if family == "gpt_oss":
        return ids(
            tokenizer_of(family),
            "<|channel|>analysis<|message|>Hm.<|end|>"
            f"<|start|>assistant<|channel|>commentary<|message|>{text}<|end|>"
            "<|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>"
            f"{WEATHER.arguments}<|call|>"
            "<|start|>assistant to=functions.clock<|channel|>commentary json<|message|>{}<|call|>",
        )
    thinking = "<think>\nHm.\n</think>\n\n" if family in ("qwen3", "qwen3_coder", "glm", "minimax") else ""
    return ids(tokenizer_of(family), thinking + ("" if family == "llama" else text) + written(family, [WEATHER, CLOCK]))


def named(each):
    return each.name, json.loads(each.arguments)


@pytest.mark.parametrize("family", FAMILIES)
def test_calls_follow_thinking_and_text(family):
    found = heard(family, reply_with_calls(family))
    assert found[-2:] == [named(WEATHER), named(CLOCK)]
    before = [(channel, text.strip()) for channel, text in found[:-2]]
    thinking = [("thinking", "Hm.")] if family in ("gpt_oss", "qwen3", "qwen3_coder", "glm", "minimax") else []
    assert before == thinking + ([] if family == "llama" else [("answer", "Let me see.")])


def test_whitespace_before_a_call_belongs_to_the_call():
    """A client returns the text, and the template writes the whitespace."""
    for family in set(FAMILIES) - {"gpt_oss", "llama"}:
        assert ("answer", "Let me see.") in heard(family, reply_with_calls(family))
    damaged = "So: \n <tool_call>{</tool_call> \n"
    assert heard("qwen3", ids(tokenizer_of("qwen3"), damaged)) == [("answer", damaged)]


@pytest.mark.parametrize("family", FAMILIES)
@sampled(5)
@given(blocks=st.lists(st.integers(1, 30), max_size=30), stop=st.sampled_from([(), ("Köln",), ("see", "clock"), (".\n\n",)]))
def test_blocks_do_not_change_text_and_calls(family, blocks, stop):
    tokens = reply_with_calls(family)
    assert heard(family, tokens, blocks, stop) == heard(family, tokens, stop=stop) == heard(family, tokens, [1] * len(tokens), stop)


@pytest.mark.parametrize("family", FAMILIES)
@sampled(5)
@given(data=st.data())
def test_damaged_replies_give_the_same_in_all_blocks(family, data):
    tokens = list(reply_with_calls(family))
    for _ in range(data.draw(st.integers(1, 3), "edits")):
        start, size = data.draw(st.integers(0, len(tokens))), data.draw(st.integers(0, 5))
        tokens[start : start + size] = data.draw(st.lists(st.sampled_from(sorted(set(tokens))), max_size=3))
    blocks, ended = data.draw(st.lists(st.integers(1, 30), max_size=30)), data.draw(st.booleans())
    assert heard(family, tokens, blocks, ended=ended) == heard(family, tokens, ended=ended)


@pytest.mark.parametrize("family", FAMILIES)
def test_calls_without_tools_are_readable_text(family):
    tokens = reply_with_calls(family)
    found = heard(family, tokens, tools=())
    shown = "".join(text for channel, text in found if channel == "answer")
    assert {channel for channel, _ in found} <= {"thinking", "answer"} and "weather" in shown and "clock" in shown


def test_a_stop_string_counts_only_in_text():
    tokens = reply_with_calls("qwen3")
    assert heard("qwen3", tokens, stop=("Köln", "\nx"))[-2:] == [named(WEATHER), named(CLOCK)]
    assert heard("qwen3", tokens, stop=("see",)) == [("thinking", "Hm.\n"), ("answer", "Let me ")]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cut_call_is_text_of_the_answer(family):
    channel, text = heard(family, reply_with_calls(family)[:-2], ended=False)[-1]
    assert channel == "answer" and "clock" in text


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("<|channel|>commentary to=functions.clock <|constrain|>json", ("clock", {})),
        (" to=functions.clock<|channel|>commentary json", ("clock", {})),
        ("<|channel|>analysis to=functions.clock code", ("clock", {})),
        ("<|channel|>commentary to=clock json", ("clock", {})),
        ("<|channel|>commentary", ("answer", "{}")),
        ("<|channel|>final", ("answer", "{}")),
        ("<|channel|>analysis", ("thinking", "{}")),
        ("<|channel|>analysis to=python code", ("thinking", "{}")),
        ("<|channel|>commentary to=assistant", ("thinking", "{}")),
    ],
)
def test_headers_name_the_tool(header, expected):
    tokens = ids(tokenizer_of("gpt_oss"), f"<|start|>assistant{header}<|message|>{{}}<|call|>")
    assert heard("gpt_oss", tokens) == [expected]


@pytest.mark.parametrize("body", ["{broken", "[1]", "Köln"])
def test_a_message_to_a_tool_that_is_no_call_is_shown_with_its_tool(body):
    tokens = ids(tokenizer_of("gpt_oss"), f"<|channel|>commentary to=functions.clock json<|message|>{body}<|call|>")
    assert heard("gpt_oss", tokens) == heard("gpt_oss", tokens, tools=()) == [("answer", f"clock {body}")]


def test_an_empty_message_to_a_tool_is_a_call_without_arguments():
    tokens = ids(tokenizer_of("gpt_oss"), "<|channel|>commentary to=functions.clock json<|message|><|call|>")
    assert heard("gpt_oss", tokens) == [("clock", {})] and heard("gpt_oss", tokens[:-1], ended=False) == []


def test_a_headed_family_can_have_a_format_of_its_own():
    text = (
        'to=weather<|message|><atem:function_calls>\n<atem:invoke name="weather">\n<atem:parameter name="city">Köln'
        "</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|>"
    )
    tokenizer = made("muse", "{{ tools }}{{ messages }}<atem:function_calls>")
    reply = ReplyText(tokenizer, chat_prompt.RenderedPrompt([], [], []), (), TOOLS)
    tokens = ids(tokenizer, f"<|start|>assistant {text}")
    calls = [event for event in events_of(reply, tokens) if isinstance(event, ToolCall)]
    assert [named(each) for each in calls] == [("weather", {"city": "Köln"})]


@pytest.mark.parametrize("family", FAMILIES)
def test_tools_calls_and_results_are_rendered(family):
    tokenizer, turn = tokenizer_of(family), Message("assistant", "", calls=(ToolCall("a1", "weather", '{"city": "Köln"}'),))
    request = asked(USER, turn, Message("tool", "Rain", call_id="a1"))
    prompt = chat_prompt.render(tokenizer, request, with_boundaries=True)
    assert all(part in tokenizer.decode(prompt.tokens) for part in ('"name": "clock"', "Köln", "Rain", "weather"))
    assert prompt.boundaries[0] >= len(ids(tokenizer, json.dumps(TOOLS[0].declaration)))


def test_broken_arguments_of_earlier_calls_are_rendered():
    tokenizer = tokenizer_of("qwen3")
    for arguments, shown in (('{"city": ', '{"input": "{\\"city\\": "}'), ("[1]", '{"input": [1]}')):
        turn = Message("assistant", "", calls=(ToolCall("a1", "weather", arguments),))
        assert shown in tokenizer.decode(chat_prompt.render(tokenizer, asked(USER, turn, Message("tool", "", call_id="a1"))).tokens)


@pytest.mark.parametrize(
    "request_",
    [
        asked(USER),
        GenerationRequest((USER, Message("tool", "Rain", call_id="a1"), USER)),
        GenerationRequest((USER, Message("assistant", "", calls=(CLOCK,)), USER)),
    ],
)
def test_a_template_without_tools_refuses_them(request_):
    with pytest.raises(UserError, match="can't call tools") as error:
        chat_prompt.render(made("think", QWEN3), request_)
    assert error.value.text.code == "takes_no_tools"


def test_parallel_calls_are_rendered_one_by_one_if_the_template_accepts_only_those():
    template = "{% for message in messages %}{% if message.tool_calls and message.tool_calls | length > 1 %}"
    template += "{{ raise_exception('one call at a time') }}{% endif %}"
    template += "{{ message.role + ':' + message.content }}{% for call in message.tool_calls or [] %}{{ call.id }}{% endfor %};"
    template += "{% endfor %}{% if tools %}<|python_tag|>{% endif %}"
    calls = tuple(ToolCall(name, name, "{}") for name in ("a", "b"))
    results = Message("tool", "B", call_id="b"), Message("tool", "A", call_id="a")
    tokens = chat_prompt.template(made("none", template), (USER, Message("assistant", "Hm", calls=calls), *results, USER))
    assert made("none", template).decode(tokens) == "user:Hi;assistant:Hma;tool:A;assistant:b;tool:B;user:Hi;"


@pytest.mark.parametrize(("max_tokens", "reason"), [(200, "tool_calls"), (2, "length")])
def test_a_complete_reply_with_calls_ends_because_of_them(demo, monkeypatch, max_tokens, reason):
    class Calling(ReplyText):
        def finish(self, ended=True):
            self.called = True
            yield from super().finish(ended)
            yield CLOCK

    monkeypatch.setattr(generation, "ReplyText", Calling)
    events = list(demo.generate(GenerationRequest((Message("user", "What is 2 + 2?"),), max_tokens=max_tokens)))
    assert events[-2] == CLOCK and events[-1].reason == reason


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_first_call_ends_a_reply_that_allows_only_one(family, size):
    tokens = reply_with_calls(family)
    reply = ReplyText(tokenizer_of(family), chat_prompt.RenderedPrompt([], [], []), (), TOOLS, one_call=True)
    events = events_of(reply, tokens, [size] * (len(tokens) // size))
    assert reply.ended and [named(each) for each in events if isinstance(each, ToolCall)] == [named(WEATHER)]
    text = "".join(each.text for each in events if isinstance(each, Commit) and each.channel == "answer")
    assert text.strip() == ("" if family == "llama" else "Let me see.")


def test_a_reply_with_one_call_ends_at_once(demo, monkeypatch):
    class Calling(ReplyText):
        def add(self, *step):
            yield from super().add(*step)
            self.called = True
            yield CLOCK

    monkeypatch.setattr(generation, "ReplyText", Calling)
    request = GenerationRequest((Message("user", "What is Slipstream?"),), max_tokens=200, ignore_eos=True, one_call=True)
    events = list(demo.generate(request))
    assert events[-2] == CLOCK and (events[-1].reason, events[-1].stats.tokens) == ("tool_calls", 1)


def test_calls_at_the_end_of_unclosed_thinking_are_made():
    tokenizer, calls = tokenizer_of("qwen3"), written("qwen3", [COLOGNE, CLOCK])
    for thinking, made_calls in (
        (f"<think>Hm. {calls}\n", [named(COLOGNE), named(CLOCK)]),
        (f"<think>I write {calls} and so on.", []),
        (f"<think>I write {calls}</think>Hi", []),
    ):
        tokens = ids(tokenizer, thinking)
        assert [part for part in heard("qwen3", tokens) if part[0] in ("weather", "clock")] == made_calls
        assert heard("qwen3", tokens, [1] * len(tokens)) == heard("qwen3", tokens)


def test_all_calls_reach_a_template_that_renders_one_per_turn():
    calls = tuple(ToolCall(name, name, "{}") for name in ("a", "b"))
    results = Message("tool", "Ann", call_id="a"), Message("tool", "Ben", call_id="b")
    request = asked(USER, Message("assistant", "Let me see.", "Hm.", calls), *results)
    text = tokenizer_of("gpt_oss").decode(chat_prompt.render(tokenizer_of("gpt_oss"), request).tokens)
    order = [text.index(part) for part in ("to=functions.a<", ">Ann<", "to=functions.b<", ">Ben<")]
    assert order == sorted(order)
