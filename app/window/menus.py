"""The menu bar and the chat list's menu, which show and run commands."""

from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import QObject, QPoint, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMainWindow, QMenu, QWidget

from app.session.commands import Command, Commands, Menu
from app.text.language import tr
from app.views.sidebar.chat_list import ChatList

_ROW_MENUS = {
    "chat": "rename pin archive move_to_project duplicate copy_link export - delete",
    "chats": "archive move_to_project export - delete",
    "project": "new_project_chat project_settings rename export_project - delete",
    "archive": "new_chat new_project import_chats",
    "": "new_chat new_project import_chats",
}


class Menus(QObject):
    """The menus of the window, with one action for each command."""

    def __init__(self, window: QMainWindow, commands: Commands, submenus: Mapping[str, Menu]) -> None:
        super().__init__(window)
        self._window, self._commands, self._submenus = window, commands, submenus
        self._actions: dict[Command, QAction] = {}
        self._menus: dict[Menu, QMenu] = {}
        commands.menus = self._bar()
        for menu in commands.menus:
            self._fill(window.menuBar().addMenu(menu.text), menu.items())
        commands.changed.connect(self.refresh)
        self.refresh()

    def __getitem__(self, id: str) -> QAction:
        return self._actions[self._commands[id]]

    def _bar(self) -> tuple[Menu, ...]:
        imports, exports = "import_chats import_folder", "export export_project export_all print"
        models = "models tune tools tool_calls"
        files = f"new_chat quick_chat new_project_chat new_project - {models} - attach screenshot - {imports} {exports}"
        edit = "undo redo - cut copy paste - select_all - copy_reply read_aloud"
        find = "find find_next find_previous next_link previous_link search undo_delete"
        looks = "appearance contrast larger_text smaller_text actual_size token_sources"
        modes = "dflash thinking rolling quiet_mode"
        replies = (
            f"stop compare compare_prompt - {modes} - compact undo_compact - edit regenerate resume previous_version next_version"
        )
        chats = "rename pin archive move_to_project duplicate copy_link delete delete_all - previous_chat next_chat"
        support = "this_mac logs report - check_for_updates check_at_launch - about"
        titles = {
            tr("&File"): f"{files} - close_window settings quit",
            tr("&Edit"): f"{edit} - {find}",
            tr("&View"): f"sidebar {looks} - palette focus_message focus_list scroll_to_end",
            tr("&Chat"): f"{replies} - chat_settings project_settings - {chats}",
            tr("&Window"): "minimize zoom - local_server",
            tr("&Help"): f"guide shortcuts changes - {support}",
        }
        return tuple(Menu(title, partial(self._items, ids)) for title, ids in titles.items())

    def _items(self, ids: str) -> list[Command | Menu | None]:
        return [None if id == "-" else self._submenus.get(id) or self._commands[id] for id in ids.split()]

    def _fill(self, menu: QMenu, items: Sequence[Command | Menu | None]) -> None:
        group = QActionGroup(menu)  # of the choices of a setting
        for item in items:
            if item is None:
                menu.addSeparator()
            elif isinstance(item, Menu):
                menu.addMenu(self._submenu(item))
            else:
                menu.addAction(action := self._action(item, menu))
                if item.exclusive:
                    group.addAction(action)

    def _submenu(self, menu: Menu) -> QMenu:
        if menu not in self._menus:
            shown = self._menus[menu] = QMenu(menu.text, self._window)
            shown.aboutToShow.connect(partial(self._refill, shown, menu))
            self._refill(shown, menu)
        return self._menus[menu]

    def _refill(self, shown: QMenu, menu: Menu) -> None:
        shown.clear()  # deletes the actions that belong to this menu
        self._fill(shown, menu.items())

    def _action(self, command: Command, menu: QMenu) -> QAction:
        if command in self._actions:
            return self._actions[command]
        lasts = command.id in self._commands
        action = QAction(self._window if lasts else menu)
        action.setMenuRole(command.role)
        action.setCheckable(command.checked is not None)
        action.setShortcuts(command.shortcuts)
        action.setVisible(command.visible)
        action.triggered.connect(lambda: self._commands.run(command))
        _update(action, command)
        if lasts:
            self._actions[command] = action
        return action

    @Slot()
    def refresh(self) -> None:
        for command, action in self._actions.items():
            _update(action, command)
        for menu, shown in self._menus.items():
            shown.setEnabled(bool(menu.needs()))

    def show_row_menu(self, chats: ChatList, at: QPoint) -> None:
        """Open the context menu for the row at a point in the list."""
        index = chats.indexAt(at)
        if index.isValid() and not chats.selectionModel().isSelected(index):
            chats.setCurrentIndex(index)
        chats.setFocus()  # commands act on the list
        self._popup(_ROW_MENUS["chats" if len(chats.selected) > 1 else chats.current[0]], chats, chats.viewport().mapToGlobal(at))

    def show_above(self, ids: str, source: QWidget) -> None:
        """Open a menu with these commands above a button."""
        self._popup(ids, source, source.mapToGlobal(QPoint()), above=True)

    def _popup(self, ids: str, parent: QWidget, at: QPoint, above: bool = False) -> None:
        self.refresh()
        menu = QMenu(parent)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._fill(menu, self._items(ids))
        menu.popup(at - QPoint(0, menu.sizeHint().height() if above else 0))


def _update(action: QAction, command: Command) -> None:
    action.setText(command.text)
    action.setEnabled(command.can() is None)
    if command.checked is not None:
        action.setChecked(command.checked())
