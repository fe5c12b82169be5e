"""Several chats reply at the same time, and a message waits in its chat, whichever is open."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.session import page_drawer
from app.storage.chat_tree import Chat
from mlx_engine.contract.events import LoadProgress
from mlx_engine.contract.requests import LoadPair
from tests.app.conftest import Begin, Session
from tests.app.scripted_engine import PAIR, Script, ScriptedEngine, answer, commit, done, refuse
from tests.app.test_chat_pages import scan, see  # noqa: F401 (a fixture)
from tests.app.tools_in_chat import PRODUCT, ask_for_call, calling, with_tools


def gated(text: str, gate: threading.Event) -> Script:
    """A reply whose second half waits."""
    return [commit(f"{text} "), gate, commit("whole."), done()]


DRAFT = "Your message in “One” wasn't sent. It is a draft there."


def refused_by(gate: threading.Event) -> Iterator[LoadProgress]:
    """Fail to load a pair, before the one in use is unloaded."""
    gate.wait()
    yield from ()
    raise refuse("No such file.")


def texts(chat: Chat) -> list[tuple[str, str]]:
    return [(turn.prompt, turn.reply.answer) for turn in chat.turns]


def open_chat(app: Session, chat: Chat) -> None:
    app.session.open_chat(chat.id)
    app.until(lambda: app.session.chat.id == chat.id)


def leave_waiting(begin: Begin, *replies: Script, data: Path | None = None) -> tuple[Session, Chat, Chat, threading.Event]:
    """Return an app, a chat whose message waits behind a reply, another one that is open, and what ends the reply."""
    gate = threading.Event()
    app = begin(ScriptedEngine([answer("Other."), gated("First", gate), *replies]), data=data)
    app.ask("Other?")
    other = app.session.chat
    app.session.new_chat()
    app.send("One")
    chat = app.session.chat
    app.until(lambda: chat.turns[0].reply.answer == "First ")
    app.send("Two")
    assert app.message.note
    open_chat(app, other)
    assert (app.message.text, app.message.note, app.notices) == ("", "", [])
    return app, chat, other, gate


def test_two_chats_reply_at_the_same_time(begin: Begin, tmp_path: Path) -> None:
    gates = threading.Event(), threading.Event()
    app = begin(ScriptedEngine([gated("A", gates[0]), gated("B", gates[1])]), data=tmp_path)
    chats = []
    for name in ("One", "Two"):
        app.session.new_chat()
        app.send(name)
        chats.append(app.session.chat)
    app.until(lambda: [chat.turns[0].reply.answer for chat in chats] == ["A ", "B "])
    assert [run.chat for run in app.reply_runner.runs] == chats and app.notices == []
    gates[1].set()
    app.until(lambda: len(app.reply_runner.runs) == 1)
    assert [chat.turns[0].reply.running for chat in chats] == [True, False]
    gates[0].set()
    app.idle()
    assert [texts(chat) for chat in chats] == [[("One", "A whole.")], [("Two", "B whole.")]]
    app.quit()
    again = begin(data=tmp_path)
    again.until(lambda: again.library.read)
    for chat in chats:
        open_chat(again, chat)
        assert again.texts == texts(chat)


def test_quitting_keeps_what_all_replies_have_so_far(begin: Begin, tmp_path: Path) -> None:
    app = begin(ScriptedEngine([gated(name, threading.Event()) for name in "ABC"]), data=tmp_path)
    chats = []
    for name in ("One", "Two", "Three"):
        app.session.new_chat()
        app.send(name)
        chats.append(app.session.chat)
    app.until(lambda: [chat.turns[0].reply.answer for chat in chats] == ["A ", "B ", "C "])
    app.quit()
    again = begin(data=tmp_path)
    again.until(lambda: again.library.read)
    for chat in chats:
        open_chat(again, chat)
        assert again.texts == texts(chat) and again.reply.reason == "interrupted" and again.reply.can_continue


def test_each_reply_is_stopped_by_itself(begin: Begin) -> None:
    app = begin(ScriptedEngine([gated("A", threading.Event()), gated("B", threading.Event())]))
    app.send("One")
    first = app.session.chat
    app.session.new_chat()
    app.send("Two")
    second = app.session.chat
    app.until(lambda: second.turns[0].reply.answer == "B ")
    app.activity.stop()
    app.until(lambda: len(app.reply_runner.runs) == 1)
    assert second.turns[0].reply.reason == "cancelled" and first.turns[0].reply.running
    app.library.delete([first.id])
    app.idle()
    assert first.turns[0].reply.reason == "cancelled"


def test_a_card_in_one_chat_holds_up_no_other_and_ids_of_calls_are_not_mixed_up(begin: Begin) -> None:
    replies = [calling(PRODUCT), calling(PRODUCT), answer("Second."), answer("First.")]
    app, tools = with_tools(begin, replies, calculator="1888264")
    ask_for_call(app)
    first = app.session.chat
    app.session.new_chat()
    app.send("And in this chat?")
    app.until(lambda: len(app.reply_runner.asking) == 2)
    second = app.session.chat
    app.reply_runner.decide(second.turns[0], PRODUCT.id, "once")
    app.until(lambda: len(app.reply_runner.runs) == 1)
    assert second.turns[0].reply.answer.endswith("Second.") and len(tools.called) == 1
    assert [one.state for one in first.turns[0].reply.calls] == ["waiting"]
    assert [chat.id for chat in app.activity.asking_elsewhere] == [first.id]
    app.reply_runner.decide(first.turns[0], PRODUCT.id, "once")
    app.idle()
    assert first.turns[0].reply.answer.endswith("First.") and len(tools.called) == 2


def test_always_allow_lets_the_calls_of_other_chats_start(begin: Begin) -> None:
    app, tools = with_tools(begin, [calling(PRODUCT), calling(PRODUCT)], calculator="1888264")
    ask_for_call(app)
    app.session.new_chat()
    app.send("And in this chat?")
    app.until(lambda: len(app.reply_runner.asking) == 2)
    app.reply_runner.decide(app.session.chat.turns[0], PRODUCT.id, "always")
    app.idle()
    assert len(tools.called) == 2


def test_a_message_is_sent_in_its_chat_when_another_is_open(begin: Begin) -> None:
    app, chat, other, gate = leave_waiting(begin, answer("Second."))
    app.type("A draft here")
    gate.set()
    app.idle()
    assert texts(chat) == [("One", "First whole."), ("Two", "Second.")] and texts(other) == [("Other?", "Other.")]
    assert app.message.text == "A draft here" and app.session.chat is other
    open_chat(app, chat)
    assert (app.message.text, app.message.note) == ("", "")


def test_a_message_waits_on_when_its_chat_is_opened_again(begin: Begin) -> None:
    app, chat, _, gate = leave_waiting(begin, answer("Second."))
    open_chat(app, chat)
    assert app.message.text == "Two" and app.message.note
    app.message.cancel()
    gate.set()
    app.idle()
    assert texts(chat) == [("One", "First whole.")] and app.message.text == "Two"


@pytest.mark.parametrize("way", ["stop", "delete", "private server"])
def test_a_message_that_cannot_be_sent_is_a_draft_again(begin: Begin, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    app, chat, _, gate = leave_waiting(begin)
    notice = [DRAFT]
    if way == "delete":
        app.library.delete([chat.id])
        notice = []
    elif way == "private server":
        monkeypatch.setattr(type(app.activity), "_why_private", lambda self, chat: "This chat is private.")
        notice = [f"{DRAFT} This chat is private."]
    else:
        app.reply_runner.stop(chat.id)
    gate.set()
    app.idle()
    assert app.notices == notice and len(chat.turns) == 1
    if way == "delete":
        app.run("undo_delete")
    open_chat(app, chat)
    assert app.message.text == "Two" and not app.message.note


def test_a_waiting_message_is_a_draft_after_a_restart(begin: Begin, tmp_path: Path) -> None:
    app, chat, _, _ = leave_waiting(begin, data=tmp_path)
    app.quit()
    again = begin(data=tmp_path)
    again.until(lambda: again.library.read)
    open_chat(again, chat)
    assert again.message.text == "Two" and not again.message.note
    assert [(turn.prompt, turn.reply.reason) for turn in again.session.chat.turns] == [("One", "interrupted")]


def test_an_edit_that_waits_is_sent_as_an_edit(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([answer("Other."), answer("First."), gated("Second", gate), answer("Edited.")]))
    app.ask("Other?")
    other = app.session.chat
    app.session.new_chat()
    app.ask("One")
    chat = app.session.chat
    app.send("Two")
    app.session.edit(chat.turns[0])
    app.type("One, edited")
    app.message.send()
    assert app.message.note
    open_chat(app, other)
    gate.set()
    app.idle()
    assert texts(chat) == [("One, edited", "Edited.")]
    open_chat(app, chat)
    assert app.session.editing is None and app.message.text == ""


def test_a_message_that_waits_for_models_is_sent_with_the_new_pair(begin: Begin) -> None:
    app = begin()
    app.services.preferences.chat_titles = False
    app.ask("Other?")
    other = app.session.chat
    app.session.new_chat()
    app.ask("One")
    chat = app.session.chat
    gate = app.engine.load_gate = threading.Event()
    app.activity.use(LoadPair(Path("another")))
    app.send("Two")
    assert app.message.note
    open_chat(app, other)
    gate.set()
    app.until(lambda: not app.loader.running and len(chat.turns) == 2 and not app.activity.busy)
    assert app.loader.loaded_from == LoadPair(Path("another")) and texts(chat)[1] == ("Two", "Fine.")


@pytest.mark.parametrize("leaves", [True, False])
def test_another_pair_waits_for_all_replies(begin: Begin, leaves: bool) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([gated("A", gate)]))
    app.send("One")
    if leaves:
        app.session.new_chat()
    app.activity.use(LoadPair(Path("another")))
    refusal = "A reply is being generated in “One”. Wait for it to finish, or stop it there."
    assert not app.loader.running and app.notices == [refusal] and app.activity.why_busy == refusal
    app.services.comparer.compare_prompt("Which?")
    app.activity.stop_comparison()  # as when Compare is closed
    assert not app.activity.comparing and len(app.reply_runner.runs) == 1
    gate.set()
    app.idle()
    assert app.notices == []


def test_a_message_waits_for_a_comparison(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([answer("First."), gated("Plain", gate)]))
    app.ask("One")
    app.services.comparer.compare()
    app.send("Two")
    assert app.message.note == "The message will be sent when the comparison has ended." and app.notices == []
    gate.set()
    app.until(lambda: len(app.session.chat.turns) == 2 and not app.activity.busy)
    assert app.message.text == ""


def test_messages_that_wait_for_models_are_each_sent_or_put_back_once(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start of the first one's reply looks at the others again."""
    app = begin()
    app.services.preferences.chat_titles = False
    chats = []
    for name in ("One", "Two", "Three", "Open"):
        app.session.new_chat()
        app.ask(name)
        chats.append(app.session.chat)
    gate = app.engine.load_gate = threading.Event()
    app.activity.use(LoadPair(Path("another")))
    for chat in chats[:3]:
        open_chat(app, chat)
        app.send(f"To {chat.title}")
    open_chat(app, chats[3])
    private = chats[1].id
    monkeypatch.setattr(type(app.activity), "_why_private", lambda self, chat: "Private." if chat.id == private else "")
    gate.set()
    app.until(lambda: not app.loader.running and len(chats[2].turns) == 2 and not app.activity.busy)
    prompts = [[turn.prompt for turn in chat.turns] for chat in chats]
    assert prompts == [["One", "To One"], ["Two"], ["Three", "To Three"], ["Open"]]
    assert app.notices == ["Your message in “Two” wasn't sent. It is a draft there. Private."]
    sent = [request.messages[-1].content for request in app.engine.requests]
    assert sorted(sent[4:]) == ["To One", "To Three"]


def test_only_the_message_that_waited_is_sent_when_its_chat_is_opened(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([answer("Other."), answer("First."), gated("Second", gate)]))
    app.ask("Other?")
    other = app.session.chat
    app.session.new_chat()
    app.ask("One")
    chat = app.session.chat
    app.send("Two")
    app.type("Not to be sent")
    app.session.edit(chat.turns[0])
    app.type("One, edited")
    app.message.send()
    open_chat(app, other)
    for draft in app.services.drafts._drafts.values():
        draft.open = False  # as if the edited message were gone
    open_chat(app, chat)
    assert app.message.text == "Not to be sent" and not app.message.note and "no longer waiting" in app.notices[-1]
    gate.set()
    app.idle()
    assert len(chat.turns) == 2
    app.session.edit(chat.turns[0])
    assert app.message.text == "One, edited"


def test_a_message_that_waits_for_a_comparison_is_a_draft_after_a_quit(begin: Begin, tmp_path: Path) -> None:
    app = begin(ScriptedEngine([answer("Other."), answer("First."), gated("Plain", threading.Event())]), data=tmp_path)
    app.ask("Other?")
    other = app.session.chat
    app.session.new_chat()
    app.ask("One")
    chat = app.session.chat
    app.services.comparer.compare()
    app.send("Two")
    open_chat(app, other)
    app.send("Three")
    assert app.message.note
    app.quit()
    again = begin(data=tmp_path)
    again.until(lambda: again.library.read)
    for one, prompt, text in ((chat, "One", "Two"), (other, "Other?", "Three")):
        open_chat(again, one)
        assert [turn.prompt for turn in again.session.chat.turns] == [prompt] and again.message.text == text


def test_a_message_for_a_pair_that_is_not_loaded_goes_to_no_other(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """It went to the pair or server that stayed in use."""
    app, gate = begin(), threading.Event()
    monkeypatch.setattr(app.engine, "load", lambda *_: refused_by(gate))
    app.ask("Other?")
    other = app.session.chat
    app.session.new_chat()
    app.ask("One")
    chat, pair = app.session.chat, app.loader.pair
    asked = len(app.engine.requests)
    app.activity.use(LoadPair(Path("another")))
    app.send("Two")
    open_chat(app, other)
    app.send("Three")
    gate.set()
    app.until(lambda: not app.loader.running)
    app.until(lambda: not app.meter.counting)
    assert app.loader.pair is pair and len(app.engine.requests) == asked
    assert (app.message.text, app.message.note) == ("Three", "")
    assert app.notices[1:] == [
        f"{DRAFT} The model it was for isn't available.",
        "Your message wasn't sent, because the model it was for isn't available.",
    ]
    app.services.notices.close_latest()
    app.press("Open Chat")
    app.until(lambda: app.session.chat is chat)
    assert (app.message.text, app.message.note) == ("Two", "")


def test_a_message_that_waits_for_tools_outlives_a_load_that_fails(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a draft again, because “the model it was for isn't available”."""
    app, gate, starting = begin(), threading.Event(), [True]
    monkeypatch.setattr(app.engine, "load", lambda *_: refused_by(gate))
    app.ask("Other?")
    other = app.session.chat
    app.session.new_chat()
    app.ask("One")
    chat, pair = app.session.chat, app.loader.pair
    monkeypatch.setattr(app.session, "tools_starting_in", lambda chat, example="": starting[0])
    monkeypatch.setattr(app.session, "tools_starting", lambda example="": starting[0])
    app.send("Two")
    assert app.message.note == "The message will be sent when the tools are ready."
    open_chat(app, other)
    app.activity.use(LoadPair(Path("another")))
    gate.set()
    app.until(lambda: not app.loader.running)
    assert app.loader.pair is pair and not any(DRAFT in text for text in app.notices)
    starting[0] = False
    app.tools.changed.emit()
    app.until(lambda: [turn.prompt for turn in chat.turns] == ["One", "Two"])


def test_a_message_that_does_not_fit_is_a_draft_again_and_says_why(begin: Begin) -> None:
    """It was sent, and the reply was an error."""
    gate = threading.Event()
    engine = ScriptedEngine([answer("Other."), gated("First", gate), answer("Third.")], replace(PAIR, context_limit=100))
    engine.counts_words = True
    app = begin(engine)
    app.services.preferences.chat_titles = False
    app.ask("Other?")
    other = app.session.chat
    app.session.new_chat()
    app.send("One")
    chat, long = app.session.chat, "word " * 130
    app.until(lambda: bool(chat.turns) and chat.turns[0].reply.answer == "First ")
    app.send(long)
    assert app.message.note
    open_chat(app, other)
    gate.set()
    app.until(lambda: bool(app.notices))
    assert app.notices == [f"{DRAFT} The text doesn't fit: 130 tokens, 96 left."]
    assert len(chat.turns) == 1
    open_chat(app, chat)
    assert (app.message.text, app.message.note) == (long, "")


def test_a_long_message_that_fits_is_counted_and_sent(begin: Begin) -> None:
    gate = threading.Event()
    engine = ScriptedEngine([answer("Other."), gated("First", gate), answer("Second.")], replace(PAIR, context_limit=100))
    engine.counts_words = True
    app = begin(engine)
    app.ask("Other?")
    other = app.session.chat
    app.session.new_chat()
    app.send("One")
    chat = app.session.chat
    app.until(lambda: bool(chat.turns) and chat.turns[0].reply.answer == "First ")
    app.send("word " * 60)
    open_chat(app, other)
    gate.set()
    app.until(lambda: len(chat.turns) == 2 and not app.activity.busy)
    assert texts(chat)[1] == (("word " * 60).strip(), "Second.") and app.notices == []
    assert any(len(one.messages[-1].content.split()) == 60 for one in engine.counted), "it may not have fit"


@pytest.mark.parametrize("where", ["chat", "message"])
def test_pages_that_cannot_be_drawn_keep_no_message_from_waiting(
    begin: Begin,
    scan: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([answer("Other."), answer("First."), gated("Second", gate), answer("Third.")]))
    app.ask("Other?")
    other = app.session.chat
    app.session.new_chat()
    monkeypatch.setattr(page_drawer, "draw_pages", lambda one, cancel: ())
    if where == "chat":
        app.attachments.attach([scan])
        app.until(lambda: not app.attachments.busy)
    app.ask("One")
    chat = app.session.chat
    see(app)
    app.until(lambda: not app.session.drawing_pages)
    app.send("Two")
    app.until(lambda: len(chat.turns) == 2)
    app.send("Three")
    if where == "message":
        app.attachments.attach([scan])
        app.until(lambda: bool(app.attachments.files) and not app.attachments.busy)
    assert app.message.note
    open_chat(app, other)
    assert app.notices == []
    gate.set()
    app.until(lambda: len(chat.turns) == 3 and not app.activity.busy)
    assert texts(chat)[2] == ("Three", "Third.")


@pytest.mark.parametrize("leaves", [True, False])
def test_a_reply_that_cannot_be_continued_says_so_for_its_chat(begin: Begin, leaves: bool) -> None:
    """The error appeared in the chat that was open."""
    gate = threading.Event()
    app = begin(
        ScriptedEngine([answer("Other."), [commit("Half", 20), done(reason="length", tokens=20)], [gate, refuse("It is full.")]])
    )
    app.ask("Other?")
    other = app.session.chat
    app.session.new_chat()
    app.session.set_settings(replace(app.session.chat.settings, max_tokens=20))
    app.ask("One")
    chat = app.session.chat
    app.run("resume")
    if leaves:
        open_chat(app, other)
    gate.set()
    app.idle()
    assert app.notices == ["The reply in “One” can't be continued. It is full." if leaves else "It is full."]
    if leaves:
        app.press("Open Chat")
        app.until(lambda: app.session.chat is chat)
    assert texts(chat) == [("One", "Half")] and app.can("resume")
