"""The window as users see it, from loading to quitting."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt, QUrl
from PySide6.QtGui import QAction, QFocusEvent, QGuiApplication, QTextCursor
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from app.rendering.blocks import plain_text
from app.rendering.code_view import CodeView
from app.rendering.text_view import TextView
from app.storage import wording
from app.system import browser_page
from mlx_engine.contract.errors import NO_DRAFTER, EngineText
from mlx_engine.contract.events import Failed, WorkProgress
from mlx_engine.contract.requests import LoadPair
from tests.app.conftest import PATIENCE_MS, Begin, Look, Running, Start, reply_views
from tests.app.scripted_engine import PAIR, ScriptedEngine, a_round, answer, commit, done

CODE = "Here:\n\n```python\nprint(1)\n```\n\nDone."


def prompt_text(app: Running) -> str:
    """What the bubble of the first message holds, drawn or not."""
    (prompt,) = app.questions
    return "\n".join(plain_text(block) for block in prompt.blocks.blocks)


def press(app: Running, text: str) -> None:
    """Press a button by its words."""

    def found() -> list[QPushButton]:
        return [button for button in app.window.findChildren(QPushButton) if button.text() == text and button.isVisible()]

    app.until(lambda: bool(found()))
    found()[0].click()


def test_the_button_for_menus_that_do_not_fit_has_the_color_of_text(start: Start) -> None:
    app = start(loaded=False)
    more = app.window.menuBar().findChild(QToolButton)
    assert more is not None
    for appearance in ("dark", "light"):
        app.theme.set_appearance(appearance)
        image = more.icon().pixmap(18, 18).toImage()
        pixels = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
        strongest = max(pixels, key=lambda pixel: pixel.alpha())
        assert (strongest.lightness() > 128) == (appearance == "dark")


# The empty page and loading


def test_models_load_at_launch_with_visible_progress_and_a_sample_prompt_is_sent(start: Start) -> None:
    engine = ScriptedEngine()
    engine.load_gate = threading.Event()
    app = start(engine, loaded=False)
    app.start()
    welcome = app.window.transcript.welcome
    app.until(lambda: welcome.subtitle.text() == "Reading the weights…")
    assert welcome.progress.isVisible() and welcome.progress.value() == 250
    assert not welcome.cards[0].isEnabled()
    engine.load_gate.set()
    app.until(lambda: not welcome.progress.isVisible())
    assert app.window.top_bar.name.text() == "Demo pair"
    assert welcome.cards[0].isEnabled()
    welcome.cards[2].click()
    app.until(lambda: not app.activity.busy)
    assert engine.requests[0].messages[-1].content.startswith("Write a Python function")
    assert not welcome.isVisible()


# Asking


def test_a_reply_streams_in_and_ends_with_its_statistics(start: Start) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([[commit("Half a ", 3), a_round(), gate, commit("reply.", 2), done()]]))
    app.send("Go")
    app.until(lambda: "Half a" in app.answer)
    assert app.window.composer.text == ""
    app.until(lambda: app.reply.stats.chip.text() == "DFlash")  # too few tokens for a speed
    gate.set()
    app.until(lambda: not app.activity.busy)
    assert app.answer == "Half a reply."
    assert (app.reply.stats.chip.text(), app.reply.stats.facts.text()) == ("512 tok/s", " ")
    tip = app.reply.stats.chip.toolTip()
    assert "DFlash · 6.0 tokens/round" in tip and "512 tok/s · first token after 38 ms · 13 tokens" in tip and "Seed: 7" in tip


def test_the_composer_is_level_with_its_buttons_grows_and_sends_at_return(start: Start, qtbot: QtBot) -> None:
    app = start()
    composer, field = app.window.composer, app.window.composer.field
    line = field.viewport().mapTo(composer, field.cursorRect().center()).y()
    assert abs(line - composer.button.mapTo(composer, composer.button.rect().center()).y()) <= 1
    heights = []
    for lines in (1, 3, 8, 30):
        app.type("\n".join("x" * lines))
        heights.append(field.maximumHeight())
    assert heights[0] < heights[1] < heights[2] == heights[3]
    field.clear()
    qtbot.keyClicks(field, "one")
    qtbot.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(field, "two")
    assert field.toPlainText() == "one\ntwo"
    qtbot.keyClick(field, Qt.Key.Key_Return)
    app.until(lambda: not app.activity.busy)
    assert app.engine.requests[0].messages[-1].content == "one\ntwo"


def test_empty_prompt_is_refused_with_a_notice(begin: Begin) -> None:
    app = begin()
    app.send("  \n ")
    assert app.notices == ["Write a message first."]
    assert app.engine.requests == []


def test_a_prompt_is_shown_as_typed_and_folded_but_complete_if_it_is_long(start: Start) -> None:
    app = start()
    app.ask("<b>**not bold**</b>\nline two")
    assert prompt_text(app) == "<b>**not bold**</b>\nline two"
    app.run("new_chat")
    prompt = "word " * 3000 + "end"
    app.ask(prompt)
    assert app.engine.requests[1].messages[-1].content == prompt
    assert len(prompt_text(app)) < 3000
    app.window.transcript.verticalScrollBar().setValue(0)
    press(app, "Show All")
    assert prompt_text(app).replace("\n", "") == prompt


# Stopping and closing


def test_stop_ends_a_reply_and_keeps_its_text(begin: Begin) -> None:
    app = begin(ScriptedEngine([[commit("Once upon"), threading.Event()]]))
    app.send("A story")
    app.until(lambda: app.answer == "Once upon")
    app.run("stop")
    app.idle()
    assert app.answer == "Once upon" and wording.facts(app.reply).endswith("stopped")
    app.ask("Another")
    assert app.answer == "Fine."


def test_closing_during_a_reply_ends_cleanly_and_is_recorded_as_an_interruption(start: Start, qtbot: QtBot) -> None:
    app = start(ScriptedEngine([[commit("Stopped"), threading.Event()], [commit("Once"), threading.Event()]]))
    app.send("One")
    app.until(lambda: "Stopped" in app.answer)
    app.window.composer.stop_button.click()
    app.until(lambda: not app.activity.busy)
    assert app.reply.stats.facts.text().endswith("stopped")
    app.send("A story")
    app.until(lambda: "Once" in app.answer)
    turn = app.session.chat.turns[-1]
    with qtbot.waitSignal(app.slipstream.ended, timeout=PATIENCE_MS):
        app.quit()
    assert not app.window.isVisible()
    assert app.engine.unloaded and app.engine.closed_early == 2
    assert (turn.reply.answer, turn.reply.reason) == ("Once", "interrupted")


def test_on_a_mac_a_reply_goes_on_while_the_window_is_closed(start: Start, qtbot: QtBot) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([[commit("Half"), gate, commit(" whole"), done()]]))
    window = app.window
    window.quits_when_closed = False
    app.send("A story")
    app.until(lambda: "Half" in app.answer)
    window.menus["close_window"].trigger()
    assert not window.isVisible() and app.activity.busy
    gate.set()
    app.until(lambda: not app.activity.busy)
    assert app.session.chat.turns[0].reply.reason == "eos"
    QApplication.instance().applicationStateChanged.emit(Qt.ApplicationState.ApplicationActive)
    assert window.isVisible() and app.answer == "Half whole"
    with qtbot.waitSignal(app.slipstream.ended, timeout=PATIENCE_MS):
        window.menus["quit"].trigger()


def test_closing_while_the_models_load_ends_cleanly(start: Start, qtbot: QtBot) -> None:
    engine = ScriptedEngine()
    engine.load_gate = threading.Event()
    app = start(engine, loaded=False)
    app.start()
    app.until(lambda: app.window.transcript.welcome.subtitle.text() == "Reading the weights…")
    app.window.close()
    assert not app.window.isVisible()
    with qtbot.waitSignal(app.slipstream.ended, timeout=PATIENCE_MS):
        engine.load_gate.set()
    assert engine.unloaded


def test_a_reply_continues_after_new_chat(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([[commit("Once"), gate, commit(" upon a time")]]))
    app.send("A story")
    app.until(lambda: "Once" in app.answer)
    story = app.session.chat
    app.run("new_chat")
    app.ask("Fresh")
    assert app.answer == "Fine." and app.reply_runner.of(story.id) is not None
    gate.set()
    app.until(lambda: not app.activity.busy)
    assert story.turns[-1].reply.answer == "Once upon a time"
    assert [message.content for message in app.engine.requests[-1].messages] == ["Fresh"]


# Errors


def test_errors_are_shown_with_what_the_user_can_do(start: Start) -> None:
    sentence = "The chat is 9,000 tokens long; this target holds 2,048. Shorten it or start a new chat."
    failed = [commit("Half"), Failed("error", "The memory ran out.")]
    app = start(ScriptedEngine([[Failed("error", sentence)], failed, answer("Fine."), [ZeroDivisionError("boom")]]))
    app.ask("word " * 9000)
    assert app.reply.error.label.text() == sentence
    assert not app.reply.stats.isVisible()
    app.type("written since")
    press(app, "Edit Message")
    assert app.window.composer.active_field.toPlainText() == ("word " * 9000).strip()
    app.ask("Short")
    assert [message.content for message in app.engine.requests[-1].messages] == ["Short"]
    assert app.window.composer.text == "written since"
    assert len(reply_views(app.window.transcript)) == 1

    assert "Half" in app.answer
    assert app.reply.error.label.text() == "The memory ran out."
    press(app, "Try Again")
    app.until(lambda: not app.activity.busy)
    assert len(reply_views(app.window.transcript)) == 1
    assert app.answer == "Fine."

    app.ask("Go")
    sentence = app.reply.error.label.text()
    assert sentence.startswith("Something went wrong in Slipstream") and "slipstream.log" in sentence and "boom" not in sentence
    app.ask("Again")
    assert app.answer == "Fine."


def test_a_startup_problem_is_reported_once(begin: Begin) -> None:
    app = begin(temporary=True)
    assert len(app.notices) == 1 and "Can't write to your home folder" in app.notices[0]
    app.ask("Hi")
    assert len(app.notices) == 1, "it stays until the user closes it"


# The switches


def test_the_dflash_switch_applies_to_the_next_reply_and_is_off_without_a_drafter(start: Start) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([[commit("a"), gate, done()]]))
    bar, menus = app.window.top_bar, app.window.menus
    for _ in range(3):
        menus["dflash"].trigger()
        assert bar.dflash.isChecked() == menus["dflash"].isChecked() == (app.session.next_mode == "dflash")
        bar.dflash.click()
        assert bar.dflash.isChecked() == menus["dflash"].isChecked() == (app.session.next_mode == "dflash")
    app.window.resize(1000, 700)
    app.send("With")
    bar.dflash.click()
    assert bar.state.text() == "Next reply: Plain"
    assert bar.state.isVisible()
    gate.set()
    app.until(lambda: not app.activity.busy)
    assert bar.state.text() == ""
    app.ask("Without")
    assert [request.mode for request in app.engine.requests] == ["dflash", "plain"]
    chips = [view.stats.chip.text() for view in reply_views(app.window.transcript)]
    assert chips == ["512 tok/s", "Plain · 131 tok/s"]
    calibration = app.loader.calibration
    calibration.running, calibration.progress = True, WorkProgress(0.42, EngineText("", "Timing kernels"))
    calibration.changed.emit()
    assert bar.state.isVisible() and bar.state.text() == "Measuring speed · 42%"
    calibration.running = False
    calibration.changed.emit()
    assert bar.state.text() == ""

    app.session.change(dflash=True)
    app.engine.pair = replace(PAIR, drafter="", why_plain=NO_DRAFTER)
    app.activity.use(LoadPair(Path("/target")))
    app.until(lambda: not app.loader.running)
    assert not bar.dflash.isChecked()
    assert not bar.dflash.isEnabled()
    lacking = "This model is loaded without a drafter."
    assert lacking in bar.dflash.toolTip() and app.notices == [lacking]
    assert app.window.transcript.welcome.subtitle.text() == "Ready (no drafter)"
    assert app.services.comparer.why_not() == lacking
    app.ask("Hi")
    assert app.engine.requests[-1].mode == "plain"
    assert not app.can("compare")


def test_thinking_is_available_only_if_the_model_supports_it(begin: Begin) -> None:
    app = begin()
    assert not app.can("thinking")
    app.session.change(thinking=True)
    app.ask("Hi")
    assert not app.engine.requests[0].thinking
    other = begin(ScriptedEngine(pair=replace(PAIR, can_think=True)))
    assert other.can("thinking")
    other.run("thinking")
    other.ask("Hi")
    assert other.engine.requests[0].thinking


# Reading


def test_a_page_in_a_reply_opens_in_the_browser_from_a_private_file(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "<p>Hi</p><script>alert(1)</script>"
    app = start(ScriptedEngine([answer(f"Here:\n\n```HTML\n{page}\n```\n\n```py\nf()\n```\n")]))
    app.ask("Page")
    html, code = app.reply.blocks.findChildren(CodeView)
    assert not html.open.isHidden() and code.open.isHidden()
    assert (html.open.text(), html.open.toolTip()) == ("Open in Browser", "Open in the browser, which runs its scripts")
    opened: list[QUrl] = []
    monkeypatch.setattr(browser_page.QDesktopServices, "openUrl", lambda url: bool(opened.append(url)) or True)
    html.open.click()
    file = Path(opened[0].toLocalFile())
    assert file.suffix == ".html" and file.read_text() == page
    assert file.parent.stat().st_mode & 0o077 == 0


def test_a_reply_with_code_is_copied_recolored_and_named_for_screen_readers(start: Start) -> None:
    app = start(ScriptedEngine([answer(CODE)]))
    app.ask("Code")
    (code,) = app.reply.blocks.findChildren(CodeView)
    code.copy.click()
    assert QGuiApplication.clipboard().text() == "print(1)"
    app.run("copy_reply")
    assert QGuiApplication.clipboard().text() == CODE
    light = app.theme.colors
    for appearance in ("dark", "light"):
        app.theme.set_appearance(appearance)
        assert app.answer == "Here:print(1)Done."
        ground = app.window.palette().window().color().name()
        assert ground == app.theme.colors.window
    assert app.theme.colors == light
    bar = app.window.top_bar
    controls = [bar.dflash, app.window.foot.thinking, bar.compare, app.window.composer.button, app.window.composer.field]
    controls += app.window.transcript.findChildren(QPushButton)
    assert all(control.accessibleName() for control in controls)


def test_the_view_follows_the_end_only_while_it_is_visible(start: Start) -> None:
    first, second = threading.Event(), threading.Event()
    long = "\n\n".join(f"Paragraph {number}" for number in range(60))
    app = start(ScriptedEngine([[commit(long), first, commit("\n\n" + long), second, commit("\n\nEnd."), done()]]))
    app.send("Long")
    bar = app.window.transcript.verticalScrollBar()
    app.until(lambda: bar.maximum() > 500 and bar.value() == bar.maximum())
    jump = app.window.transcript.jump_button
    assert not jump.isVisible()
    bar.setValue(100)
    assert jump.isVisible() and jump.text() == "↓"
    before = bar.maximum()
    first.set()
    app.until(lambda: bar.maximum() > before)
    assert bar.value() == 100
    assert jump.isVisible() and jump.text() == "New Text ↓"
    jump.click()
    assert not jump.isVisible()
    second.set()
    app.until(lambda: not app.activity.busy and bar.value() == bar.maximum())
    bar.setValue(100)
    assert jump.isVisible() and jump.text() == "↓", "nothing is new"


def test_a_long_chat_scrolls_by_keyboard(start: Start, qtbot: QtBot) -> None:
    app = start(ScriptedEngine([answer("\n\n".join(f"Paragraph {i}." for i in range(200)))]))
    app.ask("Long")
    field, transcript = app.window.composer.field, app.window.transcript
    bar = transcript.verticalScrollBar()
    app.until(lambda: bar.value() == bar.maximum() > 1000)
    qtbot.keyClick(field, Qt.Key.Key_PageUp)
    app.until(lambda: bar.value() < bar.maximum() - 100)
    qtbot.keyClick(field, Qt.Key.Key_PageDown, Qt.KeyboardModifier.KeypadModifier)
    app.until(lambda: bar.value() == bar.maximum())
    field.setPlainText("\n".join("line" for _ in range(40)))
    field.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClick(field, Qt.Key.Key_PageUp)  # now there is something to scroll in the field itself
    assert bar.value() == bar.maximum()
    assert transcript.focusPolicy() & Qt.FocusPolicy.TabFocus
    for reason, seen in ((Qt.FocusReason.TabFocusReason, True), (Qt.FocusReason.MouseFocusReason, False)):
        QApplication.sendEvent(transcript, QFocusEvent(QEvent.Type.FocusIn, reason))
        assert transcript.focus_bar.isVisible() == seen
    qtbot.keyClick(transcript, Qt.Key.Key_PageUp)
    assert bar.value() < bar.maximum()


def test_nothing_is_clipped_in_a_narrow_or_wide_window(start: Start) -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    app = start(ScriptedEngine([answer(CODE + "\n\n" + table + "- item\n\n> quote\n\n" + "word " * 200)]))
    app.window.resize(480, 700)
    app.ask("A long question that has to wrap in a narrow window " * 5)
    transcript = app.window.transcript
    for width in (480, 1600):
        app.window.resize(width, 700)
        app.until(lambda width=width: transcript.widget().width() == transcript.viewport().width() and app.window.width() == width)
        transcript.settle()
        views = [app.window.composer.button, app.window.top_bar.dflash, app.window.top_bar.compare, app.reply.stats.facts]
        parts = [entry.view for entry in app.reply.blocks.entries if entry.view is not None]
        views += parts + app.window.findChildren(QLabel)
        for view in views:
            if view.isVisible() and view.window() is app.window:
                left = view.mapTo(app.window, view.rect().topLeft()).x()
                assert left >= 0 and left + view.width() <= app.window.width(), view.accessibleName()
        for part in parts:
            if isinstance(part, TextView):
                assert part.height() >= part.document().size().height() - 1
    assert app.reply.width() <= 760


# Menus and names


def test_commands_have_their_macos_menu_roles_and_shortcuts_of_their_own(start: Start) -> None:
    app = start(loaded=False)
    actions = app.window.findChildren(QAction)
    roles = {action.text(): action.menuRole() for action in actions}
    assert roles["About Slipstream"] == QAction.MenuRole.AboutRole
    assert roles["&Quit Slipstream"] == QAction.MenuRole.QuitRole
    assert not app.window.menus["check_for_updates"].isVisible() and not app.window.menus["check_at_launch"].isVisible()
    keys = [key.toString() for action in actions for key in action.shortcuts()]
    assert len(keys) == len(set(keys)) > 40, sorted(keys)


def test_the_switch_and_the_appearance_are_saved(begin: Begin) -> None:
    app = begin()
    app.run("dflash")
    app.services.preferences.appearance = "dark"
    app.quit()
    look = Look()
    again = begin(look=look)
    assert again.session.next_mode == "plain" and look.appearance == "dark"
