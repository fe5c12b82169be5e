"""The menu bar, and the context menu of the chat list."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QMenuBar

from app.language import tr
from app.sidebar.chat_list import ChatList
from app.window.actions import Actions

_Item = QAction | QMenu | None  # None is a separator


def fill_menu_bar(bar: QMenuBar, do: Actions) -> None:
    file = (do.new_chat, do.new_folder, None, do.models, do.attach, None, do.import_chats, do.export, do.export_all, None)
    _fill(bar.addMenu(tr("&File")), *file, do.close_window, do.settings, do.about, do.quit)
    edit = (do.undo, do.redo, None, do.cut, do.copy, do.paste, None, do.select_all, None, do.copy_reply, None)
    find = (do.find, do.find_next, do.find_previous, do.next_link, do.previous_link, do.search, do.undo_delete)
    _fill(bar.addMenu(tr("&Edit")), *edit, *find)
    looks = (do.appearance, do.contrast, do.larger_text, do.smaller_text, do.actual_size, do.token_sources)
    _fill(bar.addMenu(tr("&View")), do.sidebar, *looks, None, do.palette, do.focus_message, do.focus_list, do.scroll_to_end)
    replies = (do.stop, do.compare, do.compare_prompt, None, do.dflash, do.thinking, None, do.edit, do.regenerate, do.resume)
    chat = (do.rename, do.pin, do.move_to_folder, do.duplicate, do.delete, None, do.previous_chat, do.next_chat)
    _fill(bar.addMenu(tr("&Chat")), *replies, do.previous_version, do.next_version, None, do.chat_settings, None, *chat)
    _fill(bar.addMenu(tr("&Window")), do.minimize, do.zoom)
    _fill(bar.addMenu(tr("&Help")), do.this_mac, do.logs, None, do.check_for_updates, do.check_at_launch)


def show_list_menu(chats: ChatList, do: Actions, at: QPoint) -> None:
    """Open the context menu for the row at a point of the list."""
    index = chats.indexAt(at)
    if index.isValid():
        chats.setCurrentIndex(index)
    chats.setFocus()  # commands act on the list
    do.refresh()
    menu = QMenu(chats)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    items: dict[str, tuple[_Item, ...]] = {
        "chat": (do.rename, do.pin, do.move_to_folder, do.duplicate, do.export, None, do.delete),
        "folder": (do.rename, do.delete),
    }
    _fill(menu, *items.get(chats.current[0], (do.new_chat, do.new_folder, do.import_chats)))
    menu.popup(chats.viewport().mapToGlobal(at))


def _fill(menu: QMenu, *items: _Item) -> None:
    for item in items:
        if item is None:
            menu.addSeparator()
        elif isinstance(item, QMenu):
            menu.addMenu(item)
        else:
            menu.addAction(item)
