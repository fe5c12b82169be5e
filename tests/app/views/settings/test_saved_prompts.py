"""Prompts saved on disk: settings, their pane, private chats, and deleted chats."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import UnionType

import pytest

from app.views.chat.chat_settings import ChatSettingsDialog
from app.views.settings import saved_prompt_rows
from app.views.settings.saved_prompt_rows import SavedPromptsRows
from app.views.settings.settings_dialog import SettingsDialog
from mlx_engine.contract.events import Event, PromptsSaved
from mlx_engine.contract.requests import ForgetPrompts, KeepPrompts, Request, SavePrompts
from mlx_engine.prefix.part_store import AUTOMATIC_QUOTA, default_folder
from tests.app.conftest import Running, Start
from tests.app.scripted_engine import ScriptedEngine


def sent(app: Running, kind: type | UnionType, monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Return a list that receives the requests of a kind that the window makes from now on."""
    seen: list[Request] = []
    submit = app.services.engine.submit

    def note(request: Request, receive: Callable) -> object:
        if isinstance(request, kind):
            seen.append(request)
        return submit(request, receive)

    monkeypatch.setattr(app.services.engine, "submit", note)
    return seen


def test_the_settings_reach_the_engine(begin: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    preferences, prompts = app.services.preferences, app.services.saved_prompts
    asked = sent(app, SavePrompts | ForgetPrompts, monkeypatch)
    preferences.prompt_space = "5"
    prompts.move(tmp_path)
    prompts.move(tmp_path / "Slipstream prompts")
    preferences.save_prompts = False
    preferences.save_prompts = False
    preferences.prompt_space = "automatic"
    quota = 5 * 10**9
    assert asked == [
        SavePrompts(default_folder(), quota),
        ForgetPrompts(),  # an unused folder is emptied
        SavePrompts(tmp_path / "Slipstream prompts", quota),
        ForgetPrompts(),
        SavePrompts(None, quota),
        SavePrompts(None, AUTOMATIC_QUOTA),
    ]


def test_the_pane_shows_what_is_saved_and_deletes_it(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    app.window.dialogs.show_settings("privacy")
    dialog = app.dialog(SettingsDialog)
    form = dialog.findChild(SavedPromptsRows)
    assert form.used.text() == "Prompts aren't saved." and not form.clear.isEnabled()
    app.services.saved_prompts.found = PromptsSaved(quota=10**10)
    app.services.saved_prompts.changed.emit()
    assert form.used.text() == "Nothing saved yet" and not form.clear.isEnabled()
    app.services.saved_prompts.found = PromptsSaved(bytes=1_200_000_000, quota=10**10, read_tokens=12_000)
    app.services.saved_prompts.changed.emit()
    assert " ".join(form.used.text().split()) == "1.2 GB of 10.0 GB used"
    assert form.spared.text() == "12,000 tokens were read from disk instead of computed."
    asked = sent(app, ForgetPrompts, monkeypatch)
    monkeypatch.setattr(saved_prompt_rows, "confirm", lambda *given: True)
    form.clear.click()
    assert asked == [ForgetPrompts(None)]


def test_deleting_a_chat_deletes_its_prompts(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    app.services.saved_prompts.apply()
    asked = sent(app, ForgetPrompts, monkeypatch)
    app.library.removed.emit(["one", "two"])
    assert asked == [ForgetPrompts(("one", "two"))]


@pytest.mark.parametrize("private", [False, True])
def test_replies_name_their_chat_and_whether_it_is_private(begin: Start, private: bool) -> None:
    app = begin()
    app.window.dialogs.show_chat_settings()
    dialog = app.dialog(ChatSettingsDialog)
    dialog.form.private.setChecked(private)
    app.ask("Hi")
    assert (app.engine.requests[-1].chat, app.engine.requests[-1].private) == (app.session.chat.id, private)


def test_a_chat_that_becomes_private_deletes_its_prompts(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    app.ask("Hi")
    asked = sent(app, ForgetPrompts, monkeypatch)
    app.session.set_settings(replace(app.session.chat.settings, private=True))
    app.session.save_settings()
    assert asked == [ForgetPrompts((app.session.chat.id,))]


def test_the_engine_hears_which_chats_may_have_saved_prompts(begin: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """At launch, and when another folder is used: earlier deletions may have failed."""
    app = begin()
    app.ask("Hi")
    kept = app.session.chat.id
    app.services.saved_prompts.apply()
    asked = sent(app, SavePrompts | KeepPrompts, monkeypatch)
    app.library.loaded.emit("")
    app.services.saved_prompts.move(tmp_path)
    app.session.set_settings(replace(app.session.chat.settings, private=True))
    app.session.save_settings()
    app.services.preferences.prompt_space = "5"
    app.services.preferences.save_prompts = False
    ids = [set(request.chats) for request in asked if isinstance(request, KeepPrompts)]
    assert [kept in each for each in ids] == [True, True, False]
    assert [type(request) for request in asked] == [KeepPrompts, SavePrompts, KeepPrompts, SavePrompts, KeepPrompts, SavePrompts]


class _Deleting(ScriptedEngine):
    """Answers requests to delete everything, unless `answer` is None: Slipstream has ended before."""

    def __init__(self, answer: PromptsSaved | None) -> None:
        super().__init__()
        self.answer, self.asked = answer, list[SavePrompts | ForgetPrompts]()

    def run(self, request: Request, cancel: threading.Event) -> Iterator[Event]:
        if isinstance(request, SavePrompts | ForgetPrompts):
            self.asked.append(request)
            deletes_all = isinstance(request, ForgetPrompts) and request.chats is None
            return iter((self.answer,) if deletes_all and self.answer else ())
        return super().run(request, cancel)


@pytest.mark.parametrize("answer", [None, PromptsSaved(undeleted=True)], ids=["ended", "failed"])
def test_an_unfinished_deletion_of_everything_is_done_at_the_next_launch(
    begin: Start, tmp_path: Path, answer: PromptsSaved | None
) -> None:
    """Even in folders where saving was turned off, once their disks are connected. Tuning runs are deleted if they weren't yet."""
    moved, disconnected = (tmp_path / name / "Slipstream prompts" for name in ("moved", "disconnected"))
    moved.mkdir(parents=True)
    default_folder().mkdir(parents=True, exist_ok=True)

    def launch(answer: PromptsSaved | None) -> tuple[Running, list[SavePrompts | ForgetPrompts]]:
        app = begin(engine := _Deleting(answer))
        app.until(lambda: not app.services.engine.busy)
        return app, engine.asked

    app, _ = launch(answer)
    for folder in (disconnected, moved):
        app.services.saved_prompts.move(folder)
    app.services.preferences.save_prompts = False
    app.until(lambda: not app.services.engine.busy)
    app.window.dialogs.show_settings("privacy")
    form = app.dialog(SettingsDialog).findChild(SavedPromptsRows)
    assert ("couldn't be deleted" in form.used.text()) is (answer is not None)
    app.quit()

    forget = ForgetPrompts(runs=answer is None)
    emptied = [request for folder in sorted([moved, default_folder()]) for request in (SavePrompts(folder), forget)]
    for given in (None, PromptsSaved()):
        app, asked = launch(given)
        assert asked == [*emptied, SavePrompts(None, AUTOMATIC_QUOTA)]
        app.quit()
    disconnected.mkdir(parents=True)
    app, asked = launch(PromptsSaved())
    assert asked == [SavePrompts(disconnected), ForgetPrompts(runs=False), SavePrompts(None, AUTOMATIC_QUOTA)]
    app.quit()
    assert launch(PromptsSaved())[1] == [SavePrompts(None, AUTOMATIC_QUOTA)]


def test_a_folder_that_is_chosen_again_is_not_emptied_at_the_next_launch(begin: Start, tmp_path: Path) -> None:
    """Its new prompts were deleted."""
    for folder in (default_folder(), tmp_path / "Slipstream prompts"):
        folder.mkdir(parents=True, exist_ok=True)
    app = begin(_Deleting(PromptsSaved(undeleted=True)))
    app.services.saved_prompts.move(tmp_path)
    app.services.saved_prompts.move(default_folder())
    app.services.preferences.save_prompts = False
    app.until(lambda: not app.services.engine.busy)
    app.services.preferences.save_prompts = True
    app.until(lambda: not app.services.engine.busy)
    app.quit()
    again = begin(engine := _Deleting(PromptsSaved()))
    again.until(lambda: not again.services.engine.busy)
    assert SavePrompts(again.services.saved_prompts.folder) not in engine.asked
    assert ForgetPrompts(runs=False) in engine.asked, "the other folder is emptied"
