"""The pairs on this disk that can be loaded."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mlx_engine.models.configs.families import why_not_runnable
from mlx_engine.models.configs.target_config import target_problem
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.files.mtp_head import head_bytes
from mlx_engine.models.library.catalog import Catalog, load_catalog
from mlx_engine.models.library.identity import catalog_difference
from mlx_engine.models.library.library import LocalModel, fitting_drafters, local_models, pair_name, repo_of
from mlx_engine.models.library.pair import CustomPair, custom_pairs, demo_pair
from mlx_engine.models.library.speeds import MeasuredSpeeds


@dataclass(frozen=True)
class InstalledPair:
    """A target on this disk, and a drafter that fits it, if any.

    Attributes:
        name: the name that the pair has once it is loaded.
        aliases: repo of the target, ID in the catalog, or the user's own name.
        auto: whether the drafter was chosen by its speed, so that another one can take its place.
    """

    name: str
    target: Path
    drafter: Path | None
    aliases: tuple[str, ...] = ()
    auto: bool = False


def installed_pairs() -> tuple[InstalledPair, ...]:
    """Return the demo pair, the user's folders, and all other targets, one per name."""
    catalog, local, custom, speeds = load_catalog(), local_models(), custom_pairs(), MeasuredSpeeds()
    found = [InstalledPair(pair_name(demo_pair()[0]), *demo_pair())]
    found += [InstalledPair(pair_name(pair.folders[0]), *pair.folders, (pair.name,)) for pair in custom if pair.is_local]
    for model in local:
        if not (model.is_drafter or model.problem or target_problem(model.config) or why_not_runnable(model.config)):
            entry = catalog.with_target(model.repo)
            aliases = () if catalog_difference(catalog, model) else (model.repo, entry.id) if entry else (model.repo,)
            drafters = speeds.ranked(model.folder, drafters_among(local, model.folder, model.config, catalog, custom))
            drafter = drafters[0] if drafters else None
            found.append(InstalledPair(pair_name(model.folder), model.folder, drafter, aliases, bool(drafters)))
    return tuple({pair.name.lower(): pair for pair in reversed(found)}.values())[::-1]


def installed_drafters(target: Path, *others: Path | None) -> tuple[Path, ...]:
    """Return the folders of all drafters on this disk that fit a target.

    Args:
        target: folder of the target.
        others: drafters that fit, such as the loaded one, which may be in no searched folder.

    Raises:
        UserError: the target's config.json can't be read.
    """
    found = drafters_among(local_models(), target, read_config(target), load_catalog(), custom_pairs())
    return _distinct((*found, *others))


def auto_drafters(target: Path, *others: Path | None) -> tuple[Path, ...]:
    """Return the installed drafters in the order in which Auto tries them."""
    return MeasuredSpeeds().ranked(target, installed_drafters(target, *others))


def drafters_among(
    local: list[LocalModel], target: Path, config: dict, catalog: Catalog, custom: tuple[CustomPair, ...]
) -> tuple[Path, ...]:
    """Return local drafters that fit a target, its own MTP head last.

    Args:
        config: the target's config.json.
    """
    repo, folder = repo_of(target), target.resolve()
    own = [pair.folders[1] for pair in custom if pair.is_local and pair.folders[0].resolve() == folder]
    entry = catalog.with_target(repo)
    preferred: list[str | None] = [pair.drafter for pair in custom if pair.target == repo]
    preferred += [drafter.repo for drafter in entry.drafters] if entry else []
    fitting = fitting_drafters(config, local)
    fitting.sort(key=lambda model: preferred.index(model.repo) if model.repo in preferred else len(preferred))
    head = next((model.head for model in local if model.folder.resolve() == folder), None)
    has_head = head_bytes(target) if head is None else head
    return _distinct((*own, *(model.folder for model in fitting), target if has_head else None))


def _distinct(folders: Iterable[Path | None]) -> tuple[Path, ...]:
    distinct: dict[Path, Path] = {}
    for folder in folders:
        if folder is not None and folder.is_dir():
            distinct.setdefault(folder.resolve(), folder)
    return tuple(distinct.values())
