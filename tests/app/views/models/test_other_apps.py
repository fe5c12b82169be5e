"""Targets that LM Studio or an added folder holds: rows, drafter downloads, deletion, and what happens when they disappear."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog

from app.session.pair_survey import survey
from app.views.models.model_settings import ModelSettings
from app.views.models.picker_dialog import PickerDialog
from app.views.settings.settings_dialog import SettingsDialog
from mlx_engine.contract.events import LoadProgress, PairInfo
from mlx_engine.models.downloads.download_queue import QueueFile
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.files.loadable import check_loadable
from mlx_engine.models.library.catalog import custom_catalog_file
from tests.app.conftest import Running, Start
from tests.app.scripted_engine import ScriptedEngine
from tests.app.views.models.picker_page import card, look_at, opened, state
from tests.hub.local_hub import LocalHub
from tests.hub.repos import TARGET, config, target_files
from tests.mlx_engine.models.downloads import fetch

MB = 1_000_000


def lm_studio(repo: str = "owner/target", bits: int = 8) -> Path:
    folder = Path.home() / ".lmstudio/models" / repo
    folder.mkdir(parents=True)
    for name, data in {**target_files(MB, 400_000), "config.json": config(**TARGET, quantization={"bits": bits})}.items():
        if "/" not in name:
            (folder / name).write_bytes(data)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


class CheckingEngine(ScriptedEngine):
    """Checks the folders first, as the engine does."""

    def load(self, target: Path, drafter: Path | None) -> Iterator[LoadProgress | PairInfo]:
        check_loadable(target, drafter)
        yield from super().load(target, drafter)


def zebra(app: Running) -> Path:
    """Download the drafter, and return the folder that holds it."""
    opened(app)
    one = look_at(app, "zebra-1b")
    assert one.shown.held is not None and state(app) == "absent"
    app.until(lambda: app.services.picker.can_download)
    card(app).main.click()
    app.until(lambda: state(app) == "ready")
    return HubCache().folder("owner/drafter")


def test_only_the_drafter_is_downloaded_and_deleted(begin: Start, hub: LocalHub) -> None:
    folder = lm_studio()
    before = content(folder)
    app = begin()
    opened(app)
    one = look_at(app, "zebra-1b")
    assert one.summary.endswith("In LM Studio")
    app.until(lambda: app.services.picker.can_download)
    assert card(app).main.text() == "Download 300 KB"
    assert card(app).facts.shown["Target folder"] == f"In LM Studio · {folder}"
    drafter = zebra(app)
    one = look_at(app, "zebra-1b")
    assert one.shown.folders is not None and one.shown.folders[0] == folder and one.summary.endswith("In LM Studio")
    assert not HubCache().folder("owner/target").exists()
    dialog = app.dialog(PickerDialog)
    assert dialog.card.delete.accessibleName() == "Delete the drafter from disk. The target stays where it is."
    dialog.card.delete.click()
    app.until(lambda: state(app) == "absent" and dialog.deleted.isVisible())
    assert dialog.deleted.label.text() == "Drafter of Zebra 1B removed. 300 KB will be freed when you quit."
    assert not drafter.exists() and content(folder) == before
    dialog.deleted.undo.click()
    app.until(lambda: state(app) == "ready")


def test_a_target_that_disappears_says_so_and_can_be_downloaded(begin: Start, hub: LocalHub) -> None:
    folder = lm_studio()
    app = begin(CheckingEngine())
    zebra(app)
    shutil.rmtree(folder)
    app.services.picker.use()
    app.until(lambda: state(app) == "absent")
    (notice,) = [text for text in app.notices if str(folder) in text]
    assert "If another app deleted the model, choose another one, or download it." in notice
    one = look_at(app, "zebra-1b")
    assert one.shown.held is None and "In LM Studio" not in one.summary
    app.until(lambda: app.services.picker.can_download)
    card(app).main.click()
    app.until(lambda: state(app) == "ready")
    assert HubCache().folder("owner/target").is_dir()


def test_a_paused_download_does_not_download_a_target_that_disappeared(begin: Start, hub: LocalHub) -> None:
    folder = lm_studio()
    app = begin()
    opened(app)
    look_at(app, "zebra-1b")
    app.until(lambda: app.services.picker.can_download)
    hub.rate = 20_000
    card(app).main.click()
    app.until(lambda: state(app) == "running")
    card(app).pause.click()
    app.until(lambda: [(one.state, one.held) for one in QueueFile().read()] == [("paused", folder)])
    shutil.rmtree(folder)
    app.services.picker.refresh()
    app.until(lambda: look_at(app, "zebra-1b").shown.held is None)
    card(app).main.click()
    app.until(lambda: state(app) == "failed")
    assert f"The target isn't in “{folder}” any more." in card(app).problem.label.text()
    assert not HubCache().folder("owner/target").exists()


def test_a_folder_with_another_quantization_is_a_row_of_its_own(begin: Start, hub: LocalHub) -> None:
    folder = lm_studio(bits=4)
    app = begin()
    opened(app)
    one = look_at(app, "zebra-1b")
    assert one.shown.held is None and one.shown.folders is None and "In LM Studio" not in one.summary
    app.until(lambda: app.services.picker.can_download)
    assert card(app).main.text() == "Download 2 MB"
    other = look_at(app, f"disk:{folder}")
    assert other.note.startswith("In LM Studio's models folder. Despite its name, it isn't owner/target: its weights have 4 bits.")
    assert [variant.pair for variant in other.variants] == [None]


def test_a_folder_with_a_wrong_name_leaves_the_pair_of_that_name_alone(hub: LocalHub) -> None:
    """The hub's answers and downloads belong to the repos of a pair."""
    fetch(hub, HubCache())
    shutil.rmtree(HubCache().folder("owner/target"))
    folder = lm_studio(bits=4)
    rows = {one.id: one for one in survey().candidates}
    other = rows[f"disk:{folder}"].shown
    assert other.folders is not None and other.folders[1] is not None and other.pair is None
    assert rows["zebra-1b"].shown.pair is not None and rows["zebra-1b"].shown.folders is None


def test_another_copy_of_a_listed_model_needs_only_a_drafter(begin: Start, hub: LocalHub) -> None:
    entry = {"id": "zebra-1b", "name": "Zebra 1B", "family": "qwen3", "targets": [{"repo": "owner/Zebra-1B-8bit", "bits": 8}]}
    custom_catalog_file().write_text(json.dumps([{**entry, "drafter": {"repo": "owner/drafter"}}]))
    folder = lm_studio("lmstudio-community/Zebra-1B-MLX-4bit", 4)
    app = begin()
    opened(app)
    one = look_at(app, f"disk:{folder}")
    assert one.note == "In LM Studio's models folder. A drafter can be downloaded for it."
    box = card(app).drafters
    assert [box.itemText(index) for index in range(box.count())] == ["Drafter by owner", "No drafter"]
    app.until(lambda: app.services.picker.can_download)
    card(app).main.click()
    app.until(lambda: state(app) == "ready")
    one = look_at(app, f"disk:{folder}")
    assert one.shown.folders is not None and one.shown.folders[0] == folder and one.shown.kind == "DFlash"
    assert app.services.picker.deletable == ("owner/drafter",)


def test_folders_are_added_and_removed_in_settings(
    begin: Start, hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine/owner").mkdir(parents=True)
    folder = lm_studio().rename(tmp_path / "mine/owner/target")
    before = content(folder)
    app = begin()
    opened(app)
    assert look_at(app, "zebra-1b").shown.held is None
    app.dialog(PickerDialog).settings.click()
    settings = app.dialog(SettingsDialog).findChild(ModelSettings)
    assert settings is not None and settings.added.isHidden() and settings.forget.isHidden()
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *given: str(tmp_path / "mine"))
    settings.add.click()
    app.until(lambda: look_at(app, "zebra-1b").summary.endswith("In your folder"))
    assert settings.added.currentText() == str(tmp_path / "mine") and not settings.added.isHidden()
    settings.forget.click()
    app.until(lambda: look_at(app, "zebra-1b").shown.held is None)
    assert settings.added.isHidden() and content(folder) == before


@pytest.mark.parametrize("repo", ["owner/Zebra-GGUF", "owner/target"])
def test_what_cannot_run_is_not_offered(repo: str, hub: LocalHub) -> None:
    folder = Path.home() / ".lmstudio/models" / repo
    folder.mkdir(parents=True)
    (folder / "zebra-Q4_K_M.gguf").write_bytes(b"GGUF")
    rows = survey().candidates
    assert not [one for one in rows if one.id == f"disk:{folder}"]
    assert all(variant.held is None for one in rows for variant in one.variants)
