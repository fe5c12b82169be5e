"""Exporting and importing chats in the window."""

import json
import sys
from pathlib import Path

import pypdfium2
import pytest
from PySide6.QtWidgets import QApplication, QWidget

from app.storage.chat_tree import Chat
from app.widgets import save_dialog
from tests.app.scripted_engine import ScriptedEngine, answer, commit
from tests.app.test_chats_window import Begin, Start, chat_with, rows


def test_chats_are_exported_and_imported_from_the_menu(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start()
    chat_with(app, "First")
    app.run("regenerate")
    app.until(lambda: not app.activity.busy)
    chat_with(app, "Second")
    file = tmp_path / "all"
    dialogs = "app.window.chat_files.QFileDialog."
    monkeypatch.setattr(
        "app.widgets.save_dialog.QFileDialog.getSaveFileName", lambda *args: (str(file), "JSON for later import (*.json)")
    )
    app.run("export_all")
    app.until(lambda: any("Exported 2 chats" in notice for notice in app.notices))
    monkeypatch.setattr(dialogs + "getOpenFileNames", lambda *args: ([str(file) + ".json"], ""))
    app.run("import_chats")
    app.until(lambda: "2 chats already there." in app.notices)
    app.library.delete(list(app.library.entries))
    app.run("import_chats")
    app.until(lambda: any("Imported 2 chats" in notice for notice in app.notices))
    assert sorted(rows(app)) == ["First", "Second", "[Today]"]
    app.run("undo_delete")
    assert rows(app) == []
    app.run("undo_delete")  # what was said in them since would come back with them
    assert sorted(rows(app)) == ["First", "Second", "[Today]"]
    monkeypatch.setattr(dialogs + "getOpenFileNames", lambda *args: ([str(tmp_path / "settings.ini")], ""))
    (tmp_path / "settings.ini").write_text("no chats")
    app.run("import_chats")
    app.until(lambda: any("isn't a valid JSON file" in notice for notice in app.notices))


def test_a_chat_is_exported_as_pdf_and_printed(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start(ScriptedEngine([[commit("Secret thoughts.", channel="thinking"), *answer("Fine *words*.")]]))
    chat_with(app, "First question")
    file = tmp_path / "chat.pdf"
    monkeypatch.setattr("app.widgets.save_dialog.QFileDialog.getSaveFileName", lambda *args: (str(file), "PDF (*.pdf)"))
    opened: list[str] = []
    monkeypatch.setattr("app.session.notice.QDesktopServices.openUrl", lambda url: opened.append(url.toLocalFile()))
    app.run("export")
    app.until(lambda: f"Exported 1 chat to {file}." in app.notices)
    app.press("Show in Finder" if sys.platform == "darwin" else "Show in Folder")
    assert opened == [str(tmp_path)]
    text = pypdfium2.PdfDocument(file)[0].get_textpage().get_text_range()
    assert "First question" in text and "Fine words." in text and "Secret" not in text
    file.unlink()
    file.mkdir()
    app.run("export")
    app.until(lambda: any(notice.startswith("Can't write") for notice in app.notices))
    printed: list[str] = []
    monkeypatch.setattr("app.window.chat_files.QPrintDialog.exec", lambda dialog: 1)
    monkeypatch.setattr(
        "app.rendering.paper.QTextDocument.print_", lambda document, printer: printed.append(document.toPlainText())
    )
    app.run("print")
    app.until(lambda: bool(printed))
    assert "First question" in printed[0] and "Secret" not in printed[0]


def test_a_folder_and_several_files_of_another_app_are_imported(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = start()
    for number in (1, 2):
        version = {"role": "user", "content": [{"type": "text", "text": f"Question {number}"}]}
        chat = {"name": f"Chat {number}", "createdAt": 1_740_823_140_000 + number, "messages": [{"versions": [version]}]}
        (tmp_path / f"{number}.conversation.json").write_text(json.dumps(chat))
    (tmp_path / "3.conversation.json").write_text("{")
    dialogs = "app.window.chat_files.QFileDialog."
    monkeypatch.setattr(dialogs + "getExistingDirectory", lambda *args: str(tmp_path))
    app.run("import_folder")
    app.until(lambda: any(text.startswith("Imported 2 chats. Skipped a file: “3.conversation.json” ") for text in app.notices))
    assert {"Chat 1", "Chat 2"} <= set(rows(app))
    files = [str(tmp_path / f"{number}.conversation.json") for number in (1, 2)]
    monkeypatch.setattr(dialogs + "getOpenFileNames", lambda *args: (files, ""))
    app.run("import_chats")
    app.until(lambda: "2 chats already there." in app.notices)


@pytest.mark.parametrize(
    ("typed", "chosen", "written"),
    [
        ("notes", "Markdown (*.md)", "notes.md"),
        ("notes.md", "Markdown (*.md)", "notes.md"),
        ("notes.json", "Markdown (*.md)", "notes.json"),
        ("notes", "JSON (*.json)", "notes.json"),
        ("notes.md", "JSON (*.json)", "notes.json"),
        ("v1.2", "JSON (*.json)", "v1.2.json"),
        ("v1.2", "", "v1.2.md"),
    ],
)
def test_a_file_is_not_replaced_without_asking(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, chosen: str, written: str
) -> None:
    parent, kinds = QWidget(), {".md": "Markdown (*.md)", ".json": "JSON (*.json)"}
    monkeypatch.setattr(save_dialog.QFileDialog, "getSaveFileName", lambda *args: (str(tmp_path / typed), chosen))
    asked: list[str] = []
    monkeypatch.setattr(save_dialog, "confirm_replace", lambda parent, file: asked.append(file.name))
    assert save_dialog.ask_save_path(parent, "Export", "Title", kinds) == tmp_path / written and asked == []
    (tmp_path / written).write_text("mine")
    found = save_dialog.ask_save_path(parent, "Export", "Title", kinds)
    if typed == written:  # the dialog itself has asked
        assert found == tmp_path / written and asked == []
    else:
        assert found is None and asked == [written]


def test_new_messages_in_imported_chats_survive_undo(begin: Begin, tmp_path: Path) -> None:
    app = begin()
    one = chat_with(app, "First")
    app.library.export_chats([one], tmp_path / "one.json")
    app.until(lambda: (tmp_path / "one.json").exists())
    app.library.delete([one])
    app.library.import_file(tmp_path / "one.json")
    app.until(lambda: len(app.library.entries) == 1)
    (new,) = app.library.entries
    app.session.open_chat(new)
    app.until(lambda: app.session.chat.id == new)
    app.ask("An hour of work")
    app.run("undo_delete")
    assert not app.library.entries
    app.run("undo_delete")
    app.session.open_chat(new)
    app.until(lambda: app.session.chat.id == new)
    assert [prompt for prompt, _ in app.texts] == ["First", "An hour of work"]


def test_a_deleted_chat_can_be_restored_after_an_import(begin: Begin, tmp_path: Path) -> None:
    app = begin()
    library, undo = app.library, app.commands["undo_delete"]
    other, gone = chat_with(app, "Other"), chat_with(app, "Gone")
    library.export_chats([other], tmp_path / "other.json")
    app.until(lambda: (tmp_path / "other.json").exists())
    library.delete([other])
    library.delete([gone])
    library.import_file(tmp_path / "other.json")
    app.until(lambda: len(library.entries) == 1 and undo.text == "Undo &Import")
    app.run("undo_delete")
    assert not library.entries
    for _ in range(3):
        app.run("undo_delete")
    assert {other, gone} <= set(library.entries) and len(library.entries) == 3


def test_imported_chats_with_the_same_id_are_all_kept(begin: Begin, tmp_path: Path) -> None:
    app = begin()
    one = chat_with(app, "First")
    app.library.export_chats([one], tmp_path / "one.json")
    app.until(lambda: (tmp_path / "one.json").exists())
    data = json.loads((tmp_path / "one.json").read_text())
    data["chats"] = [data["chats"][0] | {"id": f"chat {number}"} for number in (1, 2)]  # with the same messages
    (tmp_path / "two.json").write_text(json.dumps(data))
    app.library.delete([one])
    app.library.import_file(tmp_path / "two.json")
    app.until(lambda: len(app.library.entries) == 2)
    loaded: list[Chat | None] = []
    for two in app.library.entries:
        app.services.store.read(lambda store, two=two: store.load(two), loaded.append)
    app.until(lambda: len(loaded) == 2)
    assert all(chat is not None and chat.turns[0].prompt == "First" for chat in loaded)


def test_a_failed_import_is_reported_and_leaves_nothing(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    app = begin(data=tmp_path / "data")
    one = chat_with(app, "word " * 20_000)
    app.library.export_chats([one], tmp_path / "one.json")
    app.until(lambda: (tmp_path / "one.json").exists())
    app.library.delete([one])
    app.services.store.write(lambda store: store._db.execute("PRAGMA max_page_count = 1").fetchone())
    app.library.import_file(tmp_path / "one.json")
    app.until(lambda: any("Can't save the chats from" in notice for notice in app.notices))
    assert not app.library.entries and "one.json" in app.notices[-1]
