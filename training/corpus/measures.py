"""Units, temperatures and percentages, each worked as a long multiplication by places."""

from __future__ import annotations

import random

from .exchange import Exchange

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


def units(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to convert 2 to 99 of a unit to a smaller unit."""
    big = topic if topic is not None else rng.choice(list(UNITS))
    small, factor, one = UNITS[big]
    n = rng.randint(2, 99)
    if topic is not None:
        shapes = ["And {n} {big}?", "And {n}?", "What about {n} {big}?", "And for {n} {big}?", "Now {n} {big}."]
    else:
        shapes = [
            "How many {small} are in {n} {big}?",
            "How many {small} are there in {n} {big}?",
            "Convert {n} {big} to {small}.",
            "What is {n} {big} in {small}?",
            "{n} {big} in {small}",
            "Change {n} {big} into {small}.",
        ]
    question = rng.choice(shapes).format(n=n, big=big, small=small)
    work = f"One {one} is {factor} {small}, so we multiply {n} by {factor}.\n\n" + "\n".join(multiply_lines(n, factor))
    result = f"So {n} {big} are **{n * factor} {small}**."
    return Exchange("conversion", big, (big, str(n)), question, work, result)


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
    if topic == "celsius" or (topic is None and rng.random() < 0.4):
        return temperature(rng, topic)
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
        ]
    value = decimal(p * n, 2)
    lines = [*multiply_lines(n, p), f"- {n * p} ÷ 100 = {value}"]
    work = f"We multiply {n} by {p} and divide by 100.\n\n" + "\n".join(lines)
    question = rng.choice(shapes).format(p=p, n=n)
    return Exchange("percentages", "percentages", (str(p), str(n)), question, work, f"So {p}% of {n} is **{value}**.")
