"""The child process that renders chat templates.

Templates are programs from the hub. The environment is that of transformers' `apply_chat_template`. Imports only Jinja, so that it
starts quickly.

Usage: python -m mlx_engine.formats.template_child BYTES    answers requests on its pipes: a chat in JSON, a prompt in JSON
"""

import json
import sys
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from mlx_engine.hardware import child_loop

_LARGEST_ADDITION = 1 << 20  # characters that a template may add to a chat; tokenizing them takes a second
_LONGEST_REASON = 1000  # characters


class _GenerationTag(Extension):
    """An extension for the tag `{% generation %}`, which marks replies for training."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller: jinja2.runtime.Macro) -> str:
        return caller()


class _Namespace(Namespace):
    """A namespace without names that begin with an underscore, as in transformers."""

    def __init__(*args: Any, **kwargs: Any) -> None:  # allows `namespace(self=...)`
        self, *rest = args
        attributes = dict(*rest, **kwargs)
        for name in attributes:
            _check_name(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        super().__setitem__(name, value)


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"{name!r} begins with an underscore, which no name in a namespace may do.")


class _Dict:
    """A replacement for `dict` with only the constructor and `fromkeys`."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict:
        return dict.fromkeys(*args, **kwargs)


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.exceptions.TemplateError(message)


def _to_json(x: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _time(format: str) -> str:
    return datetime.now().strftime(format)


@lru_cache(maxsize=1)
def _compiled(template: str) -> jinja2.Template:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, loopcontrols])
    environment.filters["tojson"] = _to_json
    environment.globals |= {"raise_exception": _raise_exception, "strftime_now": _time, "dict": _Dict(), "namespace": _Namespace}
    return environment.from_string(template)


def _answer(request: memoryview) -> bytes:
    template, variables = json.loads(bytes(request).decode("utf-8", "surrogatepass"))
    try:
        text = _compiled(template).render(**variables)
        if len(text) > 2 * len(request) + _LARGEST_ADDITION:
            raise MemoryError
        answer = {"text": text}
    except MemoryError:
        raise
    except Exception as error:  # templates raise anything
        answer = {"reason": str(error)[:_LONGEST_REASON]}
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass")


if __name__ == "__main__":
    child_loop.serve(_answer, int(sys.argv[1]))
