"""The menu of recent models below the model's name."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.session.model_list import Candidate, Variant
from app.session.recent_models import MOST_RECENT, RecentModels
from app.storage.recent_model import RecentModel
from app.views.models.fit_dot import fit_color
from app.views.models.model_menu import ModelMenu, row_names
from app.views.models.picker_dialog import PickerDialog
from mlx_engine.contract.requests import Endpoint, LoadPair
from mlx_engine.models.fit import Fit, FitLine, FitVerdict
from mlx_engine.models.library.pair import Pair
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


def variant(bits: int, maker: str, auto_order: int | None = None) -> Variant:
    """A pair on disk of a catalog entry with several targets and drafters."""
    pair = Pair("owner/target", f"{maker}/drafter")
    return Variant(f"{bits}-bit", pair, folders=folders_of(bits, maker), auto_order=auto_order)


def put_entry(app: Session, *variants: Variant) -> None:
    app.services.picker.rows.put([Candidate("entry", "Entry", variants)], None, lambda one: False)
    app.services.picker.changed.emit()


def load_entry(app: Session, *pairs: tuple[int, str, bool]) -> None:
    """Load pairs of one catalog entry, with their bits, the drafter's maker, and whether Auto chose it."""
    app.engine.pair = replace(app.engine.pair, name="Entry")
    for bits, maker, auto in pairs:
        app.activity.use(LoadPair(*folders_of(bits, maker), auto=auto))
        app.until(lambda: not app.loader.running)


def folders_of(bits: int, maker: str) -> tuple[Path, Path]:
    return Path(f"{bits}-bit-target"), Path(f"{maker}-drafter")


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
    assert shown(menu) == ["A", "Demo pair"]
    assert [row.state.text() for row in menu.rows] == ["In use", ""]
    app.engine.pair = replace(app.engine.pair, name="Demo pair")
    qtbot.mouseClick(menu.rows[1].dot, Qt.MouseButton.LeftButton)  # all of a row but the pin is clicked
    app.until(lambda: not app.loader.running and app.loader.has_demo)
    menu = open_menu(app)
    menu.rows[1].pin.click()
    assert shown(menu) == ["A", "Demo pair"] and menu.rows[0].pin.is_active, "the pinned one is first"
    menu.all.click()
    assert app.window.dialogs.find(PickerDialog) is not None


def test_a_click_loads_the_model_in_use_again_on_the_macs_chosen_since(
    start: Start, surveyless: None, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It did nothing, although the pair ran without the Mac that had been switched on."""
    app = start()
    load(app, "A")
    loads: list[tuple[str, ...]] = []

    def load_on(pair: LoadPair) -> None:
        loads.append(app.loader.workers())
        app.loader.loaded_from = replace(pair, workers=loads[-1])

    monkeypatch.setattr(app.loader, "load", load_on)
    for workers, offer in ((("mac:1",), "Load on 2 Macs"), ((), "Load on this Mac only")):
        app.loader.workers = lambda workers=workers: workers  # type: ignore[misc]
        menu = open_menu(app)
        assert [row.state.text() for row in menu.rows] == [offer, ""] and offer in menu.rows[0].name.accessibleName()
        qtbot.mouseClick(menu.rows[0].state, Qt.MouseButton.LeftButton)
        assert loads[-1] == workers and not menu.isVisible()
        menu = open_menu(app)
        assert menu.rows[0].state.text() == "In use"
        menu.rows[0].name.click()
    assert len(loads) == 2, "the pair runs on these Macs already"


def test_arrow_keys_move_between_models_and_return_chooses(start: Start, surveyless: None, qtbot: QtBot) -> None:
    """Down went to the pin of the same row, and Return did nothing."""
    app = start()
    load(app, "A")
    menu = open_menu(app)
    first, second = menu.rows

    def press(key: Qt.Key) -> QWidget:
        qtbot.keyClick(menu.focusWidget(), key)
        return menu.focusWidget()

    assert menu.focusWidget() is first.name
    assert press(Qt.Key.Key_Down) is second.name
    assert press(Qt.Key.Key_Down) is menu.all
    assert press(Qt.Key.Key_Down) is first.name
    assert press(Qt.Key.Key_Up) is menu.all
    assert press(Qt.Key.Key_Up) is second.name
    assert press(Qt.Key.Key_Right) is second.pin
    assert press(Qt.Key.Key_Left) is second.name
    assert press(Qt.Key.Key_Right) is second.pin
    assert press(Qt.Key.Key_Up) is first.pin
    press(Qt.Key.Key_Return)
    assert menu.isVisible() and first.pin.is_active
    assert press(Qt.Key.Key_Left) is first.name and press(Qt.Key.Key_Down) is second.name
    app.engine.pair = replace(app.engine.pair, name="Demo pair")
    qtbot.keyClick(second.name, Qt.Key.Key_Return)
    app.until(lambda: not app.loader.running and app.loader.has_demo)


def test_the_name_is_not_highlighted_after_the_menu_closes(start: Start, surveyless: None) -> None:
    app = start()
    name = app.window.top_bar.name
    QApplication.sendEvent(name, QEvent(QEvent.Type.Enter))
    assert name.underMouse()
    open_menu(app).close()
    assert not name.underMouse(), "the mouse is elsewhere"


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


def test_an_eye_marks_the_models_that_see_images(start: Start, surveyless: None) -> None:
    app = start()
    load(app, "A", "B")
    folders = {name: (Path(name), Path(f"{name}-drafter")) for name in "AB"}
    rows = [Candidate(name, name, (Variant(folders=folders[name], sees=name == "A"),)) for name in "AB"]
    app.services.picker.rows.put(rows, None, lambda one: False)
    menu = open_menu(app)
    assert [(row.name.text(), row.eye.isVisible()) for row in menu.rows] == [("B", False), ("A", True)]
    assert menu.rows[1].name.accessibleName() == "A, Sees images" and "Sees images" in menu.rows[1].name.toolTip()
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


def test_pairs_of_one_name_are_told_apart(start: Start, surveyless: None) -> None:
    """Only by what differs, in the words of the Models window once they are known."""
    app = start()
    load_entry(app, (4, "lab", False), (8, "lab", False))
    menu = open_menu(app)
    assert shown(menu) == ["Entry · 8-bit-target", "Entry · 4-bit-target", "Demo pair"]
    put_entry(app, variant(4, "lab", 0), variant(4, "own", 1), variant(8, "lab"))
    assert shown(menu) == ["Entry · 8-bit", "Entry · 4-bit"]
    assert menu.rows[0].name.accessibleName() == "Entry · 8-bit, In use"
    assert menu.rows[0].pin.accessibleName() == "Pin Entry · 8-bit"
    menu.close()
    load_entry(app, (4, "lab", True), (4, "own", False))
    menu = open_menu(app)
    assert shown(menu) == [
        "Entry · 4-bit · Drafter by own",
        "Entry · 4-bit · Auto: Drafter by lab",
        "Entry · 8-bit · Drafter by lab",
        "Entry · 4-bit · Drafter by lab",
    ]
    menu.close()


def test_the_menu_is_wide_enough_for_its_names(start: Start, surveyless: None) -> None:
    app = start()
    load_entry(app, (4, "some-laboratory", True), (4, "some-laboratory", False))
    put_entry(app, variant(4, "some-laboratory", 0), variant(4, "own", 1))
    menu = open_menu(app)
    assert all(row.name.width() >= row.name.sizeHint().width() for row in menu.rows)
    narrow = menu.width()
    put_entry(app, variant(4, "some-laboratory-with-a-longer-name"), variant(4, "some-laboratory", 0))
    load_entry(app, (4, "some-laboratory-with-a-longer-name", False))
    assert menu.width() > narrow
    assert menu.geometry().right() <= app.window.geometry().right()
    menu.close()


name, folder = st.sampled_from("AB"), st.sampled_from(["/a/target", "/b/target", "/b/other"])
models = (
    st.builds(RecentModel, name, folder, st.just("") | folder, st.booleans())
    | st.builds(RecentModel, name, connection=st.sampled_from(["Office", "Lab"]))
    | st.builds(RecentModel, name)
)
surveyed = st.none() | st.builds(
    lambda label, repo: Candidate(
        "", "", (Variant(label, Pair("owner/target", repo), folders=(Path("a"), Path(repo) if repo else None)),)
    ),
    st.sampled_from(["", "4-bit", "8-bit"]),
    st.sampled_from([None, "lab/one", "lab/other", "own/one"]),
)


@given(st.lists(models, max_size=6, unique_by=lambda one: one.place), st.lists(surveyed, min_size=6, max_size=6))
def test_no_two_rows_are_alike(listed: list[RecentModel], found: list[Candidate | None]) -> None:
    rows = {one.place: None if one.connection else row for one, row in zip(listed, found, strict=False)}
    names = row_names(listed, lambda one: rows[one.place])
    assert len(set(names)) == len(listed)
    assert all(name.startswith(one.name) for name, one in zip(names, listed, strict=True))
    alone = [one.name for one in listed if [each.name for each in listed].count(one.name) == 1]
    assert set(alone) <= set(names), "a name of its own needs no more"


def test_a_choice_by_auto_stays_listed_when_its_last_drafter_is_deleted(begin: Begin) -> None:
    """The row vanished although Auto had other drafters to choose from."""
    app = begin()
    recent = app.services.recent_models
    load_entry(app, (4, "lab", False), (4, "lab", True))
    load(app, "B")
    left = variant(4, "own", 1), variant(4, "more", 0)
    app.services.picker.rows.put(
        [Candidate("entry", "Entry", left), Candidate("own", "Mine", (variant(4, "other"),))], None, lambda one: False
    )
    assert [(one.name, one.auto) for one in recent.listed] == [("B", False), ("Entry", True)]
    found = recent.surveyed(recent.listed[1])
    assert found is not None and found.shown is left[1], "the one that Auto tries first"


def test_auto_is_another_choice_than_no_drafter() -> None:
    automatic, plain = RecentModel("A", "a", auto=True), RecentModel("A", "a")
    assert automatic.place != plain.place
    assert automatic.place == replace(automatic, drafter="b").place


def test_no_row_can_be_clicked_while_a_model_loads_and_the_menu_says_why(start: Start, surveyless: None, qtbot: QtBot) -> None:
    """A click closed the menu and did nothing else."""
    app = start()
    load(app, "A")
    menu = open_menu(app)
    assert not menu.why_not.isVisible() and menu.focusWidget() is menu.rows[0].name
    app.engine.load_gate = threading.Event()
    app.activity.use(LoadPair(Path("B")))
    assert not any(row.name.isEnabled() for row in menu.rows) and menu.all.isEnabled()
    assert menu.why_not.isVisible() and menu.why_not.text() == "The models are still loading. Try again in a moment."
    assert {row.name.accessibleDescription() for row in menu.rows} == {menu.why_not.text()}
    assert menu.why_not.text() in menu.rows[0].name.toolTip()
    qtbot.keyClick(menu, Qt.Key.Key_Down)
    assert menu.focusWidget() is menu.all
    menu.close()
    app.until(lambda: not app.window.findChildren(ModelMenu))
    menu = open_menu(app)
    assert menu.focusWidget() is menu.all
    app.engine.load_gate.set()
    app.until(lambda: not app.loader.running)
    assert all(row.name.isEnabled() for row in menu.rows) and not menu.why_not.isVisible()
    menu.close()


def test_no_row_can_be_clicked_during_a_reply(start: Start, surveyless: None) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([[gate]]))
    load(app, "A")
    menu = open_menu(app)
    app.send("One")
    assert not menu.rows[1].name.isEnabled()
    assert menu.why_not.text() == "A reply is being generated in “One”. Wait for it to finish, or stop it there."
    gate.set()
    app.idle()
    assert menu.rows[1].name.isEnabled()
    menu.close()


def shown(menu: ModelMenu) -> list[str]:
    return [row.name.text() for row in menu.rows]
