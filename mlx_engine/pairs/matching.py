"""The drafter of a target, looked for by name: in the catalogue, on this disk, on the hub. The configs decide, not the name."""

from contextlib import suppress
from pathlib import Path

from mlx_engine.errors import UserError
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.catalog import Catalogue
from mlx_engine.pairs.checkpoint import read_config
from mlx_engine.pairs.compatibility import misfit, why_not_dflash
from mlx_engine.pairs.custom_pairs import own_pairs
from mlx_engine.pairs.library import OnDisk, base_name
from mlx_engine.pairs.metadata import Hub
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.repo import is_commit

_MOST_ASKED = 8  # drafters whose config is read


class NoDrafter(UserError):
    """No drafter was found for a target; it decodes plainly, unless one is named."""


class NotForDFlash(UserError):
    """No drafter can fit a target; it decodes plainly."""


def find_drafter(hub: Hub, known: Catalogue, on_disk: list[OnDisk], target: str) -> Pair:
    """The pair of a target repo and the first drafter that fits it.

    Raises:
        NoDrafter: none was found; the sentence says where it was looked for.
        NotForDFlash: there can be none.
        UserError: the hub does not say enough.
    """
    listing = hub.listing(target)
    config = hub.read_json(listing, "config.json")
    if reason := why_not_dflash(config):
        raise NotForDFlash(reason)
    entry = known.with_target(target)
    names = [str(entry.drafter.value)] if entry and entry.drafter else []
    names += [one.repo for one in on_disk if one.is_drafter and "/" in one.repo and _is_named_for(one.repo, target)]
    names += [name for name in hub.search(f"{base_name(target)}-DFlash") if _is_named_for(name, target)]
    refused = ""
    for name in list(dict.fromkeys(names))[:_MOST_ASKED]:
        try:
            reason = misfit(config, hub.read_json(hub.listing(name), "config.json"))
        except UserError as error:
            reason = str(error)
        if not reason:
            return Pair(target, name)
        refused = refused or f" {name} does not fit: {reason}"
    raise NoDrafter(f"No drafter for {target} was found in the catalogue, on this disk or on the hub.{refused}")


def find_drafter_here(on_disk: list[OnDisk], target: Path) -> Path:
    """The folder of the first drafter on this disk that fits a target's folder.

    Raises:
        NoDrafter: there is none.
        NotForDFlash: there can be none.
        UserError: the target's folder cannot be read.
    """
    config = read_config(target, "target")
    if reason := why_not_dflash(config):
        raise NotForDFlash(reason)
    for one in on_disk:
        if one.is_drafter and not one.complaint:
            with suppress(UserError):
                if not misfit(config, one.config):
                    return one.folder
    raise NoDrafter(f"No drafter for {target} was found on this disk.")


def what_fits(known: Catalogue, pair: Pair) -> str:
    """What the catalogue has instead, for a pair that does not go together; empty when it knows neither half."""
    words = []
    if (entry := known.with_target(pair.target)) and entry.drafter:
        words.append(f"For {pair.target} there is {entry.drafter.value}.")
    for entry in known.entries:
        if pair.drafter and entry.drafter and str(entry.drafter.value).lower() == pair.drafter.lower() and entry.targets:
            words.append(f"{pair.drafter} was made for {entry.name}, such as {entry.targets[0].repo}.")
    return " ".join(words)


def needed_by_others(known: Catalogue, on_disk: list[OnDisk], pair: Pair) -> dict[str, str]:
    """The repos of a pair that another pair on this disk needs too, each with the other half of that pair. A target alone is its
    own affair."""
    here = {one.repo.lower() for one in on_disk if not one.complaint}
    others = [Pair(target.repo, str(entry.drafter.value)) for entry in known.entries if entry.drafter for target in entry.targets]
    others += [one.repos for one in own_pairs() if not one.of_folders and one.drafter]
    mine = {repo.lower(): repo for repo in pair.repos}
    needed: dict[str, str] = {}
    for other in others:
        halves = [repo.lower() for repo in other.repos]
        shared = [repo for repo in halves if repo in mine]
        if len(shared) == 1 < len(mine) and here.issuperset(halves):
            needed.setdefault(mine[shared[0]], next(repo for repo in other.repos if repo.lower() not in mine))
    return needed


def _is_named_for(drafter: str, target: str) -> bool:
    name, base = drafter.split("/")[-1].lower(), base_name(target).lower()
    return name.startswith(base + "-") and "dflash" in name.removeprefix(base)


def pinned(cache: Cache, repo: str) -> str | None:
    """The commit of a repo that main named when it was fetched."""
    try:
        with (cache.folder(repo) / "refs" / "main").open(encoding="ascii") as stream:
            commit = stream.read(100).strip()
    except (OSError, ValueError):
        return None
    return commit if is_commit(commit) else None
