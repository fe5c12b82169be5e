"""A server in the Tools pane: its state, its tools, and their approvals."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFileDialog, QFrame, QLayout, QPushButton, QVBoxLayout, QWidget

from app.session.tool_box import ToolBox
from app.storage.wording import tool_server
from app.text.language import number, tr, translated
from app.text.plain_text import one_line
from app.widgets.controls import as_tooltip, button, small_label
from app.widgets.layout import column, flow, row
from app.widgets.save_dialog import confirm
from app.widgets.theme import Theme, set_look
from app.widgets.toggle import Switch
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.server_status import ServerStatus
from mlx_engine.mcp.tool import Tool

MAX_TOOLS = 100  # shown
MAX_NAME, MAX_DESCRIPTION, MAX_TARGET, MAX_LINE = 64, 600, 1000, 200  # characters
LOG_LINES = 6


class ServerCard(QFrame):
    """A server with a switch, its state, buttons, and, on request, its tools."""

    edit_requested = Signal()

    def __init__(self, theme: Theme, box: ToolBox, config: ServerConfig) -> None:
        super().__init__()
        set_look(self, "group")
        self._theme, self._box, self.config = theme, box, config
        self._shown: object = None  # what the lists below the buttons show
        name = server_title(config)
        self.setAccessibleName(name)
        self.switch = Switch(theme, "")
        self.switch.setAccessibleName(tr("Use {server}", server=name))
        self.switch.clicked.connect(lambda on: box.set_enabled(self.config.name, on))
        self.target = small_label(theme, look="secondary", elided=True)
        self.state = small_label(theme, look="secondary", wrap=True, selectable=True)
        self.log = small_label(theme, look="secondary", wrap=True, selectable=True)

        def add(text: str, clicked: Callable[[], object]) -> QPushButton:
            return button(text, f"{text} {name}", "bordered", clicked)

        self.show_tools = add(tr("Show Tools"), self.refresh)
        self.show_tools.setCheckable(True)
        self.add_folder = add(tr("Add Folder…"), self._add_folder)
        self.sign_in = add(tr("Sign In…"), lambda: box.sign_in(config.name))
        self.sign_out = add(tr("Sign Out"), lambda: box.sign_out(config.name))
        self.again = add(tr("Try Again"), lambda: box.start([config.name]))
        self.edit = add(tr("Edit…"), self.edit_requested.emit)
        self.remove = add(tr("Remove…"), self._remove)
        title = small_label(theme, name, elided=True)
        title.setBuddy(self.switch)
        self._lists = QWidget()
        self._column = column(
            row((title, 1), self.switch),
            self.target,
            self.state,
            self.log,
            flow(self.show_tools, self.add_folder, self.sign_in, self.sign_out, self.again, self.edit, self.remove),
            self._lists,
            spacing=6,
            margins=(14, 9, 14, 9),
            parent=self,
        )
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the server's state and tools."""
        config = self.config
        status = self._box.status[config.name]
        failed = config.enabled and status.state == "failed"
        self.switch.setChecked(config.enabled)
        self.target.setText(one_line(target(config), MAX_TARGET))
        self.target.setToolTip(as_tooltip(self.target.text()))
        self.state.setText(state_text(config, status, config.enabled))
        set_look(self.state, "danger" if failed else "secondary")
        self.switch.setAccessibleDescription(self.state.text())
        self.log.setText("\n".join(one_line(line, MAX_LINE) for line in status.log[-LOG_LINES:]))
        ready = config.enabled and status.state == "ready"
        for part, shown in {
            self.target: not config.builtin,
            self.log: failed and bool(status.log),
            self.show_tools: ready,
            self.add_folder: config.takes_folders,
            self.sign_in: config.enabled and status.state == "sign_in",
            self.sign_out: ready and bool(config.url),
            self.again: failed,
            self.edit: not config.builtin,
            self.remove: not config.builtin,
        }.items():
            part.setVisible(shown)
        text = tr("Hide Tools") if self.show_tools.isChecked() else tr("Show Tools")
        self.show_tools.setText(text)
        self.show_tools.setAccessibleName(f"{text} {server_title(config)}")
        tools = status.tools if ready and self.show_tools.isChecked() else ()
        allowed = [tool for server, tool in self._box.approvals.always() if server == config.name]
        if (config.folders, tools, allowed) != self._shown:
            self._shown = config.folders, tools, allowed
            self._show_lists(tools, allowed)

    def _show_lists(self, tools: tuple[Tool, ...], allowed: list[str]) -> None:
        """List folders, tools, and approvals, even those of a server that is off."""
        rows: list[QLayout] = []
        for folder in self.config.folders:
            name = tr("Remove the folder {folder}", folder=folder)
            remove = button(tr("Remove"), name, "quiet", partial(self._drop_folder, folder))
            rows.append(row((small_label(self._theme, one_line(folder, MAX_TARGET), elided=True), 1), remove))
        unlisted = [Tool(self.config.name, name) for name in allowed if name not in {tool.name for tool in tools}]
        rows += [self._tool(tool, tool.name in allowed) for tool in (*tools[:MAX_TOOLS], *unlisted)]
        if more := len(tools[MAX_TOOLS:]):
            rows.append(row(small_label(self._theme, tr("{count} more", count=number(more)), "secondary")))
        old, self._lists = self._lists, QWidget()  # laid out once, not once for each row
        column(*rows, parent=self._lists)
        self._lists.setVisible(bool(rows))
        self._column.replaceWidget(old, self._lists)
        old.deleteLater()

    def _tool(self, tool: Tool, allowed: bool) -> QVBoxLayout:
        name = one_line(tool.name, MAX_NAME)
        title = one_line(tool.title, MAX_NAME)
        both = f"{name} · {title}" if title and title != name else name
        head = row((small_label(self._theme, both, bold=True, elided=True), 1))
        if allowed:
            revoke = button(
                tr("Revoke"),
                tr("Ask before each call to {tool}", tool=name),
                "quiet",
                lambda: self._box.revoke(tool.server, tool.name),
            )
            holds = not tool.origin or self._box.approvals.allows(tool, "")  # a listed tool has an origin
            text = tr("Always allowed") if holds else tr("Changed · needs approval again")
            head.addWidget(small_label(self._theme, text, "secondary"))
            head.addWidget(revoke)
        description = description_of(tool)
        return column(head, *([small_label(self._theme, description, "secondary", wrap=True)] if description else []), spacing=2)

    @Slot()
    def _add_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, tr("Choose a Folder That Models May Read"))
        if folder and folder not in self.config.folders:
            self._set_folders((*self.config.folders, folder))

    def _drop_folder(self, folder: str) -> None:
        self._set_folders(tuple(each for each in self.config.folders if each != folder))

    def _set_folders(self, folders: tuple[str, ...]) -> None:
        self._box.put(replace(self.config, folders=folders), self.config.name)

    @Slot()
    def _remove(self) -> None:
        question = tr("“{server}” will be removed along with its secrets and approvals.", server=server_title(self.config))
        if confirm(self, tr("Remove Server?"), question, tr("Remove")):
            self._box.remove(self.config.name)


def server_title(config: ServerConfig) -> str:
    """Return a server's display name."""
    return one_line(tool_server(config.builtin.capitalize() or config.name), MAX_NAME)


def description_of(tool: Tool) -> str:
    """Return what a tool does. A built-in one's own description is for models."""
    built_in = {
        "calculator": tr("Calculates an arithmetic expression."),
        "list_folder": tr("Lists a folder."),
        "read_file": tr("Reads a text file."),
        "search_files": tr("Finds files by a text in their names or contents."),
        "search_documents": tr("Searches the documents."),
        "open_page": tr("Reads a page of a document."),
    }
    own = built_in.get(tool.name, "") if tool.builtin else ""
    return own or one_line(tool.description, MAX_DESCRIPTION)


def target(config: ServerConfig) -> str:
    """Return the command line that runs, or the address."""
    return config.url or (shlex.join((config.command, *config.args)) if config.command else "")


def host(config: ServerConfig) -> str:
    """Return the host that calls are sent to; empty for servers on this computer."""
    return one_line(urlsplit(config.url).hostname or config.url, MAX_NAME)


def count_of_tools(count: int) -> str:
    return tr("1 tool") if count == 1 else tr("{count} tools", count=number(count))


def state_text(config: ServerConfig, status: ServerStatus, on: bool) -> str:
    """Describe a server's state.

    Args:
        config: the server.
        status: its connection.
        on: whether the server is on. An example can turn it on in its chat only.
    """
    if not on:
        return tr("Off")
    if config.takes_folders and not config.folders:
        return tr("Add a folder that models may read.")
    if status.state == "failed":
        return one_line(translated(status.error), MAX_DESCRIPTION) if status.error else tr("Not connected")
    return {
        "off": tr("Not connected"),
        "connecting": tr("Connecting…"),
        "ready": tr("Connected · {tools}", tools=count_of_tools(len(status.tools))),
        "sign_in": tr("Sign-in required"),
    }[status.state]
