"""The picker without its window: order and filters, words, and what its processes say."""

import os
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.models import wording
from app.models.candidate import Candidate, Choice, order, passes
from app.models.downloads import Downloads, Transfer
from mlx_engine.errors import EngineText
from mlx_engine.pairs.fit import Fit, FitLine
from mlx_engine.pairs.pair import Pair

MB = 1_000_000
GB = 10**9
PAIR = Pair("owner/target", "owner/drafter")


def candidate(id: str, size: int, verdict_needs: int, **more: object) -> Candidate:
    fit = Fit((FitLine("x", verdict_needs, ""),), 1024, 36 * GB, 50 * GB)
    choice = Choice("", Pair(f"o/{id}", "o/d"), size=size, fit=fit)
    return Candidate(id, id, (choice,), **more)  # type: ignore[arg-type]


def test_what_suits_this_machine_comes_first() -> None:
    listed = [
        candidate("huge", 60 * GB, 60 * GB),
        candidate("small", 4 * GB, 5 * GB),
        candidate("best", 20 * GB, 22 * GB),
        candidate("tight", 30 * GB, 33 * GB),
        candidate("broken", 20 * GB, 22 * GB, why_not=EngineText("no_model", "No model.")),
    ]
    assert [one.id for one in order(listed)] == ["best", "small", "tight", "huge", "broken"]
    slow = {"best": True, "tight": True}
    paced = [one.with_choice(0, replace(one.shown, slow=slow.get(one.id, False))) for one in listed]
    assert [one.id for one in order(paced)] == ["small", "best", "tight", "huge", "broken"], "what is too slow comes later"
    unknown = candidate("unknown", 0, 0)
    assert order([unknown, *paced])[3] is unknown, "of what fits, that of which nothing is known comes last"
    assert [one.id for one in listed if passes(one, "fits", "")] == ["small", "best", "tight"]
    assert [one.id for one in listed if passes(one, "small", "O/SMALL")] == ["small"]


def test_progress_in_words() -> None:
    assert wording.progress(Transfer("running", 620 * MB, 2 * GB, 41e6, 33.0)) == "620 MB of 2.0 GB · 41 MB/s · 33 s left"
    assert wording.progress(Transfer("waiting")) == "Waits for its turn"
    assert wording.duration(3725) == "1 h 2 min" and wording.duration(0.2) == "1 s"


def test_nonsense_from_the_process_is_no_reason_to_fall_over(qtbot: QtBot) -> None:
    downloads = Downloads()
    downloads._lines.extend(
        [
            b"{",
            b"[]",
            b'{"event": "progress"}',
            b'{"event": "queue", "pairs": [{"target": "../x"}]}',
            b'{"event": "error", "reason": {"code": "full", "message": "Full.", "values": {}}}',
        ]
    )
    downloads._take()
    assert downloads.trouble == "Full." and downloads.transfers == {}


def test_a_command_that_is_refused_says_so_at_its_pair(qtbot: QtBot) -> None:
    """The disk is full, so that the queue cannot be written: nothing is on its way, whatever was shown before."""
    downloads = Downloads()
    downloads.transfers[PAIR] = Transfer("waiting")
    downloads._lines.append(
        b'{"event": "error", "reason": {"code": "full", "message": "It cannot be written.", "values": {}}, '
        b'"target": "owner/target", "drafter": "owner/drafter"}'
    )
    downloads._lines.append(
        b'{"event": "error", "reason": {"code": "full", "message": "Nor that.", "values": {}}, '
        b'"target": "owner/unknown", "drafter": null}'
    )
    downloads._take()
    assert (
        downloads.transfers == {PAIR: Transfer("failed", words=EngineText("full", "It cannot be written."))}
        and downloads.trouble == ""
    )


def test_a_process_that_cannot_start_is_told_and_nothing_waits_for_it(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.models.downloads.child.command", lambda module: ("/nowhere/python", []))
    downloads = Downloads()
    downloads.add(PAIR)
    qtbot.waitUntil(lambda: downloads.transfers[PAIR].state == "failed", timeout=60_000)
    assert not downloads.running and "cannot be started" in str(downloads.transfers[PAIR].words)


def test_no_mlx_comes_in_with_the_picker() -> None:
    import subprocess
    import sys

    code = "import sys, app.models.picker; sys.exit('mlx' in sys.modules or 'mlx.core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ}).returncode == 0
