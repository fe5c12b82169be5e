"""`slipstream models check`: downloaded files against their checksums, and the catalog's repos against the hub."""

import argparse
import hashlib
from pathlib import Path

from mlx_engine.errors import UserError
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.catalog import Catalog, load_catalog
from mlx_engine.pairs.checkpoint import check_safetensors
from mlx_engine.pairs.data_files import not_regular_file
from mlx_engine.pairs.hub import Hub, NoAnswer
from mlx_engine.pairs.library import local_models
from mlx_engine.pairs.pair import Pair
from mlx_engine.terminal.console import print_json, say

_AGAIN = "Remove the pair and download it again."


def check(given: argparse.Namespace) -> int:
    """Check what is on this disk, or the catalog's repos, and return the exit code."""
    known, cache = load_catalog(), Cache()
    if given.catalogue:
        return _check_catalog(given, known)
    if given.id or given.target:
        pair = known.find(given.id).pair(given.bits) if given.id else Pair(given.target, given.drafter)
        repos = list(pair.repos)
    else:
        repos = sorted({one.repo for one in local_models(cache) if one.place == "hub cache"})
    results = {repo: _faults(cache, repo) for repo in repos}
    if given.json:
        print_json({"repos": [{"repo": repo, "complete": not faults, "faults": faults} for repo, faults in results.items()]})
    else:
        for repo, faults in results.items():
            say(f"{'✗' if faults else '✓'} {repo}", *(f"    {fault}" for fault in faults))
        if not results:
            say("Nothing has been downloaded yet.")
    return 1 if any(results.values()) else 0


def _faults(cache: Cache, repo: str) -> list[str]:
    """Return what is wrong with a downloaded repo. Blobs are named by their checksums, so no network is needed."""
    commit = cache.main_commit(repo)
    snapshot = cache.snapshot(repo, commit) if commit else None
    if snapshot is None or not snapshot.is_dir():
        return [f"{repo} is not on this disk, or not complete. Download it with “slipstream models pull”."]
    faults = []
    files = sorted(snapshot.iterdir())
    for pointer in files:
        if not pointer.resolve().is_relative_to(cache.root.resolve()):
            faults.append(f"{pointer.name} links to a file outside the model folder. {_AGAIN}")
        elif not pointer.exists():
            faults.append(f"{pointer.name} is missing. Download the pair again.")
        elif not pointer.is_file() and not pointer.is_dir():
            faults.append(str(not_regular_file(pointer)))
        elif pointer.is_symlink() and not _has_digest(pointer.resolve()):
            faults.append(f"{pointer.name} is damaged. {_AGAIN}")
        elif pointer.suffix == ".safetensors":
            try:
                check_safetensors(pointer, pointer.name)
            except UserError as error:
                damaged = error.text.code == "damaged_weights"
                faults.append(f"{pointer.name} is damaged. {_AGAIN}" if damaged else str(error))
    if not any(pointer.name == "config.json" for pointer in files):
        faults.append("config.json is missing. Download the pair again.")
    return faults


def _has_digest(blob: Path) -> bool:
    """Whether a blob's content has the checksum that its name says."""
    if len(blob.name) not in (40, 64):
        return False
    digest = hashlib.sha256() if len(blob.name) == 64 else hashlib.sha1(b"blob %d\0" % blob.stat().st_size)
    with blob.open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest() == blob.name


def _check_catalog(given: argparse.Namespace, known: Catalog) -> int:
    hub = Hub()
    named = [(entry.id, repo) for entry in known.entries for repo in entry.repos]
    why_not = {repo: _why_missing(hub, repo) for repo in dict.fromkeys(repo for _, repo in named)}
    missing = [{"id": id, "repo": repo, "why": why_not[repo]} for id, repo in named if why_not[repo]]
    if given.json:
        print_json({"asked": len(why_not), "missing": missing, "complaints": list(map(str, known.problems))})
    else:
        for one in missing:
            say(f"✗ {one['id']}: {one['repo']}: {one['why']}")
        for problem in known.problems:
            say(str(problem))
        say(f"{sum(not why for why in why_not.values())} of {len(why_not)} repos are on the hub.")
    return 1 if missing or known.problems else 0


def _why_missing(hub: Hub, repo: str) -> str:
    """Return the hub's refusal, or nothing if the repo is there.

    Raises:
        NoAnswer: the hub can't be reached at all.
    """
    try:
        hub.listing(repo)
    except NoAnswer:
        raise
    except UserError as error:
        return str(error)
    return ""
