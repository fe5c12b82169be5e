"""Pages of PDFs that were sent to a model which couldn't see, once another one sees."""

import io
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from app.session import chat_pages
from app.storage.attachments import Unread
from app.storage.chat_tree import Chat
from mlx_engine.contract.requests import AttachedImage, ToolCall
from mlx_engine.mcp.record import CallRecord
from tests.app.conftest import Begin, Session, Start
from tests.app.pictures import pdf


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    pages = [Image.new("RGB", (200, 200), color) for color in ("red", "green")]
    made = io.BytesIO()
    pages[0].save(made, "PDF", save_all=True, append_images=pages[1:])
    (tmp_path / "scan.pdf").write_bytes(made.getvalue())
    return tmp_path / "scan.pdf"


def see(app: Session, can_see: bool = True) -> None:
    """Load a pair that sees, or one that doesn't."""
    assert app.loader.pair is not None
    app.loader.pair = replace(app.loader.pair, can_see=can_see)
    app.loader.loaded.emit()


def send_to_blind_pair(app: Session, *files: Path) -> None:
    app.attachments.attach(files)
    app.until(lambda: not app.attachments.reading)
    app.ask("What is it?")
    assert not app.engine.requests[-1].messages[-1].images


@pytest.mark.parametrize("way", ["next message", "regenerate"])
def test_the_next_reply_of_a_pair_that_sees_gets_the_pages(begin: Begin, scan: Path, way: str) -> None:
    app = begin()
    send_to_blind_pair(app, scan)
    see(app)
    assert app.session.drawing_pages and app.session.unread == ()
    if way == "regenerate":
        app.session.regenerate(app.session.chat.turns[0])
        assert app.message.note == "The reply will start when the chat's PDF pages have been read."
    else:
        app.send("And now?")
        assert app.message.note == "The message will be sent when the chat's PDF pages have been read."
    app.until(lambda: len(app.engine.requests) == 2 and not app.activity.busy)
    assert [image.name for image in app.engine.requests[-1].messages[0].images] == ["scan.pdf, page 1", "scan.pdf, page 2"]
    stored: list[Chat] = []
    app.services.store.read(lambda store: store.load(app.session.chat.id), stored.append)
    app.until(lambda: bool(stored))
    asked = stored[0].turns[0].asked
    assert asked is not None and [page.shown for page in asked.attachments[0].page_list] == [True, True]


def test_pages_are_drawn_when_their_chat_opens_and_each_pdf_once(
    begin: Begin, scan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = begin()
    (tmp_path / "text.pdf").write_bytes(pdf("First", "Second"))
    send_to_blind_pair(app, scan, tmp_path / "text.pdf")
    chat = app.session.chat.id
    app.session.new_chat()
    see(app)
    assert not app.session.drawing_pages
    drawn: list[str] = []
    original = chat_pages.with_page_pictures
    monkeypatch.setattr(chat_pages, "with_page_pictures", lambda one, cancel: drawn.append(one.name) or original(one, cancel))
    app.session.open_chat(chat)
    app.until(lambda: app.session.chat.id == chat and not app.session.drawing_pages)
    see(app)
    assert drawn == ["scan.pdf"] and not app.session.drawing_pages


@pytest.mark.parametrize("fails", ["returned", "raised"])
def test_pages_that_cannot_be_drawn_are_tried_once_and_said(
    begin: Begin, scan: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    app = begin()
    send_to_blind_pair(app, scan)
    tries: list[str] = []

    def draw(one: object, cancel: threading.Event) -> object:
        tries.append("")
        assert fails == "returned"
        return one

    monkeypatch.setattr(chat_pages, "with_page_pictures", draw)
    see(app)
    app.until(lambda: not app.session.drawing_pages)
    app.ask("And now?")
    assert len(tries) == 1 and app.session.unread == (Unread("scan.pdf", (1, 2)),)


@pytest.mark.parametrize("leaves", ["another chat", "a pair that can't see", "quitting"])
def test_drawing_stops_when_it_is_not_needed(begin: Begin, scan: Path, monkeypatch: pytest.MonkeyPatch, leaves: str) -> None:
    app = begin()
    send_to_blind_pair(app, scan)
    stopped = threading.Event()
    monkeypatch.setattr(chat_pages, "with_page_pictures", lambda one, cancel: (cancel.wait(60) and stopped.set()) or one)
    see(app)
    app.send("And now?")
    if leaves == "another chat":
        app.session.new_chat()
    elif leaves == "quitting":
        app.services.save_chats()
    else:
        see(app, can_see=False)
    assert stopped.wait(60) and not app.session.drawing_pages
    if leaves == "a pair that can't see":
        app.until(lambda: len(app.engine.requests) == 2)


def test_the_note_says_which_images_of_tools_are_not_read(start: Start) -> None:
    app = start()
    app.ask("Look")
    images = AttachedImage(0, b"data", "screen.png"), AttachedImage(0, b"data")
    app.session.chat.turns[0].reply.calls = (CallRecord(ToolCall("1", "look", "{}"), state="done", images=images),)
    app.reply_runner.ended.emit()
    bar = app.window.foot.unread
    assert bar.label.text() == "Not read: “screen.png”, an image from a tool. This model can't see images."
    see(app)
    assert app.session.unread == () and not bar.isVisible()
    lost = replace(images[0], data=b"")
    app.session.chat.turns[0].reply.calls = (CallRecord(ToolCall("1", "look", "{}"), state="done", images=(lost,)),)
    assert app.session.unread == (Unread("screen.png", lost=True),)
