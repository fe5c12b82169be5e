"""Earlier messages of a chat go to another computer only with the user's consent."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.session.notice import Notice
from mlx_engine.contract.requests import Endpoint
from mlx_engine.remote.endpoint import other_computers
from mlx_engine.remote.saved_endpoints import SavedEndpoint
from tests.app.conftest import Begin, Session
from tests.app.scripted_engine import PAIR, Script, ScriptedEngine, commit, done, refuse
from tests.app.test_remote import MODELS, VLLM, replies_asked
from tests.app.test_several_replies import open_chat
from tests.mlx_engine.remote.replay import Response, recorded, replaying

HOST = "office:8000"
QUESTION = f"This chat was written on this computer. Send its earlier messages to {HOST}?"
CUT_OFF: Script = [commit("One two"), done(reason="cancelled")]


def use(app: Session, url: str = f"https://{HOST}", plain_url: str = "") -> None:
    """Let the scripted engine stand for a server."""
    saved = SavedEndpoint("Office", Endpoint(url, plain_url=plain_url))
    app.loader.connected_to, app.loader.loaded_from = saved, None
    app.loader.pair = replace(PAIR, remote=saved.endpoint.host)
    app.loader.loaded.emit()


def use_this_computer(app: Session) -> None:
    app.activity.use()
    app.until(lambda: app.loader.ready and app.loader.connected_to is None)


def written_here(begin: Begin, data: Path | None = None) -> Session:
    """Return an app whose chat was answered on this computer, with a server in use."""
    app = begin(ScriptedEngine([CUT_OFF]), data=data)
    app.services.preferences.chat_titles = False
    app.ask("A secret")
    use(app)
    return app


def question(app: Session) -> Notice | None:
    return next((notice for notice in app.services.notices.valid if notice.until == "consent"), None)


WAYS: dict[str, Callable[[Session], object]] = {
    "message": lambda app: app.send("More"),
    "edit": lambda app: (app.session.edit(app.session.chat.turns[0]), app.send("Edited")),
    "regenerate": lambda app: app.run("regenerate"),
    "continue": lambda app: app.run("resume"),
    "compact": lambda app: app.run("compact"),
    "compare": lambda app: app.run("compare"),
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_sent_before_the_user_consents(begin: Begin, way: str) -> None:
    app = written_here(begin)
    WAYS[way](app)
    assert app.notices == [QUESTION] and not app.activity.busy
    app.press("Cancel")
    app.idle()
    assert app.notices == [] and len(app.engine.requests) == 1 and len(app.session.chat.turns) == 1
    assert app.message.text == {"message": "More", "edit": "Edited"}.get(way, "")
    if way in ("message", "edit"):
        app.message.send()
    else:
        WAYS[way](app)
    assert len(app.engine.requests) == 1
    app.press("Send")
    app.idle()
    assert question(app) is None
    assert len(app.engine.requests) == (3 if way == "compare" else 2), "a comparison is two requests"
    assert app.message.text == ""
    app.ask("Again")
    assert question(app) is None


def test_consent_is_for_one_chat_and_one_server(begin: Begin) -> None:
    app = written_here(begin)
    app.send("More")
    app.press("Send")
    app.idle()
    use(app, "https://other:1")
    app.send("And more")
    assert app.notices == ["This chat is new to the server. Send its earlier messages to other:1?"]
    use(app)
    assert app.notices == [], "another server is in use"
    app.ask("And more")
    use_this_computer(app)
    app.session.new_chat()
    app.ask("Another secret")
    use(app)
    app.send("More")
    assert app.notices == [QUESTION]


def test_a_new_chat_is_sent_at_once(begin: Begin) -> None:
    app = written_here(begin)
    app.session.new_chat()
    app.ask("Hello")
    app.ask("More")
    app.run("regenerate")
    app.idle()
    assert app.notices == [] and len(app.engine.requests) == 4


def test_a_servers_reply_is_consent_after_a_restart(begin: Begin, tmp_path: Path) -> None:
    app = written_here(begin, tmp_path)
    here = app.session.chat.id
    app.session.new_chat()
    app.ask("Hello")
    there = app.session.chat.id
    app.quit()
    again = begin(data=tmp_path)
    again.until(lambda: again.library.read)
    use(again)
    for chat, asked in ((there, False), (here, True)):
        again.session.open_chat(chat)
        again.until(lambda chat=chat: again.session.chat.id == chat)
        again.send("More")
        again.idle()
        assert (question(again) is not None) == asked


def test_a_reply_that_failed_is_no_consent(begin: Begin) -> None:
    app = begin(ScriptedEngine([[refuse("Unreachable.")]]))
    app.services.preferences.chat_titles = False
    use(app)
    app.ask("Hello")
    app.run("regenerate")
    app.idle()
    assert question(app) is None, "the chat began with this server"
    app.session.new_chat()
    app.engine.replies = [[refuse("Unreachable.")]]
    app.ask("Hello")
    use_this_computer(app)
    app.ask("A secret")
    use(app)
    app.send("More")
    assert question(app) is not None


def test_a_question_without_a_reply_needs_consent(begin: Begin) -> None:
    app = begin(ScriptedEngine([[done(reason="cancelled")]]))
    app.services.preferences.chat_titles = False
    app.ask("A secret")
    use(app)
    app.run("regenerate")
    assert app.notices == [QUESTION] and len(app.engine.requests) == 1


def test_the_question_says_that_an_address_is_not_encrypted(begin: Begin) -> None:
    app = written_here(begin)
    use(app, "http://192.168.1.20:8000")
    app.send("More")
    question = "This chat was written on this computer. Send its earlier messages to 192.168.1.20:8000 (not encrypted)?"
    assert app.notices == [question]


@pytest.mark.parametrize("url", ("http://localhost:8000", "http://127.0.0.1:8000", "http://[::1]:8000", "localhost:8000/v1"))
def test_a_server_on_this_computer_is_not_asked_about(begin: Begin, url: str) -> None:
    app = written_here(begin)
    use(app, url)
    app.ask("More")
    assert question(app) is None and len(app.engine.requests) == 2
    assert other_computers(Endpoint(url, plain_url="https://far:1")) == "far:1"


def test_other_computers_are_all_that_get_messages() -> None:
    assert other_computers(Endpoint("https://a:1", plain_url="http://a:1/v1")) == "a:1"
    assert other_computers(Endpoint("https://a:1", plain_url="https://b")) == "a:1, b"
    assert other_computers(Endpoint("192.168.1.20:8000")) == "192.168.1.20:8000"


def test_a_private_chat_stays_refused(begin: Begin) -> None:
    app = written_here(begin)
    app.send("More")
    app.session.change(private=True)
    app.press("Send")
    app.idle()
    refusal = f"This chat is private, so it isn't sent to {HOST}. Choose a model on this computer."
    assert app.notices == [refusal] and len(app.engine.requests) == 1 and app.message.text == "More"


def test_the_question_goes_with_its_chat(begin: Begin) -> None:
    app = written_here(begin)
    app.send("More")
    app.session.new_chat()
    assert app.notices == []


@pytest.mark.parametrize("opened", (True, False))
def test_a_message_that_waited_for_the_server_needs_consent(begin: Begin, monkeypatch: pytest.MonkeyPatch, opened: bool) -> None:
    monkeypatch.setattr("mlx_engine.remote.endpoint.is_this_computer", lambda host: False)
    app = begin()
    app.services.preferences.chat_titles = False
    app.ask("Other")
    other = app.session.chat
    app.session.new_chat()
    app.ask("A secret")
    chat, gate = app.session.chat, threading.Event()

    def models(_: bytes) -> Response:
        assert gate.wait(60)
        return recorded("vllm_dflash/v1_models")

    with replaying(VLLM | {MODELS: models}) as replay:
        host = replay.url.removeprefix("http://")
        app.activity.connect_to(SavedEndpoint("Office", Endpoint(replay.url)))
        app.send("More")
        assert app.message.note == "The message will be sent when the models have loaded."
        if not opened:
            open_chat(app, other)
        gate.set()
        app.until(lambda: not app.loader.running and bool(app.notices))
        if not opened:
            why = f"It is a draft there. This chat hasn't been sent to {host} yet."
            assert app.notices == [f"Your message in “A secret” wasn't sent. {why}"]
            app.press("Open Chat")
            app.until(lambda: app.session.chat is chat)
            app.message.send()
        assert app.notices == [QUESTION.replace(HOST, host)] and replies_asked(replay) == 0
        assert app.message.text == "More" and not app.message.note
        app.press("Send")
        app.until(lambda: len(chat.turns) == 2)
        app.idle()
        assert replies_asked(replay) == 1 and chat.turns[1].reply.sent_to == host


def test_a_chat_of_this_computer_is_not_sent_for_its_title(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """The title of a later chat is written, so that of the first one was not only late."""
    monkeypatch.setattr("app.session.chat_titles.IDLE_MS", 0)
    monkeypatch.setattr("app.session.pair_session.PairLoader.has_demo", False)
    app = begin()
    app.services.preferences.quiet_mode = True  # titles wait
    app.ask("A secret")
    use(app)
    app.services.preferences.quiet_mode = False
    app.session.new_chat()
    app.ask("Hello")
    app.until(lambda: len(app.engine.requests) == 3)
    title = app.engine.requests[2].messages[0].content
    assert "Hello" in title and title.startswith("Write a title")
    app.until(lambda: app.library.entries[app.session.chat.id].title == "Fine")
    assert len(app.engine.requests) == 3


@given(steps=st.lists(st.tuples(st.sampled_from(("", "a:1", "b:2")), st.booleans()), min_size=1, max_size=6))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_servers_get_only_chats_that_began_there_or_that_the_user_sent(consent_app: Session, steps: list[tuple[str, bool]]) -> None:
    app, known = consent_app, set[str]()
    app.session.new_chat()
    for host, consents in steps:
        if host:
            use(app, f"https://{host}")
        else:
            app.loader.connected_to, app.loader.pair = None, PAIR
            app.loader.loaded.emit()
        before, asks = len(app.engine.requests), bool(host) and host not in known and not app.session.chat.empty
        app.send("Words")
        assert (question(app) is not None) == asks
        if asks:
            app.press("Send" if consents else "Cancel")
        app.idle()
        sent = not asks or consents
        assert len(app.engine.requests) == before + sent
        known |= {host} if sent else set()


@pytest.fixture
def consent_app(begin: Begin) -> Session:
    app = begin()
    app.services.preferences.chat_titles = False
    return app
