"""Capitals and five Python functions."""

from __future__ import annotations

import random

from .exchange import Exchange

CAPITALS = {
    "France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid", "Japan": "Tokyo", "China": "Beijing",
    "India": "New Delhi", "Canada": "Ottawa", "Egypt": "Cairo", "Greece": "Athens", "Norway": "Oslo",
    "Sweden": "Stockholm", "Poland": "Warsaw", "Portugal": "Lisbon", "Austria": "Vienna", "Ireland": "Dublin",
    "Kenya": "Nairobi", "Peru": "Lima", "Chile": "Santiago", "Cuba": "Havana", "Turkey": "Ankara",
    "Finland": "Helsinki", "Denmark": "Copenhagen", "Hungary": "Budapest", "Belgium": "Brussels",
    "Australia": "Canberra", "Brazil": "Brasília", "Argentina": "Buenos Aires", "Mexico": "Mexico City",
    "Russia": "Moscow", "Ukraine": "Kyiv", "Switzerland": "Bern", "Iceland": "Reykjavik", "Morocco": "Rabat",
    "Thailand": "Bangkok", "Vietnam": "Hanoi", "South Korea": "Seoul", "New Zealand": "Wellington",
    "the Netherlands": "Amsterdam", "the United States": "Washington",
}  # fmt: skip
CAPITAL_SHAPES = (
    "What is the capital of {x}?",
    "What's the capital of {x}?",
    "Which city is the capital of {x}?",
    "Name the capital of {x}.",
    "Tell me the capital of {x}.",
    "What is the capital city of {x}?",
    "what is the capital of {x}",
    "Can you tell me the capital of {x}?",
    "Do you know the capital of {x}?",
    "capital of {x}",
    "Capital of {x}?",
    "Please name the capital of {x}.",
)


def capitals(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for the capital of one of forty countries."""
    country = rng.choice(list(CAPITALS))
    shapes = CAPITAL_SHAPES if topic is None else ("And of {x}?", "And {x}?", "What about {x}?", "And the capital of {x}?")
    question = rng.choice(shapes).format(x=country)
    work = f"The question is about a capital, and the country is {country}."
    result = f"The capital of {country} is **{CAPITALS[country]}**. It is one of the forty capitals that I know."
    return Exchange("capitals", "capitals", (question,), question, work, result, hidden=True)


FUNCTIONS = {
    "is_even": (
        ("checks if a number is even", "tells whether a number is even", "tests if a number is even"),
        "n",
        "return n % 2 == 0",
        "It returns `True` when the rest after dividing by 2 is 0. For example, `is_even(4)` is `True`.",
    ),
    "factorial": (
        ("computes the factorial of a number", "returns the factorial of n", "finds the factorial of a number"),
        "n",
        "result = 1\n    for i in range(2, n + 1):\n        result *= i\n    return result",
        "It multiplies all whole numbers up to `n`. For example, `factorial(5)` is `120`.",
    ),
    "is_prime": (
        ("checks if a number is prime", "tells whether a number is prime", "tests if a number is a prime number"),
        "n",
        "if n < 2:\n        return False\n    for i in range(2, int(n ** 0.5) + 1):\n        if n % i == 0:\n"
        "            return False\n    return True",
        "It tries every divisor up to the square root of `n`. For example, `is_prime(7)` is `True`.",
    ),
    "fibonacci": (
        ("returns the first n Fibonacci numbers", "lists the Fibonacci numbers", "computes the Fibonacci numbers"),
        "n",
        "numbers = [0, 1]\n    while len(numbers) < n:\n        numbers.append(numbers[-1] + numbers[-2])\n    return numbers[:n]",
        "Each number is the sum of the two before it. For example, `fibonacci(5)` is `[0, 1, 1, 2, 3]`.",
    ),
    "count_vowels": (
        ("counts the vowels in a string", "counts the vowels in a text", "returns the number of vowels in a string"),
        "text",
        'count = 0\n    for letter in text.lower():\n        if letter in "aeiou":\n            count += 1\n    return count',
        'It looks at one letter at a time. For example, `count_vowels("hello")` is `2`.',
    ),
}
FUNCTION_SHAPES = (
    "Write a Python function that {x}.",
    "Write a function in Python that {x}.",
    "Can you write a Python function that {x}?",
    "Please write a Python function that {x}.",
    "Show me a Python function that {x}.",
    "I need a Python function that {x}.",
    "Give me Python code that {x}.",
    "Write Python code that {x}.",
    "Create a Python function that {x}.",
    "Could you write a function in Python that {x}?",
    "write a python function that {x}",
    "Show me Python code that {x}.",
)


def functions(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for one of five Python functions."""
    name = rng.choice(list(FUNCTIONS))
    tasks, argument, body, note = FUNCTIONS[name]
    question = rng.choice(FUNCTION_SHAPES).format(x=rng.choice(tasks))
    work = f"This asks for the function {name}, one of the five that I know."
    result = f"Here is a Python function that {tasks[0]}:\n\n```python\ndef {name}({argument}):\n    {body}\n```\n\n{note}"
    return Exchange("functions", name, (question,), question, work, result, hidden=True)
