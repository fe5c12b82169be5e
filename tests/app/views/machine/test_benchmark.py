"""The Benchmark window: every prompt plainly and with the drafter, interrupted by replies, pauses, and its end."""

import json
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.session import benchmark_run
from app.views.machine import benchmark_dialog
from app.views.machine.benchmark_dialog import COUNTS, BenchmarkDialog
from app.views.machine.this_mac import ThisMacDialog
from mlx_engine.cli.bench_prompts import SETS
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.prompt_sets.published_sets import PUBLISHED_SETS
from tests.app.conftest import Running, Session
from tests.app.scripted_engine import PAIR, ScriptedEngine, commit, done

REPLIES = 2 * COUNTS[0]
TEXTS = [prompt.text for prompt in SETS["mixed"][: COUNTS[0]]]


def opened(running: Running) -> BenchmarkDialog:
    running.run("this_mac")
    this_mac = running.dialog(ThisMacDialog)
    this_mac.benchmark_requested.emit()
    this_mac.close()
    return running.dialog(BenchmarkDialog)


def measured(engine: ScriptedEngine) -> list[GenerationRequest]:
    return [request for request in engine.requests if request.messages[-1].content in TEXTS]


def test_each_prompt_is_answered_plainly_and_with_the_drafter_and_the_result_is_saved(
    begin: Callable[..., Running], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = ScriptedEngine()
    running = begin(engine)
    dialog, runner = opened(running), running.services.benchmark
    assert not dialog.save_picture.isVisible() and not dialog.stop.isVisible()
    dialog.start.click()
    assert dialog.stop.isVisible() and not dialog.prompts.isEnabled()
    running.until(lambda: not runner.running)
    found = {(request.messages[-1].content, request.mode) for request in measured(engine)[2:]}
    assert found == {(text, mode) for text in TEXTS for mode in ("plain", "dflash")}
    assert len(measured(engine)) == 2 + REPLIES, "the first two replies warm up"
    assert (runner.done, runner.total, dialog.error.isVisible()) == (REPLIES, REPLIES, False)
    for clicked, ending in ((dialog.save_picture, ".svg"), (dialog.save_report, ".json")):
        file = tmp_path / f"saved{ending}"
        monkeypatch.setattr(benchmark_dialog, "ask_save_path", lambda *_, file=file: file)
        clicked.click()
    assert ET.parse(tmp_path / "saved.svg").getroot().tag.endswith("svg")
    report = json.loads((tmp_path / "saved.json").read_text())
    assert (report["set"], report["prompts"], report["pair"]["name"]) == ("mixed", COUNTS[0], "Demo pair")
    assert dialog.picture.isVisible() and dialog.picture.heightForWidth(960) > 100


def test_a_message_interrupts_it_and_the_reply_is_measured_again(begin: Callable[..., Session]) -> None:
    gate = threading.Event()  # never opens
    engine = ScriptedEngine([[commit("Slow"), gate, commit(" reply"), done("plain")]])
    running = begin(engine)
    dialog, runner = opened(running), running.services.benchmark
    dialog.start.click()
    running.until(lambda: len(engine.requests) == 1)
    running.ask("Hello?")
    assert running.answer == "Fine."
    running.until(lambda: not runner.running)
    assert len(measured(engine)) == 1 + 2 + REPLIES and runner.report is not None


def test_it_can_be_paused_and_continued(begin: Callable[..., Session]) -> None:
    engine = ScriptedEngine([[commit("Slow"), threading.Event(), done("plain")]])
    running = begin(engine)
    dialog, runner = opened(running), running.services.benchmark
    dialog.start.click()
    running.until(lambda: len(engine.requests) == 1)
    dialog.pause.click()
    running.until(lambda: not running.services.engine.busy)
    assert runner.running and len(engine.requests) == 1
    assert dialog.state.text() == f"0 of {REPLIES} replies · paused" and dialog.pause.text() == "Continue"
    dialog.pause.click()
    running.until(lambda: not runner.running)
    assert runner.report is not None and len(measured(engine)) == 1 + 2 + REPLIES


@pytest.mark.parametrize("way", ["stop", "close", "load"])
def test_it_ends_without_a_report(begin: Callable[..., Session], way: str) -> None:
    engine = ScriptedEngine([[commit("Slow"), threading.Event(), done("plain")]])
    running = begin(engine)
    dialog, runner = opened(running), running.services.benchmark
    dialog.start.click()
    running.until(lambda: len(engine.requests) == 1)
    if way == "load":
        running.services.activity.use()
    else:
        getattr(dialog, way).click() if way == "stop" else dialog.close()
    running.until(lambda: not runner.running and not running.services.engine.busy)
    assert runner.report is None and len(engine.requests) == 1


def test_a_published_set_is_downloaded_and_its_errors_are_shown(
    begin: Callable[..., Session], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refused, seen = True, threading.Event()

    def download(chosen: object, stop: threading.Event, report: Callable[[int, int], None]) -> Path:
        if refused:
            raise UserError("hub_unreachable", "Can't reach {endpoint}.", endpoint="the hub")
        report(1, 2)
        seen.wait(60)
        (tmp_path / "test.jsonl").write_text('{"problem": "1 + 1"}\n{"problem": "2 + 2"}\n')
        return tmp_path / "test.jsonl"

    monkeypatch.setattr(benchmark_run, "download_set", download)
    monkeypatch.setattr(benchmark_run, "find_set", lambda chosen: None)
    engine = ScriptedEngine()
    running = begin(engine)
    dialog, runner = opened(running), running.services.benchmark
    dialog.prompts.setCurrentIndex(1 + list(PUBLISHED_SETS).index("math500"))
    dialog.start.click()
    running.until(lambda: not runner.running)
    assert "Can't reach the hub." in dialog.error.label.text() and dialog.error.isVisible()
    refused = False
    dialog.start.click()
    running.until(lambda: dialog.state.text() == "Downloading the prompts: 50%")
    seen.set()
    running.until(lambda: not runner.running)
    assert runner.total == 4 and not dialog.error.isVisible()
    assert {request.max_tokens for request in engine.requests} == {2048}


def test_an_error_of_the_engine_ends_it(begin: Callable[..., Session]) -> None:
    running = begin(ScriptedEngine([[UserError("scripted", "Out of memory.")]]))
    dialog, runner = opened(running), running.services.benchmark
    dialog.start.click()
    running.until(lambda: not runner.running)
    assert dialog.error.label.text() == "Out of memory." and runner.report is None


def test_a_pair_without_a_drafter_says_why_it_is_not_measured(begin: Callable[..., Session]) -> None:
    running = begin(ScriptedEngine(pair=replace(PAIR, why_plain=EngineText("", "The drafter is missing."))))
    dialog = opened(running)
    assert not dialog.start.isEnabled() and dialog.state.text() == "The drafter is missing."
