"""Sorting, counting, tables and lists."""

from __future__ import annotations

import random

from .exchange import Exchange
from .wording import one_of

FIRST_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
FIXED_LISTS = {
    "days of the week": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "months of the year": (
        ["January", "February", "March", "April", "May", "June"]
        + ["July", "August", "September", "October", "November", "December"]
    ),
    "planets of the solar system": ["Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"],
    "colors of the rainbow": ["red", "orange", "yellow", "green", "blue", "indigo", "violet"],
    "seasons": ["spring", "summer", "autumn", "winter"],
    "continents": ["Africa", "Antarctica", "Asia", "Europe", "North America", "Oceania", "South America"],
    "chess pieces": ["king", "queen", "rook", "bishop", "knight", "pawn"],
    "senses": ["sight", "hearing", "smell", "taste", "touch"],
    "oceans": ["Arctic", "Atlantic", "Indian", "Pacific", "Southern"],
    "vowels": ["a", "e", "i", "o", "u"],
    "letters of the alphabet": list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
}
NEIGHBORS = {"day": "days of the week", "month": "months of the year"}
LIST_NAMES = {
    "days of the week": "(days of the week|weekdays|week days|days in a week|seven days of the week|days)",
    "months of the year": "(months of the year|months|twelve months|12 months|months in a year)",
    "planets of the solar system": "(planets of the solar system|planets|eight planets|8 planets|planets in our solar system|solar system planets)",
    "colors of the rainbow": "(colors of the rainbow|colours of the rainbow|rainbow colors|colors in a rainbow)",
    "seasons": "(seasons|four seasons|seasons of the year|4 seasons)",
    "continents": "(continents|seven continents|7 continents|continents of the world|continents on earth)",
    "chess pieces": "(chess pieces|pieces in chess|chess figures)",
    "senses": "(senses|five senses|human senses)",
    "oceans": "(oceans|five oceans|oceans of the world)",
    "vowels": "(vowels|vowels in English|English vowels)",
    "letters of the alphabet": "(letters of the alphabet|alphabet|alphabet letters|letters in the alphabet|ABC|English alphabet)",
}
MORE_LIST_SHAPES = (
    "(List|Name|Tell me|Give me|Show me|Write down|Recite|Say|Write) (the|all the|all|all of the|every one of the) {x}.",
    "What are (the|all the|all of the) {x}?", "Which {x} are there?", "How many {x} are there?", "What {x} are there?", "{x}", "{x} list",
    "list of {x}", "the {x}", "list {x}", "name {x}", "Can you (list|name|tell me) (all |)the {x}?", "Do you know the {x}?",
    "What are the names of the {x}?", "Name (all|every one of) the {x} in order.", "List the {x} in order.", "I forgot the {x}.",
    "Teach me the {x}.", "the {x} please", "Whats the {x}?", "What's the {x}?",
)  # fmt: skip
NEXT_SHAPES = ("(What|Which) {x} (comes|is) (after|before) {y}?", "What (comes|is) (after|before) {y}?", "(after|before) {y} comes?",
               "What (comes|is) the {x} (after|before) {y}?", "{x} (after|before) {y}")  # fmt: skip
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
    top = rng.choice([12, 20, 99, 99, 99, 999, 999])
    return sorted_numbers(rng, rng.sample(range(1, top + 1), rng.randint(3, 7)), topic)


def sorted_numbers(rng: random.Random, numbers: list[int], topic: str | None) -> Exchange:
    """Return the worked answer for these numbers, in either direction."""
    text = _listed(rng, numbers)
    down = topic == "down" if topic is not None else rng.random() < 0.35
    if topic is not None:
        shapes = ["And {x}?", "Now {x}.", "What about {x}?", "And these: {x}?"]
    elif down:
        shapes = [
            "Sort {x} from largest to smallest.",
            "Sort these numbers from largest to smallest: {x}.",
            "Sort in descending order: {x}",
            "Order {x} from the largest to the smallest.",
            "Sort {x} descending.",
            "Sort {x} in descending order.",
            "Sort from high to low: {x}",
            "Sort {x} from high to low.",
            "Sort {x} backwards.",
            "Put {x} in descending order.",
            "{x} from largest to smallest",
            "Order {x} from high to low.",
            "Sort {x} in reverse order.",
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
            "Sort the numbers {x}.",
            "Put {x} in order.",
            "Order these: {x}",
            "Sort {x} ascending.",
            "Arrange {x} from smallest to largest.",
            "Sort this list: {x}",
            "Sort these: {x}",
            "sort {x}",
            "Sort: {x}",
            "Sort the following numbers: {x}",
            "Sort {x} in ascending order.",
            "Can you sort {x}?",
            "Put these in order: {x}",
            "Sort {x} from low to high.",
            "Please sort {x}.",
            "sort these numbers {x}",
            "{x} sorted",
            "Order {x}.",
            "Arrange these in order: {x}",
            "Sort the list {x}.",
        ]
    done: list[int] = []
    lines: list[str] = []
    for number in numbers:
        done = sorted([*done, number], reverse=down)
        lines.append(f"- put in {number}: {', '.join(map(str, done))}")
    first = "largest" if down else "smallest"
    work = f"We put the numbers in one at a time, the {first} first.\n\n" + "\n".join(lines)
    result = f"The sorted numbers are **{', '.join(map(str, done))}**."
    return Exchange(
        "sorting", "down" if down else "up", (", ".join(map(str, numbers)),), rng.choice(shapes).format(x=text), work, result
    )


def _listed(rng: random.Random, numbers: list[int]) -> str:
    """Return the numbers as people type them, most often with commas."""
    words = list(map(str, numbers))
    sort = rng.random()
    if sort < 0.6:
        return ", ".join(words)
    if sort < 0.75:
        return " ".join(words)
    if sort < 0.85:
        return ",".join(words)
    return ", ".join(words[:-1]) + rng.choice([" and ", ", and "]) + words[-1]


def counting(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to count up or down, by ones or by a step."""
    step = rng.choice([1, 1, 1, 2, 3, 4, 5, 10])
    length = rng.randint(5, 20)
    low = rng.randint(0, 100)
    if rng.random() < 0.12:
        low, step = 1, 1
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
            "Count{down} {a} to {b}{by}.",
            "List the numbers{down} from {a} to {b}{by}.",
        ]
    question = rng.choice(shapes).format(a=start, b=end, by=by, down=down)
    if topic is None and start == 1 and step == 1 and rng.random() < 0.5:
        question = f"Count to {end}."
    return counted(start, end, step, question)


def counted(start: int, end: int, step: int, question: str) -> Exchange:
    """Return the answer for these numbers."""
    numbers = ", ".join(map(str, range(start, end + (1 if step > 0 else -1), step)))
    by_text = f"{'down ' if step < 0 else ''}by {abs(step)}"
    work = f"We start at {start}, count {by_text} and stop at {end}."
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
            "Make a table of {m} times 1 to {n}.",
            "Make a table with the first {n} multiples of {m}.",
            "{m} times table up to {n}",
            "Multiplication table of {m} up to {n}",
        ]
    if topic is None and rng.random() < 0.35:
        rows = 10
        shapes = [
            "Make a table of the multiples of {m}.",
            "Show the {m} times table.",
            "Write the {m} times table.",
            "{m} times table",
            "table of {m}",
            "Make a {m} times table.",
            "Show me a table of multiples of {m}.",
            "Give me the {m} times table.",
            "What is the {m} times table?",
            "Write a table of the multiples of {m}.",
            "Make a table of multiples of {m}.",
            "multiplication table of {m}",
            "Create a table with the multiples of {m}.",
            "the {m}s times table",
        ]
    work = f"The table starts at {m}, adds {m} in each row and has {rows} rows."
    lines = [f"| {i} | {m} × {i} = {m * i} |" for i in range(1, rows + 1)]
    result = f"| row | multiple of {m} |\n| --- | --- |\n" + "\n".join(lines)
    question = rng.choice(shapes).format(m=m, n=rows)
    return Exchange("tables", "tables", (str(m), str(rows)), question, work, result)


def lists(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a fixed list, the first multiples, squares, primes, even or odd numbers, or a day's or month's neighbor."""
    sort = rng.random()
    if sort < 0.55:
        return _fixed_list(rng)
    return _neighbor(rng) if sort < 0.75 else _numbers(rng)


def _fixed_list(rng: random.Random) -> Exchange:
    name = rng.choice(list(FIXED_LISTS))
    if rng.random() < 0.3:
        question = rng.choice(LIST_SHAPES).format(x=name)
    else:
        question = one_of(rng, rng.choice(MORE_LIST_SHAPES).replace("{x}", LIST_NAMES[name]))
    return list_of(name, question)


def list_of(name: str, question: str) -> Exchange:
    """Return the answer for one of the fixed lists."""
    items = FIXED_LISTS[name]
    work = f"The list of the {name} has {len(items)} items."
    body = "\n".join(f"{i}. {item}" for i, item in enumerate(items, 1)) if len(items) < 20 else ", ".join(items)
    return Exchange("lists", "lists", (question,), question, work, f"Here are the {name}:\n\n{body}", hidden=True)


def _neighbor(rng: random.Random) -> Exchange:
    one = rng.choice(["day", "month"])
    items = FIXED_LISTS[NEIGHBORS[one]]
    item = items[rng.randrange(len(items))]
    question = one_of(rng, rng.choice(NEXT_SHAPES)).replace("{x}", one).replace("{y}", item)
    return neighbor_of(one, item, "after" in question, question)


def neighbor_of(one: str, item: str, after: bool, question: str) -> Exchange:
    """Return the answer for the day or month after or before one."""
    items = FIXED_LISTS[NEIGHBORS[one]]
    other = items[(items.index(item) + (1 if after else -1)) % len(items)]
    work = f"The question is which {one} comes {'after' if after else 'before'} {item}."
    result = f"**{other}** comes {'after' if after else 'before'} {item}."
    return Exchange("lists", "lists", (question,), question, work, result, hidden=True)


def _numbers(rng: random.Random) -> Exchange:
    n = rng.randint(3, 15)
    which = rng.choice(["multiples", "multiples", "squares", "squares", "even", "odd", "primes", "primes", "primes"])
    plain = which
    if which == "multiples":
        m = rng.randint(2, 25)
        name, rule = f"multiples of {m}", [f"{m} × {i} = {m * i}" for i in range(1, n + 1)]
        plain = name
    elif which == "squares":
        name, rule = "square numbers", [f"{i} × {i} = {i * i}" for i in range(1, n + 1)]
        plain = "(squares|square numbers|perfect squares)"
    elif which == "primes":
        name, rule = "prime numbers", [str(prime) for prime in FIRST_PRIMES[:n]]
        plain = "(primes|prime numbers)"
    else:
        name, rule = f"{which} numbers", [str(2 * i - (which == "odd")) for i in range(1, n + 1)]
        plain = name
    if rng.random() < 0.15 and which in ("squares", "primes"):
        n = 10
        rule = [f"{i} × {i} = {i * i}" for i in range(1, 11)] if which == "squares" else [str(prime) for prime in FIRST_PRIMES[:10]]
        shapes = [
            "List (some|the|a few) {x}.",
            "{x}",
            "(Name|Tell me|Give me|Show me) (some|a few|the) {x}.",
            "What are (the|some) {x}?",
        ]
    else:
        shapes = [
            "List the first {n} {x}.", "What are the first {n} {x}?", "Write a list of the first {n} {x}.", "Give me the first {n} {x}.",
            "Name the first {n} {x}.", "list the first {n} {x}", "Show me the first {n} {x}.", "The first {n} {x}", "First {n} {x}",
            "Tell me the first {n} {x}.", "(List|Give me|Name|Show me|Tell me) {n} {x}.", "{n} {x}",
        ]  # fmt: skip
    question = one_of(rng, rng.choice(shapes).replace("{x}", plain).replace("{n}", str(n)))
    operands: tuple[str, ...] = (name, str(n)) if which == "multiples" else (question,)
    work = f"The list has {n} items."
    body = "\n".join(f"{i}. {item}" for i, item in enumerate(rule, 1))
    return Exchange("lists", "lists", operands, question, work, f"Here are the first {n} {name}:\n\n{body}", hidden=True)
