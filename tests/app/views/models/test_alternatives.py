"""Several drafters of one target in the picker, and what the card says about each."""

import json
from dataclasses import replace

import pytest

from mlx_engine.hardware import machine
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library.catalog import custom_catalog_file
from mlx_engine.models.library.pair import Pair
from tests.app.conftest import Start
from tests.app.scripted_engine import FACTS
from tests.app.views.models.picker_page import card, look_at, opened
from tests.hub.repos import whole_files


def test_the_drafters_of_a_target_share_one_row(begin: Start) -> None:
    """Each shows its size and expected speedup. Another quantization keeps the chosen drafter."""
    app = begin()
    opened(app)
    one = look_at(app, "qwen3.8-27b")
    box, quantizations = card(app).drafters, card(app).variants
    assert [box.itemText(index) for index in range(box.count())][:4] == [
        "DFlash 2 by z-lab · 3.9 GB · 1.8–4.2×",
        "DFlash 2 by seabit-ai · 4-bit · 1.1 GB",
        "DFlash 2 by DaoCloud · 3.9 GB",
        "DSpark by RedHatAI · 2.6–3.8×",
    ]
    assert box.isVisible() and [quantizations.itemText(index) for index in range(2)] == ["4-bit", "8-bit"]
    assert "Usually gives the most tokens per second." not in card(app).facts.shown["Why this pair"]
    box.activated.emit(1)
    quantizations.activated.emit(1)
    one = look_at(app, "qwen3.8-27b")
    assert one.shown.pair == Pair("mlx-community/Qwen3.8-27B-8bit", "seabit-ai/Qwen3.8-27B-DFlash2-4bit")
    assert (quantizations.currentText(), box.currentIndex()) == ("8-bit", 1)
    facts = card(app).facts.shown
    assert "Gains the most from DFlash." not in facts["Why this pair"]  # too slow without a GPU
    assert facts["License"].endswith("drafter: Apache 2.0")
    assert facts["Kind"] == "DFlash 2, block size 8, qwen3_5" and "Published speedups" not in facts
    look_at(app, "qwen3-coder-30b-a3b")
    assert not box.isVisible() and not quantizations.isVisible()


def test_the_kind_of_a_pair_on_disk_comes_from_its_files(begin: Start) -> None:
    app = begin()
    opened(app)
    look_at(app, "demo")
    assert card(app).facts.shown["Kind"] == "DFlash, block size 16, qwen3"


def test_the_recommended_quantization_is_shown_first(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = replace(FACTS, device="Metal", bandwidth=400e9, working_set_bytes=int(48e9))
    monkeypatch.setattr(machine, "load_facts", lambda: facts)
    app = begin()
    opened(app)
    first = app.services.picker.rows.matching[0]
    look_at(app, first.id)
    assert (first.name, first.shown.label, card(app).variants.currentText()) == ("Qwen3.8 27B", "8-bit", "8-bit")
    assert card(app).facts.shown["Why this pair"].startswith("Recommended for this computer.")
    assert "Gains the most from DFlash." in card(app).facts.shown["Why this pair"]
    card(app).variants.activated.emit(0)
    assert "Recommended" not in card(app).facts.shown["Why this pair"]


def test_a_head_in_the_targets_folder_is_one_of_its_drafters(begin: Start) -> None:
    """Its bytes are not counted as the target's, too."""
    folder = HubCache().snapshot("owner/whole", "a" * 40)
    folder.mkdir(parents=True)
    for name, data in whole_files().items():
        (folder / name).write_bytes(data)
    entry = {"id": "whole-1b", "name": "Whole 1B", "targets": [{"repo": "owner/whole", "bits": 16}]}
    custom_catalog_file().write_text(json.dumps([{**entry, "drafter": {"repo": "owner/drafter", "kind": "DFlash"}}]))
    app = begin()
    opened(app)
    one = look_at(app, "whole-1b")
    box = card(app).drafters
    assert [box.itemText(index).split(" · ")[0] for index in range(box.count())] == ["MTP by owner", "DFlash by owner"]
    assert one.shown.folders == (folder, folder) and one.shown.kind == "MTP" and one.shown.problem is None
    assert one.shown.size == sum(file.stat().st_size for file in folder.glob("m*.safetensors"))
    assert one.shown.fit is not None
    weights = {line.what: line.bytes for line in one.shown.fit.lines if "weights" in line.what}
    stored = int(one.shown.size - 1000 * 1024) * 2  # bfloat16 in float32, on a CPU
    assert weights["Target weights"] == stored and "Drafter weights" in weights


def test_the_head_of_an_original_model_is_on_offer(begin: Start) -> None:
    app = begin()
    opened(app)
    one = look_at(app, "qwen3.5-9b")
    assert card(app).drafters.itemText(1).startswith("MTP by Qwen")
    assert one.variants[1].pair == Pair("mlx-community/Qwen3.5-9B-MLX-4bit", "Qwen/Qwen3.5-9B#mtp")
