"""The chat list shows the library, row by row."""

import json
import random
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, QRect, Qt, QTimer
from PySide6.QtGui import QCursor, QDropEvent
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.storage.chat_tree import Chat
from app.storage.project import Project
from app.storage.store import ChatSummary
from app.system.appearance import DEFAULT_TEXT_SIZE
from app.views.sidebar.chat_list import ID, ChatList
from app.views.sidebar.chat_sections import day_section, sections
from tests.app.conftest import Begin, Session, Start
from tests.app.scripted_engine import ScriptedEngine, answer, commit, done
from tests.app.test_chats_window import chat_with, rows


def test_the_list_matches_the_library_after_every_change(begin: Begin) -> None:
    app = begin(loaded=False)
    listed, library, draw = app.sidebar.list, app.library, random.Random(5)
    library.projects = {one: Project(one, f"Project {one}", 0.0) for one in ("f", "g")}
    now = time.time()
    for step in range(300):
        known, kind = (
            list(library.entries),
            draw.choice(["new", "new", "title", "changed", "project", "pinned", "archived", "gone"]),
        )
        one = draw.choice(known) if known and kind != "new" else f"chat {step}"
        if kind == "gone":
            library.entries.pop(one, None)
        else:
            old = library.entries.get(one, ChatSummary(one, f"Title {step}", now, now - draw.choice([0, 1, 3, 40]) * 86_400))
            fresh = {
                "title": f"Again {step}",
                "changed": now + step,
                "project": draw.choice(["", "f", "g"]),
                "pinned": not old.pinned,
                "archived": not old.archived,
            }
            library.entries[one] = replace(old, **{kind: fresh[kind]}) if kind in fresh else old
        library.changed.emit()
        expected = sections(library.entries.values(), library.projects.values(), time.time())
        names = {each: [entry.title for entry in each.chats] or ["No chats yet"] * bool(each.project) for each in expected}
        assert rows(app) == [row for each in expected for row in (f"[{each.title}]", *names[each])]
        assert all(listed.index_of(one).data(ID) == one for one in library.entries)
        if step % 30:
            continue
        theme = app.theme
        theme.set_text_size(20 if step == 150 else theme.text_pixels)
        for number, section in enumerate(expected):
            heading = listed.model().index(number, 0)
            extra = 0 if section.project else 8 if number else -4
            inside = [listed.model().index(row, 0, heading) for row in range(listed.model().rowCount(heading))]
            heights = [listed.sizeHintForIndex(index).height() - theme.row_height() for index in (heading, *inside)]
            assert heights == [extra, *[0] * len(inside)]


def test_one_undo_is_offered_at_a_time(begin: Begin, tmp_path: Path) -> None:
    app = begin()
    chat_with(app, "Old")
    library, bar = app.library, app.sidebar.undo_bar
    library.export_chats(list(library.entries), tmp_path / "chats.json")
    app.until(lambda: bool(app.notices))
    library.delete(list(library.entries))
    assert bar.isVisible()
    library.import_file(tmp_path / "chats.json")
    app.until(lambda: len(library.entries) == 1)
    assert bar.isHidden(), "it would undo the import"
    chat_with(app, "First")
    chat_with(app, "Second")
    app.run("delete")
    library.delete([one for one, entry in library.entries.items() if entry.title == "First"])
    assert bar.label.text() == "Deleted “First”"
    bar.button.click()
    assert not bar.isVisible() and "First" in rows(app)
    app.run("undo_delete")
    assert not bar.isVisible() and "Second" in rows(app) and rows(app).count("Old") == 1
    app.run("undo_delete")
    assert not app.can("undo_delete") and rows(app).count("Old") == 2, "the import is not offered again"


def row_center(listed: ChatList, one: str) -> QPoint:
    return listed.visualRect(listed.index_of(one)).center()


def test_several_chats_are_selected_exported_deleted_and_restored(
    start: Start, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = start()
    ids = [chat_with(app, name) for name in ("One", "Two", "Three", "Four")]
    listed, menus, library = app.window.sidebar.list, app.window.menus, app.library
    keys = Qt.KeyboardModifier
    qtbot.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, keys.ShiftModifier, row_center(listed, ids[1]))
    assert listed.selected == [ids[3], ids[2], ids[1]] and app.session.chat.id == ids[3], "a range, which opens nothing"
    qtbot.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, keys.ControlModifier, row_center(listed, ids[2]))
    assert listed.selected == [ids[3], ids[1]]
    library.rename(ids[0], "Uno")
    assert listed.selected == [ids[3], ids[1]], "a change of the list keeps the selection"
    assert menus["delete"].text() == "&Delete 2 Chats" and not menus["rename"].isEnabled() and not menus["pin"].isEnabled()
    monkeypatch.setattr("app.window.chat_files.ask_save_path", lambda *_: tmp_path / "two.json")
    menus["export"].trigger()
    app.until(lambda: (tmp_path / "two.json").exists())
    assert {chat["id"] for chat in json.loads((tmp_path / "two.json").read_text())["chats"]} == {ids[3], ids[1]}
    qtbot.keyClick(listed, Qt.Key.Key_Delete)
    assert set(library.entries) == {ids[0], ids[2]} and app.window.sidebar.undo_bar.label.text() == "Deleted 2 chats"
    menus["undo_delete"].trigger()
    assert set(library.entries) == set(ids)
    for key in (keys.NoModifier, keys.ControlModifier):
        qtbot.mouseClick(listed.viewport(), Qt.MouseButton.LeftButton, key, row_center(listed, ids[0]))
    assert listed.selected == []
    qtbot.keyClick(listed, Qt.Key.Key_Delete)
    assert set(library.entries) == set(ids), "a row that was deselected isn't deleted"


def test_shift_and_arrow_keys_select_without_opening(start: Start, qtbot: QtBot) -> None:
    app = start()
    ids = [chat_with(app, name) for name in ("One", "Two", "Three")]
    listed = app.window.sidebar.list
    app.run("focus_list")
    qtbot.keyClick(listed, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(listed, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert listed.selected == ids[::-1] and not any(timer.isActive() for timer in listed.findChildren(QTimer))
    folder = app.library.add_project("Work")
    (menu,) = (menu for menu in app.window.findChildren(QMenu) if menu.title() == "Move t&o Project")
    menu.aboutToShow.emit()
    next(action for action in menu.actions() if action.text() == "Work").trigger()
    assert {entry.project for entry in app.library.entries.values()} == {folder.id}
    qtbot.keyClick(listed, Qt.Key.Key_Up)
    assert len(listed.selected) == 1


def test_a_new_chat_is_the_only_selected_one_whatever_key_is_held(start: Start, qtbot: QtBot) -> None:
    app = start()
    listed, field = app.window.sidebar.list, app.window.composer.field
    chat_with(app, "One")
    for held in (Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier):
        qtbot.keyClick(field, Qt.Key.Key_F12, held)
        app.run("new_chat")
        assert QApplication.keyboardModifiers() == held and listed.selected == [] and listed.current == ("", "")
        app.ask("Two")
        assert listed.selected == [app.session.chat.id] and listed.current == ("chat", app.session.chat.id)


def test_the_row_under_the_pointer_is_hovered_and_its_button_opens_its_menu(start: Start, qtbot: QtBot) -> None:
    app = start()
    theme = app.theme
    first, second = chat_with(app, "First"), chat_with(app, "Second")
    listed, opened = app.window.sidebar.list, app.session.chat.id
    (other,) = {first, second} - {opened}

    def hovered(chat: str) -> bool:
        """Return whether the row has a background, which the open chat's row always has."""
        point = row_center(listed, chat)
        return listed.viewport().grab(QRect(14, point.y() - 4, 1, 1)).toImage() != blank

    QCursor.setPos(app.window.composer.mapToGlobal(QPoint(5, 5)))
    app.until(lambda: not listed.more.isVisible())
    blank = listed.viewport().grab(QRect(14, row_center(listed, other).y() - 4, 1, 1)).toImage()
    assert hovered(opened) and not hovered(other)
    qtbot.mouseMove(listed.viewport(), row_center(listed, other))
    app.until(lambda: hovered(other))
    theme.set_text_size(2 * DEFAULT_TEXT_SIZE)
    app.until(lambda: not listed.visualRect(listed.index_of(other)).contains(listed.viewport().mapFromGlobal(QCursor.pos())))
    assert hovered(opened) and not hovered(other)
    theme.set_text_size(DEFAULT_TEXT_SIZE)
    QCursor.setPos(app.window.composer.mapToGlobal(QPoint(5, 5)))
    app.until(lambda: not listed.more.isVisible())
    qtbot.mouseMove(listed.viewport(), row_center(listed, first))
    app.until(listed.more.isVisible)
    assert listed.more.accessibleName() == "Actions for “First”" and listed.more.geometry().contains(
        listed.more.geometry().center().x(), row_center(listed, first).y()
    )
    qtbot.mouseClick(listed.more, Qt.MouseButton.LeftButton)
    (menu,) = listed.findChildren(QMenu)
    assert app.window.menus["rename"] in menu.actions() and app.window.commands.target == ("chat", first)
    menu.close()
    QApplication.sendEvent(listed.viewport(), QEvent(QEvent.Type.Leave))
    app.window.composer.focus()
    app.until(lambda: not listed.more.isVisible())
    app.run("focus_list")
    app.until(listed.more.isVisible)
    qtbot.keyClick(listed.more, Qt.Key.Key_Space)
    app.until(lambda: any(menu.isVisible() for menu in listed.findChildren(QMenu)))
    QCursor.setPos(app.window.composer.mapToGlobal(QPoint(5, 5)))  # so that the next test can move the pointer here


def test_a_pinned_chat_stays_at_the_top_over_restarts(begin: Begin, tmp_path: Path) -> None:
    app = begin(data=tmp_path)
    old, new = chat_with(app, "Old"), chat_with(app, "New")
    app.session.open_chat(old)
    app.until(lambda: app.session.chat.id == old)
    pin = app.commands["pin"]
    assert pin.plain_text == "Pin Chat"
    app.run("pin")
    assert pin.plain_text == "Unpin Chat"
    app.run("new_chat")
    assert not app.can("pin") and pin.plain_text == "Pin Chat", "a chat without messages isn't listed"
    newest = chat_with(app, "Newest")
    app.quit()
    again = begin(data=tmp_path)
    again.until(lambda: len(again.library.entries) == 3)

    def listed() -> list[str]:
        return [chat.id for section in sections(again.library.entries.values(), (), time.time()) for chat in section.chats]

    assert listed() == [old, newest, new]
    again.session.open_chat(old)
    again.until(lambda: again.session.chat.id == old)
    again.run("pin")
    assert listed() == [newest, new, old]


def test_the_pin_button_pins_the_chat_of_its_row(start: Start, qtbot: QtBot) -> None:
    app = start()
    first = chat_with(app, "First")
    listed, library = app.window.sidebar.list, app.library
    app.run("focus_list")
    app.until(listed.pin.isVisible)
    assert listed.pin.accessibleName() == "Pin “First”"
    qtbot.keyClick(listed, Qt.Key.Key_Tab)
    assert listed.pin.hasFocus()
    qtbot.keyClick(listed.pin, Qt.Key.Key_Space)
    assert rows(app) == ["[Pinned]", "First"] and listed.pin.accessibleName() == "Unpin “First”"
    assert listed.pin.hasFocus(), "although its row has moved"
    second = chat_with(app, "Second")
    qtbot.mouseMove(listed.viewport(), row_center(listed, first))
    app.until(lambda: listed.pin.accessibleName() == "Unpin “First”")
    assert not listed.pin.geometry().intersects(listed.more.geometry())
    qtbot.mouseClick(listed.pin, Qt.MouseButton.LeftButton)
    assert rows(app) == ["[Today]", "Second", "First"]
    assert app.session.chat.id == second and listed.selected == [second], "only the pin has changed"
    library.delete([first, second])  # the undo bar resizes the list before it is refreshed
    assert listed.pin.isHidden()
    QCursor.setPos(app.window.composer.mapToGlobal(QPoint(5, 5)))  # so that the next test can move the pointer here


def test_all_chats_are_deleted_after_a_question_and_can_be_restored(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start()
    assert not app.can("delete_all")
    ids = {chat_with(app, name) for name in ("One", "Two", "Three")}
    asked: list[str] = []
    answers = iter([False, True])
    monkeypatch.setattr(
        "app.window.chat_files.confirm", lambda parent, title, question, action: asked.append(question) or next(answers)
    )
    app.run("delete_all")
    undo = "You can undo this until you quit Slipstream."
    assert set(app.library.entries) == ids and asked[0] == f"All 3 chats will be deleted. {undo}"
    app.library.archive([min(ids)])
    project = app.library.add_project("Bees")
    app.run("delete_all")
    assert asked[1] == f"All 3 chats will be deleted, including the archived ones (1). Projects are kept. {undo}"
    assert project.id in app.library.projects
    assert not app.library.entries and app.session.chat.empty
    app.window.sidebar.undo_bar.button.click()
    assert set(app.library.entries) == ids


def test_undo_brings_a_deleted_chat_back_unless_the_field_has_changes(start: Start, qtbot: QtBot) -> None:
    app = start()
    one = chat_with(app, "One")
    field, listed, bar, library = app.window.composer.field, app.sidebar.list, app.sidebar.undo_bar, app.library

    def press_undo(widget: QWidget) -> None:
        widget.setFocus()
        qtbot.keyClick(widget, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)

    for focused in (listed, field):
        library.delete([one])
        field.document().clearUndoRedoStacks()
        press_undo(focused)
        assert one in library.entries and bar.isHidden()
    library.delete([one])
    field.setFocus()
    qtbot.keyClicks(field, "Hello")
    press_undo(field)
    assert not field.toPlainText() and one not in library.entries, "the text is undone first"
    bar.hide()
    field.document().clearUndoRedoStacks()
    press_undo(field)
    assert one not in library.entries, "it is not offered any more"


def test_a_new_chat_and_one_that_moves_up_are_scrolled_to(begin: Begin) -> None:
    """With a long list scrolled down, the open chat was out of sight."""
    app = begin()
    library, listed = app.library, app.sidebar.list
    old = chat_with(app, "Old")
    now = time.time()
    for number in range(80):
        library.entries[f"chat {number}"] = ChatSummary(f"chat {number}", f"Title {number}", now, now - 86_400 * number)
    library.entries[old] = replace(library.entries[old], changed=now - 86_400 * 79)
    library.changed.emit()
    bar = listed.verticalScrollBar()

    def in_view(one: str) -> bool:
        return listed.viewport().rect().contains(row_center(listed, one))

    bar.setValue(bar.maximum())
    place = bar.value()
    library.rename("chat 3", "Another title")
    assert bar.value() == place, "other chats don't scroll the list"
    app.ask("Moves up")
    assert listed.chat_ids()[0] == old and in_view(old)
    bar.setValue(bar.maximum())
    assert in_view(chat_with(app, "New"))


def test_the_list_says_that_it_is_empty_only_once_it_is_read(begin: Begin) -> None:
    """A library of a thousand chats began with “No chats yet”."""
    app = begin(loaded=False)
    assert app.sidebar.empty.text() == ""
    app.load()
    app.until(lambda: app.sidebar.empty.text() == "No chats yet")


def long_list(session: Session, monkeypatch: pytest.MonkeyPatch, length: int = 1000) -> ChatList:
    """Return a focused list with three chats a day. The first chat is alone in its section."""
    library, now = session.library, time.time()
    for number in range(length):
        library.entries[f"c{number}"] = ChatSummary(
            f"c{number}", f"Title {number}", now, now - 86_400 * (number / 3 + 1) * (number > 0)
        )
    monkeypatch.setattr(ChatList, "hasFocus", lambda self: True)
    return ChatList(session.theme, session.session, session.library, session.reply_runner, session.services.new_replies)


@pytest.mark.parametrize("gone", [["c0"], ["c500"], [f"c{number}" for number in range(200, 300)]])
def test_a_change_touches_only_its_rows(begin: Begin, gone: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleting one of a thousand chats built all rows again, and named the day of each."""
    session = begin(loaded=False)
    library, listed, touched, named = session.library, long_list(session, monkeypatch), [0], [0]

    def name(at: float, now: float) -> tuple[str, float]:
        named[0] += 1
        return day_section(at, now)

    def count(parent: object, first: int, last: int) -> None:
        touched[0] += last - first + 1

    monkeypatch.setattr("app.views.sidebar.chat_sections.day_section", name)
    model = listed.model()
    for signal in (model.rowsInserted, model.rowsRemoved):
        signal.connect(count)
    model.modelReset.connect(lambda: touched.append(-1))
    library.delete(gone)
    library.undo()
    headings = model.rowCount()
    assert touched[0] <= 2 * (len(gone) + 5) and len(touched) == 1, "with the headings of days that became empty"
    assert named[0] <= 4 * headings
    assert listed.chat_ids() == [f"c{number}" for number in range(1000)]
    assert all(listed.index_of(one).data(ID) == one for one in library.entries)
    listed.deleteLater()


def test_a_layout_of_many_rows_calls_no_python(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Qt asks for the size of every row after each deletion. A thousand calls took half of its time."""
    session, called = begin(loaded=False), list[str]()
    listed = long_list(session, monkeypatch)
    session.library.delete(["c500"])
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    listed.doItemsLayout()
    sys.setprofile(None)
    listed.deleteLater()
    assert called == []


def test_deleting_goes_to_the_next_row_and_undo_back(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    session = begin(loaded=False)
    library, listed, draw = session.library, long_list(session, monkeypatch, 20), random.Random(7)
    for _ in range(10):
        ids = listed.chat_ids()
        at = draw.randrange(len(ids))
        gone = ids[at : at + draw.choice([1, 1, 3])]
        listed.select_rows(gone)
        library.delete(gone)
        after = [*ids[at + len(gone) :], *reversed(ids[:at])]
        assert listed.current == ("chat", after[0]), "the row below, or above the end"
        if draw.random() < 0.5:
            library.undo()
            assert listed.selected == gone and listed.chat_ids() == ids
    listed.deleteLater()


def test_a_deleted_open_chat_leaves_the_keyboard_at_the_next_row(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    session = begin()
    listed = long_list(session, monkeypatch, 0)
    ids = []
    for name in ("One", "Two", "Three"):
        session.session.new_chat()
        session.ask(name)
        ids.insert(0, session.session.chat.id)
    session.session.open_chat(ids[1])
    session.until(lambda: session.session.chat.id == ids[1])
    session.library.delete([ids[1]])
    assert session.session.chat.empty and listed.current == ("chat", ids[2])
    session.library.undo()
    session.until(lambda: session.session.chat.id == ids[1])
    assert listed.current == ("chat", ids[1]) and listed.chat_ids() == ids
    listed.deleteLater()


def test_a_restored_chat_moves_up_when_it_grows(begin: Begin) -> None:
    app = begin()
    one, other = chat_with(app, "One"), chat_with(app, "Other")
    app.library.delete([one])
    app.library.undo()
    app.session.open_chat(one)
    app.until(lambda: app.session.chat.id == one)
    app.ask("More")
    assert app.library.entries[one].changed == app.session.chat.changed > app.library.entries[other].changed


def test_only_chats_that_are_dragged_from_the_list_move_to_a_project(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    chats = [chat_with(app, "One"), chat_with(app, "Two")]
    folder, listed = app.library.add_project("Project"), app.sidebar.list
    listed.select_rows(chats)
    at = QPointF(listed.visualRect(listed.index_of(folder.id)).center())
    for source, expected in ((None, ""), (app.sidebar, ""), (listed, folder.id)):
        event = QDropEvent(at, Qt.DropAction.MoveAction, QMimeData(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        monkeypatch.setattr(QDropEvent, "source", lambda event, source=source: source)  # Qt knows none, as nothing is dragged
        listed.dropEvent(event)
        assert [app.library.entries[chat].project for chat in chats] == [expected, expected]


def test_a_new_reply_is_marked_until_its_chat_is_opened(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([answer("Other."), [commit("First "), gate, commit("whole."), done()]]))
    listed = app.sidebar.list

    def mark(chat: Chat) -> tuple[str, str]:
        index = listed.index_of(chat.id)
        return listed.describe(index).mark, index.data(Qt.ItemDataRole.AccessibleTextRole)

    app.ask("Other?")
    other = app.session.chat
    app.session.new_chat()
    app.send("One")
    chat = app.session.chat
    app.until(lambda: chat.turns[0].reply.answer == "First ")
    app.session.open_chat(other.id)
    app.until(lambda: app.session.chat.id == other.id)
    assert (mark(chat), mark(other)) == (("ring", "One"), ("", "Other?"))
    gate.set()
    app.idle()
    assert (mark(chat), mark(other)) == (("dot", "One, new reply"), ("", "Other?"))
    app.library.rename(chat.id, "Uno")
    assert mark(chat) == ("dot", "Uno, new reply")
    app.session.open_chat(chat.id)
    app.until(lambda: app.session.chat.id == chat.id)
    assert mark(chat) == ("", "Uno")


def test_the_mark_of_a_new_reply_survives_a_restart(begin: Begin, tmp_path: Path) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([[commit("Later"), gate, done()]]), data=tmp_path)
    app.send("One")
    app.until(lambda: app.activity.replying_here)
    chat = app.session.chat.id
    app.session.new_chat()
    gate.set()
    app.until(lambda: chat in app.services.new_replies)
    app.quit()
    again = begin(data=tmp_path)
    again.until(lambda: chat in again.library.entries)
    assert chat in again.services.new_replies
    again.session.open_chat(chat)
    again.until(lambda: again.session.chat.id == chat)
    assert chat not in again.services.new_replies
