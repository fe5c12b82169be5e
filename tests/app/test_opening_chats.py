"""Opening chats: what a slow disk changes, and the ends of the list."""

from collections.abc import Callable

import pytest

from app.storage.chat_tree import Chat
from app.window.outside_text import OutsideText
from tests.app.conftest import Begin, Session, Start
from tests.app.test_chats_window import chat_with

Reads = dict[str, Callable[[Chat], None]]


def slow_disk(app: Session, monkeypatch: pytest.MonkeyPatch) -> Reads:
    """Return what ends the reading of each chat that is opened, by the chat's id."""
    reads: Reads = {}
    monkeypatch.setattr(app.library, "open", lambda chat_id, then: reads.update({chat_id: then}))
    return reads


@pytest.mark.parametrize("since", ["another chat", "new chat"])
def test_a_chat_that_is_read_late_does_not_replace_one_opened_since(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, since: str
) -> None:
    app = begin()
    app.until(lambda: app.library.read)
    reads, late, other = slow_disk(app, monkeypatch), Chat("Late"), Chat("Other")
    app.session.open_chat(late.id)
    if since == "another chat":
        app.session.open_chat(other.id)
        reads[other.id](other)
        assert app.session.chat is other
    else:
        app.session.new_chat()
    shown = app.session.chat
    reads[late.id](late)
    assert app.session.chat is shown


def test_a_text_from_outside_replaces_a_chat_that_is_still_being_read(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start()
    app.until(lambda: app.library.read)
    reads, late = slow_disk(app, monkeypatch), Chat("Late")
    app.session.open_chat(late.id)
    OutsideText(app.window).ask("Hello")
    reads[late.id](late)
    assert app.session.chat is not late and app.window.composer.text == "Hello"


def test_the_first_chat_has_no_previous_one_and_the_last_no_next_one(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    for title in ("One", "Two", "Three"):
        chat_with(app, title)
    listed = app.commands.listed()
    opened: list[str] = []
    for place, command, expected in (
        (0, "previous_chat", []),
        (0, "next_chat", listed[1:2]),
        (2, "previous_chat", listed[1:2]),
        (2, "next_chat", []),
    ):
        app.session.open_chat(listed[place])
        app.until(lambda at=place: app.session.chat.id == listed[at])  # type: ignore[misc]
        with monkeypatch.context() as patch:
            patch.setattr(app.session, "open_chat", opened.append)
            app.run(command)
        assert opened == expected
        opened.clear()
