"""The picker without its window: order, filters, texts, and events of the download process."""

import os
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.models import wording
from app.models.candidate import Candidate, Variant, best_first, matches
from app.models.downloads import Downloads, PairDownload
from mlx_engine.errors import EngineText
from mlx_engine.pairs.fit import Fit, FitLine
from mlx_engine.pairs.pair import Pair

MB = 1_000_000
GB = 10**9
PAIR = Pair("owner/target", "owner/drafter")


def candidate(id: str, size: int, verdict_needs: int, **more: object) -> Candidate:
    fit = Fit((FitLine("x", verdict_needs, ""),), 1024, 36 * GB, 50 * GB)
    variant = Variant("", Pair(f"o/{id}", "o/d"), size=size, fit=fit)
    return Candidate(id, id, (variant,), **more)  # type: ignore[arg-type]


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
    unknown = candidate("unknown", 0, 0)
    assert best_first([unknown, *paced])[3] is unknown, "an unknown size comes last among those that fit"
    assert [one.id for one in listed if matches(one, "fits", "")] == ["small", "best", "tight"]
    assert [one.id for one in listed if matches(one, "small", "O/SMALL")] == ["small"]


def test_texts_of_a_download() -> None:
    assert wording.progress(PairDownload("running", 620 * MB, 2 * GB, 41e6, 33.0)) == "620 MB of 2.0 GB · 41 MB/s · 33 s left"
    assert wording.progress(PairDownload("waiting")) == "Waiting"
    assert wording.duration(3725) == "1 h 2 min" and wording.duration(0.2) == "1 s"


def test_invalid_lines_of_the_process_are_ignored(qtbot: QtBot) -> None:
    downloads = Downloads()
    lines = (
        b"{",
        b"[]",
        b'{"event": "progress"}',
        b'{"event": "queue", "pairs": [{"target": "../x"}]}',
        b'{"event": "error", "reason": {"code": "full", "message": "Full.", "values": {}}}',
    )
    downloads.receive(b"".join(line + b"\n" for line in lines))
    assert downloads.problem == "Full." and downloads.pairs == {}


def test_a_refused_command_fails_its_pair(qtbot: QtBot) -> None:
    """For example because the disk is full and the queue can't be saved."""
    downloads = Downloads()
    downloads.pairs[PAIR] = PairDownload("waiting")
    downloads.receive(
        b'{"event": "error", "reason": {"code": "full", "message": "Disk full.", "values": {}}, '
        b'"target": "owner/target", "drafter": "owner/drafter"}\n'
        b'{"event": "error", "reason": {"code": "full", "message": "Disk full.", "values": {}}, '
        b'"target": "owner/unknown", "drafter": null}\n'
    )
    assert downloads.pairs == {PAIR: PairDownload("failed", note=EngineText("full", "Disk full."))} and downloads.problem == ""


def test_a_process_that_cannot_start_fails_its_pairs(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.models.downloads.child.command", lambda module: ("/nowhere/python", []))
    downloads = Downloads()
    downloads.add(PAIR)
    qtbot.waitUntil(lambda: downloads.pairs[PAIR].state == "failed", timeout=60_000)
    assert not downloads.running and "Can’t start the download process" in str(downloads.pairs[PAIR].note)


def test_the_picker_does_not_import_mlx() -> None:
    import subprocess
    import sys

    code = "import sys, app.models.picker; sys.exit('mlx' in sys.modules or 'mlx.core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ}).returncode == 0
