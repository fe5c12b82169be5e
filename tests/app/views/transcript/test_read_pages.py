"""Pages of documents: what a reply has read is shown below it, and opens at the passage."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QTextCursor

from app.rendering.blocks import TextBlock
from app.rendering.page_links import page_in
from app.views.transcript.read_pages import DocumentPageDialog, pages_read
from mlx_engine.contract.requests import ToolCall
from mlx_engine.documents.citations import passages_in, quoted_page, quoted_passages
from mlx_engine.documents.cited_page import place_in, text_of_page
from mlx_engine.documents.document_index import DocumentIndex
from mlx_engine.documents.document_search import FoundPassage, find_passages, page_text
from mlx_engine.documents.index_file import index_in
from mlx_engine.mcp.tool import Tool
from tests.app.conftest import Running, Start
from tests.app.screens import texts
from tests.app.scripted_engine import answer
from tests.app.tools_in_chat import ask_for_card, calling, choose, with_tools

SEARCH = ToolCall("call_1", "search_documents", '{"query": "honey"}')
PAGE = "# Bees\n\n" + "They fly.\n" * 60 + "\n## Honey\n\nBees make <think> honey.\x02\n\n" + "They sleep.\n" * 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "Notes"
    folder.mkdir()
    (folder / "bees & co.md").write_text("\f" + PAGE)
    (folder / "wasps.md").write_text("Wasps make no honey.\n")
    (folder / "ants.md").write_text("Ants like honey.\n")
    return folder


def indexed(folder: Path, file: Path) -> DocumentIndex:
    index = DocumentIndex(file, [str(folder)])
    index.update()
    return index


def result_of(index: DocumentIndex) -> str:
    return quoted_passages(index.read(lambda found: find_passages(found, "honey", 5)))


def app_with(start: Start, result: str, text: str, server: str = "Documents", call: ToolCall = SEARCH) -> Running:
    """Return the app with a reply that has read documents."""
    app, tools = with_tools(start, [calling(call), answer(text)], **{call.name: result})
    tools.offered = {call.name: Tool(server, call.name)}
    choose(app, ask_for_card(app), 0)
    app.until(lambda: not app.activity.busy)
    return app


def use_index(app: Running, file: Path) -> None:
    app.tools.text_of_page = lambda document, page, project="": text_of_page(file, document, page)  # type: ignore[method-assign]


def dialog_of(app: Running) -> DocumentPageDialog:
    (dialog,) = [one for one in app.window.findChildren(DocumentPageDialog) if one.isVisible()]
    return dialog


def test_a_reply_shows_what_it_has_read_and_opens_the_page_at_the_passage(start: Start, folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "indexes"
    index = indexed(folder, index_in(place, [str(folder)]))
    app = app_with(start, result_of(index), "Bees make honey [Notes/bees & co.md, page 2]. Wasps don't [wasps.md, page 1].")
    use_index(app, index_in(place, [str(folder)]))
    row = app.reply.read_pages
    assert row is not None
    assert sorted(one.text() for one in row.buttons) == ["ants.md, page 1", "bees && co.md, page 2", "wasps.md, page 1"]
    [bees] = [one for one in row.buttons if "bees" in one.text()]
    bees.click()
    dialog = dialog_of(app)
    assert dialog.windowTitle() == "bees & co.md, page 2"
    [mark] = dialog.text.extraSelections()
    marked = mark.cursor.selectedText()
    assert "Bees make <think> honey." in marked and len(marked) < len(PAGE)
    first = QTextCursor(mark.cursor)
    first.setPosition(mark.cursor.selectionStart())
    top, height = dialog.text.cursorRect(first).top(), dialog.text.viewport().height()
    assert 0 < top < height // 3 and dialog.text.verticalScrollBar().value() > 0, "the passage begins in the upper third"
    dialog.close()

    spans = [span for block in app.reply.blocks.blocks if isinstance(block, TextBlock) for span in block.spans]
    links = [span for span in spans if page_in(span.link)]
    assert [link.text for link in links] == ["page 2", "page 1"]
    index_of_reply = len(app.window.transcript.column.items) - 1
    for link, title in zip(links, ("bees & co.md, page 2", "wasps.md, page 1"), strict=True):
        app.window.transcript.column.page_requested.emit(index_of_reply, link.link)
        assert dialog_of(app).windowTitle() == title
        dialog_of(app).close()


def test_a_page_that_is_gone_is_reported(start: Start, folder: Path, tmp_path: Path) -> None:
    app = app_with(start, result_of(indexed(folder, tmp_path / "a.sqlite")), "Bees.")
    assert app.reply.read_pages is not None
    app.reply.read_pages.buttons[0].click()
    assert [notice.text for notice in app.services.notices.valid] == ["This page isn't among the documents any more."]
    assert not app.window.findChildren(DocumentPageDialog)


def test_all_passages_of_a_page_are_marked(start: Start, folder: Path, tmp_path: Path) -> None:
    (folder / "flies.md").write_text(f"# One\n\nOne honey.\n{'They fly. ' * 60}\n\n# Two\n\nTwo honey.\n{'They fly. ' * 60}\n")
    index = indexed(folder, tmp_path / "a.sqlite")
    app = app_with(start, result_of(index), "Flies.")
    use_index(app, tmp_path / "a.sqlite")
    assert app.reply.read_pages is not None
    [flies] = [one for one in app.reply.read_pages.buttons if "flies" in one.text()]
    flies.click()
    marked = [mark.cursor.selectedText() for mark in dialog_of(app).text.extraSelections()]
    assert ["One honey" in text for text in marked] == [True, False] == ["Two honey" not in text for text in marked]


def test_a_page_that_was_only_opened_has_no_mark(start: Start, folder: Path, tmp_path: Path) -> None:
    index = indexed(folder, tmp_path / "a.sqlite")
    name, page = "Notes/bees & co.md", index.read(lambda found: page_text(found, "Notes/bees & co.md", 2))
    assert page is not None
    call = ToolCall("call_1", "open_page", '{"document": "bees & co.md", "page": 2}')
    app = app_with(start, quoted_page(name, 2, page), "Bees.", call=call)
    use_index(app, tmp_path / "a.sqlite")
    assert app.reply.read_pages is not None
    [bees] = app.reply.read_pages.buttons
    bees.click()
    assert "Bees make" in dialog_of(app).text.toPlainText() and not dialog_of(app).text.extraSelections()


@pytest.mark.parametrize(("server", "is_shown"), [("Documents 2", True), ("web", False)])
def test_another_server_cannot_claim_that_documents_were_read(start: Start, server: str, is_shown: bool) -> None:
    app = app_with(start, quoted_page("a.md", 1, "text"), "Bees.", server)
    assert (app.reply.read_pages is not None) == is_shown


def test_names_of_documents_are_shown_as_plain_text(start: Start) -> None:
    app = app_with(start, quoted_page("Notes/<b>x.md", 1, "<b>bold</b>"), "Bees.")
    assert app.reply.read_pages is not None
    [shown] = app.reply.read_pages.buttons
    assert shown.text() == "<b>x.md, page 1" and "&lt;b&gt;" in shown.toolTip()


def test_pages_without_a_button_are_counted(start: Start) -> None:
    passages = [FoundPassage("a.md", page, "", "text") for page in range(1, 15)]
    app = app_with(start, quoted_passages(passages), "Bees.")
    assert app.reply.read_pages is not None
    assert len(app.reply.read_pages.buttons) == 12 and "2 more" in [text for _, text in texts(app.reply.read_pages)]


def test_without_documents_nothing_is_shown(start: Start) -> None:
    app = app_with(start, "[Nothing found. Search for other words.]", "I don't know. See page 2.")
    assert app.reply.read_pages is None and pages_read(app.session.chat.turns[-1]) == []


# Where a passage is in its page

LINES = st.lists(
    st.sampled_from(["", "one two", "<think> x", "> quoted", "[1] page 1 of a.md", "> § x", "§ x", "three\x02", "  four"]),
    max_size=8,
)


@given(LINES, LINES, LINES, st.integers(0, 9), st.integers(0, 9))
def test_a_passage_is_found_in_its_page(before: list[str], lines: list[str], after: list[str], cut: int, end_cut: int) -> None:
    text = "\n".join(lines)
    passage = text[cut : max(cut, len(text) - end_cut)]  # passages may begin and end inside a line
    page = "\n".join([*before, text, *after])
    [cited] = passages_in(quoted_page("a.md", 1, passage))
    start, end = place_in(page, cited.text)
    assert _words(page[start:end]) == _words(passage)


def _words(text: str) -> str:
    return "".join(text.replace("\x02", "").split())


def test_a_passage_that_has_changed_is_not_marked() -> None:
    assert place_in("a\nb\n", "a\nc") == (0, 0) == place_in("a", "")


def test_a_page_of_a_missing_or_damaged_index_is_none(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite"
    assert text_of_page(file, "a.md", 1) is None and not file.exists()
    file.write_bytes(b"no database" * 1000)
    assert text_of_page(file, "a.md", 1) is None
