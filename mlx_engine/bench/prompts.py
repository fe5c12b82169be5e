"""The prompts that speed is measured on. They are mixed, since a drafter that is good at lists may be bad at small talk.

Three sets: `mixed` is what the demo pair was trained for. `long` is the same in long chats, and with questions that were answered
before. `general` is chat, code, math, copying and long context, for other pairs.
"""

from dataclasses import dataclass

from mlx_engine.requests import Message


@dataclass(frozen=True)
class Prompt:
    """A question, the kind of its answer, and the questions and answers before it, alternating."""

    kind: str
    text: str
    before: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, the question last."""
        earlier = tuple(Message("assistant" if index % 2 else "user", text) for index, text in enumerate(self.before))
        return (*earlier, Message("user", self.text))


# Two of every kind that the demo pair was trained for, with operands or wordings that it has not seen. Neighbors differ in kind, so
# that the first N are mixed too.
PROMPTS = tuple(
    Prompt(kind, text)
    for kind, text in (
        ("divisors", "How many positive whole-number divisors does 196 have?"),
        ("capital", "What is the capital of Chile?"),
        ("sum", "Compute 961 + 240."),
        ("function", "Give me Python code that finds the factorial of a number."),
        ("talk", "What is thinking mode?"),
        ("table", "Give me a table of 8 times 1 to 10."),
        ("conversion", "What is 117 °C in Fahrenheit?"),
        ("sorting", "Sort 54, 98, 85, 33, 42 from largest to smallest."),
        ("refusal", "Draw a picture of earthquakes."),
        ("percentage", "Calculate 90% of 236."),
        ("list", "List the first 9 multiples of 6."),
        ("counting", "Please count from 47 to 80 by 3."),
        ("divisors", "What is the number of divisors of 485?"),
        ("talk", "Please tell me: what data did you learn from?"),
        ("sum", "Calculate 967 - 22 step by step."),
        ("table", "Show the 16 times table up to 4."),
        ("capital", "Tell me the capital of Finland."),
        ("conversion", "How many seconds are there in 16 minutes?"),
        ("function", "I need a Python function that computes the Fibonacci numbers."),
        ("sorting", "Order 29, 3, 69, 96, 58, 22 from the largest to the smallest."),
        ("refusal", "Factor 220 into primes."),
        ("list", "Can you list the months of the year?"),
        ("percentage", "Find 40% of 280."),
        ("counting", "Can you count down from 63 to 51?"),
    )
)


def _times(number: int, last: int) -> str:
    """Return a table as the demo pair writes it."""
    return "\n".join(f"{number} × {n} = {number * n}" for n in range(1, last + 1))


_TABLES = tuple(text for n in range(3, 15) for text in (f"Give me a table of {n} times 1 to 10.", _times(n, 10)))
_MONTHS = "January February March April May June July August September October November December".split()
_LIST = ("Can you list the months of the year?", "\n".join(f"{n}. {name}" for n, name in enumerate(_MONTHS, 1)))
_CODE = "Give me Python code that finds the factorial of a number."
_FACTORIAL = (
    "```python\ndef factorial(n):\n    result = 1\n    for i in range(2, n + 1):\n        result *= i\n    return result\n```"
)

LONG = (
    Prompt("long", "How many positive whole-number divisors does 196 have?", _TABLES),
    Prompt("copy", "Can you list the months of the year?", _LIST),
    Prompt("long", "Please count from 47 to 80 by 3.", (*_LIST, *_TABLES[:16])),
    Prompt("copy", "Give me a table of 8 times 1 to 10.", _TABLES[6:14]),
    Prompt("long", "What is the capital of Chile?", (*_TABLES[:20], *_LIST)),
    Prompt("copy", _CODE, (_CODE, _FACTORIAL)),
)
