"""Several drafters of one target: Compare, Auto in the picker, and what a reply says about its drafter."""

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QShortcut
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.session.compare_run import CompareRun
from app.session.engine_adapter import Delivery
from app.session.services import last_pair
from app.storage import wording
from app.storage.comparison_record import ComparisonRecord, verdict_on
from app.storage.reply import Reply
from app.storage.store import Store
from app.views.compare.compare_side import CompareFigures
from app.views.compare.compare_view import CompareDialog
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import CompareResult, CompletedReply, ContestantEvent, ContestantResult, NextReply, TextDifference
from mlx_engine.contract.requests import Compare, Contestant, GenerationRequest, LoadPair, Message, with_drafters
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library.installed import auto_drafters
from mlx_engine.models.library.library import model_name
from mlx_engine.models.library.pair import CustomPair, add_custom_pair, demo_pair
from mlx_engine.models.library.speeds import record_speeds, speed_key
from tests.app.conftest import PATIENCE_MS, Running, Start
from tests.app.scripted_engine import PAIR, ScriptedEngine, answer, commit, refuse, stats
from tests.app.views.models.conftest import own_places  # noqa: F401
from tests.app.views.models.picker_page import card, look_at, opened, state
from tests.hub.repos import DRAFTER, TARGET, config, weights

Places = tuple[Path, Path, Path]


def in_cache(repo: str, fields: dict[str, object]) -> Path:
    folder = HubCache().snapshot(repo, "a" * 40)
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(config(**fields))
    (folder / "model.safetensors").write_bytes(weights(1, 2000))
    return folder


@pytest.fixture
def folders() -> Places:
    """A target in the cache, and two drafters that fit it."""
    return in_cache("lab/Small", TARGET), in_cache("lab/A-DFlash", DRAFTER), in_cache("lab/B-DFlash", DRAFTER)


def measured(target: Path, drafter: Path, rate: float) -> None:
    assert record_speeds(speed_key(target, drafter), [replace(stats(), tokens=100, decode_tok_s=rate)])


def loaded(app: Running, pair: LoadPair) -> None:
    app.activity.use(pair)
    app.until(lambda: not app.loader.running and app.loader.loaded_from is not None)


def dialog_with_drafters(app: Running) -> CompareDialog:
    app.window.dialogs.show_compare()
    dialog = app.dialog(CompareDialog)
    app.until(lambda: not dialog.options.all_drafters.isHidden())
    return dialog


def compared(app: Running) -> CompareDialog:
    dialog = dialog_with_drafters(app)
    dialog.options.all_drafters.click()
    dialog.prompt.setPlainText("Which one?")
    dialog.run_button.click()
    app.until(lambda: not app.activity.busy and not app.loader.running)
    return dialog


def cells(dialog: CompareDialog) -> list[list[str]]:
    return [[row.name.text(), *(cell.text() for cell in row.cells)] for row in dialog.figures.rows]


def test_all_drafters_give_one_table_with_the_fastest_marked(
    begin: Start, folders: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, first, second = folders
    app = begin()
    loaded(app, LoadPair(target, first))
    dialog = compared(app)
    assert dialog.sides[0].isVisible() and dialog.figures.isVisible()
    names = [folder.name for folder in (first, second)]
    assert {side.name.text(): side.shown[1] for side in dialog.sides} == {"Plain": "Fine.", f"lab/{names[1]}": "Fine."}
    assert cells(dialog) == [
        ["Plain", "40", "–", "–", "–"],
        ["Lookup", "70", "6.0", "–", "identical"],
        [names[0], "100", "6.0", "900 MB", "identical"],
        [names[1], "130", "6.0", "900 MB", "identical"],
    ]
    assert [row.chip.isHidden() for row in dialog.figures.rows] == [True, True, True, False]
    assert dialog.headline.text() == f"lab/{names[1]} is the fastest here: 3.3× the plain speed", "the kinds are the same"
    assert dialog.verdict.text() == "All texts are identical, token for token. Speed is tokens per second after the first token."
    assert app.engine.loaded[-1] == (target, first), "the pair in use is loaded again"
    assert dialog.use_button.text() == f"Use lab/{names[1]}" and dialog.use_button.isVisible()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "saved.json"), ""))
    dialog.save_button.click()
    app.until(lambda: (tmp_path / "saved.json").exists())
    saved = json.loads((tmp_path / "saved.json").read_text())
    assert saved["prompt"] == "Which one?" and [one["tok_s"] for one in saved["rows"]] == [40.0, 70.0, 100.0, 130.0]
    assert not dialog.image_button.isEnabled()
    dialog.use_button.click()
    app.until(lambda: not app.loader.running)
    assert app.engine.loaded[-1] == (target, second) and not dialog.use_button.isVisible()
    assert app.loader.loaded_from == LoadPair(target, second)


def test_the_two_columns_return_for_a_comparison_of_modes(begin: Start, folders: Places) -> None:
    target, first, _ = folders
    app = begin()
    loaded(app, LoadPair(target, first))
    dialog = compared(app)
    dialog.options.all_drafters.click()
    dialog.run_button.click()
    app.until(lambda: not app.activity.busy)
    assert len(dialog.figures.rows) == 2 and dialog.headline.text() == "DFlash is 3.9× as fast"


def test_the_fastest_drafter_is_only_offered_while_its_target_is_in_use(begin: Start, folders: Places) -> None:
    target, first, second = folders
    app = begin()
    pair = LoadPair(target, first)
    loaded(app, pair)
    dialog = compared(app)
    assert dialog.use_button.isVisible()
    loaded(app, LoadPair())
    app.until(lambda: dialog.use_button.isHidden())
    loaded(app, pair)
    app.until(dialog.use_button.isVisible)
    dialog.use_button.click()
    app.until(lambda: not app.loader.running)
    assert app.loader.loaded_from == replace(pair, drafter=second)
    assert dialog.use_button.isHidden()
    loaded(app, pair)
    app.loader.pair = replace(PAIR, remote="server:8080")
    app.loader.changed.emit()
    assert dialog.use_button.isHidden(), "a server is in use"


def test_another_drafter_of_the_demo_target_can_be_used(begin: Start, folders: Places) -> None:
    target, drafter = demo_pair()
    add_custom_pair(CustomPair(str(target), str(folders[1])))
    app = begin()
    dialog = compared(app)
    assert dialog.comparison.outcome.fastest.contestant.pair.drafter == drafter and dialog.use_button.isHidden(), "it is in use"
    dialog.comparison.outcome = CompareResult(dialog.comparison.outcome.results[:3])
    dialog.refresh()
    dialog.use_button.click()
    app.until(lambda: not app.loader.running)
    assert app.engine.loaded[-1] == (target, folders[1])


def test_each_reply_appears_in_the_row_of_its_drafter(begin: Start, folders: Places) -> None:
    """The loaded drafter comes first, wherever its row is."""
    app = begin()
    target, *drafters = folders
    here = LoadPair(target, drafters[1])
    contestants = plain, lookup, first, second = with_drafters(target, drafters)
    comparison = CompareRun(Compare((GenerationRequest(),), contestants), ("Hi",), PAIR, here)
    table = CompareFigures(app.theme, comparison.rows)
    assert [row.name.text() for row in table.rows[2:]] == [model_name(drafter) for drafter in drafters]
    for at, contestant in enumerate((plain, lookup, second, first)):
        parts = [ContestantEvent(contestant, commit(text)) for text in ("One", " two")]
        for event in (NextReply(contestant, at, 4, f"Kind {at}" if at > 1 else ""), *parts):
            comparison.accept(Delivery(event, float(at)))
        table.show_rows(comparison.rows)
    assert [row.name.text() for row in table.rows] == ["Plain", "Lookup", "Kind 3", "Kind 2"]


def test_drafters_are_not_searched_once_the_window_is_closed(
    begin: Start, folders: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[Path] = []
    monkeypatch.setattr("app.session.pair_session.installed_drafters", lambda target, *_: searched.append(target) or folders[1:])
    app = begin()
    for _ in range(3):
        app.window.dialogs.show_compare()
        app.until(lambda: bool(searched))
        dialog = app.dialog(CompareDialog)
        dialog.close()
        app.until(lambda dialog=dialog: not isValid(dialog))  # type: ignore[misc]
        searched.clear()
    app.window.dialogs.show_compare()
    app.until(lambda: len(searched) == 1)
    loaded(app, LoadPair(*folders[:2]))
    app.until(lambda: len(searched) == 2)


def test_the_drafters_follow_the_model_folder(begin: Start, folders: Places) -> None:
    target, first, second = folders
    app = begin()
    loaded(app, LoadPair(target, first))
    dialog_with_drafters(app)
    root, new = HubCache().root, HubCache().root.with_name("moved")
    app.loader.moved(root, new)
    assert app.loader.drafters == tuple(new / one.relative_to(root) for one in (first, second))


def test_one_drafter_offers_no_choice(begin: Start) -> None:
    app = begin()
    app.window.dialogs.show_compare()
    dialog = app.dialog(CompareDialog)
    app.until(lambda: len(app.loader.drafters) == 1)
    assert dialog.options.all_drafters.isHidden() and dialog.use_button.isHidden()


def test_a_failed_comparison_loads_the_pair_in_use_again(begin: Start, folders: Places) -> None:
    target, first, _ = folders
    app = begin(ScriptedEngine([[refuse("The memory ran out.")]]))
    loaded(app, LoadPair(target, first))
    dialog = compared(app)
    assert dialog.error.label.text() == "The memory ran out." and dialog.headline.text() == "Comparison failed"
    assert app.engine.loaded[-3:] == [(target, first)] * 3, "by the user, for the comparison, and after it"
    dialog.close()
    app.ask("Still here?")


def stopped_at_the_second_drafter(app: Running, folders: Places) -> CompareDialog:
    """Begin a comparison that waits in the reply with the second drafter."""
    target, first, second = folders
    app.engine.replies = [answer("Hi."), answer("Hi."), answer("Hi."), [commit("Once"), threading.Event()]]
    loaded(app, LoadPair(target, first))
    dialog = dialog_with_drafters(app)
    dialog.options.all_drafters.click()
    dialog.prompt.setPlainText("Which one?")
    dialog.run_button.click()
    app.until(lambda: app.engine.loaded[-1] == (target, second) and app.engine.replies == [])
    return dialog


def test_closing_the_dialog_stops_and_loads_the_pair_in_use_again(begin: Start, folders: Places) -> None:
    app = begin()
    dialog = stopped_at_the_second_drafter(app, folders)
    loading: list[bool] = []
    app.services.compare_runner.ended.connect(lambda: loading.append(app.loader.running))
    dialog.close()
    app.until(lambda: not app.activity.busy and not app.loader.running)
    assert app.engine.loaded[-1] == folders[:2]
    assert loading == [True], "a message that waits for the end isn't answered with the other drafter"
    app.ask("Still here?")


def test_the_window_can_close_while_another_drafter_is_loaded(start: Start, folders: Places, qtbot: QtBot) -> None:
    app = start()
    stopped_at_the_second_drafter(app, folders)
    with qtbot.waitSignal(app.slipstream.ended, timeout=PATIENCE_MS):
        app.quit()
    assert app.engine.unloaded and app.engine.loaded[-1][1] == folders[2]


def test_auto_is_chosen_first_and_names_the_fastest_drafter(begin: Start, folders: Places) -> None:
    target, _, second = folders
    measured(target, second, 80.0)
    app = begin()
    opened(app)
    one = look_at(app, f"disk:{target}")
    box = card(app).drafters
    assert [box.itemText(index) for index in range(box.count())] == [
        "Auto: DFlash by lab · B-DFlash",
        "DFlash by lab · A-DFlash",
        "DFlash by lab · B-DFlash",
    ]
    assert (box.currentIndex(), one.auto, one.shown.folders) == (0, True, (target, second))
    app.services.picker.use()
    app.until(lambda: not app.loader.running and app.loader.loaded_from is not None)
    assert app.loader.loaded_from == LoadPair(target, second, auto=True) and state(app) == "loaded"


def test_the_pair_that_auto_loaded_cannot_be_deleted(begin: Start, folders: Places) -> None:
    """Whether the row shows Auto or the drafter itself, and also once the other drafter is gone."""
    target, first, second = folders
    app = begin()
    loaded(app, LoadPair(target, second, auto=True))
    opened(app)
    look_at(app, f"disk:{target}")
    picker, box = app.services.picker, card(app).drafters
    box.activated.emit(2)
    assert picker.rows.current.shown.folders == (target, second) and picker.deletable == ()
    box.activated.emit(1)
    assert picker.rows.current.shown.folders == (target, first) and picker.deletable == ("lab/A-DFlash",)
    shutil.rmtree(first)
    picker.refresh()
    app.until(lambda: len(picker.rows.current.variants) == 1)
    assert picker.rows.current.shown.folders == (target, second)
    assert state(app) == "loaded" and picker.deletable == ()


@pytest.mark.parametrize("own", [True, False], ids=["folders", "repos"])
def test_auto_shows_what_the_engine_loads(begin: Start, folders: Places, tmp_path: Path, own: bool) -> None:
    """The user's own pairs come first."""
    target, first, second = folders
    if own:
        second = tmp_path / "own"
        shutil.copytree(first, second)
    add_custom_pair(CustomPair(str(target), str(second)) if own else CustomPair("lab/Small", "lab/B-DFlash"))
    app = begin()
    opened(app)
    assert look_at(app, f"disk:{target}").shown.folders == (target, second) == (target, auto_drafters(target)[0])
    assert card(app).drafters.count() == 3 + own
    measured(target, first, 80.0)
    app.services.picker.refresh()
    app.until(lambda: app.services.picker.rows.current.shown.folders == (target, first))
    assert auto_drafters(target)[0] == first


def test_a_chosen_drafter_stays_until_auto_is_chosen_again(begin: Start, folders: Places) -> None:
    target, first, second = folders
    measured(target, second, 80.0)
    app = begin()
    opened(app)
    look_at(app, f"disk:{target}")
    box = card(app).drafters
    box.activated.emit(1)
    assert box.currentIndex() == 1 and state(app) == "ready"
    app.services.picker.use()
    app.until(lambda: state(app) == "loaded")
    assert app.loader.loaded_from == LoadPair(target, first)
    opened(app)
    look_at(app, f"disk:{target}")
    box = card(app).drafters
    box.activated.emit(0)
    assert (box.currentIndex(), state(app)) == (0, "ready")
    loaded(app, LoadPair(target, first))
    app.until(lambda: box.currentIndex() == 1 and state(app) == "loaded")


@pytest.mark.parametrize("why_plain", [None, EngineText("", "no drafter is loaded")])
def test_a_drafter_that_auto_skips_is_named_once(begin: Start, why_plain: EngineText | None) -> None:
    why = EngineText("", "The drafter X isn't used: It is damaged.")
    app = begin(ScriptedEngine(pair=replace(PAIR, why_plain=why_plain, why_not_fastest=why)))
    assert app.notices == ["The drafter X isn't used: It is damaged."]


def test_auto_is_kept_for_the_next_start(begin: Start, folders: Places, tmp_path: Path) -> None:
    target, first, _ = folders
    app = begin()
    loaded(app, LoadPair(target, first, auto=True))
    app.services.save_state()
    settings: QSettings = app.services.settings
    assert last_pair(settings) == LoadPair(target, first, auto=True)
    loaded(app, LoadPair())
    app.services.save_state()
    assert last_pair(settings) == LoadPair()


def test_a_reply_says_which_drafter_it_used(begin: Start) -> None:
    pair = replace(PAIR, drafter_kind="DSpark")
    drafted = replace(stats(), drafter="lab/D", drafter_kind="DSpark")
    app = begin(ScriptedEngine(pair=pair))
    app.ask("Hi")
    assert app.session.chat.turns[-1].reply.drafter_kind == "DSpark"
    assert wording.chip(Reply("dflash", 9, drafter_kind="MTP")) == "MTP"
    assert wording.chip(Reply("dflash", 9, reason="eos", stats=drafted)).startswith("DSpark · 6.0 tokens/round")
    assert wording.chip(Reply("plain", 9, reason="eos", stats=stats("plain"))) == "Plain"
    assert "Drafter: DSpark, lab/D, tuned" in wording.details(replace(drafted, tuned=True))
    assert "Drafter: DSpark, lab/D" in wording.details(drafted).splitlines() and "Drafter" not in wording.details(stats())


ONE, TWO = (CompletedReply(text, "", (1, 2), "eos", stats()) for text in ("One two", "One 2"))
PLAIN = ContestantResult(Contestant("plain"), replies=(ONE,), tok_s=50.0, identical=1)
LOOKUP = ContestantResult(Contestant("lookup"), replies=(ONE,), tok_s=30.0, identical=1)
MTP = Contestant("drafter", LoadPair(Path("t"), Path("m")))
SLOWER = ContestantResult(MTP, "MTP", "lab/M", 1, (TWO,), tok_s=40.0, difference=TextDifference(3, 0.5))
TIE = TextDifference(3, 0.5, True)


def recorded(*results: ContestantResult, **outcome: Any) -> ComparisonRecord:
    count = len(results[0].replies) + len(outcome.get("left_out", ()))
    requests = [GenerationRequest((Message("user", f"Prompt {at}"),)) for at in range(count)]
    prompts = [f"Prompt {at}" for at in range(count)]
    return ComparisonRecord.of(CompareResult(results, **outcome), Compare(tuple(requests), ()), PAIR, prompts)


def test_the_outcome_names_what_is_unusual(begin: Start) -> None:
    broken = ContestantResult(MTP, drafter="lab/X", problem=EngineText("", "It is damaged."))
    headline, text = verdict_on(recorded(PLAIN, SLOWER, broken))
    assert headline == "Plain decoding is the fastest here"
    speed = "Speed is tokens per second after the first token."
    assert text == f"Some texts differ by more than rounding error. {speed} lab/X: It is damaged."
    assert verdict_on(recorded(replace(PLAIN, tok_s=None), LOOKUP, SLOWER))[0] == "The reply is too short to measure speed"
    headline, text = verdict_on(recorded(PLAIN, LOOKUP, replace(SLOWER, tok_s=75.0, difference=TIE)))
    assert headline == "MTP is the fastest here: 1.5× the plain speed" and "tied within rounding error" in text
    both = recorded(PLAIN, replace(SLOWER, tok_s=75.0), replace(SLOWER, drafter="lab/N"))
    assert verdict_on(both)[0] == "lab/M is the fastest here: 1.5× the plain speed"
    lookup = ContestantResult(LOOKUP.contestant, problem=EngineText("", "No memory."))
    assert verdict_on(recorded(PLAIN, lookup, broken))[1] == f"{speed} Lookup: No memory. lab/X: It is damaged."
    too_short = "The reply is too short to measure speed"
    assert verdict_on(recorded(replace(PLAIN, tok_s=None), lookup, broken))[0] == too_short


def test_a_record_shows_the_replies_that_differ_most() -> None:
    same = replace(SLOWER, replies=PLAIN.replies, tok_s=90.0, identical=1, difference=None)
    tie = replace(SLOWER, difference=TIE, tok_s=95.0)
    for results, shown in (((PLAIN, same, tie, SLOWER), 3), ((PLAIN, same, tie), 2), ((PLAIN, replace(same, tok_s=40.0), same), 2)):
        record = recorded(*results)
        assert (record.shown, record.replies[0].text) == (shown, "One two")
        assert record.replies[1].text == results[shown].replies[0].text
    first, second = (CompletedReply(text, "", (1,), "eos", stats()) for text in ("A", "B"))
    two = replace(PLAIN, replies=(first, second), identical=2)
    record = recorded(two, replace(SLOWER, replies=(first, second), identical=1), left_out=((0, EngineText("", "Too long.")),))
    assert (record.prompt, record.replies[0].text, record.prompts) == ("Prompt 1", "A", 2)
    assert record.rows[1].text == "1 of 2 identical"
    assert verdict_on(record)[1].endswith("Prompts left out: 1. Too long.")


def test_comparisons_of_drafters_are_listed_shown_again_and_deleted(begin: Start, folders: Places, tmp_path: Path) -> None:
    target, first, second = folders
    app = begin()
    loaded(app, LoadPair(target, first))
    dialog = compared(app)
    shown = cells(dialog), dialog.headline.text(), dialog.verdict.text()
    dialog.history_button.click()
    history = dialog.history
    assert history.list.item(0).data(Qt.ItemDataRole.AccessibleTextRole).startswith(f"3.3× · identical · lab/{second.name}, ")
    dialog.options.all_drafters.click()
    dialog.prompt.setPlainText("And now?")
    dialog.run_button.click()
    app.until(lambda: not app.activity.busy)
    assert len(dialog.figures.rows) == 2 and history.list.count() == 2
    history.list.setCurrentRow(1)
    assert (cells(dialog), dialog.headline.text(), dialog.verdict.text()) == shown
    assert dialog.prompt.toPlainText() == "Which one?" and not dialog.image_button.isEnabled() and dialog.use_button.isHidden()
    (stored,) = [one for one in app.services.comparisons.records if one.of_drafters]
    store = Store(None)
    store.save_comparison(stored)
    assert store.comparisons() == (stored,)
    history.list.findChild(QShortcut).activated.emit()
    assert history.list.count() == 1


@pytest.mark.parametrize("damage", [{"version": 3}, {"rows": []}, {"format": "else"}, {"rows": None}])
def test_an_unreadable_record_is_left_out(damage: dict[str, Any]) -> None:
    record = recorded(PLAIN, SLOWER)
    assert ComparisonRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
    assert ComparisonRecord.from_json(record.to_json() | damage) is None


def test_the_last_prompts_of_a_chat_are_compared_at_once(begin: Start, folders: Places) -> None:
    target, first, second = folders
    app = begin()
    loaded(app, LoadPair(target, first))
    app.ask("One?")
    dialog = dialog_with_drafters(app)
    dialog.options.all_drafters.click()
    assert dialog.options.several.isHidden(), "one prompt"
    dialog.options.all_drafters.click()
    app.ask("Two?")
    dialog.options.all_drafters.click()
    assert dialog.options.several.isVisible() and dialog.options.several.text() == "Last 2 prompts of this chat"
    dialog.options.several.click()
    assert not dialog.prompt.isEnabled() and dialog.run_button.isEnabled() and "last 2 prompts" in dialog.options.hint.text()
    before = len(app.engine.requests)
    dialog.run_button.click()
    app.until(lambda: not app.activity.busy and not app.loader.running)
    asked = [[one.content for one in request.messages] for request in app.engine.requests[before:]]
    one, two = ["One?"], ["One?", "Fine.", "Two?"]
    assert asked == [*[one] * 3, *[two] * 3, one, two]
    assert app.engine.loaded[-3:] == [(target, first), (target, second), (target, first)], "each drafter is loaded once"
    assert [row[-1] for row in cells(dialog)] == ["–", "2 of 2 identical", "2 of 2 identical", "2 of 2 identical"]
    assert dialog.record is not None and (dialog.record.prompts, dialog.record.prompt) == (2, "Two?")
    app.until(dialog.options.several.isVisible)
    app.session.new_chat()
    assert dialog.options.several.isHidden() and dialog.prompt.isEnabled() and "last 2 prompts" not in dialog.options.hint.text()
    dialog.prompt.clear()
    assert not dialog.run_button.isEnabled(), "nothing to compare"


def test_the_prompt_is_that_of_the_replies_below(begin: Start, folders: Places) -> None:
    """The last prompt stayed above replies to another one."""
    target, *drafters = folders
    app = begin()
    loaded(app, LoadPair(target, drafters[0]))
    dialog = dialog_with_drafters(app)
    requests = tuple(GenerationRequest((Message("user", text),)) for text in ("One?", "Two?"))
    here = LoadPair(target, drafters[0])
    comparison = CompareRun(Compare(requests, with_drafters(target, drafters)), ("One?", "Two?"), PAIR, here)
    dialog.follow(comparison)
    assert dialog.prompt.toPlainText() == "Two?"
    results = tuple(replace(one, replies=2 * one.replies) for one in (PLAIN, LOOKUP, SLOWER, SLOWER))
    for event in (CompareResult(results), None):
        comparison.accept(Delivery(event, 0.0))
    comparison.changed.emit()
    assert dialog.record is not None and dialog.prompt.toPlainText() == dialog.record.prompt == "One?"
