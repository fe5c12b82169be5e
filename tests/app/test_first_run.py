"""The first launch and its recommended pair."""

import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRect, QSettings
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget

from app.session.pair_survey import survey
from app.session.recommendation import MIN_SPEED, max_speed, recommend
from app.session.services import last_pair
from app.text.language import unbroken
from app.views.models.pair_facts import facts_of
from app.views.models.picker_dialog import PickerDialog
from app.views.transcript.welcome import Welcome
from app.widgets.theme import Theme
from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.contract.requests import LoadPair
from mlx_engine.hardware import machine
from mlx_engine.models.library.catalog import Catalog, load_catalog
from mlx_engine.models.library.demo import CALCULATOR_REFUSAL, REFUSAL, REFUSALS, is_refusal
from tests.app.conftest import Start
from tests.app.scripted_engine import FACTS, PAIR, ScriptedEngine, answer, refuse
from tests.app.test_window import press

GB = 1_000_000_000
SHIPPED = load_catalog()
FAST = replace(FACTS, bandwidth=1e15)


@given(st.integers(0, 600 * GB))
def test_the_recommended_pair_is_the_largest_that_fits_comfortably(budget: int) -> None:
    found = recommend(SHIPPED, budget, FAST)
    if found is None:
        assert budget < 8 * GB
        return
    assert found.needed <= 0.7 * budget and found.entry.confirmed and not found.entry.why_not
    smaller = recommend(SHIPPED, max(0, budget - 5 * GB), FAST)
    assert smaller is None or smaller.needed <= found.needed


@given(st.integers(8, 600), st.floats(1e9, 900e9))
def test_the_recommended_pair_is_fast_enough(gigabytes: int, bandwidth: float) -> None:
    facts = replace(FACTS, bandwidth=bandwidth)
    found = recommend(SHIPPED, gigabytes * GB, facts)
    if found is not None:
        assert max_speed(found.entry.name, found.needed, facts) >= MIN_SPEED
    at_any_speed = recommend(SHIPPED, gigabytes * GB, FAST)
    assert found is None or (at_any_speed is not None and found.needed <= at_any_speed.needed)


def test_only_active_experts_count_for_the_speed() -> None:
    facts = replace(FACTS, bandwidth=100e9)
    assert max_speed("Something 20B", 10 * GB, facts) == pytest.approx(10)
    assert max_speed("Something 30B-A3B", 10 * GB, facts) == pytest.approx(100)


@pytest.mark.parametrize("facts", [None, replace(FACTS, device="CPU"), FACTS], ids=["not measured", "CPU", "GPU"])
def test_the_start_page_and_the_models_window_agree(facts: MachineFacts | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once measured, the Models window called pairs comfortable that the start page called too slow for a CPU."""
    monkeypatch.setattr(machine, "load_facts", lambda: facts)
    monkeypatch.setattr(machine, "free_memory", lambda: 100 * GB)
    monkeypatch.setattr(sys, "platform", "linux")
    found = recommend(SHIPPED, facts=facts)  # what the start page shows
    pairs = [one for one in survey().candidates if one.entry is not None and not one.why_not and one.shown.pair is not None]
    comfortable = [one.name for one in pairs if one.verdict_text == "Fits comfortably"]
    assert bool(comfortable) == (found is not None) == (facts is FACTS)
    assert comfortable or {"Fits, but too slow"} <= {one.verdict_text for one in pairs}
    assert {one.name for one in pairs if one.recommended} == ({found.entry.name} if found is not None else set())
    for name, text in [(one.name, facts_of(one, True).get("Speed")) for one in pairs if facts is not FACTS and one.shown.slow]:
        assert text == "Too slow without a GPU.", name


def test_without_a_fitting_pair_the_start_page_recommends_none(qapp: QApplication) -> None:
    found = recommend(SHIPPED, facts=replace(FACTS, working_set_bytes=GB))
    welcome = Welcome(Theme(qapp))
    welcome.recommended.show_pair(found)
    welcome.show_state(None, PAIR)
    assert found is None and welcome.recommended.isHidden()


def test_a_published_size_takes_precedence_over_an_estimate() -> None:
    coder = SHIPPED.find("qwen3-coder-30b-a3b")
    found = recommend(Catalog((coder,)), 100 * GB, FAST)
    assert found and not found.estimated and found.needed == round((17.2 + 0.94) * GB)
    unknown = replace(coder, targets=tuple(replace(target, size_gb=None) for target in coder.targets))
    found = recommend(Catalog((unknown,)), 100 * GB, FAST)
    assert found and found.estimated and abs(found.needed / GB - 17.2) < 1
    nameless = replace(unknown, name="Thirty billion")
    assert recommend(Catalog((nameless,)), 100 * GB, FAST) is None


@pytest.fixture
def on_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a GPU and 10.7 GB for models."""
    facts = replace(FACTS, device="Metal", bandwidth=120e9, working_set_bytes=int(10.7e9))
    monkeypatch.setattr(machine, "load_facts", lambda: facts)
    monkeypatch.setattr(machine, "free_memory", lambda: 12 * GB)


def test_the_start_page_keeps_its_layout_when_the_pair_is_loaded(start: Start, on_a_mac: None) -> None:
    engine = ScriptedEngine(pair=replace(PAIR, can_call_tools=True))
    engine.load_gate = threading.Event()
    app = start(engine, loaded=False)
    app.start()
    welcome = app.window.transcript.welcome
    app.until(lambda: welcome.progress.isVisible() and welcome.subtitle.text() == "Reading the weights…")

    def places(width: int, height: int) -> list[QRect | None]:
        app.window.resize(width, height)
        app.until(lambda: (app.window.width(), app.window.height()) == (width, height))
        app.window.transcript.settle()
        parts = (welcome.title, welcome.calculation, *welcome.cards, welcome.about_demo, welcome.recommended, welcome.private)
        welcome.layout().activate()
        return [part.geometry() if part.isVisible() else None for part in parts]

    sizes = (1000, 700), (1400, 1000)
    loading = [places(*size) for size in sizes]
    assert not welcome.calculation.isEnabled()
    engine.load_gate.set()
    app.until(lambda: app.loader.progress is None and welcome.calculation.isEnabled())
    assert [places(*size) for size in sizes] == loading and not any(None in found for found in loading)


def test_the_start_page_says_that_this_is_a_demo_and_recommends_a_pair(start: Start, on_a_mac: None) -> None:
    app = start()
    welcome = app.window.transcript.welcome
    assert "demo" in welcome.title.text() and "answers only a few kinds of questions" in welcome.about_demo.text()
    assert welcome.recommended.isVisible() and welcome.recommended.name.text() == "Qwen3.5 9B, 4-bit"
    facts = "About 7.4 GB · Fits comfortably · Up to 16 tok/s without DFlash · 2.2 to 4.4× as fast with DFlash on M5 Max 64 GB"
    shown = welcome.recommended.facts.text()
    assert shown.replace("\N{NO-BREAK SPACE}", " ") == facts
    assert "16\N{NO-BREAK SPACE}tok/s" in shown and "7.4\N{NO-BREAK SPACE}GB" in shown and "4.4× as fast" in shown
    assert len({card.accessibleName() for card in welcome.cards}) == 5
    app.window.resize(700, 500)
    app.until(lambda: welcome.width() < 500)
    assert app.window.sidebar.isVisible() and welcome.cards[0].y() == welcome.cards[1].y(), "two columns next to the sidebar"
    welcome.recommended.button.click()
    dialog = app.dialog(PickerDialog)
    assert dialog.isVisible()
    app.until(lambda: app.services.picker.rows.current is not None)
    current = app.services.picker.rows.current
    assert current is not None and current.name == "Qwen3.5 9B" and current.shown.label == "4-bit"
    app.activity.use(LoadPair(Path("/models/target"), Path("/models/drafter")))
    app.until(lambda: app.loader.pair is not None and not app.loader.running)
    assert welcome.recommended.isHidden() and welcome.about_demo.isHidden() and "demo" not in welcome.title.text()


def test_the_demo_offers_real_models_even_if_none_is_recommended(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.window.main_window.recommend", lambda *_, **__: None)
    app = start()
    welcome = app.window.transcript.welcome
    assert welcome.recommended.isHidden() and welcome.get_model.isVisible()
    assert welcome.get_model.geometry().bottom() < min(card.y() for card in welcome.cards), "it is seen before the examples"
    welcome.get_model.click()
    assert app.dialog(PickerDialog).isVisible()
    app.activity.use(LoadPair(Path("/models/target"), Path("/models/drafter")))
    app.until(lambda: app.loader.pair is not None and not app.loader.running)
    assert welcome.get_model.isHidden()


def test_numbers_and_units_stay_on_one_line() -> None:
    """“tok/s.” stood alone on a line."""
    assert unbroken("34–41 tok/s. Each token reads 2.50 GB.").split(" ") == [
        "34–41\xa0tok/s.",
        "Each",
        "token",
        "reads",
        "2.50\xa0GB.",
    ]


def test_a_refusal_of_the_demo_offers_another_model(start: Start) -> None:
    app = start(ScriptedEngine([answer("Paris."), answer(REFUSAL)]))
    app.ask("The capital of France?")
    assert app.reply.choose_button is None
    app.ask("A novel, please")
    app.until(lambda: app.reply.choose_button is not None)
    app.reply.choose_button.click()
    assert app.window.dialogs.find(PickerDialog) is not None


def test_a_calculation_that_the_demo_refuses_offers_the_calculator(start: Start) -> None:
    engine = ScriptedEngine([answer(CALCULATOR_REFUSAL), answer("4817 × 392 = 1888264")], replace(PAIR, can_call_tools=True))
    app = start(engine)
    app.ask("What is 4817 × 392?")
    app.until(lambda: app.reply.choose_button is not None)
    assert not engine.requests[0].tools
    app.reply.choose_button.click()
    app.until(lambda: len(engine.requests) == 2)
    app.idle()
    (tool,) = engine.requests[1].tools
    assert tool.name == "calculator" and engine.requests[1].messages == engine.requests[0].messages
    assert app.session.chat.turns[-1].answered.place == (2, 2)


@pytest.mark.parametrize("text", [*REFUSALS, f"\n{REFUSAL}\n"])
def test_refusals_are_recognized(text: str) -> None:
    assert is_refusal(text) and not is_refusal(f"You wrote: {text}")


def test_the_start_page_scrolls_in_a_small_window(start: Start, on_a_mac: None) -> None:
    """At the end, the page went back to the top."""
    app = start()
    transcript, welcome = app.window.transcript, app.window.transcript.welcome
    bar, chooser, last = transcript.verticalScrollBar(), welcome.recommended.button, welcome.cards[-1]

    def visible_height(widget: QWidget) -> int:
        return widget.visibleRegion().boundingRect().height()

    app.window.resize(440, 420)
    app.until(lambda: welcome.width() <= 440)
    assert bar.maximum() > 0 and bar.value() == 0  # scrolls instead of squeezing, and begins at the top
    assert chooser.height() >= chooser.minimumSizeHint().height()
    for label in welcome.findChildren(QLabel):
        assert label.height() >= label.heightForWidth(label.width())
    assert welcome.height() >= welcome.height_for(welcome.width())
    for text_size in (15, 30):
        app.services.preferences.text_size = text_size
        app.window.resize(700, 500)
        app.until(lambda: app.window.height() == 500 and bar.maximum() > 0 and welcome.recommended.y() > 0)
        bar.setValue(0)
        assert welcome.recommended.geometry().bottom() < min(card.y() for card in welcome.cards)
        assert text_size == 30 or visible_height(chooser) == chooser.height()
        bar.setValue(bar.maximum())
        assert bar.value() == bar.maximum() > 0
        assert visible_height(last) == last.height()
        for card in welcome.cards:
            bar.setValue(card.y())
            assert visible_height(card) == card.height()
        app.window.resize(700, 520)
        assert bar.value() > 0
    app.ask("Hello")
    app.session.new_chat()
    assert bar.value() == 0


def test_a_missing_model_offers_another_one_and_the_demo_once(start: Start) -> None:
    engine = ScriptedEngine(load_error=refuse("Can't find the folder /models/target."))
    app = start(engine, loaded=False)
    app.start()
    app.until(lambda: app.loader.progress is None)
    app.until(lambda: app.notices == ["Can't find the folder /models/target."])
    texts = [button.text() for button in app.window.findChildren(QPushButton) if button.isVisible()]
    assert texts.count("Choose Another…") == texts.count("Use Demo") == 1
    assert not {"Try Again", "Load Again"} & set(texts)
    assert app.window.top_bar.name.text() == "No models loaded"
    app.send("Hello?")
    assert app.window.composer.text == "Hello?"
    press(app, "Choose Another…")
    assert app.window.dialogs.find(PickerDialog) is not None
    app.window.dialogs.close_all()
    engine.load_error = None
    press(app, "Use Demo")
    app.until(lambda: app.loader.pair is not None)
    assert app.notices == []
    app.window.composer.button.click()
    app.until(lambda: not app.activity.busy)
    assert app.answer == "Fine."


def test_a_pair_whose_folder_is_missing_stays_the_chosen_one(begin: Start, tmp_path: Path) -> None:
    """With an external disk unplugged, the demo pair replaced it without a word."""
    settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    chosen = LoadPair(tmp_path / "unplugged" / "target", tmp_path / "unplugged" / "drafter")
    settings.setValue("target", str(chosen.target))
    settings.setValue("drafter", str(chosen.drafter))
    settings.sync()
    app = begin(ScriptedEngine(load_error=refuse("Can't find the folder.")))
    assert app.notices == ["Can't find the folder."] and app.loader.pair is None
    app.services.save_state()
    settings.sync()
    assert last_pair(settings) == chosen
    settings.setValue("target", "")
    assert last_pair(settings) == LoadPair()
