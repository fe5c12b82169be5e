"""mlx-lm loads a finished download by the repo's name, offline."""

from pathlib import Path

import mlx.core as mx
import mlx_lm
import pytest
from huggingface_hub import constants
from mlx.utils import tree_flatten

from mlx_engine.contract.events import PairInfo
from mlx_engine.engine.engine import Engine
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library.pair import Pair
from tests.golden.__main__ import HERE
from tests.hub.local_hub import LocalHub
from tests.mlx_engine.models.downloads import fetch


def published(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_mlx_lm_and_the_engine_load_the_download(local_hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
    golden = HERE / "e2e_qwen3"
    local_hub.repo("golden/target", published(golden / "target"))
    local_hub.repo("golden/drafter", published(golden / "drafter"))
    fetch(local_hub, cache, Pair("golden/target", "golden/drafter"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    model, tokenizer = mlx_lm.load("golden/target")
    expected, _ = mlx_lm.load(str(golden / "target"))
    ours, theirs = dict(tree_flatten(model.parameters())), dict(tree_flatten(expected.parameters()))
    assert ours.keys() == theirs.keys()
    assert all(mx.array_equal(ours[name], theirs[name]).item() for name in ours)
    assert tokenizer.vocab_size > 0
    folders = [cache.snapshot(name, local_hub.repos[name].branches["main"]) for name in ("golden/target", "golden/drafter")]
    (info,) = [event for event in Engine().load(*folders) if isinstance(event, PairInfo)]
    assert info.block_size > 1
