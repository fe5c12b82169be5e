"""MTP heads inside whole models: only their bytes are downloaded, and a head in the target's folder is its drafter."""

import json
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from huggingface_hub import constants
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open

from mlx_engine.cli.models import _faults
from mlx_engine.contract.errors import UserError
from mlx_engine.models.downloads.download import inspect_pair
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.downloads.matching import find_drafter, find_local_drafter
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.files.mtp_head import LENGTH, head_bytes, head_tensors, pair_bytes, parse_header
from mlx_engine.models.fit import predict_fit
from mlx_engine.models.library import installed
from mlx_engine.models.library.catalog import Catalog, load_catalog
from mlx_engine.models.library.installed import InstalledPair, installed_pairs
from mlx_engine.models.library.library import local_models
from mlx_engine.models.library.pair import Pair
from tests.hub.local_hub import Fault, LocalHub
from tests.hub.repos import TARGET, WHOLE, config, target_files, tensors, whole_files
from tests.hub.server import ServedHub
from tests.mlx_engine.models.downloads import download, fetch, leftovers, run_until
from tests.mlx_engine.models.test_download_faults import FAULT, IN_FLIGHT, MB, PAUSES, run_with_kills
from tests.mlx_engine.models.test_installed import in_cache
from tests.mlx_engine.models.test_models_command import models

PAIR = Pair("owner/target", "owner/whole#mtp")
ROW = 1024  # bytes
MIXED = {"lm_head.weight": (900, 512), "mtp.fc.weight": (500, 512), "mtp.norm.weight": (500, 512)}
SECOND = "model-00002-of-00002.safetensors"


def offer(local: LocalHub, rows: int = 500, **options: bool) -> LocalHub:
    local.repo("owner/target", {**target_files(200_000), "config.json": config(**WHOLE)})
    local.repo("owner/whole", whole_files(rows, **options))
    return local


def bytes_sent(local: LocalHub, path: str) -> int:
    """Bytes of a file of the whole model."""
    repo = local.repos["owner/whole"]
    return local.sent[repo.commits[repo.branches["main"]][path].digest]


def snapshot(local: LocalHub, cache: HubCache) -> Path:
    return cache.snapshot("owner/whole#mtp", local.repos["owner/whole"].branches["main"])


def expect_head(local: LocalHub, cache: HubCache, rows: int, file: str = SECOND) -> None:
    """Check that the head is stored like a model of its own, and that nothing unfinished is left."""
    folder = snapshot(local, cache)
    assert {path.name for path in folder.iterdir()} == {"config.json", file}
    with safe_open(folder / file, framework="np") as opened:
        assert {name: opened.get_slice(name).get_shape() for name in opened.keys()} == {  # noqa: SIM118
            "mtp.fc.weight": [rows, 512],
            "mtp.norm.weight": [rows, 512],
        }
    data = (folder / file).read_bytes()
    assert data.endswith(b"\x80\x2a" * (2 * rows * 512)) and head_bytes(folder) == 2 * rows * ROW
    assert leftovers(cache) == [] and not cache.folder("owner/whole").exists()


def test_only_the_bytes_of_the_head_are_downloaded(local_hub: LocalHub, cache: HubCache) -> None:
    offer(local_hub)
    found = inspect_pair(Hub(local_hub.url), cache, PAIR)
    assert not found.problem and 0 < found.weight_sizes[1] - 1000 * ROW < 1000
    local_hub.sent.clear()
    fetch(local_hub, cache, PAIR)
    expect_head(local_hub, cache, 500)
    assert 0 <= bytes_sent(local_hub, SECOND) - 1000 * ROW < 1000  # its own header
    assert bytes_sent(local_hub, "model-00001-of-00002.safetensors") == 0
    local_hub.sent.clear()
    assert fetch(local_hub, cache, PAIR).downloaded == 0


def test_the_head_is_a_drafter_on_this_disk(local_hub: LocalHub, cache: HubCache) -> None:
    fetch(offer(local_hub), cache, PAIR)
    target, drafter = local_models(cache)
    assert (target.repo, target.is_drafter, drafter.repo, drafter.is_drafter) == ("owner/target", False, "owner/whole#mtp", True)
    assert not _faults(cache, drafter.repo)
    assert cache.remove("owner/whole#mtp") > 1000 * ROW and len(local_models(cache)) == 1


def test_the_terminal_downloads_checks_and_removes_a_head(
    local_hub: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(local_hub)
    monkeypatch.setattr(constants, "ENDPOINT", local_hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", local_hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    both = ("--target", "owner/target", "--drafter", "owner/whole#mtp")
    status, printed = models(capsys, "fit", *both)
    assert status == 0 and "Drafter weights" in [line["what"] for line in printed["memory"]["lines"]]
    assert models(capsys, "pull", *both)[0] == 0
    expect_head(local_hub, cache, 500)
    assert models(capsys, "check", *both)[0] == 0
    kinds = {one["repo"]: one["kind"] for one in models(capsys, "list")[1]["on_disk"]}
    assert kinds == {"owner/target": "target", "owner/whole#mtp": "drafter"}
    assert models(capsys, "rm", *both)[1]["freed_bytes"]["owner/whole#mtp"] > 1000 * ROW
    assert local_models(cache) == []


def test_a_head_in_a_file_of_its_own_has_a_checksum(local_hub: LocalHub, cache: HubCache) -> None:
    fetch(offer(local_hub, alone=True), cache, PAIR)
    expect_head(local_hub, cache, 500, "mtp.safetensors")
    stored = snapshot(local_hub, cache) / "mtp.safetensors"
    repo = local_hub.repos["owner/whole"]
    assert stored.resolve().name == repo.commits[repo.branches["main"]]["mtp.safetensors"].sha256
    assert bytes_sent(local_hub, SECOND) == 0


def test_a_model_without_an_index(local_hub: LocalHub, cache: HubCache) -> None:
    files = offer(local_hub).repos["owner/whole"]
    files.commit({"config.json": config(**WHOLE), "model.safetensors": whole_files()[SECOND]})
    fetch(local_hub, cache, PAIR)
    expect_head(local_hub, cache, 500, "model.safetensors")


def test_an_interrupted_download_continues(local_hub: LocalHub, cache: HubCache) -> None:
    offer(local_hub, 3000)
    run_until(local_hub, download(local_hub, cache, PAIR), 3_000_000)
    assert not snapshot(local_hub, cache).exists()
    fetch(local_hub, cache, PAIR)
    expect_head(local_hub, cache, 3000)
    assert bytes_sent(local_hub, SECOND) <= 1.1 * 6000 * ROW + IN_FLIGHT


@settings(max_examples=min(settings().max_examples, 6))
@given(faults=st.lists(FAULT, max_size=12), pauses=PAUSES)
def test_faults_in_any_order(tmp_path_factory: pytest.TempPathFactory, faults: list, pauses: list[float]) -> None:
    with LocalHub() as local:
        offer(local, 1500)
        local.faults.extend(faults)
        cache = HubCache(tmp_path_factory.mktemp("cache"))
        for part in (*pauses, None):
            local.faults.extendleft([None, None])  # for the header and its length
            stop, made = threading.Event(), download(local, cache, PAIR)
            folders = made.run(
                stop, lambda now, stop=stop, part=part: part is not None and now.done > part * now.total and stop.set()
            )
        assert folders
        expect_head(local, cache, 1500)


@pytest.mark.parametrize("kind", ["drop", "reset", "short", "status"])
def test_a_header_is_requested_again(kind: str, local_hub: LocalHub, cache: HubCache) -> None:
    offer(local_hub).faults.extend([Fault(kind, 3), None, Fault(kind, 3), None, None])
    fetch(local_hub, cache, PAIR)
    expect_head(local_hub, cache, 500)


def test_killed_at_two_moments(tmp_path: Path) -> None:
    with ServedHub(10 * MB) as local:
        offer(local, 2000)
        cache = HubCache(tmp_path / "cache")
        total = 4000 * ROW + 200_000
        kills, read = run_with_kills(local, cache, [0.3, 0.5], drafter="owner/whole#mtp", total=total)
        assert kills == 2 and read <= 1.1 * total + 3000  # headers
        expect_head(local, cache, 2000)


@pytest.mark.parametrize("times", [1, 2])
def test_infinity_is_downloaded_again(times: int, local_hub: LocalHub, cache: HubCache) -> None:
    """Wrong weights that are finite can't be told from others, because the hub has no checksum for a part."""
    fetch(offer(local_hub), cache, Pair("owner/target"))
    local_hub.faults.extend([None, None, *[Fault("wrong", 1)] * (times * times)])  # after the header and its length; two ranges
    made = download(local_hub, cache, PAIR)
    if times == 2:
        with pytest.raises(UserError, match=f"{SECOND} in owner/whole#mtp was corrupted in two downloads"):
            made.run(threading.Event())
        local_hub.faults.clear()
    else:
        assert made.run(threading.Event()) is not None
        assert [note.code for note in made.notes] == ["file_damaged"]
    fetch(local_hub, cache, PAIR)
    expect_head(local_hub, cache, 500)


def test_a_quantized_head_is_downloaded(local_hub: LocalHub, cache: HubCache) -> None:
    offer(local_hub).repos["owner/whole"].commit(whole_files() | {SECOND: tensors(MIXED, "U32")})
    fetch(local_hub, cache, PAIR)
    assert head_bytes(snapshot(local_hub, cache)) == 2 * 500 * 512 * 4


def test_a_host_without_ranges_is_refused(local_hub: LocalHub, cache: HubCache) -> None:
    offer(local_hub).ranges = False
    with pytest.raises(UserError, match=r"can't send parts of files, so the MTP head of owner/whole#mtp can't be downloaded"):
        fetch(local_hub, cache, PAIR)


def with_shape(shape: list[int]) -> bytes:
    """Return a weight file whose header gives the head another shape."""
    data = whole_files()[SECOND]
    (length,) = LENGTH.unpack(data[: LENGTH.size])
    header = json.loads(data[LENGTH.size : LENGTH.size + length])
    header["mtp.fc.weight"]["shape"] = shape
    return data[: LENGTH.size] + json.dumps(header).encode().ljust(length)[:length] + data[LENGTH.size + length :]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({SECOND: tensors({"lm_head.weight": (9, 9)}), "model.safetensors.index.json": config(weight_map={})}, "has no MTP head"),
        ({SECOND: tensors({"mtp.fc.weight": (9, 9), "norm": (9,)}, "F8_E4M3")}, "which is stored as F8_E4M3"),
        ({SECOND: whole_files()[SECOND][:-2]}, f"The published copy of {SECOND} in owner/whole#mtp is damaged"),
        ({SECOND: b"\xff" * 1000}, f"The published copy of {SECOND} in owner/whole#mtp is damaged"),
        ({SECOND: (100).to_bytes(8, "little") + b"[" * 1000}, f"The published copy of {SECOND} in owner/whole#mtp is damaged"),
        ({SECOND: with_shape([500, 511])}, f"The published copy of {SECOND} in owner/whole#mtp is damaged"),
    ],
    ids=["none", "another dtype", "cut short", "no length", "no header", "another shape"],
)
def test_what_is_not_a_head_is_refused(files: dict[str, bytes], words: str, local_hub: LocalHub, cache: HubCache) -> None:
    offer(local_hub).repos["owner/whole"].commit({**whole_files(), **files})
    with pytest.raises(UserError, match=words):
        inspect_pair(Hub(local_hub.url), cache, PAIR)


JSON = st.recursive(st.one_of(st.none(), st.integers(-1, 9), st.text("m.", max_size=2)), lambda inner: st.lists(inner, max_size=3))
FIELDS = {"dtype": st.sampled_from(["BF16", 3, []]), "shape": JSON, "data_offsets": st.one_of(JSON, st.just([0, 4]))}
ENTRY = st.one_of(JSON, st.fixed_dictionaries({}, optional=FIELDS))
HEADER = st.one_of(JSON, st.dictionaries(st.sampled_from(["mtp.a", "b"]), ENTRY))


@given(st.one_of(st.binary(max_size=30), HEADER.map(lambda value: json.dumps(value).encode())))
def test_any_header_is_read_or_refused(text: bytes) -> None:
    with suppress(UserError):
        head_tensors(parse_header(text, "model.safetensors"), "model.safetensors")


@pytest.mark.parametrize("index", [{"weight_map": []}, {"weight_map": {"mtp.fc.weight": ["a"]}}, {}])
def test_an_invalid_index_is_refused(index: dict, local_hub: LocalHub, cache: HubCache) -> None:
    offer(local_hub).repos["owner/whole"].commit({**whole_files(), "model.safetensors.index.json": config(**index)})
    with pytest.raises(UserError, match=r"is damaged|has no MTP head"):
        inspect_pair(Hub(local_hub.url), cache, PAIR)


def test_a_whole_model_is_not_downloaded_as_a_drafter(local_hub: LocalHub, cache: HubCache) -> None:
    problem = inspect_pair(Hub(offer(local_hub).url), cache, Pair("owner/target", "owner/whole")).problem
    assert str(problem) == "“owner/whole” is a whole model. Enter owner/whole#mtp to download only its MTP head."


def test_the_catalogs_head_is_found_for_a_target(local_hub: LocalHub) -> None:
    entry = load_catalog().find("qwen3.5-9b")
    catalog, target = Catalog((entry,)), entry.targets[0].repo
    local_hub.repo(target, {**target_files(200_000), "config.json": config(**WHOLE)})
    local_hub.repo("Qwen/Qwen3.5-9B", whole_files())
    assert find_drafter(Hub(local_hub.url), catalog, [], target) == Pair(target, "Qwen/Qwen3.5-9B#mtp")


class TestInsideTheTarget:
    @pytest.fixture
    def folder(self) -> Path:
        folder = in_cache("lab/Whole", WHOLE)
        for name, data in whole_files().items():
            (folder / name).write_bytes(data)
        (folder / "model.safetensors").unlink()
        return folder

    def test_the_head_is_the_drafter_unless_there_is_another_one(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(installed, "load_catalog", lambda: Catalog(()))
        assert installed_pairs()[1] == InstalledPair("Whole", folder, folder, ("lab/Whole",), auto=True)
        assert find_local_drafter(local_models(), folder) == folder
        other = in_cache("lab/Other#mtp", WHOLE)
        assert installed_pairs()[1].drafter == find_local_drafter(local_models(), folder) == other

    def test_its_bytes_count_once(self, folder: Path) -> None:
        (model,) = local_models()
        assert model.head == 1000 * ROW and pair_bytes(folder, folder) == (model.bytes - model.head, model.head)
        assert pair_bytes(folder, None) == (model.bytes - model.head, 0)

    def test_a_repo_with_its_own_head_is_downloaded_once(self, local_hub: LocalHub, cache: HubCache) -> None:
        offer(local_hub)
        found = inspect_pair(Hub(local_hub.url), cache, both := Pair("owner/whole", "owner/whole"))
        target, head = found.weight_sizes
        assert both.repos == ("owner/whole",) and not found.problem and abs(head - 1000 * ROW) < 1000
        weights = [file.size for file in found.listings[0].files if file.path.endswith(".safetensors")]
        assert (
            target + head
            == sum(weights)
            == found.size - sum(file.size for file in found.listings[0].files if not file.path.endswith(".safetensors"))
        )
        lines = predict_fit(*found.configs, target, head).lines
        assert "Drafter context" in [line.what for line in lines]

    def test_other_models_have_none(self) -> None:
        folder = in_cache("lab/Plain", TARGET)
        assert head_bytes(folder) == 0 and local_models()[0].head == 0
