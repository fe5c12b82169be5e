"""The published config of every pair in the catalog is read, and found to fit."""

import json
from copy import deepcopy

import pytest

from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.drafters.registry import parse
from mlx_engine.models.configs.target_config import dflash_problem, layer_states, pair_problem, target_problem
from mlx_engine.models.files.repo import is_head
from mlx_engine.models.fit import predict_fit
from mlx_engine.models.library.catalog import load_catalog
from tests.mlx_engine import tiny_families
from tests.mlx_engine.conftest import loaded
from tests.mlx_engine.models import published_configs as published

ENTRIES = {entry.id: entry for entry in load_catalog().entries}
HEADS = {drafter.repo for entry in ENTRIES.values() for drafter in entry.drafters if is_head(drafter.repo)}
PAIRS = [
    (id, drafter)
    for id in published.TARGETS
    for drafter in ENTRIES[id].drafters
    if drafter.repo in published.DRAFTERS or drafter.repo in HEADS
]
FACTS = MachineFacts("", "Metal", 1, 10**12, 10**12, 1.0, 1.0, "", "", "", "")


def test_every_target_and_drafter_has_a_record_or_is_listed_without_one() -> None:
    assert published.TARGETS.keys() | published.NO_TARGET_KNOWN == ENTRIES.keys()
    assert not published.TARGETS.keys() & published.NO_TARGET_KNOWN
    drafters = {drafter.repo for entry in ENTRIES.values() for drafter in entry.drafters} - HEADS
    assert published.DRAFTERS.keys() | published.NO_DRAFTER_KNOWN == drafters
    assert not published.DRAFTERS.keys() & published.NO_DRAFTER_KNOWN
    used = {record[0] for records in (published.TARGETS, published.DRAFTERS) for record in records.values()}
    assert used == published.SOURCES.keys()


@pytest.mark.parametrize("id", published.TARGETS)
def test_a_published_target_is_read(id: str) -> None:
    config = published.target_config(id)
    assert ENTRIES[id].family in (None, config["model_type"])
    assert target_problem(config) is None and dflash_problem(config) is None
    states = layer_states(config)
    assert states is not None and len(states) <= config.get("text_config", config)["num_hidden_layers"]
    assert predict_fit(config, None, 10**9, 0, facts=FACTS).verdict == "comfortable"


@pytest.mark.parametrize(("id", "drafter"), PAIRS, ids=lambda value: getattr(value, "repo", value))
def test_a_published_pair_fits(id, drafter) -> None:
    target = published.target_config(id)
    config = target if drafter.repo in HEADS else published.drafter_config(drafter.repo)
    read = parse(config)
    assert drafter.kind in (None, read.kind)
    assert drafter.block_size in (None, read.block_size)
    assert pair_problem(target, config) is None
    assert predict_fit(target, config, 10**9, 10**8, facts=FACTS).verdict == "comfortable"


@pytest.mark.parametrize("key", ["3", "03"])
def test_a_target_with_settings_per_layer_is_read_like_an_older_one(tmp_path, key: str) -> None:
    folder = tiny_families.save("gemma4_unified", tmp_path / "target")
    older = json.loads((folder / "config.json").read_text())
    newer = deepcopy(older)
    text = newer["text_config"]
    settings = {"head_dim": text.pop("global_head_dim"), "num_key_value_heads": text.pop("num_global_key_value_heads")}
    (folder / "config.json").write_text(json.dumps({**newer, "text_config": {**text, "per_layer_config": {key: settings}}}))
    loaded(folder, None)
    assert layer_states(json.loads((folder / "config.json").read_text())) == layer_states(older)
    text["per_layer_config"] = {key: settings, "0": settings}  # not for a full-attention layer
    assert layer_states(newer) != layer_states(older)
