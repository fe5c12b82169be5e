"""Conversions the other way: to larger units, from imperial ones, and temperatures in both directions."""

from __future__ import annotations

import random

from .arithmetic import long_division
from .exchange import Exchange
from .measures import AGAIN, CONVERT, ROUND, SHORT, UNITS, decimal, multiply_lines
from .wording import one_of

LARGER = {"meters": ("kilometers", 3, "kilometer"), "centimeters": ("meters", 2, "meter"), "millimeters": ("centimeters", 1, "centimeter"),
          "grams": ("kilograms", 3, "kilogram"), "milliliters": ("liters", 3, "liter")}  # fmt: skip
"""The larger unit, the power of ten between both, and one of the larger unit."""
WHOLE = {"days": "weeks", "hours": "days", "minutes": "hours", "seconds": "minutes", "months": "years", "inches": "feet"}
FACTORS = {
    "kilometers": ("miles", 62, 2, "kilometer", "0.62"), "pounds": ("kilograms", 45, 2, "pound", "0.45"),
    "centimeters": ("inches", 39, 2, "centimeter", "0.39"), "meters": ("feet", 33, 1, "meter", "3.3"),
    "feet": ("meters", 305, 3, "foot", "0.305"), "gallons": ("liters", 38, 1, "gallon", "3.8"), "liters": ("gallons", 26, 2, "liter", "0.26"),
    "ounces": ("grams", 284, 1, "ounce", "28.4"),
}  # fmt: skip
"""As `measures.DECIMAL_UNITS`."""
NAMES = {**SHORT, "ounces": "oz", "gallons": "gal"}
FAHRENHEIT = (
    "Convert {f} (°F|F|degrees Fahrenheit|Fahrenheit) (to|into) (°C|C|Celsius).", "What is {f} (°F|degrees Fahrenheit|Fahrenheit) in (Celsius|°C)?",
    "{f} (°F|F|fahrenheit|degrees fahrenheit|f) (in|to) (°C|C|celsius|c)", "{f}(F|°F) to (C|°C)", "whats {f} (fahrenheit|F) in celsius",
    "How (hot|much) is {f} (°F|Fahrenheit) in (°C|Celsius)?", "What's {f} degrees Fahrenheit in Celsius?",
)  # fmt: skip
CELSIUS = (
    "Convert {c} (°C|C|degrees Celsius) (to|into) (°F|F|Fahrenheit).", "What is {c} (°C|degrees Celsius|Celsius) in (Fahrenheit|°F)?",
    "{c} (°C|C|celsius|degrees celsius) (in|to) (°F|F|fahrenheit)", "How cold is {c} °C in (°F|Fahrenheit)?", "{c}(C|°C) to (F|°F)",
)  # fmt: skip


def _asked(rng: random.Random, topic: str | None, n: int, unit: str, to: str) -> str:
    if rng.random() < 0.35:
        unit, to = (one_of(rng, NAMES.get(name, name)) if rng.random() < 0.75 else name for name in (unit, to))
    elif rng.random() < 0.2:
        unit, to = (name.replace("meter", "metre").replace("liter", "litre") for name in (unit, to))
    if topic is None and rng.random() < 0.1:
        return f"{n} {unit} is how many {to}?"
    return one_of(rng, rng.choice(CONVERT if topic is None else AGAIN)).format(n=n, big=unit, small=to)


def _amount(rng: random.Random) -> int:
    sort = rng.random()
    return rng.randint(2, 12) if sort < 0.25 else rng.choice(ROUND) if sort < 0.5 else rng.randint(2, 99)


def shifted(rng: random.Random, topic: str | None) -> Exchange:
    """Ask to convert a metric unit to a larger one, which moves the decimal point."""
    unit = rng.choice(list(LARGER)) if topic is None else topic.removeprefix("larger ")
    to, zeros, one = LARGER[unit]
    n = rng.choice(
        [rng.randint(2, 99), rng.randint(1, 99) * 10, rng.randint(1, 99) * 100, rng.randint(1, 9) * 1000, rng.randint(100, 9999)]
    )
    value = decimal(n, zeros)
    work = f"One {one} is {10**zeros} {unit}, so we divide {n} by {10**zeros}.\n\n- {n} ÷ {10**zeros} = {value}"
    return _exchange(f"larger {unit}", n, _asked(rng, topic, n, unit, to), work, f"So {n} {unit} are **{value} {to}**.")


def whole(rng: random.Random, topic: str | None) -> Exchange:
    """Ask to convert a unit of time, or inches, to a larger unit with a remainder."""
    unit = rng.choice(list(WHOLE)) if topic is None else topic.removeprefix("whole ")
    to = WHOLE[unit]
    _, factor, one = UNITS[to]
    n = rng.choice([factor * rng.randint(1, 12), rng.randint(factor, 5 * factor), rng.randint(2, 300)])
    facts, rest = long_division(n, factor)
    count = n // factor
    parts = [f"{count} {one if count == 1 else to}"] * bool(count)
    parts += [f"{rest} {unit[:-1] if rest == 1 and unit != 'inches' else 'inch' if rest == 1 else unit}"] * bool(rest)
    work = f"One {one} is {factor} {unit}, so we divide {n} by {factor}.\n\n- {facts}"
    return _exchange(f"whole {unit}", n, _asked(rng, topic, n, unit, to), work, f"So {n} {unit} are **{' and '.join(parts)}**.")


def scaled(rng: random.Random, topic: str | None) -> Exchange:
    """Ask to convert a unit by a factor with decimals."""
    unit = rng.choice(list(FACTORS)) if topic is None else topic.removeprefix("scaled ")
    to, factor, zeros, one, shown = FACTORS[unit]
    n = _amount(rng)
    value = decimal(n * factor, zeros)
    lines = [*multiply_lines(n, factor), f"- {n * factor} ÷ {10**zeros} = {value}"]
    work = f"One {one} is about {shown} {to}, so we multiply {n} by {factor} and divide by {10**zeros}.\n\n" + "\n".join(lines)
    return _exchange(f"scaled {unit}", n, _asked(rng, topic, n, unit, to), work, f"So {n} {unit} are about **{value} {to}**.")


def _exchange(topic: str, n: int, question: str, work: str, result: str) -> Exchange:
    return Exchange("conversion", topic, (topic, str(n)), question, work, result)


def fahrenheit(rng: random.Random, topic: str | None) -> Exchange:
    """Ask to convert -20 to 250 °F, or a body temperature, to Celsius."""
    tenths = rng.randint(-20, 250) * 10
    if rng.random() < 0.2:
        tenths = 986 if rng.random() < 0.4 else rng.randint(475, 530) * 2
    f = _tenths(tenths)
    again = ("And {f} °F?", "And {f}?", "And {f} degrees?", "What about {f} °F?", "Now {f} °F.")
    question = one_of(rng, rng.choice(FAHRENHEIT if topic is None else again)).replace("{f}", f)
    rest = abs(tenths - 320)
    product = rest * 5 // 10
    facts, left = long_division(product, 9)
    lines = [f"- {f} - 32 = {_tenths(tenths - 320)}", f"- {_tenths(rest)} × 5 = {product}", f"- {product} ÷ 9: {facts}"]
    value = product // 9
    if left > 4:
        value += 1
        lines.append(f"- {left} is more than half of 9, so we round up to {value}")
    sign = "-" if tenths < 320 and value else ""
    work = f"We subtract 32, multiply by 5 and divide by 9{', and put the minus in front again' if sign else ''}.\n\n" + "\n".join(
        lines
    )
    about = "about " if left else ""
    return Exchange("conversion", "fahrenheit", ("fahrenheit", f), question, work, f"So {f} °F is {about}**{sign}{value} °C**.")


def _tenths(n: int) -> str:
    sign = "-" if n < 0 else ""
    return sign + str(abs(n) // 10) + (f".{abs(n) % 10}" if n % 10 else "")


def below_zero(rng: random.Random, topic: str | None) -> Exchange:
    """Ask to convert -40 to -1 °C to Fahrenheit."""
    c = rng.randint(1, 40)
    again = ("And -{c} °C?", "And -{c}?", "What about -{c} degrees?")
    question = one_of(rng, rng.choice(CELSIUS if topic is None else again)).replace("{c}", f"-{c}").replace("--", "-")
    product = c * 18
    tenth = decimal(product, 1)
    less = product > 320
    value = decimal(abs(320 - product), 1)
    lines = [*multiply_lines(c, 18), f"- {product} ÷ 10 = {tenth}", f"- 32 - {tenth} = {'-' if less else ''}{value}"]
    work = f"We multiply {c} by 18, divide by 10 and subtract that from 32.\n\n" + "\n".join(lines)
    return Exchange(
        "conversion", "below zero", ("celsius", f"-{c}"), question, work, f"So -{c} °C is **{'-' if less else ''}{value} °F**."
    )


def units_back(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask to convert a unit to a larger one or by a factor, or a temperature."""
    if topic is not None:
        makers = {"larger": shifted, "whole": whole, "scaled": scaled, "fahrenheit": fahrenheit, "below": below_zero}
        return makers[topic.split()[0]](rng, topic)
    return rng.choices([shifted, whole, scaled, fahrenheit, below_zero], [2, 2, 4, 2.5, 0.8])[0](rng, None)


TOPICS = ("larger", "whole", "scaled", "fahrenheit", "below")
"""First words of the topics that `units_back` continues."""
