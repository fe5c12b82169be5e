"""The corpus: held-out questions, the chat template, and well-formed answers."""

from __future__ import annotations

import functools
import random
import re
from collections import Counter
from typing import Any

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markdown_it import MarkdownIt

from mlx_engine.models.library.demo import REFUSAL, REFUSALS, is_refusal
from tests.demo_pair.corpus import practice, styles
from tests.demo_pair.corpus.arithmetic import divisors_of
from tests.demo_pair.corpus.chats import KINDS, Chat, follow_up, make, training_chat
from tests.demo_pair.corpus.exchange import draw
from tests.demo_pair.corpus.facts import KNOWN, plain
from tests.demo_pair.corpus.functions import FUNCTIONS, function_of
from tests.demo_pair.corpus.measures import decimal
from tests.demo_pair.corpus.questions import QUESTION_KINDS, fresh_questions, fresh_refusals, newcomers
from tests.demo_pair.corpus.sequences import FIXED_LISTS
from tests.demo_pair.corpus.split import held_out
from tests.demo_pair.corpus.template import CHAT_TEMPLATE, prompt, without_thinking

SEED = 1  # the default of `python -m tests.demo_pair`
CHATS = 130_000


@functools.cache
def training_text() -> tuple[Chat, ...]:
    """A tenth of the default training text, from its beginning."""
    rng = random.Random(SEED)
    return tuple(training_chat(rng) for _ in range(CHATS // 10))


@functools.cache
def template() -> Any:
    """The chat template as transformers compiles it."""
    return ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(CHAT_TEMPLATE)


def test_training_text_asks_nothing_that_is_held_out() -> None:
    for chat in training_text():
        for exchange in chat.exchanges:
            assert not held_out(exchange.kind, exchange.operands), exchange.question
        if chat.style is not None and (chat.style.before or chat.style.after):
            assert not held_out("system", (chat.style.system,))


def test_fresh_questions_share_no_operands_with_the_training_text() -> None:
    asked = {(e.kind, e.operands) for chat in training_text() for e in chat.exchanges}
    rng = random.Random(5)
    for name, (maker, _) in KINDS.items():
        for _ in range(50):
            exchange = draw(maker, rng, fresh=True)
            assert (exchange.kind, exchange.operands) not in asked, name


def test_fresh_questions_are_equally_many_of_each_kind_and_begin_with_196() -> None:
    questions = fresh_questions(300)
    assert questions[0].messages[-1]["content"] == "How many positive whole-number divisors does 196 have?"
    assert "**9**" in questions[0].expected
    counts = [sum(question.kind == kind for question in questions) for kind in QUESTION_KINDS]
    assert counts == [12] * 25
    assert questions == fresh_questions(300)
    assert all(question.check(question.expected) for question in questions)
    assert not questions[0].check(questions[0].expected.replace("**9**", "**8**"))


def test_divisors_are_counted_right() -> None:
    for n in range(2, 1000):
        truth = sum(n % d == 0 for d in range(1, n + 1))
        exchange = divisors_of(n, "")
        assert f"**{truth}**" in exchange.result
        for left, p, q, rest in re.findall(r"(\d+) = (\d+) × (\d+) \+ (\d+)", exchange.work):
            assert int(left) == int(p) * int(q) + int(rest)


def test_every_step_of_arithmetic_is_true() -> None:
    rng = random.Random(9)
    for kind in ("sums", "multiplication", "conversion", "percentages"):
        for _ in range(500):
            exchange = draw(KINDS[kind][0], rng, fresh=rng.random() < 0.5)
            steps = re.findall(r"(?<!÷ )(?<![\d.])(\d[\d +×-]*) = (-?\d+)(?![\d.])", exchange.work)
            assert steps
            for left, right in steps:
                assert eval(left.replace("×", "*")) == int(right), exchange.work


def test_comparisons_primes_and_reversed_words_are_right() -> None:
    rng = random.Random(4)
    for _ in range(500):
        exchange = draw(KINDS["comparison"][0], rng, fresh=False)
        a, b = map(int, exchange.operands[1:])
        larger = exchange.topic.endswith("larger")
        if exchange.topic.startswith("is"):
            assert exchange.result.startswith("**Yes**") == (a > b if larger else a < b)
        else:
            assert f"**{'equal' if a == b else max(a, b) if larger else min(a, b)}**" in exchange.result
        exchange = draw(KINDS["divisors"][0], rng, fresh=False)
        if exchange.topic == "prime":
            n = int(exchange.operands[1])
            assert exchange.result.startswith("Yes") == all(n % d for d in range(2, n))
        exchange = draw(KINDS["reversing"][0], rng, fresh=False)
        assert f"**{exchange.operands[0][::-1]}**" in exchange.result


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_run_and_do_what_their_note_says(name: str) -> None:
    answer = function_of(name, "Python", "").result
    code, note = answer.split("```python\n")[1].split("\n```")
    scope: dict[str, Any] = {}
    exec(code, scope)
    for call, value in re.findall(r"`(\w+\(.*?\))` is `(.*?)`", note):
        assert eval(call, scope) == eval(value)
    script = function_of(name, "JavaScript", "").result.split("```javascript\n")[1].split("\n```")[0]
    assert all(script.count(left) == script.count(right) for left, right in ("()", "{}", "[]"))


def test_every_question_of_no_kind_is_refused_and_never_known() -> None:
    rng = random.Random(6)
    for fresh in (False, True):
        asked = [draw(KINDS["refusals"][0], rng, fresh) for _ in range(500)]
        assert {exchange.answer(thinking=False) for exchange in asked} == set(REFUSALS[:4])
        assert not any(plain(exchange.question) in KNOWN for exchange in asked)
    assert all(is_refusal(question.expected) for question in fresh_refusals())


def test_questions_written_by_hand_are_a_hundred_to_answer_and_a_hundred_to_refuse() -> None:
    counts = Counter(question.kind for question in newcomers())
    assert counts == {"newcomers": 100, "out of scope": 100}
    asked = {e.question.lower().strip("?.! ") for chat in training_text() for e in chat.exchanges}
    for question in newcomers():
        assert question.check(REFUSAL) == (question.kind == "out of scope")
        if question.kind == "out of scope":
            assert question.messages[0]["content"].lower().strip("?.! ") not in asked


@pytest.mark.parametrize("kind", practice.MAKERS)
def test_practice_asks_questions_of_its_kind_but_none_that_is_held_out_or_written_by_hand(kind: str) -> None:
    rng = random.Random(9)
    usual = KINDS[kind][0]
    makers = (practice.practiced(kind, usual, rng) for _ in range(400))
    asked = [draw(maker, rng, fresh=False) for maker in makers if maker is not usual]
    assert len(asked) > 50 and {exchange.kind for exchange in asked} == {kind}
    assert not any(held_out(kind, exchange.operands) for exchange in asked)
    by_hand = {question.messages[0]["content"].lower().strip("?.! ") for question in newcomers()}
    assert not by_hand & {exchange.question.lower().strip("?.! ") for exchange in asked}


def test_days_and_months_in_practice_have_their_right_neighbors() -> None:
    rng = random.Random(10)
    asked = [practice.MAKERS["lists"][0](rng, None) for _ in range(400)]
    for exchange in (exchange for exchange in asked if exchange.result.startswith("**")):
        found = re.fullmatch(r"\*\*(\w+)\*\* comes (after|before) (\w+)\.", exchange.result)
        assert found
        other, side, item = found.groups()
        items = next(items for items in FIXED_LISTS.values() if item in items)
        assert items.index(other) == (items.index(item) + (1 if side == "after" else -1)) % len(items)
        begins = exchange.question.startswith(item)  # "Monday is before which day?"
        assert (side in exchange.question) != begins, exchange.question


def test_any_joke_is_right_unless_its_topic_was_named_or_it_was_just_told() -> None:
    rng = random.Random(8)
    chat = make(rng, ["jokes", "follow-up"], thinking=False)
    told = chat.exchanges[0].result.rpartition("\n")[2]
    replies = chat.right_replies()
    assert len(replies) > 10 and len(set(replies)) == len(replies) and not any(told in reply for reply in replies)


def test_decimals_drop_their_trailing_zeros() -> None:
    assert [decimal(n, 2) for n in (8400, 8430, 8435, 5, 50, 0)] == ["84", "84.3", "84.35", "0.05", "0.5", "0"]


def test_answers_are_well_formed_markdown() -> None:
    markdown = MarkdownIt("commonmark").enable("table")
    for chat in training_text()[:4000]:
        shown = without_thinking(chat.reply)
        assert chat.reply.count("<think>") == chat.reply.count("</think>") == int(chat.thinking)
        assert shown and shown == shown.strip()
        assert shown.count("```") % 2 == 0
        rendered = markdown.render(shown)
        assert "**" not in re.sub(r"<pre>.*?</pre>", "", rendered, flags=re.DOTALL)
        if chat.exchanges[-1].kind == "tables" and chat.kind != "remark":
            assert rendered.count("<tr>") == int(chat.exchanges[-1].operands[1]) + 1


def test_styles_keep_the_think_block_first() -> None:
    style = styles.Style("s", "Ahoy!", "Arr!")
    assert style.apply("<think>\nw\n</think>\n\nr") == "<think>\nw\n</think>\n\nAhoy!\n\nr\n\nArr!"
    assert style.apply("r") == "Ahoy!\n\nr\n\nArr!"


@pytest.mark.parametrize("thinking", [False, True])
def test_template_and_corpus_render_alike(thinking: bool) -> None:
    rng = random.Random(2)
    for _ in range(40):
        chat = follow_up(rng, thinking=thinking, fresh=False)
        rendered = template().render(messages=chat.messages, add_generation_prompt=True, enable_thinking=thinking)
        assert rendered == prompt(list(chat.messages), thinking) == chat.prompt()


def test_thinking_is_off_where_the_switch_is_not_given() -> None:
    messages = [{"role": "user", "content": "Hello!"}]
    off = template().render(messages=messages, add_generation_prompt=True, enable_thinking=False)
    assert template().render(messages=messages, add_generation_prompt=True) == off
    assert off.endswith("<think>\n\n</think>\n\n")


@pytest.mark.parametrize("thinking", [False, True])
def test_history_drops_the_thinking_and_earlier_turns_render_alike(thinking: bool) -> None:
    chat = make(random.Random(3), ["divisors", "follow-up"], thinking=thinking)
    question, answer = dict(chat.messages[0]), chat.exchanges[0].answer(thinking)
    first = template().render(messages=[question], add_generation_prompt=True, enable_thinking=thinking)
    whole = template().render(messages=[question, {"role": "assistant", "content": answer}], enable_thinking=thinking)
    assert whole == first + answer + "<|im_end|>\n"
    later = template().render(
        messages=[question, {"role": "assistant", "content": answer}, dict(chat.messages[2])],
        add_generation_prompt=True,
        enable_thinking=thinking,
    )
    assert "<think>" not in later.removesuffix("<think>\n\n</think>\n\n")
    assert later == chat.prompt()
    reply = {"role": "assistant", "content": chat.reply}
    third = {"role": "user", "content": "Thanks!"}
    last = template().render(messages=[*chat.messages, reply, third], add_generation_prompt=True, enable_thinking=thinking)
    assert last.startswith(later.removesuffix("<think>\n\n</think>\n\n"))
