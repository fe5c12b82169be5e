"""A removed project can be restored until the app quits. Then nothing of it stays on the disk."""

from dataclasses import replace
from pathlib import Path

import pytest

from mlx_engine.mcp.tool import Tool
from tests.app.conftest import Begin
from tests.app.test_message_passages import in_project
from tests.app.views.tools.fake_servers import FakeServers


def test_nothing_of_a_removed_project_and_its_chats_stays_on_the_disk(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.session.tool_box.ToolServers", FakeServers)
    data, folder = tmp_path / "data", tmp_path / "Notes"
    data.mkdir()
    folder.mkdir()
    (folder / "bees.md").write_text("# Xylocopa\n\nXylocopa nest in wood.\n")
    app = begin(data=data)
    in_project(app, folder)
    [project] = app.library.projects.values()
    settings = app.services.projects.new_chats(project.id)
    app.services.projects.change(project.id, name="Quokkas", new_chats=replace(settings, system="Be a wombat."))
    app.tools.approvals.record(Tool("Documents", "search_documents", project=project.id), "", "always")
    app.ask("Where do Xylocopa nest?")
    words = [word.encode() for word in (project.id, "Quokkas", "wombat", "Xylocopa", str(folder))]

    def found() -> set[bytes]:
        files = [file.read_bytes() for file in data.rglob("*") if file.is_file()]
        return {word for word in words if any(word in content for content in files)}

    app.until(lambda: found() == set(words))
    for undone in (True, False):
        app.library.delete_project(project.id)
        if undone:
            app.library.undo()
            assert app.services.projects.allowed(project.id) == ("search_documents",)
            assert {index.suffix for index in (data / "documents").iterdir()} >= {".sqlite"}
    app.library.delete([app.session.chat.id])
    app.quit()
    again = begin(data=data)
    again.until(lambda: again.library.read)
    again.quit()
    assert found() == set()


@pytest.mark.parametrize("harm", ["damaged", "missing"])
def test_a_project_in_a_database_that_was_lost_keeps_its_approvals_and_its_index(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    monkeypatch.setattr("app.session.tool_box.ToolServers", FakeServers)
    data, folder = tmp_path / "data", tmp_path / "Notes"
    data.mkdir()
    folder.mkdir()
    (folder / "bees.md").write_text("Bees make honey.")
    app = begin(data=data)
    in_project(app, folder)
    [project] = app.library.projects.values()
    tool = Tool("Documents", "search_documents", project=project.id)
    app.tools.approvals.record(tool, "", "always")
    app.ask("Who makes honey?")
    app.quit()
    if harm == "damaged":
        (data / "chats.db").write_bytes(b"x" * 100)
    else:
        (data / "chats.db").unlink()
    again = begin(data=data)
    again.until(lambda: again.library.read)
    again.ask("Hello?")
    again.library.add_project("Another")
    again.quit()
    assert again.tools.approvals.allows(tool, "") and list((data / "documents").glob("*.sqlite"))
