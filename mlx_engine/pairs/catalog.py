"""The catalogue of known pairs: resources/catalog.json, and the user's own entries in the data folder.

Every fact in it names its source; what has none is null and shown as unknown. An entry whose repo ids all have a source is
confirmed; another is shown, but the hub is asked before it is offered.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import resources
from mlx_engine.errors import UserError
from mlx_engine.families import family_of, why_not_runnable
from mlx_engine.pairs.checkpoint_paths import data_folder, read_json
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.repo import check_repo

BUILT_IN = "built in"  # the tag of a pair that needs no download
_ID = re.compile(r"[a-z0-9][a-z0-9.+-]{0,63}")


@dataclass(frozen=True)
class Fact:
    """A value and where it is from. `source` is a key of the catalogue's sources; "you" for the user's own entries."""

    value: Any
    source: str


@dataclass(frozen=True)
class TargetRepo:
    """One quantisation of a target. `bits` a weight; sizes in GB of 10^9 bytes, as published."""

    repo: str
    source: str
    bits: int | None
    size_gb: Fact | None


@dataclass(frozen=True)
class Reported:
    """What others measured: DFlash over plain, from worst to best."""

    speedup: tuple[float, float]
    machine: str
    target: str
    source: str


@dataclass(frozen=True)
class Entry:
    """One pair of the catalogue. A fact that is None is unknown."""

    id: str
    name: str
    targets: tuple[TargetRepo, ...]
    drafter: Fact | None  # repo
    generation: Fact | None
    block_size: Fact | None
    drafter_gb: Fact | None
    gated: Fact | None
    drafter_license: Fact | None
    family: Fact | None  # the target's model_type
    license: Fact | None
    context: Fact | None  # tokens
    tags: tuple[str, ...]
    note: str
    reported: tuple[Reported, ...]
    measured: tuple[Reported, ...]
    reason: Fact | None
    own: bool = False  # the user's

    @property
    def confirmed(self) -> bool:
        """Whether every repo id has a source."""
        return BUILT_IN in self.tags or bool(self.targets and self.drafter and not self.own)

    @property
    def why_not(self) -> str:
        """Why it cannot run, as far as is known beforehand; empty otherwise."""
        if self.reason:
            return str(self.reason.value)
        if self.family and (words := why_not_runnable({"model_type": self.family.value})):
            return words
        if self.family and family_of({"model_type": self.family.value}) is None:
            return f"DFlash is not available for the family “{self.family.value}” yet."
        if BUILT_IN not in self.tags and not (self.targets and self.drafter):
            return "Its repos are not known."
        return ""

    @property
    def repos(self) -> tuple[str, ...]:
        """Every repo that it names: the targets', then the drafter's."""
        return (*(target.repo for target in self.targets), *([str(self.drafter.value)] if self.drafter else []))

    def pair(self, bits: int | None = None) -> Pair:
        """The repos, with the quantisation asked for, or the first listed.

        Raises:
            UserError: there is no such quantisation, or nothing to fetch at all.
        """
        if BUILT_IN in self.tags:
            raise UserError(f"{self.name} comes with Slipstream: there is nothing to fetch or remove.")
        if not self.targets or not self.drafter:
            raise UserError(f"{self.name} cannot be fetched: {self.why_not}")
        offered = [target for target in self.targets if bits in (None, target.bits)]
        if not offered:
            known = ", ".join(str(target.bits) for target in self.targets)
            raise UserError(f"{self.name} is not offered with {bits} bits. There are: {known}.")
        return Pair(offered[0].repo, str(self.drafter.value))


@dataclass(frozen=True)
class Catalogue:
    """All entries, the user's own last; `complaints` are sentences about entries that were left out."""

    entries: tuple[Entry, ...]
    sources: dict[str, str]
    complaints: tuple[str, ...] = ()

    def find(self, id: str) -> Entry:
        """The entry of an id.

        Raises:
            UserError: there is none; the sentence names similar ones.
        """
        for entry in reversed(self.entries):
            if entry.id == id.lower():
                return entry
        like = [entry.id for entry in self.search(re.split(r"[-.]", id)[0])][:5]
        hint = f" Similar: {', '.join(like)}." if like else ""
        raise UserError(
            f"“{id[:80]}” is not in the catalogue.{hint} “slipstream models list” shows all; any other pair is named by --target "
            "and --drafter."
        )

    def search(self, words: str) -> list[Entry]:
        """Entries in whose id, name, tags or repos all the words occur."""
        wanted = words.lower().split()
        return [entry for entry in self.entries if all(word in _text(entry) for word in wanted)]

    def with_target(self, repo: str) -> Entry | None:
        """The entry that has a target repo."""
        return next((entry for entry in self.entries for target in entry.targets if target.repo.lower() == repo.lower()), None)


def own_file() -> Path:
    return data_folder() / "catalog.json"


def catalogue() -> Catalogue:
    """The one that comes with Slipstream and the user's own entries; malformed ones are left out, each with a complaint."""
    shipped = json.loads((Path(resources.__file__).parent / "catalog.json").read_text(encoding="utf-8"))
    entries = [parse_entry(raw, shipped["sources"]) for raw in shipped["pairs"]]
    complaints: list[str] = []
    try:
        own = read_json(own_file())
    except UserError as error:
        own, complaints = None, [str(error)]
    raws = own.get("pairs", []) if isinstance(own, dict) else own if own is not None else []
    if not isinstance(raws, list):
        complaints.append(f"{own_file()} holds no list of pairs, so none of it is used.")
        raws = []
    for number, raw in enumerate(raws[:1000], 1):
        try:
            entries.append(parse_entry(raw, None))
        except UserError as error:
            complaints.append(f"Entry {number} of {own_file()} is left out: {error}")
    return Catalogue(tuple(entries), shipped["sources"], tuple(complaints))


def parse_entry(raw: Any, sources: dict[str, str] | None) -> Entry:
    """One entry. `sources` None: an entry of the user's own, whose facts may be given as plain values.

    Raises:
        UserError: what is wrong with it.
    """
    read = _Reader(raw, sources)
    drafter = read.part("drafter")
    return Entry(
        id=read.id(),
        name=read.words("name") or read.id(),
        targets=tuple(_target(part) for part in read.parts("targets")),
        drafter=drafter.repo("repo"),
        generation=drafter.fact("generation", int),
        block_size=drafter.fact("block_size", int),
        drafter_gb=drafter.fact("size_gb", (int, float)),
        gated=drafter.fact("gated", bool),
        drafter_license=drafter.fact("license", str),
        family=read.fact("family", str),
        license=read.fact("license", str),
        context=read.fact("context", int),
        tags=tuple(read.texts("tags")),
        note=read.words("note"),
        reported=tuple(_reported(part) for part in read.parts("reported")),
        measured=tuple(_reported(part) for part in read.parts("measured")),
        reason=read.fact("why_not", str),
        own=sources is None,
    )


class _Reader:
    """Fields of one JSON object of a catalogue, each checked."""

    def __init__(self, raw: Any, sources: dict[str, str] | None, where: str = "it") -> None:
        if not isinstance(raw, dict):
            raise UserError(f"{where} is no JSON object.")
        self._raw, self.sources = raw, sources

    def id(self) -> str:
        value = self._raw.get("id")
        if not isinstance(value, str) or not _ID.fullmatch(value):
            raise UserError("its “id” has to be of small letters, digits, “-” and “.”.")
        return value

    def words(self, name: str) -> str:
        value = self._raw.get(name)
        if value is not None and (not isinstance(value, str) or not value.isprintable() or len(value) > 500):
            raise UserError(f"its “{name}” has to be one line of text.")
        return value or ""

    def texts(self, name: str) -> list[str]:
        value = self._raw.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, str) and item.isprintable() for item in value):
            raise UserError(f"its “{name}” has to be a list of words.")
        return value

    def part(self, name: str) -> "_Reader":
        return _Reader(self._raw.get(name) or {}, self.sources, f"its “{name}”")

    def parts(self, name: str) -> "list[_Reader]":
        value = self._raw.get(name) or []
        if not isinstance(value, list):
            raise UserError(f"its “{name}” has to be a list.")
        return [_Reader(item, self.sources, f"an entry of its “{name}”") for item in value]

    def fact(self, name: str, kind: type | tuple[type, ...]) -> Fact | None:
        value = self._raw.get(name)
        if value is None:
            return None
        if self.sources is None and not isinstance(value, dict):
            value = {"is": value, "from": "you"}
        if not isinstance(value, dict) or set(value) != {"is", "from"}:
            raise UserError(f"its “{name}” has to be an object of “is” and “from”.")
        if self.sources is not None and value["from"] not in self.sources:
            raise UserError(f"its “{name}” names no source of the catalogue.")
        if not isinstance(value["is"], kind) or (isinstance(value["is"], bool) and kind is not bool):
            raise UserError(f"its “{name}” is of the wrong kind.")
        if isinstance(value["is"], str) and not value["is"].isprintable():
            raise UserError(f"its “{name}” has to be one line of text.")
        return Fact(value["is"], str(value["from"]))

    def repo(self, name: str) -> Fact | None:
        found = self.fact(name, str)
        if found is not None:
            check_repo(found.value)
        return found

    def number(self, name: str) -> int | None:
        value = self._raw.get(name)
        if value is not None and (type(value) is not int or not 1 <= value <= 64):
            raise UserError(f"its “{name}” has to be a number of bits.")
        return value

    def span(self, name: str) -> tuple[float, float]:
        value = self._raw.get(name)
        if not isinstance(value, list) or len(value) != 2 or not all(type(x) in (int, float) and 0 < x < 1000 for x in value):
            raise UserError(f"its “{name}” has to be two numbers.")
        return float(value[0]), float(value[1])


def _target(read: _Reader) -> TargetRepo:
    repo = read.repo("repo")
    if repo is None:
        raise UserError("a target of it has no “repo”.")
    return TargetRepo(str(repo.value), repo.source, read.number("bits"), read.fact("size_gb", (int, float)))


def _reported(read: _Reader) -> Reported:
    source = read.words("from") or "you"
    if read.sources is not None and source not in read.sources:
        raise UserError("a measurement of it names no source of the catalogue.")
    return Reported(read.span("speedup"), read.words("machine"), read.words("target"), source)


def _text(entry: Entry) -> str:
    return " ".join((entry.id, entry.name, *entry.tags, *entry.repos)).lower()
