"""Search for drafters by name. Whether a drafter fits is decided by its config."""

from collections.abc import Iterator
from pathlib import Path

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.models.configs.target_config import dflash_problem, pair_problem
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.files.mtp_head import head_bytes
from mlx_engine.models.library.catalog import Catalog
from mlx_engine.models.library.library import LocalModel, base_name, fitting_drafters
from mlx_engine.models.library.pair import Pair, custom_pairs

_MOST_CHECKED = 8  # candidates whose configs are read


class NoDrafter(UserError):
    """An error for a target without a known drafter."""


class NotForDFlash(UserError):
    """An error for a target that DFlash doesn't support."""


def find_drafter(hub: Hub, catalog: Catalog, local: list[LocalModel], target: str) -> Pair:
    """Return the pair of a target repo and the first drafter that fits it.

    Raises:
        NoDrafter: no fitting drafter was found.
        NotForDFlash: the target's family doesn't support DFlash.
        UserError: the hub can't be used.
    """
    refused = []
    for name, problem in _checked_drafters(hub, catalog, local, target):
        if problem is None:
            return Pair(target, name)
        refused.append((name, problem))
    if refused:
        template = "{drafter} isn't compatible with {target}: {reason}"
        raise NoDrafter("no_fitting_drafter", template, target=target, drafter=refused[0][0], reason=refused[0][1])
    template = "No drafter for {target} was found in the catalog, on this disk, or on the hub."
    raise NoDrafter("drafter_not_found", template, target=target)


def likely_drafters(hub: Hub, catalog: Catalog, local: list[LocalModel], target: str) -> tuple[str, ...]:
    """Return drafters that fit a target repo, best known first.

    Raises:
        NotForDFlash: the target's family doesn't support DFlash.
        UserError: the hub can't be used.
    """
    return tuple(name for name, problem in _checked_drafters(hub, catalog, local, target) if problem is None)


def _checked_drafters(hub: Hub, catalog: Catalog, local: list[LocalModel], target: str) -> Iterator[tuple[str, EngineText | None]]:
    """Yield drafters in the catalog, on disk, and on the hub, and why they don't fit."""
    config = hub.read_json(hub.listing(target), "config.json")
    _check_for_dflash(config)
    entry = catalog.with_target(target)
    names = [drafter.repo for drafter in entry.drafters] if entry else []
    names += [model.repo for model in local if model.is_drafter and "/" in model.repo and _is_named_for(model.repo, target)]
    names += [found.name for found in hub.search(f"{base_name(target)}-DFlash") if _is_named_for(found.name, target)]
    for name in list(dict.fromkeys(names))[:_MOST_CHECKED]:
        try:
            yield name, pair_problem(config, hub.read_json(hub.listing(name), "config.json"))
        except UserError as error:
            yield name, error.text


def find_local_drafter(local: list[LocalModel], target: Path) -> Path:
    """Return the first local drafter that fits, or raise like `find_drafter`."""
    config = read_config(target)
    _check_for_dflash(config)
    if found := fitting_drafters(config, local):
        return found[0].folder
    if head_bytes(target):
        return target
    raise NoDrafter("no_local_drafter", "No drafter for “{target}” was found on this disk.", target=str(target))


def _check_for_dflash(config: dict) -> None:
    if problem := dflash_problem(config):
        raise NotForDFlash.of(problem)


def alternatives(catalog: Catalog, pair: Pair) -> list[EngineText]:
    """Return the catalog's suggestions for a pair that doesn't fit together."""
    found = []
    if (entry := catalog.with_target(pair.target)) and entry.drafters:
        template = "For {target}, use the drafter {drafter}."
        found.append(EngineText.of("drafter_for_target", template, target=pair.target, drafter=entry.drafters[0].repo))
    for entry in catalog.entries:
        names = [drafter.repo.lower() for drafter in entry.drafters]
        if pair.drafter and pair.drafter.lower() in names and entry.targets:
            template = "{drafter} was made for {name}, such as {target}."
            target = entry.targets[0].repo
            found.append(EngineText.of("target_for_drafter", template, drafter=pair.drafter, name=entry.name, target=target))
    return found


def shared_repos(catalog: Catalog, local: list[LocalModel], pair: Pair) -> dict[str, str]:
    """Return the shared repos of a pair, each with its partner in another local pair."""
    here = {model.repo.lower() for model in local if model.problem is None}
    others = [pair for entry in catalog.entries for pair in entry.pairs]
    others += [one.pair for one in custom_pairs() if not one.is_local and one.drafter]
    own = {repo.lower(): repo for repo in pair.repos}
    needed: dict[str, str] = {}
    for other in others:
        halves = [repo.lower() for repo in other.repos]
        shared = [repo for repo in halves if repo in own]
        if len(shared) == 1 < len(own) and here.issuperset(halves):
            needed.setdefault(own[shared[0]], next(repo for repo in other.repos if repo.lower() not in own))
    return needed


def _is_named_for(drafter: str, target: str) -> bool:
    name, base = drafter.split("/")[-1].lower(), base_name(target).lower()
    return name.startswith(base + "-") and "dflash" in name.removeprefix(base)
