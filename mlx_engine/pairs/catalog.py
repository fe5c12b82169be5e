"""The catalog of known pairs: resources/catalog.json, plus the user's entries in the data folder.

Every shipped fact names its source; an unknown fact is null. An entry whose repo ids all have a source is confirmed. Other entries
are shown too, but the hub is asked before they are offered.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import resources
from mlx_engine.errors import EngineText, UserError
from mlx_engine.families import why_not_runnable
from mlx_engine.pairs.compatibility import dflash_problem
from mlx_engine.pairs.data_files import data_folder, read_json
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.repo import check_repo

BUILT_IN = "built in"  # the tag of a pair that needs no download
_ID = re.compile(r"[a-z0-9][a-z0-9.+-]{0,63}")


@dataclass(frozen=True)
class Fact:
    """A value and its source: a key of the catalog's sources, or "you" for the user's entries."""

    value: Any
    source: str


@dataclass(frozen=True)
class TargetRepo:
    """One quantization of a target."""

    repo: str
    source: str
    bits: int | None  # per weight
    size_gb: Fact | None  # in 10^9 bytes, as published


@dataclass(frozen=True)
class ReportedSpeedup:
    """Someone's measurement: DFlash's speed relative to plain decoding, lowest to highest."""

    speedup: tuple[float, float]
    machine: str
    target: str
    source: str


@dataclass(frozen=True)
class CatalogEntry:
    """One pair of the catalog. A fact that is None is unknown."""

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
    reported: tuple[ReportedSpeedup, ...]
    measured: tuple[ReportedSpeedup, ...]
    reason: Fact | None  # why it can't run
    custom: bool = False  # added by the user

    @property
    def confirmed(self) -> bool:
        """Whether every repo id has a source."""
        return BUILT_IN in self.tags or bool(self.targets and self.drafter and not self.custom)

    @property
    def why_not(self) -> EngineText | None:
        """Why the pair can't run, as far as is known without asking the hub."""
        if self.reason:
            return EngineText(f"catalog_reason_{self.id}", str(self.reason.value))
        if self.family:
            config = {"model_type": self.family.value}
            if problem := why_not_runnable(config) or dflash_problem(config):
                return problem
        if BUILT_IN not in self.tags and not (self.targets and self.drafter):
            return EngineText.of("catalog_repos_unknown", "The names of its repos aren't known yet.")
        return None

    @property
    def repos(self) -> tuple[str, ...]:
        """The repos of the targets, then the drafter's."""
        return (*(target.repo for target in self.targets), *([str(self.drafter.value)] if self.drafter else []))

    def pair(self, bits: int | None = None) -> Pair:
        """Return the repos with the given quantization, or with the first one listed."""
        if BUILT_IN in self.tags:
            raise UserError("pair_is_built_in", "{name} comes with Slipstream and can't be downloaded or removed.", name=self.name)
        if not self.targets or not self.drafter:
            raise UserError(
                "pair_not_downloadable", "{name} can't be downloaded. {reason}", name=self.name, reason=self.why_not or ""
            )
        offered = [target for target in self.targets if bits in (None, target.bits)]
        if not offered:
            available = ", ".join(str(target.bits) for target in self.targets)
            template = "{name} isn't available with {bits} bits. Available: {available}."
            raise UserError("bits_not_offered", template, name=self.name, bits=str(bits), available=available)
        return Pair(offered[0].repo, str(self.drafter.value))


@dataclass(frozen=True)
class Catalog:
    """All entries, the user's last, and what is wrong with entries that were ignored."""

    entries: tuple[CatalogEntry, ...]
    sources: dict[str, str]
    problems: tuple[EngineText, ...] = ()

    def find(self, id: str) -> CatalogEntry:
        for entry in reversed(self.entries):
            if entry.id == id.lower():
                return entry
        similar = [entry.id for entry in self.search(re.split(r"[-.]", id)[0])][:5]
        template = "“{id}” isn't in the catalog. Similar: {similar}. “slipstream models list” shows all pairs."
        raise UserError("not_in_catalog", template, id=id[:80], similar=", ".join(similar) or "–")

    def search(self, words: str) -> list[CatalogEntry]:
        """Return the entries whose id, name, tags or repos contain all the words."""
        wanted = words.lower().split()
        texts = [(entry, " ".join((entry.id, entry.name, *entry.tags, *entry.repos)).lower()) for entry in self.entries]
        return [entry for entry, text in texts if all(word in text for word in wanted)]

    def with_target(self, repo: str) -> CatalogEntry | None:
        return next((entry for entry in self.entries for target in entry.targets if target.repo.lower() == repo.lower()), None)


def custom_catalog_file() -> Path:
    return data_folder() / "catalog.json"


def load_catalog() -> Catalog:
    shipped = json.loads((Path(resources.__file__).parent / "catalog.json").read_text(encoding="utf-8"))
    entries = [parse_entry(raw, shipped["sources"]) for raw in shipped["pairs"]]
    problems: list[EngineText] = []
    try:
        custom = read_json(custom_catalog_file())
        raws = custom.get("pairs", []) if isinstance(custom, dict) else custom if custom is not None else []
        if not isinstance(raws, list):
            raise UserError("catalog_not_list", "“{file}” is ignored: it isn't a list of pairs.", file=str(custom_catalog_file()))
    except UserError as error:
        raws, problems = [], [error.text]
    for number, raw in enumerate(raws[:1000], 1):
        try:
            entries.append(parse_entry(raw, None))
        except UserError as error:
            template = "Entry {number} of “{file}” is ignored. {reason}"
            values: dict[str, Any] = {"number": number, "file": str(custom_catalog_file()), "reason": error.text}
            problems.append(EngineText.of("catalog_entry_ignored", template, **values))
    return Catalog(tuple(entries), shipped["sources"], tuple(problems))


def parse_entry(raw: Any, sources: dict[str, str] | None) -> CatalogEntry:
    """Parse one entry. `sources` is None for the user's entries, whose facts may be plain values.

    Raises:
        UserError: a field is invalid.
    """
    read = _Reader(raw, sources, "id")
    drafter = read.part("drafter")
    return CatalogEntry(
        id=read.id(),
        name=read.line("name") or read.id(),
        targets=tuple(_target(part) for part in read.parts("targets")),
        drafter=drafter.repo("repo"),
        generation=drafter.fact("generation", int),
        block_size=drafter.fact("block_size", int),
        drafter_gb=drafter.fact("size_gb", int, float),
        gated=drafter.fact("gated", bool),
        drafter_license=drafter.fact("license", str),
        family=read.fact("family", str),
        license=read.fact("license", str),
        context=read.fact("context", int),
        tags=tuple(read.lines("tags")),
        note=read.line("note"),
        reported=tuple(_speedup(part) for part in read.parts("reported")),
        measured=tuple(_speedup(part) for part in read.parts("measured")),
        reason=read.fact("why_not", str),
        custom=sources is None,
    )


class _Reader:
    """Checked access to the fields of one JSON object of a catalog."""

    def __init__(self, raw: Any, sources: dict[str, str] | None, name: str) -> None:
        _require(isinstance(raw, dict), name)
        self._raw, self.sources = raw, sources

    def id(self) -> str:
        value = self._raw.get("id")
        _require(isinstance(value, str) and _ID.fullmatch(value), "id")
        return value

    def line(self, name: str) -> str:
        value = self._raw.get(name)
        _require(value is None or (isinstance(value, str) and value.isprintable() and len(value) <= 500), name)
        return value or ""

    def lines(self, name: str) -> list[str]:
        value = self._raw.get(name) or []
        _require(isinstance(value, list) and all(isinstance(item, str) and item.isprintable() for item in value), name)
        return value

    def part(self, name: str) -> "_Reader":
        return _Reader(self._raw.get(name) or {}, self.sources, name)

    def parts(self, name: str) -> "list[_Reader]":
        value = self._raw.get(name) or []
        _require(isinstance(value, list), name)
        return [_Reader(item, self.sources, name) for item in value]

    def fact(self, name: str, *kinds: type) -> Fact | None:
        value = self._raw.get(name)
        if value is None:
            return None
        if self.sources is None and not isinstance(value, dict):
            value = {"is": value, "from": "you"}
        _require(isinstance(value, dict) and set(value) == {"is", "from"}, name)
        _require(self.sources is None or value["from"] in self.sources, name)
        fact = value["is"]
        _require(isinstance(fact, kinds) and (bool in kinds or not isinstance(fact, bool)), name)
        _require(not isinstance(fact, str) or fact.isprintable(), name)
        return Fact(fact, str(value["from"]))

    def repo(self, name: str) -> Fact | None:
        found = self.fact(name, str)
        if found is not None:
            check_repo(found.value)
        return found

    def bits(self) -> int | None:
        value = self._raw.get("bits")
        _require(value is None or (type(value) is int and 1 <= value <= 64), "bits")
        return value

    def speedup(self) -> tuple[float, float]:
        value = self._raw.get("speedup")
        _require(
            isinstance(value, list) and len(value) == 2 and all(type(x) in (int, float) and 0 < x < 1000 for x in value), "speedup"
        )
        return float(value[0]), float(value[1])


def _require(valid: object, field: str) -> None:
    if not valid:
        raise UserError("invalid_catalog_field", "Its “{field}” is missing or invalid.", field=field)


def _target(read: _Reader) -> TargetRepo:
    repo = read.repo("repo")
    _require(repo, "repo")
    assert repo is not None
    return TargetRepo(str(repo.value), repo.source, read.bits(), read.fact("size_gb", int, float))


def _speedup(read: _Reader) -> ReportedSpeedup:
    source = read.line("from") or "you"
    _require(read.sources is None or source in read.sources, "from")
    return ReportedSpeedup(read.speedup(), read.line("machine"), read.line("target"), source)
