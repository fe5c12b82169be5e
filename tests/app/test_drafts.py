"""Unsent messages stay with their chats, also across restarts."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.storage.database import OpenedStore, open_store
from app.storage.store import Store
from app.storage.stored_drafts import StoredDraft
from tests.app.conftest import Begin, Session, Start
from tests.app.scripted_engine import ScriptedEngine

OpenLater = Callable[[], threading.Event]


@pytest.fixture
def open_later(monkeypatch: pytest.MonkeyPatch) -> OpenLater:
    """Returns an event that the database of the next app waits for, as if it were large."""

    def open_later() -> threading.Event:
        gate = threading.Event()

        def opened(data: Path | None, writable: bool) -> OpenedStore:
            gate.wait()
            return open_store(data, writable)

        monkeypatch.setattr("app.session.services.open_store", opened)
        return gate

    return open_later


def limit_pages(app: Session, pages: int) -> None:
    """Let the database have no more pages than these, as on a full disk."""
    limits: list[int] = []
    app.services.store.read(lambda store: store._db.execute(f"PRAGMA max_page_count = {pages}").fetchone()[0], limits.append)
    app.until(lambda: bool(limits))


def stored(app: Session) -> list[StoredDraft]:
    """Return what the database has now."""
    found: list[tuple[StoredDraft, ...]] = []
    app.services.store.read(lambda store: store.contents().drafts, found.append)
    app.until(lambda: bool(found))
    return list(found[0])


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


def test_a_message_that_waits_at_launch_gets_nothing_of_an_earlier_draft(
    begin: Begin, tmp_path: Path, open_later: OpenLater
) -> None:
    """It was sent with the text and the files of the draft, which weren't on the screen."""
    app = begin(data=tmp_path)
    app.ask("Last")
    app.session.new_chat()
    (tmp_path / "note.md").write_text("A note.")
    app.attachments.attach([tmp_path / "note.md"])
    app.until(lambda: len(app.attachments.files) == 1)
    app.type("Not to be sent")
    app.quit()
    engine = ScriptedEngine()
    engine.load_gate = loads = threading.Event()
    opens = open_later()
    again = begin(engine, loaded=False, data=tmp_path)
    again.start()
    again.send("Early")
    assert again.message.note
    opens.set()
    again.until(lambda: again.library.read)
    again.services.drafts.save()
    assert [one.text for one in stored(again)] == ["Not to be sent\n\nEarly"], "both are there after a crash"
    loads.set()
    again.until(lambda: len(engine.requests) == 1 and not again.activity.busy)
    asked = again.session.chat.turns[0].asked
    assert again.texts == [("Early", "Fine.")] and asked is not None and not asked.attachments
    again.session.new_chat()
    assert again.message.text == "Not to be sent" and [one.name for one in again.attachments.files] == ["note.md"]
    again.services.drafts.save()
    assert [(one.chat, one.text, len(one.attachments)) for one in stored(again)] == [("", "Not to be sent", 1)]


@pytest.mark.parametrize("way", ["restart", "another chat"])
def test_a_message_that_stops_waiting_at_launch_and_an_earlier_draft_are_kept(
    begin: Begin, tmp_path: Path, open_later: OpenLater, way: str
) -> None:
    app = begin(data=tmp_path)
    app.ask("Last")
    last = app.session.chat.id
    app.session.new_chat()
    app.type("Earlier")
    app.quit()
    engine = ScriptedEngine()
    engine.load_gate = threading.Event()
    opens = open_later()
    again = begin(engine, loaded=False, data=tmp_path)
    again.start()
    again.send("Early")
    opens.set()
    again.until(lambda: again.library.read)
    again.message.cancel()
    if way == "another chat":
        again.session.open_chat(last)
        again.until(lambda: again.session.chat.id == last)
        assert again.message.text == "", "the message belongs to a new chat"
    engine.load_gate.set()
    again.quit()
    third = begin(data=tmp_path)
    third.until(lambda: third.library.read)
    third.session.new_chat()
    assert third.message.text == "Earlier\n\nEarly"


@pytest.mark.parametrize("earlier", ["", "Earlier"])
@pytest.mark.parametrize("read", [False, True])
def test_what_is_typed_at_launch_follows_an_earlier_draft_as_it_was_typed_last(
    begin: Begin, tmp_path: Path, open_later: OpenLater, earlier: str, read: bool
) -> None:
    """Each version that was saved came back. `read`: whether the database is read before the app quits."""
    app = begin(data=tmp_path)
    app.type(earlier)
    app.quit()
    opens = open_later()
    again = begin(loaded=False, data=tmp_path)
    again.start()
    for text in ("Helo", "Hello"):
        again.type(text)
        again.services.drafts.save()
    if read:
        opens.set()
        again.until(lambda: again.library.read)
        assert again.message.text == f"{earlier}\n\nHello".strip()
    again.services.save_state()
    again.services.close()
    opens.set()
    again.wait_for_end()
    third = begin(data=tmp_path)
    third.until(lambda: third.library.read)
    assert third.message.text == f"{earlier}\n\nHello".strip()


@pytest.mark.parametrize("later", [False, True])
def test_drafts_of_an_earlier_version_stay_in_the_settings_until_the_database_has_them(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: bool
) -> None:
    """A full disk lost them. `later`: whether it has space again before the app quits."""
    monkeypatch.setattr("app.storage.store_thread.RETRY_S", 0.05)
    text = "word " * 20_000
    app = begin(data=tmp_path)
    app.until(lambda: app.library.read)  # which would take them over
    app.services.settings.setValue("drafts", json.dumps({"": text}))
    app.quit()
    create = Store.__init__

    def full(store: Store, file: Path | None) -> None:
        create(store, file)
        store._db.execute("PRAGMA max_page_count = 1")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "__init__", full)
        second = begin(data=tmp_path)
        second.until(lambda: any("Can't save" in notice for notice in second.notices))
    assert second.message.text == text and second.services.settings.contains("drafts")
    if later:
        limit_pages(second, 1_000_000)
        second.until(lambda: not second.services.settings.contains("drafts"))
    second.quit()
    third = begin(data=tmp_path)
    third.until(lambda: third.library.read)
    assert third.message.text == text
    third.until(lambda: not third.services.settings.contains("drafts"))
    third.type("Another")
    third.quit()
    fourth = begin(data=tmp_path)
    fourth.until(lambda: fourth.library.read)
    assert fourth.message.text == "Another"


def test_quitting_names_a_message_of_a_new_chat_that_cannot_be_saved(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was lost without a word."""
    monkeypatch.setattr("app.storage.store_thread.RETRY_S", 0.05)
    asked: list[str] = []
    monkeypatch.setattr("app.window.main_window.confirm", lambda parent, title, question, action: asked.append(question))
    app = start(data=tmp_path)
    app.until(lambda: app.library.read)
    limit_pages(app, 1)
    app.type("word " * 20_000)
    app.services.drafts.save()
    app.until(lambda: app.services.drafts.unsaved)
    assert not app.window.close() and app.window.isVisible()
    assert asked == ["The message for a new chat can't be saved. If you quit now, it will be lost."]
    for number in range(5):
        app.type("word " * 20_000 + str(number))
        app.services.drafts.save()
    stored(app)
    assert len(app.services.store._unwritten) == 1, "a full disk must not fill the memory"
    app.type("")
    assert not app.services.drafts.unsaved
    app.type("word " * 20_000)
    limit_pages(app, 1_000_000)
    app.services.drafts.save()
    app.until(lambda: not app.services.drafts.unsaved)
    assert app.window.close() and len(asked) == 1


def test_texts_that_come_before_the_chats_are_read_survive_quitting(start: Start, tmp_path: Path) -> None:
    """Also next to texts of an earlier version, which are removed from the settings once the database has them."""
    first = start(data=tmp_path)
    first.services.settings.setValue("drafts", json.dumps({"": "From an earlier version"}))
    first.quit()
    again = start(data=tmp_path, loaded=False)
    gate = threading.Event()
    again.services.store.read(lambda store: gate.wait(20), lambda _: None)
    again.start()
    again.type("Typed at launch")
    again.services.close()
    gate.set()
    again.until(lambda: again.library.read)
    again.wait_for_end()
    third = start(data=tmp_path)
    third.until(lambda: third.library.read)
    assert third.message.text == "From an earlier version\n\nTyped at launch"
