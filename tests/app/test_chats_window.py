"""Chats in the window: versions, the list, search, undo, saving."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.session.chat_session import ANOTHER_WORDING
from app.storage import wording
from app.storage.settings import ChatSettings
from app.views.sidebar.chat_list import ID, KIND
from app.views.sidebar.search_results import without_markup
from mlx_engine.contract.events import Commit
from mlx_engine.contract.requests import Message, Sampling
from tests.app.conftest import Begin, Session, Start, draw_sidebar, reply_views
from tests.app.scripted_engine import ScriptedEngine, answer, commit, done


def rows(app: Session) -> list[str]:
    """The list as it is read: headings in brackets."""
    model = app.sidebar.list.model()
    found = []
    for top in range(model.rowCount()):
        heading = model.index(top, 0)
        found.append(f"[{heading.data()}]")
        found += [model.index(row, 0, heading).data() for row in range(model.rowCount(heading))]
    return found


def select(app: Session, one: str) -> None:
    app.sidebar.list.setCurrentIndex(app.sidebar.list.index_of(one))


def titles(app: Session) -> list[str]:
    """The titles of the listed chats, without headings."""
    return [entry.title for entry in app.library.entries.values()]


def chat_with(app: Session, *prompts: str) -> str:
    app.run("new_chat")
    for prompt in prompts:
        app.ask(prompt)
    return app.session.chat.id


def click(widget: QWidget, name: str) -> None:
    (found,) = [one for one in widget.findChildren(QAbstractButton) if one.accessibleName() == name and one.isVisible()]
    found.click()


# The tree


def test_a_message_is_edited_and_its_versions_are_shown(start: Start) -> None:
    app = start(ScriptedEngine([answer("First."), answer("Second."), answer("Other.")]))
    composer = app.window.composer
    app.ask("One")
    app.ask("Two")
    app.type("a draft")
    app.run("edit")
    assert composer.editor.field.toPlainText() == "Two" and composer.text == "a draft" and not composer.field.isEnabled()
    composer.editor.cancel_button.click()
    assert composer.text == "a draft" and app.session.editing is None and composer.editor is None
    app.questions[0].edit_button.click()
    assert composer.editor.field.toPlainText() == "One" and app.questions[0].isAncestorOf(composer.editor)
    app.ask("Uno")
    assert app.texts == [("Uno", "Other.")]
    assert app.engine.requests[-1].messages == (Message("user", "Uno"),)
    assert composer.text == "a draft" and composer.editor is None and composer.field.isEnabled()
    prompt = app.questions[0]
    assert prompt.versions.label.text() == "2 of 2"
    click(prompt.versions, "Previous version")
    assert app.texts == [("One", "First."), ("Two", "Second.")]
    assert len(reply_views(app.window.transcript)) == 2
    app.run("next_version")
    assert app.texts == [("Uno", "Other.")]
    click(app.reply, "Regenerate (keeps this reply)")
    app.until(lambda: not app.activity.busy)
    assert app.answer == "Fine." and app.reply.buttons.versions.label.text() == "2 of 2"
    click(app.reply.buttons.versions, "Previous version")
    assert app.answer == "Other." and app.reply.buttons.versions.label.text() == "1 of 2"


@pytest.mark.parametrize(
    ("written", "read"),
    [("has **9** positive", "has 9 positive"), ("## Title `x`", "Title x"), ("a * b # c __init__", "a * b # c __init__")],
)
def test_an_excerpt_has_no_markdown_signs(written: str, read: str) -> None:
    assert without_markup(written) == read


def test_regenerate_adds_a_version_with_a_new_seed(begin: Begin) -> None:
    app = begin(ScriptedEngine([answer("First."), answer("Second.")]))
    app.ask("One")
    app.run("regenerate")
    app.idle()
    assert app.texts == [("One", "Second.")]
    assert [request.messages for request in app.engine.requests] == [(Message("user", "One"),)] * 2
    assert app.engine.requests[1].seed is None
    assert app.session.chat.turns[0].answered.place == (2, 2)
    assert not app.can("next_version"), "the last one is shown"
    app.run("previous_version")
    assert app.texts == [("One", "First.")]
    assert app.can("next_version") and not app.can("previous_version")


def test_regenerate_gives_another_wording_unless_the_user_has_set_a_temperature(begin: Begin) -> None:
    app = begin(ScriptedEngine([answer("First."), answer("Second."), answer("Third.")]))
    app.ask("One")
    for sampling in (None, Sampling()):
        app.session.set_settings(replace(app.session.chat.settings, sampling=sampling))
        app.run("regenerate")
        app.idle()
    assert [request.sampling.temperature for request in app.engine.requests] == [0, ANOTHER_WORDING, 0]


def test_a_reply_that_reached_its_limit_continues_in_place(start: Start) -> None:
    engine = ScriptedEngine([[commit("One, two,", 3), done(reason="length", tokens=3)], [commit(" three.", 2), done(tokens=2)]])
    app = start(engine)
    app.session.set_settings(replace(app.session.chat.settings, max_tokens=3))
    app.ask("Count")
    assert "reached the limit of 3 tokens" in app.reply.stats.facts.text()
    click(app.reply, "Continue this reply")
    app.until(lambda: not app.activity.busy)
    assert app.answer == "One, two, three."
    request = app.engine.requests[1]
    assert (request.continue_from, request.messages, request.seed) == ("One, two,", (Message("user", "Count"),), 7)
    stats = app.session.chat.turns[0].reply.stats
    assert stats.tokens == 5 and stats.decode_tok_s == pytest.approx(512.3) and stats.rounds == 4
    assert not app.reply.buttons.resume.isVisible() and not app.reply.buttons.versions.isVisible()


def test_the_tree_is_restored_after_a_restart(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    app = begin(ScriptedEngine([answer("First."), answer("Second."), answer("Third.")]), data=tmp_path / "data")
    app.ask("One")
    app.run("regenerate")
    app.until(lambda: not app.activity.busy)
    app.run("previous_version")
    app.ask("And then?")
    chat = app.session.chat.id
    app.quit()
    again = begin(data=tmp_path / "data")
    again.until(lambda: again.session.chat.id == chat)
    assert again.texts == [("One", "First."), ("And then?", "Third.")]
    assert again.session.chat.turns[0].last.place == (1, 2)
    assert wording.chip(again.session.chat.turns[0].reply).startswith("DFlash")
    again.ask("More")
    assert [one.content for one in again.engine.requests[-1].messages] == ["One", "First.", "And then?", "Third.", "More"]


def test_a_reply_continues_while_another_chat_is_open(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(ScriptedEngine([answer("Old."), [commit("Half "), gate, commit("whole."), done()], answer("Older.")]))
    old = chat_with(app, "Old?")
    app.run("new_chat")
    app.send("New?")
    app.until(lambda: "Half" in app.answer)
    new = app.session.chat.id
    app.session.open_chat(old)
    app.until(lambda: app.session.chat.id == old)
    assert app.reply_runner.of(new) is not None and app.answer == "Old."
    app.ask("And now?")
    assert app.answer == "Older." and app.notices == []
    gate.set()
    app.until(lambda: not app.activity.busy)
    app.session.open_chat(new)
    app.until(lambda: app.session.chat.id == new)
    assert app.answer == "Half whole."


def test_two_hundred_turns_are_saved_opened_and_continued(begin: Begin) -> None:
    app = begin()
    chat, revealed = app.session.chat, list[str]()
    for number in range(200):
        turn = chat.ask(f"Question {number} <script>alert(1)</script> '; DROP TABLE chat; --", "plain")
        turn.reply.accept(commit(f"Answer {number}"), 0.0)
        turn.reply.accept(done("plain"), 0.0)
    app.library.save(chat, chat.root.below())
    app.run("new_chat")
    del chat, turn
    app.session.turn_revealed.connect(lambda turn, node: revealed.append(turn.reply.answer))
    app.library.search("answer 150", lambda hits: app.session.open_chat(hits[0].chat, hits[0].message))
    app.until(lambda: revealed == ["Answer 150"])
    assert len(app.session.chat.turns) == 200
    app.ask("One more")
    assert len(app.engine.requests[-1].messages) == 401


# The list


def test_the_list_follows_changes_of_chats(begin: Begin) -> None:
    app = begin()
    assert rows(app) == []
    first, second = chat_with(app, "# First *title*"), chat_with(app, "Second")
    assert rows(app) == ["[Today]", "Second", "First *title"]
    library = app.library
    library.rename(first, "  Renamed \n now ")
    assert rows(app) == ["[Today]", "Second", "Renamed now"]
    library.rename(first, "   ")
    app.session.open_chat(first)
    app.until(lambda: app.session.chat.id == first)
    app.run("pin")
    assert rows(app) == ["[Pinned]", "Renamed now", "[Today]", "Second"]
    folder = library.add_project("Work")
    library.move([second], folder.id)
    assert rows(app) == ["[Pinned]", "Renamed now", "[Projects]", "[Work]", "Second"]
    app.run("duplicate")
    app.until(lambda: app.session.chat.title == "Renamed now copy")
    assert app.texts == [("# First *title*", "Fine.")]
    assert rows(app) == ["[Pinned]", "Renamed now", "[Projects]", "[Work]", "Second", "[Today]", "Renamed now copy"]
    library.delete_project(folder.id)
    assert "[Work]" not in rows(app) and "Second" in rows(app)
    app.run("undo_delete")
    assert rows(app)[2:5] == ["[Projects]", "[Work]", "Second"]
    library.move([first], folder.id)
    assert rows(app) == ["[Projects]", "[Work]", "Renamed now", "Second", "[Today]", "Renamed now copy"], "pinned in its project"
    library.delete([first, second])
    assert rows(app) == ["[Projects]", "[Work]", "No chats yet", "[Today]", "Renamed now copy"]


def test_undo_restores_a_deleted_chat(begin: Begin) -> None:
    app = begin()
    kept, gone = chat_with(app, "Kept"), chat_with(app, "Gone")
    app.run("delete")
    assert titles(app) == ["Kept"] and app.session.chat.empty
    assert app.can("undo_delete")
    app.run("undo_delete")
    assert sorted(titles(app)) == ["Gone", "Kept"] and not app.can("undo_delete")
    app.session.open_chat(gone)
    app.until(lambda: app.session.chat.id == gone)
    assert app.texts == [("Gone", "Fine.")]
    assert kept in app.library.entries


def test_a_chat_deleted_during_a_reply_can_be_restored(begin: Begin) -> None:
    app = begin(ScriptedEngine([[commit("Half"), threading.Event()]]))
    app.send("Story")
    app.until(lambda: "Half" in app.answer)
    one = app.session.chat.id
    app.run("delete")
    app.until(lambda: not app.activity.busy)
    assert titles(app) == []
    app.run("undo_delete")
    app.session.open_chat(one)
    app.until(lambda: app.session.chat.id == one)
    assert app.texts == [("Story", "Half")] and app.session.chat.turns[0].reply.reason == "cancelled"


def test_chats_are_opened_renamed_deleted_and_restored_by_keyboard(start: Start, qtbot: QtBot) -> None:
    app = start()
    first, second = chat_with(app, "First"), chat_with(app, "Second")
    listed = app.window.sidebar.list
    app.run("focus_list")
    select(app, second)
    qtbot.keyClick(listed, Qt.Key.Key_Down)
    app.until(lambda: app.session.chat.id == first)  # passing by opens it after a moment
    qtbot.keyClick(listed, Qt.Key.Key_Up)
    qtbot.keyClick(listed, Qt.Key.Key_Return)
    app.until(lambda: app.session.chat.id == second)
    app.run("rename")
    app.until(lambda: bool(listed.findChildren(QLineEdit)))
    (editor,) = listed.findChildren(QLineEdit)
    qtbot.keyClicks(editor, "Better")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    app.until(lambda: rows(app) == ["[Today]", "Better", "First"])
    assert app.window.windowTitle() == "Better"
    app.run("focus_list")
    select(app, first)
    qtbot.keyClick(listed, Qt.Key.Key_Delete)
    assert rows(app) == ["[Today]", "Better"]
    app.run("undo_delete")
    app.run("next_chat")
    app.until(lambda: app.session.chat.id == first)
    app.run("previous_chat")
    app.until(lambda: app.session.chat.id == second)


EDITING = [
    *("Backspace", "Delete", "Cut", "Copy", "Paste", "Undo", "Redo", "SelectAll"),
    *("DeleteStartOfWord", "DeleteEndOfWord", "DeleteEndOfLine", "DeleteCompleteLine"),
    *("MoveToNextWord", "MoveToPreviousWord", "MoveToStartOfLine", "MoveToEndOfLine"),
    *("SelectNextWord", "SelectPreviousWord", "SelectStartOfLine", "SelectEndOfLine"),
]


def test_text_editing_keys_run_no_command(start: Start, qtbot: QtBot) -> None:
    app = start()
    one = chat_with(app, "First")
    window, listed = app.window, app.window.sidebar.list
    window.activateWindow()
    app.until(window.isActiveWindow)
    ran: list[str] = []
    edits = [window.menus[name] for name in ("undo", "redo", "cut", "copy", "paste", "select_all")]
    for action in window.findChildren(QAction):
        if action not in edits:
            action.triggered.connect(lambda checked=False, action=action: ran.append(action.text()))
    keys = {key for name in EDITING for key in QKeySequence.keyBindings(QKeySequence.StandardKey[name])}
    keys |= {QKeySequence(f"{also}{key}") for also in ("", "Ctrl+", "Alt+") for key in ("Backspace", "Del")}  # a Mac's too
    window.menus["find"].trigger()
    find = window.transcript.find_bar.field
    for where, field in (("composer", window.composer.field), ("search", window.sidebar.search), ("find", find), ("rename", None)):
        for key in sorted(keys, key=QKeySequence.toString):
            if where == "rename":
                window.sidebar.search.clear()
                listed.rename(one)
                (field,) = listed.findChildren(QLineEdit)
            ran.clear()
            field.setFocus()
            qtbot.keySequence(field, key)
            assert not ran, f"{key.toString()} in the {where} field"
            assert one in app.library.entries
            if where == "rename":
                qtbot.keyClick(field, Qt.Key.Key_Escape)
                app.until(lambda: not listed.findChildren(QLineEdit))


def test_folders_and_presets_added_while_the_list_is_read_stay(begin: Begin) -> None:
    """They disappeared until the next launch, and copies of a chat in such a folder were created outside it."""
    app = begin(loaded=False)
    library, loaded = app.library, []
    library.loaded.connect(loaded.append)
    library.load()
    folder = library.add_project("Work")
    library.save_preset("Mine", ChatSettings())
    app.until(lambda: bool(loaded))
    assert library.projects == {folder.id: folder} and library.can_delete_preset("Mine")


def test_folders_expand_and_collapse_by_key_and_stay_so(begin: Begin, qtbot: QtBot) -> None:
    app = begin()
    one = chat_with(app, "Inside")
    folder = app.library.add_project("Work")
    app.library.move([one], folder.id)
    listed = app.sidebar.list
    select(app, folder.id)
    qtbot.keyClick(listed, Qt.Key.Key_Return)
    assert not listed.isExpanded(listed.index_of(folder.id))
    app.library.rename(one, "Renamed")
    assert not listed.isExpanded(listed.index_of(folder.id))
    qtbot.keyClick(listed, Qt.Key.Key_Return)
    assert listed.isExpanded(listed.index_of(folder.id))


def test_the_context_menu_acts_on_the_row_under_the_pointer(start: Start) -> None:
    app = start()
    first, second = chat_with(app, "First"), chat_with(app, "Second")
    listed = app.window.sidebar.list
    app.window.menus.show_row_menu(listed, listed.visualRect(listed.index_of(first)).center())
    (menu,) = listed.findChildren(QMenu)
    delete = app.window.menus["delete"]
    assert delete in menu.actions()
    menu.hide()
    delete.trigger()
    assert rows(app) == ["[Today]", "Second"] and app.session.chat.id == second
    app.until(lambda: app.window.commands.target == ("chat", second))
    assert listed.model().index(0, 0).data(KIND) == "heading" and not listed.model().index(0, 0).data(ID)


# Search


def test_search_finds_words_in_all_chats_and_opens_the_chat_at_the_hit(begin: Begin, qtbot: QtBot) -> None:
    app = begin(ScriptedEngine([answer("A needle."), answer("Hay."), answer("More hay.")]))
    first = chat_with(app, "One")
    app.run("regenerate")  # the needle is now in a version that is not shown
    app.until(lambda: not app.activity.busy)
    chat_with(app, "Two")
    side = app.sidebar
    side.focus_search()
    qtbot.keyClicks(side.search, "NEEDLE")
    app.until(lambda: [bool(row.hit) for row in side.results.results()] == [False, True])
    qtbot.keyClick(side.search, Qt.Key.Key_Return)
    app.until(lambda: app.session.chat.id == first)
    assert app.texts == [("One", "A needle.")]
    app.run("next_version")
    side.results.setCurrentIndex(side.results.model().index(0, 0))
    with qtbot.waitSignal(app.session.turn_revealed) as opened:
        qtbot.keyClick(side.results, Qt.Key.Key_Return)
    assert opened.args[2] == "NEEDLE" and app.texts == [("One", "A needle.")]
    side.search.setText("nowhere to be found")
    app.until(lambda: side.empty.isVisible())
    assert "nowhere to be found" in side.empty.text()
    qtbot.keyClick(side.search, Qt.Key.Key_Escape)
    assert side.search.text() == "" and side.list.isVisible()


# Odd text


def test_nul_surrogates_and_a_pasted_megabyte_are_sent_and_saved(begin: Begin) -> None:
    app = begin(ScriptedEngine([[Commit("odd \0\ud800 reply", "answer", (1,), ("target",)), done()]]))
    assert app.session.send("a\0b \ud800 " + "word " * 200_000)
    app.until(lambda: not app.activity.busy)
    sent = app.engine.requests[0].messages[0].content
    assert sent.startswith("a\N{REPLACEMENT CHARACTER}b") and sent.encode() and len(sent) > 999_000
    found: list[str] = []
    app.services.store.read(lambda store: store.load(app.session.chat.id).turns[0].reply.answer, found.append)
    app.until(lambda: bool(found))
    assert found == ["odd \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} reply"]


# Looks


def test_the_sidebar_remembers_its_width_and_hides_in_a_narrow_window(start: Start) -> None:
    app = start()
    app.window.resize(1200, 700)
    draw_sidebar(app, 333)
    app.window.top_bar.sidebar.click()
    assert not app.window.sidebar.isVisible() and not app.window.menus["sidebar"].isChecked()
    app.run("sidebar")
    assert app.window.sidebar.isVisible()
    app.until(lambda: app.window.sidebar.width() == 333)
    app.window.resize(520, 700)
    app.until(lambda: not app.window.sidebar.isVisible())
    app.window.resize(1200, 700)
    app.until(lambda: app.window.sidebar.width() == 333)
    app.quit()
    again = start()
    app.until(lambda: again.window.sidebar.width() == 333)


def test_search_results_are_grouped_by_chat(begin: Begin) -> None:
    app = begin()
    many, titled, other = chat_with(app, "One"), chat_with(app, "Needle"), chat_with(app, "Hay")
    app.session.open_chat(many)
    app.until(lambda: app.session.chat.id == many)
    for number in (1, 2, 2, 3):  # others may say the same
        app.ask(f"A needle {number}")
    app.run("edit")
    app.ask("A needle 3")  # of equal versions, one is shown
    side = app.sidebar
    side.search.setText("needle")
    results = side.results
    app.until(lambda: bool(results.results()))
    rows = results.results()
    assert other not in {row.found.chat.id for row in rows}
    by_chat = {id: [row for row in rows if row.found.chat.id == id] for id in (many, titled)}
    assert [row for id in dict.fromkeys(row.found.chat.id for row in rows) for row in by_chat[id]] == rows  # chats stay together
    assert [bool(row.hit) for row in by_chat[titled]] == [False, True]
    assert [bool(row.hit) for row in by_chat[many]] == [False, True, True, True, False] and by_chat[many][-1].more == 1
    opened: list[tuple[str, str, str]] = []
    results.opened.connect(lambda *place: opened.append(place))
    results.open_row(rows.index(by_chat[titled][0]))
    results.open_row(rows.index(by_chat[many][0]))
    assert opened == [(id, by_chat[id][1].hit.message, "needle") for id in (titled, many)]
    results.open_row(rows.index(by_chat[many][-1]))
    hits = [row.hit.message for row in results.results() if row.hit and row.found.chat.id == many]
    assert hits == [turn.asked.id for turn in app.session.chat.turns[1:]], "of equal versions, the newer one"


def test_search_results_keep_their_place_when_a_chat_changes(begin: Begin) -> None:
    app = begin()
    one = chat_with(app, *(f"A needle {number}" for number in range(5)))
    results = app.sidebar.results
    results.setFixedHeight(80)
    app.sidebar.search.setText("needle")
    app.until(lambda: bool(results.results()))
    results.open_row(len(results.results()) - 1)
    rows = [row.hit for row in results.results()]
    results.setCurrentIndex(results.model().index(2, 0))
    results.scrollToBottom()
    scrolled = results.verticalScrollBar().value()
    assert len(rows) == 6 and scrolled > 0
    app.library.rename(one, "Renamed")
    app.until(lambda: results.results()[0].found.chat.title == "Renamed")
    assert [row.hit for row in results.results()] == rows
    assert results.currentIndex().row() == 2 and results.verticalScrollBar().value() == scrolled
    app.sidebar.search.setText("a needle")
    app.until(lambda: len(results.results()) == 5)
    assert not results.currentIndex().isValid() and results.verticalScrollBar().value() == 0


@pytest.mark.parametrize("elsewhere", [False, True])
def test_undo_opens_the_deleted_chat_that_was_open(begin: Begin, elsewhere: bool) -> None:
    app = begin()
    other, one = chat_with(app, "Other"), chat_with(app, "One")
    app.run("delete")
    assert app.session.chat.empty
    if elsewhere:
        app.session.open_chat(other)
        app.until(lambda: app.session.chat.id == other)
    app.run("undo_delete")
    if elsewhere:
        assert app.session.chat.id == other
    else:
        app.until(lambda: app.session.chat.id == one)
        assert app.texts[0][0] == "One"
