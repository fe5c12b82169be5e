"""The bar above the chat."""

import threading
from dataclasses import replace

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QMenu

from app.views.settings.settings_dialog import SettingsDialog
from mlx_engine.network import offline
from tests.app.conftest import Start
from tests.app.scripted_engine import PAIR, ScriptedEngine, commit


def test_controls_that_do_not_fit_move_into_a_menu(start: Start) -> None:
    app = start(ScriptedEngine(pair=replace(PAIR, name="Qwen3-Coder-30B-A3B-Instruct-MLX-4bit-DWQ")))
    bar = app.window.top_bar
    app.window.resize(1300, 700)
    app.until(lambda: bar.compare.isVisible() and not bar.more.isVisible())
    app.window.resize(640, 500)
    app.until(bar.more.isVisible)
    app.until(lambda: bar.name.width() >= 200)
    assert not bar.compare.isVisible()
    bar.more.click()
    menu = bar.findChild(QMenu)
    assert menu is not None
    actions = {action.text(): action for action in menu.actions()}
    assert "Compare both modes on the last prompt" in actions
    menu.close()


def test_the_next_reply_is_announced_only_in_the_chat_whose_reply_runs(start: Start) -> None:
    app = start(ScriptedEngine([[commit("Half"), threading.Event()]]))
    bar = app.window.top_bar
    app.send("One")
    app.until(lambda: app.activity.replying_here)
    app.run("dflash")
    assert bar.state.text() == "Next reply: Plain"
    app.run("new_chat")
    assert bar.state.text() == ""


def test_a_sign_says_that_offline_is_on_and_opens_its_setting(start: Start) -> None:
    app = start()
    sign = app.window.top_bar.offline
    assert not sign.isVisible()
    app.services.preferences.offline = True
    assert sign.isVisible() and sign.x() > app.window.top_bar.width() // 2, "a project's name would be next to the model's"
    sign.click()
    assert app.dialog(SettingsDialog).windowTitle() == "Settings – Privacy"
    offline.set_offline(False)  # as another program does
    QApplication.sendEvent(app.window.top_bar, QEvent(QEvent.Type.ActivationChange))
    assert not sign.isVisible()
