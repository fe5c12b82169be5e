"""`slipstream models`: which pairs there are, whether they fit, and fetching, checking and removing them. Imports no MLX."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from mlx_engine.errors import UserError
from mlx_engine.pairs import machine
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.catalog import BUILT_IN, Catalog, CatalogEntry, load_catalog
from mlx_engine.pairs.download_queue import QueueFile
from mlx_engine.pairs.drafter_config import parse
from mlx_engine.pairs.fit import Fit, predict_fit
from mlx_engine.pairs.hub import Hub
from mlx_engine.pairs.inspection import Inspection, inspect_pair
from mlx_engine.pairs.library import LocalModel, add_folder, local_models, remove_folder
from mlx_engine.pairs.matching import NoDrafter, NotForDFlash, find_drafter, shared_repos
from mlx_engine.pairs.model_folder import model_folder_problem
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.speeds import MeasuredSpeeds, SpeedRange, measured_speeds, predict_speeds, speed_key
from mlx_engine.terminal.model_check import check
from mlx_engine.terminal.model_login import login
from mlx_engine.terminal.model_move import move
from mlx_engine.terminal.model_pull import pull, with_alternatives
from mlx_engine.terminal.model_words import names, print_json


def run(given: argparse.Namespace) -> int:
    """Carry out one command; returns the exit status.

    Raises:
        UserError: what went wrong.
    """
    command = given.models_command
    if command in ("fit", "pull", "rm") or (command == "check" and (given.target or given.drafter)):
        if (given.id is None) == (given.target is None):
            given.parser.error("give either an id of the catalogue, or --target OWNER/NAME.")
        if given.drafter and not given.target:
            given.parser.error("--drafter needs --target.")
        if given.plain and given.drafter:
            given.parser.error("--plain fetches no drafter, so it goes without --drafter.")
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "list": _list,
        "search": _search,
        "fit": _fit,
        "pull": _pull,
        "rm": _rm,
        "check": check,
        "move": move,
        "login": login,
    }
    if trouble := model_folder_problem():
        print(trouble, file=sys.stderr)
    return commands[command](given)


# --- Which pair -------------------------------------------------------------------------------------------------------------------


def _pair(given: argparse.Namespace, hub: Hub, known: Catalog) -> Pair:
    if given.id is not None:
        entry = known.find(given.id)
        found = entry.pair(given.bits)
        if given.plain:
            return Pair(found.target)
        if entry.why_not:
            template = "{name} can't run. {reason} “slipstream models list” shows which pairs can."
            raise UserError("pair_not_runnable", template, name=entry.name, reason=entry.why_not)
        return found
    if given.drafter or given.plain:
        return Pair(given.target, given.drafter)
    Pair(given.target)  # its name is checked before the hub is asked
    try:
        return find_drafter(hub, known, local_models(), given.target)
    except NoDrafter as error:
        raise UserError("name_drafter", "{reason} Name one with --drafter OWNER/NAME, or use --plain.", reason=error.text) from None
    except NotForDFlash as error:
        raise UserError("use_plain", "{reason} Use the target alone with --plain.", reason=error.text) from None


def _examined(hub: Hub, cache: Cache, known: Catalog, pair: Pair) -> Inspection:
    found = inspect_pair(hub, cache, pair)
    if found.problem:
        raise with_alternatives(UserError.of(found.problem), known, pair)
    return found


# --- list and search --------------------------------------------------------------------------------------------------------------


def _list(given: argparse.Namespace) -> int:
    if given.add_folder:
        add_folder(given.add_folder)
    if given.forget_folder:
        remove_folder(given.forget_folder)
    known, here = load_catalog(), local_models()
    queued = QueueFile().read()
    if given.json:
        waiting = [{**names(one.pair), "state": one.state, "words": str(one.reason or "")} for one in queued]
        pairs = [_entry(entry, here) for entry in known.entries]
        print_json(
            {
                "pairs": pairs,
                "on_disk": [_disk(one) for one in here],
                "queue": waiting,
                "complaints": list(map(str, known.problems)),
            }
        )
        return 0
    print("Pairs of the catalogue (✓ on this disk, ? not confirmed, ✗ cannot run)")
    for entry in known.entries:
        print(_line(entry, here))
    if here:
        print("\nOn this disk")
    for one in here:
        kind = "drafter" if one.is_drafter else "target"
        print(f"  {one.repo}  {kind}, {one.bytes / 1e9:,.2f} GB, {one.place}" + (f"  – {one.problem}" if one.problem else ""))
    if queued:
        print("\nOn their way")
    for waits in queued:
        print(f"  {waits.pair.name}  {waits.state}" + (f": {waits.reason}" if waits.reason else ""))
    for problem in known.problems:
        print(problem, file=sys.stderr)
    return 0


def _search(given: argparse.Namespace) -> int:
    known, here, words = load_catalog(), local_models(), " ".join(given.words)
    entries = known.search(words)
    repos = Hub().search(words) if given.hub else []
    if given.json:
        print_json({"pairs": [_entry(entry, here) for entry in entries], "repos": repos})
        return 0
    for entry in entries:
        print(_line(entry, here))
    for repo in repos:
        print(f"  {repo}  on the hub")
    if not entries and not repos:
        hint = "" if given.hub else " With --hub the model hub is searched too."
        print(f"Nothing in the catalogue matches “{words}”.{hint}", file=sys.stderr)
    return 0


def _line(entry: CatalogEntry, here: list[LocalModel]) -> str:
    mark = "✗" if entry.why_not else "✓" if _is_here(entry, here) else " " if entry.confirmed else "?"
    parts = [", ".join(f"{target.bits} bits" for target in entry.targets if target.bits)]
    parts.append(f"block {entry.block_size.value}" if entry.block_size else "")
    if entry.reported:
        low, high = min(one.speedup[0] for one in entry.reported), max(one.speedup[1] for one in entry.reported)
        parts.append(f"others measured {low:g}×" if low == high else f"others measured {low:g} to {high:g}×")
    parts += ["gated" if entry.gated and entry.gated.value else "", str(entry.why_not or "")]
    return f"{mark} {entry.id:<20} {entry.name:<22} " + " · ".join(filter(None, parts))


def _is_here(entry: CatalogEntry, here: list[LocalModel]) -> bool:
    """Whether both halves are on this disk."""
    if BUILT_IN in entry.tags:
        return True
    repos = {one.repo.lower() for one in here if not one.problem}
    return (
        bool(entry.drafter)
        and str(entry.drafter and entry.drafter.value).lower() in repos
        and any(target.repo.lower() in repos for target in entry.targets)
    )


def _entry(entry: CatalogEntry, here: list[LocalModel]) -> dict[str, Any]:
    """As JSON: what is unknown is null."""

    def value(fact: Any) -> Any:
        return fact.value if fact else None

    return {
        "id": entry.id,
        "name": entry.name,
        "targets": [{"repo": one.repo, "bits": one.bits, "size_gb": value(one.size_gb)} for one in entry.targets],
        "drafter": value(entry.drafter),
        "generation": value(entry.generation),
        "block_size": value(entry.block_size),
        "drafter_gb": value(entry.drafter_gb),
        "gated": value(entry.gated),
        "family": value(entry.family),
        "license": value(entry.license),
        "drafter_license": value(entry.drafter_license),
        "context": value(entry.context),
        "tags": list(entry.tags),
        "note": entry.note,
        "reported": [{"speedup": list(one.speedup), "machine": one.machine, "target": one.target} for one in entry.reported],
        "measured": [{"speedup": list(one.speedup), "machine": one.machine, "target": one.target} for one in entry.measured],
        "confirmed": entry.confirmed,
        "why_not": str(entry.why_not or ""),
        "on_disk": _is_here(entry, here),
        "own": entry.custom,
    }


def _disk(one: LocalModel) -> dict[str, Any]:
    kind = "drafter" if one.is_drafter else "target"
    return {
        "repo": one.repo,
        "folder": str(one.folder),
        "place": one.place,
        "kind": kind,
        "bytes": one.bytes,
        "family": one.config.get("model_type"),
        "complaint": str(one.problem or ""),
    }


# --- fit --------------------------------------------------------------------------------------------------------------------------


def _fit(given: argparse.Namespace) -> int:
    known = load_catalog()
    if given.id is not None and BUILT_IN in known.find(given.id).tags:
        told = "The demo pair comes with Slipstream and fits every machine that runs it."
        print_json({"id": given.id, "memory": {"verdict": "comfortable", "reason": told}}) if given.json else print(told)
        return 0
    hub, cache = Hub(), Cache()
    found = _examined(hub, cache, known, _pair(given, hub, known))
    sizes = (*found.weight_sizes, 0)
    drafter = found.configs[1] if len(found.configs) > 1 else None
    facts, no_room = machine.load_facts(), found.space_problem(cache)
    result = predict_fit(found.configs[0], drafter, sizes[0], sizes[1], given.context, facts, free=machine.free_memory())
    speeds: dict[Any, SpeedRange] = {}
    if facts is not None:
        parsed = parse(drafter) if drafter else None
        generation = 2 if parsed and parsed.selector else 1
        speeds = predict_speeds(facts, found.configs[0], parsed, (sizes[0], sizes[1]), given.context, generation)
        speeds |= measured_speeds(MeasuredSpeeds().rates(speed_key(found.pair.target, found.pair.drafter)))
    if given.json:
        lines = [{"what": line.what, "bytes": line.bytes, "how": str(line.how)} for line in result.lines]
        print_json(
            {
                **names(found.pair),
                "context": given.context,
                "memory": {
                    "lines": lines,
                    "needed": result.needed,
                    "budget": result.budget,
                    "free": result.free,
                    "verdict": result.verdict,
                    "reason": str(result.reason),
                },
                "speed": {
                    mode: {"low": one.low, "high": one.high, "measured": one.measured, "reason": str(one.reason)}
                    for mode, one in speeds.items()
                },
                "disk": {"size": found.size, "here": found.on_disk, "free": cache.free_bytes(), "complaint": str(no_room or "")},
                "licenses": {listing.repo: listing.license for listing in found.listings},
            }
        )
        return 0
    print(f"{found.pair.name} at {given.context:,} tokens")
    _print_fit(result)
    for mode, one in speeds.items():
        print(f"{'DFlash' if mode == 'dflash' else 'Plain'}: {one}. {one.reason}")
    if facts is None:
        print("Speed: not foretold, since this machine has not been measured yet. “slipstream bench --roofline” measures it.")
    print(f"Disk: {found.size / 1e9:,.2f} GB, of which {found.on_disk / 1e9:,.2f} GB are here. {no_room or ''}".rstrip())
    for listing in found.listings:
        print(f"Licence of {listing.repo}: {listing.license or 'unknown'}")
    return 0


def _print_fit(result: Fit) -> None:
    for line in result.lines:
        print(f"  {line.what:<16} {'unknown' if line.bytes is None else f'{line.bytes / 1e9:9.3f} GB'}  {line.how}")
    print(f"  {'together':<16} {result.needed / 1e9:9.3f} GB  {result.verdict}. {result.reason}")


# --- pull and rm ------------------------------------------------------------------------------------------------------------------


def _pull(given: argparse.Namespace) -> int:
    known, cache, hub = load_catalog(), Cache(), Hub()
    if given.target and not given.drafter and not given.plain:
        print(f"Looking for a drafter of {given.target} at {hub.endpoint}…", file=sys.stderr)
    return pull(given, hub, cache, known, _pair(given, hub, known))


def _rm(given: argparse.Namespace) -> int:
    known, cache = load_catalog(), Cache()
    pair = known.find(given.id).pair(given.bits) if given.id else Pair(given.target, given.drafter)
    if given.plain:
        pair = Pair(pair.target)
    kept = shared_repos(known, local_models(cache), pair)
    cache.check_not_downloading(pair.repos)
    freed = {repo: cache.remove(repo) for repo in pair.repos if repo not in kept}
    QueueFile().remove(pair)
    if given.json:
        print_json({**names(pair), "freed_bytes": freed, "kept_for": kept})
        return 0
    for repo, other in kept.items():
        print(f"{repo} stays: {other} needs it and is here too")
    for repo, count in freed.items():
        print(f"{repo}: {count / 1e9:,.2f} GB freed" if count else f"{repo} was not in {cache.root}")
    return 0
