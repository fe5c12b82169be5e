"""The pairs on this disk that can be loaded."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mlx_engine.errors import UserError
from mlx_engine.families import why_not_runnable
from mlx_engine.pairs.catalog import Catalog, load_catalog
from mlx_engine.pairs.library import LocalModel, local_models, pair_name
from mlx_engine.pairs.pair import CustomPair, custom_pairs, demo_pair
from mlx_engine.pairs.target_config import dflash_problem, pair_problem, target_problem


@dataclass(frozen=True)
class InstalledPair:
    """A target on this disk, and a drafter that fits it, if any.

    Attributes:
        name: the name that the pair has once it is loaded.
        aliases: repo of the target, ID in the catalog, or the user's own name.
    """

    name: str
    target: Path
    drafter: Path | None
    aliases: tuple[str, ...] = ()


def installed_pairs() -> tuple[InstalledPair, ...]:
    """Return the demo pair, the user's folders, and all other targets, one per name."""
    catalog, local, custom = load_catalog(), local_models(), custom_pairs()
    found = [InstalledPair(pair_name(demo_pair()[0]), *demo_pair())]
    found += [InstalledPair(pair_name(pair.folders[0]), *pair.folders, (pair.name,)) for pair in custom if pair.is_local]
    for model in local:
        if not (model.is_drafter or model.problem or target_problem(model.config) or why_not_runnable(model.config)):
            entry = catalog.with_target(model.repo)
            aliases = (model.repo, entry.id) if entry else (model.repo,)
            found.append(InstalledPair(pair_name(model.folder), model.folder, _drafter(model, local, catalog, custom), aliases))
    return tuple({pair.name.lower(): pair for pair in reversed(found)}.values())[::-1]


def _drafter(target: LocalModel, local: list[LocalModel], catalog: Catalog, custom: tuple[CustomPair, ...]) -> Path | None:
    """Return the folder of the user's or the catalog's best drafter, or of another match."""
    entry = catalog.with_target(target.repo)
    preferred: list[str | None] = [pair.drafter for pair in custom if pair.target == target.repo]
    preferred += [drafter.repo for drafter in entry.drafters] if entry else []
    fitting = [model for model in local if model.is_drafter and model.problem is None and _fits(target, model)]
    fitting.sort(key=lambda model: preferred.index(model.repo) if model.repo in preferred else len(preferred))
    return fitting[0].folder if fitting else None


def _fits(target: LocalModel, drafter: LocalModel) -> bool:
    with suppress(UserError):
        return not (dflash_problem(target.config) or pair_problem(target.config, drafter.config))
    return False
