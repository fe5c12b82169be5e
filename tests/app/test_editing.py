"""Messages that are edited: on which branch they are sent, and that their text is never lost."""

import shutil
from pathlib import Path

import pytest

from app.storage.schema import files_of
from app.storage.store import Store
from app.storage.stored_drafts import StoredDraft
from tests.app.conftest import Begin, Session
from tests.app.scripted_engine import ScriptedEngine, answer


def two_turns(begin: Begin) -> Session:
    app = begin(ScriptedEngine([answer("A1"), answer("A2"), answer("B1"), answer("C")]))
    app.ask("Q1")
    app.ask("Q2")
    return app


@pytest.mark.parametrize("way", ["regenerate", "search hit", "version"])
def test_an_edit_ends_when_its_message_is_no_longer_shown(begin: Begin, way: str) -> None:
    """The edit was sent on the hidden branch, and the transcript was empty."""
    app = two_turns(begin)
    session, chat = app.session, app.session.chat
    first, second = chat.turns
    if way != "regenerate":
        session.regenerate(first)
        app.idle()
        session.switch(chat.turns[0].answered, -1)
    assert app.texts == [("Q1", "A1"), ("Q2", "A2")]
    session.edit(second)
    app.type("Q2, edited")
    if way == "regenerate":
        session.regenerate(first)
        app.idle()
    elif way == "search hit":
        session.open_chat(chat.id, first.asked.children[1].id)
    else:
        session.switch(first.answered, 1)
    assert session.editing is None and app.texts == [("Q1", "B1")]
    app.ask("Q3")
    assert app.texts == [("Q1", "B1"), ("Q3", "C")]


def test_an_edit_goes_on_while_its_own_reply_is_generated_again(begin: Begin) -> None:
    app = two_turns(begin)
    app.session.edit(app.session.chat.turns[1])
    app.type("Q2, edited")
    app.session.regenerate(app.session.chat.turns[1])
    app.idle()
    assert app.session.editing is not None and app.message.text == "Q2, edited"
    app.ask("Q2, edited")
    assert app.texts == [("Q1", "A1"), ("Q2, edited", "C")]


def kept_edit(app: Session) -> tuple[str, str, bool]:
    """The text of the edit, the unsent message, and whether the edit is shown."""
    return app.message.text, app.message.draft, app.session.editing is not None


@pytest.mark.parametrize("way", ["another chat", "new chat"])
def test_an_edit_goes_on_when_its_chat_is_opened_again(begin: Begin, tmp_path: Path, way: str) -> None:
    app = begin()
    app.ask("Other")
    other = app.session.chat.id
    app.session.new_chat()
    app.ask("Q1")
    chat = app.session.chat
    app.type("A draft")
    app.session.edit(chat.turns[0])
    app.type("Three paragraphs")
    (tmp_path / "note.md").write_text("A note.")
    app.attachments.attach([tmp_path / "note.md"])
    app.until(lambda: len(app.attachments.files) == 1)
    if way == "another chat":
        app.session.open_chat(other)
        app.until(lambda: app.session.chat.id == other)
    else:
        app.session.new_chat()
    assert kept_edit(app) == ("", "", False) and not app.attachments.files
    app.session.open_chat(chat.id)
    assert kept_edit(app) == ("Three paragraphs", "A draft", True)
    assert [one.name for one in app.attachments.files] == ["note.md"]
    app.session.cancel_edit()
    assert kept_edit(app) == ("A draft", "A draft", False) and not app.attachments.files
    app.session.edit(chat.turns[0])
    assert app.message.text == "Q1", "a canceled edit is gone"


@pytest.mark.parametrize("way", ["edit of another message", "another version"])
def test_an_edit_that_ends_in_its_chat_is_kept_for_the_next_edit(begin: Begin, way: str) -> None:
    app = two_turns(begin)
    first, second = app.session.chat.turns
    app.session.edit(second)
    app.type("Q2, edited")
    if way == "another version":
        app.session.regenerate(first)
        app.idle()
        assert kept_edit(app) == ("", "", False)
        app.session.switch(app.session.chat.turns[0].answered, -1)
        assert app.session.editing is None
    else:
        app.session.edit(first)
        assert app.message.text == "Q1"
    app.session.edit(second)
    assert app.message.text == "Q2, edited"


def test_an_edit_and_the_files_of_a_draft_survive_a_restart(begin: Begin, tmp_path: Path) -> None:
    (data := tmp_path / "data").mkdir()
    (tmp_path / "note.md").write_text("A note.")
    app = begin(data=data)
    app.ask("Q1")
    app.attachments.attach([tmp_path / "note.md"])
    app.until(lambda: len(app.attachments.files) == 1)
    app.type("A draft")
    app.session.edit(app.session.chat.turns[0])
    app.type("Q1, edited")
    app.quit()
    again = begin(data=data)
    again.until(lambda: bool(again.session.chat.turns))
    assert kept_edit(again) == ("Q1, edited", "A draft", True)
    again.ask("Q1, edited")
    assert kept_edit(again) == ("A draft", "A draft", False)
    assert [(one.name, one.text) for one in again.attachments.files] == [("note.md", "A note.")]
    again.ask("A draft")
    again.quit()
    third = begin(data=data)
    third.until(lambda: bool(third.session.chat.turns))
    assert kept_edit(third) == ("", "", False) and not third.attachments.files


def test_typing_is_saved_without_the_settings_file(begin: Begin, tmp_path: Path) -> None:
    """A crash lost it, or each second of typing wrote all settings on the window's thread."""
    app = begin(data=tmp_path)
    app.until(lambda: app.library.read)
    app.services.drafts._timer.setInterval(1)
    stored: list[StoredDraft] = []
    app.type("Not sent")
    app.until(lambda: not app.services.drafts._timer.isActive())
    app.services.store.read(Store.contents, lambda contents: stored.extend(contents.drafts))
    app.until(lambda: bool(stored))
    assert [(one.chat, one.text) for one in stored] == [("", "Not sent")]
    assert not app.services.settings.contains("drafts")
    (other := tmp_path / "other").mkdir()
    for file in files_of(tmp_path / "chats.db"):
        if file.exists():
            shutil.copy(file, other)
    again = begin(data=other)
    again.until(lambda: again.library.read)
    assert again.message.text == "Not sent"


def test_drafts_of_erased_chats_are_erased(begin: Begin, tmp_path: Path) -> None:
    app = begin(data=tmp_path)
    app.ask("Gone")
    app.type("A secret")
    chat = app.session.chat.id
    app.services.drafts.save()
    app.library.delete([chat])
    app.quit()
    assert b"A secret" not in (tmp_path / "chats.db").read_bytes()
