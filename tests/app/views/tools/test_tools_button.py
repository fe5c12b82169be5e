"""The tools of a chat: the button of the composer, its menu, and the start page's example."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from app.storage.settings import ChatSettings, Preset
from app.views.settings.settings_dialog import SettingsDialog
from app.views.tools.tool_chips import ToolChips
from app.views.tools.tools_button import ToolsButton
from mlx_engine.contract.errors import EngineText
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.server_status import ServerStatus
from mlx_engine.mcp.tool import Tool
from tests.app.conftest import Begin, Session, Start
from tests.app.scripted_engine import PAIR, ScriptedEngine, answer, commit, done
from tests.app.views.tools.fake_servers import FakeServers, failed

EXAMPLE = "What is 4817 × 392?"
GITHUB = ServerConfig("git&hub", url="https://api.example/mcp")
HOSTILE = "<img src=x>\u202e\x1b[2J"


def calling_engine() -> ScriptedEngine:
    """An engine whose pair can call tools. Each takes 40 tokens."""
    engine = ScriptedEngine(pair=replace(PAIR, can_call_tools=True))
    engine.tokens_per_tool = 40
    return engine


@pytest.fixture
def app(begin: Begin, servers: type[FakeServers], tmp_path: Path) -> Session:
    tools = tuple(Tool("git&hub", name, description=HOSTILE) for name in ("search", "push", HOSTILE))
    servers.answers["git&hub"] = ServerStatus("", "ready", tools=tools)
    session = begin(calling_engine(), data=tmp_path)
    session.tools.put(GITHUB)
    return session


def button_of(app: Session) -> ToolsButton:
    button = ToolsButton(app.theme, app.session, app.loader, app.tools, app.services.tool_tokens, app.services.passages)
    button.setParent(app.window)
    return button


def send_example(app: Session) -> None:
    """Send the start page's example, as its card does."""
    app.session.send(EXAMPLE, example="calculator")


def ask_example(app: Session) -> None:
    send_example(app)
    app.until(lambda: bool(app.engine.requests) and not app.activity.busy)


def entries(menu: QMenu) -> dict[str, QAction]:
    return {action.text(): action for action in menu.actions() if not action.isSeparator()}


def test_a_chat_has_no_tools_until_the_user_turns_them_on(app: Session, servers: type[FakeServers]) -> None:
    button = button_of(app)
    app.ask("Hello")
    assert app.engine.requests[-1].tools == () and not button.is_active and servers.made[0].started == []
    menu = entries(button.make_menu())
    assert list(menu) == ["Calculator", "Files", "Documents", "git&&hub → api.example", "Tool Settings…"]
    menu["Calculator"].trigger()
    assert app.session.chat.settings.tool_servers == ("Calculator",) and app.tools.builtin("calculator").enabled
    app.until(lambda: button.is_active and list(app.session.offered_tools) == ["calculator"])
    assert button.accessibleName() == "Tools in this chat: Calculator"
    entries(button.make_menu())["Calculator"].trigger()
    assert not button.is_active and app.session.offered_tools == {}
    assert app.tools.builtin("calculator").enabled  # other chats may use it


def test_a_chip_names_each_server_that_is_on_and_turns_it_off(app: Session) -> None:
    button = button_of(app)
    chips = ToolChips(app.theme, button)
    chips.setParent(app.window)
    assert chips.chips == [] and chips.isHidden()
    for name in ("Calculator", "git&&hub → api.example"):
        entries(button.make_menu())[name].trigger()
    assert [chip.name.text() for chip in chips.chips] == ["Calculator", "git&hub"] and not chips.isHidden()
    assert chips.chips[0].off.accessibleName() == "Turn off Calculator in this chat"
    chips.chips[0].off.click()
    assert app.session.chat.settings.tool_servers == ("git&hub",)
    assert [chip.name.text() for chip in chips.chips] == ["git&hub"]
    app.session.new_chat()
    app.session.change(tool_servers=())
    assert chips.isHidden()


def test_single_tools_are_turned_off_in_a_chat(app: Session, qtbot: QtBot) -> None:
    button = button_of(app)
    app.session.set_settings(ChatSettings(tool_servers=("git&hub",)))
    app.until(lambda: len(app.session.offered_tools) == 3)
    menu = button.make_menu()
    (inner,) = [action.menu() for action in menu.actions() if action.menu()]
    assert isinstance(inner, QMenu) and inner.title().strip() == "3 of 3 tools"
    assert "\x1b" not in inner.actions()[2].text() and "\u202e" not in inner.actions()[2].text()
    assert inner.actions()[0].toolTip().startswith("<qt>&lt;img")
    inner.popup(QPoint(0, 0))
    qtbot.mouseClick(inner, Qt.MouseButton.LeftButton, pos=inner.actionGeometry(inner.actions()[1]).center())
    assert inner.isVisible()  # for the next one
    assert app.session.chat.settings.tools_off == ("git&hub/push",)
    assert [tool.name for tool in app.session.offered_tools.values()] == ["search", HOSTILE]
    inner.actions()[1].trigger()
    assert app.session.chat.settings.tools_off == ()
    menu.close()


def test_the_menu_and_the_tooltip_say_what_tools_cost_and_where_calls_go(app: Session) -> None:
    button = button_of(app)
    app.session.set_settings(ChatSettings(tool_servers=("git&hub",)))
    app.until(lambda: button.tokens.count == 120)
    assert button.toolTip().splitlines() == [
        "Tools in this chat: git&hub",
        "Calls to git&hub are sent to api.example.",
        "Tool descriptions use 120 tokens.",
    ]
    assert "Tool descriptions use 120 tokens." in entries(button.make_menu())
    app.type("Hello")
    app.until(lambda: app.engine.counted[-1].messages[-1].content == "Hello")
    assert len(app.engine.counted[-1].request.tools) == 3  # the context meter counts them too
    app.session.set_settings(ChatSettings())
    app.until(lambda: button.tokens.count is None)
    assert button.toolTip() == "Tools"


def test_a_server_that_failed_is_named(app: Session, servers: type[FakeServers]) -> None:
    servers.answers["git&hub"] = failed("It broke.")
    app.session.set_settings(ChatSettings(tool_servers=("git&hub",)))
    button = button_of(app)
    app.until(lambda: "git&hub: It broke." in button.toolTip())


def test_the_button_is_disabled_with_the_reason_if_the_model_cannot_call_tools(begin: Begin, servers: type[FakeServers]) -> None:
    app = begin()
    button = button_of(app)
    app.session.set_settings(ChatSettings(tool_servers=("Calculator",)))
    assert not button.isEnabled() and "This model can't call tools." in button.toolTip()
    assert app.session.offered_tools == {} and servers.made[0].started == []


def test_tools_are_stored_with_the_chat_and_inherited_by_new_ones(app: Session) -> None:
    app.ask("Hello")
    chosen = ChatSettings(tool_servers=("git&hub",), tools_off=("git&hub/push",))
    app.session.set_settings(chosen)
    app.session.save_settings()
    first = app.session.chat.id
    app.session.new_chat()
    assert app.session.chat.settings.tool_servers == ("git&hub",) and app.session.chat.settings.tools_off == ("git&hub/push",)
    app.session.set_settings(replace(app.session.chat.settings, private=True))
    assert app.session.chat.settings.tool_servers == ()  # a private chat has tools only if the user turns them on
    app.session.set_settings(replace(app.session.chat.settings, tool_servers=("Files",)))
    assert app.session.chat.settings.tool_servers == ("Files",)
    preset = Preset("Brief", ChatSettings("Be brief.", tool_servers=("Calculator",)))
    app.session.set_settings(preset.applied_to(app.session.chat.settings))
    assert app.session.chat.settings.tool_servers == ("Files",)
    app.session.open_chat(first)
    app.until(lambda: app.session.chat.id == first)
    assert app.session.chat.settings == chosen


def test_an_imported_chat_has_no_tools_on(app: Session, tmp_path: Path) -> None:
    library = app.library
    app.ask("Hello")
    app.session.set_settings(ChatSettings("Be brief.", tool_servers=("git&hub",)))
    app.session.save_settings()
    first, file = app.session.chat.id, tmp_path / "chats.json"
    library.export_chats([first], file)
    app.until(file.exists)
    library.delete([first])
    library.import_file(file)
    app.until(lambda: len(library.entries) == 1)
    app.session.open_chat(next(iter(library.entries)))
    app.until(lambda: not app.session.chat.empty)
    assert app.session.chat.settings == ChatSettings("Be brief.")


def test_the_start_page_says_where_calls_go_and_its_example_waits_for_the_calculator(
    start: Start, servers: type[FakeServers], tmp_path: Path
) -> None:
    app = start(calling_engine(), data=tmp_path)
    welcome, foot = app.window.transcript.welcome, app.window.foot
    app.tools.put(GITHUB)
    app.session.set_settings(ChatSettings(tool_servers=("git&hub",)))
    assert welcome.private.text() == "Tool calls are sent to api.example. Everything else stays on this computer."
    app.session.set_settings(ChatSettings())
    assert welcome.private.text() == "Everything you write stays on this computer."
    servers.slow = True
    assert not welcome.calculation.isHidden() and foot.tools.isEnabled()
    welcome.calculation.click()
    assert foot.waiting.label.text() == "The reply will start when the tools are ready." and foot.waiting.isVisible()
    servers.made[0].finish("Calculator")
    app.until(lambda: bool(app.engine.requests) and not app.activity.busy)
    assert app.session.chat.settings.tool_servers == ("Calculator",)
    assert app.engine.requests[-1].messages[-1].content == EXAMPLE
    assert foot.waiting.isHidden() and foot.composer.text == ""
    app.engine.pair = PAIR
    app.activity.use()
    app.until(lambda: not app.loader.running)
    assert welcome.calculation.isHidden() and not foot.tools.isEnabled()
    foot.tools.settings_requested.emit()
    assert app.window.dialogs.find(SettingsDialog) is not None


def test_the_example_turns_on_the_calculator_in_its_chat_only(begin: Begin, servers: type[FakeServers], tmp_path: Path) -> None:
    app = begin(calling_engine(), data=tmp_path)
    button = button_of(app)
    ask_example(app)
    assert len(app.engine.requests[-1].tools) == 1
    asked = app.session.chat.id
    assert not app.tools.builtin("calculator").enabled, "the settings stay as they are"
    assert entries(button.make_menu())["Calculator"].isChecked() and button.is_active
    app.session.new_chat()
    assert not button.is_active and not entries(button.make_menu())["Calculator"].isChecked()
    app.ask("Hello")
    assert app.engine.requests[-1].tools == ()
    app.session.open_chat(asked)
    app.until(lambda: app.session.chat.id == asked)
    app.ask("And 7 × 8?")
    assert len(app.engine.requests[-1].tools) == 1 and app.tools.connecting(app.session.chat.settings) is False
    app.quit()
    again = begin(calling_engine(), data=tmp_path)
    again.until(lambda: again.session.chat.id == asked)
    again.ask("And 8 × 9?")
    assert len(again.engine.requests[-1].tools) == 1, "its chat keeps it"
    again.session.new_chat()
    assert again.session.chat.settings.tool_servers == () and again.session.chat.settings.example_servers == ()
    assert not again.tools.builtin("calculator").enabled


@pytest.mark.parametrize("way", ["Cancel", "Send", "another example"])
def test_an_example_that_is_not_sent_leaves_the_calculator_off(app: Session, servers: type[FakeServers], way: str) -> None:
    """The chat's next message had it on."""
    servers.slow = True
    send_example(app)
    if way == "Cancel":
        app.message.cancel()
    elif way == "another example":
        app.session.send("Another example")
    if way != "another example":
        app.send("Hello")
    app.until(lambda: not app.session.chat.empty and not app.activity.busy)
    assert app.engine.requests[-1].tools == () and app.session.chat.settings.tool_servers == ()
    servers.made[0].finish("Calculator")
    assert not app.message.note and len(app.session.chat.turns) == 1


def test_a_server_that_an_example_turned_on_has_the_tooltip_of_its_state(app: Session, servers: type[FakeServers]) -> None:
    """The entry was checked, and its tooltip said “Off”."""
    button = button_of(app)
    assert entries(button.make_menu())["Calculator"].toolTip() == "Off"
    ask_example(app)
    entry = entries(button.make_menu())["Calculator"]
    assert entry.isChecked() and entry.toolTip() == "Connected · 1 tool"
    app.session.new_chat()
    entry = entries(button.make_menu())["Calculator"]
    assert not entry.isChecked() and entry.toolTip() == "Off"


def test_a_server_that_an_example_turned_on_and_that_failed_is_named(app: Session, servers: type[FakeServers]) -> None:
    servers.answers["Calculator"] = failed("It broke.")
    button = button_of(app)
    send_example(app)
    app.until(lambda: "Calculator: It broke." in button.toolTip())
    assert entries(button.make_menu())["Calculator"].toolTip() == "It broke."


def test_a_chat_without_example_starts_without_its_tools_after_a_restart(
    begin: Begin, servers: type[FakeServers], tmp_path: Path
) -> None:
    app = begin(calling_engine())
    ask_example(app)
    app.quit()
    again = begin(calling_engine())
    assert again.session.chat.empty and again.session.chat.settings.tool_servers == ()


def test_a_tool_of_an_example_that_the_user_turns_on_again_stays_on(app: Session) -> None:
    button = button_of(app)
    ask_example(app)
    for _ in range(2):
        entries(button.make_menu())["Calculator"].trigger()
    assert app.tools.builtin("calculator").enabled
    app.session.new_chat()
    assert app.session.chat.settings.tool_servers == ("Calculator",)
    app.ask("Hello")
    assert len(app.engine.requests[-1].tools) == 1


def test_the_example_leaves_a_draft_alone(app: Session) -> None:
    app.type("My draft")
    ask_example(app)
    assert app.engine.requests[-1].messages[-1].content == EXAMPLE
    assert app.message.text == "My draft"


def test_a_message_is_sent_without_the_tools_of_a_server_that_fails(app: Session, servers: type[FakeServers]) -> None:
    servers.slow = True
    app.session.set_settings(ChatSettings(tool_servers=("git&hub",)))
    app.send("Hello")
    assert app.engine.requests == [] and app.message.note == "The message will be sent when the tools are ready."
    servers.answers["git&hub"] = ServerStatus("", "failed", EngineText("", "It broke."))
    servers.made[0].finish("git&hub")
    app.until(lambda: bool(app.engine.requests) and not app.activity.busy)
    assert app.engine.requests[-1].tools == ()


def test_replies_without_a_new_message_wait_for_the_tools_too(app: Session, servers: type[FakeServers]) -> None:
    app.engine.replies = [[commit("I think"), done(reason="length", tokens=1024)], answer("Again."), answer("More.")]
    app.ask("Hello")
    app.type("My draft")
    servers.slow = True
    starts = {
        "Again.": lambda: app.session.regenerate(app.session.chat.turns[-1]),
        "I thinkMore.": lambda: app.session.resume(app.session.chat.turns[-1]),
        "Fine.": lambda: send_example(app),
    }
    for text, start in starts.items():
        if text == "I thinkMore.":
            app.session.switch(app.session.chat.turns[-1].answered, -1)
        servers.made[0].found["git&hub"] = ServerStatus("git&hub", "off")
        app.session.set_settings(replace(app.session.chat.settings, tool_servers=("git&hub",)))
        before = len(app.engine.requests)
        start()
        assert app.message.note == "The reply will start when the tools are ready."
        assert app.message.text == "My draft"
        for server in ("git&hub", *(("Calculator",) if text == "Fine." else ())):
            assert len(app.engine.requests) == before
            servers.made[0].finish(server)
        app.until(lambda before=before: len(app.engine.requests) > before and not app.activity.busy)
        assert not app.message.note and len(app.engine.requests[-1].tools) >= 3
        assert app.session.chat.turns[-1].reply.answer == text


@pytest.mark.parametrize("way", ["Cancel", "New Chat", "Send"])
def test_a_reply_that_waits_for_the_tools_can_be_canceled(app: Session, servers: type[FakeServers], way: str) -> None:
    app.ask("Hello")
    servers.slow = True
    app.session.set_settings(ChatSettings(tool_servers=("git&hub",)))
    app.session.regenerate(app.session.chat.turns[-1])
    if way == "Send":
        app.send("Something else")
    else:
        app.message.cancel() if way == "Cancel" else app.session.new_chat()
        assert not app.message.note
    servers.made[0].finish("git&hub")
    app.until(lambda: bool(app.session.offered_tools))
    if way == "Send":
        app.until(lambda: len(app.engine.requests) == 2 and not app.activity.busy)
        assert app.engine.requests[-1].messages[-1].content == "Something else"
    else:
        assert len(app.engine.requests) == 1


def test_the_first_chat_after_a_restart_has_the_last_tools(begin: Begin, servers: type[FakeServers], tmp_path: Path) -> None:
    app = begin(calling_engine(), data=tmp_path)
    app.tools.put(GITHUB)
    chosen = ChatSettings(tool_servers=("git&hub", "gone"), tools_off=("git&hub/push",))
    app.session.set_settings(chosen)
    app.until(lambda: "push" not in app.session.offered_tools)
    app.quit()
    again = begin(calling_engine(), data=tmp_path)
    assert again.session.chat.settings == chosen and again.session.chat.empty


@pytest.mark.parametrize("saved", ["", "nonsense", "[]", '{"tool_servers": 1, "tools_off": [2]}', '{"tool_servers": {"a": []}}'])
def test_damaged_choices_of_tools_are_ignored(begin: Begin, servers: type[FakeServers], tmp_path: Path, saved: str) -> None:
    settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
    settings.setValue("tools", saved)
    settings.sync()
    assert begin(loaded=False).session.chat.settings == ChatSettings()


def test_the_button_says_that_the_list_of_servers_is_damaged(begin: Begin, servers: type[FakeServers], tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text("{ not JSON")
    button = button_of(begin(calling_engine(), data=tmp_path))
    assert "valid JSON" in button.toolTip() and "valid JSON" in button.accessibleDescription()
