"""The keyboard focus: it stays in the composer until the user moves it."""

import threading
from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QDialog, QWidget
from pytestqt.qtbot import QtBot

from app.session.notice import Notice, NoticeAction
from app.views.transcript.read_pages import PageRead
from mlx_engine.mcp.server_status import ServerStatus
from tests.app.conftest import Running, Start
from tests.app.scripted_engine import PAIR, ScriptedEngine, answer, commit, done
from tests.app.tools_in_chat import PRODUCT, SECOND, ask_for_card, calling, cards, choose, with_tools
from tests.app.views.tools.fake_servers import FakeServers


def assert_focus_in_composer(app: Running, after: str) -> None:
    focus = app.window.focusWidget()
    place = f"{type(focus).__name__} {focus.accessibleName()!r}" if focus is not None else "nothing"
    assert focus is app.window.composer.field, f"after {after}, the focus is in {place}"


def activate(app: Running, qtbot: QtBot) -> None:
    with qtbot.waitActive(app.window):
        app.window.activateWindow()


def click(qtbot: QtBot, widget: QWidget) -> None:
    assert widget.isVisible() and widget.isEnabled()
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)


def test_every_example_leaves_the_focus_in_the_composer(start: Start, servers: type[FakeServers], qtbot: QtBot) -> None:
    app = start(ScriptedEngine(pair=replace(PAIR, can_call_tools=True)))
    activate(app, qtbot)
    welcome, composer, bar = app.window.transcript.welcome, app.window.composer, app.window.foot.waiting
    for slow in (False, True):
        servers.slow = slow
        for card in (welcome.calculation, *welcome.cards):
            app.session.new_chat()
            composer.focus()
            click(qtbot, card)
            if slow and card is welcome.calculation:
                servers.made[0].finish("Calculator")
            app.until(lambda: not app.session.chat.empty and not app.activity.busy)
            assert_focus_in_composer(app, card.prompt)
            qtbot.keyClicks(app.window.focusWidget(), "abc")
            assert composer.text == "abc" and app.window.sidebar.search.text() == ""
            app.type("")
    app.session.new_chat()
    servers.made[0].found["Calculator"] = ServerStatus("Calculator", "off")
    click(qtbot, welcome.calculation)
    assert app.window.focusWidget() is composer.field and bar.isVisible()
    qtbot.keyClick(composer.field, Qt.Key.Key_Return)
    assert bar.isVisible() and app.notices == [], "Return without a message changes nothing"
    qtbot.keyClicks(composer.field, "abc")
    servers.made[0].finish("Calculator")
    app.until(lambda: not app.session.chat.empty and not app.activity.busy)
    assert [turn.prompt for turn in app.session.chat.turns] == [welcome.calculation.prompt]
    assert composer.text == "abc" and not bar.isVisible()
    app.type("")
    for card in (welcome.calculation, *welcome.cards):
        app.session.new_chat()
        card.setFocus(Qt.FocusReason.TabFocusReason)
        qtbot.keyClick(card, Qt.Key.Key_Space)
        if card is welcome.calculation:
            servers.made[0].finish("Calculator")
        app.until(lambda: not app.session.chat.empty and not app.activity.busy)
        assert_focus_in_composer(app, card.prompt)


def test_tab_goes_through_the_examples_and_notices_from_top_to_bottom(start: Start) -> None:
    app = start(ScriptedEngine(pair=replace(PAIR, can_call_tools=True)))
    welcome, bar, field = app.window.transcript.welcome, app.window.foot.notices, app.window.composer.field
    app.services.notices.post(
        Notice("Imported 2 chats.", actions=tuple(NoticeAction(title, lambda: None) for title in ("Show", "Undo")))
    )
    show, undo = (each for each in bar.findChildren(QAbstractButton) if each.text() in ("Show", "Undo"))
    order = [welcome.calculation, *welcome.cards, show, undo, bar.close_button, field]
    chain = [app.window.transcript.nextInFocusChain()]
    while chain[-1] is not app.window.transcript:
        chain.append(chain[-1].nextInFocusChain())
    assert [each for each in chain if each in order] == order


def test_every_notice_leaves_the_focus_in_the_composer(start: Start, qtbot: QtBot) -> None:
    app = start(ScriptedEngine())
    activate(app, qtbot)
    notices = app.window.foot.notices
    for by_keyboard in (False, True):
        for made in (notices.close_button, notices.demo, notices.again, notices.choose):
            app.window.composer.focus()
            app.services.notices.post(Notice("Something happened.", "error", offer="load", again="Nowhere"))
            assert_focus_in_composer(app, "a notice")
            if by_keyboard:
                made.setFocus(Qt.FocusReason.TabFocusReason)
                qtbot.keyClick(made, Qt.Key.Key_Space)
            else:
                click(qtbot, made)
            app.until(lambda: not app.loader.running)
            for dialog in app.window.findChildren(QDialog):
                dialog.close()
            activate(app, qtbot)
            app.services.notices.close_latest()
            assert_focus_in_composer(app, f"{made.text() or made.accessibleName()} of a notice")


def test_every_answer_to_an_approval_card_leaves_the_focus_in_the_composer(start: Start, qtbot: QtBot) -> None:
    app, _ = with_tools(start, [step for _ in range(10) for step in (calling(PRODUCT, SECOND), answer("Done."))], calculator="1")
    activate(app, qtbot)
    for by_keyboard in (False, True):
        for number in range(4):
            app.session.new_chat()
            app.window.composer.focus()
            ask_for_card(app)
            first, second = cards(app)
            assert_focus_in_composer(app, "a call")
            app.until(first.choices[2].isEnabled)
            if by_keyboard:
                first.choices[0].setFocus(Qt.FocusReason.TabFocusReason)
            choose(app, first, number)
            assert_focus_in_composer(app, f"answer {number}")
            click(qtbot, second.choices[1])
            app.until(lambda: not app.activity.busy)
            assert_focus_in_composer(app, "Deny")
            for server, tool in app.tools.approvals.always():
                app.tools.approvals.revoke(server, tool)


def visible_dialogs(window: QWidget) -> list[QDialog]:
    return [dialog for dialog in window.findChildren(QDialog) if dialog.isVisible()]


def test_every_dialog_returns_the_focus_to_the_composer(start: Start, qtbot: QtBot) -> None:
    app = start(ScriptedEngine())
    window, dialogs = app.window, app.window.dialogs
    with_arguments = {"show_document_page", "show_project_settings"}
    names = {name for name in dir(dialogs) if name.startswith("show_")} - {"show_logs"} - with_arguments
    app.tools.text_of_page = lambda document, page, project="": "Bees make honey."  # type: ignore[method-assign]

    def show_page() -> None:
        dialogs.show_document_page(PageRead("bees.md", 1))

    def show_project() -> None:
        dialogs.show_project_settings(app.library.add_project("Sums").id)

    shows = [*(getattr(dialogs, name) for name in sorted(names)), show_page, show_project]
    assert len(shows) > 10
    activate(app, qtbot)
    for show in shows:
        window.composer.focus()
        show()
        opened = visible_dialogs(window)
        assert opened, show.__name__
        for dialog in opened:
            dialog.close()
        app.until(lambda: not visible_dialogs(window))
        activate(app, qtbot)
        assert_focus_in_composer(app, show.__name__)
    for made in (window.top_bar.settings, window.top_bar.name):
        click(qtbot, made)
        dialogs.close_all()
        activate(app, qtbot)
        assert_focus_in_composer(app, made.accessibleName())


def test_no_button_of_the_window_takes_the_focus_when_it_is_clicked(start: Start) -> None:
    app = start(ScriptedEngine([answer("Fine.")]))
    app.ask("Hello")
    taking = [
        each.accessibleName() or type(each).__name__
        for each in app.window.findChildren(QAbstractButton)
        if each.focusPolicy() & Qt.FocusPolicy.ClickFocus
    ]
    assert taking == []


def test_the_focus_stays_where_the_user_moved_it(start: Start, qtbot: QtBot) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([[commit("Half "), gate, commit("whole."), done()]]))
    app.send("Hello")
    app.window.sidebar.search.setFocus()
    app.services.notices.post("Something happened.")
    gate.set()
    app.until(lambda: not app.activity.busy)
    app.services.notices.close_latest()
    assert app.window.focusWidget() is app.window.sidebar.search
