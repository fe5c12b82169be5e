"""Messages that are edited: on which branch they are sent, and that their text is never lost."""

import pytest

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
