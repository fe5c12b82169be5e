"""Texts of the engine: stable codes, one template per code, and values that fill the template."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

from mlx_engine.errors import EngineText, UserError
from mlx_engine.events import Failed

ROOT = Path(__file__).parents[2] / "mlx_engine"


def texts() -> Iterator[tuple[str, ast.Call]]:
    """Yield the file and node of every `UserError(…)` and `EngineText.of(…)` with a template."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and len(node.args) > 1 and ast.unparse(node.func) in ("UserError", "EngineText.of"):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def test_every_code_is_a_literal_and_has_one_template_which_its_values_fill():
    templates: dict[str, str] = {}
    for place, call in texts():
        if place.startswith("errors.py"):
            continue
        assert all(isinstance(argument, ast.Constant) for argument in call.args), place
        code, template = (argument.value for argument in call.args)
        assert re.fullmatch(r"[a-z][a-z0-9_]*", code), place
        assert templates.setdefault(code, template) == template, place
        names = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
        given = {keyword.arg for keyword in call.keywords}
        assert names == given or None in given, place
    assert len(templates) > 50


def test_a_text_keeps_its_code_and_values():
    text = EngineText.of("context_full", "The chat has {tokens:,} tokens.", tokens=12345)
    assert (str(text), text.values) == ("The chat has 12,345 tokens.", (("tokens", 12345),))
    error = UserError("context_full", "The chat has {tokens:,} tokens.", tokens=12345)
    assert str(error) == str(text) and error.text == text
    assert UserError.of(text).text is text
    assert Failed.because(error) == Failed(text.code, text.message, text.values)
