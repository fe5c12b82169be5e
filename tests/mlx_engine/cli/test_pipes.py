"""Replies that are printed to a pipe."""

import pytest

from mlx_engine.cli.main import main
from tests.mlx_engine.scripted_engine import ScriptedEngine


def test_raw_prints_control_characters_to_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    engine = ScriptedEngine(pieces=(("answer", "Yes\033[2J \u200f"),))
    assert main(["generate", "Hi", "--raw"], lambda: engine) == 0
    assert capsys.readouterr().out == "Yes\033[2J \u200f\n"
    assert main(["generate", "Hi"], lambda: engine) == 0
    assert capsys.readouterr().out == "Yes␛[2J \u200f\n"  # marks of direction are text
