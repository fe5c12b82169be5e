"""Archived chats: listed apart, found by searches, exported with their mark, and restored by Undo."""

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt
from PySide6.QtGui import QDropEvent
from pytestqt.qtbot import QtBot

from app.views.sidebar.chat_sections import ARCHIVE
from tests.app.conftest import Begin, Session, Start
from tests.app.test_chats_window import chat_with, rows


def archived(app: Session) -> list[str]:
    return sorted(entry.title for entry in app.library.entries.values() if entry.archived)


def test_chats_are_archived_with_undo_and_taken_back(begin: Begin) -> None:
    app = begin()
    ids = [chat_with(app, title) for title in ("One", "Two", "Three")]
    library, command, bar = app.library, app.commands["archive"], app.sidebar.undo_bar
    library.pin(ids[0], True)
    app.commands.selection = lambda: ("chat", ids[0], ids[:2])
    assert command.plain_text == "Archive"
    app.run("archive")
    assert rows(app) == ["[Today]", "Three", "[Archived]", "Two", "One"]
    assert bar.label.text() == "Archived 2 chats" and command.plain_text == "Unarchive"
    library.undo()
    assert rows(app) == ["[Pinned]", "One", "[Today]", "Three", "Two"]
    app.run("archive")
    app.run("archive")
    assert rows(app) == ["[Today]", "Three", "Two", "One"], "taken back, and no longer pinned"
    library.archive([ids[1]])
    assert bar.label.text() == "Archived “Two”"
    library.delete([ids[1]])
    library.undo()
    assert archived(app) == ["Two"]
    library.undo()
    assert archived(app) == []
    library.archive([ids[1]])
    library.pin(ids[1], True)
    assert archived(app) == [] and rows(app)[:2] == ["[Pinned]", "Two"]


def test_the_archive_is_closed_and_stays_so(start: Start, qtbot: QtBot) -> None:
    app = start()
    first, second = chat_with(app, "First"), chat_with(app, "Second")
    listed = app.window.sidebar.list
    app.run("focus_list")
    assert listed.current == ("chat", second)
    app.run("archive")
    heading = listed.index_of(ARCHIVE)
    assert not listed.isExpanded(heading), "although the archived chat is open"
    assert listed.current == ("chat", first) and app.session.chat.id == second
    app.run("next_chat")
    app.until(lambda: app.session.chat.id == first)
    app.run("next_chat")
    assert app.session.chat.id == first, "archived chats are left out"
    app.ask("More")
    assert not listed.isExpanded(listed.index_of(ARCHIVE))
    app.run("focus_list")
    qtbot.keyClick(listed, Qt.Key.Key_Down)
    assert listed.current == ("archive", ARCHIVE)
    assert all(app.commands[one].can() is not None for one in ("delete", "rename", "archive"))
    qtbot.keyClick(listed, Qt.Key.Key_Delete)
    qtbot.keyClick(listed, Qt.Key.Key_Return)
    assert listed.isExpanded(listed.index_of(ARCHIVE)) and set(app.library.entries) == {first, second}
    qtbot.keyClick(listed, Qt.Key.Key_Down)
    app.until(lambda: app.session.chat.id == second)
    app.run("archive")
    assert archived(app) == [] and not listed.index_of(ARCHIVE).isValid()


def test_chats_are_dragged_into_the_archive_and_out_of_it(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    chat, other = chat_with(app, "Chat"), chat_with(app, "Other")
    project, listed = app.library.add_project("Work"), app.sidebar.list
    app.library.archive([other])
    listed.expand(listed.index_of(ARCHIVE))
    monkeypatch.setattr(QDropEvent, "source", lambda event: listed)  # Qt knows none, as nothing is dragged
    for on, expected, place in ((ARCHIVE, ["Chat", "Other"], ""), (project.id, ["Other"], project.id)):
        listed.select_rows([chat])
        at = QPointF(listed.visualRect(listed.index_of(on)).center())
        keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        listed.dropEvent(QDropEvent(at, Qt.DropAction.MoveAction, QMimeData(), *keys))
        assert archived(app) == expected and app.library.entries[chat].project == place


def test_search_finds_archived_chats_and_opens_them(begin: Begin) -> None:
    app = begin()
    chat = chat_with(app, "A rare word")
    app.session.new_chat()
    app.library.archive([chat])
    sidebar = app.sidebar
    sidebar.search.setText("rare")
    app.until(lambda: bool(sidebar.results.results()))
    row = sidebar.results.results()[0]
    assert row.found.chat.archived
    sidebar.results.open_row(0)
    app.until(lambda: app.session.chat.id == chat)
    assert archived(app) == ["A rare word"]


def test_the_mark_is_stored_exported_and_imported(begin: Begin, tmp_path: Path) -> None:
    app = begin(data=tmp_path)
    chat_with(app, "Kept")
    app.library.archive([chat_with(app, "Away")])
    app.library.export_chats(list(app.library.entries), tmp_path / "chats.json")
    app.until(lambda: bool(app.notices))
    app.ask("More")
    app.quit()
    again = begin(data=tmp_path)
    again.until(lambda: len(again.library.entries) == 2)
    assert archived(again) == ["Away"], "the mark survives saving the chat"
    again.library.delete(list(again.library.entries))
    again.library.import_file(tmp_path / "chats.json")
    again.until(lambda: len(again.library.entries) == 2)
    assert archived(again) == ["Away"]
