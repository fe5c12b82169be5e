"""`slipstream models check`: fetched files against their checksums, and the catalogue's repos against the hub."""

import argparse
import hashlib
from pathlib import Path

from mlx_engine.errors import UserError
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.catalog import Catalog, load_catalog
from mlx_engine.pairs.checkpoint import check_safetensors
from mlx_engine.pairs.hub import Hub
from mlx_engine.pairs.hub_errors import NoAnswer
from mlx_engine.pairs.library import local_models
from mlx_engine.pairs.pair import Pair
from mlx_engine.terminal.model_words import print_json


def check(given: argparse.Namespace) -> int:
    """Check what is on this disk, or what the catalogue names; returns the exit status."""
    known, cache = load_catalog(), Cache()
    if given.catalogue:
        return _check_catalogue(given, known)
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
            print(f"✓ {repo}" if not faults else f"✗ {repo}")
            for fault in faults:
                print(f"    {fault}")
        if not results:
            print("Nothing has been fetched yet.")
    return 1 if any(results.values()) else 0


def _faults(cache: Cache, repo: str) -> list[str]:
    """What is wrong with a fetched repo, in sentences. Blobs go by their checksums, so no network is needed."""
    commit = cache.main_commit(repo)
    snapshot = cache.snapshot(repo, commit) if commit else None
    if snapshot is None or not snapshot.is_dir():
        return [f"{repo} is not on this disk, or not whole. “slipstream models pull” fetches it."]
    faults = []
    files = sorted(snapshot.iterdir())
    for pointer in files:
        if not pointer.resolve().is_relative_to(cache.root.resolve()):
            faults.append(f"{pointer.name} leads out of the model folder. Remove the pair and pull it again.")
        elif not pointer.exists():
            faults.append(f"{pointer.name} is missing. Pull the pair again.")
        elif pointer.is_symlink() and not _has_digest(pointer.resolve()):
            faults.append(f"{pointer.name} is damaged. Remove the pair and pull it again.")
        elif pointer.suffix == ".safetensors":
            try:
                check_safetensors(pointer, pointer.name)
            except UserError:
                faults.append(f"{pointer.name} is damaged. Remove the pair and pull it again.")
    if not any(pointer.name == "config.json" for pointer in files):
        faults.append("config.json is missing. Pull the pair again.")
    return faults


def _has_digest(blob: Path) -> bool:
    """Whether a blob's bytes are what its name says."""
    if len(blob.name) not in (40, 64):
        return False
    size = blob.stat().st_size
    digest = hashlib.sha256() if len(blob.name) == 64 else hashlib.sha1(b"blob %d\0" % size)
    with blob.open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest() == blob.name


def _check_catalogue(given: argparse.Namespace, known: Catalog) -> int:
    hub = Hub()
    named = [(entry.id, repo) for entry in known.entries for repo in entry.repos]
    why_not = {repo: _why_not_there(hub, repo) for repo in dict.fromkeys(repo for _, repo in named)}
    missing = [{"id": id, "repo": repo, "why": why_not[repo]} for id, repo in named if why_not[repo]]
    if given.json:
        print_json({"asked": len(why_not), "missing": missing, "complaints": list(map(str, known.problems))})
    else:
        for one in missing:
            print(f"✗ {one['id']}: {one['repo']}: {one['why']}")
        for problem in known.problems:
            print(problem)
        print(f"{sum(not why for why in why_not.values())} of {len(why_not)} repos are there.")
    return 1 if missing or known.problems else 0


def _why_not_there(hub: Hub, repo: str) -> str:
    """The hub's refusal, in a sentence; empty when the repo is there.

    Raises:
        NoAnswer: the hub says nothing, of this repo or another.
    """
    try:
        hub.listing(repo)
    except NoAnswer:
        raise
    except UserError as error:
        return str(error)
    return ""
