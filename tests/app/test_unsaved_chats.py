"""Chats and settings that can't be saved: a damaged database, an unwritable folder, a full disk."""

from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QMessageBox, QWidget

from app.application import FileOpening
from app.storage.database import FILE
from app.views.chat.foot import UnsavedBar
from app.widgets.save_dialog import choose
from tests.app.conftest import Begin, Start
from tests.app.test_chats_window import chat_with


def test_a_damaged_database_is_reported_and_the_app_works(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / FILE).write_bytes(b"SQLite format 3\0" + b"\xee" * 9000)
    app = begin(data=tmp_path / "data")
    app.until(lambda: any("damaged" in notice and "set aside" in notice for notice in app.notices))
    app.ask("Hi")
    assert app.answer == "Fine." and [entry.title for entry in app.library.entries.values()] == ["Hi"]


def test_an_unwritable_folder_is_reported_and_the_app_works(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    first = begin(data=tmp_path / "data")
    first.ask("Earlier")
    first.quit()
    before = (tmp_path / "data" / FILE).read_bytes()
    app = begin(data=tmp_path / "data", data_writable=False, temporary=True)
    app.until(lambda: app.texts == [("Earlier", "Fine.")])  # what is there can be read, and what there is to tell stays
    app.until(lambda: any("won't be saved" in notice for notice in app.notices) and "Can't write" in app.notices[0])
    one = chat_with(app, "Hi")
    chat_with(app, "Other")
    app.session.open_chat(one)
    app.until(lambda: app.session.chat.id == one)
    assert app.texts == [("Hi", "Fine.")] and (tmp_path / "data" / FILE).read_bytes() == before


def test_a_full_disk_is_reported_once_and_messages_are_saved_later(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    app = begin(data=tmp_path / "data")
    limits: list[int] = []
    app.services.store.read(lambda store: store._db.execute("PRAGMA max_page_count = 1").fetchone()[0], limits.append)
    app.until(lambda: bool(limits))
    app.ask("word " * 20_000)
    app.until(lambda: any("Can't save your chats: the disk is full." in notice for notice in app.notices))
    assert app.services.notices.valid[-1].kind == "error"
    app.ask("And another " + "word " * 20_000)
    assert app.answer == "Fine."
    app.services.store.read(lambda store: store._db.execute("PRAGMA max_page_count = 1000000").fetchone(), limits.append)
    app.ask("Short")
    app.until(lambda: any("being saved again" in notice for notice in app.notices))
    assert not any("Can't save" in notice for notice in app.notices)
    found: list[int] = []
    app.services.store.read(lambda store: len(store.load(app.session.chat.id).turns), found.append)
    app.until(lambda: found == [3])


def test_unsaved_chats_say_so_until_they_are_saved_and_quitting_warns(
    start: Start, qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later chat on a full disk got no notice and was lost."""
    monkeypatch.setattr("app.storage.store_thread.RETRY_S", 0.05)
    (tmp_path / "data").mkdir()
    app = start(data=tmp_path / "data")
    limits: list[int] = []

    def limit_pages(count: int) -> None:
        app.services.store.read(lambda store: store._db.execute(f"PRAGMA max_page_count = {count}").fetchone()[0], limits.append)

    bar, first = app.window.foot.unsaved, chat_with(app, "Saved")
    limit_pages(1)
    second = chat_with(app, "word " * 20_000)
    app.until(lambda: bar.isVisible() and "can't be saved: the disk is full" in bar.label.text())
    third = chat_with(app, "Too late")
    app.until(lambda: app.library.unsaved == {second, third})
    assert bar.isVisible()
    app.session.open_chat(first)
    app.until(lambda: app.session.chat.id == first)
    assert not bar.isVisible()

    app.session.open_chat(third)
    app.until(lambda: app.texts == [("Too late", "Fine.")])
    app.session.open_chat(first)
    app.until(lambda: app.session.chat.id == first)
    app.library.export_chats([third], tmp_path / "rescued.md")  # to another disk, say
    app.until(lambda: any("Exported" in notice for notice in app.notices))
    assert "Too late" in (tmp_path / "rescued.md").read_text()

    asked: list[str] = []
    monkeypatch.setattr("app.window.main_window.confirm", lambda parent, title, question, action: asked.append(question))
    assert not app.window.close() and app.window.isVisible() and "2 chats can't be saved" in asked[0]
    app.slipstream.restart()
    assert len(asked) == 2 and not app.slipstream.restarting
    opening, quitting = FileOpening(app.window.quit, app.window), QEvent(QEvent.Type.Quit)  # from the Dock
    asked.clear()
    qapp.installEventFilter(opening)
    QApplication.sendEvent(qapp, quitting)
    qapp.removeEventFilter(opening)
    assert len(asked) == 1 and not quitting.isAccepted() and app.window.isVisible()

    limit_pages(1_000_000)
    app.until(lambda: not app.library.unsaved)
    app.session.open_chat(third)
    app.until(lambda: app.session.chat.id == third)
    assert not bar.isVisible()
    assert app.window.close() and len(asked) == 1


def test_a_copy_made_on_a_full_disk_says_so_and_is_saved_later(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy appeared nowhere until the next launch."""
    monkeypatch.setattr("app.storage.store_thread.RETRY_S", 0.05)
    (tmp_path / "data").mkdir()
    app = begin(data=tmp_path / "data")
    library, limits = app.library, []
    folder = library.add_project("Work")
    saved = chat_with(app, "word " * 20_000)
    library.move([saved], folder.id)
    app.services.store.read(lambda store: store._db.execute("PRAGMA max_page_count = 1").fetchone()[0], limits.append)
    app.run("duplicate")
    app.until(lambda: app.session.chat.id != saved)
    copy = app.session.chat.id
    app.until(lambda: library.unsaved == {copy})
    assert library.entries[copy].title.endswith(" copy")
    app.run("duplicate")  # of a chat that is only in memory
    app.until(lambda: len(library.unsaved) == 2 and app.session.chat.id != copy)
    assert app.texts == [(("word " * 20_000).strip(), "Fine.")]
    app.services.store.read(lambda store: store._db.execute("PRAGMA max_page_count = 1000000").fetchone(), limits.append)
    app.until(lambda: not library.unsaved)
    stored: list[int] = []
    app.services.store.read(lambda store: [len(store.load(one.id).turns) for one in store.chats() if one.project], stored.extend)
    app.until(lambda: bool(stored))
    assert stored == [1, 1, 1]


def test_a_chat_that_is_only_in_memory_says_so(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    app = begin(data=tmp_path / "data", data_writable=False)
    bar = UnsavedBar(app.theme, app.session, app.library)
    chat_with(app, "Hi")
    app.until(bar.isVisible)


def test_unsaved_settings_are_reported_and_saved_later(begin: Begin, tmp_path: Path) -> None:
    """Settings changed on a full disk were lost by quitting, and nothing had said so."""
    app, file = begin(), tmp_path / "settings.ini"
    app.services.save_state()
    file.unlink()
    file.mkdir()  # now not even root can write to it
    app.services.preferences.reduce_motion = True
    app.services.save_state()
    assert "Can't save your settings" in app.notices[-1] and app.services.notices.valid[-1].kind == "error"
    file.rmdir()
    app.services.preferences.token_sources = True
    app.services.save_state()
    assert app.notices == ["Your settings are being saved again."]
    assert "less_motion=true" in file.read_text()


def test_quitting_asks_while_settings_cannot_be_saved(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, file = start(), tmp_path / "settings.ini"
    app.session.change(thinking=True)
    app.until(file.exists)
    file.unlink()
    file.mkdir()
    asked: list[str] = []
    answers = iter(["Try Again", "", "Try Again"])

    def choose(parent: object, title: str, question: str, *actions: str) -> str:
        asked.append(question)
        assert actions == ("Try Again", "Quit Anyway")
        if len(asked) == 3:
            file.rmdir()
        return next(answers)

    monkeypatch.setattr("app.window.main_window.choose", choose)
    assert not app.window.close() and app.window.isVisible() and len(asked) == 2
    assert "Can't save your settings" in asked[0] and "changes of settings" in asked[0]
    assert app.window.close() and not app.window.isVisible() and len(asked) == 3
    assert "thinking=true" in file.read_text()


def test_quitting_without_saved_settings_is_possible(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start()
    (tmp_path / "settings.ini").unlink(missing_ok=True)
    (tmp_path / "settings.ini").mkdir()
    monkeypatch.setattr("app.window.main_window.choose", lambda *texts: "Quit Anyway")
    assert app.window.close() and not app.window.isVisible()


@pytest.mark.parametrize("pressed", ["Try Again", "Quit Anyway", "Cancel"])
def test_a_question_returns_the_action_that_was_pressed(qapp: QApplication, monkeypatch: pytest.MonkeyPatch, pressed: str) -> None:
    def press(box: QMessageBox) -> None:
        buttons = {button.text().replace("&", ""): button for button in box.buttons()}
        assert set(buttons) == {"Try Again", "Quit Anyway", "Cancel"}
        assert box.defaultButton() is buttons["Cancel"]
        buttons[pressed].click()

    monkeypatch.setattr(QMessageBox, "exec", press)
    answer = "" if pressed == "Cancel" else pressed
    parent = QWidget()
    assert choose(parent, "Title", "Question?", "Try Again", "Quit Anyway") == answer


def test_the_window_is_gone_while_quitting_waits_for_the_keychain(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app, shown = start(), []
    close = app.services.picker.close
    monkeypatch.setattr(app.services.picker, "close", lambda: shown.append(app.window.isVisible()) or close())
    app.window.close()
    assert not app.window.isVisible() and not shown
    app.until(lambda: shown == [False])
    app.services.close()  # as at the end of the process
    assert shown == [False]
