"""A project's settings: its documents, and what its new chats begin with."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QPoint, QSignalBlocker, Qt, QTimer, Slot
from PySide6.QtWidgets import QComboBox, QDialog, QFileDialog, QPushButton, QVBoxLayout, QWidget

from app.session.chat_library import ChatLibrary
from app.session.chat_session import SAVE_MS
from app.session.pair_session import PairLoader
from app.session.projects import Projects
from app.session.recent_models import RecentModels
from app.session.tool_box import ToolBox
from app.storage.project import Project
from app.storage.recent_model import RecentModel
from app.storage.settings import ChatSettings
from app.text.language import tr
from app.text.plain_text import one_line
from app.views.chat.chat_settings import DIALOG_WIDTH, WIDTH, ChatSettingsForm
from app.views.tools.server_card import MAX_TARGET, server_title
from app.views.tools.tools_button import SwitchMenu, count_on, sent_to, with_tool
from app.widgets.controls import as_tooltip, button, entry, small_label
from app.widgets.grouped_form import GroupedForm
from app.widgets.layout import column, fit_content, flow, lay_out, row
from app.widgets.theme import Theme
from app.widgets.toggle import Switch
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.tool import Tool


class ProjectSettingsDialog(QDialog):
    """A sheet with the settings of a project. It closes if the project is deleted."""

    def __init__(
        self,
        theme: Theme,
        projects: Projects,
        project_id: str,
        library: ChatLibrary,
        loader: PairLoader,
        tools: ToolBox,
        recent: RecentModels,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme, self._projects, self._id = theme, projects, project_id
        self._tools, self._recent = tools, recent
        self._models: list[RecentModel | None] = []
        self._unsaved: ChatSettings | None = None
        self._save_timer = QTimer(self, singleShot=True, interval=SAVE_MS)  # avoids a save per keystroke
        self._save_timer.timeout.connect(self._save)
        self.setWindowTitle(tr("Project Settings"))
        self.name = entry("", tr("Name"))
        self.name.editingFinished.connect(self._rename)
        self.model = QComboBox()
        self.model.activated.connect(self._choose_model)
        self.documents = _Documents(theme, projects, project_id, self._save)
        self.servers = QWidget()
        self.tool_menus: dict[str, QPushButton] = {}  # by the names of servers
        self._servers = column(spacing=4, parent=self.servers)
        head = GroupedForm(theme)
        head.add_row(tr("Name"), self.name)
        head.add_row(tr("Documents"), self.documents, help=tr("The Documents tool searches them in this project's chats only."))
        head.add_row(tr("Model"), self.model, help=tr("Loaded when a chat begins in this project."))
        head.add_row(tr("Tools"), self.servers, help=tr("On in new chats. You approve each call."))
        self.form = ChatSettingsForm(theme, library, lambda: self._new_chats, self._set_new_chats, lambda: loader.sampling)
        self.form.show_switches(self.form.thinking)
        caption = small_label(theme, tr("New chats in this project"), bold=True)
        note = small_label(theme, tr("Existing chats keep their settings."), "secondary", wrap=True)
        page = column(head, 4, caption, note, self.form, spacing=8, margins=(24, 20, 24, 20))
        self.reset = button(tr("Reset"), tr("Use the settings of all new chats"), "bordered", self._reset)
        done = button(tr("Done"), tr("Close settings"), "bordered", self.accept)
        done.setDefault(True)
        lay_out(self, page, self.reset, None, done, width=WIDTH)
        for signal in (library.changed, tools.changed, loader.loaded, recent.changed):
            signal.connect(self.refresh)
        self.refresh()
        fit_content(self, DIALOG_WIDTH)
        self.name.setFocus()

    @property
    def _project(self) -> Project | None:
        return self._projects.get(self._id)

    @Slot()
    def refresh(self) -> None:
        project = self._project
        if project is None:
            self.reject()
            return
        if not self.name.hasFocus():
            self.name.setText(project.name)
        self.reset.setEnabled(project.new_chats is not None or self._unsaved is not None)
        self.documents.refresh()
        self._show_models(project)
        self._tools.warm(self._new_chats, self._id)  # to list their tools
        self._show_servers()
        self.form.refresh()

    def _show_models(self, project: Project) -> None:
        listed = self._recent.listed
        own = project.model
        if own is not None and all(own.place != one.place for one in listed):
            listed = [own, *listed]
        models: list[RecentModel | None] = [None, *listed]
        if models != self._models:
            self._models = models
            with QSignalBlocker(self.model):
                self.model.clear()
                self.model.addItems([tr("The model in use"), *(one_line(one.name, MAX_TARGET) for one in listed)])
        at = next((at for at, one in enumerate(models) if one is not None and own is not None and one.place == own.place), 0)
        self.model.setCurrentIndex(at)

    def _show_servers(self) -> None:
        """Show a switch for each server, like the tools button of a chat."""
        shown = [config for config in self._tools.configs if config.enabled or config.builtin]
        switches = self.servers.findChildren(Switch)
        if [config.name for config in shown] != [switch.objectName() for switch in switches]:
            for row_of_server in self.servers.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
                self._servers.removeWidget(row_of_server)
                row_of_server.setParent(None)
                row_of_server.deleteLater()
            self.tool_menus.clear()
            switches = [self._add_server(config) for config in shown]
        on, off = self._new_chats.tool_servers, self._new_chats.tools_off
        for switch, config in zip(switches, shown, strict=True):
            is_on = config.enabled and config.name in on
            with QSignalBlocker(switch):
                switch.setChecked(is_on)
            tools = self._tools_of(config) if is_on else ()
            menu = self.tool_menus[config.name]
            menu.setText(f"{count_on(tools, off)} ▾")
            menu.setVisible(len(tools) > 1)

    def _tools_of(self, config: ServerConfig) -> tuple[Tool, ...]:
        """Return a server's tools in this project's chats, once it has started."""
        key = next(one.key for one in self._tools.configs_in(self._id) if one.name == config.name)
        return self._tools.status[key].tools

    def _show_tools(self, config: ServerConfig) -> None:
        """Open a menu with a switch for each tool of a server."""
        source = self.tool_menus[config.name]
        menu = SwitchMenu(source)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.add_tools(self._tools_of(config), self._new_chats.tools_off, self._switch_tool)
        menu.popup(source.mapToGlobal(QPoint(0, source.height())))

    def _switch_tool(self, key: str, on: bool) -> None:
        self._set_new_chats(with_tool(self._new_chats, key, on))

    def _add_server(self, config: ServerConfig) -> Switch:
        name = server_title(config)
        switch = Switch(self._theme, "")
        switch.setObjectName(config.name)
        switch.setAccessibleName(name)
        switch.toggled.connect(partial(self._switch, config.name))
        label = small_label(self._theme, name, elided=True)
        label.setBuddy(switch)
        if config.url:
            for part in (label, switch):
                part.setToolTip(as_tooltip(sent_to(config)))
        tools_name = tr("Tools of {server}", server=name)
        menu = self.tool_menus[config.name] = button("", tools_name, "quiet", partial(self._show_tools, config))
        whole = QWidget()
        row((label, 1), menu, switch, parent=whole)
        self._servers.addWidget(whole)
        return switch

    def _switch(self, name: str, on: bool) -> None:
        if on and not next(config.enabled for config in self._tools.configs if config.name == name):
            self._tools.set_enabled(name, True)
        others = tuple(one for one in self._new_chats.tool_servers if one != name)
        self._set_new_chats(replace(self._new_chats, tool_servers=(*others, name) if on else others))

    @property
    def _new_chats(self) -> ChatSettings:
        return self._projects.new_chats(self._id) if self._unsaved is None else self._unsaved

    def _set_new_chats(self, settings: ChatSettings) -> None:
        if settings != self._new_chats:
            self._unsaved = settings
            self._save_timer.start()
        self.refresh()

    @Slot()
    def _save(self) -> None:
        self._save_timer.stop()
        settings, self._unsaved = self._unsaved, None
        if settings is not None:
            self._projects.change(self._id, new_chats=settings)

    def done(self, result: int) -> None:
        self._save()
        super().done(result)

    @Slot()
    def _rename(self) -> None:
        self._projects.change(self._id, name=self.name.text())

    @Slot(int)
    def _choose_model(self, place: int) -> None:
        self._projects.change(self._id, model=self._models[place])

    @Slot()
    def _reset(self) -> None:
        self._save()
        self._projects.change(self._id, new_chats=None)


class _Documents(QWidget):
    """The folders and files of a project, and what is always allowed with them."""

    def __init__(self, theme: Theme, projects: Projects, project_id: str, save: Callable[[], object]) -> None:
        super().__init__()
        self._save = save  # what isn't saved yet: adding documents turns Documents on
        self._theme, self._projects, self._id = theme, projects, project_id
        self._shown: object = None
        self.rows = QWidget()
        folder = button(tr("Add Folder…"), look="bordered", clicked=self._add_folder)
        files = button(tr("Add Files…"), look="bordered", clicked=self._add_files)
        self._column = column(self.rows, flow(folder, files), spacing=6, parent=self)
        self.refresh()

    def refresh(self) -> None:
        project = self._projects.get(self._id)
        documents, allowed = project.documents if project is not None else (), self._projects.allowed(self._id)
        if self._shown == (documents, allowed):
            return
        self._shown = documents, allowed
        rows = [self._row(path, tr("Remove"), tr("Remove {path}", path=path), partial(self._remove, path)) for path in documents]
        for tool in allowed:
            name = tr("Ask before each call to {tool}", tool=tool)
            rows.append(self._row(tr("{tool}: always allowed", tool=tool), tr("Revoke"), name, partial(self._revoke, tool)))
        old, self.rows = self.rows, QWidget(self)  # else it would be a window of its own
        column(*rows, spacing=2, parent=self.rows)
        self.rows.setVisible(bool(rows))
        self._column.replaceWidget(old, self.rows)
        old.deleteLater()

    def _row(self, text: str, title: str, name: str, act: Callable[[], object]) -> QVBoxLayout:
        label = small_label(self._theme, one_line(text, MAX_TARGET), elided=True)
        label.setToolTip(as_tooltip(label.text()))
        return column(row((label, 1), (button(title, name, "quiet", act), 0, Qt.AlignmentFlag.AlignRight)))

    def _add(self, paths: list[str]) -> None:
        self._save()
        self._projects.add_documents(self._id, paths)

    @Slot()
    def _add_folder(self) -> None:
        if folder := QFileDialog.getExistingDirectory(self, tr("Choose a Folder That Models May Read")):
            self._add([folder])

    @Slot()
    def _add_files(self) -> None:
        self._add(QFileDialog.getOpenFileNames(self, tr("Choose Files That Models May Read"))[0])

    def _remove(self, path: str) -> None:
        project = self._projects.get(self._id)
        if project is not None:
            self._projects.change(self._id, documents=tuple(one for one in project.documents if one != path))

    def _revoke(self, tool: str) -> None:
        self._projects.revoke(self._id, tool)
