"""The catalog of known pairs: resources/catalog.json and the user's own entries.

Each fact of the shipped catalog is an object with its value ("is") and source ("from"); unknown facts are null. The user's entries
may have plain values. They are unconfirmed: the app asks the hub about their repos before it offers them.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import resources
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import data_folder, read_json
from mlx_engine.drafters.registry import KINDS
from mlx_engine.models.configs.families import why_not_runnable
from mlx_engine.models.configs.target_config import dflash_problem
from mlx_engine.models.files.repo import check_repo
from mlx_engine.models.library.pair import Pair

BUILT_IN = "built in"  # tag of pairs that need no download
_MOST = 1e6  # of a number, such as GB
_ID = re.compile(r"[a-z0-9][a-z0-9.+-]{0,63}")


@dataclass(frozen=True)
class TargetRepo:
    """A quantization of a target."""

    repo: str
    bits: int | None  # per weight
    size_gb: float | None  # in 10^9 bytes, as published


@dataclass(frozen=True)
class ReportedSpeedup:
    """A reported speed of DFlash relative to plain decoding, lowest to highest."""

    speedup: tuple[float, float]
    machine: str
    target: str


@dataclass(frozen=True)
class DrafterRepo:
    """A drafter for a target. Unknown facts are None."""

    repo: str
    kind: str | None = None  # such as “DFlash 2”
    bits: int | None = None  # per weight if it is published quantized for MLX
    block_size: int | None = None
    size_gb: float | None = None  # in 10^9 bytes, as published
    gated: bool | None = None
    license: str | None = None
    note: str = ""
    reported: tuple[ReportedSpeedup, ...] = ()


@dataclass(frozen=True)
class CatalogEntry:
    """A target in the catalog and its drafters, best first. Unknown facts are None."""

    id: str
    name: str
    targets: tuple[TargetRepo, ...]
    drafters: tuple[DrafterRepo, ...]
    family: str | None  # the target's model_type
    license: str | None  # of the target
    context: int | None  # tokens
    tags: tuple[str, ...]
    note: str
    reason: str  # why it can't run
    custom: bool = False  # added by the user

    @property
    def confirmed(self) -> bool:
        """Whether the shipped catalog confirms all repo names."""
        return BUILT_IN in self.tags or bool(self.targets and self.drafters and not self.custom)

    @property
    def why_not(self) -> EngineText | None:
        """Why the pair can't run; None if it can, as far as is known without the hub."""
        if self.reason:
            return EngineText(f"catalog_reason_{self.id}", self.reason)
        if self.family:
            config = {"model_type": self.family}
            if problem := why_not_runnable(config) or dflash_problem(config):
                return problem
        if BUILT_IN not in self.tags and not (self.targets and self.drafters):
            return EngineText.of("catalog_repos_unknown", "This pair's repo names aren't known yet.")
        return None

    @property
    def repos(self) -> tuple[str, ...]:
        """The target repos, then the drafter repos."""
        return (*(target.repo for target in self.targets), *(drafter.repo for drafter in self.drafters))

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every target with every drafter."""
        return tuple(Pair(target.repo, drafter.repo) for target in self.targets for drafter in self.drafters)

    def pair(self, bits: int | None = None) -> Pair:
        """Return the target of this quantization with the best drafter."""
        if BUILT_IN in self.tags:
            raise UserError("pair_is_built_in", "{name} comes with Slipstream and can't be downloaded or removed.", name=self.name)
        if not self.targets or not self.drafters:
            template = "{name} can't be downloaded. {reason}"
            raise UserError("pair_not_downloadable", template, name=self.name, reason=self.why_not or "")
        offered = [target for target in self.targets if bits in (None, target.bits)]
        if not offered:
            available = ", ".join(str(target.bits) for target in self.targets)
            template = "{name} isn't available at {bits} bits. Choose from {available}."
            raise UserError("bits_not_offered", template, name=self.name, bits=str(bits), available=available)
        return Pair(offered[0].repo, self.drafters[0].repo)


@dataclass(frozen=True)
class Catalog:
    """All catalog entries (the user's own last), and problems of ignored entries."""

    entries: tuple[CatalogEntry, ...]
    problems: tuple[EngineText, ...] = ()

    def find(self, id: str) -> CatalogEntry:
        for entry in reversed(self.entries):
            if entry.id == id.lower():
                return entry
        similar = [entry.id for entry in self.search(re.split(r"[-.]", id)[0])][:5]
        template = "“{id}” isn't in the catalog (similar: {similar}). Run “slipstream models list” to see all pairs."
        raise UserError("not_in_catalog", template, id=id[:80], similar=", ".join(similar) or "none")

    def search(self, words: str) -> list[CatalogEntry]:
        """Return the entries whose ID, name, tags, or repos contain all the words."""
        wanted = words.lower().split()
        texts = [(entry, " ".join((entry.id, entry.name, *entry.tags, *entry.repos)).lower()) for entry in self.entries]
        return [entry for entry, text in texts if all(word in text for word in wanted)]

    def with_target(self, repo: str) -> CatalogEntry | None:
        return next((entry for entry in self.entries for target in entry.targets if target.repo.lower() == repo.lower()), None)


def custom_catalog_file() -> Path:
    return data_folder() / "catalog.json"


def load_catalog() -> Catalog:
    entries = list(_shipped_entries())
    problems: list[EngineText] = []
    file = str(custom_catalog_file())
    try:
        custom = read_json(custom_catalog_file())
        raws = custom.get("pairs", []) if isinstance(custom, dict) else custom if custom is not None else []
        if not isinstance(raws, list):
            raise UserError("catalog_not_list", "“{file}” isn't a list of pairs, so it is ignored.", file=file)
    except UserError as error:
        raws, problems = [], [error.text]
    for number, raw in enumerate(raws[:1000], 1):
        try:
            entries.append(parse_entry(raw))
        except UserError as error:
            template = "Entry {number} in “{file}” is ignored: {reason}"
            problems.append(EngineText.of("catalog_entry_ignored", template, number=number, file=file, reason=error.text))
    return Catalog(tuple(entries), tuple(problems))


@cache
def _shipped_entries() -> tuple[CatalogEntry, ...]:
    shipped = json.loads((Path(resources.__file__).parent / "catalog.json").read_text(encoding="utf-8"))
    parsed = ((parse_entry(raw, custom=False), raw) for raw in shipped["pairs"])
    return tuple(entry for entry, raw in parsed if entry.drafters or not raw["drafters"])


def parse_entry(raw: Any, custom: bool = True) -> CatalogEntry:
    fields = _Fields(raw, "id")
    id = fields.required("id", lambda value: isinstance(value, str) and _ID.fullmatch(value))
    listed = [*fields.parts("drafters"), fields.part("drafter")]
    drafters = [_drafter(one) for one in listed if one.get("repo", _is_line)]
    return CatalogEntry(
        id=id,
        name=fields.get("name", _is_line, id),
        targets=tuple(map(_target, fields.parts("targets"))),
        # Drafters of other kinds aren't offered, nor are targets that have no other drafter
        drafters=tuple(one for one in drafters if one.kind is None or one.kind in KINDS),
        family=fields.get("family", _is_line),
        license=fields.get("license", _is_line),
        context=fields.get("context", _is_integer),
        tags=tuple(fields.get("tags", lambda value: isinstance(value, list) and all(map(_is_line, value)), ())),
        note=fields.get("note", _is_line, ""),
        reason=fields.get("why_not", _is_line, ""),
        custom=custom,
    )


def _target(fields: "_Fields") -> TargetRepo:
    return TargetRepo(fields.repo(), fields.get("bits", _is_bits), fields.get("size_gb", _is_number))


def _drafter(fields: "_Fields") -> DrafterRepo:
    return DrafterRepo(
        repo=fields.repo(),
        kind=fields.get("kind", _is_line),
        bits=fields.get("bits", _is_bits),
        block_size=fields.get("block_size", _is_integer),
        size_gb=fields.get("size_gb", _is_number),
        gated=fields.get("gated", lambda value: isinstance(value, bool)),
        license=fields.get("license", _is_line),
        note=fields.get("note", _is_line, ""),
        reported=tuple(map(_speedup, fields.parts("reported"))),
    )


def _speedup(fields: "_Fields") -> ReportedSpeedup:
    low, high = fields.required("speedup", lambda value: isinstance(value, list) and len(value) == 2 and all(map(_is_ratio, value)))
    return ReportedSpeedup((float(low), float(high)), fields.get("machine", _is_line, ""), fields.get("target", _is_line, ""))


class _Fields:
    """Checked access to the fields of a JSON object in a catalog."""

    def __init__(self, raw: Any, name: str) -> None:
        self._raw: dict[str, Any] = raw
        self._check(isinstance(raw, dict), name)

    def get(self, name: str, is_valid: Callable[[Any], object], default: Any = None) -> Any:
        value = self._raw.get(name)
        if isinstance(value, dict) and set(value) == {"is", "from"}:
            value = value["is"]
        self._check(value is None or is_valid(value), name)
        return default if value is None else value

    def required(self, name: str, is_valid: Callable[[Any], object]) -> Any:
        value = self.get(name, is_valid)
        self._check(value is not None, name)
        return value

    def repo(self) -> str:
        return check_repo(self.required("repo", _is_line))

    def part(self, name: str) -> "_Fields":
        return _Fields(self._raw.get(name) or {}, name)

    def parts(self, name: str) -> "list[_Fields]":
        return [_Fields(item, name) for item in self.get(name, lambda value: isinstance(value, list), ())]

    def _check(self, valid: object, name: str) -> None:
        if not valid:
            raise UserError("invalid_catalog_field", "“{field}” is missing or invalid.", field=name)


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable() and len(value) <= 500


def _is_integer(value: Any) -> bool:
    return type(value) is int


def _is_bits(value: Any) -> bool:
    return _is_integer(value) and 1 <= value <= 64


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < _MOST


def _is_ratio(value: Any) -> bool:
    return _is_number(value) and 0 < value < 1000
