"""Attachments: what is read, what is refused, and how they reach the model."""

import io
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DecodedStreamObject, NameObject
from PySide6.QtCore import QMimeData, QUrl
from PySide6.QtWidgets import QApplication, QPlainTextEdit

from app.storage import attached_files
from app.storage.attached_files import read
from app.storage.attachments import Attachment, attachments_from, message_of
from app.storage.chat_export import to_markdown
from app.storage.chat_tree import Chat, Node
from app.storage.records import chat_from_json, chat_to_json
from app.views.transcript.attachment_chips import figures
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import Message
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.hardware import child_process
from mlx_engine.media import media_process, pdfs
from tests.app.chats import same, texts
from tests.app.conftest import Begin, Running, Session, Start
from tests.app.pictures import pdf
from tests.app.scripted_engine import ScriptedEngine
from tests.app.test_start import PATIENCE_S, python


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, bytes], Path]:
    def make(name: str, data: bytes) -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return make


File = Callable[[str, bytes], Path]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Grüße\r\nzwei\rdrei".encode(), "Grüße\nzwei\ndrei"),
        ("\ufeffmit Zeichen".encode(), "mit Zeichen"),
        ("你好".encode("utf-16"), "你好"),
        ("你好".encode("utf-32"), "你好"),
        ("Grüße".encode("cp1252"), "Grüße"),
        (b"\x1b[1mcolor\x1b[0m\x0cpage", "\x1b[1mcolor\x1b[0m\x0cpage"),
    ],
)
def test_text_is_read_in_any_encoding(file: File, data: bytes, text: str) -> None:
    assert read(file("a.txt", data)) == Attachment("a.txt", text, len(data))


def test_a_pdf_is_read_page_by_page(file: File) -> None:
    data = pdf("First page", "", "Third page")
    found = read(file("paper.pdf", data))
    assert (found.name, found.text, found.size, found.pages) == ("paper.pdf", "First page\n\nThird page", len(data), 3)
    assert [page.text for page in found.page_list] == ["First page", "", "Third page"]
    assert read(file("named wrongly.txt", data)).pages == 3


def test_a_pdf_that_opens_without_a_password_is_read(file: File, tmp_path: Path) -> None:
    writer = PdfWriter(PdfReader(io.BytesIO(pdf("Open to all"))))
    writer.encrypt("", owner_password="owner", algorithm="RC4-128")
    with (tmp_path / "open.pdf").open("wb") as out:
        writer.write(out)
    assert read(tmp_path / "open.pdf").text == "Open to all"


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("nothing.txt", b"", "is empty"),
        ("blank.txt", b" \n\t ", "is empty"),
        ("program", b"\x7fELF\x02\x01\x01\x00\x00", "contains no readable text"),
        ("program.bin", b"\x7fELF\x02\x01\x01\0\0", "contains no readable text"),
        ("cut.txt", b"\xff\xfea", "contains no readable text"),
        ("locked.pdf", pdf("Secret", password="pass"), "password-protected"),
        ("blank.pdf", pdf("", ""), "All pages of “blank.pdf” are blank"),
        ("broken.pdf", b"%PDF-1.7\nnothing of the kind", "PDF"),
        ("broken2.pdf", pdf("Text")[:300], "PDF"),
    ],
)
def test_a_file_that_cannot_be_attached_is_refused_with_its_name(file: File, name: str, data: bytes, says: str) -> None:
    with pytest.raises(UserError, match=says) as refused:
        read(file(name, data))
    assert name in str(refused.value) and str(refused.value).endswith(".")


def test_files_that_are_too_large_are_refused(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached_files, "MAX_TEXT", 1000)
    monkeypatch.setattr(pdfs, "MOST_BYTES", 20_000)
    assert read(file("a.txt", b"x" * 1000)).size == 1000
    with pytest.raises(UserError, match="too large"):
        read(file("a.txt", b"x" * 1001))
    with pytest.raises(UserError, match="too large"):
        read(file("a.pdf", b"%PDF-" + b"x" * 20_000))


def test_folders_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(UserError, match="Can't read"):
        read(tmp_path / "gone.txt")


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_give_text_or_an_error(tmp_path_factory: pytest.TempPathFactory, data: bytes, is_pdf: bool) -> None:
    place = tmp_path_factory.getbasetemp() / "any.bin"
    place.write_bytes((b"%PDF-1.4\n" if is_pdf else b"") + data)
    try:
        text = read(place).text
    except UserError as error:
        assert str(error).endswith(".")
    else:
        assert "\0" not in text and text.strip()
        text.encode()


def slow_pdf() -> bytes:
    """Return a PDF that takes minutes to read: its page has 66 MB of instructions."""
    content = DecodedStreamObject()
    content.set_data(b"BT /F1 12 Tf " + b"1 0 0 1 1 1 Tm (a) Tj " * 3_000_000 + b"ET")
    writer = PdfWriter(PdfReader(io.BytesIO(pdf("Begin"))))
    writer.pages[0][NameObject("/Contents")] = writer._add_object(content.flate_encode())
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def test_a_pdf_that_takes_too_long_is_given_up_and_its_process_killed(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    started = processes(monkeypatch)
    monkeypatch.setattr(pdfs, "_SECONDS", 1.0)
    place = file("slow.pdf", slow_pdf())
    assert place.stat().st_size < 1_000_000
    with pytest.raises(UserError, match=r"“slow\.pdf” takes too long to read"):
        read(place)
    assert started[0].returncode is not None


def processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Return a list that will hold the processes started for PDFs."""
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[call-overload]
            started.append(self)

    media_process.pdfs.stop()
    monkeypatch.setattr(child_process.subprocess, "Popen", Noted)
    return started


def test_a_pipe_is_refused_without_reading_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="isn't a regular file"):
        read(tmp_path / "pipe")


@given(st.lists(st.builds(Attachment, texts.filter(bool), texts, st.integers(0, 2**40), st.integers(0, 99)), max_size=3), texts)
def test_attachments_are_stored_with_their_message(files: list[Attachment], text: str) -> None:
    chat = Chat()
    turn = chat.ask(text, "plain", attachments=tuple(files))
    turn.reply.reason = "eos"
    again = chat_from_json(chat_to_json(chat))
    assert same(chat, again)
    assert again.turns[0].asked is not None and again.turns[0].asked.attachments == tuple(files)
    content = "".join(message.content for message in turn.request.messages)  # an empty message isn't sent
    assert content == message_of(text, files, False).content and text in content
    for one in files:
        assert one.text.strip() in content and f"*(attached: {one.name})*" in to_markdown(chat)


@pytest.mark.parametrize("data", [None, 3, {}, {"name": "a"}, {"name": 1, "text": "b"}])
def test_an_invalid_attachment_record_is_left_out(data: object) -> None:
    assert attachments_from([data], {}) == ()


def test_a_message_is_made_once_until_it_changes() -> None:
    """The context meter made the messages of a chat again after each pause in typing."""
    node = Node("user", text="Why?", attachments=(Attachment("a.txt", "A file."),))
    made = node.message
    assert node.message is made and made.content.endswith("Why?")
    node.text = "How?"
    assert node.message.content.endswith("How?")
    node.attachments = ()
    assert node.message == Message("user", "How?")


def test_the_chip_marks_a_file_that_is_longer_than_the_context() -> None:
    file = Attachment("a.pdf", "", 12_400, 2)
    assert figures(file, None) == ("12 KB · 2 pages", False)
    assert figures(file, TokenCount(99, 2048)) == ("99 tokens · 12 KB · 2 pages", False)
    assert figures(file, TokenCount(5000, 2048)) == ("5,000 tokens · 12 KB · 2 pages", True), "what doesn't fit is said below"


# In the window


def attach(app: Session, *files: Path) -> None:
    app.attachments.attach(files)
    app.until(lambda: not app.attachments.reading)


def drop(app: Running, *files: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(one)) for one in files])
    app.window.composer.field.insertFromMimeData(data)
    app.until(lambda: not app.attachments.reading)


def test_a_dropped_file_shows_its_size_and_tokens_and_is_sent_with_the_message(start: Start, file: File, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()  # before the chats are opened in it
    app = start(data=tmp_path / "data")
    drop(app, file("notes.md", b"# Notes\nThe answer is 42."), file("one.py", b"print(1)"), file("a.bin", b"\0\1\2"))
    composer = app.window.composer
    app.until(lambda: len(app.attachments.counts) == 2)
    composer.files.chips[1].open_button.click()
    texts = app.window.findChildren(QPlainTextEdit)
    assert any(field.toPlainText() == "print(1)" and field.isReadOnly() for field in texts)
    composer.files.chips[1].remove_button.click()
    (chip,) = composer.files.chips
    assert chip.open_button.text() == "notes.md" and chip.facts.text() == "7 tokens · 25 bytes"
    assert "a.bin" in app.notices[-1] and composer.text == ""
    app.ask("What is the answer?")
    asked = app.engine.requests[0].messages[-1].content
    assert asked == "--- notes.md ---\n# Notes\nThe answer is 42.\n--- end of notes.md ---\n\nWhat is the answer?"
    assert composer.files.chips == [] and not composer.files.isVisible()
    prompt = app.questions[0]
    assert prompt.files.chips[0].facts.text() == "25 bytes"
    app.ask("And twice that?")
    assert "The answer is 42." in app.engine.requests[1].messages[0].content


def test_a_file_can_be_removed_and_can_be_sent_without_text(begin: Begin, file: File) -> None:
    app = begin()
    attach(app, one := file("one.py", b"print(1)"), file("two.py", b"print(2)"), one)
    assert [each.name for each in app.attachments.files] == ["one.py", "two.py"]
    app.attachments.remove(app.attachments.files[0])
    assert [one.name for one in app.attachments.files] == ["two.py"]
    app.ask("")
    assert app.engine.requests[0].messages[-1].content == "--- two.py ---\nprint(2)\n--- end of two.py ---"
    assert app.session.chat.title == "two.py"


def test_editing_a_message_restores_its_files_and_cancelling_restores_the_draft(begin: Begin, file: File) -> None:
    app = begin(ScriptedEngine())
    attach(app, file("old.txt", b"old"))
    app.ask("First")
    attach(app, file("new.txt", b"new"))
    app.type("Second")
    app.session.edit(app.session.chat.turns[0])
    assert [one.name for one in app.attachments.files] == ["old.txt"] and app.message.text == "First"
    app.session.cancel_edit()
    assert [one.name for one in app.attachments.files] == ["new.txt"] and app.message.text == "Second"


@pytest.mark.parametrize("readable", [True, False])
def test_a_message_waits_until_its_file_has_been_read(
    begin: Begin, file: File, monkeypatch: pytest.MonkeyPatch, readable: bool
) -> None:
    app = begin()
    gate = threading.Event()
    monkeypatch.setattr("app.session.attachment_reader.read", lambda path, cancel: (gate.wait(60), read(path))[1])
    app.attachments.attach([file("n.txt", b"content" if readable else b"\0\1")])
    app.send("What does it say?")
    assert not app.activity.busy and app.message.text == "What does it say?"
    assert app.message.note == "The message will be sent when its files have been read." and app.notices == []
    gate.set()
    app.until(lambda: not app.attachments.reading and not app.message.note and not app.activity.busy)
    if readable:
        assert "content" in app.engine.requests[-1].messages[-1].content and app.attachments.files == []
    else:
        app.until(lambda: not app.meter.counting)
        assert app.message.text == "What does it say?" and not app.engine.requests, "it isn't sent without the file"
        assert "n.txt" in app.notices[-1]


def test_a_file_that_never_finishes_reading_can_be_skipped(start: Start, file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start()
    never_done = threading.Event()
    monkeypatch.setattr(
        "app.session.attachment_reader.read", lambda path, cancel: never_done.wait() if path.name == "b.pdf" else read(path)
    )
    app.attachments.attach([file("a.txt", b"first"), file("b.pdf", b"never"), file("c.txt", b"last")])
    app.until(lambda: app.attachments.reading[0].path.name == "b.pdf")
    composer = app.window.composer
    app.until(lambda: all(one.result for one in app.attachments.reading[1:]))
    assert [one.name for one in app.attachments.files] == ["a.txt"]
    assert composer.files.waiting_name.text() == "Reading b.pdf and 1 more…" and composer.files.waiting.isVisible()
    composer.files.leave_button.click()
    assert [one.name for one in app.attachments.files] == ["a.txt", "c.txt"]
    assert not composer.files.waiting.isVisible()
    app.ask("What do they say?")
    assert "first" in app.engine.requests[-1].messages[-1].content
    never_done.set()  # the read ends after all, and its result is ignored
    app.until(lambda: not any(thread.name == "attachment" for thread in threading.enumerate()))
    assert app.attachments.files == []


def test_few_threads_read_the_files_of_a_message_and_there_are_at_most_100(
    begin: Begin, file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, most, gate = begin(), list[int](), threading.Event()
    earlier = set(threading.enumerate())  # threads of other tests may still run

    def reading(path: Path, cancel: threading.Event) -> Attachment:
        most.append(sum(thread.name == "attachment" for thread in set(threading.enumerate()) - earlier))
        cancel.wait(PATIENCE_S) if path.name == "stuck.txt" else gate.wait(PATIENCE_S)
        return read(path)

    monkeypatch.setattr("app.session.attachment_reader.read", reading)
    names = ["stuck.txt", *(f"{number}.txt" for number in range(120))]
    app.attachments.attach([file(name, name.encode()) for name in names])
    assert app.notices == ["A message can't have more than 100 files."] and len(app.attachments.reading) == 100
    gate.set()
    app.until(lambda: sum(one.result is None for one in app.attachments.reading) == 1)
    assert max(most) <= 4 and not app.attachments.files
    app.attachments.leave_out()
    assert [one.name for one in app.attachments.files] == names[1:100]
    app.attachments.attach([file("last.txt", b"last"), file("more.txt", b"more")])
    app.until(lambda: not app.attachments.reading)
    assert len(app.attachments.files) == 100 and app.attachments.files[-1].name == "last.txt"


def test_a_refused_file_is_reported_while_others_are_being_read(begin: Begin, file: File, gated: threading.Event) -> None:
    app = begin()
    app.attachments.attach([file("slow.txt", b"slow")])
    (slow,) = app.attachments.reading
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.session.attachment_reader.read", read)
        bad = [file(f"{number}.bin", b"\0\1") for number in range(7)]
        for number, path in enumerate(bad):
            app.attachments.attach([path])
            app.until(lambda: app.attachments.reading == [slow])
            (notice,) = app.notices
            assert notice.count("contains no readable text") == min(number + 1, 5 if number > 5 else 6)
    assert notice.endswith("2 more files can't be attached.")
    release(app, gated)
    assert [one.name for one in app.attachments.files] == ["slow.txt"] and app.notices == [notice]


@pytest.fixture
def gated(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Reading files waits until this is set."""
    gate = threading.Event()
    monkeypatch.setattr("app.session.attachment_reader.read", lambda path, cancel: (gate.wait(60), read(path))[1])
    return gate


def release(app: Session, gate: threading.Event) -> None:
    gate.set()
    app.until(lambda: not any(thread.name == "attachment" for thread in threading.enumerate()))
    QApplication.processEvents()


def test_a_file_stays_with_the_chat_it_was_attached_in(begin: Begin, file: File, gated: threading.Event) -> None:
    app = begin()
    attaching = app.attachments
    app.ask("First")
    first = app.session.chat.id
    attaching.attach([file("n.txt", b"content"), file("bad.bin", b"\0\1")])
    app.type("About the file")
    app.session.new_chat()
    assert not attaching.reading
    app.ask("It holds up nothing here")
    release(app, gated)
    assert attaching.files == [] and "bad.bin" in app.notices[-1]
    app.session.open_chat(first)
    app.until(lambda: app.session.chat.id == first)
    assert [one.name for one in attaching.files] == ["n.txt"] and app.message.text == "About the file"
    app.until(lambda: attaching.files[0] in attaching.counts)
    app.ask("About the file")
    assert "content" in app.engine.requests[-1].messages[-1].content


def test_a_file_being_read_for_the_draft_is_not_sent_with_an_edit(begin: Begin, file: File, gated: threading.Event) -> None:
    app = begin()
    attaching = app.attachments
    app.ask("First")
    attaching.attach([file("draft.txt", b"for the draft")])
    app.session.edit(app.session.chat.turns[0])
    assert not attaching.reading
    attaching.attach([file("edit.txt", b"for the edit")])
    (edits,) = attaching.reading
    app.session.cancel_edit()
    assert edits.cancel.is_set() and [one.path.name for one in attaching.reading] == ["draft.txt"]
    app.session.edit(app.session.chat.turns[0])
    release(app, gated)
    assert attaching.files == []
    app.session.cancel_edit()
    assert [one.name for one in attaching.files] == ["draft.txt"]


def test_skipping_a_file_shows_no_error_even_if_reading_it_fails_at_once(
    begin: Begin, file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reading thread may finish before the window handles the click."""
    app = begin()
    cancelled = threading.Event()

    def refused(path: Path, cancel: threading.Event) -> Attachment:
        cancelled.wait(PATIENCE_S)
        raise UserError("pdf_too_slow", "It takes too long.")

    monkeypatch.setattr("app.session.attachment_reader.read", refused)
    app.attachments.attach([file("slow.pdf", b"slow")])
    (reading,) = app.attachments.reading
    (reader,) = [thread for thread in threading.enumerate() if thread.name == "attachment"]

    def end() -> None:
        cancelled.set()
        reader.join()

    monkeypatch.setattr(reading.cancel, "set", end)
    app.attachments.leave_out()
    assert reading.result == "It takes too long." and not app.attachments.reading
    QApplication.processEvents()
    assert app.notices == []


def test_skipping_a_pdf_or_quitting_kills_its_process(begin: Begin, file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    started = processes(monkeypatch)
    slow = file("slow.pdf", slow_pdf())
    app = begin()
    for end in (app.attachments.leave_out, app.services.close):
        app.attachments.attach([slow])
        app.until(lambda: bool(started))
        end()
        app.until(lambda: started[-1].returncode is not None)
        started.clear()
    assert not app.notices


# The whole app in a process of its own, with a recorded engine. It quits while a PDF is being read.
ENDING = """
import os, subprocess, sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
import app.application as application
from tests.benchmarks.recorded_engine import RecordedEngine

class Noted(subprocess.Popen):
    started = []
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **{**options, "stderr": None})  # inherit this process's stderr
        self.started.append(self)

class Ending(application.Slipstream):
    def __init__(self, app, where):
        super().__init__(app, where, RecordedEngine)
        self.look = QTimer(self, interval=20)
        self.look.timeout.connect(self.end)
        self.look.start()
        services = self.services
        services.loader.loaded.connect(lambda: services.attachments.attach([Path(os.environ["PDF"])]))
    def end(self):
        if Noted.started:
            self.look.stop()
            {end}

subprocess.Popen = Noted
application.Slipstream = Ending
sys.exit(application.run(["slipstream"]))
"""


# A thread that never ends, as on a disk that doesn't answer
BUSY = "self.services.picker.background.run(__import__('threading').Event().wait)"


@pytest.mark.parametrize("end", [f"{BUSY}; QApplication.exit(0)", pytest.param("self.window.close()", marks=pytest.mark.long)])
def test_no_process_is_left_when_the_app_has_quit(file: File, tmp_path: Path, end: str) -> None:
    slow = file("slow.pdf", slow_pdf())
    process = python(ENDING.replace("{end}", end), tmp_path, HOME=str(tmp_path), PDF=str(slow))
    assert process.wait(PATIENCE_S) == 0
    _, err = process.communicate(timeout=PATIENCE_S)  # the pipe closes with the last process that has it open
    assert err == ""  # an orphaned reader would report a broken pipe
