"""Downloads from a misbehaving hub: complete and verified, or resumable, with little transferred twice."""

import errno
import os
import re
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from huggingface_hub import constants, scan_cache_dir, snapshot_download

from mlx_engine.contract.errors import UserError
from mlx_engine.models.downloads import bandwidth as throttling
from mlx_engine.models.downloads import download as downloading
from mlx_engine.models.downloads import transfer
from mlx_engine.models.downloads.bandwidth import Throttle
from mlx_engine.models.downloads.download import DownloadProgress
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.downloads.transfer import RetryPolicy
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library.pair import Pair
from tests.hub.local_hub import Fault, LocalHub
from tests.hub.repos import drafter_files, target_files, weights
from tests.hub.server import ServedHub
from tests.mlx_engine.models.downloads import (
    PAIR,
    download,
    expect_snapshot,
    expect_whole,
    fetch,
    leftovers,
    run_until,
    sent,
    size,
)

MB = 1_000_000


@pytest.fixture
def pair(local_hub: LocalHub) -> LocalHub:
    """3 MB in two files, and a drafter of 1 MB."""
    local_hub.repo("owner/target", target_files(2 * MB, MB))
    local_hub.repo("owner/drafter", drafter_files(MB))
    return local_hub


class TestResults:
    def test_both_repos_are_complete_and_each_byte_is_sent_once(self, pair: LocalHub, cache: HubCache) -> None:
        reports: list[DownloadProgress] = []
        made = download(pair, cache)
        folders = made.run(threading.Event(), reports.append)
        assert folders == tuple(cache.snapshot(name, pair.repos[name].branches["main"]) for name in PAIR.repos)
        expect_whole(pair, cache)
        assert sent(pair) == size(pair) == 4 * MB
        assert (reports[-1].done, reports[-1].total) == (reports[-1].total, sum(listing_bytes(pair)))
        assert all(a.done <= b.done for a, b in pairwise(reports))

    def test_code_and_other_formats_are_never_requested(self, pair: LocalHub, cache: HubCache) -> None:
        fetch(pair, cache)
        paths = " ".join(path for _, path, _ in pair.asked)
        assert not any(word in paths for word in (".py", ".bin", ".md", "original"))

    def test_the_hubs_client_reuses_the_download(self, pair: LocalHub, cache: HubCache) -> None:
        fetch(pair, cache)
        found = scan_cache_dir(cache.root)
        assert not found.warnings and not found.incomplete_files
        assert {repo.repo_id: {rev.refs for rev in repo.revisions} for repo in found.repos} == {
            name: {frozenset({"main"})} for name in PAIR.repos
        }
        before = sent(pair)
        again = snapshot_download(
            "owner/target", cache_dir=cache.root, endpoint=pair.url, allow_patterns=["*.json", "model*.safetensors"], token=False
        )
        assert Path(again) == cache.snapshot("owner/target", pair.repos["owner/target"].branches["main"])
        assert sent(pair) == before

    def test_a_download_of_the_hubs_client_is_reused(self, pair: LocalHub, cache: HubCache) -> None:
        snapshot_download(
            "owner/target", cache_dir=cache.root, endpoint=pair.url, allow_patterns=["model*.safetensors"], token=False
        )
        before = sent(pair)
        fetch(pair, cache)
        assert sent(pair) - before == MB
        commit = pair.repos["owner/target"].branches["main"]
        expect_snapshot(cache.snapshot("owner/target", commit), pair.repos["owner/target"].commits[commit])

    def test_a_second_run_downloads_nothing(self, pair: LocalHub, cache: HubCache) -> None:
        fetch(pair, cache)
        pair.sent.clear()
        assert fetch(pair, cache).downloaded == 0

    def test_a_file_shared_by_two_revisions_is_downloaded_once(self, pair: LocalHub, cache: HubCache) -> None:
        fetch(pair, cache)
        files = target_files(2 * MB, MB)
        files["model-00002-of-00002.safetensors"] = weights(7, MB)
        pair.repos["owner/target"].commit(files)
        pair.sent.clear()
        fetch(pair, cache)
        assert sent(pair) == MB
        expect_whole(pair, cache)

    def test_files_with_the_same_content_are_downloaded_once(self, pair: LocalHub, cache: HubCache) -> None:
        """Nobody else is blamed for the lock of their blob."""
        same, small = weights(7, MB), b"{}" * 20_000
        names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
        pair.repo("owner/target", target_files() | dict.fromkeys(names, same) | {f"{n}.json": small for n in range(30)})
        reports: list[DownloadProgress] = []
        made = download(pair, cache)
        assert made.run(threading.Event(), reports.append) is not None
        expect_whole(pair, cache)
        assert sent(pair) == 2 * MB
        assert {str(report.status) for report in reports} == {"None"}
        assert reports[-1].done == reports[-1].total == sum(listing_bytes(pair))
        assert len({path for _, path, _ in pair.asked if re.search(r"/\d+\.json", path)}) == 1

    def test_a_disk_without_links_gets_each_of_several_files_with_the_same_content(
        self, pair: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(errno.EPERM, "no links")

        names = [f"model-0000{n}-of-00003.safetensors" for n in (1, 2, 3)]
        files = target_files() | dict.fromkeys(names, weights(7, MB))
        pair.repo("owner/target", files)
        monkeypatch.setattr(os, "symlink", refuse)
        folder = fetch(pair, cache).cache.snapshot("owner/target", pair.repos["owner/target"].branches["main"])
        assert all((folder / name).read_bytes() == files[name] for name in (*names, "config.json"))
        assert not any(path.stat().st_size == MB for path in (folder.parents[1] / "blobs").iterdir())
        pair.sent.clear()
        assert fetch(pair, cache).downloaded == 0

    def test_the_token_is_sent_only_to_the_hub(self, pair: LocalHub, cache: HubCache) -> None:
        fetch(pair, cache, token="hf_secret")
        assert any(bearer == "Bearer hf_secret" for _, _, bearer in pair.asked)
        digests = {file.digest for repo in pair.repos.values() for tree in repo.commits.values() for file in tree.values()}
        assert not [path for _, path, bearer in pair.asked if bearer and path.strip("/").split("?")[0] in digests]


def listing_bytes(local: LocalHub) -> list[int]:
    made = download(local, HubCache(Path("nowhere")))
    return [made.hub.listing(name).size for name in PAIR.repos]


def test_the_speed_includes_downloads_of_other_programs(pair: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
    now, reports = 1000.0, []

    class Coming:
        downloaded = by_others = received = 0
        status = None

        def __init__(self, *_: object) -> None: ...

        def run(self, stop: threading.Event, tick: Callable[[], None]) -> bool:
            nonlocal now
            for _ in range(20):
                now += 0.5
                self.by_others += MB
                self.downloaded += MB
                self.received += 2 * MB
                tick()
            return False

    monkeypatch.setattr(downloading.time, "monotonic", lambda: now)
    monkeypatch.setattr(downloading, "FileTransfer", Coming)
    download(pair, cache).run(threading.Event(), reports.append)
    assert [round(one.bytes_per_s) for one in reports] == [0, *[4 * MB] * 21]


class TestMisbehaviour:
    @pytest.mark.parametrize(
        "fault",
        [
            Fault("drop", 300_000),
            Fault("reset", 300_000),
            Fault("short", 300_000),
            Fault("expired"),
            Fault("stall", 300_000),
        ]
        + [Fault("status", code=code) for code in (429, 500, 502, 503)],
        ids=lambda fault: f"{fault.kind}{fault.code if fault.kind == 'status' else ''}",
    )
    def test_downloaded_data_is_not_downloaded_again(self, pair: LocalHub, cache: HubCache, fault: Fault) -> None:
        pair.faults.extend([fault] * 3)
        fetch(pair, cache)
        expect_whole(pair, cache)
        assert not pair.faults
        assert sent(pair) == size(pair)

    def test_a_segment_has_one_connection_at_a_time(self, pair: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also between the end of a short response and what is noted of it."""
        receives, failed = transfer.FileTransfer._receive, transfer.FileTransfer._failed
        lock, receiving, twice = threading.Lock(), list[tuple[int, int, int]](), list[tuple[int, int, int]]()

        def watched(self, file, partial, answer, key, left):  # type: ignore[no-untyped-def]
            place = (id(file), *key)
            with lock:
                twice.extend([place] if place in receiving else [])
                receiving.append(place)
            time.sleep(0.1)
            try:
                return receives(self, file, partial, answer, key, left)
            finally:
                receiving.remove(place)

        def late(self, *what):  # type: ignore[no-untyped-def]
            time.sleep(0.05)
            failed(self, *what)

        monkeypatch.setattr(transfer.FileTransfer, "_receive", watched)
        monkeypatch.setattr(transfer.FileTransfer, "_failed", late)
        pair.faults.extend([Fault("short", 300_000)] * 4)
        fetch(pair, cache)
        expect_whole(pair, cache)
        assert not twice

    def test_only_a_damaged_file_is_downloaded_again(self, pair: LocalHub, cache: HubCache) -> None:
        pair.faults.append(Fault("wrong", 4321))
        made = fetch(pair, cache)
        expect_whole(pair, cache)
        assert size(pair) < sent(pair) <= size(pair) + 2 * MB
        assert [note for note in made.notes if "corrupted" in str(note)]

    def test_a_file_that_stays_damaged_is_never_published(self, pair: LocalHub, cache: HubCache) -> None:
        pair.faults.extend([Fault("wrong", 4321)] * 50)
        made = download(pair, cache, connections=1)
        with pytest.raises(UserError, match="corrupted in two downloads") as caught:
            made.run(threading.Event())
        file = dict(caught.value.text.values)["file"]
        assert not [note for note in made.notes if dict(note.values).get("file") == file]
        assert not [path for path in cache.root.rglob("*/blobs/*") if len(path.name) == 64]
        pair.faults.clear()
        fetch(pair, cache)
        expect_whole(pair, cache)

    def test_without_ranges_an_interrupted_file_starts_over(self, pair: LocalHub, cache: HubCache) -> None:
        pair.ranges = False
        pair.faults.append(Fault("drop", 500_000))
        made = fetch(pair, cache)
        expect_whole(pair, cache)
        assert [note for note in made.notes if note.code == "host_cannot_resume"]
        assert sent(pair) <= size(pair) + 500_000

    def test_without_ranges_nothing_is_downloaded_twice(self, pair: LocalHub, cache: HubCache) -> None:
        pair.ranges = False
        assert not fetch(pair, cache).notes
        assert sent(pair) == size(pair)

    def test_a_busy_hub_is_retried(self, pair: LocalHub, cache: HubCache) -> None:
        pair.api_faults.extend([429, 500, 503])
        fetch(pair, cache)
        expect_whole(pair, cache)

    def test_a_download_resumes_after_a_lost_network(self, pair: LocalHub, cache: HubCache) -> None:
        pair.faults.append(Fault("drop", 700_000))
        pair.faults.extend([Fault("status", code=503)] * 2000)
        with pytest.raises(UserError, match=r"hasn't responded .* then resume the download"):
            fetch(pair, cache, connections=2, retry=RetryPolicy(0.01, 0.02, 0.5))
        pair.faults.clear()
        fetch(pair, cache)
        expect_whole(pair, cache)
        assert sent(pair) <= 1.1 * size(pair)

    def test_a_file_that_failed_thousands_of_times_is_tried_again(self, pair: LocalHub, cache: HubCache) -> None:
        """Over hours, while other files arrive."""
        hub = Hub(pair.url)
        running = transfer.FileTransfer(hub, cache, [hub.listing("owner/drafter")], retry=RetryPolicy(longest_wait=30.0))
        (file, *_), now = running._files, time.monotonic()
        file.failures = 5000
        running._failed(file, None)
        assert now < file.not_before <= time.monotonic() + 30.0

    def test_an_unreachable_hub_is_reported(self, socket_hub: ServedHub, cache: HubCache) -> None:
        socket_hub.url = "http://127.0.0.1:1"  # no server listens there
        with pytest.raises(UserError, match="Can't reach"):
            fetch(socket_hub, cache, retry=RetryPolicy(0.01, 0.01, 0.1))

    def test_an_unreachable_hub_is_reported_during_the_retries(self, cache: HubCache) -> None:
        """With the default retry policy, the message comes after the first failure."""
        with LocalHub() as gone:
            pass
        stop, reports = threading.Event(), []

        def tell(progress: DownloadProgress) -> None:
            reports.append(progress)
            stop.set()

        assert download(gone, cache, retry=RetryPolicy()).run(stop, tell) is None
        (first,) = reports
        assert first.total == 0
        assert re.fullmatch(re.escape(gone.url) + r" isn\'t responding\. Trying again for up to (2\d|30) s\.", str(first.status))


class TestRevisions:
    def test_a_repo_revised_during_the_download_is_finished_at_its_revision(self, pair: LocalHub, cache: HubCache) -> None:
        repo = pair.repos["owner/target"]
        pinned = repo.branches["main"]
        pair.on_content = lambda number: number == 2 and repo.commit(target_files(MB, seed=9))
        made = fetch(pair, cache)
        assert [note for note in made.notes if note.code == "newer_revision"]
        assert cache.snapshot("owner/target", pinned).is_dir()
        fetch(pair, cache)
        expect_whole(pair, cache)

    def test_a_deleted_revision_is_replaced_and_shared_files_are_kept(self, pair: LocalHub, cache: HubCache) -> None:
        repo = pair.repos["owner/target"]
        changed = target_files(2 * MB, MB)
        changed["model-00001-of-00002.safetensors"] = weights(8, 2 * MB)

        def squash(number: int) -> None:
            if number == 1:
                repo.commit(changed, forget=True)

        pair.on_content = squash
        made = fetch(pair, cache)
        assert [note for note in made.notes if note.code == "repo_revised"]
        expect_whole_but_partials(pair, cache)
        assert sent(pair) <= size(pair) + 2 * MB

    def test_a_renamed_repo_is_kept_under_its_old_name(self, pair: LocalHub, cache: HubCache) -> None:
        pair.renamed["old/target"] = "owner/target"
        made = fetch(pair, cache, Pair("old/target", "owner/drafter"))
        assert [note for note in made.notes if "renamed to owner/target" in str(note)]
        assert cache.snapshot("old/target", pair.repos["owner/target"].branches["main"]).is_dir()


def expect_whole_but_partials(local: LocalHub, cache: HubCache) -> None:
    """Like `expect_whole`, but allow partial files of revisions that no longer exist."""
    for place in leftovers(cache):
        assert local.file(place.name.split(".")[0]) is None
        place.unlink()
    expect_whole(local, cache)


class TestAccess:
    def test_a_gated_repo_explains_how_to_get_access(self, pair: LocalHub, cache: HubCache) -> None:
        pair.repos["owner/drafter"].gated = True
        with pytest.raises(UserError, match=rf"is gated\. Accept its conditions at {pair.url}/owner/drafter"):
            fetch(pair, cache)
        with pytest.raises(UserError, match=r"Your account can't access"):
            fetch(pair, cache, token="hf_other")
        assert sent(pair) == 0
        pair.repos["owner/drafter"].admitted = frozenset({"hf_mine"})
        fetch(pair, cache, token="hf_mine")
        expect_whole(pair, cache)

    def test_missing_and_private_repos_are_reported(self, pair: LocalHub, cache: HubCache) -> None:
        with pytest.raises(UserError, match="Can't find owner/nothing"):
            fetch(pair, cache, Pair("owner/nothing"))
        pair.repos["owner/target"].private = True
        with pytest.raises(UserError, match="if it is private"):
            fetch(pair, cache)

    def test_offline_mode_is_reported(self, pair: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        with pytest.raises(UserError, match="HF_HUB_OFFLINE"):
            fetch(pair, cache)


class TestStopping:
    def test_a_paused_download_resumes(self, pair: LocalHub, cache: HubCache) -> None:
        made = download(pair, cache)
        run_until(pair, made, MB)
        assert leftovers(cache)
        reports: list[DownloadProgress] = []
        assert made.run(threading.Event(), reports.append) is not None
        assert reports[0].done >= MB, "what is here counts from the first report on"
        expect_whole(pair, cache)
        assert made.downloaded <= 1.05 * sum(listing_bytes(pair))

    def test_a_cancelled_download_leaves_no_files(self, pair: LocalHub, cache: HubCache) -> None:
        run_until(pair, download(pair, cache), 2 * MB)
        assert sum(cache.discard(name) for name in PAIR.repos) >= MB
        assert not [path for path in cache.root.iterdir() if path.name != ".locks"]

    def test_stopping_waits_only_briefly_for_stalled_connections(
        self, pair: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now, stop = 1000.0, threading.Event()

        def join(thread: threading.Thread, timeout: float | None = None) -> None:
            nonlocal now
            now += timeout or 0.0  # it does not end

        def tell(progress: DownloadProgress) -> None:
            if progress.done >= 200_000:
                stop.set()

        pair.allow(MB)
        with monkeypatch.context() as patched:
            patched.setattr(downloading, "_REPORT_EVERY", 0.0)
            patched.setattr(transfer.time, "monotonic", lambda: now)
            patched.setattr(threading.Thread, "join", join)
            assert download(pair, cache).run(stop, tell) is None
        assert now == 1000.5

    def test_cancelling_keeps_files_of_a_finished_snapshot(self, pair: LocalHub, cache: HubCache) -> None:
        fetch(pair, cache)
        assert cache.discard("owner/target") == 0
        expect_whole(pair, cache)

    def test_the_bandwidth_limit_holds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = 1000.0
        monkeypatch.setattr(throttling.time, "monotonic", lambda: now)

        class Clock(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                nonlocal now
                now += timeout or 0.0
                return False

        throttle = Throttle(MB)
        for _ in range(100):
            throttle.take(100_000, Clock())
        assert now == pytest.approx(1010.0, abs=0.2)  # 10 MB at 1 MB/s

    @pytest.mark.parametrize("rate", [None, 100 * MB])
    def test_changing_the_limit_ends_the_wait(self, rate: int | None) -> None:
        throttle = Throttle(1000)
        waiting = threading.Thread(target=throttle.take, args=(1_000_000, threading.Event()), daemon=True)
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
        throttle.limit(rate)
        waiting.join(10.0)
        assert not waiting.is_alive()


class TestDisk:
    def test_missing_disk_space_is_reported_before_the_download(
        self, pair: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(HubCache, "free_bytes", lambda self: 3 * MB)
        with pytest.raises(UserError, match=r"0\.20 GB are needed"):
            fetch(pair, cache)
        assert sent(pair) == 0

    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
    def test_a_full_disk_loses_no_downloaded_data(
        self, pair: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch, code: int
    ) -> None:
        room = [1_500_000]
        real = os.pwrite

        def full(fd: int, data: bytes, at: int) -> int:
            room[0] -= len(data)
            if room[0] < 0:
                raise OSError(code, os.strerror(code))
            return real(fd, data, at)

        words = r"is full\. Downloaded data is kept\. Free up" if code != errno.EIO else "Can't write to"
        with monkeypatch.context() as patched, pytest.raises(UserError, match=words):
            patched.setattr(os, "pwrite", full)
            fetch(pair, cache)
        made = fetch(pair, cache)
        expect_whole(pair, cache)
        assert made.downloaded <= sum(listing_bytes(pair)) - 1_300_000
