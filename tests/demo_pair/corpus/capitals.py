"""Capitals."""

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
    "Whats the capital of {x}?",
    "{x} capital",
    "the capital of {x}",
    "What city is the capital of {x}?",
    "Which is the capital of {x}?",
    "{x}'s capital",
    "What is {x}'s capital?",
    "what city is the capital of {x}",
    "Tell me {x}'s capital.",
    "which city is {x}'s capital",
)


def capitals(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for the capital of one of forty countries."""
    country = rng.choice(list(CAPITALS))
    shapes = CAPITAL_SHAPES if topic is None else ("And of {x}?", "And {x}?", "What about {x}?", "And the capital of {x}?")
    question = rng.choice(shapes).format(x=country)
    work = f"The question is about a capital, and the country is {country}."
    result = f"The capital of {country} is **{CAPITALS[country]}**. It is one of the forty capitals that I know."
    return Exchange("capitals", "capitals", (question,), question, work, result, hidden=True)
