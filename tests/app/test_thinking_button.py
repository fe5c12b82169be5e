"""The switch of the composer that lets the model think."""

from dataclasses import replace

from tests.app.conftest import Start
from tests.app.scripted_engine import PAIR, ScriptedEngine


def test_the_switch_shows_and_changes_whether_the_model_thinks(start: Start) -> None:
    app = start(ScriptedEngine(pair=replace(PAIR, can_think=True)))
    switch = app.window.foot.thinking
    assert switch.isEnabled() and switch.isChecked() == app.session.thinking
    before = app.session.thinking
    switch.click()
    assert app.session.thinking != before and switch.isChecked() != before
    app.run("thinking")
    assert switch.isChecked() == before


def test_the_name_is_shown_while_thinking_is_on_and_there_is_room(start: Start) -> None:
    app = start(ScriptedEngine(pair=replace(PAIR, can_think=True)))
    switch, wide, narrow = app.window.foot.thinking, (1100, 700), (440, 700)
    app.window.resize(*wide)
    if switch.isChecked():
        switch.click()
    app.until(lambda: switch.width() == switch.height())
    switch.click()
    app.until(lambda: switch.width() > 2 * switch.height())
    app.window.resize(*narrow)
    app.until(lambda: switch.width() == switch.height())


def test_a_model_that_cannot_think_says_so(start: Start) -> None:
    app = start(ScriptedEngine(pair=replace(PAIR, can_think=False)))
    switch = app.window.foot.thinking
    assert not switch.isEnabled() and "can't think" in switch.toolTip()
