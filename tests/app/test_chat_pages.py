"""Pages of PDFs that were sent to a model which couldn't see, once another one sees."""

import io
import pickle
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from app.session import page_drawer
from app.session.page_drawer import PageDrawer
from app.storage import attached_files
from app.storage.attached_files import read
from app.storage.attachments import Attachment, Unread
from app.storage.chat_tree import Chat
from app.storage.pictures import Page, Picture, StoredFile
from app.views.transcript.attachment_chips import figures
from mlx_engine.contract.errors import UserError
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
    original = page_drawer.draw_pages
    monkeypatch.setattr(page_drawer, "draw_pages", lambda one, cancel: drawn.append(one.name) or original(one, cancel))
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

    def draw(one: object, cancel: threading.Event) -> tuple[()]:
        tries.append("")
        assert fails == "returned"
        return ()

    monkeypatch.setattr(page_drawer, "draw_pages", draw)
    see(app)
    app.until(lambda: not app.session.drawing_pages)
    app.ask("And now?")
    assert len(tries) == 1 and app.session.unread == (Unread("scan.pdf", (1, 2)),)


@pytest.mark.parametrize("leaves", ["another chat", "a pair that can't see", "quitting"])
def test_drawing_stops_when_it_is_not_needed(begin: Begin, scan: Path, monkeypatch: pytest.MonkeyPatch, leaves: str) -> None:
    app = begin()
    send_to_blind_pair(app, scan)
    stopped = threading.Event()
    monkeypatch.setattr(page_drawer, "draw_pages", lambda one, cancel: (cancel.wait(60) and stopped.set()) or ())
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


@pytest.fixture
def first_page_only(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Drawing stops after a PDF's first page, until this is set or drawing is canceled."""
    gate, original = threading.Event(), page_drawer.draw_pages

    def draw(pdf: Attachment, cancel: threading.Event) -> Iterator[Attachment]:
        for drawn in original(pdf, cancel):
            yield drawn
            while not gate.wait(0.01):
                if cancel.is_set():
                    return

    monkeypatch.setattr(page_drawer, "draw_pages", draw)
    return gate


def shown(files: Iterable[Attachment]) -> list[list[bool]]:
    return [[page.shown for page in one.page_list] for one in files]


def wait_for_first_page(app: Session, drawer: PageDrawer) -> None:
    app.until(lambda: drawer._drawing is not None and drawer._drawing.drawn is not drawer._drawing.pdf)


def test_pages_drawn_before_the_user_leaves_are_kept(begin: Begin, scan: Path, first_page_only: threading.Event) -> None:
    app = begin()
    send_to_blind_pair(app, scan)
    chat = app.session.chat.id
    see(app)
    wait_for_first_page(app, app.services.chat_pages._drawer)
    app.session.new_chat()
    first_page_only.set()
    see(app, can_see=False)
    app.session.open_chat(chat)
    app.until(lambda: app.session.chat.id == chat)
    assert app.session.chat.turns[0].asked is not None
    assert shown(app.session.chat.turns[0].asked.attachments) == [[True, False]]


def test_a_pdf_in_several_messages_is_drawn_once(begin: Begin, scan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    send_to_blind_pair(app, scan)
    send_to_blind_pair(app, scan)
    drawn, original = list[str](), page_drawer.draw_pages
    monkeypatch.setattr(page_drawer, "draw_pages", lambda one, cancel: drawn.append(one.name) or original(one, cancel))
    see(app)
    app.until(lambda: not app.session.drawing_pages)
    asked = [turn.asked for turn in app.session.chat.turns]
    assert drawn == ["scan.pdf"] and [shown(one.attachments) for one in asked if one is not None] == [[[True, True]]] * 2


def test_the_state_of_drawn_pdfs_is_small(begin: Begin, scan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    monkeypatch.setattr(page_drawer, "draw_pages", lambda one, cancel: ())
    send_to_blind_pair(app, scan)
    see(app)
    app.until(lambda: not app.session.drawing_pages)
    given_up = app.services.chat_pages._drawer._given_up
    assert len(given_up) == 1 and len(pickle.dumps(given_up)) < 300 < scan.stat().st_size


@given(st.lists(st.sampled_from(["drawn", "good", "bad", "text"]), max_size=9), st.integers(0, 9))
def test_pages_that_fail_count_toward_the_limit(kinds: list[str], limit: int) -> None:
    picture = Picture(StoredFile.of(b"picture"), 9, 9, "PNG")
    pages = tuple(
        Page(number, "", sent="text" if kind == "text" else "picture", picture=picture if kind == "drawn" else None)
        for number, kind in enumerate(kinds, 1)
    )
    tried: list[int] = []

    def draw(data: bytes, number: int, name: str, cancel: object) -> bytes:
        tried.append(number)
        if kinds[number - 1] == "bad":
            raise UserError("pdf_damaged", "It is damaged.")
        return b"picture"

    one = Attachment("a.pdf", "", 9, len(pages), document=StoredFile.of(b"document"), page_list=pages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attached_files, "MOST_PICTURES", limit)
        patch.setattr(attached_files, "pdf_picture", draw)
        patch.setattr(attached_files, "picture_of", lambda *_: picture)
        results = [one, *attached_files.draw_pages(one)]
    missing = [number for number, kind in enumerate(kinds, 1) if kind in ("good", "bad")]
    assert tried == missing[: max(0, limit - kinds.count("drawn"))]
    good = [number for number in tried if kinds[number - 1] == "good"]
    assert [found.undrawn for found in results] == [
        tuple(number for number in missing if number not in good[:count]) for count in range(len(good) + 1)
    ]


# In the composer


def test_a_pdf_that_is_read_while_a_pair_loads_is_sent_with_its_pictures(
    begin: Begin, scan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, gate = begin(), threading.Event()
    monkeypatch.setattr("app.session.attachment_reader.read", lambda path, cancel: (gate.wait(60), read(path, cancel))[1])
    app.attachments.attach([scan])
    see(app)
    gate.set()
    app.until(lambda: bool(app.attachments.files) and not app.attachments.busy)
    app.ask("What is it?")
    assert len(app.engine.requests[-1].messages[-1].images) == 2


def test_a_pdf_appears_before_its_pages_are_drawn_and_canceling_keeps_it(
    begin: Begin, scan: Path, first_page_only: threading.Event
) -> None:
    app = begin()
    see(app)
    app.attachments.attach([scan])
    wait_for_first_page(app, app.attachments._drawer)
    assert shown(app.attachments.files) == [[False, False]] and app.attachments.busy
    assert app.message.unread == ()
    app.attachments.leave_out()
    assert shown(app.attachments.files) == [[True, False]] and not app.attachments.busy
    assert app.message.unread == (Unread("scan.pdf", (2,)),)
    first_page_only.set()
    app.attachments.move(app.attachments.files[0], 0)
    app.ask("What is it?")
    assert len(app.engine.requests[-1].messages[-1].images) == 1


def test_pages_drawn_before_other_pages_are_chosen_are_kept(begin: Begin, scan: Path, first_page_only: threading.Event) -> None:
    app = begin()
    see(app)
    app.attachments.attach([scan])
    wait_for_first_page(app, app.attachments._drawer)
    pdf = app.attachments.files[0]
    app.attachments.set_pages(pdf, [pdf.page_list[0], replace(pdf.page_list[1], sent="no")])
    assert shown(app.attachments.files) == [[True, False]] and not app.attachments.busy
    first_page_only.set()
    app.attachments.set_pages(pdf, pdf.page_list)
    app.until(lambda: not app.attachments.busy)
    assert shown(app.attachments.files) == [[True, True]]


def test_a_file_is_removed_or_moved_after_its_pages_were_drawn(begin: Begin, scan: Path, tmp_path: Path) -> None:
    """“Remove File” in the notice about a PDF that didn't fit did nothing then."""
    app = begin()
    (tmp_path / "note.txt").write_text("content")
    app.attachments.attach([scan, tmp_path / "note.txt"])
    app.until(lambda: len(app.attachments.files) == 2)
    before = app.attachments.files[0]
    see(app)
    app.until(lambda: not app.attachments.busy)
    assert app.attachments.files[0] != before
    app.attachments.move(before, 1)
    assert [one.name for one in app.attachments.files] == ["note.txt", "scan.pdf"]
    app.attachments.remove(before)
    assert [one.name for one in app.attachments.files] == ["note.txt"]


def test_a_pdf_is_attached_once_whatever_is_sent_of_it(begin: Begin, scan: Path, tmp_path: Path) -> None:
    app = begin()
    app.attachments.attach([scan])
    app.until(lambda: not app.attachments.busy)
    pdf = app.attachments.files[0]
    app.attachments.set_pages(pdf, [pdf.page_list[0], replace(pdf.page_list[1], sent="no")])
    (tmp_path / "scan.txt").write_text("end")
    app.attachments.attach([scan, tmp_path / "scan.txt"])
    app.until(lambda: not app.attachments.busy)
    assert [one.name for one in app.attachments.files] == ["scan.pdf", "scan.txt"]


def test_counts_of_files_that_are_gone_are_forgotten(begin: Begin, scan: Path) -> None:
    app = begin()
    reader = app.attachments
    reader.attach([scan])
    app.until(lambda: len(reader.counts) == 1)
    pdf = reader.files[0]
    reader.set_pages(pdf, [replace(page, sent="no") for page in pdf.page_list])
    app.until(lambda: reader.files[0] in reader.counts)
    assert list(reader.counts) == reader.files
    reader.remove(reader.files[0])
    assert not reader.counts
    reader.attach([scan])
    app.until(lambda: len(reader.counts) == 1)
    app.ask("What is it?")
    assert not reader.counts and not reader.files


def test_the_note_says_which_images_of_tools_are_not_read(start: Start) -> None:
    app = start()
    app.ask("Look")
    images = AttachedImage(0, b"data", "screen.png"), AttachedImage(0, b"data")
    app.session.chat.turns[0].reply.calls = (CallRecord(ToolCall("1", "look", "{}"), state="done", images=images),)
    app.session.pages_changed.emit()
    bar = app.window.foot.unread
    assert bar.label.text() == "Not read: “screen.png”, an image from a tool. This model can't see images."
    see(app)
    assert app.session.unread == () and not bar.isVisible()
    lost = replace(images[0], data=b"")
    app.session.chat.turns[0].reply.calls = (CallRecord(ToolCall("1", "look", "{}"), state="done", images=(lost,)),)
    assert app.session.unread == (Unread("screen.png", lost=True),)


def test_the_note_leaves_out_files_above_the_cut(start: Start) -> None:
    """The model reads nothing there, whatever the file."""
    app = start()
    app.ask("Look")
    app.ask("And now?")
    first, second = app.session.chat.turns
    images = (AttachedImage(0, b"data", "screen.png"),)
    first.reply.calls = (CallRecord(ToolCall("1", "look", "{}"), state="done", images=images),)
    app.session.pages_changed.emit()
    bar = app.window.foot.unread
    assert bar.isVisible() and first.answered is not None and second.answered is not None
    app.session.set_summary(first.answered, "We looked.")
    assert app.session.unread == () and not bar.isVisible()
    app.session.set_summary(first.answered, "")
    assert bar.isVisible()
    app.session.set_summary(second.answered, "We looked.")
    assert not bar.isVisible()
    app.session.set_summary(second.answered, "")
    second.reply.left_out = 2
    app.session.change(rolling=True)
    assert not bar.isVisible()
    app.session.change(rolling=False)
    assert bar.isVisible(), "they are sent again without the window"


def test_the_chip_says_which_pages_are_sent() -> None:
    """It said “8 pages” although only four of them were sent."""
    file = Attachment("a.pdf", "", 12_400, 8, page_list=tuple(Page(number, "Text") for number in range(1, 9)))

    def facts(*sent: int) -> str:
        pages = tuple(page if page.number in sent else replace(page, sent="no") for page in file.page_list)
        return figures(replace(file, page_list=pages), None)[0].removeprefix("12 KB · ")

    assert facts(*range(1, 9)) == "8 pages"
    assert figures(file.first_pages(4), None)[0] == "12 KB · pages 1–4 of 8"
    assert facts(3) == "page 3 of 8"
    assert facts(1, 2, 5) == "3 of 8 pages" and facts() == "0 of 8 pages"
