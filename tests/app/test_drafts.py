"""Unsent messages stay with their chats, also across restarts."""

from pathlib import Path

import pytest

from tests.app.conftest import Begin, Start


def test_an_unsent_message_is_restored_after_a_restart(begin: Begin, tmp_path: Path) -> None:
    app = begin(data=tmp_path)
    app.ask("One")
    app.type('Not sent,\nyet: "ü" 中')
    app.session.edit(app.session.chat.turns[0])
    app.quit()
    again = begin(data=tmp_path)
    again.until(lambda: again.message.text == 'Not sent,\nyet: "ü" 中')


def test_the_models_and_the_window_are_saved_without_quitting(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were saved at quitting only, so that a crash or `kill -9` lost them."""
    monkeypatch.setattr("app.window.main_window.SAVE_MS", 50)
    settings = tmp_path / "settings.ini"
    app = start(data=tmp_path)
    app.session.change(thinking=True)
    app.window.split.toggle_sidebar()
    saved = ("target=", "thinking=true", "sidebar=false")
    app.until(lambda: settings.exists() and all(one in settings.read_text() for one in saved))
    before = settings.read_text()
    app.window.resize(app.window.width() + 100, app.window.height())
    app.until(lambda: settings.read_text() != before)


def test_an_unsent_message_stays_with_its_chat(begin: Begin, tmp_path: Path) -> None:
    app = begin()
    app.ask("One")
    note = tmp_path / "note.md"
    note.write_text("A note.")
    app.attachments.attach([note])
    app.until(lambda: len(app.attachments.files) == 1)
    app.type("to the first")
    app.session.new_chat()
    assert app.message.text == "" and not app.attachments.files
    app.type("to a new one")
    first = next(iter(app.library.entries))
    app.session.open_chat(first)
    app.until(lambda: app.session.chat.id == first)
    assert app.message.text == "to the first" and [one.name for one in app.attachments.files] == ["note.md"]
    app.session.new_chat()
    app.ask(app.message.text)
    assert [turn.prompt for turn in app.session.chat.turns] == ["to a new one"]
    app.session.new_chat()
    assert app.message.text == "", "a sent message is not a draft"


def test_text_typed_while_the_last_chat_opens_stays(begin: Begin, tmp_path: Path) -> None:
    app = begin(data=tmp_path)
    app.ask("One")
    app.quit()
    again = begin(data=tmp_path, loaded=False)
    again.type("In a hurry")
    again.load()
    again.until(lambda: not again.session.chat.empty)
    assert again.message.text == "In a hurry"
