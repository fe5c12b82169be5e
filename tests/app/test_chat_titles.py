"""Titles that the loaded model writes for new chats."""

import threading
from pathlib import Path

import pytest

from app.text.plain_text import TITLE_CHARS, TITLE_WORDS, short_title
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import LoadPair
from tests.app.conftest import Begin, Session
from tests.app.scripted_engine import Script, ScriptedEngine, answer, commit, done

PROMPT = "How do I boil an egg?"


@pytest.fixture(autouse=True)
def places(places: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.session.chat_titles.IDLE_MS", 20)


def with_pair(begin: Begin, *replies: Script) -> Session:
    """Start with a pair that is not the demo pair."""
    app = begin(ScriptedEngine(replies))
    app.activity.use(LoadPair(Path("target")))
    app.until(lambda: not app.loader.running)
    return app


def title(app: Session) -> str:
    return app.library.entries[app.session.chat.id].title


def test_the_model_writes_a_title_after_the_first_reply(begin: Begin) -> None:
    app = with_pair(begin, answer("Ten minutes."), answer('**"Boiling an Egg"**\nMore'), answer("Eight."))
    app.ask(PROMPT)
    assert title(app) == PROMPT
    app.until(lambda: title(app) == "Boiling an Egg")
    request = app.engine.requests[1]
    assert request.gives_way and not request.reuse and not request.thinking
    assert PROMPT in request.messages[0].content and "Ten minutes." in request.messages[0].content
    app.ask("And softer?")
    app.until(lambda: not app.services.engine.busy)
    assert len(app.engine.requests) == 3 and title(app) == "Boiling an Egg", "only the first reply gives a title"


def test_a_title_that_the_user_has_set_stays(begin: Begin) -> None:
    gate = threading.Event()
    app = with_pair(begin, [commit("Ten."), gate, done()], answer("Four."), [gate, *answer("Sums")])
    app.send(PROMPT)
    app.until(lambda: bool(app.library.entries))
    app.library.rename(app.session.chat.id, "Mine")  # during the reply
    gate.set()
    app.idle()
    app.until(lambda: not app.services.engine.busy and not app.services.titles._timer.isActive())
    assert len(app.engine.requests) == 1
    gate.clear()
    app.session.new_chat()
    app.ask("Two and two?")
    app.until(lambda: len(app.engine.requests) == 3)
    app.library.rename(app.session.chat.id, "Mine too")  # while the title is written
    gate.set()
    app.until(lambda: not app.services.engine.busy)
    assert sorted(entry.title for entry in app.library.entries.values()) == ["Mine", "Mine too"]


def test_a_title_is_written_next_to_a_reply(begin: Begin) -> None:
    gate = threading.Event()
    app = with_pair(begin, answer("Ten."), [commit("Eggs"), gate, done()], answer("Eight."))
    app.ask(PROMPT)
    app.until(lambda: len(app.engine.requests) == 2)
    app.send("And softer?")
    gate.set()
    app.idle()
    app.until(lambda: title(app) == "Eggs")
    assert app.session.chat.turns[1].reply.answer == "Eight." and app.engine.closed_early == 0


def test_loading_interrupts_the_title_which_is_written_later(begin: Begin) -> None:
    gate = threading.Event()
    app = with_pair(begin, answer("Ten."), [commit("Never"), gate], answer("Eggs"))
    app.ask(PROMPT)
    app.until(lambda: len(app.engine.requests) == 2)
    app.activity.use(LoadPair(Path("other")))
    app.until(lambda: not app.loader.running)
    assert app.engine.closed_early == 1
    app.until(lambda: title(app) == "Eggs")


@pytest.mark.parametrize("code", ["memory_full", "memory_ended_reply"])
def test_a_title_for_which_memory_is_short_is_written_later(begin: Begin, code: str) -> None:
    app = with_pair(begin, answer("Ten."), [UserError(code, "Memory is almost full.")], answer("Eggs"))
    app.ask(PROMPT)
    app.until(lambda: title(app) == "Eggs")
    assert len(app.engine.requests) == 3


@pytest.mark.parametrize("why", ["switched off", "demo pair"])
def test_without_generated_titles_the_first_words_stay(begin: Begin, why: str) -> None:
    app = begin() if why == "demo pair" else with_pair(begin)
    app.services.preferences.chat_titles = why == "demo pair"
    app.ask(PROMPT)
    app.services.titles._start()
    assert title(app) == PROMPT and len(app.engine.requests) == 1


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Title: Boiling Eggs.", "Boiling Eggs"),
        ("\n\n## **Eier kochen**\nnoch etwas", "Eier kochen"),
        ("„Eier“", "Eier"),
        ("one two three four five six seven eight", "one two three four five six"),
        ("x" * 500, "x" * TITLE_CHARS),
        ("“”", ""),
        ("", ""),
        ("I only have eyes for you", "I only have eyes for you"),
        ("Sorrow in Poems", "Sorrow in Poems"),
        ("This small demo model can't help with that.", ""),
        ("I'm sorry, but I can't write a title.", ""),
        ("“I cannot help with that.”", ""),
        ("Es tut mir leid, das kann ich nicht.", ""),
        ("抱歉，我无法回答。", ""),
        ("a\0b \ud800", "a�b �"),
    ],
)
def test_a_written_title_becomes_one_short_line(written: str, expected: str) -> None:
    assert short_title(written) == expected
    assert len(short_title(written).split()) <= TITLE_WORDS


def test_a_refusal_is_no_title(begin: Begin) -> None:
    """A demo pair behind a server answered the request for a title like any other question."""
    app = with_pair(begin, answer("Why did it cross?"), answer("This small demo model can't help with that."))
    app.ask(PROMPT)
    app.until(lambda: len(app.engine.requests) == 2 and not app.services.engine.busy)
    app.until(lambda: not app.services.titles._waiting)
    assert title(app) == PROMPT
