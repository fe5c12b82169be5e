"""The shipped demo pair: its template is that of the corpus, and it uses the built-in calculator."""

import json
from pathlib import Path

import pytest

from mlx_engine.engine import Engine
from mlx_engine.events import Finished
from mlx_engine.pairs.demo import is_refusal
from mlx_engine.pairs.pair import demo_pair
from mlx_engine.requests import GenerationRequest, Message, ToolCall
from mlx_engine.tools.builtin.calculator import calculate
from tests.mlx_engine.conftest import loaded
from training.corpus.template import CHAT_TEMPLATE
from training.corpus.tools import CALCULATOR

TOOLS = (json.dumps(CALCULATOR),)


@pytest.fixture(scope="module")
def demo() -> Engine:
    return loaded(*demo_pair())


def turn(demo: Engine, *messages: Message, thinking: bool = False) -> tuple[list[ToolCall], str]:
    """The calls and the text of a reply."""
    events = list(demo.generate(GenerationRequest(messages, max_tokens=300, tools=TOOLS, thinking=thinking)))
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
