"""One pair as the picker shows it, and the order in which pairs are shown."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from app.language import tr
from mlx_engine.errors import EngineText
from mlx_engine.pairs.catalog import BUILT_IN, CatalogEntry, ReportedSpeedup
from mlx_engine.pairs.custom_pairs import CustomPair
from mlx_engine.pairs.fit import Fit, FitVerdict
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.speeds import SpeedRange
from mlx_engine.requests import Mode

State = Literal["unavailable", "absent", "waiting", "running", "paused", "failed", "ready", "loading", "loaded"]
Filter = Literal["all", "fits", "on disk", "coding", "small"]


def filter_names() -> dict[Filter, str]:
    """What the filters are called, in order."""
    return {
        "all": tr("All"),
        "fits": tr("Fits"),
        "on disk": tr("On disk"),
        "coding": tr("Coding"),
        "small": tr("Small"),
    }


SMALL_BYTES = 12e9


def _notes() -> dict[str, str]:
    return {
        "Comes with Slipstream and needs no download. A toy: a little arithmetic, lists and code.": tr(
            "Comes with Slipstream and needs no download. A toy: a little arithmetic, lists and code."
        ),
        "The drafter was trained on replies without thinking.": tr("The drafter was trained on replies without thinking."),
    }  # of our catalogue; those of a user's own stay as they are


_ORDER: dict[FitVerdict, int] = {"comfortable": 0, "tight": 1, "unknown": 2, "will swap": 3, "no": 4}


@dataclass(frozen=True)
class Choice:
    """One quantisation of a pair. `folders` where it is on this disk; sizes in bytes, of the weights, 0 where unknown."""

    label: str
    pair: Pair | None
    folders: tuple[Path, Path | None] | None = None
    size: int = 0
    estimated: bool = True
    missing: int | None = None  # bytes that are to be fetched; None where the hub was not asked
    fit: Fit | None = None
    speeds: dict[Mode, SpeedRange] = field(default_factory=dict)
    trouble: EngineText | None = None  # why it can't be downloaded or used
    license: str = ""
    context: int | None = None
    asked: bool = False  # the hub has answered
    removable: bool = False  # it lies in the hub's cache, so that it may be deleted
    slow: bool = False  # it writes slower than one reads, as far as is known


@dataclass(frozen=True)
class Candidate:
    """One row of the list. `choice` is the index of the quantisation that is shown."""

    id: str
    name: str
    choices: tuple[Choice, ...]
    choice: int = 0
    tags: tuple[str, ...] = ()
    note: str = ""
    why_not: EngineText | None = None
    confirmed: bool = True
    family: str = ""
    generation: int | None = None
    block: int | None = None
    license: str = ""
    drafter_license: str = ""
    gated: bool = False
    reported: tuple[ReportedSpeedup, ...] = ()
    state: State = "absent"
    own: CustomPair | None = None  # the user put it together

    @property
    def shown(self) -> Choice:
        return self.choices[self.choice]

    @property
    def here(self) -> bool:
        return any(one.folders for one in self.choices)

    @property
    def verdict(self) -> FitVerdict:
        return self.shown.fit.verdict if self.shown.fit else "unknown"

    @property
    def text(self) -> str:
        """What a search looks through."""
        repos = [repo for one in self.choices if one.pair for repo in one.pair.repos]
        return " ".join((self.name, self.id, *self.tags, self.family, *repos)).casefold()

    def with_choice(self, number: int, choice: Choice) -> "Candidate":
        """With one quantisation replaced."""
        return replace(self, choices=(*self.choices[:number], choice, *self.choices[number + 1 :]))


def of_entry(entry: CatalogEntry, choices: tuple[Choice, ...]) -> Candidate:
    """A pair of the catalogue."""
    return Candidate(
        id=entry.id,
        name=entry.name,
        choices=choices,
        tags=tuple(tag for tag in entry.tags if tag != BUILT_IN),
        note=_notes().get(entry.note, entry.note),
        why_not=entry.why_not,
        confirmed=entry.confirmed,
        family=str(entry.family.value) if entry.family else "",
        generation=int(entry.generation.value) if entry.generation else None,
        block=int(entry.block_size.value) if entry.block_size else None,
        license=str(entry.license.value) if entry.license else "",
        drafter_license=str(entry.drafter_license.value) if entry.drafter_license else "",
        gated=bool(entry.gated and entry.gated.value),
        reported=entry.reported,
    )


def passes(candidate: Candidate, which: Filter, words: str) -> bool:
    """Whether a filter and the words of a search let it through."""
    if not all(word in candidate.text for word in words.casefold().split()):
        return False
    match which:
        case "fits":
            return not candidate.why_not and candidate.verdict in ("comfortable", "tight")
        case "on disk":
            return candidate.here
        case "coding":
            return "coding" in candidate.tags
        case "small":
            return "small" in candidate.tags or 0 < candidate.shown.size < SMALL_BYTES
        case _:
            return True


def order(candidates: list[Candidate]) -> list[Candidate]:
    """What suits this machine first: what can be run and fits, of that what is here, of that what is fast enough to be read as it
    is written, of that the largest; of what is too slow, the smallest."""

    def key(one: Candidate) -> tuple[int, ...]:
        slow = one.shown.slow
        return (
            bool(one.why_not),
            _ORDER[one.verdict] > 2,
            not one.here,
            not one.shown.size,  # nothing can be said for what nothing is known of
            slow,
            _ORDER[one.verdict],
            one.shown.size if slow else -one.shown.size,
        )

    return sorted(candidates, key=key)


def why_this_one(candidate: Candidate) -> str:
    """What speaks for it, from what is known."""
    shown, words = candidate.shown, []
    if candidate.verdict == "comfortable":
        words.append(tr("Leaves room for long chats and your other programs."))
    elif candidate.verdict == "tight":
        words.append(tr("Fits, with little room to spare."))
    if "coding" in candidate.tags:
        words.append(tr("Trained for code."))
    if candidate.generation == 2:
        words.append(tr("A DFlash 2 drafter, the current generation: it keeps more drafts than the first."))
    if "small" in candidate.tags and shown.size:
        words.append(tr("Small, so quick to fetch and light on memory."))
    if candidate.note:
        words.append(candidate.note)
    return " ".join(words)
