"""Pages of documents: what a reply has read is shown below it, and opens at the passage."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.rendering.blocks import TextBlock
from app.rendering.page_links import page_in
from app.views.transcript.read_pages import DocumentPageDialog, passages_read
from mlx_engine.contract.requests import ToolCall
from mlx_engine.documents.citations import CitedPassage, passages_in, quoted_page, quoted_passages
from mlx_engine.documents.cited_page import page_of, place_in
from mlx_engine.documents.document_index import DocumentIndex
from mlx_engine.documents.document_search import FoundPassage, find_passages
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


def app_with(start: Start, result: str, text: str) -> Running:
    """Return the app with a reply that has read documents."""
    app, tools = with_tools(start, [calling(SEARCH), answer(text)], search_documents=result)
    tools.offered = {"search_documents": Tool("Documents", "search_documents")}
    choose(app, ask_for_card(app), 0)
    app.until(lambda: not app.activity.busy)
    return app


def dialog_of(app: Running) -> DocumentPageDialog:
    (dialog,) = [one for one in app.window.findChildren(DocumentPageDialog) if one.isVisible()]
    return dialog


def test_a_reply_shows_what_it_has_read_and_opens_the_page_at_the_passage(start: Start, folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "indexes"
    index = indexed(folder, index_in(place, [str(folder)]))
    app = app_with(start, result_of(index), "Bees make honey [Notes/bees & co.md, page 2]. Wasps don't [wasps.md, page 1].")
    app.tools.page_of = lambda passage: page_of(index_in(place, [str(folder)]), passage)  # type: ignore[method-assign]
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
    app.until(lambda: dialog.text.verticalScrollBar().value() > 0)
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
    assert app.reply.read_pages is None and passages_read(app.session.chat.turns[-1]) == []


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
    passage = CitedPassage("a.md", 1, "text")
    assert page_of(file, passage) is None and not file.exists()
    file.write_bytes(b"no database" * 1000)
    assert page_of(file, passage) is None
