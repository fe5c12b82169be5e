"""The Tools pane: states, forms, imports, approvals, and texts from servers."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QCheckBox, QLabel, QMenu, QPushButton

from app.text import language
from app.views.settings.settings_dialog import SettingsDialog
from app.views.tools.server_card import MAX_TOOLS, ServerCard, description_of
from app.views.tools.server_form import ImportDialog, ServerForm
from app.views.tools.tools_pane import ToolsPane
from app.widgets.layout import ScrollingPage
from app.widgets.pairs_field import HIDDEN
from mlx_engine.contract.secrets import is_reference
from mlx_engine.mcp import builtin_tools
from mlx_engine.mcp.config import ServerConfig, import_config
from mlx_engine.mcp.document_tools import Documents
from mlx_engine.mcp.file_tools import Files
from mlx_engine.mcp.server_status import ServerStatus
from mlx_engine.mcp.tool import Tool
from tests.app.conftest import Begin, Session
from tests.app.views.tools.fake_servers import CALCULATE, FakeServers, failed

NOTES = ServerConfig("notes", command="notes-server", args=("--folder", "My Notes"))
HOSTILE = "<b>Hi</b> <img src='http://tracker.example/x.png'>\u202egnp.exe\x1b[31m\0 " + "x" * 5000


@pytest.fixture
def app(begin: Begin, servers: type[FakeServers], tmp_path: Path) -> Session:
    return begin(data=tmp_path)


def pane_of(app: Session) -> ToolsPane:
    app.window.dialogs.show_settings("tools")
    dialog = app.dialog(SettingsDialog)
    pane = dialog.parts["tools"]
    assert isinstance(pane, ToolsPane)
    return pane


def texts(card: ServerCard) -> list[str]:
    return [label.text() for label in card.findChildren(QLabel) if label.isVisible()]


def click(card: ServerCard, name: str) -> None:
    next(each for each in card.findChildren(QPushButton) if each.accessibleName() == name).click()


def test_built_in_tools_are_described_for_people_and_in_their_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """The description for models was shown, in English."""
    files, documents = Files(()), Documents((), None)
    tools = [*builtin_tools._calculator(), *builtin_tools._files(files), *builtin_tools._documents(documents)]
    monkeypatch.delenv(language.VARIABLE, raising=False)
    try:
        described = {}
        for code in ("en", "de", "zh_CN"):
            language.use(code)
            described[code] = [description_of(Tool("s", run.__name__, description=words, builtin=True)) for run, words, _ in tools]
    finally:
        language.use("en")
    assert all(len(set(texts)) == 3 for texts in zip(*described.values(), strict=True))
    assert all(len(text) < 60 for text in described["en"])
    assert description_of(Tool("web", "open_page", description="Opens a web page.")) == "Opens a web page."


def test_servers_start_when_the_pane_is_shown(app: Session, servers: type[FakeServers]) -> None:
    app.tools.put(NOTES)
    app.window.dialogs.show_settings("general")
    assert servers.made[0].started == []
    pane = pane_of(app)
    assert list(pane.cards) == ["Calculator", "Files", "Documents", "notes"] and servers.made[0].started == ["notes"]
    app.until(lambda: pane.cards["notes"].state.text() == "Connected · 1 tool")
    calculator = pane.cards["Calculator"]
    assert calculator.state.text() == "Off" and not calculator.switch.isChecked()
    assert calculator.switch.accessibleName() == "Use Calculator" and calculator.switch.accessibleDescription() == "Off"
    calculator.switch.click()
    app.until(lambda: calculator.state.text() == "Connected · 1 tool")
    assert calculator.switch.accessibleDescription() == "Connected · 1 tool"
    calculator.switch.click()
    assert calculator.state.text() == "Off"


def test_every_state_is_told(app: Session, servers: type[FakeServers], monkeypatch: pytest.MonkeyPatch) -> None:
    box = app.tools
    servers.answers["notes"] = failed("The program ended.", "Traceback", "ModuleNotFoundError: No module named 'notes'")
    servers.answers["remote"] = ServerStatus("", "sign_in")
    box.save([*box.configs, NOTES, ServerConfig("remote", url="https://api.example/mcp")])
    pane = pane_of(app)
    notes, remote = pane.cards["notes"], pane.cards["remote"]
    app.until(lambda: notes.state.text() == "The program ended.")
    assert notes.log.text().splitlines() == ["Traceback", "ModuleNotFoundError: No module named 'notes'"]
    assert notes.target.text() == "notes-server --folder 'My Notes'"
    assert remote.state.text() == "Sign-in required" and remote.sign_out.isHidden()
    monkeypatch.setattr("app.session.tool_box.QDesktopServices.openUrl", lambda page: None)
    remote.sign_in.click()
    servers.answers.clear()
    servers.made[0].finish("remote")
    app.until(lambda: remote.state.text() == "Connected · 1 tool")
    remote.sign_out.click()
    assert servers.made[0].signs == ["in remote", "out remote"]
    notes.again.click()
    app.until(lambda: notes.state.text() == "Connected · 1 tool" and notes.log.isHidden())


def test_texts_of_servers_are_shown_as_text(app: Session, servers: type[FakeServers]) -> None:
    tools = tuple(Tool("notes", f"{number}{HOSTILE}", HOSTILE, HOSTILE) for number in range(MAX_TOOLS + 7))
    servers.answers["notes"] = ServerStatus("", "ready", tools=tools)
    app.tools.put(NOTES)
    pane = pane_of(app)
    card = pane.cards["notes"]
    app.until(lambda: not card.show_tools.isHidden())
    card.show_tools.click()
    assert card.show_tools.text() == "Hide Tools"
    app.until(lambda: "7 more" in texts(card))
    shown = texts(card)
    for text in shown:
        assert len(text) <= 1000 and text.isprintable() and "\u202e" not in text
    assert any("<b>Hi</b> <img src=" in text for text in shown)
    assert all(label.textFormat() == Qt.TextFormat.PlainText for label in card.findChildren(QLabel))
    servers.answers["notes"] = failed(HOSTILE, HOSTILE)
    card.switch.click()
    card.switch.click()
    app.until(lambda: card.state.text().startswith("<b>Hi</b>"))
    assert len(card.state.text()) <= 1000 and card.log.text().isprintable()


def test_an_approval_is_listed_and_revoked(app: Session) -> None:
    box = app.tools
    box.approvals.record(CALCULATE, "", "always")
    card = pane_of(app).cards["Calculator"]
    app.until(lambda: "Always allowed" in texts(card))  # even while the calculator is off
    click(card, "Ask before each call to calculator")
    assert box.approvals.always() == ()
    app.until(lambda: "Always allowed" not in texts(card))


def test_an_approval_of_a_changed_tool_is_not_shown_as_one(app: Session, servers: type[FakeServers]) -> None:
    box = app.tools
    old = Tool("notes", "search", description="Search.", origin="x")
    servers.answers["notes"] = ServerStatus("", "ready", tools=(replace(old, description="Search and delete."),))
    box.approvals.record(old, "", "always")
    box.put(NOTES)
    card = pane_of(app).cards["notes"]
    app.until(lambda: not card.show_tools.isHidden())
    card.show_tools.click()
    assert card.show_tools.accessibleName() == "Hide Tools notes"
    app.until(lambda: "Changed · needs approval again" in texts(card))


@pytest.mark.parametrize("name", ["Files", "Documents"])
def test_folders_are_added_and_removed(app: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    box = app.tools
    card = pane_of(app).cards[name]
    card.switch.click()
    assert card.state.text() == "Add a folder that models may read."
    monkeypatch.setattr("app.views.tools.server_card.QFileDialog.getExistingDirectory", lambda *_: str(tmp_path))
    card.add_folder.click()
    card.add_folder.click()
    assert box.builtin(name.lower()).folders == (str(tmp_path),)
    app.until(lambda: card.state.text() == "Connected · 1 tool")
    click(card, f"Remove the folder {tmp_path}")
    assert box.builtin(name.lower()).folders == ()


def test_a_server_is_added_tested_edited_and_removed(
    app: Session, servers: type[FakeServers], monkeypatch: pytest.MonkeyPatch
) -> None:
    box, pane = app.tools, pane_of(app)
    pane.add.click()
    (form,) = pane.findChildren(ServerForm)
    for name, target, env, reason in (
        ("", "x", "", "Enter a name."),
        ("Calculator", "x", "", "Another server has this name."),
        ("notes", " ", "", "Enter a command or an address."),
        ("notes", "notes 'My", "", "A quotation mark isn't closed."),
        ("notes", "notes", "KEY", "“KEY” needs a name, “=”, and a value."),
    ):
        form.name.setText(name)
        form.target.setText(target)
        form.env.setPlainText(env)
        form.save.click()
        assert form.verdict.text() == reason and form.isVisible()
    form.target.setText("notes-server --folder 'My Notes'")
    form.env.setPlainText("API_KEY=abc=d\nLEVEL = 3\n")
    servers.answers["notes"] = failed("The program ended.", "No such folder")
    form.test.click()
    app.until(lambda: form.verdict.text() == "The program ended.\nNo such folder")
    servers.answers.clear()
    form.test.click()
    app.until(lambda: form.verdict.text() == "Connected · 1 tool\ncalculator")
    assert "notes" not in box.status
    form.save.click()
    app.until(lambda: is_reference(dict(box.configs[-1].env)["API_KEY"]))
    assert (box.configs[-1].command, box.configs[-1].args) == ("notes-server", ("--folder", "My Notes"))

    click(pane.cards["notes"], "Edit… notes")
    form = pane.findChildren(ServerForm)[-1]
    assert form.env.toPlainText().splitlines() == [f"API_KEY={HIDDEN}", "LEVEL=3"]
    assert form.target.text() == "notes-server --folder 'My Notes'" and not form.headers.isEnabled()
    before = box.configs[-1].env
    form.name.setText("my notes")
    form.save.click()
    assert box.configs[-1].name == "my notes" and box.configs[-1].env == before
    assert list(pane.cards) == ["Calculator", "Files", "Documents", "my notes"]
    monkeypatch.setattr("app.views.tools.server_card.confirm", lambda *_: True)
    click(pane.cards["my notes"], "Remove… my notes")
    assert list(pane.cards) == ["Calculator", "Files", "Documents"]


def test_an_address_takes_headers(app: Session) -> None:
    pane = pane_of(app)
    pane.add.click()
    (form,) = pane.findChildren(ServerForm)
    form.name.setText("remote")
    form.target.setText("https://api.example/mcp")
    assert form.headers.isEnabled() and not form.env.isEnabled()
    form.headers.setPlainText("Authorization: Bearer a:b")
    form.save.click()
    config = app.tools.configs[-1]
    assert (config.url, config.command, config.headers) == (
        "https://api.example/mcp",
        "",
        (("Authorization", "Bearer a:b"),),
    )


def test_an_import_starts_and_approves_nothing(app: Session, servers: type[FakeServers], tmp_path: Path) -> None:
    box, pane = app.tools, pane_of(app)
    file = tmp_path / "claude.json"
    entries = {"notes": {"command": "notes-server", "alwaysAllow": ["write"]}, "<b>x</b>&": {"url": "https://api.example/mcp"}}
    file.write_text(json.dumps({"mcpServers": entries}))
    pane.import_from(file, "Claude Desktop")
    (dialog,) = pane.findChildren(ImportDialog)
    shown = [label.text() for label in dialog.findChildren(QLabel)]
    assert "notes-server" in shown and "https://api.example/mcp" in shown
    boxes = dialog.findChildren(QCheckBox)
    assert [box.text() for box in boxes] == ["notes", "<b>x</b>&&"]
    boxes[1].setChecked(False)
    dialog.accept()
    assert [config.name for config in box.configs] == ["Calculator", "Files", "Documents", "notes"]
    assert not box.configs[-1].enabled and servers.made[0].started == [] and box.approvals.always() == ()
    pane.import_from(file, "Claude Desktop")
    assert [box.text() for box in pane.findChildren(ImportDialog)[-1].findChildren(QCheckBox)] == ["<b>x</b>&&"]
    box.save([*box.configs, *import_config(file, box.configs)])
    pane.import_from(file, "Claude Desktop")
    assert pane.problem.label.text() == "Claude Desktop has no new servers."
    file.write_text("[]")
    pane.import_from(file, "a file")
    problem = pane.problem.label.text()
    box.changed.emit()  # as when a server connects
    assert pane.problem.isVisible() and pane.problem.label.text() == problem != ""


def test_a_command_opens_the_pane(app: Session) -> None:
    app.run("tools")
    dialog = app.dialog(SettingsDialog)
    assert dialog.list.currentItem().text() == "Tools"


@pytest.mark.parametrize("text_size", [15, 28])
def test_the_verdict_of_a_test_is_scrolled_into_view(app: Session, servers: type[FakeServers], text_size: int) -> None:
    app.theme.set_text_size(text_size)
    pane = pane_of(app)
    pane.add.click()
    (form,) = pane.findChildren(ServerForm)
    servers.answers["notes"] = failed("The program ended.", *("line of the log" for _ in range(6)))

    def visible_lines() -> float:
        return form.verdict.visibleRegion().boundingRect().height() / form.verdict.fontMetrics().lineSpacing()

    form.save.click()
    app.until(lambda: form.verdict.text() == "Enter a name." and visible_lines() >= 1)
    form.findChild(ScrollingPage).verticalScrollBar().setValue(0)
    form.name.setText("notes")
    form.target.setText("notes-server")
    form.test.click()
    app.until(lambda: form.verdict.text().startswith("The program ended.") and visible_lines() >= 3)


def test_servers_are_pasted_from_a_page(app: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    pane = pane_of(app)
    monkeypatch.setattr("app.views.tools.tools_pane.other_apps", dict)
    for text, names in (
        ('"notes": {"command": "notes-server"}', None),
        ('{"mcpServers": {"notes": {"command": "notes-server"}}} // as in a README', ["notes"]),
        ('{"search": {"url": "https://api.example/mcp"},}', ["search"]),
    ):
        QGuiApplication.clipboard().setText(text)
        pane.imports.click()
        menu = next(menu for menu in pane.findChildren(QMenu) if menu.isVisible())
        assert [action.text() for action in menu.actions()] == ["Choose File…", "Paste from Clipboard"]
        menu.actions()[1].trigger()
        menu.close()
        menu.deleteLater()
        assert pane.problem.isVisible() == (names is None)
        if names is not None:
            dialog = pane.findChildren(ImportDialog)[-1]
            assert [config.name for config in dialog.chosen] == names
            dialog.accept()
    assert [config.name for config in app.tools.configs[3:]] == ["notes", "search"]


def test_a_verdict_disappears_when_its_form_changes(app: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """“Enter a command or an address.” stayed while the command was typed, and a late result described another command."""
    form = ServerForm(app.theme, app.tools, None, app.window)
    for change in (
        lambda: form.target.textEdited.emit("n"),
        lambda: form.env.setPlainText("A=b"),
        lambda: form.headers.setPlainText("A: b"),
        lambda: form.timeout.setValue(form.timeout.value() + 1),
        lambda: form.name.textEdited.emit("n"),
    ):
        form.name.setText("notes")
        form.target.setText("")
        form.save.click()
        assert form.verdict.text() == "Enter a command or an address."
        change()
        assert form.verdict.text() == ""
    form.target.setText("notes-server")
    form.env.clear()
    form.headers.clear()
    late: list[Callable[[ServerStatus], object]] = []
    monkeypatch.setattr(app.tools, "test", lambda config, verdict: late.append(verdict))
    form.test.click()
    form.target.setText("other-server")
    form.target.textEdited.emit("other-server")
    assert form.test.isEnabled() and form.verdict.text() == ""
    late[0](ServerStatus("notes", "ready"))
    assert form.verdict.text() == ""
    form.test.click()
    late[1](ServerStatus("notes", "ready"))
    assert form.verdict.text() == "Connected · 0 tools"
