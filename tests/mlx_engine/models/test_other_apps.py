"""Models of LM Studio and in added folders: found, compared with the catalog, and used in place."""

import json
import os
import tempfile
import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from huggingface_hub import constants
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.cli.main import main
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import write_json
from mlx_engine.models.downloads.download_queue import QueuedPair, QueueFile
from mlx_engine.models.files.hub_cache import HubCache, choose_folder
from mlx_engine.models.files.lm_studio import lm_studio_folders
from mlx_engine.models.library.catalog import Catalog, custom_catalog_file, load_catalog, parse_entry
from mlx_engine.models.library.identity import catalog_difference, held_target, related_entry
from mlx_engine.models.library.installed import installed_pairs
from mlx_engine.models.library.library import LocalModel, add_folder, local_models
from tests.hub.local_hub import LocalHub
from tests.hub.repos import TARGET, config, drafter_files, target_files, weights
from tests.mlx_engine.models.downloads import PAIR, download, expect_snapshot, sent

MB = 1_000_000
ENTRY = {"id": "small", "name": "Small", "family": "qwen3", "targets": [{"repo": "owner/target", "bits": 8}]}
ENTRY |= {"drafter": {"repo": "owner/drafter"}}
VALUES = st.none() | st.integers() | st.text() | st.lists(st.text(), max_size=2)
SMALL = Catalog((parse_entry(ENTRY),))


def lm_studio(repo: str = "owner/target", bits: int | None = 8, files: dict[str, bytes] | None = None) -> Path:
    """Make a target in LM Studio's folder."""
    folder = Path.home() / ".lmstudio/models" / repo
    folder.mkdir(parents=True)
    quantization = {"quantization": {"bits": bits, "group_size": 64}} if bits else {}
    found = target_files(2 * MB, MB) if files is None else files
    for name, data in {**found, "config.json": config(**TARGET, **quantization)}.items():
        if "/" not in name:
            (folder / name).write_bytes(data)
    return folder


def listing(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(file.relative_to(folder)): (file.read_bytes(), file.stat().st_mtime_ns) for file in sorted(folder.glob("*"))}


class TestFolders:
    def test_the_folder_of_its_settings_comes_first(self, tmp_path: Path) -> None:
        home = tmp_path / "elsewhere"
        write_json(home / "settings.json", {"downloadsFolder": str(tmp_path / "disk")})
        (tmp_path / ".lmstudio-home-pointer").write_text(f"{home}\n")
        assert lm_studio_folders() == [
            tmp_path / "disk",
            home / "models",
            tmp_path / ".lmstudio/models",
            tmp_path / ".cache/lm-studio/models",
        ]

    @given(settings=VALUES | st.fixed_dictionaries({"downloadsFolder": VALUES}), pointer=st.binary(max_size=20))
    def test_strange_settings_hide_no_folder(self, settings: Any, pointer: bytes) -> None:
        with tempfile.TemporaryDirectory() as home, patch.dict(os.environ, {"HOME": home}):
            (Path(home) / ".lmstudio").mkdir()
            (Path(home) / ".lmstudio/settings.json").write_text(json.dumps(settings))
            (Path(home) / ".lmstudio-home-pointer").write_bytes(pointer)
            assert set(lm_studio_folders()) >= {Path(home) / ".lmstudio/models", Path(home) / ".cache/lm-studio/models"}

    def test_damaged_settings_hide_no_folder(self, tmp_path: Path) -> None:
        (tmp_path / ".lmstudio").mkdir()
        (tmp_path / ".lmstudio/settings.json").write_text("{")
        assert tmp_path / ".lmstudio/models" in lm_studio_folders()

    def test_formats_that_cannot_run_are_not_listed(self, tmp_path: Path) -> None:
        folder = tmp_path / ".lmstudio/models/owner/Zebra-GGUF"
        folder.mkdir(parents=True)
        (folder / "zebra-Q4_K_M.gguf").write_bytes(b"GGUF")
        assert local_models() == []

    @pytest.mark.parametrize("indexed", [True, False])
    def test_a_target_without_one_of_its_shards_is_not_usable(self, indexed: bool) -> None:
        names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
        files = {names[0]: weights(1, 2000), "tokenizer.json": b"{}"}
        if indexed:
            files["model.safetensors.index.json"] = config(weight_map={"a": names[0], "b": names[1]})
        lm_studio(files=files)
        (found,) = local_models()
        assert found.problem is not None and names[1] in str(found.problem)
        assert held_target(SMALL, [found], "owner/target") is None


class TestIdentity:
    @given(st.integers(1, 32), st.sampled_from(["qwen3", "llama"]))
    def test_only_the_listed_family_and_bits_are_the_listed_target(self, bits: int, family: str) -> None:
        settings = {"model_type": family, "quantization": {"bits": bits, "group_size": 64}}
        model = LocalModel(Path("/a"), "Owner/Target", "LM Studio", False, settings, 1, None)
        assert (catalog_difference(SMALL, model) is None) == (bits == 8 and family == "qwen3")

    @pytest.mark.parametrize(
        ("settings", "same"),
        [
            ({"bits": 4, "mode": "mxfp4", "lm_head": {"bits": 8, "mode": "affine"}}, True),
            ({"bits": 4, "lm_head": {"bits": 8}}, False),
            ({"bits": 4, "mode": "mxfp4"}, False),
            (None, False),
            ({"bits": True}, True),  # unknown
        ],
    )
    def test_mixed_quantizations_are_named_after_their_other_layers(self, settings: dict | None, same: bool) -> None:
        fields = {"model_type": "qwen3", **({"quantization": settings} if settings else {})}
        model = LocalModel(Path("/a"), "owner/target", "folder", False, fields, 1, None)
        assert (catalog_difference(SMALL, model) is None) == same

    def test_all_listed_targets_are_themselves(self) -> None:
        catalog = load_catalog()
        for entry in catalog.entries:
            for target in entry.targets:
                fields = {"model_type": entry.family, "quantization": {"bits": target.bits}}
                fields = {"model_type": entry.family} if target.bits == 16 else fields
                assert catalog_difference(catalog, LocalModel(Path("/a"), target.repo, "LM Studio", False, fields, 1, None)) is None

    def test_another_copy_of_a_listed_model_is_related(self) -> None:
        catalog = load_catalog()

        def entry_of(repo: str, family: str) -> str | None:
            found = related_entry(catalog, LocalModel(Path("/a"), repo, "LM Studio", False, {"model_type": family}, 1, None))
            return found.id if found else None

        assert entry_of("lmstudio-community/Qwen3-8B-MLX-8bit", "qwen3") == "qwen3-8b"
        assert entry_of("lmstudio-community/Qwen3-8B-MLX-8bit", "llama") is None
        assert entry_of("lmstudio-community/Qwen3-9B-MLX-8bit", "qwen3") is None

    def test_a_folder_with_a_wrong_name_has_no_alias(self) -> None:
        custom_catalog_file().parent.mkdir(parents=True, exist_ok=True)
        custom_catalog_file().write_text(json.dumps([ENTRY]))
        folder = lm_studio(bits=4)
        assert [pair.aliases for pair in installed_pairs() if pair.target == folder] == [()]

    def test_a_copy_in_the_hub_cache_is_preferred(self, cache: HubCache) -> None:
        lm_studio()
        assert held_target(SMALL, local_models(cache), "OWNER/target") is not None
        snapshot = cache.snapshot("owner/target", "a" * 40)
        snapshot.mkdir(parents=True)
        for name, data in target_files(MB).items():
            if "/" not in name:
                (snapshot / name).write_bytes(data)
        assert held_target(SMALL, local_models(cache), "owner/target") is None

    def test_a_target_without_a_tokenizer_is_not_offered(self) -> None:
        lm_studio(files={"model.safetensors": weights(1, 2000)})
        assert held_target(SMALL, local_models(), "owner/target") is None

    def test_the_shared_cache_is_searched_after_the_models_were_moved(self, tmp_path: Path) -> None:
        snapshot = HubCache().snapshot("owner/target", "a" * 40)
        snapshot.mkdir(parents=True)
        for name, data in target_files(MB).items():
            if "/" not in name:
                (snapshot / name).write_bytes(data)
        assert held_target(SMALL, local_models(), "owner/target") is None, "the model folder itself"
        choose_folder(tmp_path / "moved")
        found = held_target(SMALL, local_models(), "owner/target")
        assert found is not None and (found.place, found.folder) == ("shared cache", snapshot)


class TestDownload:
    def test_only_the_drafter_is_downloaded(self, local_hub: LocalHub, cache: HubCache) -> None:
        local_hub.repo("owner/drafter", drafter_files(MB))  # the hub doesn't even have the target
        folder = lm_studio()
        before = listing(folder)
        made = download(local_hub, cache, held=folder)
        drafter = cache.snapshot("owner/drafter", local_hub.repos["owner/drafter"].branches["main"])
        assert made.run(threading.Event()) == (folder, drafter)
        expect_snapshot(drafter, local_hub.repos["owner/drafter"].commits[drafter.name])
        assert sent(local_hub) == MB and not cache.folder("owner/target").exists() and listing(folder) == before

    def test_a_target_that_disappeared_is_named(self, local_hub: LocalHub, cache: HubCache, tmp_path: Path) -> None:
        local_hub.repo("owner/drafter", drafter_files(MB))
        with pytest.raises(UserError, match="Cancel this download") as caught:
            download(local_hub, cache, held=tmp_path / "gone").run(threading.Event())
        assert caught.value.text.code == "held_target_gone" and sent(local_hub) == 0

    def test_a_drafter_that_does_not_fit_is_refused(self, local_hub: LocalHub, cache: HubCache) -> None:
        local_hub.repo("owner/drafter", drafter_files(MB) | {"config.json": config(**TARGET, hidden_act="silu")})
        with pytest.raises(UserError):
            download(local_hub, cache, held=lm_studio()).run(threading.Event())
        assert sent(local_hub) == 0

    def test_the_queue_keeps_the_folder(self, tmp_path: Path) -> None:
        queue = QueueFile()
        queue.put(PAIR, state="paused", held=tmp_path)
        queue.put(PAIR, state="waiting")  # resumed
        assert queue.find(PAIR) == QueuedPair(PAIR, "waiting", held=tmp_path)

    @given(VALUES | st.text().map(lambda name: f"/{name}"))
    def test_strange_folders_in_the_queue_are_ignored(self, held: Any) -> None:
        found = QueuedPair.from_json({"target": "a/b", "drafter": "a/c", "held": held})
        assert found is not None and (found.held is None or os.path.isabs(held))

    def test_pull_and_rm_leave_the_folder_alone(
        self, local_hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        local_hub.repo("owner/drafter", drafter_files(MB))
        monkeypatch.setattr(constants, "ENDPOINT", local_hub.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", local_hub.url + "/{repo_id}/resolve/{revision}/{filename}")
        folder = lm_studio()
        before = listing(folder)
        both = ["--target", "owner/target", "--drafter", "owner/drafter"]
        assert main(["models", "fit", *both, "--json"]) == 0
        assert MB < json.loads(capsys.readouterr().out)["disk"]["size"] < 2 * MB
        assert main(["models", "pull", *both]) == 0
        shown = capsys.readouterr()
        assert f"in “{folder}”. Only the drafter is downloaded." in shown.err and str(folder) in shown.out
        assert QueueFile().read() == ()
        assert main(["models", "rm", *both]) == 0
        assert f"owner/target: kept in “{folder}”" in capsys.readouterr().out
        assert not cache.folder("owner/drafter").exists() and listing(folder) == before


def test_models_of_added_folders_are_held_too(tmp_path: Path) -> None:
    (tmp_path / "mine/owner").mkdir(parents=True)
    lm_studio().rename(tmp_path / "mine/owner/target")
    assert held_target(SMALL, local_models(), "owner/target") is None
    add_folder(tmp_path / "mine")
    found = held_target(SMALL, local_models(), "owner/target")
    assert found is not None and found.place == "folder"
