"""Projects in the window: the sidebar's menu, the sheet of settings, the bar above the chat, and exports."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QComboBox, QMenu, QPushButton

from app.storage.recent_model import RecentModel
from app.storage.settings import ChatSettings
from app.views.chat.project_settings import ProjectSettingsDialog
from app.widgets.toggle import Switch
from mlx_engine.mcp.server_status import ServerStatus
from mlx_engine.mcp.tool import Tool
from tests.app.conftest import Running, Start
from tests.app.scripted_engine import PAIR, ScriptedEngine, commit, done
from tests.app.views.tools.fake_servers import FakeServers


@pytest.fixture(autouse=True)
def servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.session.tool_box.ToolServers", FakeServers)
    monkeypatch.setattr(FakeServers, "made", [])


def app_with_row(start: Start, data: Path) -> tuple[Running, str]:
    """Return the app with a project, whose row in the sidebar is selected, and the project's ID."""
    pair = replace(PAIR, can_call_tools=True, can_think=True)
    app = start(ScriptedEngine([[commit("Honey.", 2), done()]] * 4, pair), data=data)
    app.until(lambda: app.library.read)
    app.run("new_project")
    [one] = app.library.projects
    app.services.projects.change(one, name="Bees & honey")
    select(app, one)
    return app, one


def select(app: Running, one: str) -> None:
    listed = app.window.sidebar.list
    listed.setFocus()
    listed.select_rows([one])
    app.until(lambda: app.commands.target == ("project", one))


def settings_of(app: Running) -> ProjectSettingsDialog:
    app.commands.run("project_settings")
    return app.dialog(ProjectSettingsDialog)


def press(dialog: ProjectSettingsDialog, name: str) -> None:
    [found] = [one for one in dialog.findChildren(QPushButton) if name in (one.text(), one.accessibleName())]
    found.click()


def test_a_project_is_set_up_in_the_sheet_and_used_in_a_new_chat(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, one = app_with_row(start, tmp_path)
    dialog = settings_of(app)
    assert dialog.name.text() == "Bees & honey" and not dialog.reset.isEnabled()
    dialog.name.setText("Bees")
    dialog.name.editingFinished.emit()
    place = "app.views.chat.project_settings.QFileDialog"
    monkeypatch.setattr(f"{place}.getExistingDirectory", lambda *_: "/papers")
    monkeypatch.setattr(f"{place}.getOpenFileNames", lambda *_: (["/bees.pdf", "/wasps.pdf"], ""))
    press(dialog, "Add Folder…")
    press(dialog, "Add Files…")
    press(dialog, "Remove /wasps.pdf")
    boxes = {box.accessibleName(): box for box in dialog.servers.findChildren(Switch)}
    assert {text: box.isChecked() for text, box in boxes.items()} == {"Calculator": False, "Files": False, "Documents": True}
    boxes["Calculator"].click()
    dialog.form.system.setPlainText("Cite documents.")
    dialog.form.thinking.click()
    dialog.accept()
    project = app.library.projects[one]
    assert (project.name, project.documents) == ("Bees", ("/papers", "/bees.pdf"))
    assert project.new_chats == ChatSettings(system="Cite documents.", thinking=True, tool_servers=("Documents", "Calculator"))
    select(app, one)
    assert app.commands["new_project_chat"].plain_text == "New Chat in “Bees”"
    app.commands.run("new_project_chat")
    chip = app.window.top_bar.project
    assert chip.text() == "Bees" and app.session.chat.settings == project.new_chats
    app.ask("What do bees make?")
    assert app.engine.requests[-1].messages[0].content == "Cite documents."
    app.run("new_chat")
    assert chip.text() == "" and not chip.isVisible() and not app.session.chat.settings.tool_servers


def test_tools_of_a_server_are_turned_off_in_the_sheet(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tuple(Tool("Calculator", name) for name in ("add", "multiply"))
    monkeypatch.setattr(FakeServers, "answers", {"Calculator": ServerStatus("", "ready", tools=tools)})
    app, one = app_with_row(start, tmp_path)
    dialog = settings_of(app)
    [box] = [box for box in dialog.servers.findChildren(Switch) if box.accessibleName() == "Calculator"]
    menu = dialog.tool_menus["Calculator"]
    assert menu.isHidden()
    box.click()
    app.until(lambda: menu.text() == "2 of 2 tools ▾" and menu.isVisible())
    assert dialog.tool_menus["Files"].isHidden()
    menu.click()
    [shown] = menu.findChildren(QMenu)
    multiply = shown.actions()[1]
    assert (multiply.text(), multiply.isChecked()) == ("multiply", True)
    multiply.trigger()
    assert menu.text() == "1 of 2 tools ▾"
    shown.close()
    dialog.accept()
    new_chats = app.library.projects[one].new_chats
    assert new_chats is not None and new_chats.tools_off == ("Calculator/multiply",)
    app.services.projects.new_chat(one)
    app.until(lambda: list(app.session.offered_tools) == ["add"])


def test_a_project_without_chats_is_exported_and_imported(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, one = app_with_row(start, tmp_path)
    offered: list[dict[str, str]] = []

    def ask(window: object, title: str, stem: str, formats: dict[str, str]) -> Path:
        offered.append(formats)
        return tmp_path / "bees.json"

    monkeypatch.setattr("app.window.chat_files.ask_save_path", ask)
    app.commands.run("export_project")
    app.until(lambda: app.notices == [f"Exported the project “Bees & honey” to {tmp_path / 'bees.json'}."])
    assert [list(formats) for formats in offered] == [[".json"]], "Markdown would be empty"
    app.library.delete_project(one)
    app.library.import_file(tmp_path / "bees.json")
    app.until(lambda: one in app.library.projects)
    assert app.notices[-1] == "Imported the project “Bees & honey”."
    app.library.import_file(tmp_path / "bees.json")
    app.until(lambda: app.notices[-1] == "The project “Bees & honey” is already there.")


def test_the_project_in_the_bar_opens_its_settings(start: Start, tmp_path: Path) -> None:
    app, one = app_with_row(start, tmp_path)
    app.commands.run("new_project_chat")
    app.window.composer.focus()
    bar = app.window.top_bar
    app.window.resize(1300, 700)
    app.until(bar.project.isVisible)
    bar.project.click()
    dialog = app.dialog(ProjectSettingsDialog)
    assert dialog.name.text() == "Bees & honey"
    app.library.delete_project(one)
    app.until(lambda: app.window.dialogs.find(ProjectSettingsDialog) is None)
    assert bar.project.text() == "" and app.commands["project_settings"].can() is not None


def test_the_project_moves_into_the_bar_s_menu_if_it_does_not_fit(start: Start, tmp_path: Path) -> None:
    app, one = app_with_row(start, tmp_path)
    name = "Bees & honey in the gardens of the north"
    app.services.projects.change(one, name=name)
    app.services.projects.new_chat(one)
    bar = app.window.top_bar
    app.window.resize(440, 420)
    app.until(lambda: not bar.project.isVisible() and bar.more.isVisible())
    bar.more.click()
    [menu] = bar.findChildren(QMenu)
    [action] = [action for action in menu.actions() if action.text() == name.replace("&", "&&")]
    action.trigger()
    assert app.dialog(ProjectSettingsDialog).name.text() == name
    menu.close()


def test_reset_returns_to_the_settings_of_all_new_chats(start: Start, tmp_path: Path) -> None:
    app, one = app_with_row(start, tmp_path)
    app.services.projects.change(one, new_chats=ChatSettings(system="Be brief."))
    dialog = settings_of(app)
    assert dialog.form.system.toPlainText() == "Be brief."
    dialog.reset.click()
    assert app.library.projects[one].new_chats is None and dialog.form.system.toPlainText() == ""


def test_the_sheet_offers_recent_models_and_keeps_one_that_is_not_listed(start: Start, tmp_path: Path) -> None:
    app, one = app_with_row(start, tmp_path)
    app.services.projects.change(one, model=RecentModel("Far away", connection="Studio"))
    dialog = settings_of(app)
    box: QComboBox = dialog.model
    assert [box.itemText(place) for place in range(box.count())] == ["The model in use", "Far away", "Demo pair"]
    assert box.currentText() == "Far away"
    box.activated.emit(2)
    model = app.library.projects[one].model
    assert model is not None and model.name == "Demo pair"
    box.activated.emit(0)
    assert app.library.projects[one].model is None


def test_approvals_for_a_project_are_listed_and_revoked(start: Start, tmp_path: Path) -> None:
    app, one = app_with_row(start, tmp_path)
    app.services.projects.add_documents(one, ["/papers"])
    app.commands.run("new_project_chat")
    [tool] = app.session.offered_tools.values()
    app.tools.approvals.record(tool, "", "always")
    dialog = settings_of(app)
    assert app.tools.approvals.allows(tool, "")
    press(dialog, "Ask before each call to calculator")
    assert not app.tools.approvals.allows(tool, "") and app.services.projects.allowed(one) == ()


def test_a_project_is_exported_with_its_chats_and_imported_again(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, one = app_with_row(start, tmp_path)
    app.services.projects.change(one, new_chats=ChatSettings(system="Be brief."))
    app.services.projects.add_documents(one, ["/papers"])
    app.commands.run("new_project_chat")
    app.ask("What do bees make?")
    app.run("new_chat")
    app.ask("Something else")
    select(app, one)
    file = tmp_path / "export.json"
    monkeypatch.setattr("app.window.chat_files.ask_save_path", lambda *_: file)
    app.commands.run("export_project")
    app.until(lambda: any(text.startswith("Exported 1 chat") for text in app.notices))
    data = json.loads(file.read_text(encoding="utf-8"))
    assert [chat["title"] for chat in data["chats"]] == ["What do bees make?"]
    assert data["folders"][0]["settings"]["documents"] == ["/papers"]
    project = app.library.projects[one]
    app.library.delete([chat for chat, entry in app.library.entries.items() if entry.project == one])
    app.library.delete_project(one)
    app.library.import_file(file)
    app.until(lambda: one in app.library.projects)
    assert app.library.projects[one] == project.harmless
    app.press("Use Them")
    assert app.library.projects[one] == project
    assert [entry.title for entry in app.library.entries.values() if entry.project == one] == ["What do bees make?"]
