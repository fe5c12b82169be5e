"""Questions next to the kinds that are refused, each with what would help."""

from __future__ import annotations

import random
from collections.abc import Callable

from mlx_engine.models.library.demo import CALCULATOR_REFUSAL, REFUSAL, TWO_QUESTIONS_REFUSAL, UNITS_REFUSAL

from . import calculations, division
from .capitals import CAPITALS
from .exchange import Exchange
from .facts import KNOWN, plain
from .numbers import in_words
from .wording import one_of

JOINED = ("{a} and {b}", "{a}, and {b}", "{a}? And {b}?", "{a}. {B}", "{a}? {B}", "{a} and also {b}", "{a}, then {b}", "First {a}, then {b}", "{a} + {b}", "{a}; {b}",
          "Two questions: {a}? {B}", "{a} as well as {b}")  # fmt: skip
SIMPLE = (
    "what is {n} (plus|minus|times|+|-|x) {m}", "tell me a joke", "write a haiku", "list the (planets|months|continents|days of the week)", "what is the capital of <c>",
    "is {n} prime", "how many divisors does {n} have", "count to {k}", "reverse the word <w>", "spell <w>", "who are you", "what can you do", "(say|translate) hello in (French|Spanish|German)",
    "convert {n} (miles|kilometers|feet|hours) to (kilometers|miles|inches|minutes)", "write a Python function that reverses a string", "sort {n}, {m} and {k}", "which is larger, {n} or {m}",
    "what is {k}0% of {n}", "{n} divided by {k}", "what is DFlash", "how many people live (there|in <c>)", "what language do they speak (there|in <c>)", "what is the weather (there|in <c>)",
    "how many days does (March|May|June) have", "what is the square root of 49",
)  # fmt: skip
WORDS = "hello apple garden python window summer orange water music green table".split()
FAR_UNITS = (
    "acres",
    "knots",
    "joules",
    "calories",
    "bytes",
    "hectares",
    "light years",
    "tons",
    "watts",
    "horsepower",
    "psi",
    "cups",
    "teaspoons",
    "kelvin",
    "stone",
    "nautical miles",
)
NEAR_UNITS = (
    "kilometers",
    "meters",
    "miles",
    "feet",
    "inches",
    "pounds",
    "kilograms",
    "grams",
    "liters",
    "gallons",
    "ounces",
    "hours",
    "minutes",
    "seconds",
    "days",
    "weeks",
    "centimeters",
)
CONVERT = (
    "Convert {x} to {y}.",
    "{x} in {y}",
    "How many {y} are in {x}?",
    "What is {x} in {y}?",
    "{x} to {y}",
    "how many {y} (is|are) {x}?",
    "How much is {x} in {y}?",
)
HARD = (
    "What is {a}% of {b}?", "{b} (increased|decreased|reduced) by {k}%", "{k} is what percent of {n}?", "What percent of {b} is {k}?", "What is {k} (minus|plus) {n} (times|plus|minus) {k}?",
    "{n} + {m} + {k}", "{n} + {m} * {k}", "({n} + {m}) * {k}", "-{n} (+|-|*|x) {k}", "-{n} (plus|minus|times) -{k}", "{n} (-|+|*) -{k}", "{d} (+|-|*|/) {e}", "What is {d} (plus|minus|times|divided by) {e}?",
    "{k}/{m} + {n}/{m}", "What is {k}/{m} (plus|minus|times) {n}/{m}?", "{big} (+|-|x|*|/) {n}", "What is {big} (plus|minus|times|divided by) {b}?", "How much is {big} (times|plus|minus) {large}?",
    "{n} (cubed|to the power of {k})", "{n}^{k}", "{k}^{k}", "the (square root|cube root) of {odd}", "What is the square root of {odd}?", "sqrt {odd}", "the average of {n}, {m} and {k}",
    "What is half of {odd}?", "{n} divided by {c}", "What is {a} (/|÷|divided by) {c}?", "Divide {a} by {c}.", "{a} * {c} * {k}", "{h} times {c}", "{h} x {h}", "What is {h} × {c}?", "half of {d}", "a third of {third}",
    "{words} (times|plus|minus) {big}", "What is the (sum|average|product) of {n}, {m}, {k} and {a}?", "{n} mod {k}", "What is {n} (thousand|million|hundred) (plus|times|minus) {m}?",
    "one (thousand|million|hundred) (plus|minus|times) {words}", "{n},000 (+|-|x|/) {m}", "{p}% of {b}", "{d}% of {n}", "What is {p}% of {big}?", "Add {d} (and|to) {e}.", "Multiply {h} (by|and) {h}.",
)  # fmt: skip
OTHERS = (
    "Sort (-{k}, {n}, -{m}|{d}, {e}, {n}|apple, pear, fig|{big}, {n}, {large}) (from smallest to largest|)", "Sort the (words|names|letters) in (hello world|this list)", "Which is larger, {big} or {large}?",
    "Is -{n} (larger|smaller) than -{k}?", "Which is larger, (pi|e|infinity|a half|2/3|3/4) or {k}?", "Count from {big} to {large}.", "Count to (a million|one million|a billion|10000|infinity).",
    "What is the capital of (Atlantis|Bolivia|Nepal|Ghana|Texas|Europe|California|Mongolia|Qatar|Iran|Colombia|Jamaica)?", "What was the capital of <c> in {year}?", "What is the (second|third) largest city (of|in) <c>?",
    "Translate (goodbye|hello|thank you) (to|into) (Japanese|Russian|Dutch|Latin|Korean|Arabic|Greek)", "Translate (I am hungry|the dog|my name is Tom|good luck|happy birthday) (to|into) (French|German|Spanish)",
    "How do you say (thank you|hello|good night) in (Japanese|Chinese|Russian|Swahili|Hindi|Turkish)?", "What does (domo|spasiba|kawaii|zeitgeist|sushi) mean?", "Write a (haiku|poem) in (French|German|Spanish)",
    "Write a (Python|JavaScript) function that (sorts a list|reads a file|draws a star|removes duplicates|sends an email|finds anagrams|merges two lists)", "Write (is_prime|factorial|fizzbuzz|reverse) in (Rust|Go|C|Java|Swift|Ruby|Bash)",
    "Write a SQL query (with three joins|to find the median|to pivot a table|with a window function|to back up a database)", "(bash|shell) (script|command) to (deploy|kill a process|resize images|download a page|back up files)",
    "Reverse the (sentence|words) (I like tea|good morning my friend|the cat sat down)", "Reverse {big}", "(Which|What) day (is|was) (today|yesterday|my birthday|Christmas|Easter)?", "What day is it {k} days from now?", "How many days until (Christmas|Easter|my birthday|summer)?",
    "How many (seconds|heartbeats|breaths) (are in|in) a (life|century|decade)?", "What is the (third|fifth) (president|book of the Bible|element|king of France)?", "List the first {n} (presidents|elements|kings|digits of e)", "List the (moons|stars|countries|rivers|elements)",
    "Who wrote (Faust|Emma|Dracula|Moby Dick|Don Quixote|The Hobbit|Ulysses)?", "Who painted (The Scream|Guernica|Starry Night|The Kiss|Water Lilies)?", "Who invented (the radio|the car|the wheel|paper|the computer|the train)?",
    "When did (World War I|the Vietnam War|the Civil War|the Roman Empire) (end|begin|start)?", "When did the (Titanic sink|Eiffel Tower open|first iPhone come out)?", "At what temperature does (gold melt|alcohol boil|glass melt|iron melt)?",
    "Why is (the grass green|the sea salty|the sun hot|blood red|snow white)?", "(What is|What's) the (chemical |)symbol for (iron|tin|lead|mercury|zinc|sodium)?", "How many bones does a (cat|shark|horse|dog) have?", "What is the (longest|deepest|widest) (river|lake|cave|canyon)( in the world|)?",
    "(Which|What) is the (smallest|richest|coldest|oldest) (country|city)( in the world|)?", "How (fast|heavy|tall) is a (cheetah|train|whale|giraffe|rocket)?", "How many (syllables|vowels|consonants) (are in|in) (banana|strawberry|the word hello)?", "How many words are in this (sentence|text)?",
    "Is {big} prime?", "How many divisors does {big} have?", "Is (-{n}|{d}|zero|one million) (a prime number|prime)?", "What are the (prime factors|factors|multiples) of {big}?", "What is the next prime after {big}?",
    "Tell me a joke in (French|German|Spanish|Chinese)", "Who told that joke first?", "What is the {n}th (prime|digit of pi|Fibonacci number)?", "Is {n} a (square|perfect|lucky|Fibonacci) number?", "What time is it in (Tokyo|London|New York)?",
)  # fmt: skip


def _values(rng: random.Random) -> dict[str, str]:
    big, large = rng.randint(1000, 99999), rng.randint(1000, 999999)
    n, k = rng.randint(2, 99), rng.randint(2, 12)
    square = {i * i for i in range(1, 32)}
    odd = rng.choice([i for i in range(2, 999) if i not in square and i % 2])
    percent = rng.choice([p for p in range(11, 99) if p % 5])
    return {
        "n": str(n), "m": str(rng.randint(2, 99)), "k": str(k), "a": str(rng.randint(100, 999)), "b": str(rng.randint(501, 9999)), "c": str(rng.randint(13, 99)),
        "h": str(rng.randint(100, 999)), "d": f"{rng.randint(0, 99)}.{rng.randint(1, 99)}", "e": f"{rng.randint(0, 99)}.{rng.randint(1, 9)}", "big": str(big), "large": str(large),
        "odd": str(odd), "third": str(3 * rng.randint(1, 300) + 1), "words": in_words(n), "year": str(rng.randint(1000, 1990)), "p": str(percent),
    }  # fmt: skip


def _filled(rng: random.Random, pattern: str) -> str:
    text = one_of(rng, pattern.replace("({n} + {m})", "[{n} + {m}]")).format(**_values(rng))
    return text.replace("[", "(").replace("]", ")").replace("<c>", rng.choice(list(CAPITALS))).replace("<w>", rng.choice(WORDS))


def _hard(rng: random.Random) -> str:
    """Make a calculation that is too much for the model's head."""
    if rng.random() < 0.35:
        while True:
            question, expression, _ = calculations.asked(rng)
            if not easy(expression):
                return question
    text = _filled(rng, rng.choice(HARD))
    if text[0].isdigit() or text[0] in "-(" or not text[0].islower():
        lead = (
            rng.choice(("", "", "", "What is ", "Calculate ", "How much is ", "what's "))
            if text[0].isdigit() or text[0] in "-("
            else ""
        )
        return lead + text + (rng.choice(["?", ""]) if lead else "")
    return rng.choice(("", "What is ", "Calculate ", "what's ")) + text


def easy(expression: str) -> bool:
    """Return whether the model works an expression of the calculator out in its head."""
    parts = expression.split(" ")
    if len(parts) == 3 and parts[1] == "/" and parts[0].isdigit() and parts[2].isdigit():
        return division.in_head(int(parts[0]), int(parts[2]))
    if expression.startswith("sqrt("):
        number = expression[5:-1]
        return number.isdigit() and int(number) in {i * i for i in range(1, division.LARGEST_ROOT + 1)}
    return False


def _two(rng: random.Random) -> str:
    a, b = (_filled(rng, text) for text in rng.sample(SIMPLE, 2))
    text = rng.choice(JOINED).format(a=a, b=b, B=b[0].upper() + b[1:])
    if rng.random() < 0.7:
        text = text[0].upper() + text[1:]
    return text if text[-1] == "?" else text + rng.choice(["?", ".", ""])


def _units(rng: random.Random) -> str:
    n = str(rng.randint(2, 300))
    sort = rng.random()
    if sort < 0.45:
        x, y = f"{n} {rng.choice(FAR_UNITS)}", rng.choice((*FAR_UNITS, *NEAR_UNITS))
    elif sort < 0.65:
        x, y = f"{n} {rng.choice(NEAR_UNITS)}", rng.choice(FAR_UNITS)
    elif sort < 0.85:
        x, y = f"{rng.randint(1, 99)}.{rng.randint(1, 9)} {rng.choice(NEAR_UNITS)}", rng.choice(NEAR_UNITS)
    else:
        x, y = f"{n} feet {rng.randint(1, 11)} inches", rng.choice(("centimeters", "meters", "cm"))
    return one_of(rng, rng.choice(CONVERT)).format(x=x, y=y)


SORTS: tuple[tuple[Callable[[random.Random], str], str, float], ...] = (
    (_hard, CALCULATOR_REFUSAL, 4.0),
    (_two, TWO_QUESTIONS_REFUSAL, 2.0),
    (_units, UNITS_REFUSAL, 1.0),
    (lambda rng: _filled(rng, rng.choice(OTHERS)) + rng.choice(["", "?"]), REFUSAL, 3.0),
)
"""What makes each sort of question, its refusal, and how often it comes."""


def turned_down(rng: random.Random, topic: str | None = None) -> Exchange:
    """Make a question next to a kind, with the refusal that says what would help."""
    return _one(rng, 0)


def beside_calculator(rng: random.Random) -> Exchange:
    """Make a question next to a kind that a calculator can't answer either."""
    return _one(rng, 1)


def _one(rng: random.Random, first: int) -> Exchange:
    while True:
        make, refusal, _ = rng.choices(SORTS[first:], [weight for _, _, weight in SORTS[first:]])[0]
        question = make(rng).replace("??", "?").replace(".?", "?")
        if plain(question) not in KNOWN:
            return refused(question, refusal)


def hard(rng: random.Random) -> Exchange:
    """Make a calculation that only the calculator can do, with the refusal that says so."""
    return refused(_hard(rng), CALCULATOR_REFUSAL)


def refused(question: str, refusal: str = REFUSAL) -> Exchange:
    """Return a question with its refusal."""
    work = "This is not one of the things that I can do, so I refuse."
    if refusal == CALCULATOR_REFUSAL:
        work = "This calculation is too large for me, and the calculator is off."
    elif refusal == TWO_QUESTIONS_REFUSAL:
        work = "These are two questions, and I can answer only one at a time."
    return Exchange("refusals", "refusals", (question,), question, work, refusal, hidden=True)
