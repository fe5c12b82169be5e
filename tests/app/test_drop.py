"""Files and images that are pasted, dropped, or dragged from a browser."""

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QImage, QTextCursor

from app.storage.attached_files import read
from app.views.chat.dropped import Dropped, dropped, has_attachment
from mlx_engine.contract.attached_images import SUFFIXES
from tests.app.conftest import Start
from tests.app.pictures import landscape

LEFT, NONE, COPY = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, Qt.DropAction.CopyAction
CAT = "https://example.org/pictures/cat.png"
REFUSED = "This image is on a web page. Save it first, then attach the file."


def data(text: str = "", html: str = "", urls: tuple[str, ...] = (), image: bool = False, png: bytes = b"") -> QMimeData:
    made = QMimeData()
    if text:
        made.setText(text)
    if html:
        made.setHtml(html)
    if urls:
        made.setUrls([QUrl(url) for url in urls])
    if image:
        made.setImageData(QImage(4, 4, QImage.Format.Format_RGB32))
    if png:
        made.setData("image/png", png)
    return made


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (data("Only text"), "nothing"),
        (data("A cell", image=True), "nothing"),  # copied together with its picture
        (data("See https://a.org", "<p>See <img src='x'></p>", image=True), "nothing"),
        (data("https://example.org/page", urls=("https://example.org/page",)), "nothing"),
        (data(image=True), "image"),
        (data(html='<meta charset="utf-8"><img src="https://a.org/x">', image=True), "image"),  # an image copied in Chrome
        (data(CAT, urls=(CAT,), image=True), "image"),
        (data(CAT, urls=(CAT,)), "link"),
        (data("cat", "<a href='/'><img src='/cat'></a>", urls=("https://example.org/cat",)), "link"),
        (data(urls=("file:///tmp/cat.png",), image=True), "file"),
    ],
)
def test_data_is_a_file_an_image_a_link_to_one_or_text(made: QMimeData, kind: str) -> None:
    found = dropped(made)
    kinds = {"file": bool(found.files), "image": bool(found.image), "link": bool(found.link and not found.image)}
    assert [one for one, is_it in kinds.items() if is_it] == ([kind] if kind != "nothing" else [])
    assert has_attachment(made) == (kind != "nothing")
    if kind == "image":
        assert found.image.startswith(b"\x89PNG")


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".avif", ".bmp", ".svg", ".JPG"])
def test_links_to_images_are_found_by_their_suffix(suffix: str) -> None:
    link = f"https://example.org/a{suffix}"
    assert dropped(data(link, urls=(link,))).link == f"/a{suffix}"


def test_the_bytes_of_an_image_are_kept_and_its_name_found() -> None:
    found = dropped(data(CAT, urls=(CAT,), image=True, png=landscape()))
    assert found == Dropped(image=landscape(), name="cat.png", link="")


def test_files_and_images_are_dropped_and_pasted(start: Start, tmp_path: Path) -> None:
    app = start()
    note = tmp_path / "note.md"
    note.write_text("A note.")
    # Events don't own their data
    text, image, file = data("Only text"), data(image=True), data(urls=(QUrl.fromLocalFile(str(note)).toString(),))
    cat, link = data(CAT, urls=(CAT,), png=landscape(), image=True), data(CAT, urls=(CAT,))
    app.window.event(QDragEnterEvent(QPoint(9, 9), COPY, text, LEFT, NONE))
    assert app.window.drop_target.isHidden()
    for last in (QDragLeaveEvent(), QDropEvent(QPointF(9, 9), COPY, file, LEFT, NONE)):
        app.window.event(QDragEnterEvent(QPoint(9, 9), COPY, file, LEFT, NONE))
        assert app.window.drop_target.isVisible() and app.window.drop_target.geometry().contains(app.window.rect().center())
        app.window.drop_target.event(last)
        assert app.window.drop_target.isHidden()
    field = app.window.composer.field
    assert field.canInsertFromMimeData(image)
    field.insertFromMimeData(image)
    app.window.drop_target.event(QDropEvent(QPointF(9, 9), COPY, cat, LEFT, NONE))
    app.until(lambda: [one.name for one in app.attachments.files] == ["note.md", "Image 2", "cat.png"])
    assert [one.file.name for one in app.window.composer.files.chips] == ["note.md", "Image 2", "cat.png"]
    assert app.attachments.files[2].picture is not None and app.attachments.files[2].picture.file.data == landscape()
    field.insertFromMimeData(link)
    assert field.toPlainText() == CAT and not app.notices  # a pasted link stays a link
    app.window.drop_target.event(QDropEvent(QPointF(9, 9), COPY, link, LEFT, NONE))
    assert app.notices == [REFUSED]
    app.services.notices.clear("")
    field.dropEvent(QDropEvent(QPointF(9, 9), COPY, link, LEFT, NONE))
    assert app.notices[-1] == REFUSED and field.toPlainText() == CAT
    app.window.composer.files.chips[0].remove_button.click()
    assert [one.file.name for one in app.window.composer.files.chips] == ["Image 2", "cat.png"]


def test_a_long_paste_is_attached_and_undo_brings_the_text_back(start: Start) -> None:
    app = start()
    field, long = app.window.composer.field, "Some words.\n" * 500
    app.type("Summarize: ")
    field.moveCursor(QTextCursor.MoveOperation.End)
    for _ in range(2):
        field.insertFromMimeData(data(long))
    attached = [("Pasted text 1", long), ("Pasted text 2", long)]
    assert [(one.name, one.text) for one in app.attachments.files] == attached
    assert field.toPlainText() == app.message.text == "Summarize: "
    field.undo()
    assert [(one.name, one.text) for one in app.attachments.files] == attached[:1]
    assert field.toPlainText() == app.message.text == f"Summarize: {long}"
    field.redo()
    assert [(one.name, one.text) for one in app.attachments.files] == attached and app.message.text == "Summarize: "
    app.window.composer.files.chips[0].remove_button.click()
    app.window.composer.button.click()
    app.until(lambda: bool(app.engine.requests) and not app.activity.busy)
    sent = app.engine.requests[0].messages[0].content
    assert sent.count("Some words.") == 500 and sent.endswith("Summarize:")
    field.insertFromMimeData(data("Short"))
    field.undo()
    field.redo()
    assert app.attachments.files == [] and app.message.text == "Short"


@pytest.mark.parametrize("undone", [1, 2])
def test_a_long_text_that_undo_brought_back_can_be_deleted(start: Start, undone: int) -> None:
    """It was attached again, as by Redo. `undone`: 2 also takes the text out of the field, and another one is typed."""
    app = start()
    field = app.window.composer.field
    field.insertFromMimeData(data("x" * 9000))
    for _ in range(undone):
        field.undo()
    if undone == 2:
        field.insertPlainText("Typed")
    field.selectAll()
    field.cut()
    assert app.message.text == "" and app.attachments.files == []


@pytest.mark.parametrize("left_by", ["sending", "a new chat", "the end of an edit"])
def test_undo_brings_nothing_of_one_message_into_another(start: Start, left_by: str) -> None:
    """If the field was empty before and after, Undo brought a text into another chat, and Redo a file."""
    app = start()
    app.ask("First")
    if left_by == "the end of an edit":
        app.run("edit")
    field = app.window.composer.active_field
    for text in ("x" * 9000, "A few words"):
        field.selectAll()
        field.insertFromMimeData(data(text))
    field.selectAll()
    field.cut()
    assert app.message.text == "" and len(app.attachments.files) == 1 and field.document().isUndoAvailable()
    if left_by == "sending":
        app.window.composer.button.click()
        app.until(lambda: len(app.session.chat.turns) == 2 and not app.activity.busy)
    elif left_by == "a new chat":
        app.run("new_chat")
    else:
        app.window.composer.editor.cancel_button.click()
    field = app.window.composer.field
    document = field.document()
    assert not document.isUndoAvailable() and not document.isRedoAvailable()
    for change in (*[field.undo] * 4, *[field.redo] * 4):
        change()
        assert app.message.text == "" and app.attachments.files == []
    for text in ("a", "", "b", ""):  # as many steps of the history as with the long text
        field.selectAll()
        field.insertPlainText(text)
        assert app.message.text == text and app.attachments.files == []


def test_a_paste_that_a_message_cannot_have_as_a_file_stays_text(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.session.attachment_reader.MOST_FILES", 0)
    app = start()
    app.window.composer.field.insertFromMimeData(data("x" * 9000))
    assert app.attachments.files == [] and app.message.text == "x" * 9000


def test_svg_files_are_text(tmp_path: Path) -> None:
    (tmp_path / "icon.svg").write_text("<svg/>")
    assert read(tmp_path / "icon.svg").text == "<svg/>"
