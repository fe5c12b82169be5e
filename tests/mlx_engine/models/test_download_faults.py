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
from hypothesis import given, settings
from hypothesis import strategies as st

from mlx_engine.models.files.hub_cache import HubCache
from tests.hub.repos import drafter_files, target_files
from tests.hub.server import Fault, LocalHub
from tests.mlx_engine.models.downloads import PAIR, SILENCE, Impatience, download, expect_whole, sent, size

MB = 1_000_000
CONNECTIONS = 4
IN_FLIGHT = CONNECTIONS * 256 * 1024  # unread bytes in the buffers of both ends when all connections end
BYTE = st.integers(0, 20 * MB)
FAULT = st.one_of(
    st.none(),
    st.builds(Fault, st.sampled_from(["drop", "reset", "short"]), BYTE),
    st.builds(Fault, st.just("stall"), BYTE, seconds=st.just(60.0)),
    st.builds(Fault, st.just("status"), code=st.sampled_from([408, 429, 500, 502, 503, 504])),
    st.builds(Fault, st.just("expired")),
)
WRONG = st.builds(Fault, st.just("wrong"), BYTE)
# what happens on the way: faults of the coming answers, a pause of the download at a byte, or kill -9 after some seconds
FAULTS = st.lists(FAULT, max_size=12)
PAUSES = st.lists(st.floats(0, 1), max_size=3)


def hub(rate: float) -> LocalHub:
    """Limit the rate, so that little is in flight when a connection ends, as over a network."""
    return LocalHub(rate=rate)


def try_everything(local: LocalHub, cache: HubCache, faults: list[Fault | None], pauses: list[float]) -> None:
    total = size(local)
    local.faults.extend(faults)
    wrong = sum(1 for fault in faults if fault and fault.kind == "wrong")
    made = download(local, cache)
    with Impatience(local) as impatience:
        for part in pauses:
            stop = threading.Event()
            if (
                made.run(stop, lambda progress, stop=stop, part=part: progress.done > part * progress.total and stop.set())
                is not None
            ):
                break
        assert made.run(threading.Event()) is not None
    expect_whole(local, cache)
    largest = max(len(file.data) for repo in local.repos.values() for tree in repo.commits.values() for file in tree.values())
    resets = sum(1 for fault in faults if fault and fault.kind == "reset")
    again, endings = wrong * largest, len(pauses) + resets + impatience.given_up
    assert made.downloaded <= 1.1 * sum(made.hub.listing(name).size for name in PAIR.repos) + again
    assert sent(local) <= 1.1 * total + again + endings * IN_FLIGHT
    assert pauses or wrong == 0 or any(note.code == "file_damaged" for note in made.notes) or local.faults


@settings(max_examples=min(settings().max_examples, 8))
@given(faults=FAULTS, wrong=st.lists(WRONG, max_size=1), pauses=PAUSES)
def test_a_few_faults(tmp_path_factory: pytest.TempPathFactory, faults: list, wrong: list, pauses: list[float]) -> None:
    with hub(30 * MB) as local:
        local.repo("owner/target", target_files(MB, 2 * MB))
        local.repo("owner/drafter", drafter_files(MB))
        try_everything(local, HubCache(tmp_path_factory.mktemp("cache")), [*faults, *wrong], pauses)


@pytest.mark.long
@given(
    sizes=st.lists(st.integers(2 * MB, 20 * MB), min_size=1, max_size=3),
    faults=FAULTS,
    wrong=st.lists(WRONG, max_size=1),
    pauses=PAUSES,
)
def test_many_faults(tmp_path_factory: pytest.TempPathFactory, sizes: list[int], faults: list, wrong: list, pauses: list) -> None:
    with hub(60 * MB) as local:
        local.repo("owner/target", target_files(*sizes))
        local.repo("owner/drafter", drafter_files(2 * MB))
        try_everything(local, HubCache(tmp_path_factory.mktemp("cache")), [*faults, *wrong], pauses)


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
from mlx_engine.models.library.pair import Pair
from mlx_engine.models.downloads.transfer import RetryPolicy
made = Download(Pair("owner/target", sys.argv[5]), Hub(sys.argv[1], read_timeout=float(sys.argv[4])), HubCache(Path(sys.argv[2])),
                connections=4, retry=RetryPolicy(0.01, 0.1, 600.0))
print("ready", flush=True)
assert made.run(threading.Event()) is not None
"""


def run_with_kills(
    local: LocalHub, cache: HubCache, moments: list[float], silence: float = SILENCE, drafter: str = "owner/drafter", total: int = 0
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
    with hub(10 * MB) as local:
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
        with hub(30 * MB) as local:
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
    with LocalHub(rate=60 * MB) as local:
        local.repo("owner/target", target_files(180 * MB, 60 * MB))
        local.repo("owner/drafter", drafter_files(60 * MB))
        kinds = ["drop", "reset", "short", "status", "expired", "stall"]
        for _ in range(60):
            local.faults.append(Fault(rng.choice(kinds), rng.randrange(20 * MB), code=rng.choice([429, 500, 503]), seconds=6.0))
            local.faults.extend([None] * rng.randint(0, 2))
        local.faults.append(Fault("wrong", 5))
        cache = HubCache(tmp_path / "cache")
        kills, read = run_with_kills(local, cache, [rng.uniform(0.05, 0.4) for _ in range(8)], silence=5.0)
        expect_whole(local, cache)
        assert not any(local.faults)
        print(f"{kills} kills: read {read / size(local):.4f}, sent {sent(local) / size(local):.4f} of {size(local):,} bytes")
        assert read <= 1.1 * size(local) + 180 * MB
        assert sent(local) <= 1.1 * size(local) + 180 * MB + kills * IN_FLIGHT
