"""The calculator: exact values, and short errors for everything else."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.mcp.calculator import calculate


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("4817 * 392", "1888264"),
        ("4817 × 392 =", "1888264"),
        ("0.1 + 0.2", "0.3"),
        ("19.99*12", "239.88"),
        ("12 ÷ 8 − 1", "0.5"),
        ("(3 + 4) * 2.5", "17.5"),
        ("２＋３", "5"),
        ("1,234,567 + 1", "1234568"),
        ("1'000 * 2", "2000"),
        ("2**100", "1267650600228229401496703205376"),
        ("-2^2", "-4"),
        ("2^-2", "0.25"),
        ("2^3^2", "512"),
        ("--2", "2"),
        ("7 // 2", "3"),
        ("-7 % 3", "2"),
        ("7 % -3", "-2"),
        ("50%", "0.5"),
        ("200 * 15%", "30"),
        ("15% of 80", "12"),
        ("10% - 3", "-2.9"),
        ("1e3 + 1.5E-3", "1000.0015"),
        ("1/3", "0.333333333333333"),
        ("2/3", "0.666666666666667"),
        ("1e20/3", "33333333333333333333"),
        ("1/3e10", "3.33333333333333e-11"),
        ("12345678901234567.89", "12345678901234568"),
        ("sqrt(16)", "4"),
        ("sqrt(1/4)", "0.5"),
        ("sqrt(2)", "1.4142135623731"),
        ("sqrt(2)^2", "2"),
        ("8^(1/3)", "2"),
        ("0^0", "1"),
        ("abs(-3.5)", "3.5"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("round(1.005, 2)", "1.01"),
        ("round(1234, -2)", "1200"),
        ("floor(-1.5)", "-2"),
        ("ceil(1.2)", "2"),
        ("ceil(sqrt(2) * sqrt(8))", "4"),
        ("min(3, 1.5, 2)", "1.5"),
        ("MAX(1, 2)", "2"),
        ("log(8, 2)", "3"),
        ("log(1000, 10)", "3"),
        ("log10(0.001)", "-3"),
        ("log2(1024)", "10"),
        ("ln(e^2)", "2"),
        ("exp(0)", "1"),
        ("sin(pi)", "0"),
        ("cos(π / 3)", "0.5"),
        ("tan(pi/4)", "1"),
        ("exp(100)", "2.68811714181614e+43"),
        ("(-1)^10000000000000001", "-1"),
    ],
)
def test_values(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1/0", "Division by zero"),
        ("5 % 0", "Division by zero"),
        ("0^-1", "Division by zero"),
        ("tan(pi/2)", "Division by zero"),
        ("9**9**9", "The number is too large"),
        ("9^9^9^9^9", "The number is too large"),
        ("10^2000", "The number is too large"),
        ("1e9999", "The number is too large"),
        ("exp(1000)", "The number is too large"),
        ("*".join(["10^1000"] * 100), "The number is too large"),
        ("(1/7^300)" + "*(1/7^300)" * 99, "The number is too large"),
        ("1" * 1001, "longer than 1,000 characters"),
        ("1+" * 50_000 + "1", "longer than 1,000 characters"),
        ("(" * 400 + "1" + ")" * 400, "nested too deeply"),
        ("-" * 900 + "1", "nested too deeply"),
        ("2^" * 400 + "2", "too"),
        ("sqrt(" * 100 + "1" + ")" * 100, "nested too deeply"),
        ("", "incomplete"),
        ("1 +", "incomplete"),
        ("(1", "incomplete"),
        ("1)", "Unexpected “)” at character 2"),
        ("1 2", "Unexpected “2” at character 3"),
        ("3,5", "Unexpected “,” at character 2"),
        ("2(3)", "Unexpected “(”"),
        ("1__0", "Unexpected “_”"),
        ("1j", "Unexpected “j”"),
        ("0x10", "Unexpected “x”"),
        ("1.2.3", "Unexpected “.”"),
        ("factorial(9)", "Unknown name “factorial”"),
        ("__import__('os')", "Unexpected “_”"),
        ("open", "Unknown name “open”"),
        ("(1).__class__", "Unexpected “.”"),
        ("lambda: 1", "Unknown name “lambda”"),
        ("sqrt", "“sqrt” needs parentheses"),
        ("sqrt(1, 2)", "“sqrt” doesn't take 2 values"),
        ("max()", "Unexpected “)”"),
        ("sqrt(-1)", "no real square root"),
        ("(-8)^(1/3)", "no real power"),
        ("log(100)", "needs a base"),
        ("log(-1, 2)", "doesn't exist"),
        ("log(2, 1)", "doesn't exist"),
        ("ln(0)", "doesn't exist"),
        ("round(1, 0.5)", "whole number of digits"),
        ("round(1, 10^9)", "whole number of digits"),
    ],
)
def test_errors(expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)").replace(".", r"\.")) as error:
        calculate(expression)
    assert len(str(error.value)) < 150


LITERALS = st.builds(lambda digits, places: (f"{digits / 10**places:.{places}f}", Fraction(digits, 10**places)),
                     st.integers(0, 10**6), st.integers(0, 3))  # fmt: skip


def _combined(parts: st.SearchStrategy) -> st.SearchStrategy:
    return st.one_of(
        st.builds(lambda a: (f"(-{a[0]})", -a[1]), parts),
        st.builds(lambda a, b: (f"({a[0]} + {b[0]})", a[1] + b[1]), parts, parts),
        st.builds(lambda a, b: (f"({a[0]}−{b[0]})", a[1] - b[1]), parts, parts),
        st.builds(lambda a, b: (f"({a[0]} × {b[0]})", a[1] * b[1]), parts, parts),
        st.builds(lambda a, b: (f"({a[0]}/{b[0]})", a[1] / b[1] if b[1] else None), parts, parts).filter(
            lambda pair: pair[1] is not None
        ),
        st.builds(lambda a, n: (f"({a[0]})^{n}", a[1] ** n), parts, st.integers(0, 3)),
    )


EXPRESSIONS = st.recursive(LITERALS, _combined, max_leaves=8)


@given(pair=EXPRESSIONS)
def test_values_are_exact(pair: tuple[str, Fraction]) -> None:
    text, value = pair
    found = Fraction(calculate(text))
    digits = max(15, len(str(abs(int(value)))))
    assert found == value or abs(found - value) <= abs(value) * Fraction(1, 10 ** (digits - 1)) / 2
    if value.denominator == 1:
        assert calculate(text) == str(value.numerator)


@given(left=st.integers(-(10**9), 10**9), right=st.integers(-(10**9), 10**9), sign=st.sampled_from(["+", "-", "*", "//", " % "]))
def test_integers_agree_with_python(left: int, right: int, sign: str) -> None:
    if right == 0 and sign in ("//", " % "):
        return
    expected = {"+": left + right, "-": left - right, "*": left * right}.get(sign)
    if expected is None:
        expected = left // right if sign == "//" else left % right
    assert calculate(f"{left}{sign}{right}") == str(expected)


@given(text=st.text("0123456789+-*/%^().,e pisqrtlogmax_'×÷−\u202f", max_size=40))
def test_any_text_gives_a_number_or_a_short_error(text: str) -> None:
    try:
        found = calculate(text)
    except ValueError as error:
        assert 0 < len(str(error)) < 200
    else:
        assert math.isfinite(Fraction(found)) and len(found) < 1300
