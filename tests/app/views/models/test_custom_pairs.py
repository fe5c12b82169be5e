"""Custom pairs: what Check says, and the list after one is added."""

import shutil
from pathlib import Path

import pytest

from app.session.custom_pairs import check_pair
from app.text.language import translated
from app.views.models.picker_dialog import CustomPairDialog, PickerDialog
from mlx_engine.contract.errors import UserError
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.network import offline
from tests.app.conftest import Running, Start
from tests.app.views.models.picker_page import card, opened
from tests.hub.local_hub import LocalHub
from tests.hub.repos import target_files


def custom_pair(app: Running) -> CustomPairDialog:
    """Open the dialog for a custom pair."""
    picker = app.dialog(PickerDialog)
    picker.custom.trigger()
    dialog = picker.findChild(CustomPairDialog)
    assert dialog is not None
    return dialog


@pytest.mark.parametrize("place", ["hub", "folder"])
def test_a_model_that_can_not_chat_says_so_before_it_is_used(begin: Start, hub: LocalHub, tmp_path: Path, place: str) -> None:
    files = target_files(100_000) | {"tokenizer_config.json": b"{}"}
    hub.repo("owner/base", files)
    (tmp_path / "base").mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "model-00001-of-00001.safetensors"):
        (tmp_path / "base" / name).write_bytes(files[name])
    app = begin()
    opened(app)
    dialog, picker = custom_pair(app), app.services.picker
    dialog.target.setText("owner/base" if place == "hub" else str(tmp_path / "base"))
    dialog.go.click()
    app.until(lambda: dialog.go.text() == "Add")
    verdict = dialog.verdict.text()
    assert verdict.startswith("This model has no chat template, so it can't chat. It can only continue text")
    dialog.go.click()
    app.until(lambda: picker.rows.current is not None and picker.rows.current.name == "base")
    assert card(app).problem.isVisible() and card(app).problem.label.text() == verdict
    (tmp_path / "base/chat_template.jinja").write_text("{{ messages }}")
    assert check_pair(str(tmp_path / "base"), "") == ""


def test_the_search_field_shows_the_search_after_a_pair_was_added(begin: Start, hub: LocalHub) -> None:
    hub.repo("owner/smollm", target_files(100_000))
    app = begin()
    opened(app)
    picker = app.dialog(PickerDialog)
    picker.filters.button(4).click()
    picker.search.setText("smollm")
    assert picker.empty.text() == "No listed pairs match “smollm”."
    dialog = custom_pair(app)
    offline.set_offline(True)
    dialog.target.setText("/nowhere")
    dialog.go.click()
    app.until(dialog.go.isEnabled)
    assert dialog.verdict.property("look") == "danger" and not dialog.turn_off.isVisible(), "Offline isn't the reason"
    offline.set_offline(False)
    dialog.target.setText("owner/smollm")
    dialog.go.click()
    app.until(lambda: dialog.go.text() == "Add")
    dialog.go.click()
    app.until(lambda: app.services.picker.rows.selected.startswith("own:"))
    assert len(app.services.picker.rows.matching) > 1 and picker.search.text() == "" and picker.filters.checkedId() == 0


@pytest.mark.parametrize("part", [0, 1], ids=["target", "drafter"])
def test_check_refuses_folders_that_loading_refuses(tmp_path: Path, part: int) -> None:
    folders = [Path(shutil.copytree(folder, tmp_path / folder.name, symlinks=False)) for folder in demo_pair()]
    weights = folders[part] / "model.safetensors"
    whole = weights.read_bytes()

    def checked() -> str:
        with pytest.raises(UserError) as refused:
            check_pair(str(folders[0]), str(folders[1]))
        return translated(refused.value.text)

    assert check_pair(str(folders[0]), str(folders[1])) == ""
    for length in (len(whole) - 1, len(whole) // 2, 20, 0):
        weights.write_bytes(whole[:length])
        assert checked() == f"“{weights}” is damaged or incomplete. Download the model again."
    weights.unlink()
    assert checked().startswith(f"“{folders[part]}” has no weights")
    (folders[part] / "model.safetensors.index.json").write_text('{"weight_map": {"norm": "model-00002-of-00002.safetensors"}}')
    assert "is missing weight files, such as model-00002-of-00002.safetensors" in checked()
