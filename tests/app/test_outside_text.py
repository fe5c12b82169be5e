"""Texts from other apps reach the message field of a new chat, and are never sent."""

from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from PySide6.QtCore import QEvent, Qt, QUrl
from PySide6.QtGui import QFileOpenEvent, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from app.application import FileOpening
from app.session import next_message
from app.system.chat_link import MAX_TEXT, link_to
from app.window import outside_text
from app.window.dock_menu import _new_chat, set_dock_menu
from app.window.outside_text import OutsideText
from tests.app.conftest import Start
from tests.app.scripted_engine import ScriptedEngine

LINK = "slipstream://new?text="
NOT_SENT = "Your message is no longer waiting to be sent. It is a draft in its chat."


def test_a_links_text_is_put_into_a_new_chat_and_drafts_are_kept(start: Start) -> None:
    app = start()
    outside = OutsideText(app.window)
    app.ask("One")
    first = app.session.chat
    app.type("to the first")
    app.window.showMinimized()
    outside.open_link(LINK + "%3Cb%3EHello%0A%F0%9F%98%80")
    assert app.session.chat.empty and app.window.composer.text == "<b>Hello\n\U0001f600"
    assert app.notices == ["This text comes from another app. Read it before you send it."]
    assert not app.window.isMinimized()
    for _ in range(2):  # a second click on the same link changes nothing
        outside.open_link(LINK + "More")
        assert app.window.composer.text == "<b>Hello\n\U0001f600\n\nMore"
    assert not app.activity.busy and len(app.library.entries) == 1
    app.session.open_chat(first.id)
    app.until(lambda: app.session.chat.id == first.id)
    assert app.window.composer.text == "to the first" and len(first.turns) == 1
    app.session.edit(first.turns[0])
    outside.ask("Selected text")
    assert app.window.composer.text.endswith("More\n\nSelected text") and app.session.editing is None


@pytest.mark.parametrize("used", [True, False])
def test_a_key_meant_for_another_app_sends_nothing(start: Start, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, used: bool) -> None:
    now = [100.0]
    monkeypatch.setattr(next_message, "monotonic", lambda: now[0])
    app = start()
    app.until(lambda: app.library.read)  # until then, links wait
    outside, field = OutsideText(app.window), app.window.composer.field
    app.type("Mine")
    outside.open_link(LINK + "Theirs" if used else "slipstream://send?text=x")
    for elapsed in (0.0, 0.59):
        now[0] = 100.0 + elapsed
        qtbot.keyClick(field, Qt.Key.Key_Return)
        app.window.composer.button.click()
    assert app.session.chat.empty and not app.message.note
    now[0] = 100.6
    held = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier, "\r", autorep=True)
    QApplication.sendEvent(field, held)
    assert app.session.chat.empty, "a key that is held down doesn't send"
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert app.session.chat.turns[0].prompt == ("Mine\n\nTheirs" if used else "Mine")
    app.idle()


def test_a_link_ends_the_wait_of_a_message_in_its_chat_with_a_notice(start: Start) -> None:
    engine = ScriptedEngine()
    engine.load_gate = gate = Event()
    app = start(engine, loaded=False)
    outside = OutsideText(app.window)
    app.start()
    app.until(lambda: app.library.read)
    app.send("Mine")
    app.until(lambda: not app.window.foot.waiting.isHidden())
    outside.open_link(LINK + "Theirs")
    gate.set()
    app.until(lambda: app.loader.pair is not None)
    assert app.window.foot.waiting.isHidden() and not app.window.composer.field.isReadOnly()
    assert app.window.composer.text == "Mine\n\nTheirs" and app.session.chat.empty and not app.activity.busy
    assert app.notices == [NOT_SENT, "This text comes from another app. Read it before you send it."]


@pytest.mark.parametrize("text", ["", "too much"])
def test_a_link_without_a_usable_text_lets_a_message_wait(start: Start, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(outside_text, "MAX_DRAFT", 3)
    engine = ScriptedEngine()
    engine.load_gate = gate = Event()
    app = start(engine, loaded=False)
    outside = OutsideText(app.window)
    app.start()
    app.until(lambda: app.library.read)
    app.send("Mine")
    outside.ask(text)
    assert app.message.note
    gate.set()
    app.until(lambda: bool(app.session.chat.turns))
    assert app.session.chat.turns[0].prompt == "Mine"
    app.idle()


def test_a_link_that_starts_the_app_is_used_after_the_last_chat_was_found(start: Start, tmp_path: Path) -> None:
    app = start(data=tmp_path)
    app.ask("One")
    app.quit()
    again = start(data=tmp_path, loaded=False)
    outside = OutsideText(again.window)
    outside.open_link(LINK + "Hello")
    outside.ask("World")
    assert again.window.composer.text == ""
    again.load()
    again.until(lambda: again.library.read)
    assert again.session.chat.empty and again.window.composer.text == "Hello\n\nWorld"
    again.until(lambda: again.loader.pair is not None)
    assert again.session.chat.empty


@pytest.mark.parametrize("read", [True, False])
def test_texts_that_arrive_during_quitting_are_drafts_after_the_next_start(start: Start, tmp_path: Path, read: bool) -> None:
    app = start(data=tmp_path, loaded=read)
    outside = OutsideText(app.window)
    if read:
        app.ask("One")
    outside.open_link(LINK + "Early")  # waits for the chats unless these are read
    app.window.close()
    outside.open_link(LINK + "Hello")
    outside.ask("World")
    outside.open_link("slipstream://send?text=x")
    app.slipstream.show_window()
    _new_chat(app.window)
    assert not app.window.isVisible()
    app.until(lambda: app.services.store.wait(0))
    outside.ask("Last")
    again = start(data=tmp_path)
    again.until(lambda: again.library.read)
    assert again.window.composer.text == "Early\n\nHello\n\nWorld\n\nLast"


def test_a_link_that_cannot_be_used_changes_nothing(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start()
    outside = OutsideText(app.window)
    app.ask("One")
    app.type("Mine")
    for link, words in (
        ("slipstream://send?text=x", "can't open this link"),
        (LINK + "x" * (MAX_TEXT + 1), "too long"),
    ):
        outside.open_link(link)
        assert len(app.notices) == 1 and words in app.notices[0]
    assert app.window.composer.text == "Mine" and not app.session.chat.empty
    monkeypatch.setattr(outside_text, "MAX_DRAFT", 3)
    outside.open_link(LINK + "fits")  # the draft of another chat doesn't count
    assert app.window.composer.text == "fits" and app.session.chat.empty
    outside.open_link(LINK + "x")
    assert "too long" in app.notices[-1] and app.window.composer.text == "fits"


def test_the_copied_link_to_a_chat_opens_it(start: Start) -> None:
    app = start()
    outside = OutsideText(app.window)
    assert not app.can("copy_link"), "a new chat isn't in the library"
    app.ask("One")
    first = app.session.chat
    app.run("copy_link")
    assert QGuiApplication.clipboard().text() == link_to(first.id)
    app.run("new_chat")
    app.type("Mine")
    app.window.showMinimized()
    outside.open_link(QGuiApplication.clipboard().text())
    app.until(lambda: app.session.chat is first)
    assert not app.window.isMinimized() and not app.notices and app.window.composer.text == ""
    app.run("new_chat")
    assert app.window.composer.text == "Mine"


def test_a_link_to_a_chat_that_is_not_here_says_so(start: Start) -> None:
    app = start()
    outside = OutsideText(app.window)
    app.ask("One")
    first = app.session.chat
    app.library.delete([first.id])
    app.ask("Two")
    second = app.session.chat
    for chat_id in (first.id, "unknown"):
        outside.open_link(link_to(chat_id))
        assert app.notices == ["The chat of this link isn't here. It was deleted, or it is on another computer."]
        assert app.session.chat is second
    app.library.undo()
    outside.open_link(link_to(first.id))
    app.until(lambda: app.session.chat.id == first.id)


def test_a_link_to_a_chat_that_starts_the_app_opens_it(start: Start, tmp_path: Path) -> None:
    app = start(data=tmp_path)
    app.ask("One")
    first = app.session.chat.id
    app.run("new_chat")
    app.ask("Two")
    app.quit()
    again = start(data=tmp_path, loaded=False)
    OutsideText(again.window).open_link(link_to(first))
    again.load()
    again.until(lambda: again.session.chat.id == first)
    assert again.texts[0][0] == "One"


def test_a_link_keeps_the_settings_of_an_empty_chat(start: Start) -> None:
    app = start()
    outside = OutsideText(app.window)
    app.until(lambda: app.library.read)
    app.session.set_settings(replace(app.session.chat.settings, private=True))
    app.type("Secret. Say Hello")
    outside.open_link(LINK + "Hello")
    assert app.session.chat.settings.private and app.window.composer.text == "Secret. Say Hello\n\nHello"


@pytest.mark.parametrize("valid", [True, False])
def test_a_link_opened_by_macos_is_no_file(qapp: QApplication, valid: bool) -> None:
    link = LINK + "a%20b" if valid else "slipstream://new:99999999?text=a"
    opening, links, files = FileOpening(lambda: True, qapp), [], []
    opening.link_opened.connect(links.append)
    opening.opened.connect(files.append)
    assert QUrl(link).isValid() == valid
    assert opening.eventFilter(qapp, QFileOpenEvent(QUrl(link) if valid else link))  # type: ignore[arg-type]
    assert links == [link] and not files
    opening.eventFilter(qapp, QFileOpenEvent(QUrl("https://example.org/x")))
    assert len(links) == 1 and not files


def test_new_chat_is_in_the_docks_menu(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start()
    set_dock_menu(app.window)  # does nothing here
    menus: list[QMenu] = []
    monkeypatch.setattr(QMenu, "setAsDockMenu", lambda menu: menus.append(menu), raising=False)
    set_dock_menu(app.window)
    app.ask("One")
    app.window.hide()
    [menu] = menus
    [action] = menu.actions()
    assert action.text() == "New Chat"
    action.trigger()
    assert app.window.isVisible() and app.session.chat.empty
