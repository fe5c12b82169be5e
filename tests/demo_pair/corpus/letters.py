"""How many letters a word has, how often one of them, and longer words than those of the other kinds."""

from __future__ import annotations

import random

from .exchange import Exchange
from .language import REAL_WORDS, REVERSE_SHAPES, SPELL_SHAPES, asked, made_up, reversed_word, spelled
from .wording import one_of

LONGEST = 12  # letters
LONG_WORDS = tuple(
    "refrigerator strawberry raspberry blueberry elephant chocolate mississippi hippopotamus crocodile butterfly dinosaur pineapple "
    "watermelon cucumber broccoli spaghetti hamburger breakfast restaurant supermarket university hospital apartment furniture "
    "dictionary newspaper magazine photograph telephone television computer calculator information technology electricity "
    "engineering mathematics geography chemistry philosophy psychology literature grammar alphabet adventure mysterious dangerous "
    "wonderful beautiful important different difficult necessary impossible interesting comfortable expensive delicious education "
    "government president democracy community population environment temperature atmosphere hurricane earthquake lightning "
    "thunderstorm rainbow snowflake waterfall mountains landscape playground basketball volleyball gymnastics champion orchestra "
    "saxophone accordion harmonica kangaroo alligator chimpanzee porcupine woodpecker grasshopper caterpillar scorpion sunflower "
    "marigold lavender cinnamon vanilla peppermint marshmallow sandwich pancakes croissant parliament astronaut spaceship "
    "helicopter motorcycle ambulance submarine locomotive lighthouse skyscraper staircase wardrobe microwave dishwasher vacuum "
    "umbrella sunglasses necklace bracelet handkerchief tomorrow yesterday afternoon midnight birthday christmas halloween "
    "thanksgiving anniversary programming javascript algorithm keyboard bookkeeper committee occurrence accommodate banana coffee "
    "balloon tomorrow assessment possession successful parallel millennium embarrass address happiness kindness friendship "
    "knowledge wisdom language vocabulary sentence paragraph question exclamation punctuation capital country continent".split()
)
COUNT_SHAPES = (
    "How many letters are (in|there in) (the word |)(x)?", "How many letters does (the word |)(x) have?", "How many letters (has|in) (x)?", "(Count|count) the letters (in|of) (the word |)(x).",
    "(What is|what's) the (length|number of letters) (of|in) (the word |)(x)?", "(x): how many letters?", "Number of letters in (x)", "How long is the word (x)?",
)  # fmt: skip
HOW_OFTEN_SHAPES = (
    "How many {l}('s|s|) are (there |)in (the word |)(x)?", "How many times does (the letter |){l} (appear|occur) in (the word |)(x)?", "(Count|count) the {l}'s in (the word |)(x).",
    "How often (is (the letter |){l} in|does (the letter |){l} appear in) (the word |)(x)?", "How many (letters |){l} does (the word |)(x) have?", "Count the letter {l} in (x).",
    "how many {l} in (x)", "How many {l}'s does (x) have?", "How many letters {l} are in (x)?", "number of {l}'s in (x)",
)  # fmt: skip
AGAIN = ("And in (x)?", "And (x)?", "What about (x)?")


def word(rng: random.Random) -> str:
    """Draw a word of three to twelve letters."""
    sort = rng.random()
    if sort < 0.4:
        return rng.choice(REAL_WORDS)
    if sort < 0.75:
        return rng.choice(LONG_WORDS)
    if sort < 0.85:
        return made_up(rng, (2, 5))[:LONGEST]
    first, second = rng.choice(LONG_WORDS), rng.choice((*LONG_WORDS, *REAL_WORDS))
    return (first[: rng.randint(2, 6)] + second[-rng.randint(2, 6) :])[:LONGEST]


def _numbered(text: str) -> str:
    return ", ".join(f"{i} {letter}" for i, letter in enumerate(text, 1))


def letters(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask how many letters a word has, or how often one of them."""
    text = word(rng)
    sort = topic or rng.choice(["count", "often", "often"])
    work = f"The letters of the word, numbered: {_numbered(text)}."
    if sort == "count":
        shape = rng.choice(COUNT_SHAPES if topic is None else AGAIN)
        question = one_of(rng, shape.replace("(x)", text))
        return Exchange("letters", "count", (text,), question, work, f"The word {text} has **{len(text)}** letters.")
    letter = rng.choice(text) if rng.random() < 0.9 else rng.choice("abcdefghilmnoprstu")
    if topic is not None and topic != "often":
        letter = topic.removeprefix("often ")
    shape = rng.choice(HOW_OFTEN_SHAPES if topic is None else AGAIN).replace("(x)", text)
    question = one_of(rng, shape).format(l=letter.upper() if rng.random() < 0.1 else letter)
    places = [str(i) for i, each in enumerate(text, 1) if each == letter]
    found = f"The {letter} is at {', '.join(places)}." if places else f"There is no {letter}."
    count = f"**{len(places)}** time{'' if len(places) == 1 else 's'}"
    return Exchange(
        "letters", f"often {letter}", (letter, text), question, f"{work}\n\n{found}", f"So {text} has the letter {letter} {count}."
    )


def longer_reversed(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to reverse a word of up to twelve letters."""
    text = word(rng)
    return reversed_word(text, asked(rng, REVERSE_SHAPES, text))


def longer_spelled(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to spell a word of up to twelve letters."""
    text = word(rng)
    return spelled(text, asked(rng, SPELL_SHAPES, text))
