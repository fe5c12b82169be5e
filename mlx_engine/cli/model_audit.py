"""`slipstream models audit`: compare the catalog with the hub."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from mlx_engine.cli.console import ProgressLine, print_json, say
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.drafters.registry import kind_name, parse
from mlx_engine.models.configs.target_config import text_config
from mlx_engine.models.downloads.download import inspect_pair
from mlx_engine.models.downloads.hub import Hub, NoAnswer
from mlx_engine.models.downloads.mtp_listing import head_listing
from mlx_engine.models.files.checkpoint import LARGEST_CONFIG
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.files.repo import RepoListing, is_head
from mlx_engine.models.library.catalog import BUILT_IN, Catalog, CatalogEntry, DrafterRepo, TargetRepo
from mlx_engine.models.library.pair import Pair

_SHOWN = {"family": "{}", "kind": "{}", "bits": "{} bits", "context": "{} tokens", "block_size": "blocks of {}", "license": "{}"}
_ROUNDING = 0.05  # of a size; the catalog's are rounded, and some count only the weights


@dataclass
class AuditedRepo:
    """What the hub says about a repo of the catalog.

    Attributes:
        id: of its entry.
        role: target or drafter.
        commit: of main, or "" if the repo can't be read.
        size: bytes to download.
        facts: what the repo says, by the catalog's names.
        faults: why it can't be used.
        differences: facts that the catalog states otherwise.
        note: why a fault is expected, or "".
    """

    id: str
    repo: str
    role: str
    commit: str = ""
    size: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    note: str = ""

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong, as far as the hub lets anyone look."""
        return not self.faults and not self.differences

    @property
    def is_hidden(self) -> bool:
        """Whether the hub shows nothing, as the catalog expects of a gated drafter."""
        return self.is_right and not self.commit

    def compare(self, **stated: Any) -> None:
        """Add facts that the catalog states otherwise. Unknown ones are None."""
        for name, value in stated.items():
            found = self.facts.get(name)
            if value is None or found is None:
                continue
            same = abs(value - self.size / 1e9) <= _ROUNDING * value if name == "size_gb" else value == found
            if not same:
                self.differences.append(f"{name} is {found}; the catalog says {value}")


class _RememberingHub(Hub):
    """A hub that is asked once about each repo."""

    def __init__(self) -> None:
        super().__init__()
        self._listings: dict[tuple[str, str], RepoListing] = {}
        self._files: dict[tuple[str, str, str], dict] = {}

    def listing(self, repo: str, revision: str = "main") -> RepoListing:
        if (repo, revision) not in self._listings:
            self._listings[repo, revision] = super().listing(repo, revision)
        return self._listings[repo, revision]

    def read_json(self, listing: RepoListing, path: str, most: int = LARGEST_CONFIG) -> dict:
        key = (listing.repo, listing.commit, path)
        if key not in self._files:
            self._files[key] = super().read_json(listing, path, most)
        return self._files[key]


def audit(args: argparse.Namespace, known: Catalog) -> int:
    """Ask the hub about each repo of the catalog, and return the exit code.

    Raises:
        NoAnswer: the hub can't be used at all.
    """
    hub, line, results = _RememberingHub(), ProgressLine(args.json), list[AuditedRepo]()
    for entry in known.entries:
        if BUILT_IN not in entry.tags:
            line.show(f"Asking {hub.endpoint} about {entry.name}…")
            results += _entry_results(hub, entry)
    line.end()
    if args.json:
        print_json({"repos": [asdict(one) for one in results], "complaints": list(map(str, known.problems))})
    else:
        say(*_table(results), *map(str, known.problems))
        hidden = sum(one.is_hidden for one in results)
        right = sum(one.is_right for one in results) - hidden
        say(f"{right} of {len(results)} repos are as the catalog says." + (f" Gated, so not checked: {hidden}." if hidden else ""))
    return 0 if all(one.is_right for one in results) and not known.problems else 1


def _entry_results(hub: Hub, entry: CatalogEntry) -> Iterator[AuditedRepo]:
    refused = entry.why_not if entry.targets and entry.drafters else None
    partner = ""  # target that drafters are checked with
    for target in entry.targets:
        result = AuditedRepo(entry.id, target.repo, "target")
        with _refusals(result):
            problem = _ask_target(hub, entry, target, result)
            if problem and refused:
                result.note = str(problem)
            elif problem:
                result.faults.append(str(problem))
            elif refused:
                result.differences.append(f"it can run; the catalog says: {refused}")
            else:
                partner = partner or target.repo
        yield result
    for drafter in entry.drafters:
        result = AuditedRepo(entry.id, drafter.repo, "drafter")
        with _refusals(result, gated=drafter.gated is True):
            _ask_drafter(hub, partner, drafter, result)
        yield result


@contextmanager
def _refusals(result: AuditedRepo, gated: bool = False) -> Iterator[None]:
    """Turn the hub's refusal of one repo into a fault."""
    try:
        yield
    except NoAnswer:
        raise
    except UserError as error:
        if gated and error.text.code.startswith("repo_gated"):
            result.note = str(error)
        else:
            result.faults.append(str(error))


def _ask_target(hub: Hub, entry: CatalogEntry, target: TargetRepo, result: AuditedRepo) -> EngineText | None:
    """Compare a target with the catalog, and return why it can't run."""
    found = inspect_pair(hub, HubCache(), Pair(target.repo))
    (listing,), (config,) = found.listings, found.configs
    quantization = config.get("quantization")
    bits = quantization.get("bits") if isinstance(quantization, dict) else None
    context = text_config(config).get("max_position_embeddings")
    _describe(result, listing, family=config.get("model_type"), bits=bits, context=context)
    result.compare(family=entry.family, bits=target.bits, size_gb=target.size_gb, license=entry.license, context=entry.context)
    return found.problem or found.chat_problem


def _ask_drafter(hub: Hub, partner: str, drafter: DrafterRepo, result: AuditedRepo) -> None:
    if partner:
        found = inspect_pair(hub, HubCache(), Pair(partner, drafter.repo))
        listing, config, problem = found.listings[-1], found.configs[-1], found.problem
    else:
        listing = hub.listing(drafter.repo)
        listing = head_listing(hub, listing) if is_head(drafter.repo) else listing
        config, problem = hub.read_json(listing, "config.json"), None
    _describe(result, listing, kind=kind_name(config))
    if problem:
        result.faults.append(str(problem))
    else:
        result.facts["block_size"] = parse(config).block_size
    # the license is that of the model around a head
    stated = {} if is_head(drafter.repo) else {"license": drafter.license}
    result.compare(kind=drafter.kind, block_size=drafter.block_size, size_gb=drafter.size_gb, **stated)


def _describe(result: AuditedRepo, listing: RepoListing, **facts: Any) -> None:
    result.commit, result.size = listing.commit, listing.size
    result.facts = facts | {"size_gb": round(listing.size / 1e9, 2), "license": listing.license}


def _table(results: list[AuditedRepo]) -> Iterator[str]:
    id_width, repo_width = (max((len(getattr(one, name)) for one in results), default=0) for name in ("id", "repo"))
    for one in results:
        mark = "✗" if one.faults else "!" if one.differences else "-" if one.note else "✓"
        facts = " · ".join(_SHOWN[name].format(value) for name, value in one.facts.items() if name in _SHOWN and value is not None)
        line = f"{mark} {one.id:<{id_width}}  {one.repo:<{repo_width}}  {one.commit[:7]:<7} {one.size / 1e9:9,.2f} GB  {facts}"
        yield line.rstrip()
        yield from (f"    {text}" for text in (*one.faults, *one.differences, *filter(None, [one.note])))
