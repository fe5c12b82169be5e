"""Qt adapter for the tool servers, which delivers on the window's thread."""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from PySide6.QtCore import QObject, QThreadPool, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication

from app.session.background_work import SAVE_MS
from app.session.qt_inbox import QtInbox
from app.storage.settings import ChatSettings
from app.text.language import translated
from mlx_engine.contract.errors import UserError
from mlx_engine.documents.cited_page import text_of_page
from mlx_engine.documents.index_file import delete_others, index_in
from mlx_engine.mcp.approvals import Approvals
from mlx_engine.mcp.config import BUILTINS, ServerConfig, read_config, write_config
from mlx_engine.mcp.server_status import ServerStatus
from mlx_engine.mcp.servers import ToolServers
from mlx_engine.mcp.tool import Tool, ToolResult, is_of_project, named

log = logging.getLogger(__name__)


class ToolBox(QObject):
    """The tool servers and the approvals.

    Servers start only when a chat or the settings need them.

    Attributes:
        configs: the configured servers, built-in ones first.
        problem: why mcp.json can't be read or saved, else empty.
    """

    changed = Signal()  # the servers, their states, or their tools
    unreadable = Signal(str)  # mcp.json has changed, and can't be read

    def __init__(self, folder: Path | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.file = folder / "mcp.json" if folder is not None else None
        self._indexes = folder / "documents" if folder is not None else None
        self.approvals = Approvals(folder / "approvals.json" if folder is not None else None)
        self.problem = ""
        self._inbox = QtInbox(self._deliver, self)
        self._writer = QThreadPool(self)  # the keychain can take long
        self._writer.setMaxThreadCount(1)
        self._servers = ToolServers(partial(self._post, "status", self.changed.emit))
        self._tests: set[ToolServers] = set()
        self.configs: tuple[ServerConfig, ...] = ()
        self._used: tuple[ServerConfig, ...] = ()  # with those of projects
        self._documents: dict[str, tuple[str, ...]] | None = None  # by the IDs of projects; None until the chats are read
        self._deleted: tuple[ServerConfig, ...] = ()  # of projects whose deletion can be undone
        self._unknown: tuple[set[str], list[Path]] = (set(), [])  # keys and indexes of projects that were lost
        self._lent: set[str] = set()  # servers that are off but that an example turned on in a chat
        self._saving = False  # whether the servers are being stored
        self._stamp = _stamp(self.file)  # of mcp.json when it was last read or written
        self._use(self._read() or BUILTINS)
        application = QGuiApplication.instance()
        if isinstance(application, QGuiApplication):
            application.applicationStateChanged.connect(self.reload)

    @property
    def status(self) -> dict[str, ServerStatus]:
        """The state of each configured server, by its key."""
        found = {status.name: status for status in self._servers.status()}
        keys = [config.key for config in self._used]
        return {key: found.get(key) or ServerStatus(key, "off") for key in keys}

    def builtin(self, kind: str) -> ServerConfig:
        """Return the built-in server “calculator”, “files”, or “documents”."""
        return next(config for config in self.configs if config.builtin == kind)

    def configs_in(self, project: str) -> tuple[ServerConfig, ...]:
        """Return the servers for the chats of a project, or for other chats.

        In a project that has documents, Documents reads them in place of its own folders.
        """
        folders = (self._documents or {}).get(project, ())
        return tuple(
            replace(config, folders=folders, project=project) if folders and config.builtin == "documents" else config
            for config in self.configs
        )

    def set_documents(self, documents: Mapping[str, tuple[str, ...]], incomplete: bool = False) -> None:
        """Set the documents of all projects, by the projects' IDs.

        Indexes and approvals of deleted projects are kept until `close`, because their deletion can be undone. Those of others are
        deleted.

        Args:
            incomplete: whether there may be other projects. Then their indexes and approvals are kept.
        """
        if documents == self._documents:
            return
        if incomplete and self._documents is None:
            found = [*self._indexes.glob("*")] if self._indexes is not None else []
            self._unknown = {server for server, _ in self.approvals.always()}, found
        before = (*self._deleted, *(config for config in self._used if config.project))
        self._deleted = tuple(config for config in before if config.project not in documents)
        self._documents = dict(documents)
        self._use(self.configs)
        self._delete_old_approvals()
        self.changed.emit()

    def chosen(self, settings: ChatSettings, project: str = "") -> list[ServerConfig]:
        """Return the usable servers that are on in a chat.

        Args:
            settings: the chat's settings.
            project: the ID of its project, if any.
        """
        on = [config for config in self.configs_in(project) if config.name in settings.tool_servers]
        return [config for config in on if config.enabled or config.name in settings.example_servers]

    def with_example(self, settings: ChatSettings, builtin: str) -> ChatSettings:
        """Return settings with a built-in server, if any, on for one chat only."""
        if not builtin or (config := self.builtin(builtin)) in self.chosen(settings):
            return settings
        others = tuple(name for name in settings.tool_servers if name != config.name)
        examples = (*settings.example_servers, config.name)
        return replace(settings, tool_servers=(*others, config.name), example_servers=examples)

    def offered(self, settings: ChatSettings, project: str = "") -> dict[str, Tool]:
        """Return the ready tools that are on in a chat, by the name sent to the model."""
        status = self.status
        ready = [status[config.key] for config in self.chosen(settings, project) if status[config.key].state == "ready"]
        tools = (tool for server in ready for tool in server.tools)
        return named(tool for tool in tools if tool_key(tool) not in settings.tools_off)

    def warm(self, settings: ChatSettings | None = None, project: str = "") -> None:
        """Start the servers that are on in a chat, or all that are on.

        Servers that failed wait for the user.
        """
        configs = [config for config in self.configs if config.enabled] if settings is None else self.chosen(settings, project)
        if lent := {config.name for config in configs if not config.enabled} - self._lent:
            self._lent |= lent
            self._use(self.configs)
        status = self.status
        self.start(config.key for config in configs if status[config.key].state == "off")

    def connecting(self, settings: ChatSettings, project: str = "") -> bool:
        """Return whether a server that is on in a chat is starting."""
        status = self.status
        return any(status[config.key].state in ("off", "connecting") for config in self.chosen(settings, project))

    def start(self, keys: Iterable[str]) -> None:
        if wanted := list(keys):
            self._servers.start(wanted)

    def call(
        self,
        tool: Tool,
        arguments: str,
        done: Callable[[ToolResult], object],
        progress: Callable[[str], object] = lambda text: None,
    ) -> Callable[[], None]:
        """Call a tool, and return a function that cancels the call.

        Args:
            tool: as it was approved.
            arguments: a JSON object.
            done: gets the result, exactly once.
            progress: gets the latest progress text of a batch.
        """
        going, ended = object(), object()
        return self._servers.call(
            tool,
            arguments,
            lambda result: self._post(ended, partial(done, result)),
            lambda text: self._post(going, partial(progress, text)),
        )

    def text_of_page(self, document: str, page: int, project: str = "") -> str | None:
        """Return the text of a page that a reply has read, or None if it is gone."""
        if self._indexes is None:
            return None
        folders = next(config.folders for config in self.configs_in(project) if config.builtin == "documents")
        return text_of_page(index_in(self._indexes, folders), document, page)

    # The configuration

    @Slot()
    def reload(self) -> None:
        """Read mcp.json again if another program changed it and it can be read."""
        if not self._saving and (stamp := _stamp(self.file)) != self._stamp:
            self._stamp, self.problem = stamp, ""
            self._use(self._read() or self.configs)
            self.changed.emit()

    def put(self, config: ServerConfig, old: str = "") -> None:
        """Add a server, or replace the one named `old`."""
        self.reload()
        if config.name != old:
            self._revoke_all(old)
        others = [each for each in self.configs if each.name != old]
        place = [each.name for each in self.configs].index(old) if len(others) < len(self.configs) else len(others)
        self.save([*others[:place], config, *others[place:]])

    def set_enabled(self, name: str, on: bool) -> None:
        """Turn a server on or off. A server that is on starts at its next use."""
        self.reload()
        self.save([replace(config, enabled=on) if config.name == name else config for config in self.configs])

    def remove(self, name: str) -> None:
        """Remove a server with its secrets and approvals."""
        self.reload()
        self._revoke_all(name)
        self.save([config for config in self.configs if config.name != name])

    def revoke(self, server: str, tool: str) -> None:
        """Ask again before the next call to a tool."""
        try:
            self.approvals.revoke(server, tool)
        except UserError as error:
            self.problem = translated(error.text)
        self.changed.emit()

    def _revoke_all(self, name: str) -> None:
        for server, tool in self.approvals.always():
            if server == name:
                self.revoke(server, tool)

    def save(self, configs: Sequence[ServerConfig]) -> None:
        """Use and store a changed list of servers. Secrets are moved to the keychain."""
        self._use(configs)
        self.changed.emit()
        if self.file is not None:
            self._saving = True
            self._writer.start(partial(self._write, self.configs))

    def test(self, config: ServerConfig, verdict: Callable[[ServerStatus], object]) -> None:
        """Connect to a server that isn't stored, and report the result."""

        def check() -> None:
            found = servers.status()
            if found and found[0].state in ("ready", "failed", "sign_in") and servers in self._tests:
                self._tests.discard(servers)
                self._post(servers, partial(verdict, found[0]))
                threading.Thread(target=servers.close, name="tool-test", daemon=True).start()

        servers = ToolServers(check)
        self._tests.add(servers)
        servers.configure([config])
        servers.start([config.name])

    def sign_in(self, name: str) -> None:
        """Let the user sign in to a server, in the browser."""
        self._servers.sign_in(name, lambda url: self._post(("sign in", name), partial(_open_page, url)))

    def sign_out(self, name: str) -> None:
        self._servers.sign_out(name)

    def close(self) -> None:
        """Stop all servers within two seconds, and finish saving their list."""
        for servers in (self._servers, *self._tests):
            servers.close()
        self._deleted = ()
        self._delete_old_indexes()
        self._delete_old_approvals()
        self._writer.waitForDone(SAVE_MS)

    def _read(self) -> tuple[ServerConfig, ...]:
        if self.file is None:
            return ()
        try:
            return read_config(self.file)
        except UserError as error:
            self.problem = translated(error.text)
            self.unreadable.emit(self.problem)
            return ()

    def _use(self, configs: Iterable[ServerConfig]) -> None:
        self.configs = tuple(sorted(configs, key=lambda config: not config.builtin))
        used = [replace(config, enabled=True) if config.name in self._lent else config for config in self.configs]
        for project in self._documents or ():
            used += [config for config in self.configs_in(project) if config.project]
        self._used = tuple(used)
        self._servers.configure([replace(config, index=str(self.index_of(config) or "")) for config in used])
        self._delete_old_indexes()

    def index_of(self, config: ServerConfig) -> Path | None:
        """Return the file with the index of a server's documents, if it is kept."""
        if self._indexes is None or config.builtin != "documents":
            return None
        return index_in(self._indexes, config.folders)

    def _delete_old_indexes(self) -> None:
        """Delete the indexes that no server reads, once the projects are known."""
        if self._indexes is None or self._documents is None:
            return
        read = [config for config in (*self._used, *self._deleted) if config.folders]
        kept = [index for config in read if (index := self.index_of(config)) is not None]
        try:
            delete_others(self._indexes, [*kept, *self._unknown[1]])
        except OSError as error:
            log.warning("Old indexes of documents can't be deleted: %s", error)

    def _delete_old_approvals(self) -> None:
        """Delete approvals of projects that no server reads, once all projects are known."""
        if self._documents is None:
            return
        kept = {config.key for config in (*self._used, *self._deleted)} | self._unknown[0]
        for server, tool in self.approvals.always():
            if is_of_project(server) and server not in kept:
                try:
                    self.approvals.revoke(server, tool)
                except UserError as error:
                    self.problem = translated(error.text)

    def _write(self, configs: tuple[ServerConfig, ...]) -> None:
        """Store the servers, then use them without their secrets. Runs on its own thread."""
        assert self.file is not None
        stored, problem, stamp = configs, "", self._stamp
        try:
            if text := write_config(self.file, configs):
                problem = translated(text)
            stamp = _stamp(self.file)
            stored = read_config(self.file)
        except UserError as error:
            problem = translated(error.text)
        self._post("written", partial(self._follow_write, configs, stored, problem, stamp))

    def _follow_write(
        self, written: tuple[ServerConfig, ...], stored: tuple[ServerConfig, ...], problem: str, stamp: object
    ) -> None:
        if written is self.configs:  # not changed since
            self._saving = False
            self._use(stored)
        self.problem, self._stamp = problem, stamp
        self.changed.emit()

    # Threads

    def _post(self, sender: object, deliver: Callable[[], object]) -> None:
        """Deliver on the window's thread, unless the sender posts again before."""
        self._inbox.put((sender, deliver))

    def _deliver(self, posts: list[tuple[object, Callable[[], object]]]) -> None:
        for deliver in dict(posts).values():
            try:
                deliver()
            except Exception:  # a bug in one receiver must not lose the results of others
                log.exception("A receiver failed")


def _stamp(file: Path | None) -> object:
    """Return a value that differs after a file has been changed."""
    try:
        found = file.stat() if file is not None else None
    except OSError:
        return None
    return found and (found.st_mtime_ns, found.st_size, found.st_ino)


def tool_key(tool: Tool) -> str:
    """Return the key of a tool in `ChatSettings.tools_off`."""
    return f"{tool.server}/{tool.name}"


def _open_page(url: str) -> None:
    if urlsplit(url).scheme in ("http", "https"):
        QDesktopServices.openUrl(QUrl(url))
