"""Chats with images through restarts, versions, copies, deletions, exports, and imports."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.session.chat_session import ChatSession
from mlx_engine.contract.requests import AttachedImage, Message
from tests.app.conftest import Begin, Session
from tests.app.pictures import landscape
from tests.app.scripted_engine import PAIR, ScriptedEngine, answer, commit, done

SEES = replace(PAIR, can_see=True)


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "data").mkdir()
    yield tmp_path / "data"


def attach(app: Session, data: bytes, name: str = "lake.png") -> None:
    app.attachments.attach_data(data, name)
    app.until(lambda: not app.attachments.reading)


def ask_about_image(app: Session, data: bytes, question: str = "What is it?") -> str:
    """Ask in a new chat, and return the chat's id."""
    app.session.new_chat()
    attach(app, data)
    app.ask(question)
    assert app.engine.requests[-1].messages[-1] == asked(data, question)
    return app.session.chat.id


def asked(data: bytes, question: str = "What is it?") -> Message:
    return Message("user", question, images=(AttachedImage(0, data, "lake.png"),))


def open_chat(app: Session, chat: str) -> ChatSession:
    app.session.open_chat(chat)
    app.until(lambda: app.session.chat.id == chat)
    return app.session


def begins_of_prompt(app: Session) -> tuple[Message, ...]:
    """Send a message, and return the messages before it, which are the known prefix."""
    app.ask("And now?")
    return app.engine.requests[-1].messages[:-1]


def contains(folder: Path, data: bytes) -> list[str]:
    """Return the names of files with a part of the data."""
    parts = [data[at : at + 48] for at in range(64, len(data) - 48, max(1, len(data) // 40))]
    files = (file for file in folder.rglob("*") if file.is_file())
    return sorted(file.name for file in files if any(part in file.read_bytes() for part in parts))


def noise(size: int = 6000) -> bytes:
    """An image whose bytes occur nowhere else."""
    from io import BytesIO

    from PIL import Image

    made = BytesIO()
    Image.frombytes("RGB", (40, size // 120), os.urandom(120 * (size // 120))).save(made, "PNG")
    return made.getvalue()


@pytest.mark.parametrize("restarts", [False, True])
def test_the_prompt_begins_as_before_after_another_chat_or_a_restart(begin: Begin, data: Path, restarts: bool) -> None:
    app = begin(ScriptedEngine([answer("A lake.")], SEES), data=data)
    chat = ask_about_image(app, image := landscape())
    first = app.engine.requests[-1].messages
    if restarts:
        app.quit()
        app = begin(ScriptedEngine(pair=SEES), data=data)
    else:
        app.session.new_chat()
    open_chat(app, chat)
    assert begins_of_prompt(app) == (*first, Message("assistant", "A lake.")) and first == (asked(image),)


def test_a_reply_that_was_cut_off_continues_with_the_same_images(begin: Begin, data: Path) -> None:
    app = begin(ScriptedEngine([[commit("A", 1), done(reason="length", tokens=1)], answer(" lake.")], SEES), data=data)
    app.session.set_new_chats(replace(app.session.new_chats, max_tokens=1))
    ask_about_image(app, landscape())
    app.session.resume(app.session.chat.turns[0])
    app.idle()
    first, second = app.engine.requests
    assert second.messages[0] == first.messages[0] and app.answer == "A lake."


def test_every_version_of_a_message_keeps_its_own_images(begin: Begin, data: Path) -> None:
    app = begin(ScriptedEngine(pair=SEES), data=data)
    chat = ask_about_image(app, first := landscape())
    app.session.edit(app.session.chat.turns[0])
    app.attachments.remove(app.attachments.files[0])
    attach(app, second := landscape(321))
    app.ask("What is it?")
    app.session.regenerate(app.session.chat.turns[0])
    app.idle()
    assert [request.messages[-1] for request in app.engine.requests[1:]] == [asked(second), asked(second)]
    app.quit()
    app = begin(ScriptedEngine(pair=SEES), data=data)
    session = open_chat(app, chat)
    for expected, step in ((second, -1), (first, 1)):
        assert begins_of_prompt(app)[0] == asked(expected)
        shown = session.chat.turns[0].asked
        assert shown is not None
        session.switch(shown, step)


@pytest.mark.parametrize("way", ["duplicate", "attached again"])
def test_two_chats_share_one_file_and_the_other_keeps_it(begin: Begin, data: Path, way: str) -> None:
    app = begin(ScriptedEngine(pair=SEES), data=data)
    first = ask_about_image(app, image := noise())
    copies: list[str] = []
    if way == "duplicate":
        app.library.duplicate(first, copies.append)
        app.until(lambda: bool(copies))
    else:
        copies.append(ask_about_image(app, image))
    app.session.new_chat()
    app.library.delete([first])
    app.quit()
    app = begin(ScriptedEngine(pair=SEES), data=data)
    open_chat(app, copies[0])
    assert begins_of_prompt(app)[0] == asked(image)
    app.library.delete(copies)
    app.quit()
    assert contains(data, image) == []


def test_a_deleted_chat_returns_with_its_images(begin: Begin, data: Path) -> None:
    app = begin(ScriptedEngine(pair=SEES), data=data)
    chat = ask_about_image(app, image := landscape())
    app.library.delete([chat])
    assert app.session.chat.empty
    app.run("undo_delete")
    app.until(lambda: app.session.chat.id == chat)
    assert begins_of_prompt(app)[0] == asked(image)


def test_an_exported_chat_is_imported_with_its_images(begin: Begin, data: Path, tmp_path: Path) -> None:
    app = begin(ScriptedEngine(pair=SEES), data=data)
    chat = ask_about_image(app, image := noise())
    app.library.export_chats([chat], tmp_path / "chats.json")
    app.until(lambda: (tmp_path / "chats.json").exists())
    app.library.delete([chat])
    app.quit()
    assert contains(data, image) == []
    app = begin(ScriptedEngine(pair=SEES), data=data)
    app.until(lambda: app.library.read)
    app.library.import_file(tmp_path / "chats.json")
    app.until(lambda: bool(app.library.entries) and app.library.importing is None)
    (imported,) = app.library.entries
    open_chat(app, imported)
    assert begins_of_prompt(app)[0] == asked(image)


def test_images_of_a_private_chat_are_only_in_the_chats_file_and_gone_when_it_is_deleted(begin: Begin, data: Path) -> None:
    """“Private” keeps prompts out of the cache and off servers. The chat itself is saved."""
    app = begin(ScriptedEngine(pair=SEES), data=data)
    app.session.change(private=True)
    attach(app, image := noise())
    app.ask("What is it?")
    request = app.engine.requests[-1]
    assert request.private and request.messages[-1] == asked(image)
    places = (data.parent, Path(os.environ["XDG_CACHE_HOME"]))
    app.until(lambda: contains(data, image) != [])
    assert {name for place in places for name in contains(place, image)} <= {"chats.db", "chats.db-wal"}
    app.library.delete([app.session.chat.id])
    app.quit()
    assert [contains(place, image) for place in places] == [[], []]
