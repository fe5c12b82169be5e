"""The picker with the hub of the tests: search, download, use, one reply, delete; and what it says when things go wrong."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import close_session, constants
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLineEdit, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

from app.picking import words
from app.picking.candidate import Candidate, Choice, order, passes
from app.picking.downloads import Downloads, Transfer
from mlx_engine.pairs.catalogue import own_file
from mlx_engine.pairs.demo import demo_pair
from mlx_engine.pairs.fit import Fit, Line
from mlx_engine.pairs.pair import Pair
from tests.app.conftest import Running
from tests.app.scripted_engine import ScriptedEngine, refuse
from tests.hub.repos import DRAFTER, config, drafter_files, target_files
from tests.hub.server import LocalHub

MB = 1_000_000
GB = 10**9
PAIR = Pair("owner/target", "owner/drafter")
Start = Callable[..., Running]


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    """A hub of our own with one pair, an empty cache, and a catalogue with that pair added."""
    with LocalHub() as hub:
        hub.repo("owner/target", target_files(MB, 400_000), tags=("license:apache-2.0",))
        hub.repo("owner/drafter", drafter_files(300_000))
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}")
        own_file().parent.mkdir(parents=True)
        entry = {"id": "zebra-1b", "name": "Zebra 1B", "targets": [{"repo": "owner/target", "bits": 8}]}
        own_file().write_text(json.dumps([{**entry, "drafter": {"repo": "owner/drafter"}, "tags": ["coding"]}]))
        close_session()
        yield hub
        close_session()


@pytest.fixture
def hub(own_places: LocalHub) -> LocalHub:
    return own_places


def opened(app: Running) -> None:
    """Open the picker and wait until it knows what there is."""
    app.window.show_models()
    app.until(lambda: bool(app.window.picker.rows))


def look_at(app: Running, id: str) -> Candidate:
    picker = app.window.picker
    picker.select(id)
    assert picker.current is not None and picker.current.id == id
    return picker.current


def state(app: Running) -> str:
    picker = app.window.picker
    return picker.state(picker.current) if picker.current else ""


def card(app: Running):  # type: ignore[no-untyped-def]
    assert app.window.models is not None
    return app.window.models.card


def test_search_download_use_one_reply_delete(start: Start, hub: LocalHub, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """By keyboard alone, from the window's shortcut to the last button."""
    engine = ScriptedEngine()
    loads: list[tuple[Path, Path | None]] = []
    real = engine.load
    monkeypatch.setattr(engine, "load", lambda target, drafter: (loads.append((target, drafter)), real(target, drafter))[1])
    app = start(engine)
    app.window.menus.models.trigger()
    dialog = app.window.models
    assert dialog is not None
    app.until(lambda: bool(app.window.picker.rows))
    qtbot.keyClicks(dialog.search, "zeb")
    assert [one.name for one in app.window.picker.rows] == ["Zebra 1B"] and dialog.card.title.text() == "Zebra 1B"
    app.until(lambda: app.window.picker.may_download)
    shown = app.window.picker.current
    assert shown is not None and shown.shown.asked and not shown.confirmed
    assert dialog.card.main.text() == "Download 2 MB" and dialog.card.facts.shown["Licence"] == "apache-2.0"
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    app.until(lambda: state(app) == "ready")
    assert dialog.card.main.text() == "Use" and dialog.card.main.isEnabled()
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    app.until(lambda: state(app) == "loaded")
    target, drafter = loads[-1]
    assert "owner--target" in str(target) and drafter is not None and "owner--drafter" in str(drafter)
    app.ask("Hello?")
    assert app.reply.turn.reply.answer == "Fine."
    app.window.picker.select("demo")
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    app.until(lambda: state(app) == "loaded")
    look_at(app, "zebra-1b")
    assert state(app) == "ready" and dialog.card.delete.isVisible()
    dialog.card.delete.click()
    asked = dialog.findChild(QMessageBox)
    assert asked is not None and "Delete Zebra 1B" in asked.text()
    next(each for each in asked.buttons() if each.text() == "Delete").click()
    app.until(lambda: state(app) == "absent")
    assert not target.exists() and "MB are free again" in dialog.said.text()


def test_pause_resume_and_cancel(start: Start, hub: LocalHub) -> None:
    app = start()
    opened(app)
    look_at(app, "zebra-1b")
    app.until(lambda: app.window.picker.may_download)
    hub.rate = 300_000
    card(app).main.click()
    app.until(lambda: state(app) == "running" and app.window.picker.downloads.transfers[PAIR].done > 100_000)
    assert card(app).pause.isVisible() and not card(app).main.isVisible()
    assert "of 2 MB" in card(app).progress.text()
    card(app).pause.click()
    app.until(lambda: state(app) == "paused")
    assert card(app).main.text() == "Resume" and "paused" in card(app).progress.text()
    card(app).main.click()
    app.until(lambda: state(app) in ("waiting", "running"))
    card(app).cancel.click()
    app.until(lambda: state(app) == "absent")
    hub.rate = None
    app.until(lambda: not list((Path(constants.HF_HUB_CACHE) / "models--owner--target" / "blobs").glob("*")))


def test_a_download_that_an_earlier_run_left_goes_on(start: Start, hub: LocalHub) -> None:
    from mlx_engine.pairs.queue_file import QueueFile

    QueueFile().put(PAIR)
    app = start()
    app.until(lambda: any("complete and checked" in notice for notice in app.notices))
    opened(app)
    look_at(app, "zebra-1b")
    assert state(app) == "ready"


def test_a_gated_repo_says_where_to_accept_and_nothing_is_offered(start: Start, hub: LocalHub) -> None:
    hub.repos["owner/target"].gated = True
    app = start()
    opened(app)
    look_at(app, "zebra-1b")
    app.until(lambda: bool(app.window.picker.current and app.window.picker.current.shown.trouble))
    assert f"Open {hub.url}/owner/target" in card(app).trouble.text() and not card(app).main.isEnabled()
    hub.repos["owner/target"].gated = False
    card(app).again.click()
    app.until(lambda: app.window.picker.may_download)


def test_without_a_network_it_says_so_and_what_is_here_can_be_used(
    start: Start, hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    app = start()
    opened(app)
    look_at(app, "zebra-1b")
    app.until(lambda: bool(app.window.picker.current and app.window.picker.current.shown.trouble))
    assert "HF_HUB_OFFLINE" in card(app).trouble.text() and not card(app).main.isEnabled()
    look_at(app, "demo")
    assert state(app) == "loaded"
    assert len(app.engine.measured) <= 1  # though what was measured is not stored here


def test_a_pair_that_cannot_run_says_why(start: Start) -> None:
    app = start()
    opened(app)
    look_at(app, "glm-5.3-flash")
    assert state(app) == "unavailable" and "mlx-lm has no model" in card(app).trouble.text() and not card(app).main.isVisible()


def test_an_own_pair_that_does_not_go_together_gets_the_sentence(start: Start, hub: LocalHub) -> None:
    hub.repo("lab/other", {**drafter_files(9_000), "config.json": config(**{**DRAFTER, "hidden_size": 32})})
    app = start()
    opened(app)
    assert app.window.models is not None
    app.window.models.own.click()
    from app.views.own_pair import OwnPairDialog

    dialog = app.window.models.findChild(OwnPairDialog)
    assert dialog is not None
    dialog.target.setText("owner/target")
    dialog.drafter.setText("lab/other")
    dialog.go.click()
    app.until(lambda: "hidden size 32" in dialog.verdict.text())
    assert dialog.go.text() == "Check"
    dialog.drafter.setText("owner/drafter")
    dialog.go.click()
    app.until(lambda: dialog.go.text() == "Add")
    dialog.go.click()
    app.until(lambda: app.window.picker.selected.startswith("own:"))
    assert app.window.picker.may_download


def test_an_own_pair_of_two_folders_can_be_used_at_once(start: Start, tmp_path: Path) -> None:
    target, drafter = demo_pair()
    (tmp_path / "mine").mkdir()
    for role, folder in (("target", target), ("drafter", drafter)):
        (tmp_path / "mine" / role).symlink_to(folder)
    app = start()
    opened(app)
    answers: list[str] = []
    picker = app.window.picker
    picker.check(str(tmp_path / "mine/target"), str(tmp_path / "mine/drafter"), answers.append)
    app.until(lambda: answers == [""])
    picker.add(str(tmp_path / "mine/target"), str(tmp_path / "mine/drafter"))
    app.until(lambda: picker.selected.startswith("folder:"))
    card(app).main.click()
    app.until(lambda: state(app) == "loaded")


def test_a_failed_load_keeps_the_old_pair_where_only_files_were_looked_at(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ScriptedEngine()
    app = start(engine)
    opened(app)

    def refused(target: Path, drafter: Path | None) -> Iterator[object]:
        raise refuse("The drafter does not fit.")
        yield

    monkeypatch.setattr(engine, "load", refused)
    from app.engine_thread import LoadPair

    app.conductor.use(LoadPair(Path("/somewhere"), None))
    app.until(lambda: app.conductor.loading is None)
    assert app.conductor.pair is not None and app.notices[-1] == "The drafter does not fit. Demo pair is still loaded."


def test_a_load_that_fails_later_says_that_none_is_loaded_and_one_that_is_cancelled_too(start: Start) -> None:
    from app.engine_thread import LoadPair

    engine = ScriptedEngine()
    app = start(engine)
    engine.load_error = refuse("The target is damaged.")
    app.conductor.use(LoadPair(Path("/somewhere"), None))
    app.until(lambda: app.conductor.loading is None)
    assert app.conductor.pair is None and app.notices[-1] == "The target is damaged. No models are loaded now."
    engine.load_error = None
    app.conductor.load()
    app.until(lambda: app.conductor.pair is not None)
    engine.load_gate = threading.Event()
    app.conductor.use(LoadPair(Path("/somewhere"), None))
    app.until(lambda: app.conductor.loading is not None and app.conductor.loading.fraction > 0)
    app.conductor.cancel_load()
    engine.load_gate.set()
    app.until(lambda: app.conductor.loading is None)
    assert app.conductor.pair is None or "cancelled" not in app.notices[-1]


def test_it_has_room_for_large_text_which_stays_large_when_the_appearance_changes(start: Start) -> None:
    app = start()
    opened(app)
    theme, dialog = app.slipstream.theme, app.window.models
    assert dialog is not None
    try:
        theme.set_text_size(24)
        theme.set_appearance("dark")
        assert card(app).title.font().pixelSize() == round(24 * 1.4)
        for button in dialog.filters.buttons():
            assert button.width() >= button.sizeHint().width()
    finally:
        theme.set_text_size(15)


def test_everything_in_the_picker_has_a_name(start: Start) -> None:
    app = start()
    opened(app)
    assert app.window.models is not None
    nameless = [
        type(widget).__name__
        for widget in app.window.models.findChildren(QWidget)
        if isinstance(widget, QAbstractButton | QLineEdit | QComboBox)
        and widget.isVisible()
        and not widget.accessibleName()
        and widget.objectName() != "_q_qlineeditclearbutton"
        and type(widget).__name__ != "QToolButton"
    ]
    assert nameless == []


# Without a window


def candidate(id: str, size: int, verdict_needs: int, **more: object) -> Candidate:
    fit = Fit((Line("x", verdict_needs, ""),), 1024, 36 * GB, 50 * GB)
    choice = Choice("", Pair(f"o/{id}", "o/d"), size=size, fit=fit)
    return Candidate(id, id, (choice,), **more)  # type: ignore[arg-type]


def test_what_suits_this_machine_comes_first() -> None:
    listed = [
        candidate("huge", 60 * GB, 60 * GB),
        candidate("small", 4 * GB, 5 * GB),
        candidate("best", 20 * GB, 22 * GB),
        candidate("tight", 30 * GB, 33 * GB),
        candidate("broken", 20 * GB, 22 * GB, why_not="No model."),
    ]
    assert [one.id for one in order(listed)] == ["best", "small", "tight", "huge", "broken"]
    slow = {"best": True, "tight": True}
    paced = [one.with_choice(0, replace(one.shown, slow=slow.get(one.id, False))) for one in listed]
    assert [one.id for one in order(paced)] == ["small", "best", "tight", "huge", "broken"], "what is too slow comes later"
    assert [one.id for one in listed if passes(one, "fits", "")] == ["small", "best", "tight"]
    assert [one.id for one in listed if passes(one, "small", "O/SMALL")] == ["small"]


def test_progress_in_words() -> None:
    assert words.progress(Transfer("running", 620 * MB, 2 * GB, 41e6, 33.0)) == "620 MB of 2.0 GB · 41 MB/s · 33 s left"
    assert words.progress(Transfer("waiting")) == "Waits for its turn"
    assert words.duration(3725) == "1 h 2 min" and words.duration(0.2) == "1 s"


def test_nonsense_from_the_process_is_no_reason_to_fall_over(qtbot: QtBot) -> None:
    downloads = Downloads()
    downloads._lines.extend(
        [
            b"{",
            b"[]",
            b'{"event": "progress"}',
            b'{"event": "queue", "pairs": [{"target": "../x"}]}',
            b'{"event": "error", "words": "Full."}',
        ]
    )
    downloads._take()
    assert downloads.trouble == "Full." and downloads.transfers == {}


def test_no_mlx_comes_in_with_the_picker() -> None:
    import subprocess
    import sys

    code = "import sys, app.picking.picker; sys.exit('mlx' in sys.modules or 'mlx.core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ}).returncode == 0
