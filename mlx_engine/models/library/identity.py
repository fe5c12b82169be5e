"""Whether a model on disk is the one that the catalog lists under its name.

A folder of the hub's cache holds the repo that it names. Elsewhere, anyone can name a folder, so config.json has to agree with the
catalog.
"""

from collections.abc import Sequence

from mlx_engine.contract.errors import EngineText
from mlx_engine.models.files.loadable import has_tokenizer
from mlx_engine.models.library.catalog import Catalog, CatalogEntry
from mlx_engine.models.library.library import LocalModel, base_name

_UNQUANTIZED = 16  # bits per weight, as the catalog lists them


def catalog_difference(catalog: Catalog, model: LocalModel) -> EngineText | None:
    """Return how a model differs from the catalog's target of its name, or None."""
    entry = catalog.with_target(model.repo)
    if entry is None or model.place in ("hub cache", "shared cache") or model.is_drafter:
        return None
    family, listed = model.config.get("model_type"), next(one for one in entry.targets if one.repo.lower() == model.repo.lower())
    if entry.family and family != entry.family:
        template = "Despite its name, it isn't {repo}: its family is “{family}”."
        return EngineText.of("folder_of_other_family", template, repo=listed.repo, family=str(family)[:80])
    declared = _bits(model.config)
    if listed.bits and declared and listed.bits not in declared:
        template = "Despite its name, it isn't {repo}: its weights have {bits} bits."
        return EngineText.of("folder_of_other_bits", template, repo=listed.repo, bits=declared[0])
    return None


def held_target(catalog: Catalog, models: Sequence[LocalModel], repo: str) -> LocalModel | None:
    """Return a repo's target that only another app or an added folder holds, or None."""
    found = [
        model
        for model in models
        if model.repo.lower() == repo.lower() and not (model.problem or catalog_difference(catalog, model))
    ]
    if any(model.place == "hub cache" for model in found):
        return None
    return next((model for model in found if not model.is_drafter and has_tokenizer(model.folder)), None)


def related_entry(catalog: Catalog, model: LocalModel) -> CatalogEntry | None:
    """Return the catalog's entry of another copy of a target, or None."""
    name, family = base_name(model.repo).lower(), model.config.get("model_type")
    for entry in catalog.entries:
        if entry.family == family and any(base_name(target.repo).lower() == name for target in entry.targets):
            return entry
    return None


def _bits(config: dict) -> list[int]:
    """Return the bits per weight that a config declares, or [] if unknown.

    MXFP4 copies name the bits of their other layers only with these.
    """
    settings = config.get("quantization")
    if not isinstance(settings, dict):
        return [] if config.get("quantization_config") else [_UNQUANTIZED]
    layers = [settings]
    if settings.get("mode", "affine") != "affine":
        layers += [layer for layer in settings.values() if isinstance(layer, dict)]
    return [bits for layer in layers if type(bits := layer.get("bits")) is int]
