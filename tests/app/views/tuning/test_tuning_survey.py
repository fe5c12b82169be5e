"""What the Tune Drafter window knows before a run."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.session import tuning_survey
from app.storage.database import FILE
from app.storage.settings import ChatSettings
from app.storage.store import Store
from mlx_engine.models.files.tuning_files import run_folder, save_run_prompts
from tests.app.scripted_engine import PAIR, ScriptedEngine
from tests.app.test_store import chat_of, save
from tests.app.views.tuning.test_tune_dialog import Start, dialog


@pytest.mark.parametrize("why", ["kind", "folder", "messages", "chat", "unreadable"])
def test_why_a_drafter_cannot_be_tuned(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    pair, database = tuning_survey.TuningPair("Pair", *folders), tmp_path / "other.db"
    expected = {
        "kind": "of the kind EAGLE-3",
        "folder": "can't be changed",
        "messages": "at least 10 different messages in saved chats, but there are only 2",
        "chat": "from one chat",
        "unreadable": "Can't read the saved chats",
    }[why]
    if why == "unreadable":
        database.write_text("No database")
    else:
        with closing(Store(database)) as store:
            for number in range(2 if why == "messages" else 12):
                save(store, chat_of(f"Question {number}?" if why != "chat" else "The same?", f"More {number}?"))
    if why == "messages":
        with closing(Store(tmp_path / "few.db")) as store:
            save(store, chat_of("One?"))
            save(store, chat_of("Two?"))
        database = tmp_path / "few.db"
    if why == "kind":
        monkeypatch.setattr(tuning_survey, "parse", lambda config: replace_kind())
    if why == "folder":
        monkeypatch.setattr(tuning_survey.os, "access", lambda *_: False)
    assert expected in tuning_survey.survey(pair, database).why_not


def test_a_server_is_not_tuned(begin: Start, folders: tuple[Path, Path], tmp_path: Path) -> None:
    app = begin(ScriptedEngine(pair=replace(PAIR, remote="192.168.1.20:8000")), data=tmp_path)
    window = dialog(app)
    assert "A server is in use" in window.notice.label.text() and not window.main.isEnabled()


def test_chats_with_the_same_system_prompt_are_counted_apart(folders: tuple[Path, Path], tmp_path: Path) -> None:
    """They were taken for one chat, so the drafter couldn't be tuned."""
    database = tmp_path / "system.db"
    with closing(Store(database)) as store:
        for number in range(12):
            chat = chat_of(f"Question {number}?")
            chat.settings = ChatSettings(system="Answer briefly.")
            save(store, chat)
    known = tuning_survey.survey(tuning_survey.TuningPair("Pair", *folders), database)
    assert (known.why_not, known.chats) == ("", 12)


def test_the_messages_of_a_paused_run_are_counted(folders: tuple[Path, Path], tmp_path: Path) -> None:
    """The window counted those of a new run."""
    pair, folder = tuning_survey.TuningPair("Pair", *folders), run_folder(*folders)
    prompts = tuning_survey.survey(pair, tmp_path / FILE).prompts
    folder.mkdir(parents=True)
    save_run_prompts(folder, prompts[1:])
    known = tuning_survey.survey(pair, tmp_path / FILE)
    assert (known.prompts, known.chats) == (prompts[1:], 11)


def replace_kind() -> Any:
    class Other:
        tunable, kind = False, "EAGLE-3"

    return Other()
