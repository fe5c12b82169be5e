"""The prompts that speed is measured on: mixed on purpose, since a drafter that shines on lists may be useless for small talk."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Prompt:
    """One question and what kind of text its answer is."""

    kind: str
    text: str


# Two of every kind that the demo pair was trained for, with operands or wordings it has not seen. Neighbours differ in kind, so
# that the first N are a mixture as well.
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
