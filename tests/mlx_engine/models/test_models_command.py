"""`slipstream models` with the local hub: output, exit codes, and resumed downloads."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from mlx_engine.cli import console, model_pull
from mlx_engine.cli.main import main
from mlx_engine.hardware import machine
from mlx_engine.models.downloads.download import Download
from mlx_engine.models.downloads.download_queue import QueueFile
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.downloads.transfer import RetryPolicy
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library.catalog import custom_catalog_file, load_catalog
from mlx_engine.models.library.library import base_name, local_models, repo_of
from mlx_engine.models.library.pair import Pair, demo_pair
from tests.golden.__main__ import HERE
from tests.hub.local_hub import Fault, LocalHub
from tests.hub.repos import DRAFTER, TARGET, config, drafter_files, target_files
from tests.hub.server import ServedHub
from tests.mlx_engine.models.downloads import NO_NETWORK, PAIR, expect_whole

ROOT = Path(__file__).parents[3]
BOTH = ["--target", "owner/target", "--drafter", "owner/drafter"]


@pytest.fixture
def pair(local_hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> LocalHub:
    local_hub.repo("owner/target", target_files(400_000, 200_000))
    local_hub.repo("owner/drafter", drafter_files(100_000))
    monkeypatch.setattr(constants, "ENDPOINT", local_hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", local_hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(RetryPolicy, "__init__", lambda self: None)
    monkeypatch.setattr(RetryPolicy, "first_wait", 0.01)
    monkeypatch.setattr(RetryPolicy, "give_up", 1.0)
    return local_hub


def models(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict]:
    status = main(["models", *argv, "--json"])
    return status, json.loads(capsys.readouterr().out)


class TestPull:
    def test_pull_completes_both_repos(self, pair: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str]) -> None:
        status, printed = models(capsys, "pull", *BOTH)
        assert status == 0, printed
        expect_whole(pair, cache)
        assert {repo: Path(folder).is_dir() for repo, folder in printed["folders"].items()} == dict.fromkeys(PAIR.repos, True)
        assert QueueFile().read() == ()

    def test_a_failed_pull_exits_with_1_and_can_be_resumed(
        self, pair: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pair.faults.extend([Fault("drop", 50_000), *[Fault("status", code=503)] * 5000])
        status, printed = models(capsys, "pull", *BOTH)
        assert status == 1 and "hasn't responded" in printed["error"]
        assert [(one.state, len(one.pins)) for one in QueueFile().read()] == [("failed", 2)]
        pair.faults.clear()
        assert models(capsys, "pull", *BOTH)[0] == 0
        expect_whole(pair, cache)

    def test_the_program_respects_HF_ENDPOINT_and_HF_HOME_and_needs_no_mlx(self, tmp_path: Path, served_hub: ServedHub) -> None:
        served_hub.repo("owner/target", target_files(100_000))
        served_hub.repo("owner/drafter", drafter_files(100_000))
        environment = {**os.environ, "HF_ENDPOINT": served_hub.url, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0"}
        environment.pop("HF_HUB_CACHE", None)
        code = "import sys; sys.modules['mlx'] = None; from mlx_engine.cli.main import main; "
        code += f"sys.exit(main({['models', 'pull', *BOTH]!r}))"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, timeout=100, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        expect_whole(served_hub, HubCache(tmp_path / "home/hub"))

    def test_an_unreachable_hub_is_reported_with_progress(
        self, pair: LocalHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(RetryPolicy, "give_up", 20.0)  # a tenth of it for the first answer
        monkeypatch.setattr(RetryPolicy, "first_wait", 0.3)
        with LocalHub() as gone:
            monkeypatch.setattr(constants, "ENDPOINT", gone.url)
        assert main(["models", "pull", *BOTH]) == 1
        asked, tried, *_, ended = capsys.readouterr().err.splitlines()
        assert asked == f"Asking {gone.url} about owner/target + owner/drafter…"
        # of two seconds: on a busy machine one has passed by then
        assert re.fullmatch(re.escape(f"{gone.url} isn't responding. Trying again for up to ") + r"[12] s\.", tried)
        assert "Check your network" in ended

    def test_the_revision_stays_pinned_between_pulls(
        self, pair: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pair.faults.extend([Fault("status", code=503)] * 5000)
        assert models(capsys, "pull", *BOTH)[0] == 1
        pair.faults.clear()
        first_commit = pair.repos["owner/target"].branches["main"]
        pair.repos["owner/target"].commit(target_files(300_000, seed=4))
        status, printed = models(capsys, "pull", *BOTH)
        assert status == 0 and Path(printed["folders"]["owner/target"]).name == first_commit
        assert [note for note in printed["notes"] if "newer revision" in note]

    def test_a_custom_catalog_id_can_be_pulled(self, pair: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str]) -> None:
        custom_catalog_file().parent.mkdir(parents=True)
        entry = {"id": "mine", "targets": [{"repo": "owner/target"}], "drafter": {"repo": "owner/drafter"}}
        custom_catalog_file().write_text(json.dumps([entry]))
        assert models(capsys, "pull", "mine")[0] == 0
        expect_whole(pair, cache)
        assert [one["on_disk"] for one in models(capsys, "list")[1]["pairs"] if one["id"] == "mine"] == [True]

    def test_the_drafter_is_found_by_name_and_chosen_by_config(
        self, pair: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pair.repo("mlx/Zebra-4B-8bit", target_files(100_000))
        pair.repo("lab/Zebra-4B-DFlash", {**drafter_files(9_000), "config.json": config(**{**DRAFTER, "hidden_size": 32})})
        pair.repo("lab/Zebra-4B-DFlash-b16", drafter_files(9_000))
        status, printed = models(capsys, "pull", "--target", "mlx/Zebra-4B-8bit")
        assert (status, printed["drafter"]) == (0, "lab/Zebra-4B-DFlash-b16")
        status, printed = models(capsys, "pull", "--target", "owner/target")
        assert status == 1 and "No drafter for owner/target was found" in printed["error"]
        assert models(capsys, "pull", "--target", "owner/target", "--plain")[0] == 0

    @pytest.mark.parametrize("command", ["pull", "fit"])
    def test_no_drafter_is_suggested_if_none_can_exist(
        self, command: str, pair: LocalHub, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pair.repo("owner/phi", {**target_files(9_000), "config.json": config(**{**TARGET, "model_type": "phi3"})})
        status, printed = models(capsys, command, "--target", "owner/phi")
        assert status == 1 and printed["error"].startswith("DFlash isn't available for the “phi3” family yet (supported: ")
        assert printed["error"].endswith(". Use the target alone with --plain.") and "--drafter" not in printed["error"]
        pair.repo("owner/alone", target_files(9_000))
        status, printed = models(capsys, command, "--target", "owner/alone")
        assert status == 1 and printed["error"].endswith("Specify one with --drafter OWNER/NAME, or use --plain.")

    def test_an_incompatible_pair_lists_alternatives(self, pair: LocalHub, capsys: pytest.CaptureFixture[str]) -> None:
        pair.repo("z-lab/Qwen3-4B-DFlash-b16", {**drafter_files(9_000), "config.json": config(**{**DRAFTER, "hidden_size": 32})})
        status, printed = models(capsys, "pull", "--target", "owner/target", "--drafter", "z-lab/Qwen3-4B-DFlash-b16")
        assert status == 1 and "“hidden_size” is 32" in printed["error"]
        assert "z-lab/Qwen3-4B-DFlash-b16 was made for Qwen3 4B, such as mlx-community/Qwen3-4B-8bit." in printed["error"]

    @pytest.mark.parametrize(("target", "drafter"), [("owner/nope", "owner/drafter"), ("owner/target", "owner/target")])
    def test_a_refused_pair_is_not_left_in_the_queue(
        self, target: str, drafter: str, pair: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A misspelled name would stay in the queue forever."""
        assert models(capsys, "pull", "--target", target, "--drafter", drafter)[0] == 1
        assert QueueFile().read() == () and not cache.root.exists()
        QueueFile().put(Pair(target, drafter), state="paused")  # one that a window has is the window's
        assert models(capsys, "pull", "--target", target, "--drafter", drafter)[0] == 1
        assert [one.state for one in QueueFile().read()] == ["failed"]

    @pytest.mark.parametrize("waits", ["listing", "download"])
    def test_a_long_pull_without_a_terminal_shows_that_it_continues(
        self, waits: str, pair: LocalHub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The hub answers only after the second line has been printed."""
        printed, written, listing = list[str](), console.note, Hub.listing

        def note(*lines: str) -> None:
            written(*lines)
            printed.extend(line for line in lines if line.startswith("Still") or " GB, " in line)
            if len(printed) == 2:
                pair.allow(None)
                answered.set()

        def slow(self: Hub, *given: Any) -> Any:
            assert answered.wait(60), "nothing was printed"
            return listing(self, *given)

        answered = threading.Event()
        monkeypatch.setattr(console, "note", note)
        monkeypatch.setattr(console, "LINE_EVERY", 0.0)
        if waits == "listing":
            monkeypatch.setattr(Hub, "listing", slow)
        else:
            pair.allow(300_000)
        assert main(["models", "pull", *BOTH]) == 0
        lines = capsys.readouterr().err.splitlines()
        assert lines[0] == f"Asking {pair.url} about owner/target + owner/drafter…"
        if waits == "listing":
            assert lines[1:3] == [f"Still waiting for {pair.url}…"] * 2
        else:
            assert any(re.fullmatch(r" *[0-9]+% of 0\.00 GB, [0-9.]+ MB/s(, .* left)?", line) for line in lines)

    @pytest.mark.usefixtures("ctrl_c")
    @pytest.mark.parametrize("answers", [True, False])
    def test_ctrl_c_before_the_download_leaves_nothing(
        self, answers: bool, pair: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run, listing, over = Download.run, Hub.listing, threading.Event()
        stops: list[threading.Event] = []
        pressed, once = set[threading.Event](), threading.Lock()

        def noted(self: Download, stop: threading.Event, *given: Any) -> Any:
            stops.append(stop)
            return run(self, stop, *given)

        def slow(self: Hub, *given: Any) -> Any:
            stop = stops[-1]
            with once:  # both repos may be asked for at a time, and a second Ctrl-C would end the tests
                press = not stop.is_set() and stop not in pressed
                pressed.add(stop)
            if press:
                signal.raise_signal(signal.SIGINT)
            assert (stop if answers else over).wait(60)
            return listing(self, *given)

        monkeypatch.setattr(Download, "run", noted)
        monkeypatch.setattr(Hub, "listing", slow)
        monkeypatch.setattr(model_pull, "_GRACE_S", 60.0 if answers else 0.1)
        try:
            assert main(["models", "pull", *BOTH]) == 130
            assert "Nothing was downloaded." in (printed := capsys.readouterr().err) and "kept" not in printed
            assert QueueFile().read() == () and not cache.root.exists()
            QueueFile().put(PAIR, state="failed", reason=NO_NETWORK)  # something came before
            assert main(["models", "pull", *BOTH]) == 130
            assert "Partial download kept. Run the command again to resume." in capsys.readouterr().err
            assert [one.state for one in QueueFile().read()] == ["paused"]
        finally:
            over.set()

    @pytest.mark.parametrize("command", ["pull", "fit"])
    def test_a_pair_that_cannot_run_is_refused_without_the_hub(
        self, command: str, pair: LocalHub, capsys: pytest.CaptureFixture[str]
    ) -> None:
        status, printed = models(capsys, command, "qwen3.8-flash-next")
        assert status == 1 and printed["error"].startswith("Qwen3.8 Flash-Next 125B-A6B can't run. Qwen3.8-Flash-Next ")
        assert pair.asked == []

    @pytest.mark.parametrize(
        "argv",
        [
            [],
            ["demo", "--target", "a/b"],
            ["--drafter", "a/b"],
            ["x", "--limit", "0"],
            ["--target", "a/b", "--drafter", "c/d", "--plain"],
        ],
    )
    def test_usage_errors_exit_with_2(self, argv: list[str]) -> None:
        with pytest.raises(SystemExit) as ended:
            main(["models", "pull", *argv])
        assert ended.value.code == 2

    @pytest.mark.parametrize("name", ["../../x", "/etc", "a\tb/c", "a"])
    def test_names_that_are_none(self, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        status, printed = models(capsys, "pull", "--target", name)
        assert status == 1 and "isn't a repo name" in printed["error"]


class TestOtherCommands:
    def test_list_shows_the_catalog_and_local_models(
        self, pair: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["models", "pull", *BOTH])
        capsys.readouterr()
        status, printed = models(capsys, "list")
        assert status == 0 and len(printed["pairs"]) == len(load_catalog().entries)
        assert [(one["repo"], one["kind"], one["place"]) for one in printed["on_disk"]] == [
            ("owner/target", "target", "hub cache"),
            ("owner/drafter", "drafter", "hub cache"),
        ]
        assert main(["models", "list"]) == 0
        shown = capsys.readouterr().out
        assert "owner/drafter  drafter, 0.00 GB, hub cache" in shown and "✗ qwen3.8-flash-next" in shown

    def test_search(self, pair: LocalHub, capsys: pytest.CaptureFixture[str]) -> None:
        coding = {"qwen3-coder-30b-a3b", "qwen3-coder-next", "laguna-xs-2.1", "laguna-s-2.1", "kimi-k2.7-code"}
        assert {one["id"] for one in models(capsys, "search", "coding")[1]["pairs"]} == coding
        assert models(capsys, "search", "owner", "--hub")[1]["repos"] == ["owner/drafter", "owner/target"]
        assert main(["models", "search", "zebra"]) == 0
        assert "Nothing in the catalog matches" in capsys.readouterr().err

    def test_fit_predicts_memory_before_the_download(
        self, pair: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str]
    ) -> None:
        golden = HERE / "e2e_qwen3"
        target = {path.name: path.read_bytes() for path in (golden / "target").iterdir() if path.is_file()}
        pair.repo("golden/target", {**target_files(1000), **target})
        pair.repo("golden/drafter", {path.name: path.read_bytes() for path in (golden / "drafter").iterdir()})
        status, printed = models(capsys, "fit", "--target", "golden/target", "--drafter", "golden/drafter", "--context", "1000")
        lines = {line["what"]: line["bytes"] for line in printed["memory"]["lines"]}
        text = json.loads(target["config.json"])
        assert status == 0 and not cache.root.exists()
        element = 4 if machine.without_gpu(None) else 2
        assert (
            lines["Target KV cache"]
            == 2 * 1024 * text["num_hidden_layers"] * text["num_key_value_heads"] * text["head_dim"] * element
        )
        assert printed["memory"]["needed"] == sum(lines.values())
        words = ("fit", "--target", "golden/target", "--drafter", "golden/drafter", "--context", "1000", "--macs", "2")
        status, printed_for_two = models(capsys, *words)
        assert status == 1 and "divided" in printed_for_two["error"]
        divisible = json.dumps({**text, "num_key_value_heads": 2}).encode()
        pair.repo("golden/target", {**target_files(1000), **target, "config.json": divisible})
        status, printed_for_two = models(capsys, *words)
        assert status == 0 and printed_for_two["others_memory"]["needed"] < printed_for_two["memory"]["needed"]

    def test_check_detects_a_single_changed_byte(self, pair: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str]) -> None:
        main(["models", "pull", *BOTH])
        capsys.readouterr()
        assert models(capsys, "check") == (
            0,
            {"repos": [{"repo": name, "complete": True, "faults": [], "notes": []} for name in sorted(PAIR.repos)]},
        )
        blob = next(file for file in (cache.folder("owner/target") / "blobs").iterdir() if file.stat().st_size == 200_000)
        data = bytearray(blob.read_bytes())
        data[150_000] ^= 1
        blob.write_bytes(data)
        status, printed = models(capsys, "check", *BOTH)
        assert status == 1
        assert [one["faults"] for one in printed["repos"]] == [
            ["model-00002-of-00002.safetensors is damaged. Remove the pair and download it again."],
            [],
        ]

    def test_searching_an_unreachable_hub_fails_quickly(
        self, pair: LocalHub, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        pair.api_faults.append(503)
        assert main(["models", "search", "owner", "--hub"]) == 1
        monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
        assert main(["models", "search", "owner", "--hub"]) == 1
        busy, unreachable = capfd.readouterr().err.splitlines()
        assert "busy" in busy and "Can't reach" in unreachable

    def test_rm_keeps_repos_that_another_pair_needs(
        self, pair: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pair.repo("owner/eight", target_files(50_000, seed=3))
        targets = [{"repo": "owner/target", "bits": 4}, {"repo": "owner/eight", "bits": 8}]
        custom_catalog_file().parent.mkdir(parents=True)
        custom_catalog_file().write_text(json.dumps([{"id": "mine", "targets": targets, "drafter": {"repo": "owner/drafter"}}]))
        for bits in ("4", "8"):
            assert models(capsys, "pull", "mine", "--bits", bits)[0] == 0
        status, printed = models(capsys, "rm", "mine", "--bits", "8")
        assert (
            status == 0
            and printed["kept_for"] == {"owner/drafter": "owner/target"}
            and set(printed["freed_bytes"]) == {"owner/eight"}
        )
        expect_whole(pair, cache)
        assert models(capsys, "rm", "mine", "--plain")[1]["freed_bytes"].keys() == {"owner/target"}
        assert main(["models", "rm", "mine"]) == 0
        assert "owner/drafter: 0.00 GB freed" in capsys.readouterr().out and not cache.folder("owner/drafter").exists()

    def test_rm_reports_the_freed_bytes(self, pair: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str]) -> None:
        main(["models", "pull", *BOTH])
        capsys.readouterr()
        status, printed = models(capsys, "rm", *BOTH)
        assert status == 0 and printed["freed_bytes"]["owner/target"] > 600_000
        assert not [path for path in cache.root.rglob("*") if path.is_file() and path.name != "CACHEDIR.TAG"]
        assert models(capsys, "rm", *BOTH)[1]["freed_bytes"] == dict.fromkeys(PAIR.repos, 0)

    def test_rm_reports_what_it_can_not_delete(
        self, pair: LocalHub, cache: HubCache, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        main(["models", "pull", *BOTH])
        capsys.readouterr()
        unlink = os.unlink

        def refused(path: str | Path, **options: Any) -> None:
            if Path(path).name == kept.name:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            unlink(path, **options)

        kept = max((cache.folder("owner/target") / "blobs").iterdir(), key=lambda blob: blob.stat().st_size)
        with monkeypatch.context() as patched:
            patched.setattr(os, "unlink", refused)
            assert main(["models", "rm", *BOTH]) == 1
        shown = capsys.readouterr()
        assert f"Can't delete “{cache.folder('owner/target')}” (Permission denied)" in shown.err and "freed" not in shown.out
        assert [path.name for path in cache.folder("owner/target").rglob("*") if path.is_file()] == [kept.name]
        assert models(capsys, "rm", *BOTH)[0] == 0
        assert not cache.folder("owner/target").exists()


class TestLibrary:
    def test_lm_studio_and_added_folders_are_listed(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        target, drafter = demo_pair()
        shutil.copytree(target, tmp_path / ".lmstudio/models/lab/Zebra-4B-8bit")
        shutil.copytree(drafter, tmp_path / "mine/Pair/drafter")
        (tmp_path / "mine/no-model").mkdir()
        status, printed = models(capsys, "list", "--add-folder", str(tmp_path / "mine"))
        assert status == 0
        assert [(one["repo"], one["place"], one["complaint"]) for one in printed["on_disk"]] == [
            ("lab/Zebra-4B-8bit", "LM Studio", ""),
            ("Pair/drafter", "folder", ""),
        ]
        assert len(models(capsys, "list", "--forget-folder", str(tmp_path / "mine"))[1]["on_disk"]) == 1
        assert models(capsys, "list", "--add-folder", str(tmp_path / "nothing"))[0] == 1

    @pytest.mark.parametrize(
        ("folder", "repo"),
        [
            ("models--mlx-community--Qwen3-8B-8bit/snapshots/" + "0" * 40, "mlx-community/Qwen3-8B-8bit"),
            ("models--Qwen3-8B-8bit/snapshots/" + "0" * 40, ""),
            ("snapshots/" + "0" * 40, ""),
            ("models--a--b", ""),
            ("Pair/target", ""),
        ],
    )
    def test_the_repo_of_a_snapshot_is_found(self, tmp_path: Path, folder: str, repo: str) -> None:
        assert repo_of(tmp_path / folder) == repo

    def test_an_incomplete_model_is_listed_with_its_problem(self, tmp_path: Path, cache: HubCache) -> None:
        folder = tmp_path / ".lmstudio/models/lab/half"
        shutil.copytree(demo_pair()[0], folder)
        with (folder / "model.safetensors").open("r+b") as stream:
            stream.truncate(5000)
        (found,) = local_models(cache)
        assert "incomplete" in str(found.problem)

    @pytest.mark.parametrize(
        ("repo", "base"),
        [
            ("mlx-community/Qwen3-8B-MLX-8bit", "Qwen3-8B"),
            ("mlx-community/gpt-oss-20b-MXFP4-Q4", "gpt-oss-20b"),
            ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "Qwen3-Coder-30B-A3B"),
            ("openai/gpt-oss-120b", "gpt-oss-120b"),
        ],
    )
    def test_base_names_omit_owner_and_storage_format(self, repo: str, base: str) -> None:
        assert base_name(repo) == base
