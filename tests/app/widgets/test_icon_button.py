"""Buttons with an icon."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.widgets.controls import IconButton
from app.widgets.theme import Theme


@pytest.mark.parametrize("key", [Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_the_keys_of_buttons_press_an_icon(qapp: QApplication, qtbot: QtBot, key: Qt.Key) -> None:
    made, clicks = IconButton(Theme(qapp), "new", "New Chat"), []
    qtbot.addWidget(made)
    made.clicked.connect(lambda: clicks.append(key))
    qtbot.keyClick(made, key)
    assert clicks == [key]
