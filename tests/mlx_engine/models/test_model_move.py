"""Moving the model folder: complete in the new place, and nothing is lost if the move is interrupted anywhere."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import scan_cache_dir
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlx_engine.cli.main import main
from mlx_engine.contract import files
from mlx_engine.contract.errors import UserError
from mlx_engine.models.downloads import model_move
from mlx_engine.models.downloads.download_queue import QueueFile
from mlx_engine.models.downloads.model_move import ModelMove
from mlx_engine.models.files import locks
from mlx_engine.models.files.hub_cache import HubCache, chosen_folder, model_folder, model_folder_problem, uncleared_folder
from mlx_engine.models.library.library import local_models
from mlx_engine.models.library.pair import Pair
from tests.examples import sampled
from tests.hub.local_hub import LocalHub
from tests.hub.repos import drafter_files, target_files
from tests.mlx_engine.models.downloads import PAIR, download, expect_whole, fetch, run_until

MB = 1_000_000
DISKS = ["the same", "another", "another, without links"]


class Killed(BaseException):
    """Simulates kill -9: nothing catches it or cleans up."""


@pytest.fixture
def filled(local_hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> LocalHub:
    """A complete pair."""
    for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    local_hub.repo("owner/target", target_files(300_000, 200_000))
    local_hub.repo("owner/drafter", drafter_files(100_000))
    fetch(local_hub, cache)
    return local_hub


def use_disk(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind != "the same":
        monkeypatch.setattr(model_move, "_on_one_disk", lambda old, new: False)
    if kind == "another, without links":
        monkeypatch.setattr(model_move, "_has_links", lambda folder: False)


def expect_models(local: LocalHub, root: Path) -> None:
    """Check that every file of both snapshots is in a folder."""
    for name in PAIR.repos:
        repo = local.repos[name]
        commit = repo.branches["main"]
        snapshot = HubCache(root).snapshot(name, commit)
        names = {path.name for path in snapshot.iterdir() if not path.name.endswith(".moving")}
        assert names and all((snapshot / path).read_bytes() == repo.commits[commit][path].data for path in names)
        assert (HubCache(root).folder(name) / "refs/main").read_text() == commit


def expect_nothing_left(old: Path) -> None:
    assert not list(old.glob("models--*")) and not [place for place in old.glob(".locks/*")]


@pytest.mark.parametrize("disk", DISKS)
def test_a_move_leaves_nothing_behind(
    filled: LocalHub, cache: HubCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk: str
) -> None:
    use_disk(disk, monkeypatch)
    (cache.root / ".locks/.slipstream.models--owner--target.lock").touch()  # of a program that died when it began to fetch
    assert ModelMove(tmp_path / "new").run(threading.Event())
    assert model_folder() == HubCache().root == tmp_path / "new"
    expect_models(filled, tmp_path / "new")
    expect_nothing_left(cache.root)
    assert not [place for place in (tmp_path / "new").rglob("*") if "moving" in place.name]
    assert [one.repo for one in local_models()] == ["owner/target", "owner/drafter"]
    filled.sent.clear()
    assert fetch(filled, HubCache()).downloaded == 0
    if disk != "another, without links":
        expect_whole(filled, HubCache())
        assert not scan_cache_dir(tmp_path / "new").warnings


CHANGES = [(os, "replace"), (os, "link"), (os, "symlink"), (os, "fsync"), (os, "utime"), (os, "rmdir"), (Path, "unlink")]


def die_before(change: int, patched: pytest.MonkeyPatch) -> None:
    """Fail all changes to the disk from this one on."""
    left = iter(range(change))

    def mortal(real: Callable[..., object]) -> Callable[..., object]:
        def does(*args: object, **options: object) -> object:
            if next(left, None) is None:
                raise Killed
            return real(*args, **options)

        return does

    for place, name in CHANGES:
        patched.setattr(place, name, mortal(getattr(place, name)))


@settings(
    sampled(6),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(moments=st.lists(st.integers(0, 90), min_size=1, max_size=4), disk=st.sampled_from(DISKS))
def test_a_move_that_dies_at_any_change_can_be_continued(
    filled: LocalHub, cache: HubCache, tmp_path_factory: pytest.TempPathFactory, moments: list[int], disk: str
) -> None:
    """The move dies several times before any of its changes to the disk, then completes."""
    old, new = model_folder(), tmp_path_factory.mktemp("moved") / "new"
    with pytest.MonkeyPatch.context() as patched:
        use_disk(disk, patched)
        for moment in moments:
            with pytest.MonkeyPatch.context() as dying, suppress(Killed):
                die_before(moment, dying)
                assert ModelMove(new).run(threading.Event())
            expect_models(filled, model_folder())
            if model_folder() == new and not uncleared_folder():
                break
        else:
            assert ModelMove(new).run(threading.Event())
    expect_models(filled, new)
    expect_nothing_left(old)
    assert model_folder() == new and uncleared_folder() is None


MOVE = """
import os, signal, sys, threading
from pathlib import Path
from typing import Any
from huggingface_hub import constants
from mlx_engine.contract import files as data_files
from mlx_engine.models.downloads import model_move
from mlx_engine.models.files import hub_cache as cache
old, new, disk, last = sys.argv[1:]
constants.HF_HUB_CACHE = old
model_move._PIECE = 1 << 14
if disk != "the same":
    model_move._on_one_disk = lambda old, new: False
if disk == "another, without links":
    model_move._has_links = lambda folder: False
lines = 0
def line(frame, event, argument):
    global lines
    lines += 1
    if lines == int(last):
        os.kill(os.getpid(), signal.SIGKILL)
    return line
files = {cache.__file__, model_move.__file__, data_files.__file__}
sys.settrace(lambda frame, event, argument: line if frame.f_code.co_filename in files else None)
moved = model_move.ModelMove(Path(new)).run(threading.Event())
sys.settrace(None)
assert moved
print(lines)
"""


def in_a_process(old: Path, new: Path, disk: str, data: Path, last: int = 0) -> subprocess.CompletedProcess[bytes]:
    """Run a move in a process that is killed before its `last` line of code; 0: not killed."""
    return subprocess.run(
        [sys.executable, "-c", MOVE, str(old), str(new), disk, str(last)],
        env={**os.environ, "XDG_DATA_HOME": str(data)},
        capture_output=True,
        timeout=100,
        cwd=Path(__file__).parents[3],
    )


def run_with_kills(filled: LocalHub, old: Path, tmp_path: Path, disk: str, shares: list[float]) -> None:
    """Count the lines of a move of a copy, then kill the move at each share of them, then let it finish."""
    shutil.copytree(old, tmp_path / "copy", symlinks=True)
    rehearsed = in_a_process(tmp_path / "copy", tmp_path / "copy moved", disk, tmp_path / "rehearsal")
    assert rehearsed.returncode == 0, rehearsed.stderr
    lines, new, data = int(rehearsed.stdout), tmp_path / "new", Path(os.environ["XDG_DATA_HOME"])
    for share in shares:
        ended = in_a_process(old, new, disk, data, max(1, round(share * lines)))
        assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
        expect_models(filled, model_folder())
        if ended.returncode == 0:
            break
    else:
        ended = in_a_process(old, new, disk, data)
        assert ended.returncode == 0, ended.stderr
    assert model_folder() == new and uncleared_folder() is None
    expect_models(filled, new)
    expect_nothing_left(old)
    assert not [place for place in new.rglob("*") if "moving" in place.name]


def test_killed_at_two_lines(filled: LocalHub, cache: HubCache, tmp_path: Path) -> None:
    run_with_kills(filled, cache.root, tmp_path, "another", [0.4, 0.97])


@pytest.mark.long
@pytest.mark.parametrize("disk", DISKS)
@pytest.mark.parametrize("seed", range(5))
def test_killed_at_many_moments(filled: LocalHub, cache: HubCache, tmp_path: Path, disk: str, seed: int) -> None:
    rng = random.Random(seed)
    run_with_kills(filled, cache.root, tmp_path, disk, [rng.random() for _ in range(4)])


def test_an_unfinished_download_resumes_in_the_new_folder(
    filled: LocalHub, cache: HubCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_disk("another", monkeypatch)
    filled.repo("owner/other", target_files(4 * MB, seed=7))
    run_until(filled, download(filled, cache, Pair("owner/other")), 2 * MB)
    assert ModelMove(tmp_path / "new").run(threading.Event())
    assert fetch(filled, HubCache(), Pair("owner/other")).downloaded < 2.2 * MB
    expect_whole(filled, HubCache(), Pair("owner/other"))


@pytest.mark.parametrize("name", ["\x1b[31m", "a\nb", "\u202e"])
def test_a_folder_whose_name_could_not_be_read_again_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="isn't a folder"):
        ModelMove(tmp_path / name).run(threading.Event())
    assert chosen_folder() is None and not (tmp_path / name).exists()


def test_a_stopped_move_keeps_its_copies(
    filled: LocalHub, cache: HubCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_disk("another", monkeypatch)
    stop = threading.Event()
    assert not ModelMove(tmp_path / "new").run(stop, lambda done, total: done > total / 2 and stop.set())
    assert model_folder() == cache.root
    expect_whole(filled, cache)
    copied: list[Path] = []
    real = model_move._copy_bytes
    monkeypatch.setattr(model_move, "_copy_bytes", lambda place, *rest: copied.append(place) or real(place, *rest))
    assert ModelMove(tmp_path / "new").run(threading.Event())
    assert sum(place.stat().st_size for place in (tmp_path / "new").rglob("blobs/*")) > 600_000 and len(copied) < 5


def test_a_damaged_copy_aborts_the_move(filled: LocalHub, cache: HubCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_disk("another", monkeypatch)
    real = os.fsync

    def spoil(fd: int) -> None:
        real(fd)
        if os.fstat(fd).st_size == 200_000:
            os.pwrite(fd, b"\xff\x00\xff", 150_000)

    with monkeypatch.context() as patched, pytest.raises(UserError, match="doesn't match the original"):
        patched.setattr(os, "fsync", spoil)
        ModelMove(tmp_path / "new").run(threading.Event())
    assert model_folder() == cache.root
    expect_whole(filled, cache)


def test_files_that_cannot_be_removed_are_reported(
    filled: LocalHub, cache: HubCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, real = tmp_path / "new", Path.unlink

    def locked(place: Path, missing_ok: bool = False) -> None:
        if place.parent.name == "blobs" and place.is_relative_to(cache.root):
            raise PermissionError(1, "Operation not permitted", str(place))
        real(place, missing_ok)

    made = ModelMove(new)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", locked)
        assert made.run(threading.Event())
    (note,) = made.notes
    assert "(Operation not permitted)" in str(note) and str(cache.root) in str(note)
    assert model_folder() == new
    expect_models(filled, new)
    assert ModelMove(new).run(threading.Event())
    expect_nothing_left(cache.root)


class TestRefused:
    def test_a_disk_that_is_too_small(
        self, filled: LocalHub, cache: HubCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        use_disk("another", monkeypatch)
        monkeypatch.setattr(shutil, "disk_usage", lambda place: shutil._ntuple_diskusage(MB, 0, 200_100_000))
        with pytest.raises(UserError, match=r"has only 0\.20 GB free, but 0\.20 GB are needed"):
            ModelMove(tmp_path / "new").run(threading.Event())
        assert not list((tmp_path / "new").iterdir())
        expect_whole(filled, cache)

    @pytest.mark.parametrize(("where", "words"), [("cache", "already"), ("cache/in", "overlap"), (".", "overlap")])
    def test_unsuitable_folders_are_refused(self, filled: LocalHub, tmp_path: Path, where: str, words: str) -> None:
        with pytest.raises(UserError, match=words):
            ModelMove(tmp_path / where).run(threading.Event())

    def test_a_file_is_refused(self, filled: LocalHub, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(UserError, match="isn't a folder"):
            ModelMove(tmp_path / "file").run(threading.Event())
        with pytest.raises(UserError, match="Can't read or write"):
            ModelMove(tmp_path / "file/in").run(threading.Event())

    @pytest.mark.parametrize("name", ["", ".", "new", "../new"])
    def test_relative_paths_are_refused(self, filled: LocalHub, name: str) -> None:
        with pytest.raises(UserError, match="full path"):
            ModelMove(Path(name)).run(threading.Event())

    def test_a_move_is_refused_during_downloads(self, filled: LocalHub, tmp_path: Path) -> None:
        QueueFile().path.parent.mkdir(parents=True, exist_ok=True)
        working = locks.acquire(QueueFile().path.with_suffix(".running"))
        assert working is not None
        with pytest.raises(UserError, match="Another copy of Slipstream is downloading or moving models"):
            ModelMove(tmp_path / "new").run(threading.Event())
        working.release()

    def test_a_move_is_refused_if_the_environment_sets_the_folder(
        self, filled: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HF_HOME", str(tmp_path))
        with pytest.raises(UserError, match="HF_HOME sets the model folder"):
            ModelMove(tmp_path / "new").run(threading.Event())


def test_links_out_of_the_folder_stay_and_are_not_followed(filled: LocalHub, cache: HubCache, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    (cache.folder("owner/target") / "blobs" / "link").symlink_to(outside)
    (cache.root / "models--owner--elsewhere").symlink_to(outside)
    made = ModelMove(tmp_path / "new")
    assert made.run(threading.Event())
    assert len(made.notes) == 2 and (outside / "mine").read_text() == "mine"
    assert not (tmp_path / "new/models--owner--elsewhere").exists()
    expect_models(filled, tmp_path / "new")


def test_nothing_is_written_below_the_mount_point_of_a_disconnected_disk(filled: LocalHub, tmp_path: Path) -> None:
    assert ModelMove(tmp_path / "disk/models").run(threading.Event())
    shutil.rmtree(tmp_path / "disk")
    with pytest.raises(UserError, match=r"Can\'t find the model folder .*\. Connect its disk"):
        fetch(filled, HubCache())
    assert not (tmp_path / "disk").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"folder": 3}', '{"folder": "relative"}', '{"folder": "/a\\u0000b"}'])
def test_a_damaged_choice_of_the_folder_is_reported(
    cache: HubCache, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    assert model_folder_problem() is None
    place = QueueFile().path.with_name("model-folder.json")
    place.parent.mkdir(parents=True)
    place.write_text(text)
    assert chosen_folder() is None and uncleared_folder() is None
    assert str(place) in str(model_folder_problem()) and str(model_folder()) in str(model_folder_problem())
    main(["models", "list"])
    assert str(model_folder_problem()) in capsys.readouterr().err
    monkeypatch.setenv("HF_HUB_CACHE", str(cache.root))
    assert model_folder_problem() is None  # the environment has the last word


def test_an_unreadable_choice_of_the_folder_is_reported(filled: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A download that started earlier does not report that the models were moved back."""
    assert ModelMove(tmp_path / "new").run(threading.Event())
    place, before, real = QueueFile().path.with_name("model-folder.json"), HubCache(), files.open_regular

    def failing(path: Path) -> Any:
        if path == place:
            raise PermissionError(13, "Permission denied")
        return real(path)

    with monkeypatch.context() as patched:
        patched.setattr(files, "open_regular", failing)
        with pytest.raises(UserError) as refused:
            download(filled, before).run(threading.Event())
        assert str(refused.value) == str(model_folder_problem())
    assert "(Permission denied)" in str(refused.value) and "were moved to /" not in str(refused.value)
    fetch(filled, before)


def test_an_error_without_a_system_message_keeps_its_reason(
    filled: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> bool:
        raise OSError("boom")

    monkeypatch.setattr(ModelMove, "_copy", failing)
    with pytest.raises(UserError, match=r"\(boom\)"):
        ModelMove(tmp_path / "new").run(threading.Event())


def test_moving_in_the_terminal(filled: LocalHub, cache: HubCache, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "move", str(tmp_path / "new"), "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert (output["from"], output["to"], output["notes"]) == (str(cache.root), str(tmp_path / "new"), [])
    assert output["bytes"] > 600_000
    assert main(["models", "move", str(tmp_path / "new")]) == 1
    assert "already" in capsys.readouterr().err
    assert main(["models", "check"]) == 0
