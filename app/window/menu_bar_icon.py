"""The icon in the Mac's menu bar, or in the system tray."""

import sys

from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QMenu, QSystemTrayIcon, QWidget

from app.session.commands import Commands
from app.widgets.controls import ICON_SIZE, icon_of, window_icon


def make_menu_bar_icon(window: QWidget, commands: Commands) -> QSystemTrayIcon:
    """Return an icon whose menu opens chats and the window, and quits."""

    def add(id: str, *ids: str) -> None:
        action = menu.addAction(commands[id].plain_text)
        for one in (*ids, id):
            action.triggered.connect(commands.runner(one))

    menu = QMenu(window)
    add("quick_chat")
    add("new_chat", "show_window")
    add("show_window")
    menu.addSeparator()
    add("quit")
    icon = QSystemTrayIcon(_picture(), window)
    icon.setToolTip("Slipstream")
    icon.setContextMenu(menu)
    return icon


def _picture() -> QIcon:
    if sys.platform != "darwin":
        return window_icon()
    picture = icon_of("new", "black", ICON_SIZE)
    picture.setIsMask(True)  # the menu bar chooses the color
    return picture
