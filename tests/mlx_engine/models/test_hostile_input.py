"""Attacks of a hostile hub, cache or catalog: refused with a message, and nothing is written outside the cache."""

import json
import struct
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError
from mlx_engine.models.downloads.download import IncompatiblePair
from mlx_engine.models.files.checkpoint import check_safetensors, read_config, weight_files
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.files.repo import check_file, check_repo, is_wanted
from mlx_engine.models.library.pair import Pair
from tests.hub.local_hub import LocalHub
from tests.hub.repos import DRAFTER, TARGET, config, drafter_files, target_files, weights
from tests.mlx_engine.models.downloads import PAIR, download, expect_whole, fetch

NAMES = [
    "../x",
    "a/../b",
    "/etc/passwd",
    "a\0b/c",
    "a//b",
    "a",
    "a/b/c",
    "",
    "a/b\n",
    "-a/b",
    ".a/b",
    "a/..",
    "a/b--c",
    "a\\b/c",
    "ä/b",
    "a/b.",
]


TRICKY = st.text("abZ09-._/\\\0\n ä~%:", max_size=30)


@pytest.mark.parametrize("name", [*NAMES, "a/" + "b" * 100, None, 7, ["a/b"]], ids=repr)
def test_unsafe_repo_names_are_refused(name: Any, cache: HubCache) -> None:
    with pytest.raises(UserError, match="isn't a repo name"):
        check_repo(name)
    with pytest.raises(UserError):
        cache.folder(name)


@given(TRICKY)
def test_accepted_repo_names_stay_inside_the_cache(name: str) -> None:
    cache = HubCache(Path("/cache"))
    try:
        folder = cache.folder(name)
    except UserError:
        return
    assert folder.parent == cache.root and folder.name == "models--" + name.replace("/", "--")


PATHS = [
    "../config.json",
    "/config.json",
    "a/../../config.json",
    "..",
    "./config.json",
    "a\\..\\config.json",
    "conf\0ig.json",
    "a\nb.json",
    "",
]


@pytest.mark.parametrize("path", PATHS, ids=repr)
def test_unsafe_file_names_are_refused(path: str) -> None:
    with pytest.raises(UserError, match="points outside its folder"):
        check_file("a/b", path, 1, "0" * 40)


@pytest.mark.parametrize("digest", ["../" + "0" * 37, "0" * 39, "G" * 40, "", None, 3, "0" * 63 + "/"], ids=repr)
def test_invalid_digests_are_refused(digest: Any) -> None:
    with pytest.raises(UserError, match="no checksum"):
        check_file("a/b", "config.json", 1, digest)


@pytest.mark.parametrize("size", [-1, None, "9", 1.5, True])
def test_invalid_sizes_are_refused(size: Any) -> None:
    with pytest.raises(UserError, match="no size"):
        check_file("a/b", "config.json", size, "0" * 40)


@given(st.one_of(TRICKY, st.builds(str.__add__, TRICKY, st.sampled_from([".json", ".safetensors", ".py"]))))
def test_only_data_files_at_the_top_level_are_wanted(path: str) -> None:
    if is_wanted(path):
        assert "/" not in path and not path.startswith(".")
        assert path.endswith((".json", ".safetensors", ".jinja", ".txt", ".model", ".tiktoken"))


def everything(place: Path) -> set[Path]:
    return set(place.rglob("*"))


@pytest.mark.parametrize(
    "path",
    ["../escaped.json", "../escaped.py", "..\\escaped.bin", "../../../escaped.json", "model/../../escaped.json", "esc\0aped.json"],
    ids=repr,
)
def test_a_listing_with_unsafe_paths_is_refused_and_writes_nothing(
    tmp_path: Path, local_hub: LocalHub, cache: HubCache, path: str
) -> None:
    local_hub.repo("owner/target", {**target_files(100_000), path: b"{}"})
    local_hub.repo("owner/drafter", drafter_files(100_000))
    with pytest.raises(UserError, match="points outside its folder"):
        fetch(local_hub, cache)
    assert everything(tmp_path) == set()


@pytest.mark.parametrize(
    "link", ["models--owner--target", "models--owner--target/blobs", "models--owner--target/snapshots", ".locks"]
)
def test_links_out_of_the_cache_are_not_followed(tmp_path: Path, local_hub: LocalHub, cache: HubCache, link: str) -> None:
    local_hub.repo("owner/target", target_files(100_000))
    outside = tmp_path / "outside"
    outside.mkdir()
    (cache.root / link).parent.mkdir(parents=True, exist_ok=True)
    (cache.root / link).symlink_to(outside)
    with pytest.raises(UserError, match="is a link that points outside the model folder"):
        fetch(local_hub, cache, Pair("owner/target"))
    assert everything(outside) == set()


def test_links_in_place_of_files_are_replaced_or_refused(tmp_path: Path, local_hub: LocalHub, cache: HubCache) -> None:
    """A partial file, a blob and a ref that link to one of the user's files."""
    local_hub.repo("owner/target", target_files(100_000))
    listing = download(local_hub, cache).hub.listing("owner/target")
    precious = tmp_path / "precious"
    precious.write_bytes(b"x" * listing.files[-1].size)
    before = precious.read_bytes()
    cache.prepare(listing)
    cache.partial(listing, listing.files[-1]).symlink_to(precious)
    with pytest.raises(UserError, match="isn't a regular file"):
        fetch(local_hub, cache, Pair("owner/target"))
    cache.partial(listing, listing.files[-1]).unlink()
    cache.blob(listing, listing.files[-1]).symlink_to(precious)
    (cache.folder("owner/target") / "refs/main").symlink_to(precious)
    fetch(local_hub, cache, Pair("owner/target"))
    assert precious.read_bytes() == before
    expect_whole(local_hub, cache, Pair("owner/target"))
    assert not cache.blob(listing, listing.files[-1]).is_symlink()


def test_removing_a_linked_repo_keeps_the_link_target(tmp_path: Path, cache: HubCache) -> None:
    outside = tmp_path / "outside"
    (outside / "snapshots").mkdir(parents=True)
    (outside / "file").write_text("mine")
    cache.root.mkdir()
    cache.folder("owner/target").symlink_to(outside)
    with pytest.raises(UserError, match="is a link that points outside the model folder"):
        cache.remove("owner/target")
    assert (outside / "file").read_text() == "mine"


class TestInvalidFiles:
    def test_a_huge_config_is_refused_before_its_download(self, local_hub: LocalHub, cache: HubCache) -> None:
        files = target_files(100_000)
        files["config.json"] = b"{" + b" " * 100_000_000 + b"}"
        local_hub.repo("owner/target", files)
        with pytest.raises(UserError, match="is too large"):
            fetch(local_hub, cache, Pair("owner/target"))
        assert not cache.root.exists()

    def test_a_huge_config_on_disk_is_refused(self, tmp_path: Path) -> None:
        with (tmp_path / "config.json").open("wb") as stream:
            stream.truncate(100_000_000)
        with pytest.raises(UserError, match="is too large"):
            read_config(tmp_path)

    def test_a_deeply_nested_config_is_refused(self, tmp_path: Path, local_hub: LocalHub, cache: HubCache) -> None:
        (tmp_path / "config.json").write_text('{"a":' + "[" * 100_000)
        with pytest.raises(UserError, match="isn't a valid model config"):
            read_config(tmp_path)
        local_hub.repo("owner/target", {**target_files(100_000), "config.json": b'{"a":' + b"[" * 100_000})
        with pytest.raises(UserError, match="isn't a JSON object"):
            fetch(local_hub, cache, Pair("owner/target"))

    @pytest.mark.parametrize(
        "header",
        [
            {"w": {"dtype": "U8", "shape": [900], "data_offsets": [0, 10**15]}},
            {"w": {"dtype": "F32", "shape": [900], "data_offsets": [0, 900]}},
            {"w": {"dtype": "U8", "shape": [100], "data_offsets": [100, 0]}},
            {"w": {"dtype": "U8", "shape": [100], "data_offsets": [-100, 0]}},
            {"w": {"dtype": "U8", "shape": [2**40, 2**40], "data_offsets": [0, 100]}},
            {
                "w": {"dtype": "U8", "shape": [9], "data_offsets": [0, 9]},
                "v": {"dtype": "U8", "shape": [9], "data_offsets": [3, 12]},
            },
            {"w": {"dtype": "U8", "shape": "x", "data_offsets": [0, 1]}},
            {"w": [0, 1]},
            [],
        ],
        ids=["beyond", "short", "backwards", "negative", "huge", "overlap", "shape", "list", "no object"],
    )
    def test_invalid_safetensors_headers_are_refused(self, tmp_path: Path, header: Any) -> None:
        text = json.dumps(header).encode()
        file = tmp_path / "model.safetensors"
        file.write_bytes(struct.pack("<Q", len(text)) + text + bytes(1000))
        with pytest.raises(UserError, match=r"is damaged|is incomplete"):
            check_safetensors(file, "It")

    @pytest.mark.parametrize("length", [2**63, 10**9, 5000])
    def test_invalid_safetensors_header_lengths_are_refused(self, tmp_path: Path, length: int) -> None:
        file = tmp_path / "model.safetensors"
        file.write_bytes(struct.pack("<Q", length) + b"{}" + bytes(1000))
        with pytest.raises(UserError, match=r"is damaged|is incomplete"):
            check_safetensors(file, "It")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            '{"weight_map": 3}',
            '{"weight_map": {"a": 1, "b": "model.safetensors"}}',
            '{"weight_map": {"a": []}}',
            '{"weight_map": {"a": "x\\u001b[31m"}}',
            '{"weight_map":' + "[" * 100_000,
        ],
        ids=["empty", "list", "number", "kinds", "no name", "terminal codes", "nested"],
    )
    def test_an_invalid_shard_index_is_refused(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "model.safetensors").write_bytes(weights(0, 5000))
        (tmp_path / "model.safetensors.index.json").write_text(text)
        with pytest.raises(UserError, match=r"model\.safetensors\.index\.json” is damaged"):
            weight_files(tmp_path)

    def test_a_huge_shard_index_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "model.safetensors").write_bytes(weights(0, 5000))
        with (tmp_path / "model.safetensors.index.json").open("wb") as stream:
            stream.truncate(100_000_000)
        with pytest.raises(UserError, match="is damaged"):
            weight_files(tmp_path)

    @pytest.mark.parametrize("text", ["", "../" * 13 + "x", "/etc", "0" * 39, "é" * 40, "0" * 41])
    def test_an_invalid_ref_is_ignored(self, cache: HubCache, text: str) -> None:
        place = cache.folder("owner/target") / "refs/main"
        place.parent.mkdir(parents=True)
        place.write_text(text)
        assert cache.main_commit("owner/target") is None

    def test_a_valid_safetensors_header_is_accepted(self, tmp_path: Path) -> None:
        (tmp_path / "model.safetensors").write_bytes(weights(0, 5000))
        check_safetensors(tmp_path / "model.safetensors", "It")

    def test_an_invalid_header_is_refused_before_the_snapshot_is_published(self, local_hub: LocalHub, cache: HubCache) -> None:
        text = json.dumps({"w": {"dtype": "F32", "shape": [10**9], "data_offsets": [0, 4 * 10**9]}}).encode()
        files = {**target_files(100_000), "model-00001-of-00001.safetensors": struct.pack("<Q", len(text)) + text + bytes(5000)}
        local_hub.repo("owner/target", files)
        with pytest.raises(UserError, match=r"The published copy of .* in owner/target is damaged\. Choose another repo"):
            fetch(local_hub, cache, Pair("owner/target"))
        assert not list((cache.folder("owner/target") / "snapshots").iterdir())

    def test_invalid_listings_are_refused(self, local_hub: LocalHub, cache: HubCache) -> None:
        for answer in (
            [],
            "x",
            {"sha": 3},
            {"id": "owner/target", "sha": "../" + "0" * 37, "siblings": []},
            {"siblings": [{"a": 1}]},
        ):
            local_hub.instead["/api/models"] = lambda _, answer=answer: httpx2.Response(200, json=answer)
            local_hub.repo("owner/target", target_files(1000))
            with pytest.raises(UserError):
                fetch(local_hub, cache, Pair("owner/target"))
        assert not cache.root.exists()


class TestCompatibility:
    """Checked before any large download."""

    @pytest.mark.parametrize(
        ("target", "drafter", "words"),
        [
            ({"hidden_size": 128}, {}, "needs a target whose “hidden_size” is 64, not 128"),
            ({"vocab_size": 999}, {}, "needs a target whose “vocab_size” is 128, not 999"),
            ({"num_hidden_layers": 9}, {}, "needs a target whose “num_hidden_layers” is 4, not 9"),
            ({"model_type": "zebra"}, {}, "mlx-lm doesn't support the “zebra” family"),
            ({"model_type": "mamba"}, {}, "DFlash isn't available for the “mamba” family"),
            ({"model_file": "x.py"}, {}, "requires custom Python code"),
            ({"quantization_config": {"quant_method": "exl2"}}, {}, "quantization format “exl2” isn't supported"),
            ({}, {"architectures": ["LlamaForCausalLM"]}, "LlamaForCausalLM"),
            ({}, {"dflash_config": {"target_layer_ids": [1, 4], "mask_token_id": 127}}, "target_layer_ids"),
            ({}, {"dflash_config": {"target_layer_ids": [1, 2], "mask_token_id": 128}}, "mask_token_id"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_incompatible_pairs_are_refused_before_their_download(
        self, local_hub: LocalHub, cache: HubCache, target: dict, drafter: dict, words: str
    ) -> None:
        local_hub.repo("owner/target", {**target_files(100_000), "config.json": config(**{**TARGET, **target})})
        local_hub.repo("owner/drafter", {**drafter_files(100_000), "config.json": config(**{**DRAFTER, **drafter})})
        with pytest.raises(IncompatiblePair, match=words):
            fetch(local_hub, cache)
        assert not cache.root.exists()
        assert not [path for _, path, _ in local_hub.asked if "safetensors" in path]

    @pytest.mark.parametrize(
        ("lacks", "words"),
        [
            ("model-00001-of-00001.safetensors", "no safetensors weights"),
            ("tokenizer.json", "no tokenizer"),
            ("config.json", "no config.json"),
        ],
    )
    def test_incomplete_repos_are_refused(self, local_hub: LocalHub, cache: HubCache, lacks: str, words: str) -> None:
        files = target_files(100_000)
        files.pop("tokenizer_config.json")
        files.pop(lacks)
        local_hub.repo("owner/target", files)
        with pytest.raises(UserError, match=words):
            fetch(local_hub, cache, Pair("owner/target"))

    def test_a_tokenizer_with_its_own_code_is_refused(self, local_hub: LocalHub, cache: HubCache) -> None:
        files = {
            **target_files(100_000),
            "tiktoken.model": b"x",
            "tokenizer_config.json": config(auto_map={"AutoTokenizer": ["t.T", None]}),
        }
        files.pop("tokenizer.json")
        local_hub.repo("owner/target", files)
        with pytest.raises(UserError, match="requires custom Python code"):
            fetch(local_hub, cache, Pair("owner/target"))

    def test_kimis_tokenizer_is_downloaded_without_its_code(self, local_hub: LocalHub, cache: HubCache) -> None:
        code = "tokenization_kimi.TikTokenTokenizer"
        files = {
            **target_files(100_000),
            "tiktoken.model": b"x",
            "tokenization_kimi.py": b"x",
            "tokenizer_config.json": config(auto_map={"AutoTokenizer": [code, None]}),
        }
        files.pop("tokenizer.json")
        local_hub.repo("owner/target", files)
        assert download(local_hub, cache, Pair("owner/target")).run(threading.Event()) is not None
        asked = {path.rpartition("/")[2] for _, path, _ in local_hub.asked}
        assert "tiktoken.model" in asked and "tokenization_kimi.py" not in asked

    def test_a_compatible_pair_is_downloaded(self, local_hub: LocalHub, cache: HubCache) -> None:
        local_hub.repo("owner/target", target_files(100_000))
        local_hub.repo("owner/drafter", drafter_files(100_000))
        assert download(local_hub, cache, PAIR).run(threading.Event()) is not None
