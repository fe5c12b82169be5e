"""A calculator for arithmetic expressions.

Errors are ValueErrors with a short message.
"""

import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

Number = Fraction | float  # exact, or rounded

_LONGEST = 1000  # characters
_DEEPEST = 50  # nested expressions
_LARGEST = 4096  # bits of a numerator or denominator
_DIGITS = 15  # significant digits of a result
_SYNONYMS = str.maketrans("×∙·⋅÷−–’", "****/--'", "\u200b") | {at: at - 0xFEE0 for at in range(0xFF01, 0xFF5F)}
_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4}(?![0-9]))?")
_GROUPED = re.compile(r"[0-9]{1,3}([,_'\u00a0\u202f])[0-9]{3}(?:\1[0-9]{3})*(?![0-9])(?:\.[0-9]+)?")
_OPERATOR = re.compile(r"\*\*|//|[-+*/%^]|of\b")
_PERCENT = re.compile(r"%(?=\s*(?:$|[*/^),]|of\b))|(?<=\S)%(?=\s*[-+])")  # not the operator in 7 % -3
_NAME = re.compile(r"[a-z]+[0-9]*|π", re.IGNORECASE)


def calculate(expression: str) -> str:
    """Return the value of an expression, exact where possible."""
    if len(expression) > _LONGEST:
        raise ValueError(f"The expression is longer than {_LONGEST:,} characters")
    try:
        return _text(_Parser(expression.translate(_SYNONYMS).rstrip(" \n=?")).whole())
    except ZeroDivisionError:
        raise ValueError("Division by zero") from None
    except OverflowError:
        raise ValueError("The number is too large") from None


class _Parser:
    """A precedence-climbing parser that evaluates as it parses."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._depth = 0

    def whole(self) -> Number:
        value = self._expression(0)
        if self._at < len(self._text):
            raise self._unexpected()
        return value

    def _expression(self, least: int, grouped: bool = True) -> Number:
        """Return the value of an expression whose operators have at least this precedence.

        Args:
            least: the precedence.
            grouped: whether a comma may separate thousands.
        """
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("The expression is nested too deeply")
        value = self._operand(grouped)
        while (found := _OPERATOR.match(self._text, self._at)) and (rank := _OPERATORS[found[0]])[0] >= least:
            self._skip(found.end())
            value = _checked(rank[1](value, self._expression(rank[0] + (found[0] not in ("^", "**")), grouped)))
        self._depth -= 1
        return value

    def _operand(self, grouped: bool) -> Number:
        self._skip(self._at)
        value: Number
        if self._take("-"):
            return -self._expression(3, grouped)
        if self._take("+"):
            return self._expression(3, grouped)
        if self._take("("):
            value = self._expression(0)
            self._close()
        elif found := (grouped and _GROUPED.match(self._text, self._at)) or _NUMBER.match(self._text, self._at):
            value = _checked(Fraction(re.sub(r"[,_'\u00a0\u202f]", "", found[0])))
            self._skip(found.end())
        elif found := _NAME.match(self._text, self._at):
            self._skip(found.end())
            value = self._named(found[0].lower())
        else:
            raise self._unexpected()
        while found := _PERCENT.match(self._text, self._at):
            self._skip(found.end())
            value = value / 100
        return value

    def _named(self, name: str) -> Number:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name not in _FUNCTIONS:
            raise ValueError(f"Unknown name “{name}”. Known: {', '.join((*_FUNCTIONS, 'pi', 'e'))}")
        if not self._take("("):
            raise ValueError(f"“{name}” needs parentheses")
        values = [self._expression(0, grouped=False)]
        while self._take(","):
            values.append(self._expression(0, grouped=False))
        self._close()
        call, least, most = _FUNCTIONS[name]
        if not least <= len(values) <= most:
            raise ValueError(f"“{name}” doesn't take {len(values)} value{'' if len(values) == 1 else 's'}")
        return _checked(call(*values))

    def _take(self, text: str) -> bool:
        if found := self._text.startswith(text, self._at):
            self._skip(self._at + len(text))
        return found

    def _close(self) -> None:
        if not self._take(")"):
            raise self._unexpected()

    def _skip(self, at: int) -> None:
        while at < len(self._text) and self._text[at].isspace():
            at += 1
        self._at = at

    def _unexpected(self) -> ValueError:
        rest = self._text[self._at :]
        return ValueError(f"Unexpected “{rest[0]}” at character {self._at + 1}" if rest else "The expression is incomplete")


def _checked(value: Number | int) -> Number:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise OverflowError
        return value
    value = Fraction(value)
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _LARGEST:
        raise OverflowError
    return value


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        if max(abs(base.numerator), base.denominator).bit_length() * abs(exponent) > 2 * _LARGEST and abs(base) not in (0, 1):
            raise OverflowError
        return base**exponent.numerator if abs(base) != 1 else base ** (exponent.numerator % 2)
    if isinstance(exponent, Fraction) and exponent == Fraction(1, 2):
        return _root(base)
    if base < 0 and exponent % 1:
        raise ValueError("A negative number has no real power with this exponent")
    return float(base) ** float(exponent)


def _root(value: Number) -> Number:
    if value < 0:
        raise ValueError("A negative number has no real square root")
    if isinstance(value, Fraction):
        root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if root * root == value:
            return root
    return math.sqrt(value)


def _logarithm(value: Number, base: Number | None = None) -> Number:
    if base is None:
        raise ValueError("“log” needs a base, such as log(100, 10). The natural logarithm is ln")
    if value <= 0 or base <= 0 or base == 1:
        raise ValueError("This logarithm doesn't exist")
    if base in (2, 10):
        return math.log2(value) if base == 2 else math.log10(value)
    return math.log(value, base)


def _natural(value: Number) -> Number:
    return _logarithm(value, math.e) if value <= 0 else math.log(value)


def _wave(call: Callable[[Number], float]) -> Callable[[Number], Number]:
    """Return sin or cos without the rounding error at multiples of π/2."""
    return lambda angle: value if abs(value := call(angle)) > 1e-15 else Fraction(0)


def _tangent(angle: Number) -> Number:
    return _wave(math.sin)(angle) / _wave(math.cos)(angle)


def _exact(value: Number) -> Fraction:
    """Return a number without the rounding error of its last binary digits."""
    return value if isinstance(value, Fraction) else Fraction(format(value, f".{_DIGITS}g"))


def _round(value: Number, digits: Number = Fraction(0)) -> Number:
    """Round halves away from zero, as people do."""
    if _exact(digits).denominator > 1 or not -1000 <= digits <= 1000:
        raise ValueError("“round” needs a whole number of digits")
    scale = Fraction(10) ** int(digits)
    whole = math.floor(abs(_exact(value)) * scale + Fraction(1, 2))
    return (whole if value >= 0 else -whole) / scale


def _text(value: Number) -> str:
    """Return a number with at most 15 significant digits, or all digits of an integer."""
    exact = _exact(value)
    if exact.denominator == 1 and (isinstance(value, Fraction) or abs(exact) < 10**_DIGITS):
        return str(exact.numerator)
    with localcontext(prec=max(_DIGITS, len(str(abs(int(exact)))) if isinstance(value, Fraction) else 0)):
        decimal = (Decimal(exact.numerator) / Decimal(exact.denominator)).normalize()
        return format(decimal, "f" if (isinstance(value, Fraction) and abs(exact) > 1) or 1e-7 < abs(exact) < 1e15 else "e")


_OPERATORS: dict[str, tuple[int, Callable[[Number, Number], Number]]] = {
    "+": (1, operator.add),
    "-": (1, operator.sub),
    "*": (2, operator.mul),
    "of": (2, operator.mul),
    "/": (2, operator.truediv),
    "//": (2, operator.floordiv),
    "%": (2, operator.mod),
    "**": (4, _power),
    "^": (4, _power),
}
_CONSTANTS: dict[str, float] = {"pi": math.pi, "π": math.pi, "e": math.e}
_MANY = 1000
_FUNCTIONS: dict[str, tuple[Callable[..., Number | int], int, int]] = {  # with the least and most number of values
    "sqrt": (_root, 1, 1),
    "abs": (abs, 1, 1),
    "round": (_round, 1, 2),
    "floor": (lambda value: math.floor(_exact(value)), 1, 1),
    "ceil": (lambda value: math.ceil(_exact(value)), 1, 1),
    "min": (lambda *values: min(values), 1, _MANY),
    "max": (lambda *values: max(values), 1, _MANY),
    "log": (_logarithm, 1, 2),
    "ln": (_natural, 1, 1),
    "log2": (lambda value: _logarithm(value, Fraction(2)), 1, 1),
    "log10": (lambda value: _logarithm(value, Fraction(10)), 1, 1),
    "exp": (math.exp, 1, 1),
    "sin": (_wave(math.sin), 1, 1),
    "cos": (_wave(math.cos), 1, 1),
    "tan": (_tangent, 1, 1),
}
