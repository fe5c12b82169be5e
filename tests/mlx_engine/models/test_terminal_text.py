"""Names and messages from outside can't control the terminal."""

import json
import logging
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import httpx2
import pytest
from huggingface_hub import constants

from mlx_engine.cli.console import ask, note, prepare, print_json, progress, say
from mlx_engine.cli.main import main
from mlx_engine.contract.visible import visible
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.files.hub_cache import HubCache
from tests.golden.__main__ import HERE
from tests.hub.local_hub import LocalHub

HOSTILE = "\033]0;x\007\x1b[2J\x9b31m\x7f\u202egpj.exe\u2066"
CONTROLS = [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]


def expect_harmless(text: str) -> None:
    assert not [code for code in CONTROLS if chr(code) in text.replace("\n", "")]


def test_every_control_character_and_bidi_override_becomes_visible() -> None:
    everything = "".join(map(chr, CONTROLS))
    assert visible("Grüße, 世界 🙂 שלום\tx\n") == "Grüße, 世界 🙂 שלום\tx\n"
    expect_harmless(visible(everything).replace("\t", ""))
    assert visible("a\u202eb\u200b\u200f\U000e0041") == "a<U+202E>b<U+200B><U+200F><U+E0041>"


def test_each_printed_line_stays_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    say("one\n✓ verified")
    note("two\r\nthree")
    progress(f"four{HOSTILE}\n")
    shown = capsys.readouterr()
    assert shown.out == "one␊✓ verified\n"
    assert shown.err.startswith("two␍␊three\n\r\033[Kfour␛]0;x␇")
    expect_harmless(shown.err.replace("\r\033[K", ""))


def test_json_keeps_its_value_but_no_control_character(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": HOSTILE})
    shown = capsys.readouterr().out
    expect_harmless(shown)
    assert json.loads(shown) == {"name": HOSTILE}


def test_search_results_without_a_valid_name_are_left_out(
    local_hub: LocalHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer: list[Any] = [{"id": "owner/good"}, {"id": f"owner/{HOSTILE}"}, {"id": "owner/x\n  demo  verified"}, {"id": 3}]
    local_hub.instead["/api/models"] = lambda _: httpx2.Response(200, json=answer)
    monkeypatch.setattr(constants, "ENDPOINT", local_hub.url)
    assert [found.name for found in Hub(local_hub.url).search("x")] == ["owner/good"]
    assert main(["models", "search", "zzz", "--hub"]) == 0
    assert capsys.readouterr().out == "  owner/good  on the hub\n"


@pytest.mark.parametrize("as_json", [False, True])
def test_names_of_folders_are_made_visible(tmp_path: Path, capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    shutil.copytree(HERE / "e2e_qwen3/target", tmp_path / ".lmstudio/models/lab" / HOSTILE)
    assert main(["models", "list", *(["--json"] if as_json else [])]) == 0
    shown = capsys.readouterr()
    assert "gpj.exe" in shown.out
    expect_harmless(shown.out + shown.err)


def test_error_messages_are_made_visible(
    cache: HubCache, local_hub: LocalHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", local_hub.url)
    (tmp_path / HOSTILE).mkdir()
    (tmp_path / HOSTILE / "config.json").write_text("[]")
    for argv in (
        ["models", "search", HOSTILE],
        ["models", "pull", HOSTILE],
        ["models", "rm", "--target", f"a/{HOSTILE}"],
        ["models", "list", "--forget-folder", HOSTILE],
        ["generate", "Hi", "--target", str(tmp_path / HOSTILE)],
    ):
        main(argv)
        shown = capsys.readouterr()
        assert shown.err
        expect_harmless(shown.out + shown.err)
    with pytest.raises(SystemExit):
        main(["generate", "Hi", "--max-tokens", HOSTILE])
    expect_harmless(capsys.readouterr().err)


def test_what_python_prints_itself_is_made_visible(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)  # restored at the end
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    prepare()
    assert logging.lastResort is not None
    logging.lastResort.handle(logging.LogRecord("x", logging.ERROR, "", 0, "a log of %s", (HOSTILE,), None))
    sys.stderr.write(warnings.formatwarning(f"a warning of {HOSTILE}", UserWarning, f"{HOSTILE}.py", 3))
    error = ValueError(f"an error of {HOSTILE}")
    sys.excepthook(ValueError, error, None)
    shown = capsys.readouterr()
    assert not shown.out and shown.err.count("gpj.exe") == 4
    expect_harmless(shown.err)


def test_a_prompt_is_made_visible(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: say(prompt) or "answer")
    assert ask(HOSTILE) == "answer"
    expect_harmless(capsys.readouterr().out)


def test_libraries_do_not_print_messages_themselves() -> None:
    from mlx_engine.loading import loaded_pair
    from mlx_engine.models.downloads import hub

    assert loaded_pair and hub
    handlers = [handler for name in ("transformers", "huggingface_hub", "mlx_lm") for handler in logging.getLogger(name).handlers]
    assert not [one for one in handlers if type(one) is logging.StreamHandler]
