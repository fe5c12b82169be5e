"""A chat that has filled the context goes on in a rolling window, or in a new chat with a summary."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from app.storage.attached_files import read
from app.storage.chat_tree import Chat
from app.views.chat.full_context import FullContextBar
from app.views.transcript.message_views import DividerView
from mlx_engine.contract.requests import LoadPair
from tests.app.conftest import Begin, Session, Start
from tests.app.scripted_engine import PAIR, Script, ScriptedEngine, answer, commit, done, refuse, words


def small_engine(*replies: Script) -> ScriptedEngine:
    """An engine with a context of 100 words."""
    engine = ScriptedEngine(replies, pair=replace(PAIR, context_limit=100))
    engine.counts_words = True
    return engine


def fill(app: Session) -> None:
    """Ask until the chat has filled the context."""
    app.session.set_settings(replace(app.session.chat.settings, system="Be brief."))
    for number in range(3):
        app.ask(f"Question {number}")
    app.until(lambda: app.message.chat_full)


LONG = [answer("word " * size + "end") for size in (29, 29, 35)]


def test_a_full_chat_goes_on_in_a_rolling_window(start: Start, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    app = start(small_engine(*LONG, answer("Four.")), data=tmp_path / "data")
    fill(app)
    assert app.window.foot.full.label.text() == (
        "The model's context is full. Continue here, start a new chat, or edit an earlier message."
    )
    app.window.foot.full.roll.click()
    app.until(lambda: not app.window.foot.full.isVisible())
    app.ask("Question 3")
    request = app.engine.requests[-1]
    assert words(request.messages) > 100
    assert [message.content for message in request.messages][::2] == ["Be brief.", *(LONG_ANSWERS)]
    assert request.rolling == 0 and app.session.chat.turns[3].reply.left_out == 4
    assert [prompt for prompt, _ in app.texts] == [f"Question {number}" for number in range(4)], "the chat stays complete"
    kinds = [item.kind for item in app.window.transcript.column.items]
    assert kinds == ["prompt", "reply", "prompt", "reply", "divider", "prompt", "reply", "prompt", "reply"]
    (divider,) = app.window.transcript.findChildren(DividerView)
    assert divider.label.text() == "The model no longer sees messages above this line."
    chat = app.session.chat.id
    app.quit()
    again = start(small_engine(answer("Five.")), data=tmp_path / "data")
    again.until(lambda: again.session.chat.id == chat)
    assert [item.kind for item in again.window.transcript.column.items] == kinds
    assert again.window.menus["rolling"].isChecked()
    again.ask("Question 4")
    assert again.engine.requests[-1].rolling == 4, "messages that were left out stay left out"


LONG_ANSWERS = ["word " * 29 + "end", "word " * 29 + "end", "word " * 35 + "end"]


def test_a_reply_that_filled_the_context_is_continued_in_the_window(begin: Begin) -> None:
    cut_off = [commit("word " * 70, 70), done(reason="length", tokens=70)]
    app = begin(small_engine(answer("word " * 28), cut_off, [commit("end."), done(tokens=1)]))
    app.ask("One")
    app.ask("Two")
    app.until(lambda: app.message.chat_full)
    app.session.continue_rolling()
    app.idle()
    assert app.session.chat.turns[1].reply.answer == "word " * 70 + "end."
    assert app.engine.requests[-1].rolling == 0 and app.engine.requests[-1].continue_from == "word " * 70


def test_a_new_chat_opens_with_a_summary(begin: Begin) -> None:
    app = begin(small_engine(*LONG, answer("We counted words.")))
    app.activity.use(LoadPair(Path("target")))
    app.until(lambda: not app.loader.running)
    app.services.preferences.chat_titles = False
    fill(app)
    bar = FullContextBar(app.theme, app.services)
    bar.summarize.click()
    app.until(lambda: app.session.chat.empty)
    assert app.message.text == "Summary of “Question 0”:\n\nWe counted words.\n\n"
    request = app.engine.requests[-1]
    assert request.foreground, "the user waits for it"
    assert request.messages[-1].content.startswith("Summarize our conversation") and request.rolling == 0
    assert app.session.chat.settings.system == "Be brief." and not app.session.chat.settings.rolling
    app.until(lambda: not app.message.chat_full)


def test_a_summary_can_be_canceled(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(small_engine(*LONG, [commit("We"), gate, done()], answer("Again.")))
    app.activity.use(LoadPair(Path("target")))
    app.until(lambda: not app.loader.running)
    app.services.preferences.chat_titles = False
    fill(app)
    chat, bar = app.session.chat, FullContextBar(app.theme, app.services)
    bar.summarize.click()
    assert bar.label.text() == "Summarizing the chat…" and not bar.roll.isVisible()
    app.until(lambda: len(app.engine.requests) == 4)
    bar.cancel.click()
    app.until(lambda: app.engine.closed_early == 1 and not app.services.engine.busy)
    assert app.session.chat is chat and bar.roll.isVisible() and app.message.text == ""


@pytest.mark.parametrize("way", ["send", "edit", "quit"])
def test_a_summary_that_ends_does_not_take_the_chat_away(begin: Begin, way: str) -> None:
    """It opened a new chat in the middle of a reply or of an edit, and while the app quit."""
    gate = threading.Event()
    app = begin(small_engine(*LONG, [commit("We counted."), gate, done()], answer("Four.")))
    app.activity.use(LoadPair(Path("target")))
    app.until(lambda: not app.loader.running)
    app.services.preferences.chat_titles = False
    fill(app)
    chat, summary = app.session.chat, app.services.summary
    summary.start()
    assert app.activity.busy and app.activity.refusal() is not None
    app.until(lambda: len(app.engine.requests) == 4)
    if way == "send":
        app.session.regenerate(chat.turns[-1])
        assert app.notices == ["A summary is being written. Wait for it to finish, or cancel it."]
        summary.cancel()
        assert not app.activity.busy
    elif way == "edit":
        app.session.edit(chat.turns[0])
        app.type("Question 0, edited")
        gate.set()
        app.until(lambda: not summary.running)
        assert app.message.text == "Question 0, edited" and app.notices[-1] == "The summary is ready."
        app.press("Open New Chat")
        assert app.session.chat.empty and app.message.text == "Summary of “Question 0”:\n\nWe counted.\n\n"
        app.session.open_chat(chat.id)
        assert app.message.text == "Question 0, edited"
    else:
        app.services.close()
        app.until(lambda: not summary.running)
    assert app.session.chat is chat


def start_summary(begin: Begin, *script: object) -> tuple[Session, Chat]:
    """Return an app that summarizes a full chat, with a message that waits for it."""
    app = begin(small_engine(*LONG, script, answer("Go on."), answer("More.")))  # type: ignore[arg-type]
    app.activity.use(LoadPair(Path("target")))
    app.until(lambda: not app.loader.running)
    app.services.preferences.chat_titles = False
    fill(app)
    app.services.summary.start()
    app.send("And now?")
    assert app.message.note == "The message will be sent with the summary, in the new chat." and app.notices == []
    return app, app.session.chat


def test_a_message_waits_for_the_summary_and_goes_with_it(begin: Begin, tmp_path: Path) -> None:
    """Return was refused."""
    gate = threading.Event()
    app, chat = start_summary(begin, commit("We counted."), gate, done())
    (file := tmp_path / "note.txt").write_text("content")
    app.attachments.attach([file])
    app.until(lambda: bool(app.attachments.files))
    gate.set()
    app.until(lambda: app.session.chat is not chat and bool(app.session.chat.turns) and not app.activity.busy)
    assert app.texts == [("Summary of “Question 0”:\n\nWe counted.\n\nAnd now?", "Go on.")]
    assert "content" in app.engine.requests[-1].messages[-1].content
    app.session.open_chat(chat.id)
    assert app.message.text == "" and app.attachments.files == [] and len(chat.turns) == 3


def test_a_file_that_is_read_after_the_summary_is_sent_with_it(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, readable = threading.Event(), threading.Event()
    monkeypatch.setattr("app.session.attachment_reader.read", lambda path, cancel: (readable.wait(60), read(path))[1])
    app, chat = start_summary(begin, commit("We counted."), written, done())
    (file := tmp_path / "note.txt").write_text("content")
    app.attachments.attach([file])
    written.set()
    app.until(lambda: app.session.chat is not chat)
    assert app.message.note == "The message will be sent when its files have been read."
    readable.set()
    app.until(lambda: bool(app.session.chat.turns) and not app.activity.busy)
    assert app.texts == [("Summary of “Question 0”:\n\nWe counted.\n\nAnd now?", "Go on.")]
    assert "content" in app.engine.requests[-1].messages[-1].content


def test_a_message_in_the_next_new_chat_is_not_sent_with_a_summary(begin: Begin) -> None:
    gate = threading.Event()
    app, chat = start_summary(begin, commit("We counted."), gate, done())
    app.services.drafts.of(Chat()).text = "Not to be sent"
    gate.set()
    app.until(lambda: app.session.chat is not chat)
    assert app.message.text == "Summary of “Question 0”:\n\nWe counted.\n\nNot to be sent\n\nAnd now?"
    assert not app.message.note and app.session.chat.empty


@pytest.mark.parametrize("way", ["cancel", "failure", "nothing", "another chat"])
def test_a_message_without_its_summary_is_kept(begin: Begin, way: str) -> None:
    gate = threading.Event()
    said = {"cancel": [commit("We"), gate, done()], "failure": [gate, refuse("No.")], "nothing": [gate, done()]}
    app, chat = start_summary(begin, *said.get(way, [gate, commit("We counted."), done()]))
    if way == "another chat":
        app.session.new_chat()
    elif way == "cancel":
        app.services.summary.cancel()
    gate.set()
    app.until(lambda: not app.activity.busy and not app.services.engine.busy)
    app.session.open_chat(chat.id)
    app.until(lambda: app.session.chat is chat and not app.meter.counting)
    assert app.message.text == "And now?" and not app.message.note and len(app.engine.requests) == 4
    assert any("It is a draft in its chat." in one for one in app.notices)


def test_an_edit_waits_for_the_summary_and_is_sent_in_its_chat(begin: Begin) -> None:
    gate = threading.Event()
    app, chat = start_summary(begin, commit("We counted."), gate, done())
    app.message.cancel()
    app.session.edit(chat.turns[0])
    app.send("Question 0, edited")
    assert app.message.note == "The message will be sent when the summary has been written."
    gate.set()
    app.until(lambda: len(app.engine.requests) == 5 and not app.activity.busy)
    assert app.session.chat is chat and app.texts == [("Question 0, edited", "Go on.")]
    assert app.notices == ["The summary is ready."]


def test_the_demo_pair_offers_no_summary(begin: Begin) -> None:
    app = begin(small_engine(*LONG))
    fill(app)
    bar = FullContextBar(app.theme, app.services)
    bar.refresh()
    assert bar.roll.isVisible() and not bar.summarize.isVisible()
