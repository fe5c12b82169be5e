"""FIFOs, sockets and devices in place of files are refused, and nothing waits for them."""

import os
import resource
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlx_engine.cli.main import main
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import data_folder, read_json
from mlx_engine.contract.requests import Sampling
from mlx_engine.models.files.checkpoint import check_safetensors, read_config, recommended_sampling, weight_files
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.files.loadable import check_loadable
from mlx_engine.models.library.library import local_models
from mlx_engine.models.library.pair import Pair
from tests.golden.__main__ import HERE
from tests.hub.local_hub import LocalHub
from tests.hub.repos import target_files
from tests.mlx_engine.models.downloads import fetch


def make(kind: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place.unlink(missing_ok=True)
    if kind == "FIFO":
        os.mkfifo(place)
    elif kind == "socket":
        with monkeypatch.context() as short, socket.socket(socket.AF_UNIX) as made:
            short.chdir(place.parent)  # a socket's path must be short
            made.bind(place.name)
    else:
        place.symlink_to("/dev/zero")


def promptly(work: Callable[[], Any]) -> Any:
    """Return or raise what `work` does, or fail if it waits."""
    outcome: list[Any] = [None, None]

    def run() -> None:
        try:
            outcome[0] = work()
        except BaseException as error:
            outcome[1] = error

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), "it waits for a special file"
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]


@pytest.fixture(params=["FIFO", "socket", "device"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "generation_config.json", "merges.txt"])
def test_a_local_model_is_refused(name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "target"
    shutil.copytree(HERE / "e2e_qwen3/target", folder)
    make(kind, folder / name, monkeypatch)
    with pytest.raises(UserError, match=f"{name}” isn't a regular file. Delete it, then try again."):
        promptly(lambda: read_config(folder))
    promptly(lambda: local_models(HubCache(tmp_path)))
    if name == "generation_config.json":
        assert promptly(lambda: recommended_sampling(folder)) == Sampling()
    if name == "model.safetensors":
        for work in (lambda: weight_files(folder), lambda: check_safetensors(folder / name, name)):
            with pytest.raises(UserError):
                promptly(work)


@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "chat_template.jinja",
        "additional_chat_templates/tool_use.jinja",
        "vocab.json",
        "merges.txt",
        "tokenizer.model",
        "tiktoken.model",
    ],
)
def test_a_file_that_is_far_too_large_is_refused_before_it_is_read(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "target"
    shutil.copytree(HERE / "e2e_qwen3/target", folder)
    (folder / name).parent.mkdir(exist_ok=True)
    with (folder / name).open("ab") as file:
        file.truncate(3_000_000_000)  # takes no space on the disk
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for work in (lambda: read_config(folder), lambda: check_loadable(folder, None)):
        with pytest.raises(UserError, match=rf"{name}” is too large \(3,000 MB, limit \d+ MB\)\. Download") as refused:
            work()
        assert refused.value.text.code == "model_file_too_large"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KB


def test_a_model_in_the_cache_is_reported(
    kind: str, local_hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    local_hub.repo("owner/target", target_files(100_000))
    fetch(local_hub, cache, Pair("owner/target"))
    snapshot = next((cache.folder("owner/target") / "snapshots").iterdir())
    blob = (snapshot / "model-00001-of-00001.safetensors").resolve()
    make(kind, blob, monkeypatch)
    promptly(lambda: local_models(cache))
    assert promptly(lambda: main(["models", "check", "--target", "owner/target"])) == 1
    shown = capsys.readouterr().out
    assert "isn't a regular file" in shown or "links to a file outside the model folder" in shown
    make(kind, cache.folder("owner/target") / "refs/main", monkeypatch)
    assert promptly(lambda: cache.main_commit("owner/target")) is None
    assert promptly(lambda: cache.remove("owner/target")) >= 0
    assert not cache.folder("owner/target").exists()


def test_a_special_blob_does_not_count_as_downloaded(
    kind: str, local_hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    local_hub.repo("owner/target", {**target_files(100_000), "empty.json": b""})
    fetch(local_hub, cache, Pair("owner/target"))
    blob = (next((cache.folder("owner/target") / "snapshots").iterdir()) / "empty.json").resolve()
    make(kind, blob, monkeypatch)
    promptly(lambda: fetch(local_hub, cache, Pair("owner/target")))
    assert blob.is_file() and not blob.is_symlink()


def test_own_files_are_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = data_folder() / "speeds.json"
    place.parent.mkdir(parents=True)
    make(kind, place, monkeypatch)
    with pytest.raises(UserError):
        promptly(lambda: read_json(place))


def test_a_deleted_current_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    root = Path(__file__).parents[3]
    code = f"import sys, os; sys.path.insert(0, {str(root)!r}); os.rmdir(os.getcwd()); from mlx_engine.cli.main import main; "
    code += "sys.exit(main(['models', 'list', '--add-folder', 'x']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "The current folder was deleted. Change to another folder, then try again.\n"
