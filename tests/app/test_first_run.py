"""The first launch and its recommended pair."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtWidgets import QPushButton

from app.models.picker_dialog import PickerDialog
from app.models.survey import MIN_SPEED, max_speed, recommend
from mlx_engine.pairs import machine
from mlx_engine.pairs.catalog import Catalog, load_catalog
from tests.app.conftest import Running
from tests.app.scripted_engine import FACTS, ScriptedEngine, refuse
from tests.app.test_window import press

Start = Callable[..., Running]
GB = 1_000_000_000
SHIPPED = load_catalog()


@given(st.integers(0, 600 * GB))
def test_the_recommended_pair_is_the_largest_that_fits_comfortably(budget: int) -> None:
    found = recommend(SHIPPED, budget)
    if found is None:
        assert budget < 8 * GB
        return
    assert found.needed <= 0.7 * budget and found.entry.confirmed and not found.entry.why_not
    smaller = recommend(SHIPPED, max(0, budget - 5 * GB))
    assert smaller is None or smaller.needed <= found.needed


@given(st.integers(8, 600), st.floats(1e9, 900e9))
def test_the_recommended_pair_is_fast_enough(gigabytes: int, bandwidth: float) -> None:
    facts = replace(FACTS, bandwidth=bandwidth)
    found = recommend(SHIPPED, gigabytes * GB, facts)
    if found is not None:
        assert max_speed(found.entry.name, found.needed, facts) >= MIN_SPEED
    at_any_speed = recommend(SHIPPED, gigabytes * GB)
    assert found is None or (at_any_speed is not None and found.needed <= at_any_speed.needed)


def test_only_active_experts_count_for_the_speed() -> None:
    facts = replace(FACTS, bandwidth=100e9)
    assert max_speed("Something 20B", 10 * GB, facts) == pytest.approx(10)
    assert max_speed("Something 30B-A3B", 10 * GB, facts) == pytest.approx(100)


def test_without_a_gpu_the_demo_pair_is_recommended_with_the_reason(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.without_gpu(replace(FACTS, device="CPU")) and not machine.without_gpu(FACTS)
    monkeypatch.setattr(machine, "load_facts", lambda: replace(FACTS, device="CPU"))
    page = start(welcomed=False).window.transcript.welcome.introduction
    assert page.name.text() == "Demo pair" and "no GPU" in page.why.text()
    page.show_recommendation(recommend(SHIPPED, 100 * GB, FACTS))
    assert page.name.text() != "Demo pair"


def test_a_published_size_takes_precedence_over_an_estimate() -> None:
    coder = SHIPPED.find("qwen3-coder-30b-a3b")
    found = recommend(Catalog((coder,)), 100 * GB)
    assert found and not found.estimated and found.needed == round((17.2 + 0.94) * GB)
    unknown = replace(coder, targets=tuple(replace(target, size_gb=None) for target in coder.targets))
    found = recommend(Catalog((unknown,)), 100 * GB)
    assert found and found.estimated and abs(found.needed / GB - 17.2) < 1
    nameless = replace(unknown, name="Thirty billion", drafter_gb=1.0)
    assert recommend(Catalog((nameless,)), 100 * GB) is None


def test_the_first_launch_shows_an_introduction_that_a_click_closes(start: Start) -> None:
    app = start(welcomed=False)
    welcome = app.window.transcript.welcome
    page = welcome.introduction
    assert page is not None and page.isVisible()
    assert page.name.text() and page.why.text()
    assert not any(card.isVisible() for card in welcome.cards)
    page.begin_button.click()
    assert welcome.introduction is None and all(card.isVisible() for card in welcome.cards)
    assert app.window.composer.field.hasFocus()
    assert start(welcomed=False).window.transcript.welcome.introduction is None


def test_a_message_closes_the_introduction(start: Start) -> None:
    app = start(welcomed=False)
    app.ask("Hello")
    app.conductor.new_chat()
    assert app.window.transcript.welcome.introduction is None


def test_the_introduction_closes_only_once(start: Start) -> None:
    app = start(welcomed=False)
    app.ask("Hello")
    app.window.split.focus_list()
    app.conductor.send("Hello again")
    app.until(lambda: not app.conductor.busy)
    assert app.window.sidebar.list.hasFocus()  # the second message does not move the focus


def test_the_introduction_opens_the_picker(start: Start) -> None:
    app = start(welcomed=False)
    app.window.transcript.welcome.introduction.choose_button.click()
    assert app.window.dialogs.find(PickerDialog) is not None and app.window.dialogs.find(PickerDialog).isVisible()


def test_the_introduction_scrolls_in_a_small_window(start: Start) -> None:
    app = start(welcomed=False)
    app.window.resize(440, 420)
    page = app.window.transcript.welcome.introduction
    app.until(lambda: page.width() <= 440)
    bar = app.window.transcript.verticalScrollBar()
    assert page.begin_button.height() >= page.begin_button.sizeHint().height()
    assert bar.maximum() > 0  # scrolls instead of squeezing
    assert page.height() >= page.layout().heightForWidth(page.width())


def test_a_missing_model_offers_another_one_and_the_demo_once(start: Start) -> None:
    engine = ScriptedEngine(load_error=refuse("There is no folder /models/target."))
    app = start(engine, loaded=False)
    app.slipstream.start()
    app.until(lambda: app.conductor.loader.progress is None)
    app.until(lambda: app.notices == ["There is no folder /models/target."])
    texts = [button.text() for button in app.window.findChildren(QPushButton) if button.isVisible()]
    assert texts.count("Choose Another…") == texts.count("Use Demo") == 1
    assert not {"Try Again", "Load Again"} & set(texts)
    press(app, "Choose Another…")
    assert app.window.dialogs.find(PickerDialog) is not None
    engine.load_error = None
    press(app, "Use Demo")
    app.until(lambda: app.conductor.loader.pair is not None)
    assert app.notices == []
