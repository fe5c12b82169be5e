"""`slipstream chat --documents`: tools for models that call them, passages for those that don't."""

import io
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mlx_engine.cli import documents
from mlx_engine.cli.main import main
from mlx_engine.contract.events import LoadProgress, PairInfo
from mlx_engine.contract.requests import CountTokens, ToolCall
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.documents.citations import INTRODUCTION
from tests.mlx_engine.cli.test_chat_tools import CallingEngine
from tests.mlx_engine.mcp.builtin.test_documents import INJECTIONS, check_is_data
from tests.mlx_engine.scripted_engine import ScriptedEngine


class ToolEngine(CallingEngine):
    """An engine whose model can call tools."""

    def load(self, target: Path, drafter: Path | None, drafter_bits: int | None = None) -> Iterator[LoadProgress | PairInfo]:
        for event in super().load(target, drafter, drafter_bits):
            yield replace(event, can_call_tools=True) if isinstance(event, PairInfo) else event


class CountingEngine(ScriptedEngine):
    """An engine whose tokens are words. Its context has 64."""

    def count_tokens(self, request: CountTokens) -> TokenCount:
        return TokenCount(len(request.messages[-1].content.split()), 64)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "Notes"
    folder.mkdir()
    (folder / "bees.md").write_text("# Bees\n\nBees make honey.\n")
    (folder / "more.md").write_text("# Wasps\n\nWasps make no honey, and neither do flies, moths, beetles, or ants.\n")
    return folder


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each search wait until all is indexed, however busy the computer is."""
    monkeypatch.setattr("mlx_engine.mcp.document_tools._WAIT_S", 300.0)


def chat(monkeypatch: pytest.MonkeyPatch, engine: ScriptedEngine, folder: Path, *lines: str, options: str = "") -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(line + "\n" for line in lines)))
    monkeypatch.setattr("mlx_engine.cli.tools.data_folder", lambda: folder.parent / "data")
    monkeypatch.setattr("tempfile.tempdir", str(folder.parent))
    assert main(["chat", "--documents", str(folder), *options.split()], lambda: engine) == 0
    assert not list(folder.parent.glob("slipstream-*")), "the index is deleted at the end"


def test_a_model_that_calls_tools_searches_the_documents(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    engine = ToolEngine(("", (ToolCall("a", "search_documents", '{"query": "Who makes honey?"}'),)))
    chat(monkeypatch, engine, folder, "Who makes honey?", options="--allow search_documents")
    first, second = engine.requests
    assert [tool.name for tool in first.tools] == ["search_documents", "open_page"]
    assert first.messages[-1].content == "Who makes honey?"
    assert "[1] page 1 of Notes/bees.md\n>§ Bees\n> # Bees\n>\n> Bees make honey." in second.messages[-1].content
    assert "Read: Notes/bees.md, page 1; Notes/more.md, page 1\n" in capsys.readouterr().err


def test_nothing_is_searched_without_approval(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    engine = ToolEngine(("", (ToolCall("a", "search_documents", '{"query": "honey"}'),)))
    chat(monkeypatch, engine, folder, "Who makes honey?")
    assert "honey." not in engine.requests[1].messages[-1].content
    assert "--allow Documents/search_documents" in capsys.readouterr().err


def test_a_model_without_tools_gets_passages_within_a_budget(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    monkeypatch.setattr(documents, "_SHARE", 1)
    monkeypatch.setattr(documents, "_MOST_TOKENS", len(INTRODUCTION.split()) + 20)
    engine = CountingEngine()
    chat(monkeypatch, engine, folder, "Who makes honey?", "And zebras?")
    first, second = engine.requests
    assert not first.tools
    passage = "[1] page 1 of Notes/bees.md\n>§ Bees\n> # Bees\n>\n> Bees make honey."
    assert first.messages[-1].content == f"{INTRODUCTION}\n\n{passage}\n\nWho makes honey?"
    assert second.messages[-1].content == "And zebras?"
    shown = capsys.readouterr().err
    assert "This model can't call tools." in shown and "Read: Notes/bees.md, page 1\n" in shown


def test_a_budget_that_is_too_small_adds_nothing(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    engine = CountingEngine()  # a share of its context is less than the introduction
    chat(monkeypatch, engine, folder, "Who makes honey?")
    assert engine.requests[0].messages[-1].content == "Who makes honey?"


def test_documents_that_cannot_be_read_are_noted_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "broken.docx").write_bytes(b"no")
    chat(monkeypatch, CountingEngine(), folder, "Who makes honey?", "And wax?")
    assert capsys.readouterr().err.count("“Notes/broken.docx” is damaged") == 1


def test_injected_text_stays_quoted_in_automatic_passages(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for number, text in enumerate(INJECTIONS):
        (folder / f"{number}.md").write_text(f"# {' '.join(text.split())}\n\nneedle{number} {text}\n", newline="")
    monkeypatch.setattr(documents, "_SHARE", 1)
    monkeypatch.setattr(documents, "_MOST_TOKENS", 10_000)
    monkeypatch.setattr(CountingEngine, "count_tokens", lambda self, request: TokenCount(0, 64))
    engine = CountingEngine()
    questions = [f"needle{number}" for number in range(len(INJECTIONS))]
    chat(monkeypatch, engine, folder, *questions)
    assert len(engine.requests) == len(questions)
    for question, request in zip(questions, engine.requests, strict=True):
        passages, _, asked = request.messages[-1].content.rpartition("\n\n")
        assert asked == question and not request.tools
        check_is_data(passages)
        assert f"> {question}" in passages


def test_a_server_of_another_app_with_the_same_name_is_kept(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    file = folder.parent / "mcp.json"
    file.write_text('{"mcpServers": {"Documents": {"builtin": "calculator"}}}')
    engine = ToolEngine()
    chat(monkeypatch, engine, folder, "Who makes honey?", options=f"--mcp {file}")
    assert [tool.name for tool in engine.requests[0].tools] == ["calculator", "search_documents", "open_page"]
