"""Downloads that retry without waiting, and checks of their results."""

import hashlib
import threading
from pathlib import Path
from typing import Any

from mlx_engine.contract.errors import EngineText
from mlx_engine.models.downloads.download import Download
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.downloads.transfer import RetryPolicy
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library.pair import Pair
from tests.hub.local_hub import LocalHub
from tests.hub.repos import UNWANTED

PAIR = Pair("owner/target", "owner/drafter")
NO_NETWORK = EngineText("no_network", "No network.")
IN_HAND = 6 * 64 * 1024  # bytes that have come over up to six connections and are not written yet, at most
SILENCE = 60.0  # seconds; no test waits for its end: on a slow machine an answer may be late
IMPATIENT = RetryPolicy(first_wait=0.0, longest_wait=0.0, give_up=10 * SILENCE)


def download(local: LocalHub, cache: HubCache, pair: Pair = PAIR, token: str | None = None, **options: Any) -> Download:
    options = {"retry": IMPATIENT, "connections": 4, **options}
    return Download(pair, Hub(local.url, token, read_timeout=SILENCE), cache, **options)


def fetch(local: LocalHub, cache: HubCache, pair: Pair = PAIR, **options) -> Download:
    """Run a download until it ends."""
    made = download(local, cache, pair, **options)
    assert made.run(threading.Event()) is not None
    return made


def run_until(local: LocalHub, made: Download, count: int) -> None:
    """Run a download and stop it after `count` bytes. The hub holds back the rest, so that the download cannot finish before."""
    stop = threading.Event()
    local.allow(count + IN_HAND)
    assert made.run(stop, lambda progress: progress.done >= count and stop.set()) is None
    local.allow(None)


def expect_whole(local: LocalHub, cache: HubCache, pair: Pair = PAIR) -> None:
    """Check that both snapshots hold exactly the wanted files and that nothing unfinished is left."""
    for name in pair.repos:
        repo = local.repos[name]
        commit = repo.branches["main"]
        expect_snapshot(cache.snapshot(name, commit), repo.commits[commit])
        assert (cache.folder(name) / "refs/main").read_text() == commit
    assert leftovers(cache) == []


def expect_snapshot(snapshot: Path, files: dict) -> None:
    wanted = set(files) - UNWANTED
    assert {str(path.relative_to(snapshot)) for path in snapshot.rglob("*")} == wanted
    for path in wanted:
        place = snapshot / path
        assert place.is_symlink() and place.resolve().name == files[path].digest
        assert hashlib.sha256(place.read_bytes()).hexdigest() == files[path].sha256


def leftovers(cache: HubCache) -> list[Path]:
    """Return files in the cache that are neither finished blobs, links, refs nor lock files."""
    return [
        path
        for path in cache.root.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and ".locks" not in path.parts
        and not (path.parent.name == "blobs" and path.name.isalnum())
        and path.parent.name != "refs"
    ]


def size(local: LocalHub) -> int:
    """Bytes of the pair's weights."""
    trees = [local.repos[name].commits[local.repos[name].branches["main"]] for name in PAIR.repos]
    return sum(len(file.data) for tree in trees for path, file in tree.items() if file.lfs and path not in UNWANTED)


def sent(local: LocalHub) -> int:
    """Bytes of weights that the hub sent, whether or not they arrived."""
    return sum(count for digest, count in local.sent.items() if len(digest) == 64)
