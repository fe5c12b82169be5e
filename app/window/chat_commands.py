"""What the commands on chats and messages do."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.chat.conductor import Conductor
from app.language import tr
from app.widgets.save_dialog import ask_save_path, file_name
from app.window.sidebar_split import SidebarSplit


class ChatCommands(QObject):
    """Commands act on the row selected in the chat list while the list has the focus, else on the open chat."""

    def __init__(self, conductor: Conductor, split: SidebarSplit, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._conductor = conductor
        self._library = conductor.library
        self._split = split
        self._list = split.sidebar.list

    @property
    def target(self) -> tuple[str, str]:
        """Kind ("chat", "folder" or "") and id of what a command acts on."""
        if self._window.focusWidget() is self._list:
            kind, id = self._list.current
            if (kind == "chat" and id in self._library.entries) or (kind == "folder" and id in self._library.folders):
                return kind, id
        id = self._conductor.chat.id
        return ("chat", id) if id in self._library.entries else ("", "")

    @property
    def target_chat(self) -> str:
        """The id of the chat that a command acts on, or an empty string."""
        kind, id = self.target
        return id if kind == "chat" else ""

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
        if kind == "chat":
            self._library.delete([id])
        elif kind == "folder":
            self._library.delete_folder(id)

    def fill_folder_menu(self, menu: QMenu) -> None:
        """List the folders that the target can be moved to."""
        menu.clear()
        chat = self.target_chat
        if not chat:
            return
        for folder, name in (("", tr("None")), *((folder.id, folder.name) for folder in self._library.folders.values())):
            action = menu.addAction(name.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(folder == self._library.entries[chat].folder)
            action.triggered.connect(partial(self._move, chat, folder))
        menu.addSeparator()
        menu.addAction(tr("New Folder…")).triggered.connect(partial(self._move_to_new_folder, chat))

    def _move(self, chat: str, folder: str, checked: bool = False) -> None:
        if chat in self._library.entries and (not folder or folder in self._library.folders):
            self._library.move(chat, folder)

    def _move_to_new_folder(self, chat: str, checked: bool = False) -> None:
        folder = self._library.add_folder(tr("New Folder"))
        self._move(chat, folder.id)
        self._list.rename(folder.id)

    def step(self, by: int) -> None:
        """Open the next or previous chat of the list."""
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
            QGuiApplication.clipboard().setText(self._conductor.chat.turns[-1].reply.answer.strip())

    # Files

    @Slot()
    def attach_files(self) -> None:
        files, _ = QFileDialog.getOpenFileNames(self._window, tr("Attach Files"), "", tr("Text, code, and PDF (*)"))
        self._conductor.attachments.attach([Path(file) for file in files])

    def export(self) -> None:
        if chat := self.target_chat:
            title = file_name(self._library.entries[chat].title, tr("Chat"))
            formats = {".md": tr("Markdown (*.md)"), ".json": tr("JSON, with all branches (*.json)")}
            if file := ask_save_path(self._window, tr("Export Chat"), title, formats):
                self._library.export_chats([chat], file)

    def export_all(self) -> None:
        formats = {".json": tr("JSON, can be imported again (*.json)"), ".md": tr("Markdown (*.md)")}
        if file := ask_save_path(self._window, tr("Export All Chats"), tr("Slipstream chats"), formats):
            self._library.export_chats(self._list.chat_ids(), file)

    def import_chats(self) -> None:
        file, _ = QFileDialog.getOpenFileName(self._window, tr("Import Chats"), "", tr("Chats (*.json *.zip *.db);;All files (*)"))
        if file:
            self._library.import_file(Path(file))
