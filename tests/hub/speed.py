"""Compare the speed and processor time of a download with `curl`, over the local hub.

    python -m tests.hub.speed [--rate 200] [--size 1000] [--runs 5]

Both download the same weights from this process, alternately, to the same disk. curl downloads only the file. The download also
lists the repo, downloads the small files, verifies every byte and flushes it to the disk. Its time excludes the start of Python and
its imports. --rate 0 removes the limit.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.hub.repos import target_files
from tests.hub.server import ServedHub

CLIENT = """
import json, resource, sys, threading, time
from pathlib import Path
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.downloads.download import Download
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.library.pair import Pair
used = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
began, before = time.perf_counter(), used()
made = Download(Pair("owner/target"), Hub(sys.argv[1]), HubCache(Path(sys.argv[2])), connections=int(sys.argv[3]))
assert made.run(threading.Event())
print(json.dumps([time.perf_counter() - began, used() - before]))
"""


def curl(url: str, place: Path) -> tuple[float, float]:
    """Return wall-clock and processor seconds."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["curl", "-sS", "-o", str(place / "file"), url], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def download(hub: ServedHub, place: Path, connections: int) -> tuple[float, float]:
    environment = {**os.environ, "HF_HUB_OFFLINE": "0"}
    words = [sys.executable, "-c", CLIENT, hub.url, str(place), str(connections)]
    done = subprocess.run(words, env=environment, check=True, capture_output=True, cwd=Path(__file__).parents[2])
    seconds, used = json.loads(done.stdout)
    return seconds, used


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rate", type=float, default=200.0, help="MB/s that the hub sends at most; 0: no limit")
    parser.add_argument("--size", type=int, default=1000, help="MB of weights")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--connections", type=int, default=6)
    given = parser.parse_args()
    with ServedHub(rate=given.rate * 1e6 or None, send_buffer=None) as hub, tempfile.TemporaryDirectory() as folder:
        repo = hub.repo("owner/target", target_files(given.size * 1_000_000))
        weights = next(file for path, file in repo.commits[repo.branches["main"]].items() if path.startswith("model-"))
        times: dict[str, list[tuple[float, float]]] = {"curl": [], "download": []}
        for run in range(given.runs):
            for name in ("curl", "download") if run % 2 else ("download", "curl"):
                place = Path(folder) / name
                place.mkdir()
                if name == "curl":
                    times[name].append(curl(f"{hub.content_url}/{weights.digest}", place))
                else:
                    times[name].append(download(hub, place, given.connections))
                shutil.rmtree(place)
                os.sync()
        gigabytes = given.size / 1000
        for name, seen in times.items():
            wall, cpu = median(seconds for seconds, _ in seen), median(used for _, used in seen)
            speed, cost = f"{given.size / wall:.1f} MB/s", f"{cpu / gigabytes:.2f} CPU s/GB"
            print(f"{name:<9} {wall:.3f} s, {speed}, {cost}; runs {[round(seconds, 3) for seconds, _ in seen]}")
        ratios = [one[0] / other[0] for one, other in zip(times["curl"], times["download"], strict=True)]
        print(f"download / curl: {median(ratios):.3f}, runs {[round(ratio, 3) for ratio in ratios]}; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
