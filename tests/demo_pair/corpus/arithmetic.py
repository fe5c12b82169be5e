"""Divisors, addition, subtraction and comparison, worked in steps that are small facts."""

from __future__ import annotations

import random

from .exchange import Exchange
from .wording import one_of

LARGEST = 999
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
LARGE_PRIMES = tuple(
    tuple(n for n in range(low, high) if all(n % p for p in PRIMES))
    for low, high in ((361, 529), (529, 841), (841, 961), (961, 1000))
)
"""Those whose trials end at 23, 29, 31, and 37: the longest answers."""
COLUMNS = ("ones", "tens", "hundreds")


def long_division(m: int, p: int) -> tuple[str, int]:
    """Return the digit-by-digit division of m by p as text, and the remainder."""
    digits = str(m)
    facts: list[str] = []
    part = 0
    for i, digit in enumerate(digits):
        part = part * 10 + int(digit)
        if part < p and not facts and i < len(digits) - 1:
            continue
        facts.append(f"{part} = {p} × {part // p} + {part % p}")
        part %= p
    return ", ".join(facts), part


def factor_lines(n: int) -> tuple[list[str], dict[int, int]]:
    """Return the trial division of n, one line per trial, and the exponents of its primes."""
    lines: list[str] = []
    powers: dict[int, int] = {}
    m, index = n, 0
    while True:
        p = PRIMES[index]
        if p * p > m:
            powers[m] = powers.get(m, 0) + 1
            lines.append(f"- {m} by {p}: {p} × {p} = {p * p} is more than {m}, so {m} is prime: {m}^{powers[m]}")
            return lines, powers
        facts, rest = long_division(m, p)
        if rest:
            lines.append(f"- {m} by {p}: {facts}, no")
            index += 1
        else:
            powers[p] = powers.get(p, 0) + 1
            lines.append(f"- {m} by {p}: {facts}, yes: {m} = {p} × {m // p}, {p}^{powers[p]}")
            m //= p


def divisors(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for the number of divisors of n up to 999, most often up to 500."""
    if topic == "prime" or (topic is None and rng.random() < 0.2):
        return _prime(rng, topic)
    n = rng.choice(rng.choice(LARGE_PRIMES)) if rng.random() < 0.12 else rng.randint(2, LARGEST if rng.random() < 0.5 else 500)
    if topic is not None:
        question = rng.choice(["And for {n}?", "and for {n}?", "And {n}?", "What about {n}?", "Now {n}.", "And of {n}?"])
    else:
        question = rng.choice(
            [
                "How many positive whole-number divisors does {n} have?",
                "How many divisors does {n} have?",
                "How many positive divisors does {n} have?",
                "Count the positive divisors of {n}.",
                "Count the divisors of {n}.",
                "Find the number of divisors of {n}.",
                "What is the number of divisors of {n}?",
                "how many divisors does {n} have",
                "How many numbers divide {n}?",
                "How many divisors has {n}?",
                "Number of divisors of {n}",
                "Divisors of {n}",
                "How many factors does {n} have?",
                "What are the divisors of {n}?",
                "divisors of {n}",
            ]
        )
    return divisors_of(n, question.format(n=n))


def _prime(rng: random.Random, topic: str | None) -> Exchange:
    """Ask whether n up to 300 is prime."""
    n = rng.randint(2, 300)
    first = (
        "(Is {n} (a prime number|prime|a prime)?|Check (if|whether) {n} is (prime|a prime number).|Is {n} prime or not?|{n} prime?)"
    )
    again = "(And {n}?|What about {n}?|And is {n} prime?|Now {n}.)"
    question = one_of(rng, first if topic is None else again).replace("{n}", str(n))
    return prime_of(n, question)


def prime_of(n: int, question: str) -> Exchange:
    """Return the worked answer to whether n is prime."""
    lines, powers = factor_lines(n)
    prime = list(powers.values()) == [1]
    shown = lines if prime else lines[: next(i for i, line in enumerate(lines) if ", yes" in line) + 1]
    work = f"To see whether {n} is prime, we divide {n} by the primes.\n\n" + "\n".join(shown)
    result = f"Yes, {n} is **a prime number**." if prime else f"No, {n} is **not a prime number**."
    return Exchange("divisors", "prime", ("prime", str(n)), question, work, result)


def divisors_of(n: int, question: str) -> Exchange:
    """Return the worked answer for n."""
    lines, powers = factor_lines(n)
    product = " × ".join(f"{p}^{e}" for p, e in powers.items())
    steps = [f"({e} + 1)" for e in powers.values()]
    total = 1
    multiply: list[str] = []
    for i, e in enumerate(powers.values()):
        if i:
            multiply.append(f"{total} × {e + 1} = {total * (e + 1)}")
        total *= e + 1
    work = (
        f"To count the divisors of {n}, we divide {n} by the primes.\n\n"
        + "\n".join(lines)
        + f"\n\nSo {n} = {product}. We add one to each exponent and multiply.\n\n"
        + f"- {' × '.join(steps)} = {' × '.join(str(e + 1) for e in powers.values())}"
        + "".join(f"\n- {line}" for line in multiply)
    )
    return Exchange("divisors", "divisors", (str(n),), question, work, f"The number {n} has **{total}** positive divisors.")


def add_lines(a: int, b: int) -> list[str]:
    """Return column addition, line by line."""
    lines: list[str] = []
    carry = 0
    for i in range(max(len(str(a)), len(str(b)))):
        x, y = a // 10**i % 10, b // 10**i % 10
        total = x + y + carry
        shown = f"{x} + {y} + {carry}" if carry else f"{x} + {y}"
        carry = total // 10
        lines.append(f"- {COLUMNS[i]}: {shown} = {total}, write {total % 10}, carry {carry}")
    if carry:
        lines.append(f"- in front: write {carry}")
    return lines


def subtract_lines(a: int, b: int) -> list[str]:
    """Return column subtraction of b from a, where a is at least b."""
    lines: list[str] = []
    borrow = 0
    for i in range(len(str(a))):
        x, y = a // 10**i % 10, b // 10**i % 10
        tail = f"- {y} - {borrow}" if borrow else f"- {y}"
        rest = x - y - borrow
        if rest < 0:
            lines.append(f"- {COLUMNS[i]}: {x} {tail} is below 0, so {x + 10} {tail} = {rest + 10}, borrow 1")
            borrow = 1
        else:
            lines.append(f"- {COLUMNS[i]}: {x} {tail} = {rest}, borrow 0")
            borrow = 0
    return lines


def _operands(rng: random.Random) -> tuple[int, int]:
    """Draw two numbers up to 999; both are small more often than by chance, because people ask about small ones first."""
    if rng.random() < 0.2:
        return rng.randint(1, 12), rng.randint(1, 12)
    a, b = (rng.randint(1, 999) if rng.random() < 0.75 else rng.randint(1, 99) for _ in range(2))
    return a, b


def sums(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a sum or difference of numbers up to 999."""
    a, b = _operands(rng)
    if rng.random() < 0.5:
        if topic is not None:
            shapes = ["And {a} + {b}?", "And {a} plus {b}?", "Now {a} + {b}.", "What about {a} + {b}?"]
        else:
            shapes = [
                "What is {a} + {b}?",
                "{a} + {b}",
                "{a}+{b}",
                "{a} + {b} = ?",
                "Add {a} and {b}.",
                "What is {a} plus {b}?",
                "Compute {a} + {b}.",
                "Calculate {a} + {b} step by step.",
                "What is the sum of {a} and {b}?",
                "Whats {a}+{b}?",
                "How much is {a} + {b}?",
                "What's {a} + {b}?",
                "{a} plus {b}",
                "what does {a} + {b} equal",
                "sum of {a} and {b}",
            ]
        return sum_of(a, b, rng.choice(shapes).format(a=a, b=b))
    if a < b and rng.random() < 0.8:
        a, b = b, a
    if topic is not None:
        shapes = ["And {a} - {b}?", "And {a} minus {b}?", "Now {a} - {b}.", "What about {a} - {b}?"]
    else:
        shapes = [
            "Whats {a}-{b}?",
            "How much is {a} - {b}?",
            "What's {a} - {b}?",
            "{a} minus {b}",
            "Take {b} away from {a}.",
            "What is {a} - {b}?",
            "{a} - {b}",
            "{a}-{b}",
            "{a} - {b} = ?",
            "Subtract {b} from {a}.",
            "What is {a} minus {b}?",
            "Compute {a} - {b}.",
            "Calculate {a} - {b} step by step.",
            "What is the difference of {a} and {b}?",
        ]
    return difference_of(a, b, rng.choice(shapes).format(a=a, b=b))


def sum_of(a: int, b: int, question: str) -> Exchange:
    """Return the worked sum of two numbers."""
    work = f"Let us add {a} and {b} column by column.\n\n" + "\n".join(add_lines(a, b))
    return Exchange("sums", "sums", ("+", str(a), str(b)), question, work, f"So {a} + {b} = **{a + b}**.")


def difference_of(a: int, b: int, question: str) -> Exchange:
    """Return the worked difference of two numbers."""
    if a >= b:
        lead, high, low = f"Let us subtract {b} from {a} column by column.", a, b
    else:
        lead, high, low = f"Here {a} is less than {b}, so we subtract {a} from {b} and the result is negative.", b, a
    work = f"{lead}\n\n" + "\n".join(subtract_lines(high, low))
    return Exchange("sums", "sums", ("-", str(a), str(b)), question, work, f"So {a} - {b} = **{a - b}**.")


LARGER = (
    "(Which|What) (is|number is) (larger|bigger|greater|more)(:|,) {a} or {b}?", "(Which|What)'s (bigger|larger), {a} or {b}?",
    "(Which|What) is the (larger|bigger) number, {a} or {b}?", "{a} or {b}(, which is (bigger|larger)?|: which is (larger|bigger)?)",
    "Compare {a} and {b}.", "(Larger|Bigger): {a} or {b}?",
)  # fmt: skip
SMALLER = (
    "(Which|What) (is|number is) (smaller|less|lower)(:|,) {a} or {b}?", "(Which|What)'s (smaller|less), {a} or {b}?",
    "(Which|What) is the (smaller|lower) number, {a} or {b}?", "{a} or {b}(, which is smaller?|: which is less?)",
)  # fmt: skip
IS_LARGER = ("Is {a} (larger|bigger|greater|more) than {b}?", "Is {a} > {b}?", "{a} > {b}?")
IS_SMALLER = ("Is {a} (smaller|less|lower) than {b}?", "Is {a} < {b}?", "{a} < {b}?")


def compare_lines(a: int, b: int) -> list[str]:
    """Return the comparison of two numbers, digit by digit from the left, and what follows from it for the first one."""
    end = f"- so {a} is {'more than' if a > b else 'less than' if a < b else 'equal to'} {b}"
    x, y = str(a), str(b)
    if len(x) != len(y):
        return [f"- {a} has {len(x)} {'digit' if a < 10 else 'digits'} and {b} has {len(y)} {'digit' if b < 10 else 'digits'}", end]
    lines: list[str] = []
    for i, (p, q) in enumerate(zip(x, y, strict=True)):
        verdict = "the same" if p == q else f"{p} is {'more' if p > q else 'less'}"
        lines.append(f"- {COLUMNS[len(x) - 1 - i]}: {p} and {q}, {verdict}")
        if p != q:
            break
    return [*lines, end]


def comparison(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask which of two numbers up to 999 is larger or smaller."""
    a, b = _operands(rng)
    if rng.random() < 0.4:
        b = max(1, min(999, a + rng.choice([-20, -10, -9, -2, -1, 1, 2, 9, 10, 20])))
    if rng.random() < 0.06:
        b = a
    sort = rng.choice(["larger", "larger", "smaller", "is larger", "is smaller"]) if topic is None else topic
    shapes = {"larger": LARGER, "smaller": SMALLER, "is larger": IS_LARGER, "is smaller": IS_SMALLER}[sort]
    if topic is not None:
        shapes = ("And {a} or {b}?", "What about {a} or {b}?") if sort in ("larger", "smaller") else ("And is {a} {w} than {b}?",)
    question = one_of(rng, rng.choice(shapes)).format(a=a, b=b, w=sort.removeprefix("is "))
    work = f"We compare {a} and {b} from the left.\n\n" + "\n".join(compare_lines(a, b))
    right = a > b if sort == "is larger" else a < b
    if sort.startswith("is"):
        result = f"**{'Yes' if right else 'No'}**, {a} is {'' if right else 'not '}{sort.removeprefix('is ')} than {b}."
    elif a == b:
        result = f"The numbers {a} and {b} are **equal**."
    else:
        result = (
            f"So **{max(a, b) if sort == 'larger' else min(a, b)}** is {sort} than {min(a, b) if sort == 'larger' else max(a, b)}."
        )
    return Exchange("comparison", sort, ("compare", str(a), str(b)), question, work, result)
