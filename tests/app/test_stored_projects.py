"""Projects in the database, in exports, and in imports of other people's files."""

import json
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.storage import chat_export, chat_import
from app.storage.chat_tree import Chat
from app.storage.database import FILE, open_store
from app.storage.project import Project
from app.storage.recent_model import RecentModel
from app.storage.settings import ChatSettings
from app.storage.store import ChatSummary, Snapshot, Store
from tests.app.chats import projects
from tests.examples import sampled

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FULL = Project(
    "p",
    "Biology",
    5.0,
    ChatSettings(system="Be precise.", tool_servers=("Documents", "shell")),
    ("/papers", "/notes"),
    RecentModel("Pair", "/models/target", "/models/drafter"),
)


def asked(project: Project) -> tuple[Chat, ChatSummary]:
    chat = Chat()
    chat.ask("Why?", "plain")
    return chat, ChatSummary(chat.id, chat.title, chat.created, chat.changed, project.id)


def exported(project: Project, file: Path) -> Path:
    chat_export.export([asked(project)], {project.id: project}, file)
    return file


@given(projects, projects)
def test_a_project_is_read_as_it_was_saved_and_changed(first: Project, changed: Project) -> None:
    with closing(Store(None)) as store:
        store.save_project(first)
        assert store.contents().projects == (first,)
        second = replace(changed, id=first.id, created=first.created)
        store.save_project(second)
        assert store.contents().projects == (second,)


@given(projects)
def test_a_project_is_exported_without_loss(project: Project) -> None:
    data = json.loads(json.dumps(chat_export.to_json([asked(project)], {project.id: project})))
    assert chat_import.from_json(data, "a file").projects == [project]


@given(projects)
def test_a_project_without_chats_is_exported_and_imported(project: Project) -> None:
    with tempfile.TemporaryDirectory() as folder, closing(Store(None)) as store:
        file = Path(folder, "project.json")
        told = chat_export.export([], {project.id: project}, file, whole=project)
        assert told == f"Exported the project “{project.name}” to {file}."
        outcome = chat_import.import_into(store, file)
        assert outcome.projects == [project.harmless] and not outcome.chats
        assert store.contents().projects == (project.harmless,)


@given(projects, st.data())
def test_a_field_of_another_type_loses_no_other_field(project: Project, data: st.DataObject) -> None:
    options = project.options()
    name = data.draw(st.sampled_from(sorted(options)))
    found = Project(project.id, project.name, project.created).with_options(options | {name: data.draw(json_values)})
    assert replace(found, **{name: getattr(project, name)}) == project
    with closing(Store(None)) as store:
        store.save_project(found)
        assert store.contents().projects == (found,)


@given(json_values)
def test_any_value_is_read_as_options(value: object) -> None:
    assert Project("p", "n", 1.0).with_options(value).name == "n"


def test_relative_documents_are_left_out() -> None:
    assert Project("p", "n", 1.0).with_options({"documents": ["papers", "/papers", "/papers"]}).documents == ("/papers",)


@pytest.mark.parametrize("kind", ["json", "database"])
def test_an_imported_project_gives_models_access_to_nothing(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "from someone.json"
    if kind == "json":
        exported(FULL, file)
    else:
        with closing(Store(file)) as store:
            store.save_project(FULL)
            chat, entry = asked(FULL)
            store.save(Snapshot.of(chat, chat.root.below(), entry.project))
    with closing(Store(None)) as store:
        outcome = chat_import.import_into(store, file)
        (project,) = store.contents().projects
        assert (project.documents, project.model) == ((), None)
        assert project.new_chats == ChatSettings(system="Be precise.") and outcome.untrusted == [FULL]
        assert [one.project for one in store.chats()] == ["p"]


def test_an_import_changes_no_project_that_is_there(tmp_path: Path) -> None:
    file = exported(replace(FULL, name="Renamed", documents=("/etc",)), tmp_path / "export.json")
    with closing(Store(None)) as store:
        store.save_project(FULL)
        chat_import.import_into(store, file)
        assert store.contents().projects == (FULL,)


@sampled(3)
@given(projects)
def test_a_project_survives_the_recovery_of_a_damaged_file(project: Project) -> None:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / FILE
        with closing(Store(file)) as store:
            store.save_project(project)
            chat, entry = asked(project)
            store.save(Snapshot.of(chat, chat.root.below(), entry.project))
        with closing(sqlite3.connect(file)) as database:
            database.execute("UPDATE chat SET settings = 'no JSON'")
            database.commit()
        opened = open_store(Path(place))
        with closing(opened.store) as store:
            assert opened.notice and store.contents().projects == (project,)


def test_options_that_are_no_json_are_damage(tmp_path: Path) -> None:
    with closing(Store(tmp_path / FILE)) as store:
        store.save_project(FULL)
        chat, entry = asked(FULL)
        store.save(Snapshot.of(chat, chat.root.below(), entry.project))
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute("UPDATE folder SET settings = '{'")
        database.commit()
    opened = open_store(tmp_path)
    with closing(opened.store) as store:
        assert opened.notice and store.contents().projects == (Project("p", "Biology", 5.0),)


def test_nothing_of_a_deleted_project_stays_in_the_file(tmp_path: Path) -> None:
    """Its chats stay, outside of it."""
    file = tmp_path / FILE
    with closing(Store(file)) as store:
        store.save_project(replace(FULL, name="Xylophone", documents=("/a/secret/place",)))
        chat, entry = asked(FULL)
        store.save(Snapshot.of(chat, chat.root.below(), entry.project))
        store.delete_project("p")
        assert [one.project for one in store.chats()] == [""]
    content = b"".join(one.read_bytes() for one in tmp_path.iterdir())
    assert b"Why?" in content
    assert b"Xylophone" not in content and b"secret" not in content and b"precise" not in content
