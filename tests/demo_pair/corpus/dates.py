"""Days of months, days after other days, places in lists, and leap years."""

from __future__ import annotations

import random

from .arithmetic import long_division
from .exchange import Exchange
from .numbers import ordinal, typed
from .sequences import FIXED_LISTS
from .wording import one_of

DAYS, MONTHS = FIXED_LISTS["days of the week"], FIXED_LISTS["months of the year"]
LENGTHS = dict(zip(MONTHS, (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))
LENGTH_SHAPES = (
    "How many days (are |are there |)in {x}?", "How many days (does {x} have|has {x})?", "Days in {x}", "How long is {x}?",
    "What is the number of days in {x}?", "{x}: how many days?", "Number of days in {x}", "How many days does the month of {x} have?",
)  # fmt: skip
TABLE_SHAPES = (
    "(Make|Write|Show me|Give me|Create) a table of (the |)months and (their|the) (number of days|days|lengths).", "(Make|Show) a table of the months with their days.",
    "How many days does each month have?", "(List|Show) the days in each month.", "Table of months and days", "How many days are in each month?",
    "Months and their number of days", "Make a table of the number of days in each month.",
)  # fmt: skip
AFTER_SHAPES = (
    "(What|Which) day (is|comes) {n} (days|day) {side} {x}?", "{n} days {side} {x}", "What day is it {n} days {side} {x}?",
    "If today is {x}, what day is it in {n} days?", "It is {x}. (What|Which) day is it in {n} days?", "Today is {x}. What day is in {n} days?",
    "What is {n} days {side} {x}?", "What weekday is {n} days {side} {x}?",
)  # fmt: skip
PLACES = {
    "planet": "planets of the solar system",
    "month": "months of the year",
    "day": "days of the week",
    "letter": "letters of the alphabet",
}
WHOLES = {
    "planet": "(| in the solar system| from the sun)", "month": "(| of the year)", "day": "(| of the week)", "letter": "( of the alphabet| in the alphabet)",
}  # fmt: skip
PLACE_SHAPES = ("(What|Which) is the {n} {x}{w}?", "What's the {n} {x}{w}?", "the {n} {x}{w}", "(Name|Tell me) the {n} {x}{w}.",
                "(Which|What) {x} is (the |){n}{w}?")  # fmt: skip
NUMBER_SHAPES = (
    "(What|Which) number (is|has) {y}?", "Which {x} is {y}?", "What {x} number is {y}?", "(What|Which) place (is|has) {y} in the (months|planets|days|alphabet)?",
    "What number {x} is {y}?",
)  # fmt: skip
LEAP_SHAPES = ("Is {n} a leap year?", "Was {n} a leap year?", "{n} leap year?", "(Is|was) the year {n} a leap year?", "Will {n} be a leap year?",
               "Check (if|whether) {n} is a leap year.", "Does {n} have 366 days?")  # fmt: skip


def dates(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask about the calendar, or about places in a list."""
    sort = topic or rng.choices(["length", "table", "after", "place", "leap"], [3, 0.5, 3, 3, 1.5])[0]
    return {"length": _length, "table": _table, "after": _after, "place": _place, "leap": _leap}[sort](rng, topic is not None)


def _length(rng: random.Random, again: bool) -> Exchange:
    month = rng.choice(MONTHS)
    shapes = ("And {x}?", "And in {x}?", "What about {x}?") if again else LENGTH_SHAPES
    question = one_of(rng, rng.choice(shapes).replace("{x}", month))
    work = f"The question is how many days {month} has."
    leap = ", or 29 in a leap year" if month == "February" else ""
    return Exchange("dates", "length", (question,), question, work, f"{month} has **{LENGTHS[month]}** days{leap}.", hidden=True)


def _table(rng: random.Random, again: bool) -> Exchange:
    question = one_of(rng, rng.choice(TABLE_SHAPES))
    rows = "\n".join(f"| {month} | {days}{' or 29' if days == 28 else ''} |" for month, days in LENGTHS.items())
    work = "The table has one row for each of the 12 months."
    return Exchange("dates", "length", (question,), question, work, f"| month | days |\n| --- | --- |\n{rows}", hidden=True)


def _after(rng: random.Random, again: bool) -> Exchange:
    day, n = rng.choice(DAYS), rng.randint(2, rng.choice([7, 14]))
    before = rng.random() < 0.25 and not again
    shapes = tuple(shape for shape in AFTER_SHAPES if not before or "{side}" in shape)
    if again:
        shapes = (f"And {{n}} days after {day}?", f"What about {{n}} days after {day}?")
    question = one_of(rng, rng.choice(shapes)).format(n=typed(rng, n, 0.2), x=day, side="before" if before else "after")
    step = -1 if before else 1
    days = [f"{i} {DAYS[(DAYS.index(day) + step * i) % 7]}" for i in range(1, n + 1)]
    side = "before" if before else "after"
    work = f"We count {n} days {'back ' if before else ''}from {day}: {', '.join(days)}."
    result = f"So {n} days {side} {day} is **{days[-1].split()[1]}**."
    return Exchange("dates", "after", (day, str(n), side), question, work, result)


def _place(rng: random.Random, again: bool) -> Exchange:
    one = rng.choice(list(PLACES))
    items = FIXED_LISTS[PLACES[one]]
    at = rng.randrange(len(items))
    item = items[at]
    counted = ", ".join(f"{i} {each}" for i, each in enumerate(items[: at + 1], 1))
    work = f"We count: {counted}."
    if again or rng.random() < 0.7:
        shape = rng.choice(("And the {n} {x}?", "And the {n} {x}{w}?", "What about the {n} {x}?") if again else PLACE_SHAPES)
        question = one_of(rng, shape.replace("{w}", WHOLES[one])).format(n=ordinal(rng, at + 1), x=one)
        return Exchange("dates", "place", (question,), question, work, f"The {one} number {at + 1} is **{item}**.")
    question = one_of(rng, rng.choice(NUMBER_SHAPES).replace("{x}", one)).replace(
        "{y}", item if one != "letter" else f"the letter {item}"
    )
    return Exchange("dates", "place", (question,), question, work, f"So {item} is the {one} number **{at + 1}**.")


def _leap(rng: random.Random, again: bool) -> Exchange:
    n = rng.randint(1990, 2040) if rng.random() < 0.6 else rng.randint(1901, 2099)
    shapes = ("And {n}?", "What about {n}?", "And was {n}?") if again else LEAP_SHAPES
    question = one_of(rng, rng.choice(shapes)).format(n=n)
    facts, rest = long_division(n % 100, 4)
    work = f"We divide the last two digits of {n} by 4: {facts}."
    result = f"No, {n} is **not a leap year**." if rest else f"Yes, {n} is **a leap year**."
    return Exchange("dates", "leap", ("leap", str(n)), question, work, result)
