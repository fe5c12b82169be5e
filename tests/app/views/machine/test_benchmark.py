"""The Benchmark window: every prompt plainly and with the drafter, interrupted by replies, pauses, and its end."""

import json
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.session import benchmark_run, pair_session
from app.views.machine import benchmark_dialog
from app.views.machine.benchmark_dialog import COUNTS, BenchmarkDialog
from app.views.machine.this_mac import ThisMacDialog
from mlx_engine.cli.bench_merge import ReportLine, read_reports
from mlx_engine.cli.bench_prompts import SETS
from mlx_engine.contract.errors import NO_DRAFTER, UserError
from mlx_engine.contract.events import Event
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.models.library.pair import demo_pair
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
    assert len(measured(engine)) == 1 + 2 + REPLIES and runner.reports


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
    assert runner.reports and len(measured(engine)) == 1 + 2 + REPLIES


def test_the_computer_stays_awake_unless_it_is_paused(start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ScriptedEngine([[commit("Slow"), threading.Event(), done("plain")]])
    running = start(engine)
    held: dict[str, bool] = {}
    monkeypatch.setattr(running.slipstream._activity, "set_held", lambda name, on, reason="": held.update({name: on}))
    dialog, runner = opened(running), running.services.benchmark
    dialog.start.click()
    running.until(lambda: len(engine.requests) == 1)
    assert held["benchmark"]
    dialog.pause.click()
    assert not held["benchmark"]
    dialog.pause.click()
    assert held["benchmark"]
    dialog.stop.click()
    assert not runner.running and not held["benchmark"]


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
    assert not runner.reports and len(engine.requests) == 1


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
    assert dialog.error.label.text() == "Out of memory." and not runner.reports


def test_a_pair_without_a_drafter_says_why_it_is_not_measured(begin: Callable[..., Session]) -> None:
    running = begin(ScriptedEngine(pair=replace(PAIR, why_plain=NO_DRAFTER)))
    dialog = opened(running)
    assert not dialog.start.isEnabled() and dialog.state.text() == "This model is loaded without a drafter."


def several(running: Running, monkeypatch: pytest.MonkeyPatch) -> tuple[BenchmarkDialog, list[Path | None]]:
    """Open the window of a pair with three drafters. Return it, and the drafters that are loaded from now on."""
    found = [demo_pair()[1], Path("other"), Path("broken")]
    monkeypatch.setattr(pair_session, "installed_drafters", lambda *_: tuple(found))
    loads: list[Path | None] = []
    load = running.engine.load

    def noted(target: Path, drafter: Path | None) -> Iterator[Event]:
        loads.append(drafter)
        if drafter == Path("broken"):
            raise UserError("scripted", "It can't be loaded.")
        running.engine.pair = replace(PAIR, drafter_kind="MTP" if drafter == Path("other") else "DFlash")
        return load(target, drafter)

    monkeypatch.setattr(running.engine, "load", noted)
    dialog = opened(running)
    running.until(lambda: dialog.all_drafters.isVisible())
    dialog.all_drafters.click()
    return dialog, loads


def test_all_drafters_are_measured_one_after_the_other(
    begin: Callable[..., Running], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = ScriptedEngine()
    engine.pair = replace(PAIR, drafter_kind="DFlash")
    running = begin(engine)
    dialog, loads = several(running, monkeypatch)
    runner = running.services.benchmark
    dialog.start.click()
    running.until(lambda: not runner.running and len(loads) == 3 and running.loader.ready)
    assert loads == [Path("other"), Path("broken"), demo_pair()[1]] and running.loader.has_demo, "the first one is loaded again"
    assert "It can't be loaded." in dialog.error.label.text() and (runner.done, runner.total) == (2 * REPLIES, 2 * REPLIES)
    assert [report["pair"]["drafter_kind"] for report in runner.reports] == ["DFlash", "MTP"]
    monkeypatch.setattr(benchmark_dialog, "ask_save_path", lambda *_: tmp_path / "all.json")
    dialog.save_report.click()
    assert [line.pair for line in map(ReportLine.of, read_reports([tmp_path / "all.json"]))] == [
        "Demo pair + DFlash",
        "Demo pair + MTP",
    ]


def test_stop_loads_the_first_drafter_again(begin: Callable[..., Running], monkeypatch: pytest.MonkeyPatch) -> None:
    running = begin()
    dialog, loads = several(running, monkeypatch)
    runner = running.services.benchmark
    dialog.start.click()
    running.until(lambda: runner.done > REPLIES)
    dialog.stop.click()
    running.until(lambda: len(loads) == 2 and running.loader.ready)
    assert loads == [Path("other"), demo_pair()[1]] and len(runner.reports) == 1 and dialog.save_report.isVisible()


def test_settings_of_the_papers_can_be_chosen(begin: Callable[..., Running]) -> None:
    engine = ScriptedEngine()
    engine.pair = replace(PAIR, can_think=True)
    running = begin(engine)
    dialog, runner = opened(running), running.services.benchmark
    dialog.temperature.setCurrentIndex(1)
    dialog.thinking.click()
    dialog.start.click()
    running.until(lambda: not runner.running)
    assert {(request.sampling.temperature, request.thinking) for request in measured(engine)} == {(1.0, True)}
    assert (runner.reports[0]["temperature"], runner.reports[0]["thinking"]) == (1.0, True)


def test_a_downloaded_set_can_be_removed(begin: Callable[..., Running], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error of a damaged file said to remove it, which only a command could."""
    file = tmp_path / "test.jsonl"
    file.write_text("{")
    chosen, removed = PUBLISHED_SETS["math500"], list[object]()

    def remove(one: object) -> int:
        removed.append(one)
        file.unlink()
        return 1

    monkeypatch.setattr(
        benchmark_run, "find_set", lambda chosen: file if file.exists() and chosen is PUBLISHED_SETS["math500"] else None
    )
    monkeypatch.setattr(benchmark_run, "remove_set", remove)
    running = begin()
    dialog, runner = opened(running), running.services.benchmark
    assert not dialog.remove.isVisible()
    dialog.prompts.setCurrentIndex(1 + list(PUBLISHED_SETS).index("math500"))
    dialog.start.click()
    assert not dialog.remove.isVisible()
    running.until(lambda: not runner.running)
    assert "Remove the set, then download it again." in dialog.error.label.text() and dialog.remove.isVisible()
    dialog.remove.click()
    running.until(lambda: not dialog.remove.isVisible())
    assert removed == [chosen] and not dialog.error.isVisible()
