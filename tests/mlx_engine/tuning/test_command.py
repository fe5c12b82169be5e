"""`slipstream tune`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mlx_engine.cli import session
from mlx_engine.cli import tune as command
from mlx_engine.cli.main import main
from mlx_engine.cli.prompt_files import read_prompts
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Tuned, WorkProgress
from mlx_engine.contract.requests import Message, TuneDrafter
from mlx_engine.models.files import tuning_files
from mlx_engine.tuning import tuner
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.tuning.test_tune import copied


@pytest.fixture
def options(tmp_path, monkeypatch) -> list[str]:
    """Options for a pair and prompts."""
    monkeypatch.setattr(tuning_files.platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "cache")
    pair, prompts = copied("e2e_qwen3", tmp_path / "pair"), tmp_path / "prompts.txt"
    prompts.write_text("\n".join(f"t{i + 1} t7" for i in range(12)))
    return [
        "tune",
        "--target",
        f"{pair}/target",
        "--drafter",
        f"{pair}/drafter",
        "--prompts",
        str(prompts),
        "--general",
        str(prompts),
    ]


def test_a_drafter_is_tuned_used_and_restored(options, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(tuner, "is_better", lambda *_: True)
    assert main([*options, "--max-tokens", "8", "--epochs", "1", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    drafter = tmp_path / "pair" / "drafter"
    assert found["kept"] and list(drafter.glob("tuned-*")) == [Path(found["file"])]
    assert found["general_before"] == 0  # the general prompts are the user's own
    ask = ["generate", "t1 t7", *options[1:5], "--max-tokens", "8"]
    assert main([*ask, "--untuned"]) == 0
    before = capsys.readouterr().out
    assert main(ask) == 0
    assert capsys.readouterr().out == before
    Path(found["file"]).write_bytes(b"")
    assert main(ask) == 0
    shown = capsys.readouterr()
    assert shown.out == before and "is damaged, so it isn't used" in shown.err
    assert main(["tune", *options[1:5], "--remove", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed": found["file"], "run_deleted": False}
    assert main(["tune", *options[1:5], "--remove"]) == 0
    assert capsys.readouterr().out == "The drafter isn't tuned for this target.\n"


def test_removing_says_that_a_paused_run_was_deleted(options, capsys):
    folder = tuning_files.run_folder(Path(options[2]), Path(options[4]))
    for words, expected in (
        ([], "The drafter isn't tuned for this target.\nDeleted the paused run.\n"),
        (["--json"], '{"removed": null, "run_deleted": true}\n'),
    ):
        folder.mkdir(parents=True)
        tuning_files.save_run_progress(folder, 0.5)
        assert main(["tune", *options[1:5], "--remove", *words]) == 0
        assert capsys.readouterr().out == expected and not folder.exists()


@pytest.mark.parametrize("terminal", [False, True])
def test_without_a_terminal_each_phase_and_tenth_is_a_line(terminal, monkeypatch, capsys):
    phases = [("one", number / 100) for number in range(30)] + [("two", number / 100) for number in range(29, 50)]
    steps = [WorkProgress(fraction, EngineText(code, code)) for code, fraction in phases]
    monkeypatch.setattr(session, "cancellable", lambda *_: iter(steps))
    monkeypatch.setattr(session, "shows_progress", lambda: terminal)
    session.measure(None, TuneDrafter(()))
    lines = [] if terminal else ["one… 0%", "one… 10%", "one… 20%", "two… 29%", "two… 30%", "two… 40%"]
    assert capsys.readouterr().err.splitlines() == lines


def test_a_new_drafter_is_trained_and_again_from_where_it_is(options, tmp_path, capsys):
    new = tmp_path / "new"
    arguments = [
        "tune",
        *options[1:3],
        "--new",
        str(new),
        *options[5:7],
        "--max-tokens",
        "8",
        "--layers",
        "1",
        "--mlp",
        "24",
        "--taps",
        "2",
        "--block",
        "4",
    ]
    for _ in range(2):
        assert main([*arguments, "--epochs", "1", "--mask-token", "0"]) == 0
        assert "your prompts" in capsys.readouterr().out
    config = json.loads((new / "config.json").read_text())
    assert (config["num_hidden_layers"], config["block_size"], len(config["dflash_config"]["target_layer_ids"])) == (1, 4, 2)
    assert config["intermediate_size"] == 24


@pytest.mark.parametrize(("new", "given", "used"), [(False, [], 200), (True, [], 250), (True, ["--most", "20"], 20)])
def test_all_prompts_train_a_new_drafter_and_the_last_200_tune_one(options, tmp_path, monkeypatch, capsys, new, given, used):
    requests = list[TuneDrafter]()
    monkeypatch.setattr(command, "open_pair", lambda *_: None)
    monkeypatch.setattr(
        command, "measure", lambda _, request: requests.append(request) or Tuned(1.0, 2.0, 0.0, 0.0, True, "file", used - 3)
    )
    (tmp_path / "prompts.txt").write_text("".join(f"t{i}\n" for i in range(250)))
    drafter = ["--new", str(tmp_path / "new")] if new else options[3:5]
    assert main(["tune", *options[1:3], *drafter, *options[5:7], *given]) == 0
    assert [prompt[0].content for prompt in requests[0].prompts] == [f"t{i}" for i in range(250 - used, 250)]
    assert capsys.readouterr().out.startswith(f"{used - 3} of 250 prompts used\n")


def test_a_published_drafter_is_not_trained_as_a_new_one(options, capsys):
    drafter = Path(options[4])
    before = (drafter / "model.safetensors").read_bytes()
    assert main(["tune", *options[1:3], "--new", str(drafter), *options[5:7]]) == 1
    assert "already contains something else" in capsys.readouterr().err and (drafter / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "Specify prompts"),
        (["--chats", "--new", "x"], "--new needs --target"),
        (["--chats", "--target", "a", "--drafter", "b", "--new", "x"], "--new needs --target"),
        (["--target", "a", "--new", "x", "--remove"], "--remove needs --drafter"),
        (["--chats", "--target", str(GOLDEN / "e2e_qwen3" / "target")], "DFlash needs a drafter"),
    ],
)
def test_options_in_conflict_are_usage_errors(arguments, problem, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["tune", *arguments])
    assert stopped.value.code == 2 and problem in capsys.readouterr().err


def test_prompts_are_lines_of_text_or_json(tmp_path):
    plain, lines = tmp_path / "prompts.txt", tmp_path / "prompts.jsonl"
    plain.write_text('First?\n\n["not JSON"]\n')
    assert read_prompts(plain) == [(Message("user", "First?"),), (Message("user", '["not JSON"]'),)]
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    first, second = (Message("user", "First?"),), (Message("system", "Be brief."), Message("user", "Why?"))
    lines.write_text("\n".join(map(json.dumps, ["First?", {"prompt": "First?"}, chat, {"id": 7, "messages": chat}])))
    assert read_prompts(lines) == [first, first, second, second]


INVALID = ["{", "{}", "1", '{"prompt": 1}', '{"messages": [1]}', '[{"role": "user"}]']
MESSAGES = ['[{"role": "stranger", "content": ""}]', '[{"role": "user", "content": 1}]']


NO_QUESTION = ["[]", '[{"role": "assistant", "content": "A"}]', '[{"role": "system", "content": "A"}]']


@pytest.mark.parametrize("text", [*INVALID, *MESSAGES, *NO_QUESTION])
def test_other_lines_are_refused(tmp_path, text):
    file = tmp_path / "prompts.jsonl"
    file.write_text(text)
    with pytest.raises(UserError, match="isn't a list of prompts"):
        read_prompts(file)


def test_missing_chats_are_an_error(tmp_path):
    with pytest.raises(UserError, match="Can't read the saved chats"):
        command.saved_prompts(tmp_path / "chats.db")


def test_only_line_feeds_end_a_prompt_and_a_byte_order_mark_is_not_part_of_one(tmp_path):
    file = tmp_path / "prompts.jsonl"
    file.write_bytes('\ufeff"a\u2028b"\r\n"c\x85d"\n'.encode())
    assert read_prompts(file) == [(Message("user", "a\u2028b"),), (Message("user", "c\x85d"),)]


def test_enough_general_prompts_are_built_in():
    """Of every four, one is held out, and of every eight, one chooses the strength."""
    for demo, fewest in ((False, 60), (True, 20)):
        prompts = command.general_prompts(demo)
        assert len(set(prompts)) == len(prompts) >= fewest
        assert all(len(prompt) == 1 and prompt[0].role == "user" and prompt[0].content.strip() for prompt in prompts)


def test_results_are_shown_with_their_change():
    assert command.table(Tuned(8.0, 10.0, 5.0, 4.5, False, "", 30), 1200) == [
        "30 of 1,200 prompts used",
        "",
        "tokens per round    before   after",
        "your prompts          8.00   10.00  +25.0%",
        "general prompts       5.00    4.50  -10.0%",
        "Not saved, because tokens per round didn't rise on your prompts, or fell by more than 1 % on general ones.",
    ]
    *_, saved = command.table(Tuned(8.0, 7.0, 0.0, 0.0, False, "", 30), 30)
    assert saved == "Not saved, because tokens per round didn't rise on your prompts."


def test_the_command_does_not_load_mlx_before_its_blas_is_chosen():
    code = "import sys, mlx_engine.cli.tune; sys.exit('mlx.core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
