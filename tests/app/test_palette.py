"""The command palette: matching, and use by keyboard."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.session.compaction import Compactor
from app.system.appearance import DEFAULT_TEXT_SIZE
from app.window.palette import Palette, palette_commands, rank, score
from tests.app.conftest import Running, Start

letters = st.text("abcN -", max_size=6)


@given(letters, st.text("abcdN -", max_size=20))
def test_letters_match_only_in_order(wanted: str, text: str) -> None:
    def in_order(word: str) -> bool:
        rest = iter(text.casefold())
        return all(letter in rest for letter in word)

    fits = all(in_order(word) for word in wanted.casefold().split())
    assert (score(wanted, text) is not None) == fits


@given(letters, st.lists(st.text("abcdN -", max_size=12)))
def test_ranking_keeps_matches_and_the_order_of_equals(wanted: str, texts: list[str]) -> None:
    found = rank(wanted, texts, lambda text: text)
    fitting = [text for text in texts if score(wanted, text) is not None]
    assert sorted(found) == sorted(fitting)
    if not wanted.strip():
        assert found == texts


def test_starts_of_words_score_higher_than_letters_inside() -> None:
    commands = ["Find in Chat…", "New Chat", "Launch", "New Project", "Rename", "Minimize"]

    def first(wanted: str) -> str:
        return rank(wanted, commands, lambda text: text)[0]

    assert first("nc") == "New Chat"
    assert first("np") == "New Project"
    assert first("ren") == "Rename"
    assert first("find") == "Find in Chat…"
    assert first("chat new") == "New Chat"


def open_palette(app: Running) -> Palette:
    app.window.dialogs.show_palette()
    (palette,) = app.window.findChildren(Palette)
    return palette


def test_commands_chats_and_presets_are_found_and_run_by_keyboard(
    start: Start, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Compactor, "can_compact", True)
    app = start(data=tmp_path)
    palette = open_palette(app)
    found = {command.text: command for command in palette_commands(app.window.commands, app.session, app.library)}
    assert found["New Chat"].keys == "Ctrl+N" and found["New Chat"].where == "File"
    assert found["Dark"].where == "View ▸ Appearance"
    assert "Stop" not in found and "Command Palette…" not in found
    wanted = {"Settings…", "Attach Files…", "Find in Chat…", "DFlash", "Larger Text", "Local Server", "Show Logs"}
    assert wanted | {"Quit Slipstream", "Precise"} <= set(found)
    rows = [palette.list.currentIndex().row()]
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_PageDown):
        qtbot.keyClick(palette.field, key)
        rows.append(palette.list.currentIndex().row())
    assert rows == [0, palette.list.count() - 1, 0, 1, 2, 1, 10]
    for letters, first in (("conn", "Models…"), ("sum", "Compact")):
        palette.field.setText(letters)
        assert palette.shown[0].text == first and not palette.empty.isVisible()
    palette.field.setText("zzzzzz")
    assert palette.shown == [] and palette.empty.isVisible()
    assert palette.empty.text() == "No results for “zzzzzz”"
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    qtbot.keyClick(palette.field, Qt.Key.Key_Escape)
    app.until(lambda: not app.window.findChildren(Palette))

    assert app.session.next_mode == "dflash"
    palette = open_palette(app)
    qtbot.keyClicks(palette.field, "dfl")
    assert palette.shown[0].text == "DFlash"
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert app.session.next_mode == "plain"
    app.until(lambda: not app.window.findChildren(Palette))

    app.ask("Alpha question")
    first = app.session.chat.id
    app.session.new_chat()
    app.ask("Beta question")
    palette = open_palette(app)
    qtbot.keyClicks(palette.field, "alpha")
    assert (palette.shown[0].text, palette.shown[0].where) == ("Alpha question", "Chat")
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    app.until(lambda: app.session.chat.id == first and not app.window.findChildren(Palette))
    palette = open_palette(app)
    qtbot.keyClicks(palette.field, "creative")
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    sampling = app.session.chat.settings.sampling
    assert sampling is not None and sampling.temperature == 1.0


def test_the_palette_is_as_high_as_its_rows(start: Start) -> None:
    app = start(loaded=False)
    for percent, height in ((100, 500), (100, 900), (200, 500), (200, 900)):
        app.theme.set_text_size(DEFAULT_TEXT_SIZE * percent // 100)
        app.window.resize(1000, height)
        app.until(lambda height=height: app.window.height() == height)
        palette = open_palette(app)
        for words in ("", "chat", "zzzzzz", "quit slipstream", "zoom", "s", ""):
            palette.field.setText(words)
            app.until(palette.isVisible)
            QApplication.sendPostedEvents()
            rows = [palette.list.sizeHintForRow(row) for row in range(min(9, palette.list.count()))]
            area = palette.list.viewport().height() if rows else 0
            assert palette.list.isVisible() == bool(rows)
            assert palette.height() == palette.sizeHint().height() <= app.window.height() - 80
            assert area == sum(rows) or (area < sum(rows) and palette.height() == app.window.height() - 80), words
            assert not rows or palette.list.verticalScrollBar().maximum() == 0 or len(palette.shown) > 9 or area < sum(rows)
        palette.reject()
        app.until(lambda: not app.window.findChildren(Palette))
