"""What a project gives its chats: settings, documents, and a model."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.session.projects import Projects
from app.storage import chat_export
from app.storage.project import Project
from app.storage.recent_model import RecentModel
from app.storage.settings import ChatSettings
from mlx_engine.contract.requests import LoadPair
from mlx_engine.documents.index_file import index_in
from tests.app.conftest import Session
from tests.app.scripted_engine import PAIR, ScriptedEngine, commit, done
from tests.app.test_stored_projects import FULL, asked, exported
from tests.app.views.tools.fake_servers import FakeServers

Begin = Callable[..., Session]
SETTINGS = ChatSettings(system="Be precise.", thinking=True, tool_servers=("Documents",))


@pytest.fixture(autouse=True)
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeServers]]:
    monkeypatch.setattr("app.session.tool_box.ToolServers", FakeServers)
    monkeypatch.setattr(FakeServers, "made", [])
    yield FakeServers


def app_with_project(begin: Begin, data: Path | None = None, **changes: object) -> tuple[Session, Projects, str]:
    scripts = [[commit("Yes.", 2), done()]] * 6
    app = begin(ScriptedEngine(scripts, replace(PAIR, can_call_tools=True, can_think=True)), data=data)
    app.until(lambda: app.library.read)
    projects, project = app.services.projects, app.library.add_project("Biology")
    projects.change(project.id, **changes)
    return app, projects, project.id


def test_new_chats_of_a_project_begin_with_its_settings(begin: Begin) -> None:
    app, projects, one = app_with_project(begin, new_chats=SETTINGS)
    projects.new_chat(one)
    assert app.session.chat.settings == SETTINGS and app.session.project == app.library.projects[one]
    app.ask("Why?")
    assert app.engine.requests[-1].messages[0].content == "Be precise."
    assert app.library.entries[app.session.chat.id].project == one
    projects.change(one, new_chats=replace(SETTINGS, system="Be brief."))
    assert app.session.chat.settings == SETTINGS, "an existing chat keeps its settings"
    app.session.new_chat()
    assert app.session.project is None
    app.ask("Why not?")
    assert app.library.entries[app.session.chat.id].project == ""


def test_settings_of_a_project_have_no_effect_outside(begin: Begin) -> None:
    """The tools of its chats would be on in the next chat, and after a restart."""
    app, projects, one = app_with_project(begin, new_chats=SETTINGS)
    app.session.change(dflash=False)
    projects.new_chat(one)
    app.services.save_state()
    assert '"Documents"' not in str(app.services.settings.value("tools"))
    app.session.new_chat()
    assert app.session.chat.settings == ChatSettings(dflash=False)


def test_only_what_the_user_switches_outside_projects_is_on_in_new_chats(begin: Begin) -> None:
    """Opening a chat with tools, or deleting the project of the open chat, turned them on in all new chats."""
    app, projects, one = app_with_project(begin, new_chats=SETTINGS)
    projects.new_chat(one)
    app.ask("Why?")
    first = app.session.chat.id
    app.library.delete_project(one)
    app.session.new_chat()
    assert app.session.chat.settings == ChatSettings()
    app.session.open_chat(first)
    app.until(lambda: app.session.chat.id == first)
    app.session.change(dflash=False)
    assert app.session.chat.settings.tool_servers
    app.session.new_chat()
    assert app.session.chat.settings == ChatSettings(dflash=False)
    app.session.change(private=True, thinking=True)
    app.session.new_chat()
    assert app.session.chat.settings == ChatSettings(thinking=True, dflash=False)


def test_a_project_without_settings_uses_those_of_all_new_chats(begin: Begin) -> None:
    app, projects, one = app_with_project(begin)
    app.session.change(thinking=True)
    projects.new_chat(one)
    assert app.session.chat.settings == ChatSettings(thinking=True) and projects.new_chats(one) == ChatSettings()


def test_an_empty_chat_follows_changes_of_its_project(begin: Begin) -> None:
    app, projects, one = app_with_project(begin, new_chats=SETTINGS)
    projects.new_chat(one)
    projects.change(one, new_chats=replace(SETTINGS, system="Be brief."))
    assert app.session.chat.settings.system == "Be brief."
    app.session.change(system="My own.")
    projects.change(one, new_chats=SETTINGS)
    assert app.session.chat.settings.system == "My own."


def test_the_chat_of_a_deleted_project_is_an_ordinary_one(begin: Begin) -> None:
    app, projects, one = app_with_project(begin, new_chats=SETTINGS)
    projects.new_chat(one)
    app.library.delete_project(one)
    projects.new_chat(one)
    assert app.session.project is None
    app.ask("Why?")
    assert app.library.entries[app.session.chat.id].project == ""


def test_a_move_says_what_changes_and_offers_the_project_s_settings(begin: Begin) -> None:
    app, _, one = app_with_project(begin, new_chats=SETTINGS, documents=("/papers",))
    plain = app.library.add_project("Plain")
    app.ask("Why?")
    chat, before = app.session.chat, app.session.chat.settings
    app.library.move([chat.id], plain.id)
    assert app.notices == [], "nothing but its place has changed"
    app.library.move([chat.id], one)
    notice = app.services.notices.valid[-1]
    assert notice.text == "“Why?” keeps its settings. The Documents tool now searches the documents of “Biology”."
    assert chat.settings == before
    [action] = notice.actions
    app.services.notices.run(action)
    assert chat.settings == replace(SETTINGS, private=before.private) and app.session.project_id == one
    app.library.move([chat.id], "")
    notice = app.services.notices.valid[-1]
    assert notice.text == "“Why?” keeps its settings. The Documents tool no longer searches the documents of “Biology”."
    assert notice.actions == () and chat.settings == SETTINGS


def test_several_chats_get_the_project_s_settings_and_keep_them(begin: Begin, tmp_path: Path) -> None:
    app, _, one = app_with_project(begin, tmp_path, new_chats=SETTINGS)
    for number in range(3):
        app.session.new_chat()
        app.session.change(private=number == 1)
        app.ask(f"Question {number}")
    ids = list(app.library.entries)
    app.library.move(ids, one)
    notice = app.services.notices.valid[-1]
    assert notice.text == "The 3 chats keep their settings."
    app.services.notices.run(notice.actions[0])
    stored: list[ChatSettings] = []
    app.services.store.read(lambda store: [store.load(id).settings for id in ids], stored.extend)
    app.until(lambda: len(stored) == 3)
    app.session.save_settings()
    stored.clear()
    app.services.store.read(lambda store: [store.load(id).settings for id in ids], stored.extend)
    app.until(lambda: len(stored) == 3)
    assert stored == [replace(SETTINGS, private=number == 1) for number in range(3)]


def test_documents_are_read_in_the_chats_of_their_project_only(begin: Begin, servers: type[FakeServers], tmp_path: Path) -> None:
    app, projects, one = app_with_project(begin, tmp_path)
    projects.add_documents(one, ["/papers", "/papers", "/bees.pdf"])
    assert app.library.projects[one].documents == ("/papers", "/bees.pdf")
    projects.new_chat(one)
    fake = servers.made[0]
    assert [fake.configs[key].folders for key in fake.started] == [("/papers", "/bees.pdf")]
    assert [tool.project for tool in app.session.offered_tools.values()] == [one]
    app.session.new_chat()
    assert app.session.offered_tools == {}
    app.session.change(tool_servers=("Documents",))
    assert [tool.project for tool in app.session.offered_tools.values()] == [""]
    assert [fake.configs[key].folders for key in fake.started] == [("/papers", "/bees.pdf"), ()]


def test_the_index_of_a_deleted_project_is_deleted_at_the_end(begin: Begin, tmp_path: Path) -> None:
    app, projects, one = app_with_project(begin, tmp_path)
    projects.add_documents(one, ["/papers"])
    index = index_in(tmp_path / "documents", ("/papers",))
    index.parent.mkdir(exist_ok=True)
    index.write_bytes(b"words")
    app.library.delete_project(one)
    app.library.undo()
    assert app.library.projects[one].documents == ("/papers",) and index.exists()
    app.library.delete_project(one)
    app.quit()
    assert not index.exists()


def test_the_model_of_a_project_is_loaded_for_a_new_chat(begin: Begin, tmp_path: Path) -> None:
    target, drafter = tmp_path / "target", tmp_path / "drafter"
    app, projects, one = app_with_project(begin, model=RecentModel("Pair", str(target), str(drafter)))
    loaded: list[LoadPair] = []
    app.services.recent_models.is_gone = lambda model: False  # type: ignore[method-assign]
    app.activity.use = loaded.append  # type: ignore[method-assign, assignment]
    projects.new_chat(one)
    assert loaded == [LoadPair(target, drafter)]
    app.ask("Why?")
    app.session.new_chat()
    app.session.open_chat(next(iter(app.library.entries)))
    assert len(loaded) == 1, "an existing chat changes no model"
    app.loader.loaded_from, app.loader.workers = LoadPair(target, drafter), lambda: ("mac:1",)
    projects.new_chat(one)
    assert len(loaded) == 1, "the model in use isn't loaded again, even if another Mac was switched on"


def test_a_connection_that_is_gone_is_reported(begin: Begin) -> None:
    app, projects, one = app_with_project(begin, model=RecentModel("Big", connection="Studio"))
    projects.new_chat(one)
    assert app.notices == ["“Big” isn't on this computer. Choose another model in Project Settings."]


def test_models_of_projects_follow_the_model_folder(begin: Begin, tmp_path: Path) -> None:
    app, _, one = app_with_project(begin, model=RecentModel("Pair", "/models/target", "/models/drafter"))
    app.services.picker.storage.moved.emit(Path("/models"), tmp_path)
    model = app.library.projects[one].model
    assert model is not None and (model.target, model.drafter) == (str(tmp_path / "target"), str(tmp_path / "drafter"))


def test_an_imported_project_asks_before_it_gives_access(begin: Begin, tmp_path: Path) -> None:
    app = begin(data=tmp_path)
    app.library.import_file(exported(FULL, tmp_path / "export.json"))
    app.until(lambda: any("names documents" in text for text in app.notices))
    notice = next(one for one in app.services.notices.valid if "names documents" in one.text)
    for named in ("/papers", "/notes", "Pair", "Documents", "shell", "Biology"):
        assert named in notice.text
    project = app.library.projects["p"]
    assert project == FULL.harmless and not notice.passing
    app.services.notices.run(notice.actions[0])
    assert app.library.projects["p"] == FULL
    app.library.import_file(exported(replace(FULL, documents=("/etc",)), tmp_path / "again.json"))
    app.until(lambda: app.library.importing is None)
    assert app.library.projects["p"] == FULL and not any("/etc" in text for text in app.notices)


def test_the_tools_of_an_imported_project_are_on_in_its_imported_chats(begin: Begin, tmp_path: Path) -> None:
    app = begin(data=tmp_path)
    app.until(lambda: app.library.read)
    chats = [asked(FULL) for _ in range(3)]
    for chat, _ in chats:
        chat.settings = ChatSettings(system="My own.", tool_servers=("Files",), tools_off=("Documents/list",))
    chat_export.export(chats, {"p": FULL}, file := tmp_path / "export.json")
    app.library.import_file(file)
    app.until(lambda: any("names documents" in text for text in app.notices))
    shown, other, moved = app.library.entries
    app.session.open_chat(shown)
    app.until(lambda: app.session.chat.id == shown)
    app.library.move([moved], "")
    assert app.session.chat.settings.tool_servers == () and not app.tools.builtin("documents").enabled
    notice = next(one for one in app.services.notices.valid if "names documents" in one.text)
    notice.actions[0].act()
    assert app.notices[-1] == "Not set up on this computer: shell. Add them in Settings ▸ Tools."
    assert [config.name for config in app.tools.chosen(app.session.chat.settings, "p")] == ["Documents"]
    app.session.save_settings()
    full = ChatSettings(system="My own.", tool_servers=("Documents", "shell"), tools_off=("Documents/list",))
    stored: list[ChatSettings] = []

    def read_all() -> bool:
        app.services.store.read(lambda store: [store.load(one).settings for one in (shown, other, moved)], stored.extend)
        return stored[-3:] == [full, full, replace(full, tool_servers=())]

    app.until(read_all)


def test_projects_are_kept_over_restarts(begin: Begin, tmp_path: Path) -> None:
    app, _, one = app_with_project(begin, tmp_path, new_chats=SETTINGS, documents=("/papers",))
    project = app.library.projects[one]
    app.quit()
    app.wait_for_end()
    again = begin(data=tmp_path)
    again.until(lambda: again.library.read)
    assert again.library.projects == {one: project}
    assert again.tools.configs_in(one)[-1].folders == ("/papers",)


def test_a_project_s_name_is_never_empty(begin: Begin) -> None:
    app, projects, one = app_with_project(begin)
    projects.change(one, name="  ")
    projects.change("unknown", name="Other")
    assert [project.name for project in app.library.projects.values()] == ["Biology"]
    assert isinstance(projects.get(one), Project) and projects.get("unknown") is None
