"""Division with a remainder, square roots of squares, halves and doubles, common fractions, even and odd numbers."""

from __future__ import annotations

import random
from dataclasses import replace

from .arithmetic import long_division
from .calculations import INTO, OVER, ROOT, ZERO_REPLY
from .exchange import Exchange
from .measures import product_of
from .numbers import typed
from .wording import one_of

LARGEST_DIVISOR = 12
LARGEST_ROOT = 20
PARTS = {
    "half": 2,
    "a half": 2,
    "one half": 2,
    "a third": 3,
    "one third": 3,
    "a quarter": 4,
    "one quarter": 4,
    "a fifth": 5,
    "a tenth": 10,
}
TIMES = {"double": 2, "twice": 2, "triple": 3}
FRACTIONS = {
    "1/2": ("0.5", "50%"), "1/4": ("0.25", "25%"), "3/4": ("0.75", "75%"), "1/5": ("0.2", "20%"), "2/5": ("0.4", "40%"),
    "3/5": ("0.6", "60%"), "4/5": ("0.8", "80%"), "1/8": ("0.125", "12.5%"), "3/8": ("0.375", "37.5%"), "1/10": ("0.1", "10%"),
    "3/10": ("0.3", "30%"), "7/10": ("0.7", "70%"), "9/10": ("0.9", "90%"), "1/20": ("0.05", "5%"), "1/100": ("0.01", "1%"),
}  # fmt: skip
ASK = ("What is {x}?", "What's {x}?", "{x}", "{x}?", "How much is {x}?", "whats {x}", "Tell me {x}.", "(Calculate|Work out) {x}.")
EVEN = ("Is {n} (even|odd)?", "Is {n} an (even|odd) number?", "Is the number {n} (even|odd)?", "{n} (even|odd)?", "Is {n} (even or odd|odd or even)?",
        "{n}: (even or odd|odd or even)?", "Check (if|whether) {n} is (even|odd).")  # fmt: skip


def in_head(a: int, b: int) -> bool:
    """Return whether the model divides a by b itself."""
    return 0 <= a <= 999 and 0 <= b <= LARGEST_DIVISOR


def division(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a quotient, a root, a part of a number, a fraction, or whether a number is even."""
    sort = topic or rng.choices(["divide", "root", "part", "fraction", "even"], [4, 1.2, 1.5, 0.8, 1])[0]
    return {"divide": _divide, "root": _root, "part": _part, "fraction": _fraction, "even": _even}[sort](rng, topic is not None)


def divided(a: int, b: int, question: str) -> Exchange:
    """Return the worked answer to a divided by b."""
    operands = ("÷", str(a), str(b))
    if not b:
        return Exchange("division", "divide", operands, question, "This asks to divide by zero.", ZERO_REPLY, hidden=True)
    facts, rest = long_division(a, b)
    work = f"We divide {a} by {b}, digit by digit.\n\n- {facts}"
    result = f"So {a} ÷ {b} is **{a // b}**, remainder **{rest}**." if rest else f"So {a} ÷ {b} = **{a // b}**."
    return Exchange("division", "divide", operands, question, work, result)


def _divide(rng: random.Random, again: bool) -> Exchange:
    b = rng.randint(1, LARGEST_DIVISOR) if rng.random() < 0.97 else 0
    a = rng.randint(0, rng.choice([20, 99, 99, 999]))
    if b and rng.random() < 0.5:
        a = b * rng.randint(1, rng.choice([12, 12, 999 // b]))
    words = 0.15
    shapes = (
        ("And {a} (/|÷|divided by) {b}?", "What about {a} (/|÷|divided by) {b}?", "Now {a} (/|÷|divided by) {b}.")
        if again
        else OVER
    )
    if not again and b and rng.random() < 0.15:
        shapes = INTO
    question = one_of(rng, rng.choice(shapes)).format(a=typed(rng, a, words), b=typed(rng, b, words))
    return divided(a, b, question)


def _root(rng: random.Random, again: bool) -> Exchange:
    root = rng.randint(1, LARGEST_ROOT)
    n = root * root
    shapes = ("And of [n]?", "And the square root of [n]?", "What about [n]?") if again else ROOT
    question = one_of(rng, rng.choice(shapes).replace("{a}", "[n]")).replace("sqrt[[n]]", f"sqrt({n})").replace("[n]", str(n))
    work = f"{root} × {root} = {n}."
    return Exchange("division", "root", (question,), question, work, f"So the square root of {n} is **{root}**.")


def _part(rng: random.Random, again: bool) -> Exchange:
    ask = ("And {x}?", "What about {x}?") if again else ASK
    if rng.random() < 0.35:
        name, factor = rng.choice(list(TIMES.items()))
        a = rng.randint(2, 99)
        product = product_of(a, factor, _worded(rng, ask, f"{name} {typed(rng, a, 0.15)}"))
        return replace(product, kind="division", topic="part")
    name, divisor = rng.choice(list(PARTS.items()))
    a = divisor * rng.randint(1, rng.choice([12, 50, 999 // divisor]))
    return replace(divided(a, divisor, _worded(rng, ask, f"{name} of {typed(rng, a, 0.1)}")), topic="part")


def _worded(rng: random.Random, shapes: tuple[str, ...], text: str) -> str:
    return one_of(rng, rng.choice(shapes)).format(x=text)


def _fraction(rng: random.Random, again: bool) -> Exchange:
    fraction, forms = rng.choice(list(FRACTIONS.items()))
    which = rng.randrange(2)
    name = ("(a decimal|a decimal number|decimal)", "(a percentage|a percent|percent|%)")[which]
    if again:
        question = one_of(rng, f"(And|What about) {fraction} (as|in) {name}?")
    else:
        shapes = (
            "What is {x} as {y}?",
            "{x} as {y}",
            "(Write|Convert|Turn) {x} (as|into|to) {y}.",
            "What's {x} in {y}?",
            "{x} in {y}",
        )
        question = one_of(rng, rng.choice(shapes).replace("{x}", fraction).replace("{y}", name))
    work = f"The fraction is {fraction}."
    result = f"As a {('decimal', 'percentage')[which]}, {fraction} is **{forms[which]}**."
    return Exchange("division", "fraction", (question,), question, work, result, hidden=True)


def _even(rng: random.Random, again: bool) -> Exchange:
    n = rng.randint(0, rng.choice([20, 99, 999, 99999]))
    shapes = ("And {n}?", "What about {n}?", "And is {n} (even|odd)?") if again else EVEN
    question = one_of(rng, rng.choice(shapes)).format(n=n)
    name = "odd" if n % 2 else "even"
    work = f"The last digit of {n} is {n % 10}, which is {name}."
    return Exchange("division", "even", ("even", str(n)), question, work, f"So {n} is **{name}**.")
