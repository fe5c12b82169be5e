"""The pairs in the Models window: rows, variants, filters, and order."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from app.session.recommendation import fit_text
from app.storage.wording import size
from app.text.language import tr
from app.text.plain_text import one_line
from mlx_engine.contract.errors import EngineText
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.models.downloads.hub import needs_token
from mlx_engine.models.fit import Fit, FitVerdict
from mlx_engine.models.library.catalog import BUILT_IN, CatalogEntry, DrafterRepo
from mlx_engine.models.library.library import LocalModel
from mlx_engine.models.library.pair import CustomPair, Pair
from mlx_engine.models.library.speeds import SpeedKind, SpeedRange, speed_key
from mlx_engine.remote.saved_endpoints import SavedEndpoint

Filter = Literal["all", "fits", "on disk", "coding", "small", "hub"]
Folders = tuple[Path, Path | None]  # target and drafter

SMALL_BYTES = 12e9
_RANKS: dict[FitVerdict, int] = {"comfortable": 0, "tight": 1, "unknown": 2, "will swap": 3, "no": 4}
MAX_NAME = 200  # characters shown of names in endpoints


@dataclass(frozen=True)
class Variant:
    """One quantization of a target with one of its drafters. Sizes are in bytes."""

    label: str = ""  # of the quantization
    pair: Pair | None = None
    bits: int | None = None  # per weight of the target, as the catalog lists it
    drafter: DrafterRepo | None = None  # as the catalog lists it
    config: DrafterConfig | None = None  # of the drafter, if its files or the hub were read
    folders: Folders | None = None  # if on disk
    size: int = 0  # of the weights; 0 if unknown
    estimated: bool = True  # whether the size is estimated
    to_download: int | None = None  # None until the hub has responded
    fit: Fit | None = None
    speeds: dict[SpeedKind, SpeedRange] = field(default_factory=dict)
    slow: bool = False  # probably slower than reading speed
    needs_gpu: bool = False  # slow because this machine has no GPU
    problem: EngineText | None = None  # why it can't be downloaded or used
    macs: int = 1  # that the estimates are for
    undivided: EngineText | None = None  # why these Macs can't run it together
    chat_problem: EngineText | None = None  # why it can't chat
    family: str = ""
    license: str = ""
    context: int | None = None
    checked: bool = False  # the hub has responded
    auto_order: int | None = None  # at which Auto tries this drafter
    removable: tuple[str, ...] = ()  # the repos in the hub cache
    held: LocalModel | None = None  # the target if it is on disk outside of the hub cache
    sees: bool = False  # whether the target sees images, as far as it is known before loading

    @property
    def kind(self) -> str:
        """The drafter's kind, or an empty string if it is unknown."""
        return self.config.kind if self.config else (self.drafter.kind if self.drafter else None) or ""

    @property
    def place(self) -> str:
        """Where the target is if it isn't in the hub cache, or an empty string."""
        places = {
            "shared cache": tr("In the Hugging Face cache"),
            "LM Studio": tr("In LM Studio"),
            "folder": tr("In your folder"),
        }
        return places.get(self.held.place, "") if self.held is not None else ""

    @property
    def speed_key(self) -> str:
        if self.folders is None and self.pair is not None:
            return speed_key(self.pair.target, self.pair.drafter)
        return speed_key(*(self.folders or ("", None)))


@dataclass(frozen=True)
class Candidate:
    """One row of the list: a pair or an endpoint.

    `auto` tells whether Slipstream chooses among the drafters on disk, if there are several.
    """

    id: str
    name: str
    variants: tuple[Variant, ...]
    index: int = 0
    entry: CatalogEntry | None = None
    note: str = ""
    why_not: EngineText | None = None
    recommended: str = ""  # the target repo to prefer on this machine, if it is one of this row's
    custom: CustomPair | None = None
    endpoint: SavedEndpoint | None = None
    auto: bool = True
    downloads: int | None = None  # if it was found on the hub

    @classmethod
    def of_endpoint(cls, saved: SavedEndpoint) -> "Candidate":
        return cls(f"connection:{saved.name}", one_line(saved.name, MAX_NAME), (Variant(),), endpoint=saved)

    @classmethod
    def of_custom(cls, pair: CustomPair, variant: Variant) -> "Candidate":
        target = Path(pair.target)
        name = pair.name or (target.parent.name if pair.is_local and target.name == "target" else target.name)
        id = f"{'folder' if pair.is_local else 'own'}:{speed_key(pair.target, pair.drafter)}"
        return cls(id, name, (variant,), note=tr("Custom pair."), custom=pair)

    @classmethod
    def of_repo(cls, repo: str, downloads: int) -> "Candidate":
        return cls(f"hub:{repo}", repo.split("/")[-1], (Variant(pair=Pair(repo)),), downloads=downloads)

    @property
    def shown(self) -> Variant:
        return self.variants[self.index]

    @property
    def labels(self) -> list[str]:
        """The quantizations on offer."""
        return list(dict.fromkeys(variant.label for variant in self.variants))

    @property
    def alternatives(self) -> tuple[int, ...]:
        """The indices of all variants with the shown quantization, one per drafter."""
        return tuple(index for index, variant in enumerate(self.variants) if variant.label == self.shown.label)

    @property
    def automatic(self) -> int | None:
        """The variant that Auto loads, or None with fewer than two drafters on disk."""
        orders = {order: index for index in self.alternatives if (order := self.variants[index].auto_order) is not None}
        return orders[min(orders)] if len(orders) > 1 else None

    def settled(self) -> "Candidate":
        """Show the variant that Auto chooses, if Auto is on."""
        return replace(self, index=self.automatic) if self.auto and self.automatic is not None else self

    @property
    def on_disk(self) -> bool:
        return any(variant.folders for variant in self.variants)

    @property
    def verdict(self) -> FitVerdict:
        return self.shown.fit.verdict if self.shown.fit else "unknown"

    @property
    def fits(self) -> bool:
        return not self.why_not and self.verdict in ("comfortable", "tight")

    @property
    def from_hub(self) -> bool:
        """Whether it was found by a search of the hub and isn't a listed pair."""
        return self.downloads is not None

    @property
    def verdict_text(self) -> str:
        if self.why_not is None and self.shown.undivided is not None:
            return tr("Not on {count} Macs", count=self.shown.macs)
        if self.why_not is None:
            return fit_text(self.verdict, self.shown.slow)
        if self.why_not.code == "target_is_drafter":
            return tr("{kind} drafter", kind=dict(self.why_not.values)["kind"])
        return tr("Can't run") if self.from_hub else tr("Not supported yet")

    @property
    def summary(self) -> str:
        """The second line of a row: size and fit, or the server and its model."""
        if self.endpoint is not None:
            found = self.endpoint.endpoint
            return " · ".join(one_line(text, MAX_NAME) for text in (found.host, found.model) if text)
        if self.from_hub and self.shown.pair is not None:
            owner = self.shown.pair.target.split("/")[0]
            if self.why_not or not self.shown.size:
                return f"{owner} · {self.verdict_text if self.why_not else self._not_checked}"
            return f"{owner} · {size(self.shown.size)} · {self.verdict_text}"
        if self.why_not:
            return self.verdict_text
        weights = size(self.shown.size) if self.shown.size else tr("Unknown size")
        if self.shown.size and self.shown.estimated:
            weights = tr("About {size}", size=weights)
        return " · ".join(filter(None, (weights, self.verdict_text, self.shown.place)))

    @property
    def is_unchecked(self) -> bool:
        """Whether what it needs isn't known yet."""
        return self.from_hub and not (self.shown.checked or self.shown.problem or self.why_not)

    @property
    def _not_checked(self) -> str:
        if (problem := self.shown.problem) is None:
            return tr("Checking…")
        return tr("Access needed") if needs_token(problem) else tr("Not checked")

    @property
    def sees(self) -> str:
        """That the pair sees images, or an empty string."""
        return tr("Sees images") if self.shown.sees else ""

    @property
    def confirmed(self) -> bool:
        return not self.from_hub and (self.entry is None or self.entry.confirmed)

    @property
    def tags(self) -> list[str]:
        return [tag for tag in self.entry.tags if tag != BUILT_IN] if self.entry else []

    @property
    def family(self) -> str:
        return (self.entry.family if self.entry else None) or self.shown.family

    def with_variant(self, index: int, variant: Variant) -> "Candidate":
        return replace(self, variants=(*self.variants[:index], variant, *self.variants[index + 1 :]))

    def keeping(self, old: "Candidate") -> "Candidate":
        """Keep the shown variant of `old`, and the hub's data for variants not on disk."""
        known = {variant.pair: variant for variant in old.variants}
        variants = list(self.variants)
        for index, variant in enumerate(variants):
            before = known.get(variant.pair)
            if before is not None and before.folders is None and variant.folders is None and before.held == variant.held:
                variants[index] = before if before.checked else replace(variant, problem=before.problem)
        names = [variant.pair or variant.folders for variant in (*variants, old.shown)]
        shown = names.index(names[-1]) % len(variants)
        return replace(self, variants=tuple(variants), index=shown, auto=old.auto).settled()


def matching(candidates: Sequence[Candidate], filter: Filter, search: str) -> list[Candidate]:
    """Return the candidates that pass the filter and contain every search word.

    Exact names come first, then names that contain the words as whole words.
    """
    words = search.casefold().split()

    def found(one: Candidate) -> bool:
        summary = one.summary if one.endpoint else one.sees
        text = " ".join((one.name, one.id, *_unseen(one), summary)).casefold()
        passes = {
            "all": True,
            "fits": one.fits and not one.shown.slow,
            "on disk": one.on_disk,
            "coding": "coding" in one.tags,
            "small": "small" in one.tags or 0 < one.shown.size < SMALL_BYTES,
        }
        return passes[filter] and all(word in text for word in words)

    def rank(one: Candidate) -> tuple[int, bool]:
        named = set(one.name.casefold().split())
        return len(set(words) - named), named != set(words)

    shown = [one for one in candidates if found(one)]
    return sorted(shown, key=rank) if words else shown


def match_reason(one: Candidate, search: str) -> str:
    """Return what matches a search in a row but isn't shown there."""
    seen, texts = f"{one.name} {one.summary}".casefold(), _unseen(one)
    parts = [*(part for text in texts for part in text.split("/")), *texts]
    words = [word for word in search.casefold().split() if word not in seen]
    found = (next((text for text in parts if word in text.casefold()), "") for word in words)
    return " · ".join(dict.fromkeys(filter(None, found)))


def _unseen(one: Candidate) -> list[str]:
    """Return what a search finds, and rows don't show."""
    repos = [repo for variant in one.variants if variant.pair for repo in variant.pair.repos]
    return [*repos, *one.tags, one.family]


def best_first(candidates: list[Candidate], recommended: str = "") -> list[Candidate]:
    """Sort the recommended pair first, and pairs that don't run or fit last.

    Other pairs are sorted by speed, whether they are on disk, and size: large ones first, or small ones first if slow.
    """

    def key(one: Candidate) -> tuple[int, ...]:
        shown = one.shown
        return (
            bool(one.why_not or shown.undivided),
            _RANKS[one.verdict] > 2,
            one.id != recommended,
            not shown.size,  # unknown sizes come last
            shown.slow,
            not one.on_disk,
            _RANKS[one.verdict],
            shown.size if shown.slow else -shown.size,
        )

    return sorted(candidates, key=key)
