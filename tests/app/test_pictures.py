"""Images and pages of PDFs in messages: what is stored, once, and what the model gets."""

import io
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from app.session.context_use import NextPrompt, measure, use_text
from app.session.engine_adapter import Delivery
from app.session.reply_runner import ReplyRunner
from app.storage.attached_files import draw_pages, read, read_data
from app.storage.attachments import Attachment, Unread, message_of, shown_to, text_of_pages, unread
from app.storage.chat_tree import Chat, Node
from app.storage.pictures import Page, Picture, StoredFile
from app.storage.records import chat_to_json
from app.storage.store import Snapshot, Store
from app.storage.wording import not_read
from mlx_engine.contract import requests
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import AttachedImage, CountTokens, GenerationRequest, Message, ToolCall
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.mcp.approvals import Approvals
from mlx_engine.mcp.record import CallRecord
from mlx_engine.mcp.tool import ToolResult
from tests.app.chats import texts
from tests.app.conftest import Begin, Session
from tests.app.scripted_engine import commit, done
from tests.app.test_attachments import pdf
from tests.app.tools_in_chat import CALCULATOR
from tests.mlx_engine.media.made_media import HEIC

contents = st.sampled_from([b"one", b"two", b"three", b"four"])  # few, so that messages share files
names = st.sampled_from(["a.png", "Photo 2.jpg", "é.heic"])
pictures = st.builds(Picture, contents.map(StoredFile.of), st.integers(1, 9), st.integers(1, 9), st.just("PNG"), st.integers(1, 3))
lost_pictures = pictures.map(lambda picture: replace(picture, file=StoredFile(StoredFile.of(b"gone").digest)))
images = st.builds(lambda name, picture: Attachment(name, "", 3, picture=picture), names, pictures | lost_pictures)


@st.composite
def pdfs(draw: st.DrawFn) -> Attachment:
    pages = tuple(
        Page(
            number,
            draw(texts.map(str.strip)),
            draw(st.sampled_from(["", "little_text", "figures"])),
            draw(st.sampled_from(["text", "picture", "no"])),
            draw(st.none() | pictures | lost_pictures),
        )
        for number in range(1, draw(st.integers(1, 5)) + 1)
    )
    return Attachment("paper.pdf", text_of_pages(pages), 9, len(pages), document=StoredFile.of(draw(contents)), page_list=pages)


files = st.builds(Attachment, st.sampled_from(["a.txt", "b.py"]), texts, st.integers(0, 99))
attachments = st.lists(files | images | pdfs(), max_size=4).map(tuple)


def encoded(format: str = "PNG", size: tuple[int, int] = (8, 6)) -> bytes:
    made = io.BytesIO()
    Image.new("RGB", size, "red").save(made, format)
    return made.getvalue()


# What the model gets


@given(texts, attachments)
def test_a_message_has_each_image_at_its_place(text: str, attached: tuple[Attachment, ...]) -> None:
    """A model that can't see reads a line with the image's name instead."""
    seen, blind = message_of(text, attached, can_see=True), message_of(text, attached, can_see=False)
    assert not blind.images and [image.at for image in seen.images] == sorted(image.at for image in seen.images)
    lines = [line for line in blind.content.split("\n") if line.endswith(", not shown]")]
    assert lines == [f"[image: {image.name}, not shown]" for image in seen.images]
    expected, done = "", 0
    for image, line in zip(seen.images, lines, strict=True):
        expected, done = expected + seen.content[done : image.at] + line, image.at
    assert "".join(blind.content.split()) == "".join((expected + seen.content[done:]).split())
    assert blind == shown_to(False, (seen,))[0] and seen == shown_to(True, (seen,))[0]
    shown = [(f"{one.name}, page {page.number}", page.picture) for one in attached for page in one.page_list if page.shown]
    shown += [(one.name, one.picture) for one in attached if one.picture is not None and not one.picture.lost]
    assert sorted((image.name, image.data) for image in seen.images) == sorted((name, one.file.data) for name, one in shown)
    assert blind.content.count(" is lost]") == sum(one.picture is not None and one.picture.lost for one in attached)
    for one in attached:
        for page in one.page_list:
            head = f"[Page {page.number} of {len(one.page_list)}"
            assert (head in blind.content) or page.sent == "no"
            assert page.sent == "no" or page.text in blind.content
    assert seen.content.endswith(text)


@given(texts, attachments)
def test_messages_know_the_digests_of_their_images(text: str, attached: tuple[Attachment, ...]) -> None:
    """Large files aren't read again each time a prompt is counted."""
    computed: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(requests, "sha256", lambda data: computed.append(data) or sha256(data))
        sent = message_of(text, attached, can_see=True)
        (again,) = shown_to(True, (sent,))
        assert [image.digest for image in again.images] == [sha256(image.data).hexdigest() for image in sent.images]
    assert not computed


def test_the_layout_of_messages() -> None:
    photo = Attachment("a.png", "", 3, picture=Picture(StoredFile.of(b"photo"), 2, 2, "PNG"))
    scan = Picture(StoredFile.of(b"scan"), 2, 2, "PNG")
    pages = (Page(1, "One", ""), Page(2, "", "little_text", "picture", scan), Page(3, "Three", "table", "picture"))
    paper = Attachment("p.pdf", "", 9, 5, page_list=(*pages, Page(4, "Four", sent="no"), Page(5, "Five", sent="no")))
    note = Attachment("n.txt", "Note\n")
    found = message_of("What?", (photo, photo, note, photo, paper), can_see=True)
    paper_text = "--- p.pdf ---\n[Page 1 of 5]\nOne\n\n[Page 2 of 5]\n|\n\n[Page 3 of 5. You can't see its table's layout]\nThree"
    ending = "[Pages 4 to 5 of 5 are left out]\n--- end of p.pdf ---\n\nWhat?"
    marked = f"||--- n.txt ---\nNote\n--- end of n.txt ---\n\n|{paper_text}\n\n{ending}"
    assert found.content == marked.replace("|", "")
    places = [at for at, char in enumerate(marked) if char == "|"]
    assert [image.at for image in found.images] == [at - number for number, at in enumerate(places)]
    assert [image.name for image in found.images] == ["a.png", "a.png", "a.png", "p.pdf, page 2"]
    assert message_of("What?", (photo,), can_see=False).content == "[image: a.png, not shown]\nWhat?"


# What is stored


def rows(store: Store) -> tuple[dict[str, bytes], set[tuple[str, str]]]:
    """Return the stored files, and which message has which."""
    return dict(store._db.execute("SELECT * FROM file")), set(store._db.execute("SELECT * FROM message_file"))


def kept(chat: Chat) -> dict[str, bytes]:
    """Return the files of a chat, by digest."""
    nodes = list(chat.root.below())
    found = {file.digest: file.data for node in nodes for one in node.attachments for file in one.files if file.data}
    calls = [call for node in nodes if node.reply for call in node.reply.calls]
    return found | {image.digest: image.data for call in calls for image in call.images}


def call_with(*data: bytes) -> CallRecord:
    shown = tuple(AttachedImage(at, one, f"{at}.png") for at, one in enumerate(data))
    return CallRecord(ToolCall("call_1", "look", "{}"), "Files", "look", state="done", result="Some text", images=shown)


def answered(chat: Chat, text: str, attached: tuple[Attachment, ...] = (), *results: bytes) -> Node:
    turn = chat.ask(text, "plain", attachments=attached)
    turn.reply.answer, turn.reply.reason = "Yes.", "eos"
    turn.reply.answer_by.add(len(turn.reply.answer))
    turn.reply.calls = (call_with(*results),) if results else ()
    assert turn.asked is not None
    return turn.asked


@given(st.lists(st.tuples(attachments, st.lists(contents, max_size=2)), min_size=1, max_size=3), st.data())
def test_files_are_stored_once_and_deleted_with_their_last_message(
    messages: list[tuple[tuple[Attachment, ...], list[bytes]]], data: st.DataObject
) -> None:
    with closing(Store(None)) as store:
        chats = [Chat() for _ in messages]
        for chat, (attached, results) in zip(chats, messages, strict=True):
            for number in range(data.draw(st.integers(1, 2))):
                answered(chat, f"{number}", attached, *results)
            store.save(Snapshot.of(chat, chat.root.below()))
            store.save(Snapshot.of(chat, chat.root.below()))  # as a growing reply is
        while chats:
            expected = {digest: one for chat in chats for digest, one in kept(chat).items()}
            found, owners = rows(store)
            assert found == expected and {digest for _, digest in owners} == set(expected)
            for chat in chats:
                again = store.load(chat.id)
                assert again is not None and chat_to_json(again) == chat_to_json(chat)
                assert kept(again).keys() >= kept(chat).keys()
            gone = chats.pop(data.draw(st.integers(0, len(chats) - 1)))
            first = gone.root.children[0]
            if data.draw(st.booleans()):
                store.delete_message(first.id)
            else:
                store.delete([gone.id])
                store.purge()
        assert rows(store) == ({}, set())


def test_a_lost_file_shows_as_lost_and_stays_named_when_its_message_is_saved_again(tmp_path: Path) -> None:
    chat = Chat()
    photo = Attachment("photo.jpg", "", 5, picture=Picture(StoredFile.of(b"photo"), 2, 2, "JPEG"))
    answered(chat, "What is it?", (photo,), b"result")
    with closing(Store(tmp_path / "chats.db")) as store:
        store.save(Snapshot.of(chat, chat.root.below()))
        for table in ("message_file", "file"):
            store._db.execute(f"DELETE FROM {table}")
        again = store.load(chat.id)
        assert again is not None
        store.save(Snapshot.of(again, again.root.below()))
        again = store.load(chat.id)
        assert again is not None and chat_to_json(again) == chat_to_json(chat)
    asked = again.turns[0].asked
    assert asked is not None and asked.attachments[0].picture is not None and asked.attachments[0].picture.lost
    assert asked.message == Message("user", "[image photo.jpg is lost]\nWhat is it?")
    sent = shown_to(True, again.history())
    assert [one.content for one in sent if one.role == "tool"] == ["[image 0.png is lost]\nSome text"]


# Reading


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WebP", "GIF", "TIFF", "HEIC"])
def test_images_are_read_by_content(tmp_path: Path, format: str) -> None:
    if format == "HEIC":
        data = HEIC
    elif format == "GIF":
        made = io.BytesIO()
        first, *rest = (Image.new("RGB", (8, 6), color) for color in ("red", "green", "blue"))
        first.save(made, "GIF", save_all=True, append_images=rest)
        data = made.getvalue()
    else:
        data = encoded(format)
    (tmp_path / "named wrongly.txt").write_bytes(data)
    found = read(tmp_path / "named wrongly.txt")
    size = (32, 48) if format == "HEIC" else (8, 6)
    picture = Picture(StoredFile.of(data), *size, format, 3 if format == "GIF" else 1)
    assert found == Attachment("named wrongly.txt", "", len(data), picture=picture)
    assert found.picture is not None and found.picture.file.data == data


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("photo.PNG", b"\x89PNG\r\n\x1a\n\x00\x01", "“photo.PNG” is damaged"),
        ("cut.jpg", encoded("JPEG", (400, 300))[:-800], "“cut.jpg” is damaged"),
        ("photo.PNG", b"\0" * 8 + encoded("PNG")[8:], "“photo.PNG” is damaged"),
        ("bitmap.png", encoded("BMP"), "“bitmap.png” isn't an image that can be read. Use JPEG"),
        ("old.bmp", encoded("BMP"), "“old.bmp” isn't an image that can be read. Use JPEG"),
        ("scan.jp2", b"\0\1\2\3", "“scan.jp2” isn't an image"),
    ],
)
def test_images_that_cannot_be_read_are_refused_when_they_are_attached(name: str, data: bytes, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read_data(data, name)


def test_pages_of_a_pdf_have_their_texts_and_get_pictures(tmp_path: Path) -> None:
    scan = io.BytesIO()
    Image.new("RGB", (200, 200), "red").save(scan, "PDF")
    found = read_data(scan.getvalue(), "scan.pdf")
    assert [(page.text, page.why, page.sent, page.picture) for page in found.page_list] == [("", "little_text", "picture", None)]
    assert found.unread_pages(can_see=True) == found.unread_pages(can_see=False) == (1,)
    *_, drawn = draw_pages(found)
    assert drawn.unread_pages(can_see=True) == () and drawn.unread_pages(can_see=False) == (1,)
    (image,) = message_of("", (drawn,), can_see=True).images
    assert image.name == "scan.pdf, page 1" and image.data.startswith(b"\x89PNG")
    assert drawn.document == StoredFile(sha256(scan.getvalue()).hexdigest())
    text = read_data(pdf("First", "", "Third"), "text.pdf")
    assert not list(draw_pages(text)) and text.text == "First\n\nThird"


# In the window's session


@pytest.fixture
def photo(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "photo.png").write_bytes(encoded())
    yield tmp_path / "photo.png"


def attach(app: Session, *given: Path) -> None:
    app.attachments.attach(given)
    app.until(lambda: not app.attachments.reading)


def test_a_pair_that_sees_gets_the_images_and_another_one_their_names(begin: Begin, photo: Path) -> None:
    app = begin()
    attach(app, photo)
    app.ask("What is it?")
    assert app.engine.requests[-1].messages[-1] == Message("user", "[image: photo.png, not shown]\nWhat is it?")
    assert app.loader.pair is not None
    app.loader.pair = replace(app.loader.pair, can_see=True)
    app.ask("And now?")
    assert app.engine.requests[-1].messages[0].images == (AttachedImage(0, photo.read_bytes(), "photo.png"),)


def test_files_can_be_moved_pasted_and_their_pages_chosen(begin: Begin, photo: Path) -> None:
    app = begin()
    reader = app.attachments
    reader.attach_data(photo.read_bytes(), "Pasted.png")
    reader.attach_data(pdf("First", "Second"), "text.pdf")
    app.until(lambda: not reader.reading)
    assert [one.name for one in reader.files] == ["Pasted.png", "text.pdf"]
    reader.move(reader.files[1], 0)
    assert [one.name for one in reader.files] == ["text.pdf", "Pasted.png"]
    first, second = reader.files[0].page_list
    reader.set_pages(reader.files[0], (replace(first, sent="picture"), replace(second, sent="no")))
    assert not reader.busy  # the pair can't see
    assert app.loader.pair is not None
    app.loader.pair = replace(app.loader.pair, can_see=True)
    reader.count_all()  # as after loading
    app.until(lambda: not reader.busy)
    assert [page.shown for page in reader.files[0].page_list] == [True, False]
    app.ask("What?")
    message = app.engine.requests[-1].messages[-1]
    assert [image.name for image in message.images] == ["text.pdf, page 1", "Pasted.png"] and "Second" not in message.content


def test_versions_edits_and_repeated_replies_keep_the_images(begin: Begin, photo: Path) -> None:
    app = begin()
    assert app.loader.pair is not None and app.message.unread == ()
    app.loader.pair = replace(app.loader.pair, can_see=True)
    attach(app, photo)
    app.ask("What is it?")
    sent = app.engine.requests[-1].messages[-1]
    app.session.regenerate(app.session.chat.turns[0])
    app.until(lambda: not app.activity.busy)
    assert app.engine.requests[-1].messages[-1] == sent and len(sent.images) == 1
    app.session.edit(app.session.chat.turns[0])
    assert [one.picture for one in app.attachments.files] == [one.picture for one in app.session.chat.turns[0].asked.attachments]  # type: ignore[union-attr]
    app.attachments.remove(app.attachments.files[0])
    app.ask("And without it?")
    assert app.engine.requests[-1].messages == (Message("user", "And without it?"),)
    app.session.switch(app.session.chat.turns[0].asked, -1)  # type: ignore[arg-type]
    app.ask("And now?")
    assert app.engine.requests[-1].messages[0] == sent


def test_files_that_are_not_read_are_listed_with_their_pages() -> None:
    files = Unread("a.png"), Unread("b.pdf", (3,)), Unread("c.pdf", (2, 3, 4, 5, 6, 7)), Unread("", lost=True)
    assert not_read(files[:2], False, "") == "Not read: “a.png”, “b.pdf” (page 3). This model can't see images."
    assert not_read(files[2:], True, "") == "Not read: “c.pdf” (pages 2, 3, 4, 5, 6…), an image from a tool (lost)."
    assert not_read(files, False, "Why.") == "Not read: “a.png”, “b.pdf” (page 3), 2 more. Why."


def test_what_a_pair_does_not_read_is_known(begin: Begin, photo: Path, tmp_path: Path) -> None:
    scan = io.BytesIO()
    Image.new("RGB", (200, 200), "red").save(scan, "PDF")
    (tmp_path / "scan.pdf").write_bytes(scan.getvalue())
    app = begin()
    attach(app, photo, tmp_path / "scan.pdf")
    image, scanned = app.attachments.files
    assert app.message.unread == (Unread(image.name), Unread(scanned.name, (1,))) and app.session.unread == ()
    app.ask("What is it?")
    assert app.message.unread == () and app.session.unread == (Unread(image.name), Unread(scanned.name, (1,)))
    assert app.loader.pair is not None
    app.loader.pair = replace(app.loader.pair, can_see=True)
    assert app.session.unread == (Unread(scanned.name, (1,)),)  # whose page wasn't drawn
    lost = replace(image, picture=replace(image.picture, file=StoredFile("0")))  # type: ignore[type-var]
    assert unread((lost, image), True) == (Unread(lost.name, lost=True),)
    assert unread((lost,), False) == (Unread(lost.name, lost=True),)


def test_results_of_calls_keep_their_images_for_a_pair_that_sees() -> None:
    """The pair of the first reply can't see them, that of the second can."""
    chat, requests, calls = Chat(), list[Any](), list[Any]()
    tools = SimpleNamespace(approvals=Approvals(), call=lambda tool, arguments, done, progress: calls.append(done))
    engine = SimpleNamespace(submit=lambda request, receive: requests.append((request, receive)) or SimpleNamespace(cancel=print))
    library = SimpleNamespace(save=lambda chat, nodes, then=None: then and then(None), save_growth=lambda *_: None)
    run = ReplyRunner(engine, library, tools)  # type: ignore[arg-type]
    turn = chat.ask("Look", "dflash")
    run.start(turn, chat, turn.request, {"calculator": CALCULATOR}, can_see=False)
    for event in (ToolCall("1", "calculator", "{}"), done(reason="tool_calls"), None):
        requests[-1][1]([Delivery(event, 0.0)])
    run.decide(turn, "1", "once")
    shown = AttachedImage(3, b"screenshot", "shot.png")
    calls[0](ToolResult("A: B", images=(shown,)))
    assert requests[-1][0].messages[-1].content == "A: \n[image: shot.png, not shown]\nB"
    for event in (commit("Fine."), done(), None):
        requests[-1][1]([Delivery(event, 0.0)])
    with closing(Store(None)) as store:
        store.save(Snapshot.of(chat, chat.root.below()))
        again = store.load(chat.id)
    assert again is not None and again.turns[0].reply.calls == turn.reply.calls and turn.reply.calls[0].images == (shown,)
    later = again.ask("And now?", "dflash")
    run.start(later, again, later.request, {}, can_see=True)
    assert [one.images for one in requests[-1][0].messages if one.role == "tool"] == [(shown,)]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=9), st.integers(0, 30), st.integers(20, 300))
def test_as_many_pages_as_possible_fit(lengths: list[int], text: int, limit: int) -> None:
    pages = tuple(Page(number, "w " * length) for number, length in enumerate(lengths, 1))
    paper = Attachment("p.pdf", text_of_pages(pages), 9, len(pages), page_list=pages)
    prompt = NextPrompt(GenerationRequest(max_tokens=10), (), "w " * text, (paper,))

    def count(request: CountTokens) -> TokenCount:
        return TokenCount(sum(len(one.content.split()) for one in request.messages), limit)

    steps = measure(prompt)
    request = next(steps)
    with pytest.raises(StopIteration) as end:
        while True:
            request = steps.send(count(request))
    misfit = end.value.value.misfit
    sizes = [count(replace(prompt, files=(paper.first_pages(each),)).counted()).tokens for each in range(len(pages) + 1)]
    if misfit is None or misfit.file is None:
        assert sizes[-1] < limit or misfit.pages_fit == 0
    else:
        assert misfit.pages_fit == max((each for each in range(1, len(pages)) if sizes[each] < limit), default=0)
        assert not misfit.pages_fit or f"{misfit.pages_fit} of {len(pages)} pages fit" in use_text(end.value.value)


@pytest.mark.parametrize("can_see", [True, False])
def test_a_comparison_gets_the_images_of_its_prompt(
    begin: Begin, photo: Path, can_see: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = begin()
    attach(app, photo)
    app.ask("What is it?")
    assert app.loader.pair is not None
    app.loader.pair = replace(app.loader.pair, can_see=can_see)
    started: list[Any] = []
    monkeypatch.setattr(app.services.compare_runner, "start", lambda *given: started.extend(given))
    app.services.comparer.compare()
    (request,), prompts, *_ = started
    images = (AttachedImage(0, photo.read_bytes(), "photo.png"),)
    seen, blind = Message("user", "What is it?", images=images), Message("user", "[image: photo.png, not shown]\nWhat is it?")
    assert request.messages == (seen if can_see else blind,) and prompts == ["What is it?"]
