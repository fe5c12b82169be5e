"""Deleted models can be restored until they are purged, and no program sees them during_move."""

import os
import shutil
import threading
from pathlib import Path

import pytest
from huggingface_hub import scan_cache_dir

from mlx_engine.contract.errors import UserError
from mlx_engine.models.downloads.model_move import ModelMove
from mlx_engine.models.files import hub_cache as in_cache
from mlx_engine.models.files import locks
from mlx_engine.models.files.hub_cache import DeletedModels, HubCache
from mlx_engine.models.library.library import local_models
from tests.hub.local_hub import LocalHub
from tests.hub.repos import drafter_files, target_files
from tests.mlx_engine.models.downloads import PAIR, expect_whole, fetch


@pytest.fixture
def filled(local_hub: LocalHub, cache: HubCache) -> LocalHub:
    """A complete pair."""
    local_hub.repo("owner/target", target_files(300_000, 200_000))
    local_hub.repo("owner/drafter", drafter_files(100_000))
    fetch(local_hub, cache)
    return local_hub


@pytest.fixture
def current(local_hub: LocalHub) -> HubCache:
    """The current model folder, with a complete pair."""
    local_hub.repo("owner/target", target_files(300_000))
    local_hub.repo("owner/drafter", drafter_files(100_000))
    cache = HubCache()
    fetch(local_hub, cache)
    return cache


def allocated(root: Path) -> int:
    return sum(place.lstat().st_blocks * 512 for place in root.rglob("*") if place.is_file() and not place.is_symlink())


def test_deleted_models_are_invisible_and_can_be_restored(filled: LocalHub, cache: HubCache) -> None:
    bytes = DeletedModels(cache).delete(PAIR.repos)
    assert bytes > 600_000
    found = scan_cache_dir(cache.root)
    assert not found.repos and not found.warnings and local_models(cache) == []
    DeletedModels(cache).restore(PAIR.repos)
    expect_whole(filled, cache)
    filled.sent.clear()
    assert fetch(filled, cache).downloaded == 0


def test_delete_reports_the_bytes_that_purge_frees(filled: LocalHub, cache: HubCache) -> None:
    before = allocated(cache.root)
    announced = DeletedModels(cache).delete(PAIR.repos)
    assert allocated(cache.root) == before, "nothing is free yet"
    assert DeletedModels(cache).purge() == announced
    assert 0 <= before - allocated(cache.root) - announced < 100_000, "the last block of each small file is not counted"
    with pytest.raises(UserError, match="can no longer be restored"):
        DeletedModels(cache).restore(PAIR.repos)
    assert DeletedModels(cache).purge() == 0


def test_restore_keeps_a_repo_that_was_downloaded_again(filled: LocalHub, cache: HubCache) -> None:
    DeletedModels(cache).delete(["owner/drafter"])
    fetch(filled, cache)
    place = cache.folder("owner/drafter").stat().st_ino
    DeletedModels(cache).restore(["owner/drafter"])
    assert cache.folder("owner/drafter").stat().st_ino == place
    expect_whole(filled, cache)
    DeletedModels(cache).delete(["owner/drafter"])
    DeletedModels(cache).restore(["owner/drafter"])
    expect_whole(filled, cache)


def test_a_pair_is_deleted_as_a_whole_or_not_at_all(
    filled: LocalHub, cache: HubCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.rename

    def rename(here: Path, there: Path) -> None:
        if here == cache.folder("owner/drafter"):
            raise OSError(30, "Read-only file system", str(here))
        real(here, there)

    with monkeypatch.context() as patched, pytest.raises(UserError, match=r"Can't write to .*Read-only file system"):
        patched.setattr(os, "rename", rename)
        DeletedModels(cache).delete(PAIR.repos)
    expect_whole(filled, cache)
    shutil.move(cache.folder("owner/drafter"), tmp_path / "outside")
    cache.folder("owner/drafter").symlink_to(tmp_path / "outside")
    with pytest.raises(UserError, match="points outside"):
        DeletedModels(cache).delete(PAIR.repos)
    assert cache.folder("owner/target").is_dir() and any((tmp_path / "outside").iterdir())


def test_deleting_and_moving_exclude_each_other(
    local_hub: LocalHub, current: HubCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "EXCLUSIVE_TIMEOUT", 0.1)
    DeletedModels(current).delete(["owner/drafter"])
    tried: list[str] = []

    def during_move(done: int, total: int) -> None:
        for what in (
            lambda: DeletedModels(current).delete(["owner/target"]),
            lambda: DeletedModels(current).restore(["owner/drafter"]),
        ):
            with pytest.raises(UserError, match=r"^The models are being moved to another folder\. Wait for the move to finish"):
                what()
            tried.append("refused")

    rename = os.rename

    def moving(here: Path, there: Path) -> None:
        with pytest.raises(UserError, match="Another copy of Slipstream is downloading or moving models"):
            ModelMove(tmp_path / "new").run(threading.Event())
        tried.append("not moved")
        rename(here, there)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", moving)
        DeletedModels(current).restore(["owner/drafter"])
    expect_whole(local_hub, current)
    assert ModelMove(tmp_path / "new").run(threading.Event(), during_move)
    assert tried[0] == "not moved" and set(tried[1:]) == {"refused"} and len(tried) > 1
    expect_whole(local_hub, HubCache())
    assert HubCache().root == tmp_path / "new"


def test_models_can_be_deleted_if_the_data_folder_is_full(
    local_hub: LocalHub, current: HubCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "full").write_text("no folder")
    monkeypatch.setattr(in_cache, "move_lock", lambda: tmp_path / "full" / "lock")
    assert DeletedModels(current).delete(PAIR.repos) > 0
    DeletedModels(current).restore(PAIR.repos)
    expect_whole(local_hub, current)


def test_nothing_is_deleted_from_a_folder_after_a_move(local_hub: LocalHub, current: HubCache, tmp_path: Path) -> None:
    assert ModelMove(tmp_path / "new").run(threading.Event())
    for what in (DeletedModels(current).delete, DeletedModels(current).restore):
        with pytest.raises(UserError, match=r"^The models were moved to “.*new”\. Try again\.$"):
            what(PAIR.repos)
    expect_whole(local_hub, HubCache())


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a", "a\0/b"])
def test_names_that_are_none(cache: HubCache, name: str) -> None:
    with pytest.raises(UserError, match="isn't a repo name"):
        DeletedModels(cache).delete([name])
    assert not cache.root.exists()


def test_deleted_models_are_not_moved(filled: LocalHub, cache: HubCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    DeletedModels(cache).delete(["owner/drafter"])
    assert ModelMove(tmp_path / "new").run(threading.Event())
    assert DeletedModels(cache).size_of("owner/drafter") == DeletedModels().size_of("owner/drafter") == 0
