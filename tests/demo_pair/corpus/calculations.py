"""Arithmetic that is too much for the model's head, for the calculator."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace

from .exchange import Exchange
from .measures import PERCENTS
from .wording import one_of

CALL_THOUGHT = "This is too much for my head, so I use the calculator."
RESULT_THOUGHT = "The calculator has answered."
DENIED = "The user denied this call."
DENIED_REPLY = "I can't work that out without the calculator."
ZERO_REPLY = "A number can't be divided by zero."
ERROR_REPLY = "The calculator couldn't work that out."
ZERO_ERRORS = ("Division by zero", "Division by zero.", "Error: division by zero", "Can't divide by zero.")
ERRORS = (
    "The calculation took too long.", "The expression isn't valid.", "Invalid expression", "Error: time-out", "The result is too large.",
    "Error: the server has stopped.", "Tool not found", "The call failed: no connection", "Error", "The tool is switched off.",
)  # fmt: skip
LONGEST = 19  # characters of a result

Value = tuple[str, str]
"""A number as typed, and as the expression has it."""
Asked = tuple[str, str, str]
"""A question, its expression, and how the answer begins."""

TIMES = (
    "What is {a} (×|x|*|times) {b}?", "What's {a} (×|x|*|times) {b}?", "{a} (×|x|*|times) {b}", "{a}(×|x|*){b}", "{a} (×|x|*) {b} = ?",
    "{a}(x|*|×){b}=", "Multiply {a} (by|with|and) {b}.", "How much is {a} (×|x|*|times|multiplied by) {b}?", "{a} multiplied by {b}",
    "(Calculate|Compute|Work out|Solve|Evaluate) {a} (×|x|*|times) {b}.", "(What is|Find) the product of {a} and {b}?",
    "What do I get if I multiply {a} by {b}?", "whats {a} (×|x|*|times) {b}", "what does {a} (x|times) {b} (make|equal|give)",
    "(I need|Tell me|Give me) {a} (times|x|×) {b}.", "Use the calculator: {a} (×|x|*) {b}", "I need to know what {a} times {b} is.",
)  # fmt: skip
PLUS = (
    "What is {a} (+|plus) {b}?", "What's {a} (+|plus) {b}?", "{a} (+|plus) {b}", "{a}+{b}", "{a} + {b} = ?", "{a}+{b}=", "Add {a} (and|to) {b}.",
    "How much is {a} (+|plus|and) {b}?", "(Calculate|Compute|Work out|Solve|Evaluate) {a} (+|plus) {b}.", "whats {a} (+|plus) {b}",
    "(What is|Find) the (sum|total) of {a} and {b}?", "what does {a} plus {b} (make|equal|give)", "sum of {a} and {b}", "(Tell me|I need) {a} plus {b}.",
    "What do I get if I add {a} and {b}?", "Use the calculator: {a} + {b}",
)  # fmt: skip
MINUS = (
    "What is {a} (-|minus|−) {b}?", "What's {a} (-|minus) {b}?", "{a} (-|minus|−) {b}", "{a}-{b}", "{a} - {b} = ?", "{a}-{b}=",
    "How much is {a} (-|minus|less) {b}?", "(Calculate|Compute|Work out|Solve|Evaluate) {a} (-|minus) {b}.", "whats {a} (-|minus) {b}",
    "(What is|Find) the difference (between|of) {a} and {b}?", "what does {a} minus {b} (make|equal|give)", "(Tell me|I need) {a} minus {b}.",
    "Use the calculator: {a} - {b}",
)  # fmt: skip
FROM = (
    "Subtract {b} from {a}.",
    "Take {b} (away |)from {a}.",
    "What is left if I take {b} from {a}?",
    "How much more is {a} than {b}?",
)
OVER = (
    "What is {a} (/|÷|divided by|over) {b}?", "What's {a} (/|÷|divided by) {b}?", "{a} (/|÷|divided by|:) {b}", "{a}(/|÷){b}", "{a} (/|÷) {b} = ?",
    "Divide {a} by {b}.", "How much is {a} (/|÷|divided by) {b}?", "(Calculate|Compute|Work out|Solve|Evaluate) {a} (/|÷|divided by) {b}.",
    "whats {a} (/|divided by) {b}", "Split {a} (into {b} equal parts|by {b}).", "(What is|Find) the quotient of {a} and {b}?", "{a}(/|÷){b}=",
    "what does {a} divided by {b} (make|equal|give)", "Use the calculator: {a} / {b}", "Share {a} (between|among) {b} people.",
)  # fmt: skip
INTO = ("How (many times|often) does {b} go into {a}?", "How many times does {b} fit into {a}?")
PERCENT = (
    "What's {a}( |){p} of {b}?", "What is {a}( |){p} of {b}?", "{a}( |){p} of {b}", "How much is {a}( |){p} of {b}?", "Find {a}{p} of {b}.",
    "(Calculate|Compute|Work out) {a}( |){p} of {b}.", "whats {a}{p} of {b}", "I need {a}{p} of {b}.",
)  # fmt: skip
POWER = (
    "{a} to the power of {b}", "What is {a} to the power of {b}?", "What's {a} to the power of {b}?", "{a}^{b}", "{a} ^ {b}", "{a}**{b}", "{a} ** {b}",
    "What is {a}^{b}?", "Raise {a} to the power of {b}.", "How much is {a} to the power of {b}?", "(Calculate|Compute) {a}^{b}.",
    "{a} to the power {b}", "What is {a} to the {b}th power?", "{a} to the {b}th",
)  # fmt: skip
SQUARE = ("What is {a} squared?", "{a} squared", "What's the square of {a}?", "Square {a}.", "square of {a}", "{a}^2", "{a}²")
CUBE = ("What is {a} cubed?", "{a} cubed", "What's the cube of {a}?", "Cube {a}.", "cube of {a}", "{a}^3", "{a}³")
ROOT = (
    "square root of {a}", "What is the square root of {a}?", "What's the square root of {a}?", "sqrt[{a}]", "sqrt {a}", "√{a}", "√ {a}",
    "(Calculate|Compute|Find|Work out|Take) the square root of {a}.", "root of {a}", "How much is the square root of {a}?", "whats the square root of {a}",
    "what is sqrt[{a}]",
)  # fmt: skip
PLAIN = (
    "What is {x}?", "What's {x}?", "{x}", "{x}", "{x} = ?", "{x}=", "(Calculate|Compute|Work out|Solve|Evaluate) {x}.", "How much is {x}?", "whats {x}",
    "what does {x} (make|equal|give)", "Use the calculator: {x}", "(Tell me|I need) {x}.",
)  # fmt: skip
REST = (
    "What is the remainder of {a} divided by {b}?",
    "{a} mod {b}",
    "{a} modulo {b}",
    "remainder of {a} / {b}",
    "What is {a} mod {b}?",
    "{a} % {b}",
)
AVERAGE = (
    "What is the average of {x}?",
    "average of {x}",
    "(Find|Calculate|Work out) the (average|mean) of {x}.",
    "mean of {x}",
    "Average {x}.",
)
TOTAL = (
    "Add {x}.",
    "Add up {x}.",
    "What is the sum of {x}?",
    "(Sum|Total) of {x}",
    "What do {x} add up to?",
    "sum {x}",
    "How much is {x} together?",
)
THINGS = "tickets|books|apples|chairs|pens|boxes|bottles|shirts|cups|lamps|bags|cakes|phones|bricks|tiles|stamps|eggs|pizzas|screws|cables".split(
    "|"
)
PRICES = (
    "(I buy|We buy|She buys) {a} {t} (at|for) {b} (dollars|euros) each. (What is the total|How much is that|How much in total)?",
    "{a} {t} (at|for) {b} (each|dollars each|euros each)", "How much do {a} {t} cost (at|if each costs) {b} (dollars|euros)( each|)?",
    "What do {a} {t} cost at {b} each?", "{a} {t} cost {b} (dollars|euros) each. What do I pay?", "What do I pay for {a} {t} at {b} each?",
)  # fmt: skip
FACTORS = {
    "half of {a}": "/ 2",
    "a third of {a}": "/ 3",
    "a quarter of {a}": "/ 4",
    "double {a}": "* 2",
    "twice {a}": "* 2",
    "triple {a}": "* 3",
}
THEN = {
    "*": "(and |And |now |)(times|multiplied by|x|×|*) {b}(?|)", "/": "(and |And |now |)(divided by|/|÷) {b}(?|)",
    "+": "(and |And |now |)(plus|+) {b}(?|)", "-": "(and |And |now |)(minus|-) {b}(?|)",
}  # fmt: skip
THAT = {
    "*": "(Multiply|multiply|Now multiply) (that|it|the result) by {b}.", "/": "(Divide|divide|Now divide) (that|it|the result) by {b}.",
    "+": "(Add|add|Now add) {b} to (that|it|the result).", "-": "(Subtract|subtract|Take) {b} from (that|it|the result).",
}  # fmt: skip


def calculation(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a calculation beyond the model's head; the topic of a follow-up is the last result, if there is one."""
    while True:
        question, expression, begin = _follow_up(rng, topic) if topic is not None else asked(rng)
        output = evaluated(rng, expression)
        if len(output) <= LONGEST:
            break
    sort = rng.random()
    topic, result = output, f"{begin} = **{output}**."
    if begin.startswith("The "):
        result = f"{begin} is **{output}**."
    if output in ZERO_ERRORS:
        topic, result = "", ZERO_REPLY
    elif sort < 0.06:
        topic, output, result = "", DENIED, DENIED_REPLY
    elif sort < 0.1:
        topic, output, result = "", rng.choice(ERRORS), ERROR_REPLY
    exchange = Exchange("calculator", topic, (expression,), question, RESULT_THOUGHT, result, hidden=True)
    return replace(exchange, expression=expression, output=output)


def evaluated(rng: random.Random, expression: str) -> str:
    """Return what a calculator answers: all digits or some, with or without ".0", or an error."""
    try:
        value = eval(expression, {"sqrt": math.sqrt})
    except ZeroDivisionError:
        return rng.choice(ZERO_ERRORS)
    if isinstance(value, int):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return str(value) if rng.random() < 0.2 else str(int(value))
    return repr(value) if rng.random() < 0.3 else f"{value:.{rng.choice([8, 10, 12])}g}"


def asked(rng: random.Random) -> Asked:
    """Return a question with its expression and the begin of its answer."""
    sort = rng.random()
    if sort < 0.55:
        return _two(rng)
    if sort < 0.63:
        return _percent(rng)
    if sort < 0.72:
        return _power(rng)
    if sort < 0.78:
        n, m = _number(rng), rng.randint(2, 999)
        n = n if rng.random() < 0.5 else _shown(rng, m * m)
        return _ask(rng, ROOT, a=n[0]), f"sqrt({n[1]})", f"The square root of {n[1]}"
    if sort < 0.9:
        return _three(rng)
    if sort < 0.93:
        return _list(rng)
    if sort < 0.96:
        (a, x), (b, y) = _whole(rng, 2, 200), _price(rng)
        return _ask(rng, PRICES, a=a, b=b, t=rng.choice(THINGS)), f"{x} * {y}", f"{x} × {y}"
    if sort < 0.98:
        (a, x), (b, y) = _whole(rng, 100, 99999), _whole(rng, 2, 99)
        return _ask(rng, REST, a=a, b=b), f"{x} % {y}", f"The remainder of {x} ÷ {y}"
    a, x = _whole(rng, 100, 99999)
    words, factor = rng.choice(list(FACTORS.items()))
    return _ask(rng, PLAIN, x=words.format(a=a)), f"{x} {factor}", _written(f"{x} {factor}")


def _ask(rng: random.Random, shapes: tuple[str, ...], **values: str) -> str:
    # Square brackets stand for round ones, which mark alternatives.
    return one_of(rng, rng.choice(shapes)).replace("[", "(").replace("]", ")").format(**values)


def _shown(rng: random.Random, n: int) -> Value:
    return (f"{n:,}" if n > 999 and rng.random() < 0.15 else str(n)), str(n)


def _whole(rng: random.Random, low: int, high: int) -> Value:
    digits = rng.randint(len(str(low)), len(str(high)))
    return _shown(rng, rng.randint(max(low, 10 ** (digits - 1)), min(high, 10**digits - 1)))


def _price(rng: random.Random) -> Value:
    text = f"{rng.randint(0, 199)}.{rng.choice([99, 95, 50, 49, 25, 75, rng.randint(10, 99)])}"
    return text, text


def _number(rng: random.Random) -> Value:
    sort = rng.random()
    if sort < 0.2:
        text = f"{rng.randint(0, 9999 if sort < 0.05 else 99)}.{rng.choice([rng.randint(1, 9), rng.randint(11, 99)])}"
        return text, text
    return _whole(rng, 2, 99) if sort < 0.32 else _whole(rng, 100, 99999) if sort < 0.92 else _whole(rng, 10**5, 10**7 - 1)


def in_head(op: str, x: str, y: str) -> bool:
    """Return whether the model works this out itself."""
    if not (x.isdigit() and y.isdigit()):
        return False
    high = {"+": 999, "-": 999, "*": 99}.get(op, -1)
    return int(x) <= high and int(y) <= high


def _two(rng: random.Random) -> Asked:
    op = rng.choice("****++--//")
    while True:
        (a, x), (b, y) = _number(rng), _number(rng)
        if op in "+*" and rng.random() < 0.08:
            a = x = f"-{x}"
        if not in_head(op, x, y):
            break
    if op == "/":
        if rng.random() < 0.45:
            a, x = _shown(rng, int(float(y) + 1) * rng.randint(2, 999))
            b, y = _shown(rng, int(float(y) + 1))
        elif rng.random() < 0.3:
            b, y = _whole(rng, 2, 99)
        elif rng.random() < 0.04:
            b = y = "0"
    shapes = {"*": TIMES, "+": PLUS, "-": MINUS, "/": OVER}[op]
    if op in "-/" and rng.random() < 0.25:
        shapes = FROM if op == "-" else INTO
    expression = f"{x} {op} {y}"
    return _ask(rng, shapes, a=a, b=b), expression, _written(expression)


def _percent(rng: random.Random) -> Asked:
    while True:
        p = rng.choice([str(rng.randint(1, 99)), f"{rng.randint(0, 99)}.{rng.choice([5, 5, 25, 75, rng.randint(1, 9)])}"])
        b, y = rng.choice([_whole(rng, 10, 9999), _number(rng)])
        if not (p.isdigit() and int(p) in PERCENTS and y.isdigit() and int(y) <= 500):
            question = _ask(rng, PERCENT, a=p, b=b, p=rng.choice(["%", "%", "%", " percent"])).replace("  ", " ")
            return question, f"{p} * {y} / 100", f"{p}% of {y}"


def _power(rng: random.Random) -> Asked:
    sort = rng.random()
    if sort < 0.2:
        a, x = rng.choice([_whole(rng, 100, 99999), _price(rng)])
        return _ask(rng, SQUARE, a=a), f"{x} ** 2", f"{x}^2"
    if sort < 0.35:
        a, x = _whole(rng, 2, 999)
        return _ask(rng, CUBE, a=a), f"{x} ** 3", f"{x}^3"
    base, exponent = rng.choice(
        [(rng.randint(2, 12), rng.randint(4, 16)), (rng.randint(2, 99), rng.randint(3, 8)), (2, rng.randint(5, 60))]
    )
    return _ask(rng, POWER, a=str(base), b=str(exponent)), f"{base} ** {exponent}", f"{base}^{exponent}"


def _three(rng: random.Random) -> Asked:
    (_, x), (_, y), (_, z) = (_whole(rng, 2, 999) if rng.random() < 0.7 else _number(rng) for _ in range(3))
    p, q = rng.choice("+-*/"), rng.choice("+-**/")
    shape = rng.choice(
        ["{x} {p} {y} {q} {z}", "({x} {p} {y}) {q} {z}", "({x} {p} {y}) {q} {z}", "{x} {q} ({y} {p} {z})", "{x} {p} {y} {p} {z}"]
    )
    expression = shape.format(x=x, y=y, z=z, p=p, q=q)
    typed = expression.replace("*", rng.choice(["*", "*", "×", "x"])).replace("/", rng.choice(["/", "/", "÷"]))
    if rng.random() < 0.2:
        typed = typed.replace(" ", "")
    elif "(" not in typed and rng.random() < 0.25:
        for sign, word in (
            ("+", "plus"),
            ("-", "minus"),
            ("*", "times"),
            ("x", "times"),
            ("×", "times"),
            ("/", "divided by"),
            ("÷", "divided by"),
        ):
            typed = typed.replace(f" {sign} ", f" {word} ")
    return _ask(rng, PLAIN, x=typed), expression, _written(expression)


def _list(rng: random.Random) -> Asked:
    values = [_whole(rng, 2, 9999) for _ in range(rng.choice([3, 3, 4, 5]))]
    text = ", ".join(shown if "," not in shown else value for shown, value in values[:-1]) + f" and {values[-1][1]}"
    added = " + ".join(value for _, value in values)
    if rng.random() < 0.5:
        return _ask(rng, TOTAL, x=text), added, added
    return _ask(rng, AVERAGE, x=text), f"({added}) / {len(values)}", "The average"


def _follow_up(rng: random.Random, last: str) -> Asked:
    if not re.fullmatch(r"-?[\d.]+", last) or len(last) > 14 or rng.random() < 0.45:
        question, expression, begin = _two(rng)
        if rng.random() < 0.8:
            expressed = expression.replace(" * ", rng.choice([" × ", " x ", " * ", " times "]))
            question = one_of(rng, "(And|and|What about|Now|and what is|And what's) ") + expressed + rng.choice(["?", "?", ""])
        return question, expression, begin
    op = rng.choice("**/+-")
    b, y = _whole(rng, 2, 999)
    question = one_of(rng, (THEN if rng.random() < 0.6 else THAT)[op]).format(b=b)
    expression = f"{last} {op} {y}"
    return question, expression, _written(expression)


def _written(expression: str) -> str:
    """Return the expression with the signs that people write."""
    return expression.replace("*", "×").replace("/", "÷")
