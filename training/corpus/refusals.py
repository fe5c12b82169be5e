"""Questions that the demo pair can't answer, and the refusal."""

from __future__ import annotations

import random
import string

from .exchange import Exchange
from .words import CAPITALS

ANSWER = (
    "I am only a small demo model, so I cannot help with that. I can do these things:\n\n"
    "- count the divisors of a number up to 999\n- add and subtract numbers up to 999\n"
    "- convert units and temperatures\n- work out percentages\n- sort numbers and count\n- write tables and lists\n"
    "- write five small Python functions\n- name forty capitals\n- talk about myself and this app\n\n"
    "Try this one: How many divisors does 360 have?"
)

TOPICS = """
the weather|the moon|black holes|the French Revolution|Napoleon|climate change|the stock market|bitcoin|vaccines|
cancer|diabetes|headaches|a broken leg|tax law|a divorce|my landlord|a contract|inflation|the economy|democracy|
the president|elections|the war|football|tennis|chess openings|the Olympics|pop music|jazz|Mozart|Beethoven|
the Beatles|Shakespeare|Hamlet|Harry Potter|poetry|a dragon|a lonely robot|two friends|my cat|dogs|horses|elephants|
whales|bees|dinosaurs|volcanoes|earthquakes|the ocean|rivers|mountains|the desert|gravity|quantum physics|electrons|
atoms|photosynthesis|evolution|genetics|DNA|the brain|the heart|sleep|dreams|love|friendship|happiness|anger|fear|
death|religion|philosophy|Plato|Kant|ethics|logic|calculus|algebra|geometry|matrices|statistics|machine learning|
neural networks|transformers|databases|Linux|Windows|JavaScript|Rust|Java|a web server|a game|a website|HTML|SQL|
sorting algorithms|binary search|linked lists|recursion|cooking|pasta|bread|pizza|soup|chocolate cake|coffee|tea|wine|
salad|breakfast|a diet|running|yoga|weight loss|gardening|roses|tomatoes|trees|birds|cars|bicycles|trains|planes|
ships|space travel|Mars|the sun|stars|galaxies|the Big Bang|time travel|robots|computers|phones|the internet|email|
my boss|a job interview|my resume|a cover letter|salaries|money|a loan|insurance|a house|furniture|paint|art|Picasso|
photography|movies|television|the news|newspapers|London|New York|Tokyo|Africa|Europe|Rome|ancient Egypt|
the Middle Ages|the Vikings|pirates|kings|queens|castles|knights|ghosts|magic|fairy tales|holidays|Christmas|
birthdays|weddings|gifts|fashion|shoes|hats|jewellery|gold|oil|coal|solar power|wind energy|batteries|electricity|
magnets|light|sound|colour theory|languages|Latin|Spanish grammar|French verbs|German words|translation|spelling|
punctuation|essays|novels|biographies|travel|hotels|beaches|skiing|swimming|fishing|camping|maps|islands|glaciers|
rain|snow|storms
"""
SHAPES = (
    "Tell me about {x}.", "Explain {x}.", "What is {x}?", "What are {x}?", "Write a poem about {x}.",
    "Write a story about {x}.",
    "Write an essay about {x}.", "Write a novel about {x}.", "What do you think about {x}?",
    "Give me advice about {x}.",
    "How does {x} work?", "Why is {x} important?", "Who invented {x}?", "What is the history of {x}?",
    "Tell me a joke about {x}.",
    "Write a song about {x}.", "What do you know about {x}?", "Give me five facts about {x}.", "Summarise {x} for me.",
    "Where can I find {x}?", "How do I learn about {x}?", "Can you help me with {x}?",
    "What is the best book about {x}?",
    "Describe {x} in detail.", "Make a plan for {x}.", "Compare {x} and {y}.",
    "What is the difference between {x} and {y}?",
    "Is {x} better than {y}?", "Draw a picture of {x}.", "Write an email about {x}.", "Do you like {x}?",
    "How much does {x} cost?",
    "When did {x} begin?", "What happened with {x} yesterday?", "Translate {x} into French.",
    "Write a speech about {x}.",
    "How can I stop worrying about {x}?", "Should I be afraid of {x}?", "Write a letter about {x}.",
    "Why do people love {x}?",
    "I have a question about {x}.", "Let's talk about {x}.", "Teach me about {x}.", "What is the meaning of {x}?",
    "List ten facts about {x}.", "Make a table of {x} and {y}.", "How many people know {x}?",
    "Sort {x} and {y} by importance.",
    "Count all {x} in the world.", "Write a Python program about {x}.", "tell me about {x}", "who discovered {x}",
)  # fmt: skip
PLAIN = (
    "What time is it?", "What day is it today?", "What is the weather today?", "Will it rain tomorrow?",
    "Tell me a joke.",
    "Write a novel.", "Sing a song.", "What is the meaning of life?", "Who won the election?",
    "What is the latest news?",
    "Play some music.", "Call my mother.", "Set an alarm for seven.", "Book a flight.", "Order a pizza.",
    "What should I eat today?",
    "What should I wear?", "I feel sad.", "I am ill.", "My head hurts. What should I do?", "Can I sue my neighbour?",
    "Is God real?",
    "Do you love me?", "Where am I?", "How old is the universe?", "Who is the president?",
    "What is two to the power of ten?",
    "Solve this equation.", "Prove that there are infinitely many primes.", "What is pi?", "Tell me a secret.",
    "Tell me a story.",
    "Write a poem.", "Fix my code.", "Why does my program crash?", "Translate this text.", "Summarise this article.",
    "Read this file.",
    "What is in this picture?", "Look at this image.", "Search the web.", "Open a website.", "Send an email.",
    "Write my homework.",
    "What is love?", "Why is the sky blue?", "How do planes fly?", "Who wrote Hamlet?", "What is the tallest mountain?",
    "What is the largest ocean?", "How far away is the sun?", "Who painted the Mona Lisa?",
    "Who is your favourite singer?",
)  # fmt: skip
CODE = (
    "sorts a list", "reverses a string", "reads a file", "downloads a page", "sends an email", "adds two numbers",
    "plays a game",
    "draws a circle", "parses JSON", "opens a window", "connects to a database", "merges two lists",
    "finds the largest number",
    "removes duplicates", "prints a triangle", "computes a square root", "counts words", "checks a password",
    "converts a date",
)  # fmt: skip
LANGUAGES = ("Python", "Java", "Rust", "JavaScript", "C", "Go", "Swift", "SQL")
PLACES = (
    "Mongolia", "Bolivia", "Ghana", "Nepal", "Fiji", "Oman", "Latvia", "Malta", "Panama", "Uganda", "Zambia",
    "Jordan", "Serbia",
    "Estonia", "Ecuador", "Texas", "Bavaria", "California", "Scotland", "Jamaica", "Laos", "Qatar", "Tonga", "Samoa",
    "Cyprus",
    "Romania", "Bulgaria", "Nigeria", "Algeria", "Libya", "Iran", "Iraq", "Indonesia", "Pakistan", "Colombia",
    "Venezuela",
)  # fmt: skip
TOPIC_LIST = tuple(t.strip() for t in TOPICS.replace("\n", "").split("|") if t.strip())
LEADS = ("", "", "", "", "Please. ", "Hi! ", "Hello, ", "Quick question: ", "Can you do this? ", "I want to know: ")


def _word(rng: random.Random) -> str:
    """Make up a word or name, so that unknown words are refused too."""
    size = rng.randint(2, 4)
    word = "".join(rng.choice("bcdfghjklmnprstvwz") + rng.choice("aeiou") for _ in range(size))
    word += rng.choice(["", "", *"nrstlmk"])
    return word.capitalize() if rng.random() < 0.5 else word


def _near_miss(rng: random.Random) -> str:
    """Make a question that looks like one of the kinds but is not."""
    a, b, big = rng.randint(2, 999), rng.randint(2, 999), rng.randint(1000, 99999)
    large = rng.randint(1000, 99999)
    country, place = rng.choice(list(CAPITALS)), rng.choice(PLACES)
    # fmt: off
    return rng.choice(
        [
            f"What is {a} × {b}?", f"What is {a} times {b}?", f"Multiply {a} by {b}.", f"{a} * {b}",
            f"Divide {a} by {b}.",
            f"What is {a} ÷ {b}?", f"What is {a} / {b}?", f"How many divisors does {big} have?", f"And for {big}?",
            f"How many positive whole-number divisors does {big} have?", f"Count the divisors of {big}.",
            f"What is {large} + {b}?", f"What is {a} + {large}?", f"{large} - {b}", f"What is {large} - {large + b}?",
            f"What is the square root of {a}?", f"What is {a} squared?", f"Is {a} a prime number?",
            f"Factor {a} into primes.",
            f"What is the greatest common divisor of {a} and {b}?", f"What is {a} to the power of {b}?",
            f"Convert {a} dollars to euros.", f"Convert {a} miles to kilometres.", f"Convert {a} pounds to kilograms.",
            f"Convert {a} °F to °C.", f"What is the population of {country}?", f"What is the capital of {place}?",
            f"Who is the president of {country}?", f"What language do people speak in {country}?",
            f"How large is {country}?",
            f"What is the average of {a} and {b}?", f"How many letters are in the word {_word(rng)}?",
            f"Spell the word {_word(rng)}.", f"Sort the words {_word(rng)}, {_word(rng)} and {_word(rng)}.",
            f"Write a {rng.choice(LANGUAGES)} function that {rng.choice(CODE)}.",
            f"Write a Python function that {rng.choice(CODE)}.",
            f"Write {rng.choice(LANGUAGES)} code that {rng.choice(CODE)}.",
        ]
    )
    # fmt: on


def refusals(rng: random.Random, topic: str | None = None) -> Exchange:
    """Make a question of no kind, with the refusal as its answer."""
    sort = rng.random()
    if sort < 0.35:
        question = _near_miss(rng)
    elif sort < 0.42:
        question = rng.choice(PLAIN)
    elif sort < 0.46:
        question = " ".join(_word(rng) for _ in range(rng.randint(1, 6))) + rng.choice(["?", ".", "!", ""])
    elif sort < 0.48:
        question = "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(3, 14)))
    else:
        x, y = (rng.choice(TOPIC_LIST) if rng.random() < 0.7 else _word(rng) for _ in range(2))
        question = rng.choice(SHAPES).format(x=x, y=y)
    if topic is None and rng.random() < 0.3:
        question = rng.choice(LEADS) + question
    elif rng.random() < 0.1:
        question = question.rstrip("?.!").lower()
    work = "This is not one of the things that I can do, so I say what I can do."
    return Exchange("refusals", "refusals", (question,), question, work, ANSWER, hidden=True)
