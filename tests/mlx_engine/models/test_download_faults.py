"""Random faults in any order: the result is complete, and little is transferred twice."""

import os
import random
import secrets
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError
from mlx_engine.models.downloads.download import Download, DownloadProgress
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.downloads.transfer import RetryPolicy
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library.pair import Pair
from tests.hub.local_hub import PIECE, Fault, LocalHub
from tests.hub.repos import drafter_files, target_files
from tests.hub.server import ServedHub
from tests.mlx_engine.models.downloads import IMPATIENT, PAIR, SILENCE, download, expect_whole, sent, size

MB = 1_000_000
CONNECTIONS = 4
IN_FLIGHT = CONNECTIONS * 256 * 1024  # unread bytes in the buffers of both ends when all connections end
BYTE = st.integers(0, 4 * MB)
FAULT = st.one_of(
    st.none(),
    st.builds(Fault, st.sampled_from(["drop", "reset", "short", "stall"]), BYTE),
    st.builds(Fault, st.just("status"), code=st.sampled_from([408, 429, 500, 502, 503, 504])),
    st.builds(Fault, st.just("expired")),
)
WRONG = st.builds(Fault, st.just("wrong"), BYTE)
# what happens on the way: faults of the coming answers, and pauses of the download
FAULTS = st.lists(FAULT, max_size=12)
PAUSES = st.lists(st.floats(0, 1), max_size=3)


@given(
    sizes=st.lists(st.integers(100_000, 4 * MB), min_size=1, max_size=3),
    faults=FAULTS,
    wrong=st.lists(WRONG, max_size=1),
    pauses=PAUSES,
)
def test_download_completes_after_random_faults(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], faults: list, wrong: list, pauses: list
) -> None:
    with LocalHub() as local:
        local.repo("owner/target", target_files(*sizes))
        local.repo("owner/drafter", drafter_files(MB))
        local.faults.extend([*faults, *wrong])
        cache = HubCache(tmp_path_factory.mktemp("cache"))
        made = download(local, cache)
        for part in pauses:
            stop = threading.Event()
            if made.run(stop, lambda now, stop=stop, part=part: now.done > part * now.total and stop.set()) is not None:
                break
        assert made.run(threading.Event()) is not None
        expect_whole(local, cache)
        again = len(pauses) * CONNECTIONS * 2 * PIECE  # of connections that end too late for the pause
        again += len(wrong) * max(*sizes, MB)
        assert made.downloaded <= sum(made.hub.listing(name).size for name in PAIR.repos) + again
        assert sent(local) <= size(local) + again
        assert pauses or not wrong or any(note.code == "file_damaged" for note in made.notes) or local.faults


@pytest.mark.parametrize("kind", ["drop", "reset", "short"])
def test_a_hub_that_cuts_off_every_response_is_given_up(kind: str, cache: HubCache) -> None:
    with LocalHub() as local:
        local.repo("owner/target", target_files(4 * MB))
        local.faults.extend([Fault(kind, 1)] * 20_000)
        made = download(local, cache, Pair("owner/target"), retry=RetryPolicy(0.0, 0.0, give_up=0.5))
        reports = list[DownloadProgress]()
        with pytest.raises(UserError) as caught:
            made.run(threading.Event(), reports.append)
        assert caught.value.text.code == "hub_cuts_off"
        assert {report.status.code for report in reports if report.status} == {"hub_cut_off"}
        local.faults.clear()
        again, reports = download(local, cache, made.pair), []
        assert again.run(threading.Event(), reports.append) is not None
        expect_whole(local, cache, made.pair)
        assert next(report.done for report in reports if report.total) >= made.progress.done > 0  # what had come is kept


def test_a_hub_that_is_silent_after_it_cut_a_response_off_is_called_silent(cache: HubCache) -> None:
    with LocalHub() as local:
        local.repo("owner/target", target_files(4 * MB))
        local.faults.extend([Fault("drop", 1_000), *[Fault("status")] * 20_000])
        made = download(local, cache, Pair("owner/target"), connections=1, retry=RetryPolicy(0.0, 0.0, give_up=0.5))
        with pytest.raises(UserError) as caught:
            made.run(threading.Event())
        assert caught.value.text.code != "hub_cuts_off"
        assert made.progress.status is not None and made.progress.status.code == "hub_silent"


@pytest.mark.parametrize("kind", ["drop", "reset", "stall"])
def test_a_lost_connection_is_continued(kind: str, socket_hub: ServedHub, cache: HubCache) -> None:
    """As the client sees real ones."""
    socket_hub.repo("owner/target", target_files(MB))
    socket_hub.faults.append(Fault(kind, 300_000))
    made = Download(Pair("owner/target"), Hub(socket_hub.url, read_timeout=1.0), cache, retry=IMPATIENT)
    assert made.run(threading.Event()) is not None
    expect_whole(socket_hub, cache, made.pair)


CHILD = """
import mmap, struct, sys, threading
from pathlib import Path
import httpx2
shared = open(sys.argv[3], "r+b")
counter = mmap.mmap(shared.fileno(), 8)  # every byte that is read, and kill -9 leaves it
lock, read = threading.Lock(), httpx2.Response.iter_raw
def counted(self, *given):
    for piece in read(self, *given):
        with lock:
            counter[:] = struct.pack("<Q", struct.unpack("<Q", counter[:])[0] + len(piece))
        yield piece
httpx2.Response.iter_raw = counted
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.downloads.download import Download
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.downloads.transfer import RetryPolicy
from mlx_engine.models.library.pair import Pair
made = Download(Pair("owner/target", sys.argv[5]), Hub(sys.argv[1], read_timeout=float(sys.argv[4])), HubCache(Path(sys.argv[2])),
                connections=4, retry=RetryPolicy(0.01, 0.1, 600.0))
print("ready", flush=True)
assert made.run(threading.Event()) is not None
"""


def run_with_kills(
    local: ServedHub,
    cache: HubCache,
    moments: list[float],
    silence: float = SILENCE,
    drafter: str = "owner/drafter",
    total: int = 0,
) -> tuple[int, int]:
    """Run the download in a process, kill it after each share of the remaining bytes, then let it finish.

    The hub sends at most half of the rest before each kill, so that the download cannot finish on a busy machine. Returns the
    number of kills, and the bytes that all processes read.
    """
    counter = cache.root.with_suffix(".counter")
    counter.write_bytes(bytes(8))
    environment = {**os.environ, "HF_HUB_OFFLINE": "0", "HF_HUB_CACHE": str(cache.root)}
    total, kills = total or size(local), 0
    for moment in [*moments, None]:
        goal = sent(local) + (moment or 0.0) * (total - sent(local))
        local.allow(None if moment is None else int((goal + total) / 2) - sent(local))
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, local.url, str(cache.root), str(counter), str(silence), drafter],
            env=environment,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
        )
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        if moment is None:
            assert child.wait(300) == 0
        else:
            while child.poll() is None and sent(local) < goal:
                time.sleep(0.002)
            if child.poll() is None:
                child.send_signal(signal.SIGKILL)
                kills += 1
            child.wait()
        child.stdout.close()
    return kills, struct.unpack("<Q", counter.read_bytes())[0]


def test_killed_at_two_moments(tmp_path: Path) -> None:
    with ServedHub(10 * MB) as local:
        local.repo("owner/target", target_files(2 * MB, 3 * MB))
        local.repo("owner/drafter", drafter_files(MB))
        cache = HubCache(tmp_path / "cache")
        kills, read = run_with_kills(local, cache, [0.3, 0.5])
        assert kills == 2
        expect_whole(local, cache)
        assert read <= 1.1 * size(local)
        assert sent(local) <= 1.1 * size(local) + kills * IN_FLIGHT


def seeded() -> random.Random:
    """Return a random generator with a new seed, which is printed so that a failure can be repeated."""
    seed = int(os.environ.get("SLIPSTREAM_SEED") or secrets.randbits(32))
    print(f"SLIPSTREAM_SEED={seed}")
    return random.Random(seed)


@pytest.mark.long
def test_killed_at_many_moments(tmp_path: Path) -> None:
    """40 kills over files of 2 to 20 MB."""
    rng, kills = seeded(), 0
    while kills < 40:
        with ServedHub(30 * MB) as local:
            local.repo("owner/target", target_files(rng.randint(2 * MB, 20 * MB), rng.randint(2 * MB, 20 * MB)))
            local.repo("owner/drafter", drafter_files(rng.randint(2 * MB, 20 * MB)))
            cache = HubCache(tmp_path / str(kills))
            killed, read = run_with_kills(local, cache, [rng.random() for _ in range(5)])
            kills += killed
            expect_whole(local, cache)
            print(f"{killed} kills: read {read / size(local):.4f}, sent {sent(local) / size(local):.4f} of {size(local):,} bytes")
            assert read <= 1.1 * size(local)
            assert sent(local) <= 1.1 * size(local) + killed * IN_FLIGHT


@pytest.mark.long
def test_a_soak_of_300_mb_with_everything_at_once(tmp_path: Path) -> None:
    """Kills, drops, stalls, refusals and one wrong byte, over 300 MB."""
    rng = seeded()
    with ServedHub(rate=60 * MB) as local:
        local.repo("owner/target", target_files(180 * MB, 60 * MB))
        local.repo("owner/drafter", drafter_files(60 * MB))
        kinds = ["drop", "reset", "short", "status", "expired", "stall"]
        for _ in range(60):
            local.faults.append(Fault(rng.choice(kinds), rng.randrange(20 * MB), code=rng.choice([429, 500, 503])))
            local.faults.extend([None] * rng.randint(0, 2))
        local.faults.append(Fault("wrong", 5))
        cache = HubCache(tmp_path / "cache")
        kills, read = run_with_kills(local, cache, [rng.uniform(0.05, 0.4) for _ in range(8)], silence=5.0)
        expect_whole(local, cache)
        assert not any(local.faults)
        print(f"{kills} kills: read {read / size(local):.4f}, sent {sent(local) / size(local):.4f} of {size(local):,} bytes")
        assert read <= 1.1 * size(local) + 180 * MB
        assert sent(local) <= 1.1 * size(local) + 180 * MB + kills * IN_FLIGHT
