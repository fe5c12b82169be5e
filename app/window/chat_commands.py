"""Handlers of the commands on chats and messages."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.session.conductor import Conductor
from app.text.language import tr
from app.widgets.save_dialog import ask_save_path, confirm, file_name
from app.window.sidebar_split import SidebarSplit


class ChatCommands(QObject):
    """Commands for the selection in a focused chat list, else for the open chat."""

    def __init__(self, conductor: Conductor, split: SidebarSplit, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._conductor = conductor
        self._library = conductor.library
        self._split = split
        self._list = split.sidebar.list

    @property
    def target(self) -> tuple[str, str]:
        """Kind ("chat", "folder", or "") and id of the command's target."""
        if self._window.focusWidget() is self._list:
            kind, id = self._list.current
            if (kind == "chat" and id in self._library.entries) or (kind == "folder" and id in self._library.folders):
                return kind, id
        id = self._conductor.chat.id
        return ("chat", id) if id in self._library.entries else ("", "")

    @property
    def target_chat(self) -> str:
        """Id of the target chat, or an empty string."""
        kind, id = self.target
        return id if kind == "chat" else ""

    @property
    def target_chats(self) -> list[str]:
        """Ids of the chats that Move, Export, and Delete apply to."""
        if self._window.focusWidget() is self._list and len(selected := self._list.selected) > 1:
            return selected
        return [chat] if (chat := self.target_chat) else []

    # Chats and folders

    def new_folder(self) -> None:
        self._split.show_sidebar()
        self._list.rename(self._library.add_folder(tr("New Folder")).id)

    def rename(self) -> None:
        kind, id = self.target
        if kind:
            self._split.show_sidebar()
            self._split.sidebar.search.clear()
            self._list.rename(id)

    def pin(self) -> None:
        if chat := self.target_chat:
            self._library.pin(chat, not self._library.entries[chat].pinned)

    def duplicate(self) -> None:
        if chat := self.target_chat:
            self._library.duplicate(chat, self._conductor.open_chat)

    def delete(self) -> None:
        kind, id = self.target
        if chats := self.target_chats:
            self._library.delete(chats)
        elif kind == "folder":
            self._library.delete_folder(id)

    def delete_all(self) -> None:
        question = tr(
            "All {count} chats will be deleted. You can undo this until you quit Slipstream.", count=len(self._library.entries)
        )
        if confirm(self._window, tr("Delete All Chats?"), question, tr("Delete All")):
            self._library.delete(self._list.chat_ids())

    def fill_folder_menu(self, menu: QMenu) -> None:
        """List the folders to which the chats can be moved."""
        menu.clear()
        chats = self.target_chats
        if not chats:
            return
        for folder, name in (("", tr("None")), *((folder.id, folder.name) for folder in self._library.folders.values())):
            action = menu.addAction(name.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(all(folder == self._library.entries[chat].folder for chat in chats))
            action.triggered.connect(partial(self._move, chats, folder))
        menu.addSeparator()
        menu.addAction(tr("New Folder…")).triggered.connect(partial(self._move_to_new_folder, chats))

    def _move(self, chats: list[str], folder: str, checked: bool = False) -> None:
        for chat in chats:
            if chat in self._library.entries and (not folder or folder in self._library.folders):
                self._library.move(chat, folder)

    def _move_to_new_folder(self, chats: list[str], checked: bool = False) -> None:
        folder = self._library.add_folder(tr("New Folder"))
        self._move(chats, folder.id)
        self._list.rename(folder.id)

    def step(self, by: int) -> None:
        """Open the next or previous chat in the list."""
        ids = self._list.chat_ids()
        place = ids.index(self._conductor.chat.id) + by if self._conductor.chat.id in ids else 0
        if 0 <= place < len(ids):
            self._conductor.open_chat(ids[place])

    # Messages

    def regenerate(self) -> None:
        self._conductor.regenerate(self._conductor.chat.turns[-1])

    def resume(self) -> None:
        self._conductor.resume(self._conductor.chat.turns[-1])

    def edit(self) -> None:
        self._conductor.edit(self._conductor.chat.turns[-1])

    def switch_version(self, by: int) -> None:
        """Show the next or previous version of the last message that has versions."""
        nodes = (node for turn in reversed(self._conductor.chat.turns) for node in (turn.answered, turn.asked))
        if node := next((node for node in nodes if node is not None and node.place[1] > 1), None):
            self._conductor.switch(node, by)

    def copy_reply(self) -> None:
        """Copy the last reply as Markdown."""
        if self._conductor.chat.turns:
            QGuiApplication.clipboard().setText(self._conductor.chat.turns[-1].reply.text)

    # Files

    @Slot()
    def attach_files(self) -> None:
        files, _ = QFileDialog.getOpenFileNames(self._window, tr("Attach Files"), "", tr("Text, code, and PDF (*)"))
        self._conductor.attachments.attach([Path(file) for file in files])

    def export(self) -> None:
        chats = self.target_chats
        if len(chats) > 1:
            self._export_several(chats, tr("Export Chats"))
        elif chats:
            title = file_name(self._library.entries[chats[0]].title, tr("Chat"))
            formats = {".md": tr("Markdown (*.md)"), ".json": tr("JSON, with all versions (*.json)")}
            if file := ask_save_path(self._window, tr("Export Chat"), title, formats):
                self._library.export_chats(chats, file)

    def export_all(self) -> None:
        self._export_several(self._list.chat_ids(), tr("Export All Chats"))

    def _export_several(self, chats: list[str], title: str) -> None:
        formats = {".json": tr("JSON for later import (*.json)"), ".md": tr("Markdown (*.md)")}
        if file := ask_save_path(self._window, title, tr("Slipstream chats"), formats):
            self._library.export_chats(chats, file)

    def import_chats(self) -> None:
        file, _ = QFileDialog.getOpenFileName(self._window, tr("Import Chats"), "", tr("Chats (*.json *.zip *.db);;All files (*)"))
        if file:
            self._library.import_file(Path(file))
