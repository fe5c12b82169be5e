"""Downloads as the tests run them: impatient, and looked at afterwards."""

import hashlib
import threading
from pathlib import Path

from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.download import Download
from mlx_engine.pairs.metadata import Hub
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.transfer import Patience
from tests.hub.repos import UNWANTED
from tests.hub.server import LocalHub

PAIR = Pair("owner/target", "owner/drafter")
IMPATIENT = Patience(first_wait=0.01, longest_wait=0.05, give_up=10.0)


def download(
    local: LocalHub, cache: Cache, pair: Pair = PAIR, token: str | None = None, silence: float = 5.0, **options
) -> Download:
    options = {"patience": IMPATIENT, "connections": 4, **options}
    return Download(pair, Hub(local.url, token, read_timeout=silence), cache, **options)


def fetch(local: LocalHub, cache: Cache, pair: Pair = PAIR, **options) -> Download:
    """Run a download to its end."""
    made = download(local, cache, pair, **options)
    assert made.run(threading.Event()) is not None
    return made


def expect_whole(local: LocalHub, cache: Cache, pair: Pair = PAIR) -> None:
    """Both snapshots hold exactly the wanted files, byte for byte, and nothing unfinished is left."""
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


def leftovers(cache: Cache) -> list[Path]:
    """Files in the cache that are neither blobs by their digest, links to one, refs nor lock files."""
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
