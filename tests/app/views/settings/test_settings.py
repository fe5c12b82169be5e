"""Settings: the table, the Settings window, and their effect on every screen."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QAbstractAnimation, QPoint, QSettings, Qt
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QDialog,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSlider,
    QStackedWidget,
    QStyle,
    QWidget,
)
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.rendering.code_view import CodeView
from app.session.preferences import SETTINGS, Preferences
from app.storage.settings import ChatSettings
from app.system.appearance import DEFAULT_TEXT_SIZE, TEXT_SIZES
from app.text.language import VARIABLE, use
from app.views.chat.chat_settings import ChatSettingsDialog
from app.views.chat.project_settings import ProjectSettingsDialog
from app.views.server.server_dialog import ServerDialog
from app.views.settings.settings_dialog import DEFAULT_SIZE, MOST_HEIGHT, SettingsDialog, pane_names
from app.widgets.colors import DARK_CONTRAST
from app.widgets.controls import ElidedButton, IconButton
from app.widgets.layout import SCREEN_SHARE
from app.widgets.theme import Theme
from app.widgets.toggle import Switch
from mlx_engine.mcp.config import ServerConfig
from tests.app.conftest import Start
from tests.app.scripted_engine import ScriptedEngine, answer


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    theme = Theme(qapp)
    yield theme
    theme.set_appearance("system")
    theme.set_text_size(DEFAULT_TEXT_SIZE)
    theme.deleteLater()


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QSettings:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # where Offline is kept
    return QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)


def test_settings_take_effect_at_once_and_after_a_restart(theme: Theme, settings: QSettings, qapp: QApplication) -> None:
    preferences = Preferences(theme, settings)
    preferences.appearance = "dark"
    preferences.contrast = "high"
    preferences.text_size = 18
    preferences.reduce_motion = True
    assert theme.colors is DARK_CONTRAST and theme.text_pixels == 18 and not theme.animates
    settings.sync()
    again = Theme(qapp)
    read = Preferences(again, QSettings(settings.fileName(), QSettings.Format.IniFormat))
    assert (read.appearance, read.contrast, read.text_size, read.reduce_motion) == ("dark", "high", 18, True)
    assert again.colors is DARK_CONTRAST


@pytest.mark.parametrize("size", ["", "nonsense", "-4", "9999999", "9" * 5000, "15.5", "٣"])
def test_invalid_values_in_the_settings_file_become_defaults(theme: Theme, settings: QSettings, size: str) -> None:
    settings.setValue("appearance", "purple")
    settings.setValue("contrast", "7")
    settings.setValue("text_size", size)
    preferences = Preferences(theme, settings)
    assert preferences.appearance == "system" and preferences.contrast == "system"
    assert TEXT_SIZES[0] <= preferences.text_size <= TEXT_SIZES[-1]


def test_text_size_stays_within_its_range(theme: Theme, settings: QSettings) -> None:
    preferences = Preferences(theme, settings)
    for _ in range(20):
        preferences.larger_text()
    assert theme.text_pixels == TEXT_SIZES[-1]
    for _ in range(20):
        preferences.smaller_text()
    assert theme.text_pixels == TEXT_SIZES[0]
    preferences.reset_text_size()
    assert theme.text_pixels == DEFAULT_TEXT_SIZE


def test_all_text_of_the_window_follows_the_text_size(start: Start) -> None:
    app = start(ScriptedEngine([answer("Some words.\n\n```python\nprint(1)\n```")]))
    app.ask("Go")
    window = app.window
    window.dialogs.show_settings()

    def sizes() -> dict[str, int]:
        return {
            "name": window.top_bar.name.font().pixelSize(),
            "switch": window.top_bar.dflash.font().pixelSize(),
            "field": window.composer.field.font().pixelSize(),
            "chip": app.reply.stats.chip.font().pixelSize(),
            "text": app.reply.blocks.entries[0].view.document().defaultFont().pixelSize(),
            "code": app.reply.blocks.findChildren(CodeView)[0].findChild(QPlainTextEdit).font().pixelSize(),
            "row": window.sidebar.list.sizeHintForIndex(window.sidebar.list.model().index(0, 0)).height(),
        }

    before, height = sizes(), app.reply.height()
    window.services.preferences.text_size = 24
    app.until(lambda: app.reply.height() > height)
    after = sizes()
    for name in before:
        assert 1.4 <= after[name] / before[name] <= 1.8, (name, before[name], after[name])


def test_all_text_has_the_size_that_was_set_before_and_dialogs_leave_a_part_of_the_screen_free(start: Start) -> None:
    app = start(loaded=False)
    app.theme.set_text_size(30)
    app.window.resize(700, 500)
    app.load()
    sized = [widget for widget in app.window.findChildren(QWidget) if widget.property("text_share") is not None]
    wrong = [one.accessibleName() for one in sized if one.font().pixelSize() != round(30 * one.property("text_share"))]
    assert sized and wrong == []
    dialogs = app.window.dialogs
    for show in (dialogs.show_report, dialogs.show_about, dialogs.show_this_mac, dialogs.show_chat_settings):
        show()
    for dialog in app.window.findChildren(QDialog):
        screen = dialog.screen().availableSize()
        assert dialog.width() <= screen.width() and dialog.height() <= screen.height() * SCREEN_SHARE, type(dialog).__name__


def test_the_settings_window_and_the_menus_stay_in_step(start: Start) -> None:
    app = start()
    dialog = SettingsDialog(app.theme, app.services.preferences, {})
    app.services.preferences.appearance = "dark"
    app.services.preferences.larger_text()
    appearance, contrast = dialog.fields["appearance"], dialog.fields["contrast"]
    assert isinstance(appearance, QComboBox) and isinstance(contrast, QComboBox)
    assert appearance.currentText() == "Dark" and dialog.size_label.text() == "107%"
    contrast.setCurrentIndex(2)
    contrast.activated.emit(2)
    assert app.theme.colors == DARK_CONTRAST
    menus, chosen = app.window.menus, ("appearance:dark", "contrast:high")
    assert [id for id in (*chosen, "appearance:light", "contrast:system") if menus[id].isChecked()] == [*chosen]
    dialog.deleteLater()


def test_every_setting_has_a_row_that_changes_it(theme: Theme, settings: QSettings) -> None:
    preferences = Preferences(theme, settings)
    dialog = SettingsDialog(theme, preferences, {})
    shown = [setting for setting in SETTINGS if setting.pane]
    assert set(dialog.fields) == {setting.key for setting in shown}
    for setting in shown:
        field, before = dialog.fields[setting.key], setting.read(preferences)
        if isinstance(field, Switch):
            field.click()
        elif isinstance(field, QComboBox):
            field.activated.emit(field.count() - 1)
        elif isinstance(field, QSlider):
            field.setValue(0)
        assert setting.read(preferences) != before and field.accessibleName() == setting.label()
    dialog.deleteLater()


def test_a_click_on_a_label_toggles_its_switch(theme: Theme, settings: QSettings, qtbot: QtBot) -> None:
    preferences = Preferences(theme, settings)
    dialog = SettingsDialog(theme, preferences, {})
    qtbot.addWidget(dialog)
    dialog.show()
    labels, left = {label.buddy(): label for label in dialog.findChildren(QLabel)}, Qt.MouseButton.LeftButton
    shown = [(setting, dialog.fields[setting.key]) for setting in SETTINGS if setting.pane]
    for setting, switch in [one for one in shown if isinstance(one[1], Switch)]:
        assert setting.pane
        dialog.show_pane(setting.pane)
        before, label = setting.read(preferences), labels[switch]
        qtbot.mousePress(label, left)
        qtbot.mouseRelease(label, left, pos=QPoint(-1, -1))
        qtbot.mouseClick(label, Qt.MouseButton.RightButton)
        assert setting.read(preferences) == before
        qtbot.mouseClick(label, left)
        assert setting.read(preferences) != before
        switch.setEnabled(False)
        qtbot.mouseClick(label, left)
        assert setting.read(preferences) != before


def test_a_closed_settings_window_does_not_follow_the_text_size(start: Start, request: pytest.FixtureRequest) -> None:
    """A larger text was reported as “Something went wrong in Slipstream”."""
    app = start()
    app.window.dialogs.show_settings()
    gc.disable()  # which might delete the form's Python object in time
    request.addfinalizer(gc.enable)
    dialog = app.dialog(SettingsDialog)
    dialog.close()
    app.until(lambda: not isValid(dialog))
    app.services.preferences.larger_text()


def test_a_new_language_offers_a_restart(theme: Theme, settings: QSettings, qtbot: QtBot) -> None:
    preferences = Preferences(theme, settings)
    dialog = SettingsDialog(theme, preferences, {})
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.show_pane("general")
    assert not dialog.restart.isVisible()
    preferences.language = "de"
    assert dialog.restart.isVisible()
    with qtbot.waitSignal(preferences.restart_requested):
        dialog.restart.click()
    preferences.language = "system"
    assert not dialog.restart.isVisible()


def test_a_setting_without_effect_in_this_build_is_hidden(theme: Theme, settings: QSettings) -> None:
    dialog = SettingsDialog(theme, Preferences(theme, settings), {}, hidden=("look_for_versions",))
    assert "look_for_versions" not in dialog.fields and "language" in dialog.fields
    dialog.deleteLater()


def test_a_switch_does_not_slide_with_reduced_motion(theme: Theme, qtbot) -> None:  # type: ignore[no-untyped-def]
    switch = Switch(theme, "DFlash")
    qtbot.addWidget(switch)
    switch.show()
    off, slide = switch.grab().toImage(), switch.findChild(QAbstractAnimation)
    switch.setChecked(True)
    assert slide.state() == QAbstractAnimation.State.Running
    theme.reduce_motion = True
    switch.setChecked(False)
    assert slide.state() == QAbstractAnimation.State.Stopped and switch.grab().toImage() == off


def test_the_settings_window_grows_for_a_pane_unless_its_size_was_changed(begin: Start) -> None:
    app = begin()
    dialogs = app.window.dialogs
    dialogs.show_settings("advanced")
    dialog = app.dialog(SettingsDialog)
    assert dialog.height() == DEFAULT_SIZE.height() and dialog.maximumHeight() > MOST_HEIGHT
    dialog.show_pane("chats")
    most = min(MOST_HEIGHT, round(dialog.screen().availableSize().height() * SCREEN_SHARE))
    assert dialog.height() == most
    dialog.show_pane("advanced")
    assert dialog.height() == most, "it doesn't jump"
    dialog.resize(dialog.width(), 500)
    dialog.show_pane("chats")
    assert dialog.height() == 500


def test_every_pane_opens_by_keyboard_and_fits(begin: Start, qtbot: QtBot) -> None:
    app = begin()
    app.window.dialogs.show_settings()
    dialog = app.dialog(SettingsDialog)
    assert not dialog.isModal()
    app.services.preferences.text_size = TEXT_SIZES[-1]
    dialog.resize(700, 500)
    assert dialog.list.count() == len(pane_names()) == 8
    stack = dialog.findChild(QStackedWidget)
    for number in range(8):
        area = stack.currentWidget()
        assert isinstance(area, QScrollArea) and stack.currentIndex() == number
        app.until(lambda area=area: area.widget().minimumSizeHint().width() <= area.viewport().width())
        assert dialog.size().width() == 700 and area.widget().findChildren(QWidget)
        qtbot.keyClick(dialog.list, Qt.Key.Key_Down)
    app.window.dialogs.show_settings("models")
    assert app.window.dialogs.find(SettingsDialog) is dialog and dialog.list.currentItem().text() == "Models"


@pytest.mark.parametrize("language", ["en", "de"])
def test_rows_are_as_tall_as_their_text(begin: Start, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Help of one line had room for two, or less than it needed."""
    monkeypatch.delenv(VARIABLE, raising=False)
    use(language)
    app = begin()
    app.window.dialogs.show_settings()
    dialog = app.dialog(SettingsDialog)
    for text_size, width in ((DEFAULT_TEXT_SIZE, 680), (DEFAULT_TEXT_SIZE, 1000), (TEXT_SIZES[-1], 700)):
        app.services.preferences.text_size = text_size
        dialog.resize(width, 500)
        for pane in pane_names():
            dialog.show_pane(pane)
            app.until(lambda: all(label.height() == label.heightForWidth(label.width()) for label in wrapped(dialog)))
    use("en")


def test_what_takes_effect_at_once_is_a_switch(begin: Start) -> None:
    app = begin()
    dialogs = app.window.dialogs
    dialogs.show_settings()
    dialogs.show_chat_settings()
    dialogs.show_project_settings(app.library.add_project("Bees").id)
    dialogs.show_server()
    for kind in (SettingsDialog, ChatSettingsDialog, ProjectSettingsDialog, ServerDialog):
        dialog = app.dialog(kind)
        assert dialog.findChildren(Switch) and not dialog.findChildren(QCheckBox)


def wrapped(dialog: QDialog) -> list[QLabel]:
    return [label for label in dialog.findChildren(QLabel) if label.isVisible() and label.wordWrap()]


def test_controls_grow_with_the_text(qtbot, theme: Theme) -> None:  # type: ignore[no-untyped-def]
    name, plain = (ElidedButton("Models", "pair", opens_menu=opens) for opens in (True, False))
    controls = (Switch(theme, ""), IconButton(theme, "new", "New"), name, QCheckBox(), QSlider(Qt.Orientation.Horizontal))
    for control in (*controls, plain):
        qtbot.addWidget(control)
        control.show()

    def sizes() -> list[int]:
        box = controls[3]
        indicator = box.style().pixelMetric(QStyle.PixelMetric.PM_IndicatorHeight, None, box)
        chevron = name.sizeHint().width() - plain.sizeHint().width()
        return [*(control.sizeHint().height() for control in controls), chevron, indicator]

    theme.set_text_size(DEFAULT_TEXT_SIZE)
    before = sizes()
    theme.set_text_size(2 * DEFAULT_TEXT_SIZE)
    assert [round(after / old, 1) for after, old in zip(sizes(), before, strict=True) if after < 1.5 * old] == []


def test_all_settings_can_be_reset(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    preferences = app.services.preferences
    preferences.appearance, preferences.text_size, preferences.new_chats = "dark", 18, ChatSettings("Be brief.")
    app.tools.put(ServerConfig("notes", command="notes-server"))
    asked: list[str] = []
    monkeypatch.setattr("app.window.dialogs.confirm", lambda *texts: asked.extend(texts[1:3]) or True)
    app.window.dialogs.show_settings("advanced")
    dialog = app.dialog(SettingsDialog)
    next(one for one in dialog.findChildren(QPushButton) if one.text() == "Reset…").click()
    title, question = asked
    assert title == "Reset All Settings?" and "tool servers" in question
    assert "notes" in app.tools.status
    assert (preferences.appearance, preferences.text_size, preferences.new_chats) == ("system", DEFAULT_TEXT_SIZE, ChatSettings())
    assert app.theme.text_pixels == DEFAULT_TEXT_SIZE
