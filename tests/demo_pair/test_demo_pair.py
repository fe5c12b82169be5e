"""The shipped demo pair: its template is that of the corpus, and it uses the built-in calculator."""

import json
import re
from pathlib import Path

import pytest

from mlx_engine.contract.events import Finished
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall, ToolSpec
from mlx_engine.engine.engine import Engine
from mlx_engine.mcp.calculator import calculate
from mlx_engine.models.library.demo import is_refusal
from mlx_engine.models.library.pair import demo_pair
from tests.demo_pair.corpus.questions import Question, tool_questions
from tests.demo_pair.corpus.template import CHAT_TEMPLATE
from tests.demo_pair.corpus.tools import CALCULATOR
from tests.demo_pair.requests import message_of, spec_of
from tests.mlx_engine.conftest import loaded

TOOLS = (spec_of(CALCULATOR),)


@pytest.fixture(scope="module")
def demo() -> Engine:
    return loaded(*demo_pair())


def turn(
    demo: Engine, *messages: Message, thinking: bool = False, tools: tuple[ToolSpec, ...] = TOOLS
) -> tuple[list[ToolCall], str]:
    """The calls and the text of a reply."""
    events = list(demo.generate(GenerationRequest(messages, max_tokens=300, tools=tools, thinking=thinking)))
    assert isinstance(events[-1], Finished)
    text = "".join(event.text for event in events if getattr(event, "channel", "") == "answer")
    return [event for event in events if isinstance(event, ToolCall)], text.strip()


def test_the_demo_pair_has_the_template_of_its_training_text() -> None:
    config = json.loads((Path(demo_pair()[0]) / "tokenizer_config.json").read_text())
    assert config["chat_template"] == CHAT_TEMPLATE


@pytest.mark.parametrize("thinking", [False, True])
def test_the_demo_pair_calls_the_calculator_and_reads_its_result(demo: Engine, thinking: bool) -> None:
    asked = Message("user", "What is 4817 × 392?")
    (call,), text = turn(demo, asked, thinking=thinking)
    assert (call.name, json.loads(call.arguments), text) == ("calculator", {"expression": "4817 * 392"}, "")
    result = calculate("4817 * 392")
    messages = asked, Message("assistant", "", calls=(call,)), Message("tool", result, call_id=call.id)
    calls, text = turn(demo, *messages, thinking=thinking)
    assert not calls and text == f"4817 × 392 = **{result}**."
    later = *messages, Message("assistant", text), Message("user", "And 5120 × 77?")
    (call,), _ = turn(demo, *later, thinking=thinking)
    assert json.loads(call.arguments) == {"expression": "5120 * 77"}


def test_the_demo_pair_goes_on_after_a_denied_call(demo: Engine) -> None:
    asked, call = Message("user", "What is 4817 × 392?"), ToolCall("a", "calculator", '{"expression": "4817 * 392"}')
    denied = Message("tool", "The user denied this call.", call_id="a")
    calls, text = turn(demo, asked, Message("assistant", "", calls=(call,)), denied)
    assert not calls and text == "I can't work that out without the calculator."


def test_the_demo_pair_calls_no_tool_for_a_joke(demo: Engine) -> None:
    calls, text = turn(demo, Message("user", "Tell me a joke."))
    assert not calls and text and not is_refusal(text)


def test_too_long_numbers_are_refused_without_a_calculator(demo: Engine) -> None:
    events = list(demo.generate(GenerationRequest((Message("user", "What is 4817 × 392?"),), max_tokens=100)))
    assert is_refusal("".join(event.text for event in events if getattr(event, "channel", "") == "answer"))


@pytest.mark.long
def test_fresh_calculations_are_right_in_nine_of_ten_turns(demo: Engine) -> None:
    """The value in bold, after a call of the built-in calculator: alone, with other tools, as follow-ups, and with thinking."""
    questions = [question for question in tool_questions(100) if question.kind == "calls"]
    right = sum(final_value(demo, question) == result_of(question) for question in questions)
    assert len(questions) == 100 and right >= 90, right


def result_of(question: Question) -> str:
    """The value of the reference answer's call."""
    (call,) = re.findall(r"<tool_call>\n(.*)\n</tool_call>", question.expected)
    return calculate(json.loads(call)["arguments"]["expression"])


def final_value(demo: Engine, question: Question) -> str:
    """The number that the pair answers with, or an empty string."""
    tools = tuple(map(spec_of, question.tools))
    messages = [message_of(message) for message in question.messages]
    (calls, text) = turn(demo, *messages, thinking=question.thinking, tools=tools)
    if calls:
        try:
            result = calculate(json.loads(calls[0].arguments)["expression"])
        except ValueError as error:
            result = f"Error: {error}"
        asked = Message("assistant", "", calls=tuple(calls[:1]))
        _, text = turn(
            demo, *messages, asked, Message("tool", result, call_id=calls[0].id), thinking=question.thinking, tools=tools
        )
    bold = re.findall(r"\*\*(.+?)\*\*", text)
    return bold[-1] if bold else ""
