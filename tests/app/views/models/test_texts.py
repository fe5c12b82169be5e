"""The picker without its window: order, filters, texts, and events of the download process."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.session.background_work import Background
from app.session.downloads import Downloads, PairDownload, duration
from app.session.model_list import Candidate, Variant, best_first, match_reason, matching
from app.session.model_storage import Storage
from app.session.pair_survey import Estimator, survey
from app.views.models.memory_details import MemoryDetails
from app.views.models.pair_facts import drafter_label, facts_of, license_name, memory_names
from app.widgets.theme import Theme
from mlx_engine.contract.errors import EngineText
from mlx_engine.hardware import machine
from mlx_engine.models.fit import Fit, FitLine, predict_fit
from mlx_engine.models.library.catalog import load_catalog
from mlx_engine.models.library.pair import Pair, demo_pair
from mlx_engine.models.library.speeds import SpeedRange
from tests.app.scripted_engine import FACTS
from tests.hub.repos import DRAFTER
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.tiny_families import CONFIGS

MB = 1_000_000
GB = 10**9
PAIR = Pair("owner/target", "owner/drafter")


def candidate(id: str, size: int, verdict_needs: int, **more: object) -> Candidate:
    fit = Fit((FitLine("x", verdict_needs, ""),), 1024, 36 * GB, 50 * GB)
    variant = Variant("", Pair(f"o/{id}", "o/d"), size=size, fit=fit)
    return Candidate(id, id, (variant,), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("apache-2.0", "Apache 2.0"),
        ("mit", "MIT"),
        ("llama3.1", "Llama 3.1 Community"),
        ("llama2", "Llama 2 Community"),
        ("cc-by-nc-nd-4.0", "CC BY-NC-ND 4.0"),
        ("cc-by-4.0", "CC BY 4.0"),
        ("unknown", "Unknown"),
        ("a-new-one", "a-new-one"),
    ],
)
def test_licenses_have_readable_names(id: str, name: str) -> None:
    assert license_name(id) == name


def test_every_license_of_the_catalog_has_a_readable_name() -> None:
    entries = load_catalog().entries
    ids = {id for entry in entries for id in (entry.license, *(drafter.license for drafter in entry.drafters)) if id}
    assert ids and [id for id in ids if license_name(id) == id] == []


def test_pairs_that_suit_the_machine_come_first() -> None:
    listed = [
        candidate("huge", 60 * GB, 60 * GB),
        candidate("small", 4 * GB, 5 * GB),
        candidate("best", 20 * GB, 22 * GB),
        candidate("tight", 30 * GB, 33 * GB),
        candidate("broken", 20 * GB, 22 * GB, why_not=EngineText("no_model", "No model.")),
    ]
    assert [one.id for one in best_first(listed)] == ["best", "small", "tight", "huge", "broken"]
    slow = {"best": True, "tight": True}
    paced = [one.with_variant(0, replace(one.shown, slow=slow.get(one.id, False))) for one in listed]
    assert [one.id for one in best_first(paced)] == ["small", "best", "tight", "huge", "broken"], "slow pairs come later"
    assert [one.id for one in best_first(paced, "tight")] == ["tight", "small", "best", "huge", "broken"]
    on_disk = paced[2].with_variant(0, replace(paced[2].shown, folders=(Path("/best"), None)))
    assert best_first([on_disk, paced[1]])[0] is paced[1], "also a slow pair on this disk comes later"
    unknown = candidate("unknown", 0, 0)
    assert best_first([unknown, *paced])[3] is unknown, "an unknown size comes last among those that fit"
    assert [one.id for one in matching(listed, "fits", "")] == ["small", "best", "tight"]
    assert [one.id for one in matching(paced, "fits", "")] == ["small"], "“Fits, but too slow” isn't what one looks for"
    assert [one.id for one in matching(listed, "small", "O/SMALL")] == ["small"]
    (small,) = matching(listed, "all", "O/SMALL")
    assert match_reason(small, f"o/small {small.name}") == small.shown.pair.repos[0], "its row doesn't show it otherwise"
    assert match_reason(small, small.name.upper()) == match_reason(small, "elsewhere") == ""


def test_a_pair_that_fits_but_is_slow_says_so() -> None:
    """Without a GPU, the picker said "Fits comfortably" and the start page that larger pairs are too slow."""
    fits = candidate("a", 4 * GB, 5 * GB)
    slow, large = (one.with_variant(0, replace(one.shown, slow=True)) for one in (fits, candidate("b", 60 * GB, 60 * GB)))
    texts = [one.verdict_text for one in (fits, slow, large)]
    assert texts == ["Fits comfortably", "Fits, but too slow", "Too large"]


def test_whole_words_of_a_name_come_first_in_a_search() -> None:
    names = ("Qwen3.5 4B", "Qwen3.5 4B (VL)", "Qwen3-Coder 30B", "Qwen3 4B Instruct", "Qwen3 4B")
    listed = [replace(candidate("a", GB, GB), name=name, id=name) for name in names]
    assert [one.name for one in matching(listed, "all", "qwen3 4b")][:2] == ["Qwen3 4B", "Qwen3 4B Instruct"]
    assert [one.name for one in matching(listed, "all", "qwen3.5 4b")] == ["Qwen3.5 4B", "Qwen3.5 4B (VL)"]
    assert matching(listed, "all", "qwen") == listed, "without a whole word, the order stays"


def test_the_memory_of_a_pair_is_the_same_before_and_after_the_first_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere than on a Mac, models run on the CPU, with weights in float32."""
    monkeypatch.setattr(machine.sys, "platform", "linux")
    needed = []
    for facts in (None, replace(FACTS, device="CPU")):
        monkeypatch.setattr(machine, "load_facts", lambda facts=facts: facts)
        fit = Estimator().from_folders(demo_pair(), Variant()).fit
        assert fit is not None
        needed.append(fit.needed)
    assert needed[0] == needed[1]


def test_every_line_of_the_memory_details_is_translated() -> None:
    names = {line.what for line in predict_fit(CONFIGS["qwen3_next"], DRAFTER, 1, 1).lines}
    assert names <= set(memory_names())


def test_a_limit_set_before_the_first_read_is_kept(qtbot: QtBot) -> None:
    results: list[tuple[Callable[[Any], object], object]] = []

    class Slow(Background):
        def run(self, work: Callable[[], Any], then: Any = None, failed: Any = None, saves: bool = False) -> None:
            results.append((then, work()))

    storage = Storage(Slow(), Downloads())
    storage.start()
    storage.set_limit(5e6)
    for then, result in results:
        then(result)
    assert storage.limit == 5e6


def test_texts_of_a_download() -> None:
    assert PairDownload("running", 620 * MB, 2 * GB, 41e6, 33.0).text == "620 MB of 2.0 GB · 41 MB/s · 33 s left"
    assert PairDownload("waiting").text == "Waiting"
    assert duration(3725) == "1 h 2 min" and duration(0.2) == "1 s"


def test_invalid_lines_of_the_process_are_ignored(qtbot: QtBot) -> None:
    downloads = Downloads()
    lines = (
        b"{",
        b"[]",
        b'{"event": "progress"}',
        b'{"event": "queue", "pairs": [{"target": "../x"}]}',
        b'{"event": "error", "reason": {"code": "full", "message": "Full.", "values": {}}}',
    )
    downloads.process.receive(b"".join(line + b"\n" for line in lines))
    assert downloads.problem == "Full." and downloads.pairs == {}


def test_a_refused_command_fails_its_pair(qtbot: QtBot) -> None:
    """For example because the disk is full and the queue can't be saved."""
    downloads = Downloads()
    downloads.pairs[PAIR] = PairDownload("waiting")
    downloads.process.receive(
        b'{"event": "error", "reason": {"code": "full", "message": "Disk full.", "values": {}}, '
        b'"target": "owner/target", "drafter": "owner/drafter"}\n'
        b'{"event": "error", "reason": {"code": "full", "message": "Disk full.", "values": {}}, '
        b'"target": "owner/unknown", "drafter": null}\n'
    )
    assert downloads.pairs == {PAIR: PairDownload("failed", note=EngineText("full", "Disk full."))} and downloads.problem == ""


def test_a_process_that_cannot_start_fails_its_pairs(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.system.json_process.child.command", lambda module: ("/nowhere/python", []))
    downloads = Downloads()
    downloads.add(PAIR)
    qtbot.waitUntil(lambda: downloads.pairs[PAIR].state == "failed", timeout=60_000)
    assert not downloads.running and "Can't start the download process" in str(downloads.pairs[PAIR].note)


def test_the_picker_does_not_import_mlx() -> None:
    import subprocess

    code = "import sys, app.session.picker; sys.exit('mlx' in sys.modules or 'mlx.core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ}).returncode == 0


REASON = EngineText("window", "A reason.")


@pytest.mark.parametrize(
    ("gain", "expected"),
    [
        (None, "22–41 tok/s"),
        ((1.31, 2.62), "22–41 tok/s, 1.3–2.6×"),
        ((2.0, 2.04), "22–41 tok/s, 2.0×"),
        ((1.04, 1.9), "22–41 tok/s, no gain to 1.9×"),
        ((1.0, 1.04), "22–41 tok/s, no gain"),
    ],
)
def test_the_card_shows_speed_and_gain(gain: tuple[float, float] | None, expected: str) -> None:
    one = candidate("small", 4 * GB, 5 * GB)
    speeds = {"plain": SpeedRange(9, 9, 9.04, REASON), "chat": SpeedRange(22, 30, 41, REASON, gain=gain)}
    one = one.with_variant(0, replace(one.shown, speeds=speeds | {"code": SpeedRange(35, 50, 66, REASON, gain=(2, 3))}))
    facts = {name: text for name, text in facts_of(one, True).items() if "peed" in name or name == "Without DFlash"}
    assert [*facts] == ["Speed in chats", "Speed in code and math", "Without DFlash"]
    assert facts["Speed in chats"] == f"{expected}. A reason." and facts["Without DFlash"] == "9.0 tok/s. A reason."
    assert drafter_label("DFlash by z-lab", one.shown).endswith("· 22–66 tok/s")


def test_measured_speeds_are_one_row() -> None:
    one = candidate("small", 4 * GB, 5 * GB)
    for speeds, names in (({"plain": REASON}, ["Speed"]), ({"plain": REASON, "dflash": REASON}, ["Speed", "Without DFlash"])):
        ranges = {kind: SpeedRange(20, 21, 22, reason, measured=True) for kind, reason in speeds.items()}
        facts = facts_of(one.with_variant(0, replace(one.shown, speeds=ranges)), True)
        assert [name for name in facts if "peed" in name or name == "Without DFlash"] == names


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("needed", [5 * GB, 33 * GB, 60 * GB, 200 * GB])
def test_reasons_for_a_pair_do_not_contradict_its_verdict(slow: bool, needed: int) -> None:
    one = candidate("small", 4 * GB, needed)
    shown = replace(one.shown, slow=slow, label="4-bit", bits=4)
    one = replace(one, variants=(shown, replace(shown, label="8-bit", bits=8)))
    text = facts_of(one, True).get("Why this pair", "")
    praises = [part for part in ("Leaves memory", "Fits,", "Usually gives", "Quick to download") if part in text]
    assert bool(praises) == (one.verdict_text in ("Fits comfortably", "Tight fit"))


def test_weights_that_are_too_large_are_more_than_the_memory(qapp: QApplication) -> None:
    details = MemoryDetails(Theme(qapp))
    for needed, expected in (
        (37 * GB, ", more than the 19.0 GB available to models."),
        (9 * GB, " of the 19.0 GB available to models."),
    ):
        details.show_fit(Fit((FitLine("Weights of both models", needed, ""),), 8192, 19 * GB), True)
        assert details.reason.text().endswith(expected)


def test_the_list_says_which_pairs_see(tmp_path: Path) -> None:
    found = survey().candidates
    seeing = {one.id for one in found if one.sees == "Sees images"}
    assert {"qwen3.5-4b", "qwen3.6-35b-a3b", "gemma-4-e2b", "gemma-4-12b"} <= seeing
    assert not {"demo", "qwen3-4b", "gpt-oss-20b", "qwen3-coder-next"} & seeing
    assert {one.id for one in matching(found, "all", "images")} == seeing
    for one in found:
        assert facts_of(one, True)["Images"] == ("Sees images and pages of PDFs" if one.id in seeing else "Can't see images")
    on_disk = Estimator().from_folders((GOLDEN / "vision" / "qwen3_5", None), Variant())
    assert on_disk.sees and not Estimator().from_folders(demo_pair(), Variant()).sees
