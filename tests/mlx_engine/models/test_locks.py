"""Locks between programs, also on file systems that have none."""

import errno
import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import filelock
import pytest

from mlx_engine.models.downloads.bandwidth import Throttle
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.files import locks
from mlx_engine.models.files.hub_cache import HubCache, move_lock
from mlx_engine.models.files.locks import acquire
from mlx_engine.models.files.repo import RemoteFile, RepoListing
from mlx_engine.models.library.pair import Pair
from tests.hub.local_hub import LocalHub
from tests.hub.repos import drafter_files, target_files
from tests.mlx_engine.models.downloads import download, expect_whole, sent, size

MB = 1_000_000
pytestmark = pytest.mark.filterwarnings("ignore:flock not supported")  # filelock says so
DYING = """
import fcntl, os, sys
from pathlib import Path
def refuse(*_):
    raise OSError(int(sys.argv[2]), "none here")
if int(sys.argv[2]):
    fcntl.flock = refuse
from mlx_engine.models.files.locks import acquire
assert acquire(Path(sys.argv[1])) is not None
os._exit(9)
"""


@pytest.fixture(params=[0, errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK], ids=lambda code: errno.errorcode.get(code, "locks"))
def refusal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """A file system with locks, or the error of one without."""

    def refuse(*_: object) -> None:
        raise OSError(request.param, os.strerror(request.param))

    if request.param:
        monkeypatch.setattr(fcntl, "flock", refuse)
    return request.param


def test_a_lock_has_one_holder_at_a_time(tmp_path: Path, refusal: int) -> None:
    place = tmp_path / "it.lock"
    for _ in range(2):
        first = acquire(place)
        assert first is not None and acquire(place) is None
        first.release()


def test_a_dead_holder_releases_its_lock(tmp_path: Path, refusal: int) -> None:
    place = tmp_path / "it.lock"
    root = Path(__file__).parents[3]
    assert subprocess.run([sys.executable, "-c", DYING, str(place), str(refusal)], cwd=root).returncode == 9
    assert acquire(place) is not None


def test_other_errors_are_raised(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        acquire(tmp_path / "file" / "it.lock")


def test_two_concurrent_downloads_transfer_a_pair_once(local_hub: LocalHub, cache: HubCache, refusal: int) -> None:
    local_hub.repo("owner/target", target_files(MB, MB // 2))
    local_hub.repo("owner/drafter", drafter_files(MB // 2))
    made = [download(local_hub, cache, throttle=Throttle(6 * MB)) for _ in range(2)]
    results: list[object] = []
    threads = [threading.Thread(target=lambda one=one: results.append(one.run(threading.Event()))) for one in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert None not in results and len(results) == 2
    expect_whole(local_hub, cache)
    assert sent(local_hub) == size(local_hub)


def test_a_repo_is_marked_during_its_download(local_hub: LocalHub, cache: HubCache, refusal: int) -> None:
    local_hub.repo("owner/target", target_files(1000))
    listing = Hub(local_hub.url).listing("owner/target")
    assert not cache.is_downloading("owner/target")
    with cache.downloading([listing]), cache.downloading([listing]):
        assert cache.is_downloading("owner/target") and not cache.is_downloading("owner/drafter")
    assert not cache.is_downloading("owner/target")
    assert list(cache.lock_folder("owner/target").iterdir()) == []


def test_testing_a_lock_does_not_look_like_a_download(
    local_hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch, refusal: int
) -> None:
    """Testing a lock means holding it for a moment."""
    monkeypatch.setattr(locks, "PROBE_TIMEOUT", 10.0)  # on a busy machine the other's moment may be long
    local_hub.repo("owner/target", target_files(1000))
    listing = Hub(local_hub.url).listing("owner/target")
    cache.prepare(listing)
    for place in (cache.lock_folder("owner/target") / "it.fetching.lock", move_lock()):
        place.parent.mkdir(parents=True, exist_ok=True)
        looked = acquire(place)
        assert looked is not None
        timer = threading.Timer(0.1, looked.release)
        timer.start()
        assert not cache.is_downloading("owner/target")
        with cache.downloading([listing]):  # the models are not being moved
            pass
        timer.join()


def test_testing_a_file_lock_does_not_look_like_another_download(
    local_hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch, refusal: int
) -> None:
    monkeypatch.setattr(locks, "PROBE_TIMEOUT", 60.0)
    local_hub.repo("owner/target", target_files(1000))
    listing = Hub(local_hub.url).listing("owner/target")
    cache.prepare(listing)
    looked = {file: cache.lock(listing, file) for file in listing.files}
    lock, timers, statuses = HubCache.lock, [], []

    def lock_while_another_looks(
        self: HubCache, listing: RepoListing, file: RemoteFile, *given: float
    ) -> filelock.BaseFileLock | None:
        if held := looked.pop(file, None):
            timers.append(threading.Timer(0.1, held.release))  # its moment
            timers[-1].start()
        return lock(self, listing, file, *given)

    monkeypatch.setattr(HubCache, "lock", lock_while_another_looks)
    made = download(local_hub, cache, Pair("owner/target"))
    assert made.run(threading.Event(), lambda progress: statuses.append(progress.status)) is not None
    for timer in timers:
        timer.join()
    assert not looked and not any(statuses)


@pytest.mark.parametrize("refusal", [0, errno.ENOTSUP], indirect=True)
def test_testing_a_mark_keeps_it_for_a_waiting_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: int) -> None:
    """A mark is created and locked in two steps; a test between them finds it unlocked and removes it."""
    mark = tmp_path / "it.fetching.lock"
    mark.touch()
    held: list[filelock.BaseFileLock | None] = []

    class Looked:
        def __init__(self, lock: filelock.BaseFileLock) -> None:
            self._lock = lock

        def release(self) -> None:
            self._lock.release()
            held.append(acquire(mark))  # a waiting program takes it immediately

    def look(path: Path, timeout: float = 0.0) -> Looked | None:
        lock = acquire(path, timeout)
        return lock and Looked(lock)

    with monkeypatch.context() as patched:
        patched.setattr(locks, "acquire", look)
        locks.is_downloading(tmp_path)
    assert len(held) == 1 and held[0] is not None and locks.is_downloading(tmp_path)
