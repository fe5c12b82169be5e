"""Short remarks about the last answer: explain, shorter, why, and the same function in the other language."""

from __future__ import annotations

import random
import re
from dataclasses import replace

from . import functions
from .arithmetic import difference_of, sum_of
from .exchange import Exchange
from .measures import product_of
from .wording import one_of

WHY = "(Why?|why|why?|Why is that?|how come?|Why so?|Why is it so?|but why?|Why though?)"
EXPLAIN = ("(Explain.|explain|Explain that.|Can you explain that?|explain please|Please explain.|Explain it to me.|How did you get that?|how?|How does that work?|"
           "Explain your answer.|I don't understand.|can you explain|what does that mean?|How do you know?)")  # fmt: skip
SHORTER = ("(Shorter.|shorter|shorter please|Shorter, please.|Make it shorter.|Can you make that shorter?|In short?|just the result|Just the answer, please.|"
           "too long|That is too long.|only the result please|Keep it short.|tl;dr|briefly)")  # fmt: skip
LANGUAGE = ("(And in {l}?|and in {l}|And now in {l}.|and now in {l} please|Now in {l}.|In {l}?|in {l} please|What about {l}?|The same in {l}.|same in {l}|"
            "Can you write it in {l}?|Show me that in {l}.|Now the same in {l}, please.|Translate it to {l}.|and {l}?|Do it in {l}.)")  # fmt: skip
PLUS = "(Add {b} to that.|add {b} to it|plus {b}|and plus {b}?|Now add {b}.|And if I add {b}?|+ {b}|now plus {b})"
MINUS = "(Subtract {b} from that.|minus {b}|and minus {b}?|Now subtract {b}.|Take away {b}.|- {b}|now minus {b})"
TIMES = "(Multiply that by {b}.|times {b}|and times {b}?|Now multiply it by {b}.|x {b}|now times {b})"
STEPS = "The steps are in my answer above. I always work in small steps like these, and the last line has the result."
ABOUT, ABOUT_STEPS = "This is about my last answer.", "This is about my last answer, which has its steps."
SMALL = "I am a very small model, so I know only a few kinds of questions. A larger model can answer many more."
BY_HEART = "I know that only from my training text, so I can't explain it. A larger model can."
SHORTEST = "That is the only version of this answer that I know."
LISTED = ("capitals", "translation", "lists", "jokes", "haiku", "talk", "facts", "foreign", "commands")
WORKED = (
    "divisors",
    "sums",
    "multiplication",
    "comparison",
    "conversion",
    "percentages",
    "sorting",
    "reversing",
    "spelling",
    "division",
    "dates",
    "letters",
    "tables",
    "counting",
)
REMARKED = (*LISTED, *WORKED, "functions", "refusals")


def remark(rng: random.Random, before: Exchange) -> Exchange:
    """Make a remark about an answer, and the answer to it."""
    if before.kind == "functions" and "```" in before.result and rng.random() < 0.6:
        return other_language(rng, before)
    if before.kind in ("sums", "multiplication", "division") and rng.random() < 0.4 and (exchange := on_result(rng, before)):
        return exchange
    sort = rng.choice([EXPLAIN, EXPLAIN, WHY, SHORTER])
    question = one_of(rng, sort)
    if sort is SHORTER:
        result = _shorter(before)
    elif before.kind == "functions" and not before.result.startswith("```"):
        result = before.result.rpartition("\n\n")[2]
    elif before.kind == "refusals":
        result = SMALL
    else:
        result = STEPS if _worked(before) else BY_HEART
    return _remark(before, question, result)


def _worked(before: Exchange) -> bool:
    """Return whether the steps of an answer are shown."""
    return before.work == ABOUT_STEPS or (before.kind in WORKED and not before.hidden)


def _shorter(before: Exchange) -> str:
    if before.kind == "functions" and "```" in before.result:
        return "```" + before.result.partition("```")[2].rpartition("```")[0] + "```"
    if before.kind in WORKED and not before.hidden:
        return before.result
    return SHORTEST


def _remark(before: Exchange, question: str, result: str) -> Exchange:
    work = ABOUT_STEPS if _worked(before) else ABOUT
    return Exchange(before.kind, before.topic, before.operands, question, work, result, hidden=True)


def other_language(rng: random.Random, before: Exchange) -> Exchange:
    """Ask for the function that was just written in the other language."""
    script = "```javascript" in before.result or "javascript" in before.question.lower()
    language = "Python" if script else "JavaScript"
    question = one_of(rng, LANGUAGE).format(l=rng.choice(functions.LANGUAGES[language]))
    if before.topic == "hello world":
        return replace(functions.hello(language, question), operands=before.operands)
    return replace(functions.function_of(before.topic, language, question), operands=before.operands)


def on_result(rng: random.Random, before: Exchange) -> Exchange | None:
    """Ask to go on with the last result, if it is a small number."""
    found = re.fullmatch(r".*\*\*(\d{1,3})\*\*\.", before.result)
    if found is None or "remainder" in before.result:
        return None
    a, b = int(found[1]), rng.randint(2, 99)
    op = rng.choice("+-*")
    if op == "*":
        b = rng.randint(2, 12)
        return product_of(a, b, one_of(rng, TIMES).format(b=b)) if a < 100 else None
    if op == "+":
        return sum_of(a, b, one_of(rng, PLUS).format(b=b)) if a + b < 1000 else None
    return difference_of(a, b, one_of(rng, MINUS).format(b=b))
