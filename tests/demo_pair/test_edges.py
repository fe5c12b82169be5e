"""The edges of the kinds, the newer kinds, what is refused next to them, and remarks: every answer is true."""

from __future__ import annotations

import calendar
import random
import re
from decimal import Decimal
from typing import Any

import pytest

from mlx_engine.models.library.demo import CALCULATOR_REFUSAL, CHINESE_REFUSAL, GERMAN_REFUSAL, REFUSALS, TWO_QUESTIONS_REFUSAL
from tests.demo_pair.corpus import commands, division, edges, facts, foreign, fun, letters, remarks, turned_down, units_back
from tests.demo_pair.corpus.calculations import ZERO_REPLY
from tests.demo_pair.corpus.chats import KINDS, dialog, make
from tests.demo_pair.corpus.dates import DAYS, MONTHS, PLACES, dates
from tests.demo_pair.corpus.exchange import Exchange, Maker, draw
from tests.demo_pair.corpus.numbers import in_words
from tests.demo_pair.corpus.questions import dialogs, neighbors
from tests.demo_pair.corpus.sequences import FIXED_LISTS

UNFILLED = re.compile(r"[{}\[\]|]|<[a-z]")
FACTORS: dict[str, Any] = {
    "kilometers to miles": 0.6214, "pounds to kilograms": 0.4536, "centimeters to inches": 0.3937, "meters to feet": 3.2808,
    "feet to meters": 0.3048, "gallons to liters": 3.785, "liters to gallons": 0.2642, "ounces to grams": 28.35,
    "meters to kilometers": 0.001, "centimeters to meters": 0.01, "millimeters to centimeters": 0.1, "grams to kilograms": 0.001,
    "milliliters to liters": 0.001,
}  # fmt: skip


def asked(maker: Maker, count: int = 300, topic: str | None = None) -> list[Exchange]:
    rng = random.Random(12)
    return [draw(maker, rng, fresh=rng.random() < 0.3, topic=topic) for _ in range(count)]


def bold(exchange: Exchange) -> str:
    """The result."""
    (found,) = re.findall(r"\*\*(.+?)\*\*", exchange.result)
    return found


@pytest.mark.parametrize("kind", ["sums", "multiplication"])
def test_sums_and_products_in_words_are_right(kind: str) -> None:
    for exchange in asked(edges.EDGES[kind]):
        sign, a, b = exchange.operands
        assert int(bold(exchange)) == eval(f"{a} {sign.replace('×', '*')} {b}")
        typed = exchange.question.lower().replace("-", " ")
        for number in (a, b):
            assert number in typed or in_words(int(number)).replace("-", " ") in typed, exchange.question


def test_decimals_are_compared_right() -> None:
    for exchange in asked(edges.comparison):
        a, b = map(Decimal, exchange.operands[1:])
        larger = exchange.topic.endswith("larger")
        assert bold(exchange) == "equal" if a == b else Decimal(bold(exchange)) == (max(a, b) if larger else min(a, b))
    assert edges.compared("9.11", "9.9")[1] < 0 < edges.compared("10.5", "9.9")[1]


def test_conversions_to_other_units_are_right_within_two_percent() -> None:
    whole = {"days": 7, "hours": 24, "minutes": 60, "seconds": 60, "months": 12, "inches": 12}
    for exchange in asked(units_back.units_back, 800):
        topic, n = exchange.operands
        result = bold(exchange)
        if topic in ("fahrenheit", "celsius"):
            value = float(result.split()[0])
            exact = (float(n) - 32) / 1.8 if topic == "fahrenheit" else float(n) * 1.8 + 32
            assert abs(value - exact) <= (0.5 if topic == "fahrenheit" else 0.01), exchange.result
        elif topic.startswith("whole"):
            numbers = dict(reversed(part.split(" ", 1)) for part in result.split(" and "))
            unit = topic.split()[1]
            (low,) = [int(number) for name, number in numbers.items() if name.startswith((unit[:-1], "inch"))] or [0]
            (high,) = [int(number) for name, number in numbers.items() if not name.startswith((unit[:-1], "inch"))] or [0]
            assert high * whole[unit] + low == int(n), exchange.result
        else:
            unit, to = topic.split()[1], result.split()[1]
            exact = int(n) * FACTORS[f"{unit} to {to}"]
            assert float(result.split()[0]) == pytest.approx(exact, rel=0.02), exchange.result  # the factors are rounded


def test_quotients_roots_parts_and_parity_are_right() -> None:
    for exchange in asked(division.division, 800):
        numbers = [int(number) for number in re.findall(r"\d+", exchange.result)]
        if exchange.result == ZERO_REPLY:
            assert exchange.operands[2] == "0"
        elif exchange.topic == "even":
            assert bold(exchange) == ("odd" if numbers[0] % 2 else "even")
        elif exchange.topic == "root":
            assert numbers[1] ** 2 == numbers[0]
        elif exchange.topic == "fraction":
            found, exact = bold(exchange), eval(re.findall(r"\d+/\d+", exchange.result)[0])
            assert float(found.rstrip("%")) == pytest.approx(100 * exact if found.endswith("%") else exact)
        elif "×" in exchange.result:
            assert numbers[0] * numbers[1] == numbers[2]
        else:
            assert divmod(numbers[0], numbers[1]) == (numbers[2], numbers[3] if len(numbers) > 3 else 0)


def test_dates_are_right() -> None:
    for exchange in asked(dates, 800):
        numbers = [int(number) for number in re.findall(r"\d+", exchange.result)]
        if exchange.topic == "after":
            day, n, side = exchange.operands
            assert bold(exchange) == DAYS[(DAYS.index(day) + (int(n) if side == "after" else -int(n))) % 7]
        elif exchange.topic == "leap":
            assert exchange.result.startswith("Yes") == calendar.isleap(numbers[0])
        elif exchange.topic == "place":
            one = next(name for name in PLACES if f"he {name} number" in exchange.result)
            items = FIXED_LISTS[PLACES[one]]
            item = bold(exchange) if exchange.result.startswith("The") else exchange.result.removeprefix("So ").split(" is the ")[0]
            assert items.index(item) + 1 == numbers[0]
        elif exchange.topic == "length" and "|" not in exchange.result:
            month = exchange.result.split()[0]
            assert int(bold(exchange)) == calendar.monthrange(2023, MONTHS.index(month) + 1)[1]


def test_letters_are_counted_right() -> None:
    for exchange in asked(letters.letters):
        word = exchange.operands[-1]
        count = len(word) if len(exchange.operands) == 1 else word.count(exchange.operands[0])
        assert int(bold(exchange)) == count and len(word) <= letters.LONGEST


@pytest.mark.parametrize("kind", ["reversing", "spelling"])
def test_longer_words_are_reversed_and_spelled_right(kind: str) -> None:
    for exchange in asked(edges.EDGES[kind]):
        word = re.findall(r"So (\w+) ", exchange.result)[0]
        assert bold(exchange) == (word[::-1] if kind == "reversing" else "-".join(word))


@pytest.mark.parametrize("kind", [*edges.EDGES, "division", "dates", "letters", "facts", "commands", "foreign"])
def test_edges_and_newer_kinds_keep_their_kind_and_fill_every_pattern(kind: str) -> None:
    for exchange in asked(edges.EDGES.get(kind) or KINDS[kind][0]):
        assert exchange.kind == kind
        assert not UNFILLED.search(exchange.question), exchange.question


def test_questions_next_to_a_kind_are_refused_and_fill_every_pattern() -> None:
    found = {exchange.result: exchange for exchange in asked(turned_down.turned_down, 300)}
    assert set(found) == set(REFUSALS[:4])
    for exchange in asked(turned_down.turned_down, 500):
        assert not UNFILLED.search(exchange.question), exchange.question


def test_easy_calculations_are_never_left_to_the_calculator() -> None:
    assert (
        turned_down.easy("84 / 12")
        and turned_down.easy("sqrt(144)")
        and not turned_down.easy("84 / 13")
        and not turned_down.easy("sqrt(145)")
    )
    rng = random.Random(3)
    for _ in range(2000):
        question = turned_down.hard(rng).question
        if found := re.fullmatch(r"(?:What is )?(\d+) (?:/|÷|divided by) (\d+)\??", question):
            assert not division.in_head(int(found[1]), int(found[2])), question


def test_facts_and_commands_have_no_question_in_common() -> None:
    asked_for = [facts.plain(exchange.question) for exchange in asked(commands.commands)]
    assert not facts.KNOWN & set(asked_for)
    texts = [text for text, _ in (*commands.SQL.values(), *commands.SHELL.values())]
    assert len(set(texts)) == len(texts)


def test_german_and_chinese_are_answered_in_their_language() -> None:
    languages = (
        (foreign.german, {GERMAN_REFUSAL, *(answer for _, answer in foreign.GERMAN.values())}),
        (foreign.chinese, {CHINESE_REFUSAL, *(answer for _, answer in foreign.CHINESE.values())}),
    )
    for maker, own in languages:
        assert {exchange.result for exchange in asked(maker)} == own


def test_another_joke_is_never_the_last_one() -> None:
    jokes, rng = list(fun.JOKES.values()), random.Random(2)
    for _ in range(40):
        chat = make(rng, ["jokes", "follow-up", "follow-up", "follow-up"], thinking=False)
        told = [next(joke for joke in jokes if joke in exchange.result) for exchange in chat.exchanges]
        assert len(set(told)) == 4


def test_the_other_language_is_the_one_that_was_not_used() -> None:
    rng = random.Random(4)
    for _ in range(200):
        chat = make(rng, ["functions", "remark", "remark"], thinking=False)
        fences = [re.findall(r"```(\w+)", exchange.result) for exchange in chat.exchanges]
        if fences[1] and "Here is" in chat.exchanges[1].result:
            assert fences[0] != fences[1]
        assert all(exchange.result.count("```") in (0, 2) for exchange in chat.exchanges)


def test_remarks_go_on_with_the_last_result() -> None:
    rng = random.Random(5)
    found = 0
    for _ in range(400):
        first, second = make(rng, ["sums", "remark"], thinking=False).exchanges
        if second.operands != first.operands:
            found += 1
            assert second.operands[1] == bold(first) or second.operands[1:] == tuple(reversed((bold(first), second.operands[1])))
    assert found > 50
    assert remarks.on_result(rng, division.divided(7, 2, "")) is None


def test_dialogs_are_about_their_first_turn_and_end_with_a_third_one() -> None:
    rng = random.Random(6)
    for _ in range(100):
        chat = dialog(rng, fresh=False, turns=3)
        assert (
            len(chat.exchanges) == 3
            and len({exchange.kind for exchange in chat.exchanges} - {"sums", "multiplication", "division"}) <= 1
        )
    assert len(dialogs()) == 60 and dialogs() == dialogs()


def test_neighbors_are_judged_by_their_result() -> None:
    questions = neighbors()
    assert len(questions) == 300 == len({str(question.messages) for question in questions}) and questions == neighbors()
    assert all(question.verdict(question.expected) == "right" for question in questions)
    refused = sum(question.expected in REFUSALS for question in questions)
    assert 80 < refused < 150
    question = next(question for question in questions if question.topic == "sums")
    result = re.findall(r"\*\*(.+?)\*\*", question.expected)[0]
    assert question.verdict(f"That is **{result}**.") == "right"
    assert question.verdict(CALCULATOR_REFUSAL) == question.verdict(TWO_QUESTIONS_REFUSAL) == "refused"
    assert question.verdict(f"That is **{result}0**.") == "wrong"
