"""The window's layout: widths, edges, and placeholders."""

from collections.abc import Callable
from typing import get_args

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication

from app.system.appearance import Appearance
from app.views.chat.chat_settings import ChatSettingsDialog
from app.views.server.server_dialog import ServerDialog
from app.widgets.layout import SCREEN_SHARE, ScrollingPage
from tests.app.conftest import Session, Start
from tests.app.scripted_engine import ScriptedEngine, answer
from tests.app.widgets.test_colors import contrast


def test_the_sidebar_is_narrower_in_a_small_window_and_placeholders_are_legible(start: Start) -> None:
    """The sidebar kept 250 of 700 pixels."""
    app = start(loaded=False)
    app.window.show()
    for window, sidebar in ((1000, 250), (700, 190), (800, 200), (1600, 250)):
        app.window.resize(window, 700)
        app.until(lambda sidebar=sidebar: app.window.sidebar.width() == sidebar)
    for appearance in get_args(Appearance):
        app.theme.set_appearance(appearance)
        for field in (app.window.sidebar.search, app.window.composer.field):
            field.ensurePolished()
            color = field.palette().color(QPalette.ColorRole.PlaceholderText)
            assert color.alpha() == 255 and contrast(color.name(), app.theme.colors.raised) >= 4.5


def test_the_composer_and_the_buttons_are_flush_with_the_text(start: Start) -> None:
    """Edges differed by 7 to 12 pixels."""
    app = start(ScriptedEngine([answer("First.")]))
    app.window.show()
    app.ask("One")
    for width in (700, 1000, 1600):
        app.window.resize(width, 700)
        app.until(lambda: not app.reply.buttons.isHidden() and app.window.foot.composer.width() > 0)
        QApplication.processEvents()
        left, right = (app.reply.mapTo(app.window, QPoint(x, 0)).x() for x in (0, app.reply.width()))
        composer = QRect(app.window.composer.mapTo(app.window, QPoint()), app.window.composer.size())
        assert (composer.left(), composer.right() + 1) == (left, right)
        speed, question = app.reply.stats.chip, app.questions[0]
        assert speed.mapTo(app.window, QPoint()).x() == left
        bubble = question.blocks.parentWidget()
        assert bubble.mapTo(app.window, QPoint(bubble.width(), 0)).x() == right
        assert question.edit_button.geometry().right() < bubble.x()


def test_the_field_shows_all_lines_of_a_text_that_breaks_into_more_of_them(start: Start) -> None:
    """It showed two and a half lines of four."""
    app = start()
    app.window.resize(1100, 720)
    app.type("Some words that fill two lines of a wide field. " * 4)
    field = app.window.composer.field
    wide = field.height()
    app.window.resize(440, 720)
    app.until(lambda: field.height() > wide)
    lines = round(field.document().size().height())
    assert field.height() >= lines * field.fontMetrics().lineSpacing()


def test_a_text_of_several_lines_is_above_the_buttons(start: Start) -> None:
    """It had a wide empty margin next to it."""
    app = start()
    app.window.resize(700, 500)
    field, button = app.window.composer.field, app.window.composer.attach_button
    text = "A message that is written letter by letter, and then removed again."
    lengths = [*range(len(text)), *range(len(text), 0, -1)]
    field.setFocus()
    above: dict[int, set[bool]] = {}
    for length in lengths:
        app.type(text[:length])
        app.until(lambda: (field.geometry().bottom() < button.y()) == app.window.composer.is_stacked)
        above.setdefault(length, set()).add(app.window.composer.is_stacked)
        assert app.window.composer.is_stacked or field.document().size().height() == 1
        assert field.hasFocus()
    assert all(len(found) == 1 for found in above.values()), "it depends on the text alone"
    assert above[1] == {False} and above[len(text)] == {True}
    app.type("A\nB")
    app.until(lambda: field.geometry().bottom() < button.y())
    app.window.resize(1300, 500)
    app.type(text)
    app.until(lambda: field.y() <= button.y() and not app.window.composer.is_stacked)


def test_the_edge_is_soft_only_while_there_is_more_below(start: Start) -> None:
    app = start(ScriptedEngine([answer("word\n\n" * 100)]))
    app.window.show()
    app.ask("One")
    transcript = app.window.transcript
    bar = transcript.verticalScrollBar()
    app.until(lambda: bar.maximum() > 0 and bar.value() == bar.maximum())
    assert transcript.soft_edge.isHidden()
    bar.setValue(0)
    assert transcript.soft_edge.isVisible()
    app.window.resize(app.window.width(), app.window.height() - 40)
    below = transcript.soft_edge.geometry().bottom()
    app.until(lambda: transcript.soft_edge.geometry().bottom() == transcript.viewport().geometry().bottom() and below > 0)


def test_dialogs_scroll_only_if_the_screen_is_too_small(begin: Callable[..., Session]) -> None:
    app = begin()
    app.window.resize(700, 500)
    app.window.dialogs.show_server()
    app.window.dialogs.show_chat_settings()
    most = app.window.screen().availableSize() * SCREEN_SHARE
    for kind in (ServerDialog, ChatSettingsDialog):
        dialog = app.dialog(kind)
        page = dialog.findChild(ScrollingPage)
        app.until(lambda page=page, dialog=dialog: page.verticalScrollBar().maximum() == 0 or dialog.height() == most.height())
        assert page.height() >= min(page.sizeHint().height(), most.height() - 80)
    settings, server = app.dialog(ChatSettingsDialog), app.dialog(ServerDialog)
    assert settings.focusWidget() is settings.form.system
    assert not server.example.verticalScrollBar().isVisible()
