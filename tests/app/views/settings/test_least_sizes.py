"""Windows can't be made so small that their contents are unusable."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QDialog

from app.system.appearance import DEFAULT_TEXT_SIZE
from app.views.models.picker_dialog import PickerDialog
from app.views.tools.call_log_dialog import CallLogDialog
from tests.app.conftest import Session
from tests.app.test_call_log import SUM, chat_with

LINES = 8


@pytest.mark.parametrize("share", [1, 2])
def test_the_smallest_windows_show_some_lines_of_what_scrolls(begin: Callable[..., Session], share: int) -> None:
    app = begin()
    app.theme.set_text_size(share * DEFAULT_TEXT_SIZE)
    dialogs = app.window.dialogs
    chat = chat_with([replace(SUM, call=replace(SUM.call, id=str(number)), result="7\n" * 50) for number in range(9)])
    app.library.save(chat, chat.root.below())
    for show in (
        dialogs.show_settings,
        dialogs.show_models,
        dialogs.show_this_mac,
        dialogs.show_help,
        dialogs.show_report,
        dialogs.show_calls,
    ):
        show()
    shown = [dialog for dialog in app.window.findChildren(QDialog) if dialog.isVisible()]
    assert len(shown) == 6
    app.until(lambda: bool(dialogs.find(PickerDialog).list.model().rowCount()))  # type: ignore[union-attr]
    calls = dialogs.find(CallLogDialog)
    assert calls is not None
    app.until(lambda: bool(calls.list.count()))
    calls.list.setCurrentRow(0)
    for dialog in shown:
        dialog.resize(QSize(1, 1))
        QApplication.processEvents()
        areas = [area for area in dialog.findChildren(QAbstractScrollArea) if area.isVisible() and area.isEnabled()]
        assert areas
        for area in areas:
            lines = area.viewport().height() / area.fontMetrics().lineSpacing()
            assert lines >= LINES or not area.verticalScrollBar().maximum(), (type(dialog).__name__, type(area).__name__, lines)


def test_facts_of_a_pair_are_not_cut_off_in_a_small_window(begin: Callable[..., Session]) -> None:
    """The page was as high as the window, and lines of the facts were missing."""
    app = begin()
    app.window.dialogs.show_models()
    dialog = app.window.dialogs.find(PickerDialog)
    assert dialog is not None
    app.until(lambda: bool(app.services.picker.rows.matching))
    app.services.picker.rows.select("demo")
    page = dialog.card.page
    for size in ((960, 660), (660, 460)):
        dialog.resize(*size)
        app.until(lambda most=size[0]: page.width() < most and page.height() >= page.heightForWidth(page.width()))
