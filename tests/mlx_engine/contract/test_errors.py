"""Texts of the engine: stable codes, one template per code, and values that fill the template."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

from mlx_engine import models
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Failed

ROOT = Path(__file__).parents[3] / "mlx_engine"


def texts() -> Iterator[tuple[str, ast.Call, list[str]]]:
    """Yield the file, node, code and template of every text: `EngineText.of(…)`, `UserError(…)` and its subclasses.

    A template is a literal, or a local name that was assigned one just before.
    """
    names = {"EngineText.of", *(kind.__name__ for kind in errors(UserError))}
    for path in sorted(ROOT.rglob("*.py")):
        nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Assign | ast.Call)]
        local: dict[str, ast.expr] = {}
        for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
            if isinstance(node, ast.Assign):
                local[ast.unparse(node.targets[0])] = node.value
            elif ast.unparse(node.func) in names and path.name != "errors.py":
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                assert len(node.args) == 2, place
                arguments = [local.get(ast.unparse(argument), argument) for argument in node.args]
                assert all(isinstance(argument, ast.Constant) for argument in arguments), place
                yield place, node, [argument.value for argument in arguments]


def errors(kind: type[UserError]) -> Iterator[type[UserError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from errors(each)


def test_every_code_is_a_literal_and_has_one_template_which_its_values_fill():
    for module in pkgutil.walk_packages(models.__path__, "mlx_engine.models."):
        importlib.import_module(module.name)
    templates: dict[str, str] = {}
    for place, call, (code, template) in texts():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", code), place
        assert templates.setdefault(code, template) == template, place
        names = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
        given = {keyword.arg for keyword in call.keywords} - {"after_s"}
        assert names == given or None in given, place
    assert len(templates) > 50


def test_a_text_keeps_its_code_and_values():
    text = EngineText.of("context_full", "The chat has {tokens:,} tokens.", tokens=12345)
    assert (str(text), text.values) == ("The chat has 12,345 tokens.", (("tokens", 12345),))
    error = UserError("context_full", "The chat has {tokens:,} tokens.", tokens=12345)
    assert str(error) == str(text) and error.text == text
    assert UserError.of(text).text is text
    assert Failed.because(error) == Failed(text.code, text.message, text.values)
