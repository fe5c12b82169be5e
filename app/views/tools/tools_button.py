"""The tools button of the composer: which tools are on in the open chat."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QMenu

from app.session.chat_session import ChatSession
from app.session.message_passages import MessagePassages
from app.session.pair_session import PairLoader
from app.session.tool_box import ToolBox, tool_key
from app.session.tool_tokens import ToolTokens
from app.storage.settings import ChatSettings
from app.storage.wording import tokens
from app.text.language import number, tr
from app.text.plain_text import one_line
from app.views.tools.server_card import MAX_NAME, description_of, host, server_title, state_text
from app.widgets.controls import IconButton, as_tooltip
from app.widgets.theme import Theme
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.server_status import ServerStatus
from mlx_engine.mcp.tool import Tool


class ToolsButton(IconButton):
    """A button with a menu of servers and tools. It is lit while the chat has tools."""

    settings_requested = Signal()
    refreshed = Signal()

    def __init__(
        self,
        theme: Theme,
        session: ChatSession,
        loader: PairLoader,
        tools: ToolBox,
        tokens: ToolTokens,
        passages: MessagePassages,
    ) -> None:
        super().__init__(theme, "tools", tr("Tools"))
        self._passages = passages
        self._session, self._loader, self._box = session, loader, tools
        self.tokens = tokens
        self.clicked.connect(self.show_menu)
        for signal in (
            self._box.changed,
            self.tokens.changed,
            session.settings_changed,
            loader.loaded,
            loader.changed,
        ):
            signal.connect(self.refresh)
        self.refresh()

    @property
    def chosen(self) -> list[ServerConfig]:
        """The servers that are on in the open chat, and that its model can use."""
        if not self._loader.can_call_tools:
            return self._passages.servers(self._session.chat)
        return self._box.chosen(self._session.chat.settings, self._session.project_id)

    @Slot()
    def refresh(self) -> None:
        loader, chosen = self._loader, self.chosen
        can_call = loader.can_call_tools
        self.setEnabled(can_call or bool(chosen))
        self.is_active = bool(chosen)
        names = ", ".join(server_title(config) for config in chosen)
        lines = [tr("Tools in this chat: {servers}", servers=names) if names else tr("Tools")]
        if loader.pair is not None and not can_call:
            host = loader.sent_to
            lines.append(tr("The model on {host} can't call tools.", host=host) if host else tr("This model can't call tools."))
            if chosen:
                lines.append(tr("Messages get the passages of the documents that fit them best."))
        status = self._box.status
        for config in chosen:
            if status[config.key].state in ("failed", "sign_in"):
                lines.append(f"{server_title(config)}: {state_text(config, status[config.key], on=True)}")
            elif config.url:
                lines.append(sent_to(config))
        lines += [text for text in (self._cost, self._box.problem) if text]
        self.setAccessibleName(lines[0])
        self.setAccessibleDescription(" ".join(lines[1:]))
        self.setToolTip(as_tooltip("\n".join(lines)))
        self.update()
        self.refreshed.emit()

    @property
    def _cost(self) -> str:
        count = self.tokens.count
        return tr("Tool descriptions use {tokens}.", tokens=tokens(count)) if count else ""

    @Slot()
    def show_menu(self) -> None:
        menu = self.make_menu()
        menu.popup(self.mapToGlobal(QPoint(0, -menu.sizeHint().height())))

    def make_menu(self) -> QMenu:
        """Return a menu of the servers, and of the tools of those that are on."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        status, project = self._box.status, self._session.project_id
        on = self._box.chosen(self._session.chat.settings, project)
        for config in self._box.configs_in(project):
            if config.enabled or config.builtin:
                self._add_server(menu, config, status[config.key], config in on)
        menu.addSeparator()
        if self._cost:
            menu.addAction(self._cost).setEnabled(False)
        menu.addAction(tr("Tool Settings…"), self.settings_requested.emit)
        return menu

    def _add_server(self, menu: QMenu, config: ServerConfig, status: ServerStatus, on: bool) -> None:
        text = server_title(config) + (f" → {host(config)}" if config.url else "")
        action = menu.addAction(menu_text(text))
        action.setCheckable(True)
        action.setChecked(on)
        tip = state_text(config, status, on or config.enabled)
        action.setToolTip(as_tooltip(f"{tip}\n{sent_to(config)}" if config.url else tip))
        action.toggled.connect(partial(self.switch_server, config))
        if not on or status.state != "ready" or len(status.tools) < 2:
            return
        off = self._session.chat.settings.tools_off
        inner = SwitchMenu(menu)
        inner.setTitle(f"    {count_on(status.tools, off)}")
        menu.addMenu(inner)
        inner.add_tools(status.tools, off, self._switch_tool)

    def switch_server(self, config: ServerConfig, on: bool, *_: object) -> None:
        """Turn a server on or off in the open chat."""
        settings = self._session.chat.settings
        others, examples = (
            tuple(name for name in names if name != config.name) for names in (settings.tool_servers, settings.example_servers)
        )
        if on and not config.enabled:
            self._box.set_enabled(config.name, True)
        servers = (*others, config.name) if on else others
        self._session.set_settings(replace(settings, tool_servers=servers, example_servers=examples))
        if on and config.takes_folders and not config.folders:
            self.settings_requested.emit()

    def _switch_tool(self, key: str, on: bool) -> None:
        self._session.set_settings(with_tool(self._session.chat.settings, key, on))


class SwitchMenu(QMenu):
    """A menu that stays open when one of its switches is clicked."""

    def add_tools(self, tools: Sequence[Tool], off: Collection[str], switch: Callable[[str, bool], object]) -> None:
        """Add a switch for each tool, which calls `switch` with the tool's key."""
        self.setToolTipsVisible(True)
        for tool in tools:
            each = self.addAction(menu_text(one_line(tool.name, MAX_NAME)))
            each.setCheckable(True)
            each.setChecked(tool_key(tool) not in off)
            each.setToolTip(as_tooltip(description_of(tool)))
            each.toggled.connect(partial(switch, tool_key(tool)))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if (action := self.activeAction()) is not None and action.isCheckable() and action.isEnabled():
            action.toggle()
        else:
            super().mouseReleaseEvent(event)


def count_on(tools: Sequence[Tool], off: Collection[str]) -> str:
    """Return how many of a server's tools are on."""
    on = sum(tool_key(tool) not in off for tool in tools)
    return tr("{count} of {total} tools", count=number(on), total=number(len(tools)))


def with_tool(settings: ChatSettings, key: str, on: bool) -> ChatSettings:
    """Return settings with a tool on or off."""
    others = tuple(each for each in settings.tools_off if each != key)
    return replace(settings, tools_off=others if on else (*others, key))


def menu_text(text: str) -> str:
    return text.replace("&", "&&")


def sent_to(config: ServerConfig) -> str:
    """Return a sentence that says where calls to a server are sent."""
    return tr("Calls to {server} are sent to {host}.", server=server_title(config), host=host(config))
