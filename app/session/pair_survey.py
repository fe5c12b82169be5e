"""The survey of all pairs, with estimates of memory and speed.

Surveys read files, so they run in the background.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from app.session.model_list import Candidate, Folders, Variant, best_first
from app.session.recommendation import MIN_SPEED, estimate_size, needs_gpu, recommend, too_slow, weights_fit
from app.text.language import sentences, tr, translated
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.drafters.registry import MTP, parse
from mlx_engine.hardware import machine
from mlx_engine.models.configs.shardable import sharding_problem
from mlx_engine.models.configs.target_config import target_problem, text_config, whole
from mlx_engine.models.downloads.download import inspect_pair
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.files.chat_template import folder_template_problem
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.files.loadable import has_tokenizer
from mlx_engine.models.files.mtp_head import pair_bytes
from mlx_engine.models.fit import CONTEXT, predict_fit
from mlx_engine.models.library.catalog import BUILT_IN, Catalog, CatalogEntry, DrafterRepo, load_catalog
from mlx_engine.models.library.identity import catalog_difference, related_entry
from mlx_engine.models.library.installed import drafters_among
from mlx_engine.models.library.library import LocalModel, fitting_drafters, local_models, model_name, repo_of
from mlx_engine.models.library.link_times import link_seconds
from mlx_engine.models.library.measured_costs import measured_costs
from mlx_engine.models.library.pair import CustomPair, Pair, custom_pairs, demo_pair
from mlx_engine.models.library.pass_times import RingLink
from mlx_engine.models.library.speeds import (
    MeasuredSpeeds,
    SpeedKind,
    SpeedRange,
    measured_speeds,
    predict_speeds,
    with_measured,
)
from mlx_engine.models.ring_fit import divided

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Survey:
    """All pairs, best for this machine first, and problems in the catalog."""

    candidates: tuple[Candidate, ...]
    problems: tuple[EngineText, ...]
    facts: MachineFacts | None


def survey(macs: int = 1) -> Survey:
    """List the catalog, custom pairs, and models on disk without asking the hub.

    Args:
        macs: number of Macs that will run the pair together.
    """
    catalog, models, estimator, pairs = load_catalog(), local_models(), Estimator(macs), custom_pairs()
    named = [model for model in models if catalog_difference(catalog, model) is None]
    custom = [_custom(pair, named, estimator) for pair in pairs]
    listed = {variant.folders for one in custom for variant in one.variants}
    others = [one for one in _others(catalog, models, estimator) if one.shown.folders not in listed]
    entries = [_entry(entry, named, estimator) for entry in catalog.entries]
    found = recommend(catalog, facts=estimator.facts)
    if found:
        entries = [_recommended(one, found.target.repo) if one.id == found.entry.id else one for one in entries]
    rows = [*(_with_drafters(one, models, estimator, catalog, pairs) for one in (*entries, *others)), *custom]
    candidates = best_first([one.settled() for one in rows], found.entry.id if found else "")
    return Survey(tuple(candidates), catalog.problems, estimator.facts)


def listed_name(folders: Folders) -> str:
    """Return the listed name of the pair in these folders, or an empty string."""
    repos = tuple(repo_of(folder) if folder else None for folder in folders)
    for pair in custom_pairs():
        if pair.name and (pair.folders == folders if pair.is_local else (pair.target, pair.drafter) == repos):
            return pair.name
    for entry in load_catalog().entries:
        if (folders == demo_pair() and BUILT_IN in entry.tags) or repos in [pair.repos for pair in entry.pairs]:
            return entry.name
    return ""


class Estimator:
    """An estimator of memory and speed on this machine for the default context.

    Args:
        macs: number of equal Macs that will run the pair together.
    """

    def __init__(self, macs: int = 1) -> None:
        self._macs, self._link = macs, link_seconds(macs) if macs > 1 else None
        self.facts = machine.load_facts()
        self.measured = MeasuredSpeeds()
        self._costs = measured_costs()
        self._free = machine.free_memory()

    def from_files(self, variant: Variant, configs: Sequence[dict], sizes: tuple[int, int]) -> Variant:
        """Estimate from config.json files and weight sizes.

        Errors are returned in `problem`, so that one damaged folder doesn't hide other pairs.
        """
        target, drafter = configs[0], configs[1] if len(configs) > 1 else None
        variant = replace(variant, size=sum(sizes), estimated=False, family=str(target.get("model_type") or ""))
        variant = self._divided(variant, target)
        try:
            limit = whole(text_config(target), "max_position_embeddings")
            context = min(CONTEXT, limit or CONTEXT)
            fit = predict_fit(target, drafter, *sizes, context, self.facts, free=self._free, sees=variant.sees)
            if self._macs > 1:
                fit, _ = divided(fit, target, sizes[0], self._macs)
            parsed = parse(drafter) if drafter else None
            variant = replace(variant, config=parsed)
            speeds: dict[SpeedKind, SpeedRange] = {}
            if self.facts is not None and not machine.without_gpu(self.facts):  # CPUs are far from their memory's speed
                accepted = self.measured.acceptance(variant.speed_key)
                costs = self._costs.get((_names(variant), sizes))
                if self._macs == 1:
                    speeds = predict_speeds(self.facts, target, parsed, sizes, context, accepted, costs)
                elif self._link is not None:
                    link = RingLink(self._macs, self._link)
                    speeds = predict_speeds(self.facts, target, parsed, sizes, context, accepted, link=link)
            if self._macs == 1:
                speeds = with_measured(speeds, self.measured.rates(variant.speed_key))
            if variant.undivided is None:
                variant = replace(self._rated(variant, speeds, variant.slow), fit=fit)
            return replace(variant, context=limit or variant.context)
        except UserError as error:
            return replace(variant, problem=error.text)
        except Exception:
            log.exception("Can't estimate %s", variant.folders or variant.pair)
            text = tr("Can't estimate memory use: config.json has an unknown format.")
            return replace(variant, problem=EngineText("window", text))

    def from_folders(self, folders: Folders, variant: Variant) -> Variant:
        """Estimate from two folders.

        Raises:
            UserError: a folder can't be read.
        """
        configs = [read_config(folder) for folder in folders if folder]
        chat_problem = folder_template_problem(folders[0], configs[0])
        variant = replace(variant, folders=folders, chat_problem=chat_problem, sees=_sees(folders[0], configs[0]))
        return self.from_files(variant, configs, pair_bytes(*folders))

    def from_size(self, variant: Variant, name: str, total: int) -> Variant:
        """Estimate from the total bytes (0 if unknown) before the hub has responded."""
        variant = self._divided(replace(variant, size=total), {"model_type": variant.family} if variant.family else None)
        speeds = measured_speeds(self.measured.rates(variant.speed_key)) if self._macs == 1 else {}
        if not total:
            return replace(variant, speeds=speeds)
        if variant.undivided is not None:
            return variant
        part = total // self._macs
        fit = weights_fit(part, machine.working_set(self.facts), self.facts, self._free)
        return self._rated(replace(variant, fit=fit), speeds, too_slow(name, part, self.facts))

    def _divided(self, variant: Variant, target: dict | None) -> Variant:
        """Add what follows from several Macs. They can't see images together.

        Args:
            target: what is known of config.json, if anything.
        """
        if self._macs == 1:
            return replace(variant, macs=1, undivided=None)
        variant = replace(variant, macs=self._macs, undivided=None, sees=False)
        problem = sharding_problem(target, self._macs) if target is not None else None
        return variant if problem is None else replace(variant, undivided=problem, fit=None, speeds={})

    def _rated(self, variant: Variant, speeds: dict[SpeedKind, SpeedRange], slow: bool) -> Variant:
        """Add known speeds, or mark a pair that needs a GPU or is too slow."""
        if speeds:
            return replace(variant, speeds=speeds, slow=max(speed.high for speed in speeds.values()) < MIN_SPEED, needs_gpu=False)
        without = needs_gpu(variant.size, self.facts)
        return replace(variant, speeds={}, slow=slow or without, needs_gpu=without)

    def from_models(self, variant: Variant, target: LocalModel, drafter: LocalModel | None) -> Variant:
        models = [target, drafter] if drafter else [target]
        repos = zip((variant.pair.target, variant.pair.drafter or ""), models, strict=False) if variant.pair else ()
        removable = tuple(dict.fromkeys(repo for repo, model in repos if model.place == "hub cache"))
        variant = replace(
            self._of_target(variant, target), folders=(target.folder, drafter.folder if drafter else None), removable=removable
        )
        sizes = target.bytes - target.head, (drafter.head or drafter.bytes) if drafter else 0
        return self.from_files(variant, [model.config for model in models], sizes)

    def from_pair(self, variant: Variant, name: str, total: int, models: Sequence[LocalModel]) -> Variant:
        """Estimate from the files if both repos are on disk, otherwise from the size.

        A target on disk outside of the hub cache isn't downloaded.
        """
        assert variant.pair is not None
        usable = {model.repo.lower(): model for model in sorted(models, key=_in_hub_cache) if not model.problem}
        target, drafter = [usable.get((repo or "").lower()) for repo in (variant.pair.target, variant.pair.drafter)]
        if target is not None and (drafter is not None or not variant.pair.drafter):
            return self.from_models(variant, target, drafter)
        if target is not None and not _in_hub_cache(target) and has_tokenizer(target.folder):
            total = target.bytes + _drafter_bytes(variant)
            variant = self._of_target(variant, target)
        return self.from_size(variant, name, total)

    def _of_target(self, variant: Variant, target: LocalModel) -> Variant:
        """Add what is known about a target on disk."""
        chat_problem, can_see = folder_template_problem(target.folder, target.config), _sees(target.folder, target.config)
        held = None if _in_hub_cache(target) else target
        return replace(variant, chat_problem=chat_problem, sees=can_see, held=held)


def _in_hub_cache(model: LocalModel) -> bool:
    return model.place == "hub cache"


def _drafter_bytes(variant: Variant) -> int:
    """Return the published size of a drafter, or 0 if it is unknown."""
    return round((variant.drafter.size_gb if variant.drafter and variant.drafter.size_gb else 0) * 1e9)


def _sees(folder: Path, config: dict) -> bool:
    from mlx_engine.vision.vision_checkpoint import sees  # imports NumPy, which the window doesn't wait for

    return sees(folder, config)


def _family_sees(family: object) -> bool:
    from mlx_engine.vision.vision_checkpoint import SEEING

    return family in SEEING


def _names(variant: Variant) -> tuple[str, str]:
    """Return the names of a pair's models once it is loaded."""
    if variant.folders is not None:
        target, drafter = variant.folders
        return model_name(target), model_name(drafter) if drafter else ""
    return (variant.pair.target, variant.pair.drafter or "") if variant.pair else ("", "")


def check_hub(variant: Variant, macs: int = 1) -> Variant:
    """Get a pair's exact size and license from the hub, and check the disk space.

    Args:
        macs: number of Macs that will run the pair together.

    Raises:
        UserError: the hub can't be reached, doesn't know the pair, or denies access.
    """
    assert variant.pair is not None
    cache = HubCache()
    found = inspect_pair(Hub(), cache, variant.pair, held=variant.held.folder if variant.held else None)
    to_download, license = found.size - found.on_disk, (found.listings[0].license if variant.held is None else None) or ""
    variant = replace(variant, checked=True, to_download=to_download, license=license, problem=None)
    can_see = _family_sees(found.configs[0].get("model_type")) and found.configs[0].get("vision_config") is not None
    variant = replace(variant, chat_problem=found.chat_problem, sees=can_see)
    variant = Estimator(macs).from_files(variant, found.configs, found.weight_sizes)
    return replace(variant, problem=variant.problem or found.problem or found.space_problem(cache))


def _custom(pair: CustomPair, models: list[LocalModel], estimator: Estimator) -> Candidate:
    """Return a custom pair. If its folders can't be read, `why_not` says why."""
    try:
        if pair.is_local:
            return Candidate.of_custom(pair, estimator.from_folders(pair.folders, Variant()))
        return Candidate.of_custom(pair, estimator.from_pair(Variant(pair=pair.pair), "", 0, models))
    except UserError as error:
        return replace(Candidate.of_custom(pair, Variant()), why_not=error.text)


def _entry(entry: CatalogEntry, models: list[LocalModel], estimator: Estimator) -> Candidate:
    variants = []
    if BUILT_IN in entry.tags:
        variants = [Variant(folders=demo_pair())]
        with suppress(UserError):
            variants = [estimator.from_folders(demo_pair(), Variant())]
    for target in entry.targets:
        label = tr("{bits}-bit", bits=target.bits) if target.bits else target.repo.split("/")[-1]
        for drafter in (*entry.drafters, *_own_heads(target.repo, models)):
            pair, can_see = Pair(target.repo, drafter.repo), _family_sees(entry.family)  # MLX copies usually keep the tower
            variant = Variant(label, pair, target.bits, drafter, context=entry.context, sees=can_see, family=entry.family or "")
            variants.append(estimator.from_pair(variant, entry.name, estimate_size(entry, target, drafter)[0], models))
        if not entry.drafters:
            variants.append(Variant(label, bits=target.bits, context=entry.context, sees=_family_sees(entry.family)))
    variants.sort(key=lambda variant: variant.folders is None)  # downloaded ones first
    name, note = entry.name, entry.note
    if BUILT_IN in entry.tags:
        name = tr("Demo pair")
        note = tr("A tiny built-in demo for simple arithmetic, lists, and code.")
    return Candidate(entry.id, name, tuple(variants) or (Variant(),), entry=entry, note=note, why_not=entry.why_not)


def _own_heads(target: str, models: list[LocalModel]) -> list[DrafterRepo]:
    """Return the MTP head inside a target on disk as a drafter."""
    found = next((model for model in models if model.repo.lower() == target.lower() and model.head and not model.problem), None)
    return [DrafterRepo(target, MTP.name, size_gb=found.head / 1e9)] if found else []


def _recommended(one: Candidate, target: str) -> Candidate:
    """Recommend a row, and the best quantization unless another is on disk."""
    index = next(index for index, variant in enumerate(one.variants) if variant.pair and variant.pair.target == target)
    return replace(one, recommended=target, index=0 if one.on_disk else index)


def _with_drafters(
    one: Candidate, models: list[LocalModel], estimator: Estimator, catalog: Catalog, custom: tuple[CustomPair, ...]
) -> Candidate:
    """Add the drafters on disk that a row lacks, and number Auto's choices."""
    variants, local = list(one.variants), {model.folder.resolve(): model for model in models}
    for shown in {variant.folders[0]: variant for variant in reversed(variants) if variant.folders}.values():
        assert shown.folders is not None
        target = local.get(shown.folders[0].resolve())
        if target is None:  # the demo pair
            continue
        listed = [(at, variant.folders) for at, variant in enumerate(variants)]
        places = {folders[1].resolve(): at for at, folders in listed if folders and folders[1] and folders[0] == shown.folders[0]}
        drafters = drafters_among(models, target.folder, target.config, catalog, custom)
        for order, drafter in enumerate(estimator.measured.ranked(target.folder, drafters)):
            if (at := places.get(drafter.resolve())) is not None:
                variants[at] = replace(variants[at], folders=(shown.folders[0], drafter), auto_order=order)
                continue
            same = Variant(shown.label, bits=shown.bits, context=shown.context, auto_order=order)
            found = local.get(drafter.resolve())
            with suppress(UserError):
                variants.append(
                    _of_models(same, target, found, estimator) if found else estimator.from_folders((target.folder, drafter), same)
                )
    return replace(one, variants=tuple(variants))


def _of_models(
    variant: Variant, target: LocalModel, drafter: LocalModel | None, estimator: Estimator, named: bool = True
) -> Variant:
    """Estimate a pair on disk, and list its repos in the hub cache as deletable.

    Args:
        named: whether the target is the repo that its name says.
    """
    if named and (_in_hub_cache(target) or (drafter is not None and _in_hub_cache(drafter))):
        with suppress(UserError):
            variant = replace(variant, pair=Pair(target.repo, drafter.repo if drafter else None))
    return estimator.from_models(variant, target, drafter)


def _others(catalog: Catalog, models: list[LocalModel], estimator: Estimator) -> list[Candidate]:
    """Return targets on disk outside the catalog, with drafters for them."""
    listed = {target.repo.lower() for entry in catalog.entries for target in entry.targets}
    places = {
        "hub cache": tr("In the hub cache."),
        "shared cache": tr("In the Hugging Face cache."),
        "LM Studio": tr("In LM Studio's models folder."),
        "folder": tr("In one of your model folders."),
    }
    found = []
    for target in models:
        differs = catalog_difference(catalog, target)
        if target.is_drafter or target.problem or target_problem(target.config) or (target.repo.lower() in listed and not differs):
            continue
        fitting: list[LocalModel | None] = [*fitting_drafters(target.config, models), *([target] if target.head else [])]
        variants = [_of_models(Variant(), target, drafter, estimator, named=not differs) for drafter in fitting]
        # a repo's name means the catalog's target
        offered = [] if differs else _offered(catalog, target, [drafter.repo for drafter in fitting if drafter], estimator)
        notes = [places.get(target.place, ""), translated(differs) if differs else ""]
        if not fitting and offered:
            notes.append(tr("A drafter can be downloaded for it."))
        elif not fitting:
            notes.append(tr("No drafter found for this model, so it uses plain decoding."))
        if not fitting:
            offered.append(_of_models(Variant(), target, None, estimator))
        id, name = f"disk:{target.folder}", target.repo.split("/")[-1]
        found.append(Candidate(id, name, tuple(variants + offered), note=sentences(*notes)))
    return found


def _offered(catalog: Catalog, target: LocalModel, known: Sequence[str], estimator: Estimator) -> list[Variant]:
    """Return pairs with further drafters that the catalog has for a target."""
    variants = []
    entry = related_entry(catalog, target)
    for drafter in entry.drafters if entry and not entry.why_not else ():
        if drafter.repo not in known:
            with suppress(UserError):  # the folder has no owner
                variant = Variant(pair=Pair(target.repo, drafter.repo), drafter=drafter, context=entry.context if entry else None)
                variants.append(estimator.from_pair(variant, target.repo, target.bytes + _drafter_bytes(variant), [target]))
    return variants
