"""The process that tunes for the window: which prompts it uses, and that it can be paused and continued."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.cli import tune_process
from mlx_engine.cli.tune import chosen_prompts
from mlx_engine.cli.tune_process import PausableHost
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.limits import FEWEST_PROMPTS, MOST_PROMPTS
from mlx_engine.contract.requests import Message, TuneDrafter
from mlx_engine.engine.host import EngineHost
from mlx_engine.models import tuning_needs
from mlx_engine.models.files import tuning_files
from mlx_engine.models.files.tuning_files import UnfinishedRun, run_folder, unfinished_run
from mlx_engine.models.tuning_needs import predict_needs
from mlx_engine.tuning import recorded_replies, training_loop, tuner
from tests.mlx_engine.tuning.test_tune import PROMPTS, copied

SAVED = list(PROMPTS)
LATER = (Message("user", "t60 t61"),)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A small pair, and short runs."""
    monkeypatch.setattr(tuning_files.platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "cache")
    monkeypatch.setattr(tuner, "_TUNING", replace(tuner._TUNING, replies=2, anchors=4))
    monkeypatch.setattr(tune_process, "general_prompts", lambda demo: [])
    monkeypatch.setattr(
        tune_process, "request", lambda given, prompts, general: TuneDrafter(tuple(prompts), (), epochs=1, max_tokens=8)
    )
    pair = copied("e2e_qwen3", tmp_path / "pair")
    return pair / "target", pair / "drafter"


@pytest.fixture
def engine() -> Iterator[EngineHost]:
    made = EngineHost()
    yield made
    assert made.wait(60)


def codes(events: list[dict[str, Any]]) -> list[str]:
    return [event["step"]["code"] if event["event"] == "progress" else event["event"] for event in events]


def test_a_paused_run_continues_with_its_prompts_though_there_are_new_ones(folders, engine):
    host = PausableHost(engine)
    first = []
    for event in tune_process.tune(host, *folders, SAVED):
        first.append(event)
        if codes(first).count("tuning_replies") == 5 and not host.paused:
            host.pause()
    assert codes(first)[-1] == "paused" and "tuning_step" not in codes(first)
    run = unfinished_run(*folders)
    assert run is not None and list(run.prompts) == SAVED and 0 <= run.fraction < 0.5
    second = list(tune_process.tune(PausableHost(engine), *folders, [*SAVED, LATER]))
    assert codes(second)[-1] == "result" and second[-1]["replies"] == len(SAVED)
    assert unfinished_run(*folders) is None and not run_folder(*folders).exists()
    json.dumps(second)


def test_a_pause_can_come_at_any_moment_as_a_signal_does():
    """Also while another pause ends the job."""
    host = PausableHost(None)  # type: ignore[arg-type]
    host._run = SimpleNamespace(cancel=lambda: reentered.append(0) or (len(reentered) < 3 and host.pause()))  # type: ignore
    reentered = list[int]()
    thread = threading.Thread(target=host.pause, daemon=True)
    thread.start()
    thread.join(120)
    assert not thread.is_alive() and host.paused and len(reentered) == 3


@given(st.integers(2, 32), st.integers(100, 300_000))
def test_the_predicted_blocks_of_a_pass_are_those_of_training(block: int, vocabulary: int) -> None:
    config = SimpleNamespace(block_size=block, vocab_size=vocabulary)
    plan = training_loop.fitting(tuner._TUNING, config)  # type: ignore[arg-type]
    assert tuning_needs._blocks(block * vocabulary) == min(plan.replies, recorded_replies._TOGETHER) * plan.anchors


def test_a_pause_before_the_start_loads_and_keeps_nothing(folders, engine):
    host = PausableHost(engine)
    host.pause()
    assert codes(list(tune_process.tune(host, *folders, SAVED)))[-1] == "paused"
    assert not run_folder(*folders).exists()


@pytest.mark.long
def test_a_full_disk_ends_a_run_which_then_continues(folders, engine, monkeypatch):
    free = iter([10e9] * 4)
    disk = SimpleNamespace(disk_usage=lambda folder: SimpleNamespace(free=next(free, 1e9)), rmtree=tuner.shutil.rmtree)
    with monkeypatch.context() as patch:
        patch.setattr(tuner, "shutil", disk)
        with pytest.raises(UserError) as refused:
            list(tune_process.tune(PausableHost(engine), *folders, SAVED))
    assert refused.value.text.code == "no_disk_to_tune"
    assert unfinished_run(*folders) is not None
    assert codes(list(tune_process.tune(PausableHost(engine), *folders, SAVED)))[-1] == "result"


@given(st.sets(st.integers(0, 300)), st.sets(st.integers(0, 300)))
def test_deleted_chats_are_not_used_and_new_ones_only_in_a_new_run(of_the_run: set[int], still_saved: set[int]) -> None:
    run = [(Message("user", str(number)),) for number in sorted(of_the_run)]
    saved = [(Message("user", str(number)),) for number in sorted(still_saved)]
    chosen = chosen_prompts(UnfinishedRun(tuple(run), 0.5), saved)
    assert set(chosen) <= set(saved)
    kept = sorted(of_the_run & still_saved)
    if len(kept) >= FEWEST_PROMPTS:
        assert [prompt[0].content for prompt in chosen] == [str(number) for number in kept]
    else:
        assert chosen == saved[-MOST_PROMPTS:]


def test_damaged_files_of_a_run_count_as_missing(folders):
    folder = run_folder(*folders)
    folder.mkdir(parents=True)
    damaged = "{", "3", "[[[1, 2]]]", "[[[1, 2, 3]]]", '[[["user"]]]', '[[["user", "A", "B"]]]'
    for prompts, progress in (*((prompts, "0.5") for prompts in damaged), ('[[["user", "A"]]]', '"A"')):
        (folder / "prompts.json").write_text(prompts)
        (folder / "progress.json").write_text(progress)
        assert unfinished_run(*folders) is None
    (folder / "progress.json").unlink()
    (folder / "prompts.json").write_text('[[["user", "A"]]]')
    assert unfinished_run(*folders) == UnfinishedRun(((Message("user", "A"),),), 0.0)


def test_more_and_longer_prompts_need_more_disk_but_not_more_memory(folders):
    short, long = (Message("user", "A"),), (Message("user", "A" * 3000),)
    few, many, longer = (predict_needs(*folders, prompts, 8) for prompts in ([short] * 10, [short] * 20, [long] * 10))
    assert few.memory == many.memory == longer.memory and few.memory is not None and few.memory > 300e6
    assert few.disk is not None and few.disk < many.disk and few.disk < longer.disk  # type: ignore[operator]
    assert predict_needs(*folders, [long * 100], 0).disk == predict_needs(*folders, [long * 200], 0).disk  # the limit


def test_the_process_ends_when_its_input_ends(folders):
    """As when the window has quit."""
    prompts = [[(message.role, message.content) for message in prompt] for prompt in SAVED]  # enough to tune
    order = {"target": str(folders[0]), "drafter": str(folders[1]), "prompts": prompts, "log": "the log"}
    command = [sys.executable, "-m", "app", "--child", "mlx_engine.cli.tune_process"]
    found = subprocess.run(command, input=json.dumps(order) + "\n", capture_output=True, text=True, timeout=120)
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert lines[-1]["event"] == "paused"
    assert found.returncode == 0 and "Traceback" not in found.stderr
