"""Chat settings and presets."""

from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.storage.settings import ChatSettings
from app.views.chat.chat_settings import ChatSettingsDialog, ChatSettingsForm
from app.views.settings.settings_dialog import SettingsDialog
from mlx_engine.contract.requests import Message, Sampling
from tests.app.scripted_engine import PAIR, ScriptedEngine
from tests.app.test_chats_window import Start, chat_with


def test_chat_settings_apply_to_requests_and_are_saved(begin: Start, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    app = begin(ScriptedEngine(pair=replace(PAIR, can_think=True)), data=tmp_path / "data")
    app.window.dialogs.show_chat_settings()
    sheet = app.dialog(ChatSettingsDialog)
    sheet.form.system.setPlainText("Be brief.")
    sheet.form.numbers["temperature"].setValue(0.7)
    sheet.form.numbers["min_p"].setValue(0.05)
    sheet.form.numbers["top_k"].setValue(40)
    sheet.form.seed.setText("42")
    sheet.form.numbers["max_tokens"].setValue(64)
    sheet.form.thinking.setChecked(True)
    assert sheet.form.preset.currentText() == "Custom"
    sheet.accept()
    app.ask("One")
    request = app.engine.requests[-1]
    assert request.messages == (Message("system", "Be brief."), Message("user", "One"))
    assert (request.sampling, request.seed) == (Sampling(temperature=0.7, min_p=0.05, top_k=40), 42)
    assert (request.max_tokens, request.thinking) == (64, True)
    one = app.session.chat.id
    chat_with(app, "Two")
    assert app.engine.requests[-1].messages == (Message("user", "Two"),) and app.engine.requests[-1].seed is None
    app.session.open_chat(one)
    app.until(lambda: app.session.chat.id == one)
    app.window.dialogs.show_chat_settings()
    sheet = app.dialog(ChatSettingsDialog)
    assert sheet.form.system.toPlainText() == "Be brief." and sheet.form.seed.text() == "42"
    sheet.form.reset.click()
    assert app.session.chat.settings == ChatSettings(thinking=True)
    sheet.accept()
    app.quit()
    again = begin(data=tmp_path / "data")
    again.until(lambda: bool(again.session.chat.turns))
    assert again.session.chat.settings == ChatSettings(thinking=True)
    assert again.session.chat.turns[0].request.sampling == Sampling(temperature=0.7, min_p=0.05, top_k=40)


def test_presets_are_saved_applied_and_deleted(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    app.window.dialogs.show_chat_settings()
    sheet = app.dialog(ChatSettingsDialog)
    assert sheet.form.preset.currentText() == "Model defaults" and not sheet.form.reset.isEnabled()
    sheet.form.system.setPlainText("In French.")
    monkeypatch.setattr("app.views.chat.chat_settings.QInputDialog.getText", lambda *args: ("Mine", True))
    sheet.form.save_as.click()
    assert sheet.form.preset.currentText() == "Mine" and sheet.form.delete.isVisible()
    sheet.form.preset.setCurrentText("Creative")
    sheet.form.preset.activated.emit(sheet.form.preset.currentIndex())
    assert app.session.chat.settings == ChatSettings(sampling=Sampling(temperature=1.0, min_p=0.05))
    sheet.form.preset.activated.emit(sheet.form.preset.findText("Mine"))
    assert app.session.chat.settings.system == "In French."
    sheet.form.delete.click()
    assert sheet.form.preset.findText("Mine") < 0 and sheet.form.preset.currentText() == "Custom"
    sheet.accept()


def test_a_typed_system_prompt_is_saved_once_and_never_lost(begin: Start, qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    app = begin(data=tmp_path / "data")
    one = chat_with(app, "One")
    app.window.dialogs.show_chat_settings()
    sheet = app.dialog(ChatSettingsDialog)
    saved: list[str] = []
    save = app.library.save
    app.library.save = lambda chat, nodes, then=None: (saved.append(chat.settings.system), save(chat, nodes, then))
    qtbot.keyClicks(sheet.form.system, "Be brief")
    app.until(lambda: bool(saved))
    assert len(saved) < len("Be brief") and app.session.chat.settings.system == "Be brief"
    qtbot.keyClicks(sheet.form.system, ".")
    sheet.accept()
    app.run("new_chat")
    app.session.open_chat(one)
    app.until(lambda: app.session.chat.id == one)
    assert app.session.chat.settings.system == "Be brief."
    app.session.change(dflash=False)
    app.quit()
    again = begin(data=tmp_path / "data")
    again.until(lambda: bool(again.session.chat.turns))
    assert again.session.chat.settings == ChatSettings("Be brief.", dflash=False)


def test_undo_brings_no_system_prompt_of_one_chat_into_another(begin: Start) -> None:
    """A link opens a new chat behind the sheet."""
    app = begin()
    app.ask("One")
    app.window.dialogs.show_chat_settings()
    field = app.dialog(ChatSettingsDialog).form.system
    field.insertPlainText("Be brief.")
    field.selectAll()
    field.cut()
    app.session.new_chat()
    for step in (field.undo, field.undo):
        step()
        assert app.session.chat.settings.system == field.toPlainText() == ""


def test_settings_are_saved_when_their_chat_is_left(begin: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if those of the next chat change before the delay of the save is over."""
    monkeypatch.setattr("app.session.chat_session.SAVE_MS", 120_000)
    app = begin(data=tmp_path)
    one = chat_with(app, "One")
    app.session.change(system="Of one.")
    other = chat_with(app, "Other")
    app.session.change(system="Of the other.")
    app.quit()
    again = begin(data=tmp_path)
    again.until(lambda: bool(again.session.chat.turns))
    for chat, system in ((one, "Of one."), (other, "Of the other.")):
        again.session.open_chat(chat)
        again.until(lambda chat=chat: again.session.chat.id == chat)  # type: ignore[misc]
        assert again.session.chat.settings.system == system


@pytest.mark.parametrize("typed", ["abc", "-1", "1.5", "١", str(2**64), "9" * 5000])
def test_invalid_seeds_are_rejected(begin: Start, qtbot: QtBot, typed: str) -> None:
    """An empty field means a random one; so must nothing else."""
    app = begin(loaded=False)
    app.window.dialogs.show_chat_settings()
    seed = app.dialog(ChatSettingsDialog).form.seed
    seed.insert(typed)
    assert seed.text() == "" and app.session.chat.settings.seed is None
    seed.insert(str(2**64 - 1))
    assert app.session.chat.settings.seed == 2**64 - 1


def test_new_chats_begin_with_their_own_defaults_and_others_keep_theirs(begin: Start, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    app = begin(data=tmp_path / "data")
    old = chat_with(app, "One")
    app.window.dialogs.show_settings("chats")
    form = app.dialog(SettingsDialog).findChild(ChatSettingsForm)
    form.system.setPlainText("Be brief.")
    form.numbers["temperature"].setValue(0.7)
    assert app.session.chat.settings.system == ""
    app.session.change(dflash=False)
    app.run("new_chat")
    expected = ChatSettings("Be brief.", Sampling(temperature=0.7), dflash=False)
    assert app.session.chat.settings == expected
    form.system.setPlainText("Be very brief.")
    assert app.session.chat.settings.system == "Be very brief."  # nothing has been sent yet
    app.session.set_settings(replace(app.session.chat.settings, system="My own"))
    form.system.setPlainText("Be polite.")
    assert app.session.chat.settings.system == "My own"
    app.session.open_chat(old)
    app.until(lambda: app.session.chat.id == old)
    assert app.session.chat.settings.system == ""
    app.quit()
    again = begin(data=tmp_path / "data")
    again.run("new_chat")
    assert again.session.chat.settings.system == "Be polite."
    again.window.dialogs.show_settings("chats")
    again.window.dialogs.find(SettingsDialog).findChild(ChatSettingsForm).reset.click()
    assert again.session.chat.settings.system == ""
    again.services.preferences.file.setValue("new_chats", "not JSON")
    assert again.services.preferences.new_chats == ChatSettings()


def test_numbers_do_not_touch_the_border_of_their_field_and_fields_are_equally_wide(begin: Start) -> None:
    app = begin()
    app.window.dialogs.show_chat_settings()
    boxes = app.dialog(ChatSettingsDialog).form.numbers.values()
    for box in boxes:
        assert box.lineEdit().textMargins().left() >= 4
    assert len({box.width() for box in boxes}) == 1


def test_the_system_prompt_has_the_same_number_of_lines_at_every_text_size(begin: Start) -> None:
    app = begin(loaded=False)
    app.window.dialogs.show_chat_settings()
    sheet = app.dialog(ChatSettingsDialog)
    field = sheet.form.system
    lines = field.height() // field.fontMetrics().lineSpacing()
    app.theme.set_text_size(30)
    assert field.height() // field.fontMetrics().lineSpacing() == lines
