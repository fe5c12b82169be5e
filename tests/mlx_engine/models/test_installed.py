"""The pairs on this disk that can be loaded."""

from pathlib import Path

import pytest

from mlx_engine.models.configs.families import NOT_RUNNABLE
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library import installed
from mlx_engine.models.library.catalog import Catalog, parse_entry
from mlx_engine.models.library.installed import InstalledPair, installed_drafters, installed_pairs
from mlx_engine.models.library.library import add_folder
from mlx_engine.models.library.pair import CustomPair, add_custom_pair, demo_pair
from tests.hub.repos import DRAFTER, TARGET, config, weights

DEMO = InstalledPair("Demo pair", *demo_pair())


def model(folder: Path, fields: dict[str, object]) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(config(**fields))
    (folder / "model.safetensors").write_bytes(weights(1, 2000))
    return folder


def in_cache(repo: str, fields: dict[str, object]) -> Path:
    cache = HubCache()
    return model(cache.snapshot(repo, "a" * 40), fields)


def test_the_demo_pair_is_always_installed() -> None:
    assert installed_pairs() == (DEMO,)


def test_a_target_has_the_drafter_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"id": "small", "name": "Small", "targets": [{"repo": "lab/Small-4bit"}], "drafter": {"repo": "lab/B-DFlash"}}
    monkeypatch.setattr(installed, "load_catalog", lambda: Catalog((parse_entry(entry),)))
    small, other = in_cache("lab/Small-4bit", TARGET), in_cache("lab/Other", TARGET)
    plain = in_cache("lab/Wide", TARGET | {"hidden_size": 128})
    first, catalogs = in_cache("lab/A-DFlash", DRAFTER), in_cache("lab/B-DFlash", DRAFTER)
    assert installed_pairs() == (
        DEMO,
        InstalledPair("Other", other, first, ("lab/Other",), auto=True),
        InstalledPair("Small-4bit", small, catalogs, ("lab/Small-4bit", "small"), auto=True),
        InstalledPair("Wide", plain, None, ("lab/Wide",)),
    )
    add_custom_pair(CustomPair("lab/Other", "lab/B-DFlash"))
    assert installed_pairs()[1] == InstalledPair("Other", other, catalogs, ("lab/Other",), auto=True)


def test_the_users_folders_are_installed_under_their_names(tmp_path: Path) -> None:
    target, drafter = model(tmp_path / "Mine/target", TARGET), model(tmp_path / "Mine/drafter", DRAFTER)
    mine = InstalledPair("Mine", target, drafter, ("My pair",))
    add_custom_pair(CustomPair(str(target), str(drafter), "My pair"))
    assert installed_pairs() == (DEMO, mine)
    add_folder(tmp_path)
    assert installed_pairs() == (DEMO, mine), "the same folder, found again"


def test_the_users_drafter_is_found_for_a_relative_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, drafter = model(tmp_path / "Mine/target", TARGET), model(tmp_path / "Mine/drafter", DRAFTER)
    add_custom_pair(CustomPair(str(target), str(drafter)))
    monkeypatch.chdir(tmp_path)
    assert installed_drafters(Path("Mine/target")) == (drafter,)


def test_a_targets_drafters_are_found_without_reading_its_weights_again(monkeypatch: pytest.MonkeyPatch) -> None:
    in_cache("lab/Small", TARGET | {"mtp_num_hidden_layers": 1})
    drafter = in_cache("lab/A-DFlash", DRAFTER)
    monkeypatch.setattr(installed, "head_bytes", lambda folder: pytest.fail("the files may be gone"))
    assert installed_pairs()[1].drafter == drafter


def test_what_cannot_run_is_not_installed() -> None:
    in_cache("lab/Unknown", TARGET | {"model_type": next(iter(NOT_RUNNABLE))})
    in_cache("lab/Program", TARGET | {"model_file": "model.py"})
    damaged = in_cache("lab/Damaged", TARGET)
    (damaged / "model.safetensors").unlink()
    in_cache("lab/Lonely-DFlash", DRAFTER)
    assert installed_pairs() == (DEMO,)
