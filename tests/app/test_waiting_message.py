"""A message that is sent during the chat's reply waits for the reply to end."""

import threading
from pathlib import Path
from typing import get_args

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.storage.attached_files import read
from mlx_engine.contract.requests import LoadPair
from mlx_engine.mcp.approvals import Decision
from tests.app.conftest import Begin, Session, Start
from tests.app.scripted_engine import ScriptedEngine, answer, commit, done, refuse
from tests.app.test_remote import VLLM, connected, replies_asked
from tests.app.tools_in_chat import PRODUCT, ask_for_call, calling, decide, with_tools

WAITS = "The message will be sent when the reply has ended."


def last_prompts(app: Session) -> list[str]:
    return [request.messages[-1].content for request in app.engine.requests if request.messages[-1].role == "user"]


@pytest.mark.parametrize("decision", get_args(Decision))
def test_a_message_waits_behind_an_approval_card(begin: Begin, decision: Decision) -> None:
    app, _ = with_tools(begin, [calling(PRODUCT), answer("It is 1,888,264."), answer("Twice is more.")], calculator="1888264")
    ask_for_call(app)
    app.send("And twice that?")
    assert app.message.note == f"{WAITS} A tool call needs your approval."
    assert app.notices == [] and app.message.text == "And twice that?"
    assert app.reply_runner.asking, "Return allows nothing"
    assert not app.meter.counting, "it is counted when the reply has ended"
    decide(app, decision)
    app.until(lambda: len(last_prompts(app)) == 2 and not app.activity.busy)
    assert last_prompts(app)[-1] == "And twice that?"
    assert app.message.text == "" and not app.message.note
    assert app.session.chat.turns[-1].reply.answer == "Twice is more."


def test_a_waiting_message_is_sent_when_the_reply_ends(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([[commit("a"), gate, done()]]))
    app.send("One")
    app.send("Two")
    assert app.message.note == WAITS and app.notices == []
    gate.set()
    app.until(lambda: len(app.engine.requests) == 2 and not app.activity.busy)
    assert last_prompts(app) == ["One", "Two"] and app.message.text == ""


def test_a_message_that_waits_for_tools_is_never_sent_in_another_chat(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    app.ask("Other")
    other = app.session.chat
    app.session.new_chat()
    app.type("Mine")
    app.until(lambda: not app.meter.counting)
    monkeypatch.setattr(app.session, "tools_starting", lambda example="": app.session.chat.id != other.id)
    app.message.send()
    assert app.message.note == "The message will be sent when the tools are ready."
    app.session.open_chat(other.id)
    app.until(lambda: app.session.chat.id == other.id)
    other = app.session.chat
    assert len(other.turns) == 1 and not app.activity.busy and app.message.text == ""
    app.session.new_chat()
    assert app.message.text == "Mine" and not app.message.note


@pytest.mark.parametrize("way", ["text from outside", "New Chat", "another chat", "end of the edit"])
def test_an_edited_message_that_waits_is_kept(begin: Begin, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    app = begin()
    app.ask("Other")
    other = app.session.chat.id
    app.session.new_chat()
    app.ask("One")
    chat = app.session.chat
    app.type("Later")
    app.session.edit(chat.turns[0])
    monkeypatch.setattr(app.session, "tools_starting", lambda example="": True)
    app.send("Edited")
    assert app.message.note
    if way == "text from outside":
        app.message.put_back()
    elif way == "end of the edit":
        app.session.cancel_edit()
    elif way == "another chat":
        app.session.open_chat(other)
        app.until(lambda: app.session.chat.id == other)
    app.session.new_chat()
    app.session.open_chat(chat.id)
    app.until(lambda: app.session.chat.id == chat.id)
    if way == "end of the edit":
        assert app.message.text == "Later\n\nEdited" and app.session.editing is None
    else:
        assert (app.message.text, app.message.draft) == ("Edited", "Later") and app.session.editing is chat.turns[0]
    waits = way in ("New Chat", "another chat")
    assert bool(app.message.note) == waits and len(app.notices) == (not waits)


def test_a_waiting_message_can_be_edited_and_is_sent_as_edited(start: Start, qtbot: QtBot) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([[commit("a"), gate, done()]]))
    app.send("One")
    field, bar = app.window.composer.field, app.window.foot.waiting
    app.type("Two")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert not field.isReadOnly() and bar.isVisible() and bar.label.text() == WAITS
    qtbot.keyClicks(field, " and")
    assert not bar.isVisible(), "what is being edited isn't sent"
    qtbot.keyClicks(field, " three")
    edited = field.toPlainText()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert bar.isVisible()
    gate.set()
    app.until(lambda: len(app.engine.requests) == 2 and not app.activity.busy)
    assert len(edited) == len("Two and three") and last_prompts(app) == ["One", edited.strip()]


@pytest.mark.parametrize("way", ["Cancel", "Stop", "error", "edit"])
def test_a_waiting_message_that_is_not_sent_stays_in_the_composer(begin: Begin, way: str) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([[commit("a"), gate, *([refuse("It broke.")] if way == "error" else []), done()]]))
    app.send("One")
    chat = app.session.chat
    app.send("Two")
    if way == "Cancel":
        app.message.cancel()
    elif way == "Stop":
        app.until(lambda: bool(app.engine.requests))
        app.run("stop")
    elif way == "edit":
        app.type("Two or three")
    gate.set()
    app.until(lambda: not app.activity.busy)
    app.session.open_chat(chat.id)
    app.until(lambda: app.session.chat is chat)
    app.until(lambda: not app.meter.counting)  # which sends what waits
    assert not app.message.note and len(app.engine.requests) == 1
    assert app.message.text == ("Two or three" if way == "edit" else "Two")


def test_a_message_that_waits_at_launch_stays_in_its_new_chat(begin: Begin, tmp_path: Path) -> None:
    """The chat that was open last got it."""
    app = begin(data=tmp_path)
    app.ask("Last")
    app.quit()
    engine = ScriptedEngine()
    engine.load_gate = gate = threading.Event()
    again = begin(engine, loaded=False, data=tmp_path)
    again.start()
    again.send("Early")
    assert again.message.note == "The message will be sent when the models have loaded."
    again.until(lambda: again.library.read)
    gate.set()
    again.until(lambda: len(engine.requests) == 1 and not again.activity.busy)
    assert again.texts == [("Early", "Fine.")] and len(again.library.entries) == 2


def test_a_message_waits_while_the_files_of_another_pair_are_checked(begin: Begin) -> None:
    """The old pair is still loaded then, but the reply would run on the new one."""
    app = begin()
    pair = app.loader.pair
    app.activity.use()
    assert app.loader.pair is pair and not app.loader.ready
    app.send("For the next pair")
    assert app.message.note == "The message will be sent when the models have loaded." and not app.session.chat.turns
    app.until(lambda: bool(app.session.chat.turns) and not app.activity.busy)
    assert app.loader.pair is not pair and last_prompts(app) == ["For the next pair"]


def test_a_message_that_waited_for_models_is_kept_if_they_cannot_be_loaded(begin: Begin) -> None:
    engine = ScriptedEngine(load_error=refuse("No memory."))
    engine.load_gate = gate = threading.Event()
    app = begin(engine, loaded=False)
    app.start()
    app.send("One")
    assert app.message.note == "The message will be sent when the models have loaded."
    gate.set()
    app.until(lambda: not app.loader.running)
    assert app.message.text == "One" and not app.message.note
    assert app.notices == ["No memory."]  # and none about the message, which the user didn't send just now
    engine.load_error = None
    app.activity.use()
    app.until(lambda: app.loader.pair is not None)
    app.until(lambda: not app.meter.counting)
    assert not engine.requests and app.message.text == "One"


def test_a_file_that_is_attached_goes_with_the_message_that_waits(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attaching took the message out of the queue, and said that a file was still being read."""
    gate = threading.Event()
    app = begin(ScriptedEngine([[gate, commit("First."), done()]]))
    app.send("One")
    app.send("Two")
    waits = app.message.note
    assert waits
    reading = threading.Event()
    monkeypatch.setattr("app.session.attachment_reader.read", lambda path, cancel: (reading.wait(60), read(path))[1])
    (note := tmp_path / "n.txt").write_text("content")
    app.attachments.attach([note])
    app.until(lambda: bool(app.attachments.reading))
    assert app.message.note == waits and app.notices == []
    gate.set()
    app.until(lambda: not app.activity.busy)
    assert app.message.note == "The message will be sent when its files have been read."
    reading.set()
    app.until(lambda: len(app.engine.requests) == 2 and not app.activity.busy)
    sent = app.engine.requests[-1].messages[-1].content
    assert sent.endswith("Two") and "content" in sent


@pytest.mark.parametrize("here", [False, True])
def test_a_refused_file_stops_only_the_message_that_it_belongs_to(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: bool
) -> None:
    """A file for the draft of another chat stopped the message that was waiting in the open chat."""
    gate, reads = threading.Event(), threading.Event()
    app = begin(ScriptedEngine([answer("1"), [gate, commit("First."), done()], answer("3")]))
    app.ask("Other")

    def refused(path: Path, cancel: threading.Event) -> None:
        reads.wait()
        raise refuse("It is damaged.")

    monkeypatch.setattr("app.session.attachment_reader.read", refused)
    if not here:
        app.attachments.attach([tmp_path / "a.txt"])
    app.session.new_chat()
    app.send("One")
    app.send("Two")
    if here:
        app.attachments.attach([tmp_path / "a.txt"])
    assert app.message.note
    reads.set()
    app.until(lambda: any("damaged" in one for one in app.notices))
    gate.set()
    app.until(lambda: not app.activity.busy and not app.message.note)
    assert [turn.prompt for turn in app.session.chat.turns] == (["One"] if here else ["One", "Two"])
    assert app.message.text == ("Two" if here else "")


def test_a_waiting_edit_whose_message_is_hidden_joins_the_unsent_message(begin: Begin) -> None:
    """The notice called it a draft of its chat, where the message field was empty."""
    gate = threading.Event()
    app = begin(ScriptedEngine([answer("1"), answer("2"), answer("1 again"), [gate, commit("3"), done()]]))
    app.ask("One")
    app.ask("Two")
    chat = app.session.chat
    first, second = chat.turns
    app.session.regenerate(first)
    app.idle()
    assert chat.turns[0].answered is not None
    app.session.switch(chat.turns[0].answered, -1)
    app.send("Three")
    app.type("Later")
    app.session.edit(second)
    app.send("Two, edited")
    assert app.message.note == WAITS and first.answered is not None
    app.session.switch(first.answered, 1)
    assert app.message.text == "Later\n\nTwo, edited" and not app.message.note
    assert app.notices == ["Your message is no longer waiting to be sent. It is a draft in its chat."]
    gate.set()
    app.idle()
    assert len(app.engine.requests) == 4


def test_an_edit_that_waits_for_its_files_is_not_sent_when_it_is_given_up(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = begin()
    app.ask("One")
    reads = threading.Event()
    monkeypatch.setattr("app.session.attachment_reader.read", lambda path, cancel: reads.wait() and read(path, cancel))
    app.session.edit(app.session.chat.turns[0])
    app.attachments.attach([tmp_path / "a.txt"])
    app.send("Edited")
    assert app.message.note == "The message will be sent when its files have been read."
    app.session.cancel_edit()
    reads.set()
    app.idle()
    assert len(app.engine.requests) == 1 and app.message.text == "Edited"


def test_quitting_sends_no_message_that_waits_for_its_file(begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin(data=tmp_path)
    app.ask("One")
    monkeypatch.setattr("app.session.attachment_reader.read", lambda path, cancel: (cancel.wait(60), read(path))[1])
    (file := tmp_path / "a.txt").write_text("hello")
    app.attachments.attach([file])
    app.send("Two")
    assert app.message.note
    app.quit()
    assert last_prompts(app) == ["One"]
    again = begin(data=tmp_path)
    again.until(lambda: bool(again.session.chat.turns))
    assert [turn.prompt for turn in again.session.chat.turns] == ["One"] and again.message.text == "Two"


def test_another_version_keeps_a_waiting_message_from_being_sent_and_says_so(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([answer("First"), [commit("Second"), gate, done()]]))
    app.ask("One")
    chat = app.session.chat
    app.session.regenerate(chat.turns[0])
    app.until(lambda: chat.turns[0].reply.answer == "Second")
    app.send("Two")
    assert app.message.note == WAITS
    app.session.switch(chat.turns[0].answered, -1)
    assert not app.message.note and app.message.text == "Two"
    assert app.notices == ["Your message is no longer waiting to be sent. It is a draft in its chat."]
    gate.set()
    app.idle()


@pytest.mark.parametrize("blocker", ["comparison", "models"])
def test_a_reply_that_waits_for_tools_waits_for_all_else_too(begin: Begin, monkeypatch: pytest.MonkeyPatch, blocker: str) -> None:
    """It was given up with the refusal of the comparison, which was cleared as soon as the comparison ended."""
    gate = threading.Event()
    app = begin(ScriptedEngine([answer("First."), *([[gate, *answer("Plain.")]] if blocker == "comparison" else [])]))
    app.ask("One")
    starting = [True]
    monkeypatch.setattr(app.session, "tools_starting", lambda example="": starting[0])
    app.session.regenerate(app.session.chat.turns[0])
    assert app.message.note == "The reply will start when the tools are ready."
    if blocker == "comparison":
        app.services.comparer.compare()
    else:
        app.engine.load_gate = gate
        app.activity.use()
    starting[0] = False
    app.tools.changed.emit()
    waits_for = "the comparison has ended" if blocker == "comparison" else "the models have loaded"
    assert app.message.note == f"The reply will start when {waits_for}." and app.notices == []
    gate.set()
    app.until(lambda: app.session.chat.turns[0].answered.place == (2, 2) and not app.activity.busy)  # type: ignore[union-attr]
    assert not app.message.note and app.notices == []


@pytest.mark.parametrize("way", ["message", "New Chat", "edit"])
def test_a_reply_that_no_longer_waits_to_start_says_so(begin: Begin, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    app = begin()
    app.ask("One")
    monkeypatch.setattr(app.session, "tools_starting", lambda example="": True)
    app.session.regenerate(app.session.chat.turns[0])
    assert app.message.note
    if way == "message":
        app.send("Two")
        assert app.message.note == "The message will be sent when the tools are ready."
    elif way == "New Chat":
        app.session.new_chat()
    else:
        app.session.edit(app.session.chat.turns[0])
    assert app.notices == ["The reply in “One” didn't start. Try again there."]


def test_a_message_for_a_pair_that_is_not_loaded_does_not_go_to_the_server(begin: Begin) -> None:
    app = begin()
    with connected(app, VLLM) as replay:
        gate = app.engine.load_gate = threading.Event()
        app.engine.load_error = refuse("No memory.")
        app.activity.use()
        app.send("For this computer only")
        assert app.message.note == "The message will be sent when the models have loaded."
        gate.set()
        app.until(lambda: not app.loader.running)
        assert app.loader.sent_to and replies_asked(replay) == 0
        assert (app.message.text, app.message.note) == ("For this computer only", "")
        assert app.notices[-1] == "Your message wasn't sent, because the model it was for isn't available."


def test_a_pair_that_is_chosen_during_a_load_is_refused_aloud(begin: Begin) -> None:
    """Nothing happened, and nothing was said."""
    app = begin()
    gate = app.engine.load_gate = threading.Event()
    app.activity.use()
    assert app.loader.running and not app.notices
    app.activity.use(LoadPair(Path("another")))
    assert app.notices == ["The models are still loading. Try again in a moment."]
    gate.set()
    app.until(lambda: not app.loader.running)
    assert app.notices == []
