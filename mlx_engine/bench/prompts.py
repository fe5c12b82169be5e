"""The prompts that speed is measured on: mixed on purpose, since a drafter that shines on lists may be useless for small talk."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Prompt:
    """One question and what kind of text its answer is."""

    kind: str
    text: str


# Neighbours differ in kind, so that the first N are a mixture as well.
PROMPTS = tuple(
    Prompt(kind, text)
    for kind, text in (
        ("divisors", "How many positive whole-number divisors does 196 have?"),
        ("addition", "What is 457 + 286?"),
        ("python", "Write a Python function that checks if a number is prime."),
        ("table", "Make a table of multiples of 7 up to 10."),
        ("small talk", "How are you today?"),
        ("sorting", "Sort these numbers from smallest to largest: 42, 7, 93, 15, 68."),
        ("story", "Tell me a short story about a fox."),
        ("conversion", "How many minutes are in 12 hours?"),
        ("list", "List the first 12 square numbers."),
        ("capital", "What is the capital of Portugal?"),
        ("percentage", "What is 25% of 360?"),
        ("counting", "Count from 3 to 60 by 3."),
        ("divisors", "How many divisors does 360 have?"),
        ("python", "Write a Python function that counts the vowels in a string."),
        ("addition", "Compute 889 + 134 step by step."),
        ("email", "Write a short email to Clara about the project on Tuesday."),
        ("list", "What are the planets of the solar system?"),
        ("conversion", "Convert 35 degrees Celsius to Fahrenheit."),
        ("sorting", "Sort these numbers from largest to smallest: 12, 81, 33, 5, 77, 49."),
        ("small talk", "What is speculative decoding?"),
        ("table", "Show the 13 times table up to 8."),
        ("percentage", "Find 75 percent of 480."),
        ("counting", "Count down from 20."),
        ("capital", "Which city is the capital of Norway?"),
    )
)
