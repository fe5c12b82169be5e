"""Products, units, temperatures and percentages, each worked as a long multiplication by places."""

from __future__ import annotations

import random

from .exchange import Exchange
from .wording import one_of

UNITS = {
    "kilometres": ("metres", 1000, "kilometre"),
    "metres": ("centimetres", 100, "metre"),
    "centimetres": ("millimetres", 10, "centimetre"),
    "kilograms": ("grams", 1000, "kilogram"),
    "litres": ("millilitres", 1000, "litre"),
    "weeks": ("days", 7, "week"),
    "days": ("hours", 24, "day"),
    "hours": ("minutes", 60, "hour"),
    "minutes": ("seconds", 60, "minute"),
    "years": ("months", 12, "year"),
    "feet": ("inches", 12, "foot"),
    "yards": ("feet", 3, "yard"),
}
DECIMAL_UNITS = {
    "miles": ("kilometers", 16, 1, "mile", "1.6"),
    "inches": ("centimeters", 254, 2, "inch", "2.54"),
    "kilograms": ("pounds", 22, 1, "kilogram", "2.2"),
    "feet": ("centimeters", 305, 1, "foot", "30.5"),
}
"""The larger unit, its factor as a whole number, how many digits of it are decimals, one of the unit, and the factor."""
SHORT = {
    "kilometers": "km", "meters": "m", "centimeters": "cm", "millimeters": "mm", "kilograms": "kg", "grams": "g", "liters": "l",
    "hours": "h", "minutes": "min", "pounds": "(lb|lbs)", "inches": "in", "feet": "ft",
    "yards": "yd", "milliliters": "ml", "seconds": "s",
}  # fmt: skip
ROUND = (100, 110, 120, 150, 180, 200, 250, 300, 400, 500, 5, 10, 50, 70)
PERCENTS = (*range(1, 11), *range(15, 100, 5))


def places(n: int) -> list[int]:
    """Split n by places, highest first, without zeros: 305 gives 300 and 5."""
    digits = str(n)
    return [int(d) * 10 ** (len(digits) - 1 - i) for i, d in enumerate(digits) if d != "0"]


def multiply_lines(a: int, b: int) -> list[str]:
    """Return a × b by places, with a running total that grows by one place at a time."""
    lines: list[str] = []
    total = 0
    for y in places(b):
        for x in places(a):
            product = x * y
            if total:
                grown = []
                for part in places(product):
                    grown.append(f"{total} + {part} = {total + part}")
                    total += part
                lines.append(f"- {x} × {y} = {product}: {', '.join(grown)}")
            else:
                total = product
                lines.append(f"- {x} × {y} = {product}")
    return lines


def add_by_places(a: int, b: int) -> str:
    """Return a + b, one place of b at a time."""
    grown = []
    for part in places(b):
        grown.append(f"{a} + {part} = {a + part}")
        a += part
    return ", ".join(grown)


def decimal(n: int, zeros: int) -> str:
    """Return n / 10^zeros without trailing zeros."""
    text = str(n).rjust(zeros + 1, "0")
    tail = text[-zeros:].rstrip("0")
    return text[:-zeros] + (f".{tail}" if tail else "")


def multiplication(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a product of numbers up to 99, or a square."""
    a, b = rng.randint(2, 99 if rng.random() < 0.7 else 12), rng.randint(2, 99 if rng.random() < 0.65 else 12)
    square = topic == "square" or (topic is None and rng.random() < 0.12)
    if square:
        b = a
        first = "(What is {a} squared?|{a} squared|What is the square of {a}?|Square {a}.|{a}^2|What's {a}^2?|square of {a})"
        again = "(And {a}?|And of {a}?|What about {a}?|And {a} squared?)"
    else:
        first = (
            "(What is {a} (×|x|times|*) {b}?|{a} (×|x|*|times) {b}|{a}(×|x|*){b}|{a} (×|x|*) {b} = ?|{a}(x|*){b}=|Multiply {a} (by|and|with) {b}."
            "|(Compute|Calculate) {a} (×|x|times|*) {b}(| step by step).|What is the product of {a} and {b}?|What's {a} (x|times|*) {b}?"
            "|How much is {a} (×|x|times|*) {b}?|whats {a} (x|times|*) {b}|what does {a} (x|times) {b} equal)"
        )
        again = "(And {a} (×|x|times|*) {b}?|What about {a} (×|x|times) {b}?|Now {a} (×|x|times|*) {b}.)"
    question = one_of(rng, first if topic is None else again).format(a=a, b=b)
    return product_of(a, b, question, "square" if square else "product")


def product_of(a: int, b: int, question: str, name: str = "product") -> Exchange:
    """Return the worked product of two numbers."""
    lines = multiply_lines(a, b) if a and b else [f"- {a} × {b} = 0"]
    work = f"We multiply {a} by {b}, place by place.\n\n" + "\n".join(lines)
    return Exchange("multiplication", name, ("×", str(a), str(b)), question, work, f"So {a} × {b} = **{a * b}**.")


def _amount(rng: random.Random) -> int:
    """Draw a number of units: small, round, or any up to 99."""
    sort = rng.random()
    return rng.randint(2, 12) if sort < 0.3 else rng.choice(ROUND) if sort < 0.4 else rng.randint(2, 99)


def units(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to convert 1 to 99, or a round number up to 500, of a unit to a smaller unit."""
    big = topic if topic is not None else rng.choice(list(UNITS))
    small, factor, one = UNITS[big]
    n = 1 if topic is None and rng.random() < 0.06 else _amount(rng)
    if topic is not None:
        shapes = AGAIN
    elif n == 1:
        shapes = [
            "How many {small} are (in|there in) (a|one|1) {big}?",
            "How many {small} (in|is) (a|one|1) {big}?",
            "(1|one|a) {big} in {small}",
        ]
    else:
        shapes = CONVERT
    american = rng.random() < 0.6
    if american:
        big, small, one = (name.replace("metre", "meter").replace("litre", "liter") for name in (big, small, one))
    question = _asked(rng, shapes, n, one if n == 1 else big, small)
    work = f"One {one} is {factor} {small}, so we multiply {n} by {factor}.\n\n" + "\n".join(multiply_lines(n, factor))
    result = f"So {n} {big} are **{n * factor} {small}**." if n > 1 else f"So 1 {one} is **{factor} {small}**."
    return Exchange("conversion", topic or _british(big), (_british(big), str(n)), question, work, result)


AGAIN = ["And {n} {big}?", "And {n}?", "What about {n} {big}?", "And for {n} {big}?", "Now {n} {big}."]
CONVERT = [
    "How many {small} are in {n} {big}?", "How many {small} are there in {n} {big}?", "Convert {n} {big} to {small}.",
    "What is {n} {big} in {small}?", "{n} {big} in {small}", "Change {n} {big} into {small}.", "{n} {big} to {small}",
    "How many {small} (in|is|are) {n} {big}?", "(Convert|Turn|Change) {n} {big} (to|into) {small}.", "How much is {n} {big} in {small}?",
    "What's {n} {big} in {small}?", "{n} {big} = how many {small}?", "{n} {big} (is|are) how many {small}?", "How (far|long|much) is {n} {big} in {small}?",
    "{n} {big} (into|as|->) {small}", "(convert|turn) {n} {big} (to|into) {small}", "whats {n} {big} in {small}", "I need {n} {big} in {small}.",
]  # fmt: skip


def _asked(rng: random.Random, shapes: list[str], n: int, big: str, small: str) -> str:
    if rng.random() < 0.35:  # both, or only one of them
        which = rng.choice(["both", "both", "big", "small"])
        big = big if which == "small" else one_of(rng, SHORT.get(big, big))
        small = small if which == "big" else one_of(rng, SHORT.get(small, small))
    question = one_of(rng, rng.choice(shapes)).format(n=n, big=big, small=small)
    return question.replace(f"{n} ", f"{n}", 1) if len(big) < 3 and rng.random() < 0.3 else question


def _british(unit: str) -> str:
    return unit.replace("meter", "metre").replace("liter", "litre")


def decimal_units(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to convert 2 to 99, or a round number up to 500, of a unit by a factor with decimals."""
    big = rng.choice(list(DECIMAL_UNITS)) if topic is None else topic.removeprefix("decimal ")
    small, factor, zeros, one, shown = DECIMAL_UNITS[big]
    n = _amount(rng)
    question = _asked(rng, CONVERT if topic is None else AGAIN, n, big, small)
    value = decimal(n * factor, zeros)
    lines = [*multiply_lines(n, factor), f"- {n * factor} ÷ {10**zeros} = {value}"]
    work = f"One {one} is about {shown} {small}, so we multiply {n} by {factor} and divide by {10**zeros}.\n\n" + "\n".join(lines)
    result = f"So {n} {big} are about **{value} {small}**."
    return Exchange("conversion", f"decimal {big}", (f"decimal {big}", str(n)), question, work, result)


def temperature(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to convert 0 to 200 °C to Fahrenheit."""
    c = rng.randint(0, 200)
    if topic is not None:
        shapes = ["And {c} °C?", "And {c}?", "And {c} degrees?", "What about {c} °C?", "Now {c} °C."]
    else:
        shapes = [
            "Convert {c} °C to °F.",
            "What is {c} °C in Fahrenheit?",
            "Convert {c} degrees Celsius to Fahrenheit.",
            "What is {c} degrees Celsius in Fahrenheit?",
            "{c} °C in °F",
            "Change {c} °C into Fahrenheit.",
            "{c}C to F",
            "{c} c in f",
            "{c} celsius to fahrenheit",
            "{c} degrees celsius in fahrenheit",
            "{c} degrees c to f",
            "How hot is {c} °C in °F?",
            "{c}°C to °F",
            "{c} degrees Celsius to Fahrenheit",
            "whats {c} celsius in fahrenheit",
            "What is {c}°C in °F?",
            "How much is {c} Celsius in Fahrenheit?",
        ]
    product = c * 18
    lines = multiply_lines(c, 18) if c else ["- 0 × 18 = 0"]
    tenth = decimal(product, 1)
    whole, _, fraction = tenth.partition(".")
    lines.append(f"- {product} ÷ 10 = {tenth}")
    lines.append(f"- {add_by_places(int(whole), 32)}")
    fahrenheit = str(int(whole) + 32) + (f".{fraction}" if fraction else "")
    work = f"We multiply {c} by 18, divide by 10 and add 32.\n\n" + "\n".join(lines)
    result = f"So {c} °C is **{fahrenheit} °F**."
    return Exchange("conversion", "celsius", ("celsius", str(c)), rng.choice(shapes).format(c=c), work, result)


def conversion(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to convert a unit or a temperature."""
    if topic == "celsius" or (topic is None and rng.random() < 0.35):
        return temperature(rng, topic)
    if (topic or "").startswith("decimal ") or (topic is None and rng.random() < 0.4):
        return decimal_units(rng, topic)
    return units(rng, topic)


def percentages(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for p percent of n up to 500."""
    p = rng.choice(PERCENTS)
    n = rng.choice([rng.randint(1, 50) * 10, rng.randint(2, 500)])
    if topic is not None:
        shapes = ["And {p}% of {n}?", "And {p} percent of {n}?", "What about {p}% of {n}?", "Now {p}% of {n}."]
    else:
        shapes = [
            "What is {p}% of {n}?",
            "What is {p} percent of {n}?",
            "Find {p}% of {n}.",
            "Calculate {p}% of {n}.",
            "{p}% of {n}",
            "How much is {p}% of {n}?",
            "What's {p}% of {n}?",
            "{p} percent of {n}",
            "Work out {p}% of {n}.",
        ]
    return percentage_of(p, n, rng.choice(shapes).format(p=p, n=n))


def percentage_of(p: int, n: int, question: str) -> Exchange:
    """Return the worked answer to what p percent of n is."""
    value = decimal(p * n, 2)
    lines = [*multiply_lines(n, p), f"- {n * p} ÷ 100 = {value}"]
    work = f"We multiply {n} by {p} and divide by 100.\n\n" + "\n".join(lines)
    return Exchange("percentages", "percentages", (str(p), str(n)), question, work, f"So {p}% of {n} is **{value}**.")
