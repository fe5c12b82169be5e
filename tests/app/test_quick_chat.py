"""The quick chat: an ordinary chat that is written next to the open one."""

import threading
from pathlib import Path

import pytest

from app.session import quick_chat
from app.session.notice import Notice
from app.session.quick_chat import QuickChat
from app.storage.stored_drafts import QUICK_CHAT
from tests.app.conftest import Begin, Session
from tests.app.scripted_engine import ScriptedEngine, answer, commit, done, refuse
from tests.app.test_drafts import stored
from tests.app.test_remote import VLLM, connected, replies_asked
from tests.app.test_send_consent import HOST, QUESTION, use


def ask(app: Session, text: str) -> None:
    """Send a message in the quick chat, and wait for the end of its reply."""
    quick = app.services.quick
    quick.write(text)
    quick.send()
    app.until(lambda: not quick.running and not quick.note)
    assert not quick.text, quick.notices.texts


def texts(quick: QuickChat) -> list[tuple[str, str]]:
    return [(turn.prompt, turn.reply.answer) for turn in quick.chat.turns]


def test_a_quick_chat_is_a_chat_of_the_library_and_leaves_the_open_one_alone(begin: Begin, tmp_path: Path) -> None:
    app = begin(ScriptedEngine([answer("Open reply"), answer("Quick reply")]), data=tmp_path)
    app.services.preferences.chat_titles = False
    app.ask("Open")
    app.type("A draft")
    quick, opened = app.services.quick, app.session.chat
    quick.begin()
    ask(app, "Quick")
    assert texts(quick) == [("Quick", "Quick reply")]
    assert app.session.chat is opened and app.message.text == "A draft"
    assert app.texts == [("Open", "Open reply")]
    assert quick.chat.id in app.library.entries
    app.quit()
    again = begin(data=tmp_path)
    again.until(lambda: again.session.chat.id == opened.id)
    assert quick.chat.id in again.library.entries, "the quick chat is saved, and isn't the one to open"


def test_the_chat_goes_on_in_the_window_with_what_is_typed(begin: Begin) -> None:
    app = begin()
    app.services.preferences.chat_titles = False
    quick = app.services.quick
    quick.begin()
    ask(app, "Quick")
    chat = quick.chat
    quick.write("And then")
    quick.open()
    assert app.session.chat is chat and app.message.text == "And then"
    assert quick.chat.empty and not quick.text
    app.message.send()
    app.until(lambda: len(chat.turns) == 2 and not app.activity.busy)


def test_an_empty_quick_chat_becomes_a_new_chat_in_the_window(begin: Begin) -> None:
    app = begin()
    app.ask("Open")
    app.services.quick.write("Quick")
    app.services.quick.open()
    assert app.session.chat.empty and app.message.text == "Quick" and not app.services.quick.text
    app.services.quick.write("More")
    app.services.quick.open()
    assert app.message.text == "Quick\n\nMore"


def test_a_closed_window_begins_a_new_chat_unless_a_reply_is_unseen(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([answer("One"), [commit("Two"), gate, done()], answer("Three")]))
    app.services.preferences.chat_titles = False
    quick = app.services.quick
    quick.begin()
    ask(app, "First")
    first = quick.chat
    assert first.id not in app.services.new_replies, "the user has seen the reply"
    quick.hide()
    quick.begin()
    assert quick.chat is not first and quick.chat.empty
    quick.write("Second")
    quick.send()
    second = quick.chat
    quick.hide()
    quick.begin()
    assert quick.chat is second, "its reply is running"
    quick.hide()
    gate.set()
    app.until(lambda: not quick.running)
    assert second.id in app.services.new_replies
    quick.begin()
    assert quick.chat is second and second.id not in app.services.new_replies
    quick.write("Unsent")
    quick.hide()
    quick.begin()
    assert quick.chat is second and quick.text == "Unsent", "the text belongs to this chat"
    quick.restart()
    assert quick.chat.empty and quick.text == "Unsent"


def test_a_message_waits_for_models_and_loads_those_used_last(begin: Begin) -> None:
    engine = ScriptedEngine()
    app = begin(engine)
    app.services.preferences.chat_titles = False
    quick = app.services.quick
    app.loader.pair = None  # as after loading has failed
    engine.load_gate = gate = threading.Event()
    quick.write("Quick")
    quick.send()
    assert app.loader.running and quick.note == "The message will be sent when the models have loaded."
    quick.send()  # a second Return changes nothing
    gate.set()
    app.until(lambda: len(quick.chat.turns) == 1 and not quick.running)
    assert texts(quick)[0][0] == "Quick" and not quick.text and not quick.note


@pytest.mark.parametrize("typed", [True, False])
def test_a_message_that_waits_can_be_called_back(begin: Begin, typed: bool) -> None:
    engine = ScriptedEngine()
    app = begin(engine)
    quick = app.services.quick
    app.loader.pair = None
    engine.load_gate = gate = threading.Event()
    quick.write("Quick")
    quick.send()
    if typed:
        quick.write("Quick, but")
    else:
        quick.cancel()
    gate.set()
    app.until(lambda: app.loader.ready)
    assert quick.chat.empty and quick.text.startswith("Quick") and not quick.note


def test_models_that_cannot_be_loaded_keep_the_message_and_say_why(begin: Begin) -> None:
    engine = ScriptedEngine()
    app = begin(engine)
    quick = app.services.quick
    app.loader.pair = None
    engine.load_error = refuse("The disk is gone.")
    quick.write("Quick")
    quick.send()
    app.until(lambda: not app.loader.running)
    assert quick.text == "Quick" and not quick.note and quick.notices.texts == ["The disk is gone."]
    engine.load_error = None
    quick.send()
    app.until(lambda: len(quick.chat.turns) == 1 and not quick.running)
    assert not quick.notices.texts


def test_the_next_message_waits_for_the_reply_and_not_after_a_stop(begin: Begin) -> None:
    gates = [threading.Event(), threading.Event()]
    app = begin(ScriptedEngine([[commit("One"), gates[0], done()], [commit("Two"), gates[1], done()]]))
    app.services.preferences.chat_titles = False
    quick = app.services.quick
    for text in ("First", "Second"):
        quick.write(text)
        quick.send()
    assert len(quick.chat.turns) == 1 and quick.note == "The message will be sent when the reply has ended."
    gates[0].set()
    app.until(lambda: len(quick.chat.turns) == 2)
    quick.write("Third")
    quick.send()
    quick.stop()
    app.until(lambda: not quick.running)
    assert len(quick.chat.turns) == 2 and quick.text == "Third" and not quick.note


def test_nothing_written_here_goes_to_a_server_before_the_user_consents(begin: Begin) -> None:
    app = begin()
    app.services.preferences.chat_titles = False
    quick = app.services.quick
    quick.begin()
    ask(app, "A secret")
    use(app)
    sent = len(app.engine.requests)
    quick.write("More")
    quick.send()
    assert quick.notices.texts == [QUESTION] and HOST in QUESTION and app.notices == []
    assert len(app.engine.requests) == sent and quick.text == "More"
    notices = quick.notices
    notices.run(next(one for one in notices.valid[-1].actions if one.title == "Cancel"))
    assert len(app.engine.requests) == sent and not notices.valid
    quick.send()
    notices.run(next(one for one in notices.valid[-1].actions if one.title == "Send"))
    app.until(lambda: len(quick.chat.turns) == 2 and not quick.running)
    assert not notices.valid


def test_a_key_meant_for_another_app_sends_nothing_here(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(quick_chat, "monotonic", lambda: now[0])
    app = begin()
    quick = app.services.quick
    quick.write("Mine")
    quick.add("Theirs")
    quick.add("Theirs \n")  # a second press of the shortcut
    assert quick.text == "Mine\n\nTheirs\n\n"
    quick.add("irs")
    assert quick.text == "Mine\n\nTheirs\n\nirs\n\n", "only the same paragraph is the same text"
    quick.write("Mine\n\nTheirs\n\n")
    quick.pause()
    now[0] = 100.59
    quick.submit()
    assert quick.chat.empty
    now[0] = 100.6
    quick.submit()
    app.until(lambda: len(quick.chat.turns) == 1 and not quick.running)
    assert texts(quick)[0][0] == "Mine\n\nTheirs"


def test_loading_keeps_the_notice_that_asks_to_read_a_text(begin: Begin) -> None:
    engine = ScriptedEngine()
    app = begin(engine)
    quick = app.services.quick
    app.loader.pair = None
    quick.notices.post(Notice("Read it.", topic="link"))
    quick.notices.post(Notice("No models are loaded.", offer="load", until="pair"))
    app.activity.use(app.loader.here)
    app.until(lambda: app.loader.pair is not None)
    assert quick.notices.texts == ["Read it."]


def test_a_refusal_disappears_when_nothing_runs_any_more(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([[commit("One"), gate, done()]]))
    quick = app.services.quick
    app.session.send("Open")
    app.loader.pair = None  # as after unloading
    quick.write("Quick")
    quick.send()
    assert len(quick.notices.texts) == 1 and "Wait for it to finish" in quick.notices.texts[0]
    gate.set()
    app.until(lambda: not app.activity.busy)
    assert not quick.notices.texts and quick.text == "Quick"


def test_a_deleted_quick_chat_ends_and_stops_its_reply(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([[commit("One"), gate, done()]]))
    quick = app.services.quick
    quick.write("Quick")
    quick.send()
    chat = quick.chat
    app.library.delete([chat.id])
    assert quick.chat is not chat and quick.chat.empty
    app.idle()
    assert chat.turns[0].reply.reason == "cancelled"


@pytest.mark.parametrize("sent", [True, False])
def test_an_unsent_message_is_a_draft_after_the_next_start(begin: Begin, tmp_path: Path, sent: bool) -> None:
    app = begin(data=tmp_path)
    app.services.preferences.chat_titles = False
    quick = app.services.quick
    if sent:
        ask(app, "Quick")
    chat = quick.chat.id
    quick.write("Unsent")
    app.quit()
    again = begin(data=tmp_path)
    again.until(lambda: again.library.read)
    if sent:
        again.session.open_chat(chat)
        again.until(lambda: again.session.chat.id == chat)
    again.until(lambda: (again.message if sent else again.services.quick).text == "Unsent")


@pytest.mark.parametrize("waits", [True, False])
def test_a_chat_that_is_opened_in_the_window_takes_its_message_along(begin: Begin, waits: bool) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([[commit("One"), gate, done()]]))
    app.services.preferences.chat_titles = False
    quick = app.services.quick
    quick.begin()
    quick.write("First")
    quick.send()
    chat = quick.chat
    quick.write("Second")
    if waits:
        quick.send()
    quick.hide()
    app.session.open_chat(chat.id)
    assert quick.chat.empty and not quick.text and not quick.note
    assert app.message.text == "Second" and bool(app.message.note) == waits
    gate.set()
    app.until(lambda: len(chat.turns) == 1 + waits and not app.activity.busy)
    assert app.message.text == ("" if waits else "Second")


@pytest.mark.parametrize("crash", ["after Return", "a second after typing"])
def test_a_crash_keeps_the_message(begin: Begin, tmp_path: Path, crash: str) -> None:
    engine = ScriptedEngine()
    app = begin(engine, data=tmp_path)
    app.until(lambda: app.library.read)
    quick = app.services.quick
    quick.write("Unsent")
    if crash == "after Return":
        app.loader.pair = None
        engine.load_gate = threading.Event()
        quick.send()
        assert quick.note
    else:
        app.services.drafts.save()
    app.services.store.read(lambda store: store.purge(), lambda _: None)  # as at the next launch
    assert [(one.chat, one.text) for one in stored(app)] == [(QUICK_CHAT, "Unsent")]


def test_why_a_message_is_not_sent_is_there_when_the_window_is_opened_again(begin: Begin) -> None:
    engine = ScriptedEngine()
    app = begin(engine)
    quick = app.services.quick
    app.loader.pair = None
    engine.load_error, engine.load_gate = refuse("The disk is gone."), threading.Event()
    quick.begin()
    quick.write("Quick")
    quick.send()
    quick.hide()
    engine.load_gate.set()
    app.until(lambda: not app.loader.running)
    quick.begin()
    assert quick.text == "Quick" and quick.notices.texts == ["The disk is gone."]
    why = "Your message in “Quick Chat” wasn't sent. It is a draft there. The model it was for isn't available."
    assert app.notices == ["The disk is gone.", why]
    app.press("Open Chat")
    assert app.message.text == "Quick" and not quick.text


@pytest.mark.parametrize("shown", [True, False])
def test_a_stopped_reply_keeps_the_next_message_and_says_so_if_it_is_not_seen(begin: Begin, shown: bool) -> None:
    app = begin(ScriptedEngine([[commit("One"), threading.Event(), done()]]))
    quick = app.services.quick
    quick.begin()
    for text in ("First", "Second"):
        quick.write(text)
        quick.send()
    if not shown:
        quick.hide()
    quick.stop()
    app.until(lambda: not quick.running)
    assert quick.text == "Second" and not quick.note
    assert app.notices == ([] if shown else ["Your message in “First” wasn't sent. It is a draft there."])


def test_a_message_that_waits_for_tools_survives_a_load_that_fails(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    quick, starting = app.services.quick, [True]
    monkeypatch.setattr(app.session, "tools_starting_in", lambda chat: starting[0])
    with connected(app, VLLM) as replay:
        quick.begin()
        quick.write("Quick")
        quick.send()
        assert quick.note == "The message will be sent when the tools are ready."
        app.engine.load_error = refuse("No memory.")
        app.activity.use()
        app.until(lambda: not app.loader.running)
        assert app.loader.sent_to and quick.note and not replies_asked(replay)
        starting[0] = False
        app.tools.changed.emit()
        app.until(lambda: bool(quick.chat.turns) and not quick.running)


def test_the_first_message_has_the_settings_of_new_chats(begin: Begin) -> None:
    app = begin()
    quick = app.services.quick
    quick.begin()
    app.session.change(tool_servers=("Notes",))
    ask(app, "Quick")
    assert quick.chat.settings.tool_servers == ("Notes",)


def test_an_empty_quick_chat_that_is_opened_at_launch_stays_a_new_chat(begin: Begin, tmp_path: Path) -> None:
    app = begin(data=tmp_path)
    app.ask("Last")
    app.quit()
    again = begin(data=tmp_path, loaded=False)
    again.services.quick.write("Quick")
    again.services.quick.open()
    again.load()
    again.until(lambda: again.library.read)
    assert again.session.chat.empty and again.message.text == "Quick"
