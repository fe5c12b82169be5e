"""All commands as actions, and the menus that arrange them."""

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QPoint, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QApplication, QLineEdit, QMainWindow, QMenu, QMenuBar, QPlainTextEdit, QTextEdit

from app.session.conductor import Conductor
from app.session.preferences import Preferences, Setting
from app.session.updates import Updates
from app.text.language import number, tr
from app.views.chat.composer import Composer
from app.views.machine.this_mac import machine_title
from app.views.sidebar.chat_list import ChatList
from app.views.transcript.transcript import Transcript
from app.window.chat_commands import ChatCommands
from app.window.dialogs import Dialogs
from app.window.help import SHORTCUTS
from app.window.palette import IN_PALETTE
from app.window.sidebar_split import SidebarSplit

_Keys = QKeySequence.StandardKey
_Role = QAction.MenuRole
_Item = QAction | QMenu | None  # None is a separator


class Actions(QObject):
    """All actions. Shortcuts don't use editing keys: the chat list handles Delete."""

    def __init__(
        self,
        window: QMainWindow,
        quit_app: Callable[[], object],
        conductor: Conductor,
        commands: ChatCommands,
        dialogs: Dialogs,
        split: SidebarSplit,
        transcript: Transcript,
        composer: Composer,
        preferences: Preferences,
        updates: Updates,
    ) -> None:
        super().__init__(window)
        self._window, self._conductor, self._commands, self._preferences = window, conductor, commands, preferences
        self._checked: list[tuple[QAction, Setting[Any], object]] = []  # checked if the setting has the value
        add, library = self._add, conductor.library
        find, links = transcript.find_bar, transcript.links

        self.new_chat = add(tr("&New Chat"), conductor.new_chat, _Keys.New)
        self.new_folder = add(tr("New &Folder"), commands.new_folder, "Ctrl+Shift+N")
        self.models = add(tr("&Models…"), dialogs.show_models, "Ctrl+Shift+M")
        self.tune = add(tr("Tune &Drafter…"), dialogs.show_tuning)
        self.tools = add(tr("&Tools…"), partial(dialogs.show_settings, "tools"))
        self.attach = add(tr("&Attach Files…"), commands.attach_files, "Ctrl+Shift+A")
        self.import_chats = add(tr("&Import Chats…"), commands.import_chats)
        self.export = add(tr("&Export Chat…"), commands.export, "Ctrl+Shift+S")
        self.export_all = add(tr("Export &All Chats…"), commands.export_all)
        self.close_window = add(tr("&Close Window"), window.close, _Keys.Close)
        # macOS moves these three to the app menu.
        self.settings = add(tr("Settings…"), dialogs.show_settings, "Ctrl+,", role=_Role.PreferencesRole)
        self.about = add(tr("About Slipstream"), dialogs.show_about, role=_Role.AboutRole)
        self.quit = add(tr("&Quit Slipstream"), quit_app, _Keys.Quit, role=_Role.QuitRole)

        self.undo = self._add_edit(tr("&Undo"), "undo", _Keys.Undo)
        self.redo = self._add_edit(tr("&Redo"), "redo", _Keys.Redo)
        self.cut = self._add_edit(tr("Cu&t"), "cut", _Keys.Cut)
        self.copy = self._add_edit(tr("&Copy"), "copy", _Keys.Copy)
        self.paste = self._add_edit(tr("&Paste"), "paste", _Keys.Paste)
        self.select_all = self._add_edit(tr("Select &All"), "selectAll", _Keys.SelectAll)
        self.copy_reply = add(tr("Copy Last &Reply"), commands.copy_reply, "Ctrl+Shift+C")
        self.find = add(tr("&Find in Chat…"), find.open_search, _Keys.Find)
        self.find_next = add(tr("Find Ne&xt"), find.find_next, _Keys.FindNext)
        self.find_previous = add(tr("Find Pre&vious"), find.find_previous, _Keys.FindPrevious)
        self.next_link = add(tr("Next &Link"), links.go_to_next, "Ctrl+J")
        self.previous_link = add(tr("Previous Lin&k"), links.go_to_previous, "Ctrl+Shift+J")
        self.search = add(tr("&Search All Chats"), split.focus_search, "Ctrl+Shift+F")
        self.undo_delete = add(tr("Undo &Delete"), library.undo, "Ctrl+Alt+Z")

        self.sidebar = add(tr("Show &Sidebar"), split.toggle_sidebar, "Ctrl+Alt+S", checkable=True)
        self.appearance = self._add_choices(tr("&Appearance"), Preferences.appearance)
        self.contrast = self._add_choices(tr("&Contrast"), Preferences.contrast)
        self.larger_text = add(tr("&Larger Text"), preferences.larger_text, "Ctrl++", "Ctrl+=")
        self.smaller_text = add(tr("S&maller Text"), preferences.smaller_text, "Ctrl+-")
        self.actual_size = add(tr("Actual Si&ze"), preferences.reset_text_size, "Ctrl+0")
        self.token_sources = self._add_switch(tr("Show To&ken Sources"), Preferences.token_sources, "Ctrl+Shift+U")
        self.palette = add(tr("&Command Palette…"), dialogs.show_palette, "Ctrl+Shift+P")
        self.palette.setProperty(IN_PALETTE, False)
        self.focus_message = add(tr("Go to &Message Field"), composer.focus, "Ctrl+L")
        self.focus_list = add(tr("Go to Chat &List"), split.focus_list, "Ctrl+Alt+1")
        self.scroll_to_end = add(tr("Scroll to &End"), transcript.follow, "Ctrl+End")

        self.stop = add(tr("&Stop"), conductor.stop, "Esc", "Ctrl+.")
        self.compare = add(tr("&Compare Last Prompt"), conductor.compare, "Ctrl+Shift+K")
        self.compare_prompt = add(tr("Compare &Prompt…"), dialogs.show_compare, "Ctrl+Alt+K")
        self.dflash = add("&DFlash", None, "Ctrl+Shift+D", checkable=True)
        self.dflash.triggered.connect(conductor.set_dflash)
        self.thinking = add(tr("&Thinking"), None, "Ctrl+Shift+T", checkable=True)
        self.thinking.triggered.connect(conductor.set_thinking)
        self.rolling = add(tr("Rolling &Window"), None, checkable=True)
        self.rolling.triggered.connect(conductor.set_rolling)
        self.edit = add(tr("&Edit Last Message"), commands.edit, "Ctrl+Shift+E")
        self.regenerate = add(tr("&Regenerate Reply"), commands.regenerate, "Ctrl+R")
        self.resume = add(tr("Contin&ue Reply"), commands.resume, "Ctrl+Shift+R")
        self.previous_version = add(tr("Previous &Version"), partial(commands.switch_version, -1), "Ctrl+Alt+Left")
        self.next_version = add(tr("Ne&xt Version"), partial(commands.switch_version, 1), "Ctrl+Alt+Right")
        self.chat_settings = add(tr("Chat Se&ttings…"), dialogs.show_chat_settings, "Ctrl+I")
        self.rename = add(tr("Re&name"), commands.rename, "F2")
        self.pin = add(tr("&Pin"), commands.pin, "Ctrl+Alt+P", checkable=True)
        self.move_to_folder = QMenu(tr("Move to &Folder"), window)
        self.move_to_folder.aboutToShow.connect(partial(commands.fill_folder_menu, self.move_to_folder))
        self.duplicate = add(tr("D&uplicate"), commands.duplicate, "Ctrl+D")
        self.delete = add(tr("&Delete"), commands.delete)
        self.delete_all = add(tr("Delete A&ll Chats…"), commands.delete_all)
        self.previous_chat = add(tr("&Previous Chat"), partial(commands.step, -1), "Ctrl+Alt+Up")
        self.next_chat = add(tr("&Next Chat"), partial(commands.step, 1), "Ctrl+Alt+Down")

        self.minimize = add(tr("&Minimize"), window.showMinimized, "Ctrl+M")
        self.zoom = add(tr("&Zoom"), self._zoom)
        self.local_server = add(tr("&Local Server"), dialogs.show_server, "Ctrl+Shift+L")
        self.guide = add(tr("&User Guide"), dialogs.show_help, _Keys.HelpContents)
        self.shortcuts = add(tr("&Keyboard Shortcuts"), partial(dialogs.show_help, SHORTCUTS), "Ctrl+/")
        self.report = add(tr("&Report a Problem…"), dialogs.show_report)
        self.this_mac = add(f"&{machine_title()}", dialogs.show_this_mac)
        self.logs = add(tr("Show &Logs"), dialogs.show_logs)
        self.check_for_updates = add(tr("Check for &Updates…"), updates.check)
        self.check_at_launch = self._add_switch(tr("Check for Updates at &Launch"), Preferences.check_for_updates)
        for action in (self.check_for_updates, self.check_at_launch):
            action.setVisible(updates.release.has_updates)

        split.sidebar.list.delete_requested.connect(self.delete.trigger)
        split.shown.connect(self.sidebar.setChecked)
        for signal in (
            conductor.busy_changed,
            conductor.settings_changed,
            conductor.turns_changed,
            conductor.turn_added,
            conductor.chat_changed,
            conductor.loader.loaded,
            library.changed,
            preferences.changed,
            split.sidebar.list.selectionModel().selectionChanged,
        ):
            signal.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Enable and check actions according to the app's state."""
        conductor, library = self._conductor, self._conductor.library
        kind, id = self._commands.target
        turns = conductor.chat.turns
        last = turns[-1] if turns else None
        idle = not conductor.busy and last is not None
        chats = self._commands.target_chats
        for action in (self.export, self.move_to_folder):
            action.setEnabled(bool(chats))
        for action in (self.pin, self.duplicate):
            action.setEnabled(kind == "chat" and len(chats) == 1)
        self.rename.setEnabled(bool(kind) and len(chats) < 2)
        self.delete.setEnabled(bool(kind))
        count = number(len(chats))
        self.delete.setText(tr("&Delete {count} Chats", count=count) if len(chats) > 1 else tr("&Delete"))
        self.export.setText(tr("&Export {count} Chats…", count=count) if len(chats) > 1 else tr("&Export Chat…"))
        self.pin.setChecked(kind == "chat" and library.entries[id].pinned)
        for action in (self.export_all, self.delete_all, self.previous_chat, self.next_chat):
            action.setEnabled(bool(library.entries))
        self.undo_delete.setEnabled(library.undo_step is not None)
        self.undo_delete.setText(library.undo_step.title if library.undo_step else tr("Undo &Delete"))
        for action in (self.regenerate, self.edit):
            action.setEnabled(idle and last is not None and last.asked is not None)
        self.resume.setEnabled(idle and last is not None and last.reply.can_continue and conductor.can_continue)
        versions = any(node is not None and node.place[1] > 1 for turn in turns for node in (turn.asked, turn.answered))
        for action in (self.previous_version, self.next_version):
            action.setEnabled(versions)
        self.copy_reply.setEnabled(last is not None and bool(last.reply.answer))
        self.stop.setEnabled(conductor.replying_here or conductor.comparison_job.running)
        self.compare.setEnabled(conductor.can_compare_last)
        self.dflash.setEnabled(conductor.can_dflash and conductor.can_plain)
        self.dflash.setChecked(conductor.next_mode == "dflash")
        self.thinking.setEnabled(conductor.can_think)
        self.thinking.setChecked(conductor.thinking)
        self.rolling.setChecked(conductor.chat.settings.rolling)
        for action, setting, value in self._checked:
            action.setChecked(setting.read(self._preferences) == value)

    def _add(
        self,
        title: str,
        slot: Callable[..., object] | None,
        *keys: str | _Keys,
        checkable: bool = False,
        role: _Role = _Role.NoRole,
    ) -> QAction:
        action = QAction(title, self._window)
        action.setMenuRole(role)
        action.setCheckable(checkable)
        if keys and isinstance(keys[0], _Keys):
            action.setShortcuts(keys[0])
        else:
            action.setShortcuts([QKeySequence(key) for key in keys])
        if slot is not None:
            action.triggered.connect(lambda checked=False: slot())
        return action

    def _add_edit(self, title: str, method: str, keys: _Keys) -> QAction:
        """Add an action that calls a method of the focused text or list."""

        def edit() -> None:
            target = QApplication.focusWidget()
            if isinstance(target, QPlainTextEdit | QTextEdit | QLineEdit | Transcript | ChatList) and hasattr(target, method):
                getattr(target, method)()

        return self._add(title, edit, keys)

    def _add_switch(self, title: str, setting: Setting[bool], *keys: str) -> QAction:
        action = self._add(title, None, *keys, checkable=True)
        action.triggered.connect(lambda checked: setting.write(self._preferences, checked))
        self._checked.append((action, setting, True))
        return action

    def _add_choices(self, title: str, setting: Setting[Any]) -> QMenu:
        menu = QMenu(title, self._window)
        group = QActionGroup(menu)
        for value, name in (setting.choices or dict)().items():
            action = self._add(name, partial(setting.write, self._preferences, value), checkable=True)
            menu.addAction(group.addAction(action))
            self._checked.append((action, setting, value))
        return menu

    def _zoom(self) -> None:
        if self._window.isMaximized():
            self._window.showNormal()
        else:
            self._window.showMaximized()


def fill_menu_bar(bar: QMenuBar, do: Actions) -> None:
    models = (do.new_chat, do.new_folder, None, do.models, do.tune, do.tools, do.attach, None)
    files = (do.import_chats, do.export, do.export_all, None, do.close_window, do.settings, do.quit)
    _fill(bar.addMenu(tr("&File")), *models, *files)
    edit = (do.undo, do.redo, None, do.cut, do.copy, do.paste, None, do.select_all, None, do.copy_reply, None)
    find = (do.find, do.find_next, do.find_previous, do.next_link, do.previous_link, do.search, do.undo_delete)
    _fill(bar.addMenu(tr("&Edit")), *edit, *find)
    looks = (do.appearance, do.contrast, do.larger_text, do.smaller_text, do.actual_size, do.token_sources)
    _fill(bar.addMenu(tr("&View")), do.sidebar, *looks, None, do.palette, do.focus_message, do.focus_list, do.scroll_to_end)
    replies = (
        do.stop,
        do.compare,
        do.compare_prompt,
        None,
        do.dflash,
        do.thinking,
        do.rolling,
        None,
        do.edit,
        do.regenerate,
        do.resume,
    )
    chat = (do.rename, do.pin, do.move_to_folder, do.duplicate, do.delete, do.delete_all, None, do.previous_chat, do.next_chat)
    _fill(bar.addMenu(tr("&Chat")), *replies, do.previous_version, do.next_version, None, do.chat_settings, None, *chat)
    _fill(bar.addMenu(tr("&Window")), do.minimize, do.zoom, None, do.local_server)
    support = (do.this_mac, do.logs, do.report, None, do.check_for_updates, do.check_at_launch, None, do.about)
    _fill(bar.addMenu(tr("&Help")), do.guide, do.shortcuts, None, *support)


def show_list_menu(chats: ChatList, do: Actions, at: QPoint) -> None:
    """Open the context menu for the row at a point in the list."""
    index = chats.indexAt(at)
    if index.isValid() and not chats.selectionModel().isSelected(index):
        chats.setCurrentIndex(index)
    chats.setFocus()  # commands act on the list
    do.refresh()
    menu = QMenu(chats)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    items: dict[str, tuple[_Item, ...]] = {
        "chat": (do.rename, do.pin, do.move_to_folder, do.duplicate, do.export, None, do.delete),
        "folder": (do.rename, do.delete),
    }
    several = (do.move_to_folder, do.export, None, do.delete)
    _fill(menu, *several if len(chats.selected) > 1 else items.get(chats.current[0], (do.new_chat, do.new_folder, do.import_chats)))
    menu.popup(chats.viewport().mapToGlobal(at))


def _fill(menu: QMenu, *items: _Item) -> None:
    for item in items:
        if item is None:
            menu.addSeparator()
        elif isinstance(item, QMenu):
            menu.addMenu(item)
        else:
            menu.addAction(item)
