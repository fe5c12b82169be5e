"""What projects give their chats: settings, documents, and a model."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Slot

from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.session.imports import lacking, offer_of
from app.session.notice import Notice, NoticeAction, Notices
from app.session.recent_models import RecentModels
from app.session.tool_box import ToolBox
from app.storage.chat_tree import Chat
from app.storage.project import Project
from app.storage.settings import ChatSettings
from app.text.language import number, sentences, tr
from mlx_engine.mcp.tool import server_key


class Projects(QObject):
    """The projects of the library. Existing chats keep their own settings."""

    def __init__(
        self,
        library: ChatLibrary,
        session: ChatSession,
        tools: ToolBox,
        recent: RecentModels,
        notices: Notices,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._library, self._session, self._tools = library, session, tools
        self._recent, self._notices = recent, notices
        for signal in (library.changed, library.loaded):
            signal.connect(self._share_documents)
        library.moved.connect(self._explain_move)
        library.access_offered.connect(self._offer_access)

    def get(self, project_id: str) -> Project | None:
        return self._library.projects.get(project_id)

    def new_chat(self, project_id: str) -> None:
        """Open an empty chat of a project, with its settings and its model."""
        if (project := self.get(project_id)) is not None:
            self._session.new_chat(project)
            self._use_model(project)

    def change(self, project_id: str, **changes: Any) -> None:
        """Change fields of a project. Its open chat follows unless it has messages."""
        before = self.get(project_id)
        if before is None:
            return
        self._library.change_project(project_id, **changes)
        new, chat = self._library.projects[project_id].new_chats, self._session.chat
        unchanged = before.new_chats is None or before.new_chats.inherited == chat.settings
        if new is not None and chat.empty and self._session.project_id == project_id and unchanged:
            self._session.set_settings(new.inherited)

    def new_chats(self, project_id: str) -> ChatSettings:
        """Return the settings that a project's new chats begin with."""
        project = self.get(project_id)
        own = project.new_chats if project is not None else None
        return own if own is not None else self._session.new_chats

    def add_documents(self, project_id: str, paths: Sequence[str]) -> None:
        """Let a project's chats search folders and files.

        Documents is turned on in its new chats.
        """
        project, server = self.get(project_id), self._tools.builtin("documents")
        if project is None or not paths:
            return
        settings = self.new_chats(project_id)
        servers = tuple(dict.fromkeys((*settings.tool_servers, server.name)))
        documents = tuple(dict.fromkeys((*project.documents, *paths)))
        if not server.enabled:
            self._tools.set_enabled(server.name, True)
        self.change(project_id, documents=documents, new_chats=replace(settings, tool_servers=servers))

    def allowed(self, project_id: str) -> tuple[str, ...]:
        """Return the tools that may always read a project's documents."""
        key = server_key(self._tools.builtin("documents").name, project_id)
        return tuple(tool for server, tool in self._tools.approvals.always() if server == key)

    def revoke(self, project_id: str, tool: str) -> None:
        """Ask again before a tool reads a project's documents."""
        self._tools.revoke(server_key(self._tools.builtin("documents").name, project_id), tool)

    def use_settings(self, project_id: str, chat_ids: Sequence[str]) -> None:
        """Give chats the settings of their project and, if one is open, load its model."""
        project = self.get(project_id)
        if project is None:
            return
        if project.new_chats is not None:
            for one in chat_ids:
                self._library.open(one, partial(self._set_settings, project.new_chats.inherited))
        if self._session.chat.id in chat_ids:
            self._use_model(project)

    @Slot(object, list)
    def _offer_access(self, imported: Project, chat_ids: list[str]) -> None:
        self._notices.post(offer_of(imported, partial(self._give_access, imported, chat_ids)))

    def _give_access(self, imported: Project, chat_ids: Sequence[str]) -> None:
        """Use what an imported project names, and its tools in its imported chats."""
        if self.get(imported.id) is None:
            return
        self.change(imported.id, new_chats=imported.new_chats, documents=imported.documents, model=imported.model)
        given = imported.new_chats.inherited if imported.new_chats is not None else ChatSettings()
        known = {config.name: config for config in self._tools.configs}
        for name in given.tool_servers:
            if name in known and known[name].builtin and not known[name].enabled:
                self._tools.set_enabled(name, True)
        entries = self._library.entries
        for one in chat_ids if given.tool_servers else ():
            if one in entries and entries[one].project == imported.id:
                self._library.open(one, partial(self._add_tools, given))
        if missing := [name for name in given.tool_servers if name not in known]:
            self._notices.post(Notice(lacking(missing), topic="project", stays=True))

    def _add_tools(self, given: ChatSettings, chat: Chat) -> None:
        """Turn tools on in a chat."""
        servers = tuple(dict.fromkeys((*chat.settings.tool_servers, *given.tool_servers)))
        tools_off = tuple(dict.fromkeys((*chat.settings.tools_off, *given.tools_off)))
        self._set_settings(replace(chat.settings, tool_servers=servers, tools_off=tools_off), chat)

    def _set_settings(self, settings: ChatSettings, chat: Chat) -> None:
        """Set a chat's settings, except those that are meant for it only."""
        settings = replace(settings, private=chat.settings.private, rolling=chat.settings.rolling)
        if chat is self._session.chat:
            self._session.set_settings(settings)
        else:
            chat.settings = settings
            self._library.save(chat, ())

    def _use_model(self, project: Project) -> None:
        model = project.model
        if model is not None and self._recent.is_gone(model):
            text = tr("“{model}” isn't on this computer. Choose another model in Project Settings.", model=model.name)
            self._notices.post(Notice(text, "error", until="chat", topic="project"))
        elif model is not None and not self._recent.in_use(model):
            self._recent.use(model)

    @Slot()
    def _share_documents(self) -> None:
        if self._library.read:
            documents = {one.id: one.documents for one in self._library.projects.values()}
            self._tools.set_documents(documents, incomplete=self._library.began_empty)

    @Slot(list, set, str)
    def _explain_move(self, chat_ids: list[str], before: set[str], project_id: str) -> None:
        """Say what a move changes, unless the projects are only names."""
        project, left = self.get(project_id), [one for each in before if (one := self.get(each)) is not None]
        if self._session.chat.id in chat_ids:
            self._session.settings_changed.emit()  # tools
        if all(one is None or (one.new_chats, one.documents, one.model) == (None, (), None) for one in (project, *left)):
            return
        count, title = len(chat_ids), self._library.entries[chat_ids[0]].title
        keeps = tr("“{title}” keeps its settings.", title=title)
        if count > 1:
            keeps = tr("The {count} chats keep their settings.", count=number(count))
        documents, actions = "", list[NoticeAction]()
        if project is not None and project.documents:
            documents = tr("The Documents tool now searches the documents of “{project}”.", project=project.name)
        elif lost := [one.name for one in left if one.documents]:
            documents = tr("The Documents tool no longer searches the documents of “{project}”.", project=lost[0])
        if project is not None and (project.new_chats, project.model) != (None, None):
            use = partial(self.use_settings, project_id, chat_ids)
            actions.append(NoticeAction(tr("Use the Project's Settings"), use))
        self._notices.post(Notice(sentences(keeps, documents), topic="project", actions=tuple(actions)))

    @Slot(object, object)
    def follow_move(self, old: Path, new: Path) -> None:
        """Follow the models of projects after the model folder moved."""
        for project in list(self._library.projects.values()):
            if project.model is not None:
                self._library.change_project(project.id, model=project.model.moved(old, new))
