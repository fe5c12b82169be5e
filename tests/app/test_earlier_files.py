"""Files that an earlier version of the app wrote still open, with everything in them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.storage.chat_tree import Chat
from app.storage.comparison_record import ComparisonRecord
from app.storage.store import Store
from app.storage.stored_drafts import StoredDraft
from mlx_engine.models.library.catalog import custom_catalog_file, load_catalog
from mlx_engine.models.library.pair import CustomPair, custom_pairs
from tests.app.conftest import Session

EARLIER = Path(__file__).parents[1] / "earlier_files"


@pytest.fixture
def earlier(begin: Callable[..., Session], tmp_path: Path) -> Session:
    """The app after an update: the folders hold what the earlier version wrote."""
    (data := tmp_path / "app").mkdir()
    for name in ("chats.db", "mcp.json", "connections.json", "approvals.json"):
        shutil.copy(EARLIER / name, data)
    shutil.copy(EARLIER / "settings.ini", tmp_path)
    app = begin(data=data)
    app.until(lambda: len(app.library.entries) == 3)
    return app


def opened(app: Session, title: str) -> Chat:
    library, chats = app.library, list[Chat]()
    library.open(next(entry.id for entry in library.entries.values() if entry.title == title), chats.append)
    app.until(lambda: bool(chats))
    return chats[0]


def test_chats_open_with_versions_calls_files_and_folders(earlier: Session) -> None:
    library = earlier.library
    assert {entry.title: entry.pinned for entry in library.entries.values()} == {
        "Why is the sky blue?": False,
        "What is 4817 × 392?": False,
        "Sag etwas über Regen": True,
    }
    chat = opened(earlier, "Why is the sky blue?")
    assert [folder.name for folder in library.projects.values()] == ["Weather"] and library.entries[chat.id].project
    first, second = chat.turns
    assert first.reply.answer == "The sky is blue because air scatters blue light more."
    assert first.reply.stats is not None and first.reply.stats.tokens_per_round == 4.5
    assert second.answered is not None and second.answered.place == (2, 2) and second.reply.answer == "A second version."
    other = second.answered.parent.children[0].reply  # type: ignore[union-attr]
    assert other is not None and (other.answer, other.thinking, other.reason) == ("Seventeen.", "Let me think.", "length")
    (turn,) = opened(earlier, "What is 4817 × 392?").turns
    assert [(call.tool, call.state, call.result) for call in turn.reply.calls] == [("calculator", "done", "1888264")]
    turns = opened(earlier, "Sag etwas über Regen").turns
    assert turns[0].reply.answer == "Einverstanden. Grüße 🌧 雨"
    assert turns[1].asked is not None and [(file.name, file.text) for file in turns[1].asked.attachments] == [
        ("notes.md", "A note about rain.\n")
    ]


def test_comparisons_of_modes_and_of_drafters_are_listed(earlier: Session) -> None:
    found = list[ComparisonRecord]()
    earlier.services.store.read(Store.comparisons, found.extend)
    earlier.until(lambda: bool(found))
    drafters, modes = found
    assert (drafters.prompt, modes.prompt) == ("Which one?", "Read this")
    assert [(row.proposer, row.tok_s, row.identical) for row in drafters.rows] == [
        ("plain", 40.0, 1),
        ("lookup", 70.0, 1),
        ("drafter", 100.0, 1),
        ("drafter", 130.0, 1),
    ]
    assert (drafters.shown, drafters.fastest, drafters.replies[1].text) == (3, drafters.rows[3], "Fine.")
    assert [(row.proposer, row.rates, row.first_token_s) for row in modes.rows] == [
        ("plain", (512.3,), 0.038),
        ("drafter", (512.3,), 0.038),
    ]
    assert [reply.text for reply in modes.replies] == ["Same", "Same"] and modes.verdict == "identical"
    assert ComparisonRecord.from_json(json.loads(json.dumps(modes.to_json()))) == modes


def test_settings_are_kept(earlier: Session) -> None:
    preferences = earlier.services.preferences
    assert (preferences.appearance, preferences.text_size, preferences.language) == ("dark", 18, "de")
    assert (preferences.reduce_motion, preferences.save_prompts) == (True, False)
    assert (preferences.server_port, preferences.tool_steps) == (9123, "50")
    settings = preferences.new_chats
    assert (settings.system, settings.sampling.temperature, settings.seed) == ("Be brief.", 0.7, 5)  # type: ignore[union-attr]


def test_drafts_of_the_settings_file_move_into_the_database(earlier: Session) -> None:
    stored: list[StoredDraft] = []
    earlier.services.drafts.save()
    earlier.services.store.read(Store.contents, lambda contents: stored.extend(contents.drafts))
    earlier.until(lambda: bool(stored))
    assert "A draft that isn't sent" in [one.text for one in stored]
    earlier.until(lambda: not earlier.services.settings.contains("drafts"))


def test_tools_connections_and_own_pairs_are_kept(earlier: Session) -> None:
    configs = {config.name: config for config in earlier.services.tools.configs}
    assert (configs["notes"].command, configs["notes"].args, configs["notes"].timeout_s) == ("notes-server", ("--all",), 42)
    assert earlier.services.tools.approvals.always() == (("Calculator", "calculator"),)
    (saved,) = earlier.services.picker.endpoints.saved
    assert (saved.name, saved.endpoint.url, saved.endpoint.model) == ("Studio", "http://192.168.1.20:8000/v1", "some-model")
    custom_catalog_file().parent.mkdir(parents=True, exist_ok=True)
    for name in ("own-pairs.json", "catalog.json"):
        shutil.copy(EARLIER / name, custom_catalog_file().parent)
    assert custom_pairs() == (CustomPair("owner/target", "owner/drafter"),) and custom_pairs()[0].name == "Mine"
    entry = next(entry for entry in load_catalog().entries if entry.custom)
    assert (entry.name, entry.targets[0].repo, entry.drafters[0].repo) == ("Zebra 1B", "owner/target", "owner/drafter")
