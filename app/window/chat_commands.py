"""Everything that is done with chats, as commands: for the menu bar, and for the list's own menu."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt, QTimer, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QFileDialog, QMenu

from app.language import tr
from app.widgets.save_dialog import ask_save_path, file_name

if TYPE_CHECKING:
    from app.window.main_window import MainWindow

Keys = QKeySequence.StandardKey


class ChatCommands(QObject):
    """Acts on the row selected in the list while that has the focus, else on the chat that is open."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._conductor = window.conductor
        self._library = window.conductor.library
        self._for_list = False  # the list's own menu is open
        make = self._make
        self.new = make(tr("&New Chat"), self._conductor.new_chat, Keys.New)
        self.new_folder = make(tr("New &Folder"), self._new_folder, "Ctrl+Shift+N")
        self.import_ = make(tr("&Import…"), self._import)
        self.export = make(tr("&Export Chat…"), self._export, "Ctrl+Shift+S")
        self.export_all = make(tr("Export &All Chats…"), self._export_all)
        self.search = make(tr("&Search All Chats"), window.focus_search, "Ctrl+Shift+F")
        self.undo = make(tr("Undo &Delete"), self._library.undo, "Ctrl+Alt+Z")
        self.sidebar = make(tr("Show &Sidebar"), window.toggle_sidebar, "Ctrl+Alt+S")
        self.sidebar.setCheckable(True)
        self.focus_list = make(tr("Go to the &List of Chats"), window.focus_list, "Ctrl+Alt+1")
        self.focus_message = make(tr("Go to the &Message Field"), window.focus_message, "Ctrl+L")
        self.before = make(tr("&Previous Chat"), partial(self._step, -1), "Ctrl+Alt+Up")
        self.after = make(tr("&Next Chat"), partial(self._step, 1), "Ctrl+Alt+Down")
        self.settings = make(tr("Chat Se&ttings…"), window.show_chat_settings, "Ctrl+I")
        self.again = make(tr("&Regenerate Reply"), self._regenerate, "Ctrl+R")
        self.more = make(tr("Contin&ue Reply"), self._continue, "Ctrl+Shift+R")
        self.edit = make(tr("&Edit Last Message"), self._edit, "Ctrl+Shift+E")
        self.version_before = make(tr("Previous &Version"), partial(self._version, -1), "Ctrl+Alt+Left")
        self.version_after = make(tr("Ne&xt Version"), partial(self._version, 1), "Ctrl+Alt+Right")
        self.rename = make(tr("Re&name…"), self._rename, "F2")
        self.pin = make(tr("&Pin"), self._pin, "Ctrl+Alt+P")
        self.pin.setCheckable(True)
        self.duplicate = make(tr("D&uplicate"), self._duplicate, "Ctrl+D")
        # No key of the window's: what deletes a chat in the list deletes a word where a text is written.
        self.delete = make(tr("&Delete"), self._delete)
        window.sidebar.list.delete_asked.connect(self.delete.trigger)
        self.move = QMenu(tr("Move to &Folder"), window)
        self.move.aboutToShow.connect(self._fill_move)
        for signal in (
            self._conductor.busy_changed,
            self._conductor.turns_changed,
            self._conductor.turn_added,
            self._conductor.chat_changed,
            self._conductor.loader.loaded,
            self._library.changed,
            window.sidebar.list.selectionModel().currentChanged,
        ):
            signal.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Enable what can be done now."""
        kind, one = self.target
        turns, busy = self._conductor.chat.turns, self._conductor.busy
        last = turns[-1] if turns else None
        for action in (self.pin, self.duplicate, self.export):
            action.setEnabled(kind == "chat")
        self.move.setEnabled(kind == "chat")
        for action in (self.rename, self.delete):
            action.setEnabled(bool(kind))
        self.pin.setChecked(kind == "chat" and self._library.entries[one].pinned)
        self.export_all.setEnabled(bool(self._library.entries))
        self.undo.setEnabled(bool(self._library.undoable))
        self.undo.setText(tr("Undo: {undoable}", undoable=self._library.undoable) if self._library.undoable else tr("Undo &Delete"))
        self.before.setEnabled(len(self._library.entries) > 0)
        self.after.setEnabled(len(self._library.entries) > 0)
        self.again.setEnabled(not busy and last is not None and last.asked is not None)
        self.edit.setEnabled(not busy and last is not None and last.asked is not None)
        self.more.setEnabled(not busy and last is not None and last.reply.can_continue)
        for action in (self.version_before, self.version_after):
            action.setEnabled(any(node is not None and node.place[1] > 1 for turn in turns for node in (turn.asked, turn.answered)))

    @property
    def target(self) -> tuple[str, str]:
        """Kind and id of what a command acts on."""
        listed = self._window.sidebar.list
        if self._window.focusWidget() is listed or self._for_list:
            kind, one = listed.current
            if (kind == "chat" and one in self._library.entries) or (kind == "folder" and one in self._library.folders):
                return kind, one
        one = self._conductor.chat.id
        return ("chat", one) if one in self._library.entries else ("", "")

    @Slot(QPoint)
    def show_menu(self, at: QPoint) -> None:
        """The list's own menu."""
        listed = self._window.sidebar.list
        index = listed.indexAt(at)
        if index.isValid():
            listed.setCurrentIndex(index)
        self._for_list = True
        self.refresh()
        menu = QMenu(listed)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        # A menu closes before its command is carried out.
        menu.aboutToHide.connect(lambda: QTimer.singleShot(0, self, self._leave_list))
        kind, _ = self.target
        if kind == "chat":
            menu.addActions([self.rename, self.pin])
            menu.addMenu(self.move)
            menu.addActions([self.duplicate, self.export])
            menu.addSeparator()
            menu.addAction(self.delete)
        elif kind == "folder":
            menu.addActions([self.rename, self.delete])
        else:
            menu.addActions([self.new, self.new_folder, self.import_])
        menu.popup(listed.viewport().mapToGlobal(at))

    @Slot()
    def _leave_list(self) -> None:
        self._for_list = False
        self.refresh()

    def _make(self, text: str, slot: Callable[..., object], keys: str | Keys | None = None) -> QAction:
        action = QAction(text, self._window)
        action.setMenuRole(QAction.MenuRole.NoRole)
        if isinstance(keys, QKeySequence.StandardKey):
            action.setShortcuts(keys)
        elif keys is not None:
            action.setShortcut(QKeySequence(keys))
        action.triggered.connect(lambda checked=False: slot())
        return action

    # What they do

    def _new_folder(self) -> None:
        self._window.set_sidebar(True)
        folder = self._library.add_folder(tr("New Folder"))
        self._window.sidebar.list.rename(folder.id)

    def _rename(self) -> None:
        kind, one = self.target
        if kind:
            self._window.set_sidebar(True)
            self._window.sidebar.search.clear()
            self._window.sidebar.list.rename(one)

    def _pin(self) -> None:
        kind, one = self.target
        if kind == "chat":
            self._library.pin(one, not self._library.entries[one].pinned)

    def _duplicate(self) -> None:
        kind, one = self.target
        if kind == "chat":
            self._library.duplicate(one, self._conductor.open_chat)

    def _delete(self) -> None:
        kind, one = self.target
        if kind == "chat":
            self._library.delete([one])
        elif kind == "folder":
            self._library.delete_folder(one)

    def _fill_move(self) -> None:
        self.move.clear()
        kind, one = self.target
        if kind != "chat":
            return
        here = self._library.entries[one].folder
        choices = [("", tr("None")), *((folder.id, folder.name) for folder in self._library.folders.values())]
        for folder_id, name in choices:
            action = self.move.addAction(name.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(folder_id == here)
            action.triggered.connect(partial(self._move, one, folder_id))
        self.move.addSeparator()
        self.move.addAction(tr("New Folder…")).triggered.connect(partial(self._move_to_new, one))

    def _move(self, one: str, folder_id: str, checked: bool = False) -> None:
        if one in self._library.entries and (not folder_id or folder_id in self._library.folders):
            self._library.move(one, folder_id)

    def _move_to_new(self, one: str, checked: bool = False) -> None:
        folder = self._library.add_folder(tr("New Folder"))
        self._move(one, folder.id)
        self._window.sidebar.list.rename(folder.id)

    def _step(self, step: int) -> None:
        ids = self._window.sidebar.list.chat_ids()
        if self._conductor.chat.id in ids:
            place = ids.index(self._conductor.chat.id) + step
            if 0 <= place < len(ids):
                self._conductor.open_chat(ids[place])
        elif ids:
            self._conductor.open_chat(ids[0])

    def _regenerate(self) -> None:
        self._conductor.regenerate(self._conductor.chat.turns[-1])

    def _continue(self) -> None:
        self._conductor.resume(self._conductor.chat.turns[-1])

    def _edit(self) -> None:
        self._conductor.edit(self._conductor.chat.turns[-1])

    def _version(self, step: int) -> None:
        """Of the last message that has versions."""
        for turn in reversed(self._conductor.chat.turns):
            for node in (turn.answered, turn.asked):
                if node is not None and node.place[1] > 1:
                    self._conductor.switch(node, step)
                    return

    # Files

    def _export(self) -> None:
        kind, one = self.target
        if kind != "chat":
            return
        title = file_name(self._library.entries[one].title, tr("Chat"))
        kinds = {".md": tr("Markdown (*.md)"), ".json": tr("JSON, with all branches (*.json)")}
        if file := ask_save_path(self._window, tr("Export Chat"), title, kinds):
            self._library.export_chats([one], file)

    def _export_all(self) -> None:
        kinds = {".json": tr("JSON, can be imported again (*.json)"), ".md": tr("Markdown (*.md)")}
        if file := ask_save_path(self._window, tr("Export All Chats"), tr("Slipstream chats"), kinds):
            self._library.export_chats(self._window.sidebar.list.chat_ids(), file)

    def _import(self) -> None:
        file, _ = QFileDialog.getOpenFileName(self._window, tr("Import Chats"), "", tr("Chats (*.json *.zip *.db);;All files (*)"))
        if file:
            self._library.import_file(Path(file))
