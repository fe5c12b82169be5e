"""The menu of recent models below the model's name."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.session.model_list import Candidate, Variant
from app.session.recent_models import MOST_RECENT, RecentModels
from app.views.models.fit_dot import fit_color
from app.views.models.model_menu import ModelMenu
from app.views.models.picker_dialog import PickerDialog
from mlx_engine.contract.requests import Endpoint, LoadPair
from mlx_engine.models.fit import Fit, FitLine, FitVerdict
from mlx_engine.remote.saved_endpoints import SavedEndpoint
from tests.app.conftest import Begin, Running, Session, Start
from tests.app.scripted_engine import ScriptedEngine

FITS: dict[FitVerdict, Fit] = {
    "comfortable": Fit((FitLine("Target weights", 1, ""),), 1, 100),
    "tight": Fit((FitLine("Target weights", 95, ""),), 1, 100),
    "no": Fit((FitLine("Target weights", 999, ""),), 1, 100, 200),
}


def load(app: Session, *names: str) -> None:
    """Load pairs, one after the other, which are named after their targets."""
    for name in names:
        app.engine.pair = replace(app.engine.pair, name=name)
        app.activity.use(LoadPair(Path(name), Path(f"{name}-drafter")))
        app.until(lambda: not app.loader.running)


def names(recent: RecentModels) -> list[str]:
    return [one.name for one in recent.listed]


def put(app: Session, *rows: tuple[str, FitVerdict, bool]) -> None:
    """Let the survey find pairs with their fits, and whether they are slow."""
    found = [
        Candidate(name, name, (Variant(folders=(Path(name), Path(f"{name}-drafter")), fit=FITS[verdict], slow=slow),))
        for name, verdict, slow in rows
    ]
    app.services.picker.rows.put(found, None, lambda one: False)


@pytest.fixture
def surveyless(monkeypatch: pytest.MonkeyPatch) -> None:
    """No survey of this machine's own models."""
    monkeypatch.setattr(RecentModels, "survey", lambda self: None)


def test_the_last_models_come_first_and_pinned_ones_stay(begin: Begin) -> None:
    app = begin()
    recent = app.services.recent_models
    load(app, "A", "B", "A")
    assert names(recent) == ["A", "B", "Demo pair"]
    recent.pin(recent.listed[2], True)
    assert names(recent) == ["Demo pair", "A", "B"]
    load(app, *(f"C{number}" for number in range(MOST_RECENT)))
    assert names(recent) == ["Demo pair", *(f"C{number}" for number in reversed(range(MOST_RECENT)))]
    recent.pin(recent.listed[0], False)
    assert "Demo pair" not in names(recent)


def test_recent_models_are_kept_across_restarts(begin: Begin, tmp_path: Path) -> None:
    app = begin(data=tmp_path)
    load(app, "A")
    app.services.recent_models.pin(app.services.recent_models.listed[1], True)
    app.quit()
    again = begin(loaded=False, data=tmp_path)
    assert [(one.name, one.pinned) for one in again.services.recent_models.listed] == [("Demo pair", True), ("A", False)]


@pytest.mark.parametrize("stored", ["", "{", "[1, {}]", json.dumps([{"name": "A", "target": 5, "pinned": "x"}])])
def test_a_damaged_setting_is_ignored(begin: Begin, tmp_path: Path, stored: str) -> None:
    app = begin(data=tmp_path)
    app.services.settings.setValue("recent_models", stored)
    app.services.settings.sync()
    again = RecentModels(app.services.settings, app.loader, app.activity, app.services.picker)
    assert len(again.listed) <= 1


def test_a_moved_model_folder_is_followed_and_deleted_pairs_are_left_out(begin: Begin) -> None:
    app = begin()
    recent = app.services.recent_models
    load(app, "old/A", "B")
    app.services.picker.storage.moved.emit(Path("old"), Path("new"))
    assert [one.target for one in recent.listed] == ["B", "new/A", ""]
    put(app, ("B", "comfortable", False))
    assert names(recent) == ["B"]


def test_a_click_switches_to_a_pair_or_a_connection(start: Start, surveyless: None, qtbot: QtBot) -> None:
    app = start()
    load(app, "A")
    menu = open_menu(app)
    assert [row.name.text() for row in menu.rows] == ["A", "Demo pair"]
    assert [row.state.text() for row in menu.rows] == ["In use", ""]
    app.engine.pair = replace(app.engine.pair, name="Demo pair")
    menu.rows[1].name.click()
    app.until(lambda: not app.loader.running and app.loader.has_demo)
    menu = open_menu(app)
    qtbot.keyClick(menu, Qt.Key.Key_Down)
    assert menu.focusWidget() is menu.rows[1].name
    qtbot.keyClick(menu, Qt.Key.Key_Down)
    assert menu.focusWidget() is menu.all
    qtbot.keyClick(menu, Qt.Key.Key_Up)
    menu.rows[1].pin.click()
    assert [row.name.text() for row in menu.rows] == ["A", "Demo pair"] and menu.rows[0].pin.is_active, "the pinned one is first"
    menu.all.click()
    assert app.window.dialogs.find(PickerDialog) is not None


def test_a_model_that_cannot_be_switched_to_now_says_why(begin: Begin) -> None:
    app = begin(ScriptedEngine([[threading.Event()]]))
    load(app, "A")
    app.send("One")
    app.services.recent_models.use(app.services.recent_models.listed[1])
    assert app.notices == ["A reply is being generated in “One”. Wait for it to finish, or stop it there."]


def test_a_connection_is_listed_until_it_is_removed(begin: Begin) -> None:
    app = begin()
    saved = SavedEndpoint("Office", Endpoint("http://127.0.0.1:1"))
    app.services.picker.endpoints.put(saved)
    app.loader.connected_to = saved
    app.loader.loaded.emit()
    recent = app.services.recent_models
    assert [(one.connection, recent.in_use(one)) for one in recent.listed] == [("Office", True), ("", False)]
    app.loader.connected_to = None
    app.services.picker.endpoints.remove("Office")
    assert [one.connection for one in recent.listed] == [""]


def test_dots_show_what_fits(start: Start, surveyless: None) -> None:
    app = start()
    load(app, "A", "B", "C")
    put(app, ("A", "comfortable", False), ("B", "tight", False), ("C", "no", False))
    menu = open_menu(app)
    assert [(row.name.text(), row.dot.color) for row in menu.rows] == [("C", "danger"), ("B", "nearly"), ("A", "fits")]
    assert menu.rows[0].name.accessibleName() == "C, Too large, In use"
    menu.close()


def test_only_what_fits_and_is_fast_is_green() -> None:
    colors = {(verdict, slow): fit_color(verdict, slow) for verdict in ("comfortable", "tight", "no") for slow in (True, False)}
    assert [key for key, color in colors.items() if color == "fits"] == [("comfortable", False)]
    assert fit_color("unknown", False) == ""


def open_menu(app: Running) -> ModelMenu:
    app.window.top_bar.name.click()
    menu = app.window.findChildren(ModelMenu)[-1]
    assert isinstance(menu, ModelMenu) and menu.isVisible()
    return menu
