"""The menu of the app's icon in the Dock."""

from typing import Any

from PySide6.QtWidgets import QMenu

from app.window.main_window import MainWindow


def set_dock_menu(window: MainWindow) -> None:
    """Add New Chat to the Dock's menu, on a Mac."""
    if hasattr(QMenu, "setAsDockMenu"):
        menu: Any = QMenu(window)
        menu.addAction(window.commands["new_chat"].plain_text).triggered.connect(lambda: _new_chat(window))
        menu.setAsDockMenu()


def _new_chat(window: MainWindow) -> None:
    window.bring_to_front()  # the menu doesn't activate the app
    window.commands.run("new_chat")
