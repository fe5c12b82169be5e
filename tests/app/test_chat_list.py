"""The chat list shows the library, row by row."""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from app.conversations.store import ChatSummary, Folder
from app.sidebar.chat_list import ID, sections
from tests.app.conftest import Running
from tests.app.scripted_engine import ScriptedEngine
from tests.app.test_chats_window import chat_with, rows

Start = Callable[..., Running]


def test_the_list_matches_the_library_after_every_change(start: Start) -> None:
    app = start(ScriptedEngine())
    listed, library, draw = app.window.sidebar.list, app.conductor.library, random.Random(5)
    library.folders = {one: Folder(one, f"Folder {one}", 0.0) for one in ("f", "g")}
    now = time.time()
    for step in range(300):
        known, kind = list(library.entries), draw.choice(["new", "new", "title", "changed", "folder", "pinned", "gone"])
        one = draw.choice(known) if known and kind != "new" else f"chat {step}"
        if kind == "gone":
            library.entries.pop(one, None)
        else:
            old = library.entries.get(one, ChatSummary(one, f"Title {step}", now, now - draw.choice([0, 1, 3, 40]) * 86_400))
            fresh = {
                "title": f"Again {step}",
                "changed": now + step,
                "folder": draw.choice(["", "f", "g"]),
                "pinned": not old.pinned,
            }
            library.entries[one] = replace(old, **{kind: fresh[kind]}) if kind in fresh else old
        library.changed.emit()
        expected = sections(library.entries.values(), library.folders.values(), time.time())
        assert rows(app) == [row for each in expected for row in (f"[{each.title}]", *(entry.title for entry in each.chats))]
        assert all(listed._rows[one].data(ID) == one for one in library.entries)


def test_one_undo_is_offered_at_a_time(start: Start, tmp_path: Path) -> None:
    app = start()
    chat_with(app, "Old")
    library, bar = app.conductor.library, app.window.sidebar.undo_bar
    library.export_chats(list(library.entries), tmp_path / "chats.json")
    app.until(lambda: bool(app.notices))
    library.import_file(tmp_path / "chats.json")
    app.until(lambda: bar.isVisible() and bar.label.text() == "Imported 1 chat")
    chat_with(app, "First")
    chat_with(app, "Second")
    app.window.commands.delete.trigger()
    library.delete([one for one, entry in library.entries.items() if entry.title == "First"])
    assert bar.label.text() == "Deleted “First”"
    bar.button.click()
    assert not bar.isVisible() and "First" in rows(app)
    app.window.commands.undo_delete.trigger()
    assert not bar.isVisible() and "Second" in rows(app)
    assert not app.window.commands.undo_delete.isEnabled() and rows(app).count("Old") == 2, "the import is not offered again"
