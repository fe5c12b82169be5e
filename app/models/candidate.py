"""The pairs of the picker: their variants, filters, and order."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from app.language import tr
from mlx_engine.errors import EngineText
from mlx_engine.pairs.catalog import BUILT_IN, CatalogEntry
from mlx_engine.pairs.fit import Fit, FitVerdict
from mlx_engine.pairs.pair import CustomPair, Pair
from mlx_engine.pairs.speeds import SpeedRange, speed_key
from mlx_engine.requests import Mode

PairState = Literal["unavailable", "absent", "waiting", "running", "paused", "failed", "ready", "loading", "loaded"]
Filter = Literal["all", "fits", "on disk", "coding", "small"]
Folders = tuple[Path, Path | None]  # of target and drafter

SMALL_BYTES = 12e9
_RANKS: dict[FitVerdict, int] = {"comfortable": 0, "tight": 1, "unknown": 2, "will swap": 3, "no": 4}


def filter_names() -> dict[Filter, str]:
    return {"all": tr("All"), "fits": tr("Fits"), "on disk": tr("On disk"), "coding": tr("Coding"), "small": tr("Small")}


@dataclass(frozen=True)
class Variant:
    """One quantization of a pair. Sizes are bytes."""

    label: str = ""
    pair: Pair | None = None
    folders: Folders | None = None  # if it is on this disk
    size: int = 0  # of the weights; 0 is unknown
    estimated: bool = True  # the size
    to_download: int | None = None  # None until the hub has answered
    fit: Fit | None = None
    speeds: dict[Mode, SpeedRange] = field(default_factory=dict)
    slow: bool = False  # probably slower than reading speed
    problem: EngineText | None = None  # why it can't be downloaded or used
    family: str = ""
    license: str = ""
    context: int | None = None
    checked: bool = False  # the hub has answered
    removable: bool = False  # it is in the hub cache

    @property
    def speed_key(self) -> str:
        if self.pair is not None:
            return speed_key(self.pair.target, self.pair.drafter)
        target, drafter = self.folders or ("", None)
        return speed_key(str(target), str(drafter) if drafter else None)


@dataclass(frozen=True)
class Candidate:
    """One row of the list. `index` is the shown variant, `entry` the catalog's."""

    id: str
    name: str
    variants: tuple[Variant, ...]
    index: int = 0
    entry: CatalogEntry | None = None
    note: str = ""
    why_not: EngineText | None = None
    custom: CustomPair | None = None

    @property
    def shown(self) -> Variant:
        return self.variants[self.index]

    @property
    def on_disk(self) -> bool:
        return any(variant.folders for variant in self.variants)

    @property
    def verdict(self) -> FitVerdict:
        return self.shown.fit.verdict if self.shown.fit else "unknown"

    @property
    def confirmed(self) -> bool:
        return self.entry is None or self.entry.confirmed

    @property
    def tags(self) -> list[str]:
        return [tag for tag in self.entry.tags if tag != BUILT_IN] if self.entry else []

    @property
    def family(self) -> str:
        return (self.entry.family if self.entry else None) or self.shown.family

    def with_variant(self, index: int, variant: Variant) -> "Candidate":
        return replace(self, variants=(*self.variants[:index], variant, *self.variants[index + 1 :]))


def matches(candidate: Candidate, filter: Filter, search: str) -> bool:
    """Return whether a candidate passes the filter and matches every search word."""
    repos = [repo for variant in candidate.variants if variant.pair for repo in variant.pair.repos]
    text = " ".join((candidate.name, candidate.id, *candidate.tags, candidate.family, *repos)).casefold()
    if not all(word in text for word in search.casefold().split()):
        return False
    match filter:
        case "fits":
            return not candidate.why_not and candidate.verdict in ("comfortable", "tight")
        case "on disk":
            return candidate.on_disk
        case "coding":
            return "coding" in candidate.tags
        case "small":
            return "small" in candidate.tags or 0 < candidate.shown.size < SMALL_BYTES
        case _:
            return True


def best_first(candidates: list[Candidate]) -> list[Candidate]:
    """Sort by what runs and fits, then what is on disk, then what is fast enough.

    Larger pairs come first, but of slow pairs the smaller ones do.
    """

    def key(one: Candidate) -> tuple[int, ...]:
        shown = one.shown
        return (
            bool(one.why_not),
            _RANKS[one.verdict] > 2,
            not one.on_disk,
            not shown.size,  # unknown sizes last
            shown.slow,
            _RANKS[one.verdict],
            shown.size if shown.slow else -shown.size,
        )

    return sorted(candidates, key=key)
