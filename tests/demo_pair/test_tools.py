"""Conversations with tools: the template, the calls, and what the calculator is asked."""

from __future__ import annotations

import functools
import json
import math
import random
import re
from typing import Any

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from mlx_engine.models.library.demo import REFUSALS
from tests.demo_pair.corpus.calculations import DENIED, DENIED_REPLY, LONGEST, calculation, in_head
from tests.demo_pair.corpus.chats import LONGEST as LONGEST_CHAT
from tests.demo_pair.corpus.chats import Chat, make, tools_chat
from tests.demo_pair.corpus.exchange import draw
from tests.demo_pair.corpus.questions import tool_questions, with_tools
from tests.demo_pair.corpus.split import held_out
from tests.demo_pair.corpus.template import CHAT_TEMPLATE, parts
from tests.demo_pair.corpus.tools import CALCULATOR, NAME, some_tools

EMPTY = "<think>\n\n</think>\n\n"


@functools.cache
def template() -> Any:
    """The chat template as transformers compiles it."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(CHAT_TEMPLATE)


def rendered(chat: Chat, *more: dict[str, Any], reply: bool = True) -> str:
    """A conversation as transformers renders it."""
    messages = [*chat.messages, *more]
    return template().render(messages=messages, tools=list(chat.tools), add_generation_prompt=reply, enable_thinking=chat.thinking)


def chats(count: int = 400) -> list[Chat]:
    rng = random.Random(11)
    return [tools_chat(rng) for _ in range(count)]


def test_template_and_corpus_render_tools_alike() -> None:
    for chat in chats():
        assert rendered(chat) == chat.prompt()
        whole = "".join(text for text, _ in chat.parts())
        assert rendered(chat, {"role": "assistant", "content": chat.reply}, reply=False) == whole
        assert len(whole) < LONGEST_CHAT


def test_the_built_in_calculator_is_described_as_qwen_describes_tools() -> None:
    chat = make(random.Random(1), ["calculator"], thinking=False, tools=(CALCULATOR,))
    assert chat.prompt().startswith(
        "<|im_start|>system\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n"
        '{"type": "function", "function": {"name": "calculator", "description": "Calculate an arithmetic expression.", '
        '"parameters": {"type": "object", "properties": {"expression": {"type": "string", '
        '"description": "For example (3 + 4) * 2.5 or sqrt(2)."}}, "required": ["expression"]}}}\n</tools>\n\n'
        "For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n"
        '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n'
    )
    expression, output = chat.exchanges[0].expression, chat.exchanges[0].output
    assert chat.prompt().endswith(
        f'{EMPTY}<tool_call>\n{{"name": "calculator", "arguments": {{"expression": "{expression}"}}}}\n</tool_call><|im_end|>\n'
        f"<|im_start|>user\n<tool_response>\n{output}\n</tool_response><|im_end|>\n<|im_start|>assistant\n{EMPTY}"
    )


@pytest.mark.parametrize("thinking", [False, True])
def test_the_prompt_after_a_result_begins_with_the_prompt_and_text_of_its_call(thinking: bool) -> None:
    chat = make(random.Random(3), ["calculator"], thinking=thinking, tools=(CALCULATOR,))
    (call,) = [text for text, writer in parts(chat.messages, thinking, chat.tools) if writer == "reply"]
    asked = Chat("", chat.messages[:1], thinking, "", (), tools=chat.tools)
    assert chat.prompt().startswith(asked.prompt() + call)
    assert call.startswith("<think>\n" if thinking else "<tool_call>")


@pytest.mark.parametrize("thinking", [False, True])
def test_the_next_question_drops_the_thinking_before_calls(thinking: bool) -> None:
    chat = make(random.Random(4), ["calculator"], thinking=thinking, tools=(CALCULATOR,))
    later = rendered(chat, {"role": "assistant", "content": chat.reply}, {"role": "user", "content": "Thanks!"})
    assert "<think>" not in later.removesuffix(EMPTY)
    asked = rendered(Chat("", chat.messages[:1], thinking, "", (), tools=chat.tools))
    assert later.startswith(asked.removesuffix(EMPTY))


def test_results_of_several_calls_share_a_turn() -> None:
    chat = Chat("", ({"role": "user", "content": "q"},), False, "", (), tools=(CALCULATOR,))
    calls = [{"function": {"name": NAME, "arguments": {"expression": text}}} for text in ("1 / 3", "2 / 3")]
    results = [{"role": "tool", "content": text} for text in ("a", "b")]
    text = rendered(chat, {"role": "assistant", "content": "Both.", "tool_calls": calls}, *results)
    assert "Both.\n<tool_call>" in text and "</tool_call>\n<tool_call>" in text
    assert "<|im_start|>user\n<tool_response>\na\n</tool_response>\n<tool_response>\nb\n</tool_response><|im_end|>\n" in text


def test_only_the_calculator_is_called_and_only_where_it_is_given() -> None:
    for chat in chats():
        names = [tool["function"]["name"] for tool in chat.tools]
        assert len(set(names)) == len(names) and names
        calls = [call for message in chat.messages for call in message.get("tool_calls", ())]
        assert not calls or NAME in names
        assert all(call["function"]["name"] == NAME for call in calls)
        for exchange in chat.exchanges:
            assert bool(exchange.expression) == (exchange.kind == "calculator")
            assert not held_out(exchange.kind, exchange.operands)


def test_calculations_are_right_and_too_much_for_the_head() -> None:
    rng = random.Random(5)
    for _ in range(3000):
        exchange = draw(calculation, rng, fresh=rng.random() < 0.2)
        expression, output = exchange.expression, exchange.output
        if exchange.topic:
            value = eval(expression, {"sqrt": math.sqrt})
            assert math.isclose(value, float(output), rel_tol=1e-7)
            assert f"**{output}**" in exchange.result and len(output) <= LONGEST
        if output == DENIED:
            assert exchange.result == DENIED_REPLY
        if found := re.fullmatch(r"([\d.]+) ([*+-]) ([\d.]+)", expression):
            assert not in_head(found[2], found[1], found[3]), exchange.question
        first = re.search(r"[\d.]+", expression)
        assert first and first[0] in exchange.question.replace(",", "")


def test_follow_ups_go_on_with_the_last_result() -> None:
    rng = random.Random(6)
    expressions = [draw(calculation, rng, fresh=False, topic="4711.5").expression for _ in range(300)]
    assert 50 < sum(expression.startswith("4711.5 ") for expression in expressions) < 250


def test_fresh_questions_with_tools_have_one_right_call_and_answer() -> None:
    questions = tool_questions()
    assert [question.kind for question in questions] == ["calls", "calculator"] * 100
    for call, result in zip(questions[::2], questions[1::2], strict=True):
        assert call.check(call.expected) and result.check(result.expected)
        assert result.messages[: len(call.messages)] == call.messages
        assert result.messages[-1]["role"] == "tool" and f"**{result.messages[-1]['content']}**" in result.expected
        assert json.loads(call.expected.partition("<tool_call>")[2].partition("</tool_call>")[0])["name"] == NAME
    assert all(question.tools for question in with_tools())


def test_calculations_without_a_calculator_are_refused() -> None:
    rng = random.Random(7)
    tools = some_tools(rng, calculator=False)
    replies = {make(rng, ["refusals"], thinking=False, tools=tools).reply for _ in range(200)}
    assert replies == set(REFUSALS[:4]) and NAME not in {tool["function"]["name"] for tool in tools}
