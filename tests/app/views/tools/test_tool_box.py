"""The tool box: lazy servers, delivery on the window's thread, and storage."""

import json
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.session.tool_box import ToolBox
from app.storage.settings import ChatSettings
from mlx_engine.contract.secrets import is_reference
from mlx_engine.documents.document_index import DocumentIndex
from mlx_engine.documents.index_file import index_in
from mlx_engine.mcp.approvals import Approvals
from mlx_engine.mcp.config import ServerConfig, read_config
from mlx_engine.mcp.server_status import ServerStatus
from mlx_engine.mcp.tool import Tool, ToolResult
from tests.app.conftest import PATIENCE_MS, Session
from tests.app.views.tools.fake_servers import CALCULATE, FakeServers, failed

GITHUB = ServerConfig("github", url="https://api.example/mcp")
NOTES = ServerConfig("notes", command="notes-server")


def test_no_server_starts_before_a_chat_needs_it(servers: type[FakeServers], qapp: object, tmp_path: Path) -> None:
    box = ToolBox(tmp_path)
    box.save([*box.configs, GITHUB, NOTES, replace(NOTES, name="off", enabled=False)])
    (fake,) = servers.made
    assert [config.name for config in box.configs] == ["Calculator", "Files", "Documents", "github", "notes", "off"]
    assert fake.started == [] and box.offered(ChatSettings()) == {}
    box.warm(ChatSettings())
    assert fake.started == []
    chat = ChatSettings(tool_servers=("github", "off", "removed long ago"))
    box.warm(chat)
    assert fake.started == ["github"]
    assert list(box.offered(chat)) == ["calculator"]
    assert box.offered(replace(chat, tools_off=("github/calculator",))) == {}
    assert box.offered(ChatSettings(tool_servers=("notes",))) == {}
    box.set_enabled("github", False)
    assert box.offered(chat) == {}
    box.set_enabled("github", True)
    assert fake.started == ["github"]  # until a chat or the settings use it
    box.warm()
    assert fake.started == ["github", "github", "notes"]
    box.close()
    assert fake.closed


def test_a_server_that_failed_is_not_started_again_and_again(servers: type[FakeServers], qapp: object) -> None:
    servers.answers["notes"] = failed("It broke.")
    box = ToolBox()
    box.save([*box.configs, NOTES])
    chat = ChatSettings(tool_servers=("notes",))
    box.changed.connect(lambda: box.warm(chat))
    for _ in range(5):
        box.warm(chat)
    assert servers.made[0].started == ["notes"]
    box.start(["notes"])  # the user asked for it
    assert servers.made[0].started == ["notes", "notes"]


def test_results_and_progress_arrive_on_the_window_s_thread(servers: type[FakeServers], qtbot: QtBot) -> None:
    box = ToolBox()
    results: list[tuple[ToolResult, int]] = []
    progress: list[str] = []
    work = threading.Thread(
        target=lambda: box.call(CALCULATE, "{}", lambda result: results.append((result, threading.get_ident())), progress.append)
    )
    work.start()
    work.join()
    assert results == []
    qtbot.waitUntil(lambda: bool(results), timeout=PATIENCE_MS)
    assert results == [(ToolResult("1888264"), threading.get_ident())]
    assert progress == ["Step 999"]  # a thousand texts are delivered as one


def test_a_receiver_that_fails_does_not_lose_the_results_of_others(servers: type[FakeServers], qtbot: QtBot) -> None:
    box, results = ToolBox(), list[ToolResult]()

    def fail(result: ToolResult) -> None:
        raise ValueError

    box.call(CALCULATE, "{}", fail)
    box.call(CALCULATE, "{}", results.append)
    qtbot.waitUntil(lambda: bool(results), timeout=PATIENCE_MS)


def test_servers_are_stored_without_secrets(
    servers: type[FakeServers], qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[tuple[str, str], str] = {}
    monkeypatch.setattr("keyring.set_password", lambda service, name, value: kept.update({(service, name): value}))
    monkeypatch.setattr("keyring.get_password", lambda service, name: kept.get((service, name)))
    monkeypatch.setattr("keyring.delete_password", lambda service, name: kept.pop((service, name)))
    box = ToolBox(tmp_path)
    box.put(replace(GITHUB, headers=(("Authorization", "Bearer 12345"),)))
    qtbot.waitUntil(lambda: is_reference(box.configs[-1].headers[0][1]), timeout=PATIENCE_MS)
    file = tmp_path / "mcp.json"
    assert "12345" not in file.read_text() and list(kept.values()) == ["Bearer 12345"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    box.put(replace(box.configs[-1], name="hub"), "github")
    assert [config.name for config in box.configs] == ["Calculator", "Files", "Documents", "hub"]
    box.remove("hub")
    qtbot.waitUntil(lambda: not kept, timeout=PATIENCE_MS)
    assert ToolBox(tmp_path).configs == box.configs == read_config(file)


def test_a_damaged_list_of_servers_is_reported_and_kept(servers: type[FakeServers], qtbot: QtBot, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{ not JSON")
    box = ToolBox(tmp_path)
    assert "valid JSON" in box.problem and [config.builtin for config in box.configs] == ["calculator", "files", "documents"]
    box.problem = ""
    box.put(GITHUB)
    qtbot.waitUntil(lambda: bool(box.problem), timeout=PATIENCE_MS)
    assert file.read_text() == "{ not JSON" and GITHUB in box.configs  # used until the app quits


def test_renaming_or_removing_a_server_revokes_its_approvals(servers: type[FakeServers], qapp: object, tmp_path: Path) -> None:
    box = ToolBox(tmp_path)
    box.put(GITHUB)
    tool = Tool("github", "search", origin=GITHUB.origin)
    box.approvals.record(tool, "", "always")
    box.approvals.record(CALCULATE, "", "always")
    box.put(replace(GITHUB, name="hub"), "github")
    assert box.approvals.always() == (("Calculator", "calculator"),)
    box.approvals.record(replace(tool, server="hub"), "", "always")
    box.remove("hub")
    assert box.approvals.always() == (("Calculator", "calculator"),)
    assert not box.approvals.allows(tool, "")


@pytest.mark.parametrize(("url", "opened"), [("https://login.example/authorize", True), ("file:///etc/passwd", False)])
def test_signing_in_opens_web_pages_only(
    servers: type[FakeServers], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, url: str, opened: bool
) -> None:
    pages: list[str] = []
    monkeypatch.setattr("app.session.tool_box.QDesktopServices.openUrl", lambda page: pages.append(page.toString()))

    def sign_in(fake: FakeServers, name: str, open_browser: Callable[[str], None]) -> None:
        open_browser(url)

    monkeypatch.setattr(FakeServers, "sign_in", sign_in)
    box = ToolBox()
    box.sign_in("github")
    box._inbox.drain()
    assert pages == [url] * opened


def test_a_test_connects_to_a_server_that_is_not_stored(servers: type[FakeServers], qtbot: QtBot, tmp_path: Path) -> None:
    box, verdicts = ToolBox(tmp_path), list[ServerStatus]()
    servers.answers["notes"] = failed("It broke.", "No module named notes")
    box.test(NOTES, verdicts.append)
    qtbot.waitUntil(lambda: bool(verdicts) and servers.made[-1].closed, timeout=PATIENCE_MS)
    assert verdicts == [replace(servers.answers["notes"], name="notes")]
    assert NOTES not in box.configs and not (tmp_path / "mcp.json").exists()
    servers.slow = True
    box.test(NOTES, verdicts.append)
    box.close()
    assert all(fake.closed for fake in servers.made)


def test_the_app_ends_all_servers_when_it_quits(servers: type[FakeServers], begin: Callable[..., Session], tmp_path: Path) -> None:
    begin(data=tmp_path).quit()
    assert servers.made[0].closed


def test_mcp_json_in_the_format_of_other_apps_is_used(servers: type[FakeServers], qapp: object, tmp_path: Path) -> None:
    entry = {"command": "npx", "args": ["-y", "server"], "autoApprove": ["*"]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"everything": entry}}))
    box = ToolBox(tmp_path)
    assert [config.name for config in box.configs] == ["Calculator", "Files", "Documents", "everything"]
    assert not box.approvals.allows(Tool("everything", "echo"), "")


def test_the_real_calculator_is_connected_and_called(qtbot: QtBot, tmp_path: Path) -> None:
    box, chat = ToolBox(tmp_path), ChatSettings(tool_servers=("Calculator",))
    box.set_enabled("Calculator", True)
    box.warm(chat)
    qtbot.waitUntil(lambda: not box.connecting(chat), timeout=PATIENCE_MS)
    tool = box.offered(chat)["calculator"]
    results: list[ToolResult] = []
    box.call(tool, '{"expression": "4817 × 392"}', results.append)
    qtbot.waitUntil(lambda: bool(results), timeout=PATIENCE_MS)
    assert results == [ToolResult("1888264")]
    box.call(replace(tool, origin="elsewhere"), '{"expression": "1 + 1"}', results.append)
    qtbot.waitUntil(lambda: len(results) == 2, timeout=PATIENCE_MS)
    assert results[1].error is not None and results[1].error.code == "tool_changed"
    box.close()
    assert "tool servers" not in [thread.name for thread in threading.enumerate()]


def stored(qtbot: QtBot, box: ToolBox) -> None:
    qtbot.waitUntil(lambda: not box._saving, timeout=PATIENCE_MS)


def test_changes_that_another_program_makes_are_kept(servers: type[FakeServers], qtbot: QtBot, tmp_path: Path) -> None:
    box, file = ToolBox(tmp_path), tmp_path / "mcp.json"
    box.put(NOTES)
    stored(qtbot, box)
    content = json.loads(file.read_text())
    content["mcpServers"]["added"] = {"command": "by-hand"}
    file.write_text(json.dumps(content))
    box.set_enabled("Calculator", True)
    stored(qtbot, box)
    assert "added" in json.loads(file.read_text())["mcpServers"] and box.builtin("calculator").enabled
    file.write_text("{ not JSON")
    QGuiApplication.instance().applicationStateChanged.emit(Qt.ApplicationState.ApplicationActive)  # type: ignore[union-attr]
    assert "valid JSON" in box.problem and "added" in box.status
    del content["mcpServers"]["notes"]
    file.write_text(json.dumps(content))
    box.reload()
    assert not box.problem and "notes" not in box.status and "added" in box.status
    changes: list[int] = []
    box.changed.connect(lambda: changes.append(1))
    box.reload()
    assert not changes
    file.unlink()
    box.reload()
    assert list(box.status) == ["Calculator", "Files", "Documents"]


def test_the_index_of_removed_folders_is_deleted(servers: type[FakeServers], tmp_path: Path) -> None:
    box, folder = ToolBox(tmp_path), tmp_path / "Papers"
    box.set_documents({})
    folder.mkdir()
    (folder / "bees.md").write_text("Bees make honey.")
    box.put(replace(box.builtin("documents"), enabled=True, folders=(str(folder),)), "Documents")
    [config] = [config for config in servers.made[0].configs.values() if config.builtin == "documents"]
    index = Path(config.index)
    assert index.parent == tmp_path / "documents" and not box.builtin("documents").index
    assert box.text_of_page("Papers/bees.md", 1) is None
    DocumentIndex(index, config.folders).update()
    assert box.text_of_page("Papers/bees.md", 1) == "Bees make honey."
    old = index.parent / "old.sqlite-wal"
    old.write_bytes(b"words")
    box.set_enabled("Documents", False)
    assert index.exists() and not old.exists()
    box.put(replace(box.builtin("documents"), folders=()), "Documents")
    assert list(index.parent.iterdir()) == []
    box.close()


def test_no_index_is_deleted_before_the_projects_are_known(servers: type[FakeServers], tmp_path: Path) -> None:
    index = index_in(tmp_path / "documents", ("/papers",))
    index.parent.mkdir()
    index.write_bytes(b"words")
    box = ToolBox(tmp_path)
    box.set_enabled("Documents", True)
    assert index.exists()
    box.set_documents({"p": ("/papers",)})
    assert index.exists()
    box.set_documents({"p": ()})
    assert not index.exists()
    index.write_bytes(b"words")  # by a call that was running
    box.close()
    assert not index.exists()


def test_what_belongs_to_a_deleted_project_is_deleted_at_the_end(servers: type[FakeServers], tmp_path: Path) -> None:
    box, approval = ToolBox(tmp_path), ("Documents\np", "search_documents")
    documents = {"p": ("/papers",), "q": ("/notes",)}
    box.set_documents(documents)
    indexes = [index_in(tmp_path / "documents", folders) for folders in documents.values()]
    indexes[0].parent.mkdir()
    for index in indexes:
        index.write_bytes(b"words")
    box.approvals.record(Tool("Documents", "search_documents", project="p"), "", "always")
    for undone in (True, False):
        box.set_documents({"q": ("/notes",)})
        box.set_documents({"q": ("/notes",), "new": ()})
        assert indexes[0].exists() and box.approvals.always() == (approval,)
        if undone:
            box.set_documents(documents)
    box.close()
    assert [*indexes[0].parent.iterdir()] == [indexes[1]] and box.approvals.always() == ()


def test_a_database_that_lacks_projects_deletes_nothing_of_theirs(servers: type[FakeServers], tmp_path: Path) -> None:
    index, own = (index_in(tmp_path / "documents", (folder,)) for folder in ("/papers", "/mine"))
    index.parent.mkdir()
    index.write_bytes(b"words")
    approvals = Approvals(tmp_path / "approvals.json")
    approvals.record(Tool("Documents", "search_documents", project="p"), "", "always")
    box = ToolBox(tmp_path)
    box.set_documents({}, incomplete=True)
    box.put(replace(box.builtin("documents"), folders=("/mine",)), "Documents")
    own.write_bytes(b"words")
    box.put(replace(box.builtin("documents"), folders=()), "Documents")
    box.set_documents({"new": ()}, incomplete=True)
    box.close()
    assert [*index.parent.iterdir()] == [index] and len(approvals.always()) == 1
    again = ToolBox(tmp_path)
    again.set_documents({"new": ()})
    assert [*index.parent.iterdir()] == [] and approvals.always() == ()
    again.close()


def test_documents_reads_those_of_the_chat_s_project_only(servers: type[FakeServers], qapp: object, tmp_path: Path) -> None:
    box, chat = ToolBox(tmp_path), ChatSettings(tool_servers=("Documents",))
    box.put(replace(box.builtin("documents"), enabled=True, folders=("/mine",)), "Documents")
    box.set_documents({"a": ("/papers",), "b": ("/notes", "/x.pdf")})
    folders = {project: [config.folders for config in box.chosen(chat, project)] for project in ("", "a", "b", "c")}
    assert folders == {"": [("/mine",)], "a": [("/papers",)], "b": [("/notes", "/x.pdf")], "c": [("/mine",)]}
    box.warm(chat, "a")
    fake = servers.made[0]
    assert [fake.configs[key].folders for key in fake.started] == [("/papers",)]
    assert not box.connecting(chat, "a") and box.connecting(chat, "b") and box.connecting(chat)
    [tool] = box.offered(chat, "a").values()
    assert (tool.server, box.offered(chat, "b"), box.offered(chat)) == ("Documents", {}, {})
    assert box.offered(replace(chat, tools_off=("Documents/calculator",)), "a") == {}
    box.set_enabled("Documents", False)
    assert box.chosen(chat, "a") == []


def test_an_approval_for_a_project_allows_nothing_elsewhere(servers: type[FakeServers], qapp: object, tmp_path: Path) -> None:
    """It ends when one of the project's documents is removed, and when the app ends after the project was deleted."""
    box, chat = ToolBox(tmp_path), ChatSettings(tool_servers=("Documents",))
    box.put(replace(box.builtin("documents"), enabled=True, folders=("/papers",)), "Documents")
    box.set_documents({"a": ("/papers",), "b": ("/papers",)})
    for project in ("a", "b", ""):
        box.warm(chat, project)
    [first], [second], [third] = (box.offered(chat, project).values() for project in ("a", "b", ""))
    box.approvals.record(first, "", "always")
    assert [box.approvals.allows(tool, "") for tool in (first, second, third)] == [True, False, False]
    box.approvals.record(third, "", "always")
    box.set_documents({"a": (), "b": ("/papers",)})
    assert [box.approvals.allows(tool, "") for tool in (first, second, third)] == [False, False, True]
    assert box.approvals.always() == (("Documents", "calculator"),)
    box.approvals.record(second, "", "always")
    box.set_documents({"b": ("/papers", "/more")})
    box.warm(chat, "b")
    [second] = box.offered(chat, "b").values()
    assert not box.approvals.allows(second, "")
    box.approvals.record(second, "", "always")
    box.set_documents({})
    box.close()
    assert not box.approvals.allows(second, "")


def test_a_change_that_is_being_saved_is_not_undone(servers: type[FakeServers], qtbot: QtBot, tmp_path: Path) -> None:
    box = ToolBox(tmp_path)
    for number in range(5):
        box.put(replace(NOTES, name=f"notes {number}"))
        box.reload()
    stored(qtbot, box)
    box.reload()
    assert [config.name for config in box.configs[3:]] == [f"notes {number}" for number in range(5)] and not box.problem
