"""`slipstream compare`: what it prints of both modes, in turn or at the same time."""

import json

import pytest

from mlx_engine.cli.main import main
from tests.mlx_engine.scripted_engine import ScriptedEngine


def test_speed_and_verdict_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "Hi"], ScriptedEngine) == 0
    shown = capsys.readouterr().out
    assert shown.count("Hello there.") == 2
    assert "3.00× the tokens per second of plain decoding" in shown
    assert "identical (2 tokens)" in shown


def test_json_has_the_documented_shape(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "Hi", "--json"], ScriptedEngine) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"plain", "dflash", "ratio", "identical", "first_difference"}
    assert set(report["dflash"]) == {"text", "tokens", "reason", "stats"}
    assert (report["ratio"], report["identical"], report["first_difference"]) == (3.0, True, None)


def test_replies_at_the_same_time_are_printed_one_after_the_other_without_a_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "Hi", "--together", "--repeats", "2"], ScriptedEngine) == 0
    shown = capsys.readouterr().out
    parts = [f"── {name} ({at} of 4)\nHello there.\n\n" for at, name in enumerate(("plain", "DFlash", "DFlash", "plain"), 1)]
    assert shown.startswith("".join(parts)) and shown.count("Hello") == 4
    assert "The replies took turns instead of being computed together. Their speeds can't be compared." in shown
    assert "×" not in shown and "identical (2 tokens)" in shown


def test_json_of_replies_at_the_same_time_has_no_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "Hi", "--json", "--together"], ScriptedEngine) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["together"], report["ratio"], report["identical"]) == (True, None, True)


def test_ctrl_c_stops_replies_at_the_same_time(capsys: pytest.CaptureFixture[str]) -> None:
    engine = ScriptedEngine(pieces=(("answer", "Once"), ("answer", "Ctrl-C"), ("answer", "never")))
    assert main(["compare", "Hi", "--together"], lambda: engine) == 130
    shown = capsys.readouterr()
    assert "nothing to compare" in shown.err and shown.out == "── plain (1 of 2)\nOnce\n\n── DFlash (2 of 2)\nOnce\n\n"


def test_a_difference_is_printed_with_its_margin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "Hi"], lambda: ScriptedEngine(parts_at=1)) == 0
    assert "differ starting at token 2." in capsys.readouterr().out
    assert main(["compare", "Hi", "--json"], lambda: ScriptedEngine(parts_at=1)) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["identical"], report["first_difference"], report["margin"], report["verdict"]) == (
        False,
        1,
        0.5,
        "different",
    )


def test_ctrl_c_stops_the_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    engine = ScriptedEngine(pieces=(("answer", "Ctrl-C"), ("answer", "never")))
    assert main(["compare", "Hi"], lambda: engine) == 130
    assert "nothing to compare" in capsys.readouterr().err
