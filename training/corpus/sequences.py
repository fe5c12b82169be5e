"""Sorting, counting, tables and lists."""

from __future__ import annotations

import random

from .exchange import Exchange

FIXED_LISTS = {
    "days of the week": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "months of the year": (
        ["January", "February", "March", "April", "May", "June"]
        + ["July", "August", "September", "October", "November", "December"]
    ),
    "planets of the solar system": ["Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"],
    "colours of the rainbow": ["red", "orange", "yellow", "green", "blue", "indigo", "violet"],
    "seasons": ["spring", "summer", "autumn", "winter"],
    "continents": ["Africa", "Antarctica", "Asia", "Europe", "North America", "Oceania", "South America"],
    "chess pieces": ["king", "queen", "rook", "bishop", "knight", "pawn"],
    "senses": ["sight", "hearing", "smell", "taste", "touch"],
}
LIST_SHAPES = (
    "What are the {x}?",
    "List the {x}.",
    "Name the {x}.",
    "Can you list the {x}?",
    "Please list the {x}.",
    "Tell me the {x}.",
    "Make a list of the {x}.",
    "Give me a list of the {x}.",
    "Write a list of the {x}.",
    "Which are the {x}?",
    "list the {x}",
    "Please name the {x}.",
    "Can you name the {x}?",
    "Write down the {x}.",
    "Show me the {x}.",
    "I need the {x}.",
)


def sorting(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to sort three to seven different numbers, by insertion."""
    top = 999 if rng.random() < 0.25 else 99
    numbers = rng.sample(range(1, top + 1), rng.randint(3, 7))
    text = ", ".join(map(str, numbers))
    down = topic == "down" if topic is not None else rng.random() < 0.35
    if topic is not None:
        shapes = ["And {x}?", "Now {x}.", "What about {x}?", "And these: {x}?"]
    elif down:
        shapes = [
            "Sort {x} from largest to smallest.",
            "Sort these numbers from largest to smallest: {x}.",
            "Sort in descending order: {x}",
            "Order {x} from the largest to the smallest.",
        ]
    else:
        shapes = [
            "Sort {x} from smallest to largest.",
            "Sort these numbers: {x}.",
            "Sort {x}.",
            "Sort these numbers from smallest to largest: {x}.",
            "Sort in ascending order: {x}",
            "Put these numbers in order: {x}.",
            "Order {x} from the smallest to the largest.",
        ]
    done: list[int] = []
    lines: list[str] = []
    for number in numbers:
        done = sorted([*done, number], reverse=down)
        lines.append(f"- put in {number}: {', '.join(map(str, done))}")
    first = "largest" if down else "smallest"
    work = f"We put the numbers in one at a time, the {first} first.\n\n" + "\n".join(lines)
    result = f"The sorted numbers are **{', '.join(map(str, done))}**."
    return Exchange("sorting", "down" if down else "up", (text,), rng.choice(shapes).format(x=text), work, result)


def counting(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to count up or down, by ones or by a step."""
    step = rng.choice([1, 1, 1, 2, 3, 4, 5, 10])
    length = rng.randint(5, 20)
    low = rng.randint(0, 100)
    start, end = low, low + step * (length - 1)
    if rng.random() < 0.3:
        start, end, step = end, start, -step
    by = "" if abs(step) == 1 else f" by {abs(step)}"
    down = " down" if step < 0 else ""
    if topic is not None:
        shapes = ["And from {a} to {b}{by}?", "Now from {a} to {b}{by}.", "What about {a} to {b}{by}?"]
    else:
        shapes = [
            "Count{down} from {a} to {b}{by}.",
            "Please count{down} from {a} to {b}{by}.",
            "Can you count{down} from {a} to {b}{by}?",
            "count{down} from {a} to {b}{by}",
        ]
    numbers = ", ".join(map(str, range(start, end + (1 if step > 0 else -1), step)))
    by_text = f"{'down ' if step < 0 else ''}by {abs(step)}"
    work = f"We start at {start}, count {by_text} and stop at {end}."
    question = rng.choice(shapes).format(a=start, b=end, by=by, down=down)
    operands = (str(start), str(end), str(step))
    return Exchange("counting", "counting", operands, question, work, f"{numbers}.")


def tables(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a times table, as a Markdown table."""
    m, rows = rng.randint(2, 25), rng.randint(4, 12)
    if topic is not None:
        shapes = ["And for {m} up to {n}?", "And {m} up to {n}?", "Now {m} up to {n}.", "What about {m} up to {n}?"]
    else:
        shapes = [
            "Make a table of the multiples of {m} up to {n}.",
            "Show the {m} times table up to {n}.",
            "Write the {m} times table up to {n}.",
            "Give me a table of {m} times 1 to {n}.",
            "Make a {m} times table with {n} rows.",
            "Show me a table of multiples of {m} with {n} rows.",
        ]
    work = f"The table starts at {m}, adds {m} in each row and has {rows} rows."
    lines = [f"| {i} | {m} × {i} = {m * i} |" for i in range(1, rows + 1)]
    result = f"| row | multiple of {m} |\n| --- | --- |\n" + "\n".join(lines)
    question = rng.choice(shapes).format(m=m, n=rows)
    return Exchange("tables", "tables", (str(m), str(rows)), question, work, result)


def lists(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a numbered list: a fixed one, or the first multiples, squares, even or odd numbers."""
    if rng.random() < 0.4:
        name = rng.choice(list(FIXED_LISTS))
        question = rng.choice(LIST_SHAPES).format(x=name)
        items = FIXED_LISTS[name]
        work = f"The list of the {name} has {len(items)} items."
        body = "\n".join(f"{i}. {item}" for i, item in enumerate(items, 1))
        return Exchange("lists", "lists", (question,), question, work, f"Here are the {name}:\n\n{body}", hidden=True)
    n = rng.randint(3, 15)
    which = rng.choice(["multiples", "multiples", "squares", "even", "odd"])
    if which == "multiples":
        m = rng.randint(2, 25)
        name, rule = f"multiples of {m}", [f"{m} × {i} = {m * i}" for i in range(1, n + 1)]
    elif which == "squares":
        name, rule = "square numbers", [f"{i} × {i} = {i * i}" for i in range(1, n + 1)]
    else:
        name, rule = f"{which} numbers", [str(2 * i - (which == "odd")) for i in range(1, n + 1)]
    shapes = [
        "List the first {n} {x}.",
        "What are the first {n} {x}?",
        "Write a list of the first {n} {x}.",
        "Give me the first {n} {x}.",
        "Name the first {n} {x}.",
        "list the first {n} {x}",
    ]
    if which in ("multiples",):
        operands: tuple[str, ...] = (name, str(n))
        question = rng.choice(shapes).format(n=n, x=name)
    else:
        question = rng.choice(shapes).format(n=n, x=name)
        operands = (question,)
    work = f"The list has {n} items."
    body = "\n".join(f"{i}. {item}" for i, item in enumerate(rule, 1))
    return Exchange("lists", "lists", operands, question, work, f"Here are the first {n} {name}:\n\n{body}", hidden=True)
