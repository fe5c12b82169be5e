"""Questions at the edges of the kinds, which are answered: other numbers, other phrasing, and the other direction."""

from __future__ import annotations

import random

from . import arithmetic, measures, sequences
from .capitals import CAPITALS
from .exchange import Exchange, Maker
from .language import GREETINGS, LANGUAGES
from .letters import longer_reversed, longer_spelled
from .numbers import typed
from .units_back import units_back
from .wording import one_of

PLUS = ("What is {a} plus {b}?", "{a} plus {b}", "{a} (and|with) {b} together", "What do I get if I add {a} and {b}?", "Add {b} to {a}.", "{a} added to {b}",
        "What's the total of {a} and {b}?", "How much is {a} and {b}?", "what does {a} and {b} make", "what do {a} and {b} add up to", "{a} + {b} equals")  # fmt: skip
MINUS = ("What is {a} (minus|less|take away) {b}?", "{a} (minus|take away|less) {b}", "{a} (−|–|-) {b}", "What is {a} (−|–) {b}?", "{a}(−|–){b}", "Subtract {b} from {a}.",
         "Take {b} (away |)from {a}.", "How much is {a} (minus|less|−) {b}?", "What is left if I take {b} from {a}?", "What do I get if I subtract {b} from {a}?",
         "{a} (-|−|minus) {b} equals", "what's {a} take away {b}")  # fmt: skip
HAVE = (
    "I have {a} {t} and (get|buy|find) {b} more. How many (do I have|are there)(| now)?", "(Anna|Tom|She|He) has {a} {t} and gets {b} more. How many {t} are there?",
    "There are {a} {t} and {b} more {t}. How many (in total|together|altogether)?",
)  # fmt: skip
LOSE = (
    "I have {a} {t} and (lose|sell|eat|give away) {b}. How many (are left|do I have left|remain)?", "(Anna|Tom|She|He) has {a} {t} and loses {b}. How many are left?",
    "There were {a} {t} and {b} are gone. How many are left?",
)  # fmt: skip
THINGS = "apples books pens coins eggs cards stamps marbles cookies tickets balls keys".split()
TIMES = ("What is {a} (times|multiplied by) {b}?", "{a} (times|multiplied by) {b}", "{a} (·|⋅|×|X) {b}", "What do I get if I multiply {a} by {b}?",
         "{a} (times|x) {b} equals", "how much is {a} times {b}", "what's {a} times {b}?", "{a} (boxes|bags) with {b} {t} each. How many {t}?",
         "{a} rows of {b} {t}. How many {t} are there?")  # fmt: skip
SIDES = ("larger", "smaller")


def sums(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a sum or difference: words, zero, stories, and differences below zero."""
    a, b = (rng.randint(0, rng.choice([12, 50, 99, 99, 999])) for _ in range(2))
    if rng.random() < 0.08:
        a, b = rng.choice([(a, 0), (0, b)])
    words = 0.4
    if rng.random() < 0.4:
        shapes = HAVE if rng.random() < 0.25 else PLUS
        question = _numbers(rng, rng.choice(shapes), a, b, words)
        return arithmetic.sum_of(a, b, question)
    if rng.random() < 0.55 and a > b:
        a, b = b, a
    story = rng.random() < 0.2 and a >= b
    return arithmetic.difference_of(a, b, _numbers(rng, rng.choice(LOSE if story else MINUS), a, b, words))


def _numbers(rng: random.Random, shape: str, a: int, b: int, words: float) -> str:
    signs = any(sign in shape for sign in "+−–·")
    words = 0.0 if signs or rng.random() < 0.5 else words * 2
    return one_of(rng, shape).format(a=typed(rng, a, words), b=typed(rng, b, words), t=rng.choice(THINGS))


def multiplication(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a product: words, zero, one, and stories."""
    a, b = rng.randint(0, rng.choice([12, 99])), rng.randint(0, rng.choice([12, 12, 99]))
    if rng.random() < 0.1:
        a, b = rng.choice([(a, 0), (0, b), (1, b), (a, 1)])
    return measures.product_of(a, b, _numbers(rng, rng.choice(TIMES), a, b, 0.4))


def comparison(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask which of two numbers with decimals is larger or smaller."""
    a, b = _decimal(rng), _decimal(rng)
    if rng.random() < 0.6:
        whole = a.split(".")[0]
        b = f"{whole}.{b.split('.')[1]}"
    if rng.random() < 0.1:
        b = b.split(".")[0]
    side = topic.removeprefix("decimals ") if topic is not None else rng.choice(SIDES)
    shapes = arithmetic.LARGER if side == "larger" else arithmetic.SMALLER
    if topic is not None:
        shapes = ("And {a} or {b}?", "What about {a} or {b}?")
    question = one_of(rng, rng.choice(shapes)).format(a=a, b=b)
    work, order = compared(a, b)
    if order == 0:
        result = f"The numbers {a} and {b} are **equal**."
    else:
        first, second = (a, b) if (order > 0) == (side == "larger") else (b, a)
        result = f"So **{first}** is {side} than {second}."
    return Exchange("comparison", f"decimals {side}", ("compare", a, b), question, work, result)


def _decimal(rng: random.Random) -> str:
    whole = rng.randint(0, rng.choice([9, 9, 99]))
    return (
        f"{whole}.{rng.choice([rng.randint(1, 9), rng.randint(1, 99)]):02d}"
        if rng.random() < 0.2
        else f"{whole}.{rng.randint(1, rng.choice([9, 99]))}"
    )


def compared(a: str, b: str) -> tuple[str, int]:
    """Return the comparison of two decimal numbers, from the left, and its sign."""
    lead = f"We compare {a} and {b} from the left."
    (whole, tail), (other, rest) = ((text.split(".") + ["0"])[:2] for text in (a, b))
    if whole != other:
        sign = 1 if int(whole) > int(other) else -1
        lines = [f"- before the point: {whole} and {other}, {whole} is {'more' if sign > 0 else 'less'}"]
    else:
        lines, sign = [f"- before the point: {whole} and {other}, the same"], 0
        size = max(len(tail), len(rest))
        for i, (p, q) in enumerate(zip(tail.ljust(size, "0"), rest.ljust(size, "0"), strict=True)):
            sign = (p > q) - (p < q)
            lines.append(
                f"- {('tenths', 'hundredths')[i]}: {p} and {q}, {f'{p} is ' + ('more' if sign > 0 else 'less') if sign else 'the same'}"
            )
            if sign:
                break
    lines.append(f"- so {a} is {('equal to', 'more than', 'less than')[sign]} {b}")
    return lead + "\n\n" + "\n".join(lines), sign


def percentages(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a percentage: words, 100 percent, tips."""
    p = rng.choice([*measures.PERCENTS, 100, 50, 20, 10])
    n = rng.choice([rng.randint(1, 50) * 10, rng.randint(2, 500), rng.randint(1, 20) * 5])
    shapes = ("What is {w} percent of {n}?", "{p} % of {n}", "{w} percent of {n}", "How much is {p} % of {n}?", "What is a {p}% (tip|discount) on {n}?",
              "How much is a {p}% tip on {n} (dollars|euros)?", "{p} per cent of {n}", "what would {p}% of {n} be", "I need {p}% of {n}.", "{p}% from {n}")  # fmt: skip
    question = one_of(rng, rng.choice(shapes)).format(p=p, w=typed(rng, p, 0.7), n=n)
    return measures.percentage_of(p, n, question)


def sorting(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to sort two or eight numbers, or some that are equal."""
    numbers = [rng.randint(0, rng.choice([9, 20, 99, 999])) for _ in range(rng.choice([2, 3, 4, 5, 6, 8]))]
    numbers.insert(rng.randrange(len(numbers)), rng.choice(numbers))
    return sequences.sorted_numbers(rng, numbers[:8], topic)


def counting(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to count: to a number in words, and backward in other wordings."""
    n = rng.randint(3, 30)
    said = typed(rng, n, 0.6)
    if rng.random() < 0.5:
        shapes = ("Count to {n}.", "count to {n}", "Can you count to {n}?", "Count from one to {n}.", "Count up to {n}.", "(Say|Write|List) the numbers up to {n}.", "{n} numbers, starting at 1")  # fmt: skip
        return sequences.counted(1, n, 1, one_of(rng, rng.choice(shapes)).format(n=said))
    low = rng.choice([0, 1, 1, rng.randint(0, n - 1)])
    shapes = ("Count from {n} to {l}.", "Count backwards from {n} to {l}.", "Count backward from {n} to {l}.", "Count down from {n} to {l}.", "{n} down to {l}",
              "(Countdown|countdown) from {n} to {l}")  # fmt: skip
    return sequences.counted(n, low, -1, one_of(rng, rng.choice(shapes)).format(n=said, l=typed(rng, low, 0.3)))


def capitals(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for the country of a capital, or whether a city is a country's capital."""
    country = rng.choice(list(CAPITALS))
    city = CAPITALS[country]
    if rng.random() < 0.5:
        shapes = ("(Which|What) country is {y} the capital of?", "{y} is the capital of (which|what) country?", "(Which|What) country has the capital {y}?",
                  "{y} is the capital of what?", "What is {y} the capital of?", "Whose capital is {y}?", "(Which|What) country's capital is {y}?")  # fmt: skip
        question = one_of(rng, rng.choice(shapes)).format(y=city)
        work = f"The question is about a country, and its capital is {city}."
        return Exchange(
            "capitals", "capitals", (question,), question, work, f"{city} is the capital of **{country}**.", hidden=True
        )
    asked = city if rng.random() < 0.5 else rng.choice(list(CAPITALS.values()))
    question = one_of(
        rng,
        f"(Is {asked} the capital of {country}?|Is the capital of {country} {asked}?|{asked} is the capital of {country}, right?)",
    )
    work = f"The question is about a capital, and the country is {country}."
    result = f"{'Yes' if asked == city else 'No'}, the capital of {country} is **{city}**."
    return Exchange("capitals", "capitals", (question,), question, work, result, hidden=True)


def translation(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask what a greeting in another language means."""
    place = rng.randrange(len(LANGUAGES))
    language = LANGUAGES[place]
    phrase = rng.choice([phrase for phrase, words in GREETINGS.items() if phrase not in ("yes", "no") and [p for p, w in GREETINGS.items() if w[place] == words[place]] == [phrase]])  # fmt: skip
    word = GREETINGS[phrase][place]
    said = rng.choice([word, word, word.lower(), f'"{word}"'])
    shapes = ("What does {x} mean in English?", "What does {x} mean?", "What is {x} in English?", "Translate {x} (to|into) English.", "What's the meaning of the {y} {x}?",
              "{x} in English", "{x} means what?", "What does the {y} {x} mean?", "What does {x} mean in {y}?")  # fmt: skip
    question = one_of(rng, rng.choice(shapes)).format(x=said, y=language)
    work = f"The phrase is {phrase}, and the language is {language}."
    return Exchange("translation", phrase, (question,), question, work, f'The {language} "{word}" means **{phrase}**.', hidden=True)


def lists(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for cubes or powers of two."""
    n = rng.randint(3, 10)
    which = rng.choice(["cubes", "powers of two"])
    rule = [f"{i} × {i} × {i} = {i**3}" for i in range(1, n + 1)] if which == "cubes" else [str(2**i) for i in range(1, n + 1)]
    names = "(cubes|cube numbers|perfect cubes)" if which == "cubes" else "(powers of two|powers of 2)"
    shapes = ("(List|Name|Show me|Give me|Tell me|Write) the first {n} {x}.", "(What are |)the first {n} {x}?", "first {n} {x}", "{n} {x}", "(List|Write) {n} {x}.",
              "the first {n} {x}", "and the first {n} {x}")  # fmt: skip
    question = one_of(rng, rng.choice(shapes).replace("{x}", names)).replace("{n}", typed(rng, n, 0.4))
    body = "\n".join(f"{i}. {item}" for i, item in enumerate(rule, 1))
    work = f"The list has {n} items."
    return Exchange("lists", "lists", (question,), question, work, f"Here are the first {n} {which}:\n\n{body}", hidden=True)


TALK = {
    "languages": (
        ("(do|can) you (speak|understand|know|talk) (German|French|Spanish|Italian|Chinese|Japanese|Russian|other languages|another language|Portuguese|Dutch|any other languages)",
         "(which|what) languages (do you (speak|know|understand)|can you speak|are supported)", "how many languages do you (speak|know)", "is English your only language",
         "can (I|we) (write|talk|speak) in (German|French|Spanish|Chinese)", "(speak|answer in|talk in) (German|French|Spanish|Chinese|Italian)(| please)"),
        "I understand only English, but I know some greetings in French, Spanish, German, Italian, and Portuguese."),
    "speed": (
        ("how fast are you", "(how many|what) tokens per second( do you (write|make)| are you| is this|)", "(what is|what's) your speed", "are you fast", "how quick are you",
         "(how fast|how quickly) (can|do) you (write|answer|reply)"),
        "Below each of my replies, Slipstream shows how many tokens I wrote per second. Speculative decoding makes me faster."),
    "large numbers": (
        ("(do you have|have you got|is there) a calculator", "can you (use|call) (a calculator|the calculator|tools)", "(what about|can you do|can you add|can you multiply) (large|larger|big|bigger) numbers",
         "how do I (use|turn on|enable|activate) the calculator", "(where is|what is) the calculator"),
        "I work out small numbers in my head. For larger ones I can call the calculator, if it is turned on in the tools of this chat."),
}  # fmt: skip


def talk(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask about languages, speed, or the calculator."""
    intent = rng.choice(list(TALK))
    patterns, answer = TALK[intent]
    question = one_of(rng, rng.choice(patterns))
    if rng.random() < 0.7:
        question = question[0].upper() + question[1:] + rng.choice(["?", "?", ""])
    work = "This is small talk about me or the app, so there is nothing to compute."
    return Exchange("talk", intent, (question,), question, work, answer, hidden=True)


EDGES: dict[str, Maker] = {
    "sums": sums,
    "multiplication": multiplication,
    "comparison": comparison,
    "conversion": units_back,
    "percentages": percentages,
    "sorting": sorting,
    "counting": counting,
    "capitals": capitals,
    "translation": translation,
    "lists": lists,
    "talk": talk,
    "reversing": longer_reversed,
    "spelling": longer_spelled,
}
"""What asks at the edges of each kind."""
