"""Two programs, such as window and terminal, use the same pair: nothing is downloaded twice, both show the progress, and neither
removes or moves files that the other writes."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from mlx_engine.cli.main import main
from mlx_engine.contract.errors import UserError
from mlx_engine.models.downloads.download import DownloadProgress
from mlx_engine.models.downloads.download_queue import DownloadQueue, PairReady, QueueChanged, QueueEvent, QueueFile
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.downloads.model_move import ModelMove
from mlx_engine.models.downloads.transfer import FileTransfer
from mlx_engine.models.files import locks
from mlx_engine.models.files.hub_cache import DeletedModels, HubCache, choose_folder, model_folder, move_lock, uncleared_folder
from mlx_engine.models.files.partial import received_so_far
from mlx_engine.models.library.pair import Pair
from tests.hub.repos import drafter_files, target_files
from tests.hub.server import ServedHub
from tests.mlx_engine.models.downloads import (
    IMPATIENT,
    IN_HAND,
    NO_NETWORK,
    PAIR,
    SILENCE,
    download,
    expect_whole,
    fetch,
    sent,
    size,
)

MB = 1_000_000
BOTH = ["--target", "owner/target", "--drafter", "owner/drafter"]
ROOT = Path(__file__).parents[3]
PULL = f"""
import sys
from mlx_engine.cli.main import main
from mlx_engine.cli import model_pull
model_pull._GOODBYE = {SILENCE}  # Ctrl-C waits for the end of what is at work, however slow the machine is
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def hub(served_hub: ServedHub, monkeypatch: pytest.MonkeyPatch) -> ServedHub:
    served_hub.repo("owner/target", target_files(3 * MB, MB))
    served_hub.repo("owner/drafter", drafter_files(MB))
    monkeypatch.setattr(constants, "ENDPOINT", served_hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", served_hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    return served_hub


class Another:
    """`slipstream models pull` in a process, with the same cache and queue.

    It waits for a new mark, so no other download may start in between.
    """

    def __init__(self, hub: ServedHub, cache: HubCache) -> None:
        environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HUB_CACHE": str(cache.root), "HF_HUB_OFFLINE": "0"}
        words = [sys.executable, "-c", PULL, "models", "pull", *BOTH, "--json"]
        pipe, before = subprocess.PIPE, len(marks(cache))
        self.process = subprocess.Popen(words, env=environment, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
        wait_until(lambda: (len(marks(cache)) > before and sent(hub) > 0) or self.process.poll() is not None)
        assert self.process.poll() is None, "it fetches now"

    def end(self) -> dict:
        """Return what it printed as JSON."""
        out, _ = self.process.communicate(timeout=60)
        return json.loads(out)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


@contextmanager
def another(hub: ServedHub, cache: HubCache) -> Iterator[Another]:
    made = Another(hub, cache)
    try:
        yield made
    finally:
        made.kill()


def marks(cache: HubCache) -> list[Path]:
    return list(cache.lock_folder("owner/target").glob("*.fetching.lock"))


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    pause = threading.Event()
    for _ in range(int(seconds * 100)):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it did not happen")


def test_a_second_program_shows_the_progress_of_the_first(hub: ServedHub, cache: HubCache) -> None:
    hub.repo("owner/target", target_files(5 * MB, MB))
    first = download(hub, cache)
    listing = first.hub.listing("owner/target")
    largest = listing.files[-1]
    hub.allow(2_500_000)  # more than all but the largest file has, and what comes later is too little for its end
    thread = threading.Thread(target=lambda: first.run(threading.Event()))
    thread.start()
    wait_until(lambda: received_so_far(cache.partial(listing, largest), largest.size) > 0)
    reports: list[DownloadProgress] = []
    seen: set[int] = set()

    def tell(progress: DownloadProgress) -> None:
        """Allow more bytes whenever progress was reported: more than both programs buffer."""
        reports.append(progress)
        if progress.status and progress.status.code == "downloaded_elsewhere" and progress.done not in seen and len(seen) < 3:
            seen.add(progress.done)
            hub.allow(None if len(seen) == 3 else 2 * IN_HAND + 1)

    second = download(hub, cache)
    assert second.run(threading.Event(), tell) is not None
    thread.join()
    expect_whole(hub, cache)
    assert sent(hub) == size(hub)
    whole = sum(second.hub.listing(name).size for name in PAIR.repos)
    assert second.downloaded <= whole - largest.size and len(seen) == 3, "it follows the first while it waits"
    assert all(one.done <= whole for one in reports) and reports[-1].done == whole
    assert reports[-1].status is None, "the wait is over, and so are its words"
    assert not list(cache.root.rglob("*.fetching.lock*"))


def test_a_waiting_program_takes_over_from_a_killed_one(hub: ServedHub, cache: HubCache) -> None:
    hub.allow(MB)
    with another(hub, cache) as other:
        waits = threading.Event()
        second = download(hub, cache)
        result: list[object] = []

        def tell(progress: DownloadProgress) -> None:
            if progress.status and progress.status.code == "downloaded_elsewhere":
                waits.set()

        thread = threading.Thread(target=lambda: result.append(second.run(threading.Event(), tell)))
        thread.start()
        assert waits.wait(SILENCE)
        other.kill()
        hub.allow(None)
        thread.join()
    assert result and result[0] is not None
    expect_whole(hub, cache)
    in_flight = 6 * 256 * 1024  # what its six connections had sent and the killed one had not written yet
    assert sent(hub) <= 1.1 * size(hub) + in_flight


def test_terminal_and_window_download_the_same_pair(hub: ServedHub, cache: HubCache) -> None:
    events: list[QueueEvent] = []
    hub.allow(MB)
    queue = DownloadQueue(events.append, Hub(hub.url, read_timeout=SILENCE), cache, retry=IMPATIENT, connections=2)
    try:
        queue.add(PAIR)
        wait_until(lambda: len(marks(cache)) == 1 and sent(hub) > 0)
        with another(hub, cache) as other:
            hub.allow(None)
            reports = other.end()
        assert set(reports["folders"]) == set(PAIR.repos)
        wait_until(lambda: any(isinstance(event, PairReady) for event in events))
        wait_until(lambda: [event for event in events if isinstance(event, QueueChanged)][-1].queue == ())
    finally:
        queue.close()
    expect_whole(hub, cache)
    assert sent(hub) == size(hub)
    assert QueueFile().read() == ()


def test_the_queue_reports_changes_made_in_a_terminal(hub: ServedHub, cache: HubCache) -> None:
    QueueFile().put(PAIR, state="paused")
    events: list[QueueEvent] = []
    queue = DownloadQueue(events.append, Hub(hub.url, read_timeout=SILENCE), cache, retry=IMPATIENT)
    try:
        wait_until(lambda: bool(events))
        QueueFile().put(PAIR, state="failed", reason=NO_NETWORK)
        wait_until(lambda: len(events) == 2)
        QueueFile().remove(PAIR)
        wait_until(lambda: len(events) == 3)
    finally:
        queue.close()
    shown = [[(one.state, str(one.reason or "")) for one in event.queue] for event in events if isinstance(event, QueueChanged)]
    assert shown == [[("paused", "")], [("failed", "No network.")], []]


def test_a_pair_cannot_be_removed_during_its_download(hub: ServedHub, cache: HubCache, capsys: pytest.CaptureFixture[str]) -> None:
    hub.allow(MB)
    with another(hub, cache) as other:
        assert main(["models", "rm", *BOTH]) == 1
        assert "is being downloaded. Stop the download or wait for it to finish, then try again." in capsys.readouterr().err
        with pytest.raises(UserError, match="is being downloaded"):
            DeletedModels(cache).delete(PAIR.repos)
        assert cache.discard("owner/target") == 0
        hub.allow(None)
        assert other.end()["folders"]
    expect_whole(hub, cache)
    assert sent(hub) == size(hub)
    assert main(["models", "rm", *BOTH]) == 0


@pytest.mark.parametrize("removed", ["remove", "discard", "take"])
def test_a_download_waits_for_the_end_of_a_removal(
    hub: ServedHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch, removed: str
) -> None:
    hub.allow(MB)
    monkeypatch.setattr(locks, "EXCLUSIVE_TIMEOUT", SILENCE)
    left = cache.folder("owner/target") / "blobs" / ("f" * 64)
    left.parent.mkdir(parents=True)
    left.write_bytes(b"of a download that was given up")
    outcome: list[object] = []

    def work() -> None:
        try:
            outcome.append(download(hub, cache).run(threading.Event()))
        except UserError as error:
            outcome.append(error)

    thread, waits = threading.Thread(target=work), threading.Event()
    look, acquire = HubCache.is_downloading, locks.acquire

    def acquire_and_tell(path: Path, timeout: float = 0.0) -> Any:
        if threading.current_thread() is thread and "owner--target" in path.name:
            waits.set()
        return acquire(path, timeout)

    def look_and_then(self: HubCache, repo: str) -> bool:
        found = look(self, repo)
        if threading.current_thread() is not thread and repo == "owner/target" and not thread.ident:
            thread.start()  # another download starts
            wait_until(lambda: waits.is_set() or sent(hub) > 100_000)
        return found

    monkeypatch.setattr(locks, "acquire", acquire_and_tell)
    monkeypatch.setattr(HubCache, "is_downloading", look_and_then)
    match removed:
        case "remove":
            assert cache.remove("owner/target") > 0
        case "discard":
            assert cache.discard("owner/target") > 0
        case "take":
            assert DeletedModels(cache).delete(["owner/target"]) > 0
    hub.allow(None)
    thread.join()
    assert isinstance(outcome[0], tuple), outcome
    expect_whole(hub, cache)


def test_a_long_removal_is_reported(hub: ServedHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "EXCLUSIVE_TIMEOUT", 0.1)
    cache.root.mkdir()
    with cache.removing(["owner/drafter"]):
        with pytest.raises(UserError, match=r"^Another program is removing owner/drafter\. Try again in a moment\.$"):
            download(hub, cache).run(threading.Event())
        with pytest.raises(UserError, match=r"^Another program is removing owner/drafter"):
            DeletedModels(cache).delete(PAIR.repos)
        assert cache.discard("owner/drafter") == 0
    assert sent(hub) == 0 and not cache.is_downloading("owner/target")
    fetch(hub, cache)
    assert not list((cache.root / ".locks").glob(".slipstream*"))


def test_the_mark_of_a_dead_program_is_ignored(hub: ServedHub, cache: HubCache) -> None:
    hub.allow(MB)
    with another(hub, cache) as other:
        assert cache.is_downloading("owner/target")
        other.kill()
    assert len(list(cache.root.rglob("*.fetching.lock"))) == 2
    assert not cache.is_downloading("owner/target")
    hub.allow(None)
    fetch(hub, cache)
    assert not list(cache.root.rglob("*.fetching.lock*"))
    assert cache.remove("owner/target") > 0


def test_downloads_of_the_hubs_client_are_respected(hub: ServedHub, cache: HubCache) -> None:
    fetch(hub, cache)
    held = locks.acquire(cache.lock_folder("owner/drafter") / f"{'0' * 64}.lock")  # as it does for each file
    assert held is not None
    with pytest.raises(UserError, match=r"^owner/drafter is being downloaded"):
        DeletedModels(cache).delete(PAIR.repos)
    expect_whole(hub, cache)
    held.release()
    assert DeletedModels(cache).delete(PAIR.repos) > 0


def test_moves_and_downloads_exclude_each_other(hub: ServedHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = HubCache()
    sentence = r"^owner/drafter is being downloaded"
    with cache.downloading([Hub(hub.url).listing("owner/drafter")]), pytest.raises(UserError, match=sentence):
        ModelMove(tmp_path / "new").run(threading.Event())
    move_lock().parent.mkdir(parents=True, exist_ok=True)
    held = locks.acquire(move_lock())
    assert held is not None
    with pytest.raises(UserError, match=r"^The models are being moved to another folder"):
        download(hub, cache).run(threading.Event())
    assert sent(hub) == 0
    held.release()
    fetch(hub, cache)
    assert ModelMove(tmp_path / "new").run(threading.Event())
    expect_whole(hub, HubCache(tmp_path / "new"))


def test_nothing_is_downloaded_into_the_old_folder_of_a_move(
    hub: ServedHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A download that read the model folder before a move and starts during its clean-up, or after it."""
    fetch(hub, HubCache(), Pair("owner/target"))
    before, reports = HubCache(), []
    clear = ModelMove._clear_folders

    def clear_and_meanwhile(self: ModelMove, root: Path) -> None:
        assert uncleared_folder() == before.root and model_folder() == tmp_path / "new"
        for cache in (before, HubCache(before.root)):
            with pytest.raises(UserError) as refused:
                download(hub, cache).run(threading.Event())
            reports.append(str(refused.value))
        clear(self, root)

    monkeypatch.setattr(ModelMove, "_clear_folders", clear_and_meanwhile)
    hub.sent.clear()
    assert ModelMove(tmp_path / "new").run(threading.Event())
    assert len(reports) == 2 and all(words.startswith("The models are being moved to another folder.") for words in reports)
    with pytest.raises(UserError, match=r"^The models were moved to “.*/new”\. Try again\.$"):
        download(hub, before).run(threading.Event())
    assert sent(hub) == 0 and not list(before.root.glob("models--*"))
    fetch(hub, HubCache())
    expect_whole(hub, HubCache(tmp_path / "new"))


def test_a_continued_move_checks_for_downloads_too(hub: ServedHub, tmp_path: Path) -> None:
    left = HubCache()
    choose_folder(tmp_path / "new", uncleared=left.root)  # and then it was killed
    sentence = r"^owner/drafter is being downloaded"
    with HubCache(left.root).downloading([Hub(hub.url).listing("owner/drafter")]), pytest.raises(UserError, match=sentence):
        ModelMove(tmp_path / "new").run(threading.Event())
    assert uncleared_folder() == left.root
    assert ModelMove(tmp_path / "new").run(threading.Event()) and uncleared_folder() is None


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_does_not_pause_a_download_of_the_window(hub: ServedHub, cache: HubCache) -> None:
    for concurrent, state, words in (
        (True, "waiting", "Another program is still downloading this pair"),
        (False, "paused", "Run the command again"),
    ):
        stop = threading.Event()
        window = threading.Thread(target=lambda stop=stop: download(hub, cache).run(stop))
        hub.allow(MB)
        with another(hub, cache) as other:
            if concurrent:
                window.start()
                wait_until(lambda: len(marks(cache)) == 2)
            other.process.send_signal(signal.SIGINT)
            _, reports = other.process.communicate(timeout=60)
        assert other.process.returncode == 130 and words in reports
        assert [one.state for one in QueueFile().read()] == [state]
        stop.set()
        if concurrent:
            window.join()


def test_a_late_update_does_not_restore_a_cancelled_pair() -> None:
    QueueFile().put(PAIR)
    QueueFile().remove(PAIR)
    QueueFile().update(PAIR, pins={"owner/target": "0" * 40})
    assert QueueFile().read() == ()


def test_the_last_report_is_the_latest_queue(hub: ServedHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first reader may be slow to report."""
    events: list[QueueEvent] = []
    done = threading.Event()

    def tell(event: QueueEvent) -> None:
        events.append(event)
        if isinstance(event, QueueChanged) and not event.queue:
            done.set()

    queue = DownloadQueue(tell, Hub(hub.url, read_timeout=SILENCE), cache, retry=IMPATIENT)
    real, mine = queue._queue, threading.current_thread()

    def slow() -> tuple:
        found = real()
        if threading.current_thread() is mine:
            done.wait(2.0)
        return found

    monkeypatch.setattr(queue, "_queue", slow)
    try:
        queue.add(PAIR)
        assert done.wait(30)
    finally:
        queue.close()
    last = [event for event in events if isinstance(event, QueueChanged)][-1]
    assert last.queue == ()


def test_pause_and_cancel_work_on_a_full_disk(hub: ServedHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is when users pause or cancel."""
    other = Pair("owner/target")
    events: list[QueueEvent] = []
    hub.allow(MB)
    queue = DownloadQueue(events.append, Hub(hub.url, read_timeout=SILENCE), cache, retry=IMPATIENT)

    def full(self: QueueFile, how: object) -> None:
        raise UserError("full", "downloads.json can't be written (No space left on device).")

    def states() -> dict[Pair, str]:
        return {one.pair: one.state for one in [event for event in events if isinstance(event, QueueChanged)][-1].queue}

    try:
        queue.add(PAIR)
        queue.add(other)
        wait_until(lambda: sent(hub) > 0)
        with monkeypatch.context() as patched:
            patched.setattr(QueueFile, "change", full)
            with pytest.raises(UserError, match="No space left"):
                queue.pause(PAIR)
            wait_until(lambda: states().get(PAIR) == "failed")
            queue.cancel(other)
            wait_until(lambda: other not in states())
            wait_until(lambda: not cache.is_downloading("owner/target"))
    finally:
        queue.close()


def test_waiting_for_several_files_is_reported_once(
    hub: ServedHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    hub.repo("owner/target", target_files(*[MB] * 4))
    listing = Hub(hub.url).listing("owner/target")
    cache.prepare(listing)
    held = [lock for file in listing.files if (lock := cache.lock(listing, file))]
    looks: Counter[str] = Counter()
    follow = FileTransfer._follow

    def follow_and_count(self: FileTransfer, one: Any) -> None:
        follow(self, one)
        looks[one.remote.path] += 1
        if len(looks) == len(held) and min(looks.values()) > 2:
            for lock in held:
                lock.release()

    monkeypatch.setattr(FileTransfer, "_follow", follow_and_count)
    assert main(["models", "pull", *BOTH]) == 0
    lines = capfd.readouterr().err.splitlines()
    assert len([line for line in lines if re.match("Another program is also downloading owner/target", line)]) == 1, lines
