"""Bounds on chat templates, which are programs from the hub: time, size of every result and comparison, and memory.

transformers compiles templates in Jinja's sandbox, which bounds none of these. Here its environment is replaced by one that checks
each operation *before* it runs, because Python can't interrupt a string operation. A trace function checks time and memory between
lines.
"""

import re
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from itertools import chain, islice
from types import FrameType, GeneratorType
from typing import Any, NoReturn

import jinja2
from jinja2.compiler import CodeGenerator, Frame, operators
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from transformers.utils import chat_template_utils

from mlx_engine.errors import UserError

SECONDS = 10.0  # for one rendering; a published template takes milliseconds
_RESULT = 1 << 24  # characters or items of one result: four times the longest context
_MEMORY = 1 << 31  # bytes by which the process may grow
_INTEGER_BITS = 10_000
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes
_WIDE_FORMAT = re.compile(r"\d{6}|%[^%a-zA-Z]*\*|:[^{}]*\{")  # a width of six digits, or one that is an argument
_CONTAINERS: Any = (dict, list, tuple, set, frozenset, type({}.keys()), type({}.values()), type({}.items()))
# Filters whose result is at most as large as their value
_HARMLESS = frozenset(
    "abs attr count d default first float int items last length map random reject rejectattr round safe select selectattr trim "
    "truncate".split()
)


class RenderingCancelled(Exception):
    """The request was canceled while its chat was rendered."""


@contextmanager
def bounded(cancel: threading.Event | None = None) -> Iterator[None]:
    """Bound the renderings in this block.

    Raises:
        UserError: a template takes too long or makes too much text.
        RenderingCancelled: `cancel` was set.
    """
    deadline = time.monotonic() + SECONDS
    memory = _peak_memory() + _MEMORY

    def check(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename == __file__:
            return None
        if cancel is not None and cancel.is_set():
            raise RenderingCancelled
        if time.monotonic() > deadline:
            raise UserError(
                "chat_template_slow",
                "The model's chat template takes longer than {seconds:g} seconds. Choose another model.",
                seconds=SECONDS,
            )
        if _peak_memory() > memory:
            _refuse_size()
        return check

    before = sys.gettrace()
    sys.settrace(check)
    try:
        yield
    finally:
        sys.settrace(before)


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT


def _refuse_size() -> NoReturn:
    raise UserError(
        "chat_template_large",
        "The model's chat template produces more text than a context can hold. Choose another model.",
    )


def _check_size(size: int) -> None:
    """Refuse a result of this many characters or items."""
    if size > _RESULT:
        _refuse_size()


def _weight(value: Any) -> int:
    """Return about how many characters a value has as text; a number above `_RESULT` once it exceeds that."""
    found, left = 0, [value]
    while left and found <= _RESULT:
        value = left.pop()
        if isinstance(value, Namespace):
            value = object.__getattribute__(value, "_Namespace__attrs")
        if isinstance(value, (str, range)):
            found += len(value)
        elif isinstance(value, _CONTAINERS):
            found += 32 * len(value)
            left += chain(value, value.values()) if isinstance(value, dict) else value if found <= _RESULT else ()
        else:
            found += 8
    return found


def _check_result(name: str, value: Any, arguments: Sequence[Any]) -> None:
    """Refuse a filter or a string's method by the size that its result can have."""
    size = _weight(value)
    number = max((abs(each) for each in arguments if isinstance(each, int) and not isinstance(each, bool)), default=0)
    text = max((_weight(each) for each in arguments if not isinstance(each, int)), default=0)
    match name:
        case "replace" if isinstance(value, str) and arguments and isinstance(arguments[0], str):
            size += value.count(arguments[0]) * text
        case "center" | "ljust" | "rjust" | "zfill" | "batch":
            size += number
        case "expandtabs" | "indent":
            size += (1 + str(value).count("\t" if name == "expandtabs" else "\n")) * max(number, text) if size <= _RESULT else 0
        case "tojson":
            size *= 1 + 32 * max(number, text)  # an indent for each of so many levels
        case "join":
            size += size * text if isinstance(value, str) else len(value) * text if isinstance(value, list | tuple) else 0
        case "sum" if any(isinstance(each, (list, tuple)) for each in arguments):  # each partial sum is copied
            size *= len(value)
        case "replace" | "translate" | "urlize" | "wordwrap" | "xmlattr":
            size *= 1 + text
    _check_size(size)


def _check_format(template: str, values: Any) -> None:
    """Refuse a format by the size that its result can have."""
    if _WIDE_FORMAT.search(template):
        _refuse_size()
    _check_size(len(template) + (template.count("%") + template.count("{")) * _weight(values))


def _checked(name: str, apply: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that checks the size of its result first."""
    passed = 1 if hasattr(apply, "jinja_pass_arg") else 0  # the first argument is Jinja's context or environment

    @wraps(apply)
    def checked(*args: Any, **kwargs: Any) -> Any:
        value, *rest = args[passed:]
        if isinstance(value, GeneratorType):
            value = list(islice(value, _RESULT))
            args = (*args[:passed], value, *rest)
        if name == "format":
            _check_format(str(_limited(value)), [rest, kwargs])
        else:
            _check_result(name, value, [*rest, *kwargs.values()])
        return apply(*args, **kwargs)

    return checked


def _comparing(test: Any) -> Any:
    """Return a test that checks the size of what it compares first."""
    return lambda *values: test(*map(_limited, values))


class _BoundedGenerator(CodeGenerator):
    """Sends operations through the environment, where sizes are checked."""

    def visit_Concat(self, node: jinja2.nodes.Concat, frame: Frame) -> None:
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_Compare(self, node: jinja2.nodes.Compare, frame: Frame) -> None:
        self.write("(")
        self._visit_checked(node.expr, frame)
        for operand in node.ops:
            self.write(f" {operators[operand.op]} ")
            self._visit_checked(operand.expr, frame)
        self.write(")")

    def visit_Dict(self, node: jinja2.nodes.Dict, frame: Frame) -> None:
        self.write("{")
        for pair in node.items:
            self._visit_checked(pair.key, frame)  # hashed
            self.write(": ")
            self.visit(pair.value, frame)
            self.write(", ")
        self.write("}")

    def _visit_checked(self, node: jinja2.nodes.Expr, frame: Frame) -> None:
        self.write("environment.finalize(")
        self.visit(node, frame)
        self.write(")")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with a bound on the result of each operation."""

    code_generator_class = _BoundedGenerator
    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs, finalize=_limited)
        del self.globals["lipsum"]

    def from_string(self, *args: Any, **kwargs: Any) -> jinja2.Template:
        """Compile a template with checked filters and tests."""
        self.filters = {name: each if name in _HARMLESS else _checked(name, each) for name, each in self.filters.items()}
        for name, test in self.tests.items():
            if name == "in" or test.__module__ == "_operator":
                self.tests[name] = _comparing(test)
        return super().from_string(*args, **kwargs)

    @staticmethod
    def concat(parts: Iterable[str]) -> str:
        """Join output."""
        size, found = 0, []
        for part in parts:
            size += len(part)
            _check_size(size)
            found.append(part)
        return "".join(found)

    def joined(self, parts: Iterable[Any]) -> str:
        """Join values as text."""
        return self.concat(str(_limited(part)) for part in parts)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Run one of `intercepted_binops`."""
        sequences = str | list | tuple
        if operator == "+" and isinstance(left, sequences) and isinstance(right, sequences):
            _check_size(len(left) + len(right))
        elif operator == "*" and isinstance(left, sequences) and isinstance(right, int):
            _check_size(len(left) * right)
        elif operator == "*" and isinstance(right, sequences) and isinstance(left, int):
            _check_size(len(right) * left)
        elif operator == "%" and isinstance(left, str):
            _check_format(left, right)
        elif operator in ("*", "**") and isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * right if operator == "**" else left.bit_length() + right.bit_length()
            if bits > _INTEGER_BITS:
                _refuse_size()
        return super().call_binop(context, operator, left, right)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Look up a key, which may be a nested tuple."""
        return super().getitem(obj, _limited(argument))

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function or a method."""
        text = getattr(getattr(__obj, "__wrapped__", __obj), "__self__", None)  # Jinja wraps `format`
        if isinstance(text, _CONTAINERS):
            _limited([text, *args])  # compared by `index` and `count`
        if isinstance(text, str):
            if __obj.__name__ in ("format", "format_map"):
                _check_format(text, [args, kwargs])
            elif __obj.__name__ == "join" and args:
                args = ([*islice(args[0], _RESULT)],)
                _check_result("join", args[0], [text])
            else:
                _check_result(__obj.__name__, text, [*args, *kwargs.values()])
        return super().call(__context, __obj, *args, **kwargs)


def _limited(value: Any) -> Any:
    """Return a value that is about to become text or to be compared, unless that would take too long."""
    _check_size(_weight(value))
    return value


vars(chat_template_utils)["ImmutableSandboxedEnvironment"] = BoundedEnvironment
