"""Passages of documents before messages to models that can't call tools: counted, stored, shown, and data."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.session import message_passages
from app.session.message_passages import fitting
from app.storage.chat_export import to_markdown
from app.storage.records import chat_from_json, chat_to_json
from app.views.transcript.message_views import PromptView
from app.views.transcript.read_pages import pages_read
from mlx_engine.documents.citations import INTRODUCTION
from mlx_engine.documents.document_index import DocumentIndex
from mlx_engine.documents.document_search import FoundPassage
from tests.app.conftest import Begin, Session, Start
from tests.app.prompting_engine import PromptingEngine
from tests.app.scripted_engine import PAIR, ScriptedEngine
from tests.app.views.tools.fake_servers import FakeServers
from tests.mlx_engine.formats.test_continuations import TEMPLATES
from tests.mlx_engine.mcp.builtin.test_documents import INJECTIONS, check_is_data

PASSAGE = "[1] page 1 of Notes/bees.md\n>§ Bees\n> # Bees\n>\n> Bees make honey."
QUESTION = "Who makes honey?"


@pytest.fixture(autouse=True)
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("app.session.tool_box.ToolServers", FakeServers)
    monkeypatch.setattr(FakeServers, "made", [])
    yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "Notes"
    folder.mkdir()
    (folder / "bees.md").write_text("# Bees\n\nBees make honey.\n")
    return folder


def in_project(app: Session, folder: Path) -> None:
    """Open a new chat of a project with a folder of documents."""
    app.until(lambda: app.library.read)
    project = app.library.add_project("Biology")
    app.services.projects.add_documents(project.id, [str(folder)])
    app.services.projects.new_chat(project.id)


def sent(app: Session) -> list[str]:
    return [one.content for one in app.engine.requests[-1].messages if one.role == "user"]


def test_a_message_gets_the_passages_that_fit_it(begin: Begin, folder: Path, tmp_path: Path) -> None:
    app = begin(data=tmp_path / "data")
    in_project(app, folder)
    app.ask(QUESTION)
    assert sent(app) == [f"{INTRODUCTION}\n\n{PASSAGE}\n\n{QUESTION}"]
    (turn,) = app.session.chat.turns
    assert turn.prompt == QUESTION and [(one.document, one.page) for one in pages_read(turn)] == [("Notes/bees.md", 1)]
    app.ask("And zebras?")
    assert sent(app)[1] == "And zebras?", "nothing fits it"
    (folder / "zebras.md").write_text("Zebras make no noise.")
    app.ask("And zebras?")
    assert sent(app)[0].endswith(QUESTION) and "> Zebras make no noise." in sent(app)[2]
    assert f"*(passages of documents)*\n\n```\n{INTRODUCTION}\n" in to_markdown(app.session.chat)
    (again, *_) = chat_from_json(chat_to_json(app.session.chat)).turns
    assert again.question == turn.question and pages_read(again) == pages_read(turn)


def test_a_message_of_the_quick_chat_gets_passages(begin: Begin, folder: Path, tmp_path: Path) -> None:
    app = begin(data=tmp_path / "data")
    app.tools.put(replace(app.tools.builtin("documents"), folders=(str(folder),), enabled=True), "Documents")
    app.session.change(tool_servers=("Documents",))
    quick = app.services.quick
    quick.restart()
    quick.write(QUESTION)
    quick.send()
    assert quick.note == "The message will be sent when the documents have been searched."
    app.until(lambda: not quick.text and not quick.running)
    assert sent(app) == [f"{INTRODUCTION}\n\n{PASSAGE}\n\n{QUESTION}"]


def test_an_edited_message_gets_others(begin: Begin, folder: Path, tmp_path: Path) -> None:
    app = begin(data=tmp_path / "data")
    in_project(app, folder)
    app.ask(QUESTION)
    app.session.edit(app.session.chat.turns[0])
    assert app.message.text == QUESTION and app.attachments.files == [], "the passages aren't a file of the user"
    app.ask("What is a bee?")
    assert sent(app) == [f"{INTRODUCTION}\n\n{PASSAGE}\n\nWhat is a bee?"]
    app.session.regenerate(app.session.chat.turns[0])
    app.idle()
    assert sent(app) == [f"{INTRODUCTION}\n\n{PASSAGE}\n\nWhat is a bee?"]


def test_models_that_call_tools_and_chats_without_documents_get_none(begin: Begin, folder: Path, tmp_path: Path) -> None:
    app = begin(ScriptedEngine(pair=replace(PAIR, can_call_tools=True)), data=tmp_path / "data")
    in_project(app, folder)
    app.ask(QUESTION)
    assert sent(app) == [QUESTION]
    plain = begin()
    plain.ask(QUESTION)
    assert sent(plain) == [QUESTION]


def test_the_meter_counts_the_passages_to_the_token(begin: Begin, folder: Path, tmp_path: Path) -> None:
    engine = PromptingEngine(4_000)
    engine.pair = replace(engine.pair, can_call_tools=False)
    engine.use(next(iter(TEMPLATES.values()))[0](), None)
    app = begin(engine, data=tmp_path / "data")
    in_project(app, folder)
    for question in (QUESTION, "And what about bees?"):
        app.type(question)
        app.until(lambda: app.meter.use is not None and app.meter.use.draft and not app.meter.counting)
        use = app.meter.use
        assert use is not None and use.exact and use.parts is not None and use.parts.files > 0
        app.message.send()
        app.until(lambda: not app.activity.replying_here and not app.message.note)
        assert sent(app)[-1].endswith(question) and INTRODUCTION in sent(app)[-1]
        assert app.reply.stats is not None and app.reply.stats.prompt_tokens == use.used


def test_documents_are_data(begin: Begin, folder: Path, tmp_path: Path) -> None:
    for number, text in enumerate(INJECTIONS):
        (folder / f"{number}.md").write_text(f"# {' '.join(text.split())}\n\nneedle{number} {text}\n", newline="")
    app = begin(ScriptedEngine(pair=replace(PAIR, context_limit=100_000)), data=tmp_path / "data")
    in_project(app, folder)
    for number in range(len(INJECTIONS)):
        app.ask(f"needle{number}")
        passages, _, asked = sent(app)[-1].rpartition("\n\n")
        assert asked == f"needle{number}" and not app.engine.requests[-1].tools
        check_is_data(passages)
        assert f"> {asked}" in passages
    assert not app.reply.calls and not app.tools.approvals.always()


class Searches:
    """Stands for the documents. A search waits until `go_on` is set, and can fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.queries, self.go_on, self.fail = list[str](), threading.Event(), False
        monkeypatch.setattr(message_passages, "Documents", lambda folders, file: self)

    def find(self, query: str, most: int, **options: object) -> list[FoundPassage]:
        self.queries.append(query)
        assert self.go_on.wait(60)
        if self.fail:
            raise ValueError("The documents can't be indexed")
        return []

    def close(self) -> None:
        self.go_on.set()


def pause_after(app: Session, text: str) -> None:
    """Write a text, and make a pause in which the meter counts it."""
    app.type(text)
    app.meter.count_now()


def test_a_message_waits_for_no_outdated_search(
    begin: Begin, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, searches = begin(data=tmp_path / "data"), Searches(monkeypatch)
    in_project(app, folder)
    for text in ("Who", "Who makes", QUESTION):
        pause_after(app, text)
        assert app.meter.counting
    searches.go_on.set()
    app.until(lambda: not app.meter.counting)
    assert searches.queries == ["Who", QUESTION], "a search isn't cut off, and the newest text is next"
    searches.go_on.clear()
    for text in ("And", "And who makes", "And who makes wax?"):
        pause_after(app, text)
    app.message.send()
    assert app.message.note == "The message will be sent when the documents have been searched."
    searches.go_on.set()
    app.until(lambda: not app.message.note and not app.activity.busy)
    assert searches.queries[2:] == ["And", "And who makes wax?"] and sent(app) == ["And who makes wax?"]


@pytest.mark.parametrize(("between", "looks"), [(1e9, 1), (0.0, 3)])
def test_the_folders_are_not_read_at_each_pause_in_typing(
    begin: Begin, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, between: float, looks: int
) -> None:
    updates: list[object] = []
    update = DocumentIndex.update
    monkeypatch.setattr(DocumentIndex, "update", lambda *values: (updates.append(values), update(*values)))
    monkeypatch.setattr(message_passages, "TYPING_S", between)
    app = begin(data=tmp_path / "data")
    in_project(app, folder)
    for text in ("Who", "Who makes", QUESTION):
        pause_after(app, text)
        app.until(lambda: not app.meter.counting)
    assert len(updates) == looks
    app.message.send()
    app.idle()
    assert sent(app) == [f"{INTRODUCTION}\n\n{PASSAGE}\n\n{QUESTION}"] and len(updates) == looks
    (folder / "zebras.md").write_text("Zebras make no noise.")
    app.ask("And zebras?")
    assert "> Zebras make no noise." in sent(app)[1] and len(updates) == looks + 1, "sending finds new files"


def test_documents_that_cannot_be_searched_are_reported_once(
    begin: Begin, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, searches = begin(data=tmp_path / "data"), Searches(monkeypatch)
    searches.go_on.set()
    in_project(app, folder)
    for number, fails in enumerate((True, True, False, True, True)):
        searches.fail = fails
        pause_after(app, f"Question {number}")
        app.until(lambda: not app.meter.counting)
        app.services.notices.clear_all()
    assert len(searches.queries) == 5
    text = "The documents can't be searched, so messages get no passages of them."
    assert [notice.text for notice in app.noticed].count(text) == 2, "again after it has worked"


@given(
    st.lists(st.builds(FoundPassage, st.just("a.md"), st.just(1), st.just(""), st.text(max_size=50)), max_size=4),
    st.integers(0, 600),
)
def test_the_best_passages_fit_their_share(passages: list[FoundPassage], most: int) -> None:
    text = fitting(passages, most)
    assert len(text.encode("utf-8", "surrogatepass")) <= most
    count = text.count("\n[") if text else 0
    more = fitting(passages[: count + 1], 1 << 30)
    assert count == len(passages) or len(more.encode("utf-8", "surrogatepass")) > most


def test_the_window_shows_what_was_read_and_no_file(start: Start, folder: Path, tmp_path: Path) -> None:
    app = start(data=tmp_path / "data")
    in_project(app, folder)
    app.ask(QUESTION)
    assert app.reply.read_pages is not None
    assert [button.text() for button in app.reply.read_pages.buttons] == ["bees.md, page 1"]
    (prompt,) = app.questions
    assert isinstance(prompt, PromptView) and not hasattr(prompt, "files")
    app.reply.read_pages.buttons[0].click()
    tools, chips = app.window.foot.tools, app.window.foot.tool_chips
    assert "Messages get the passages of the documents" in tools.toolTip() and tools.isEnabled()
    [chip] = chips.chips
    chip.off.click()
    assert not chips.chips and not tools.isEnabled()
    app.ask(QUESTION)
    assert sent(app)[-1] == QUESTION
