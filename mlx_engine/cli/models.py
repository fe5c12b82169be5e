"""`slipstream models`: manage pairs on this disk, without importing MLX."""

import argparse
import getpass
import hashlib
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mlx_engine.cli.console import ProgressLine, note, print_json, say
from mlx_engine.cli.model_audit import audit
from mlx_engine.cli.model_pull import held_folder, in_background, pull, with_alternatives
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import home_path, not_regular_file
from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.drafters.registry import looks_like_drafter, parse
from mlx_engine.hardware import machine
from mlx_engine.models.configs.shardable import sharding_problem
from mlx_engine.models.downloads.download import Inspection, inspect_pair
from mlx_engine.models.downloads.download_queue import QueueFile
from mlx_engine.models.downloads.hub import Hub, delete_token, store_token
from mlx_engine.models.downloads.matching import NoDrafter, NotForDFlash, find_drafter, shared_repos
from mlx_engine.models.downloads.model_move import ModelMove
from mlx_engine.models.files.chat_template import folder_template_problem
from mlx_engine.models.files.checkpoint import check_safetensors, read_config
from mlx_engine.models.files.hub_cache import HubCache, model_folder, model_folder_problem
from mlx_engine.models.files.repo import is_head
from mlx_engine.models.fit import Fit, predict_fit
from mlx_engine.models.library.catalog import BUILT_IN, Catalog, CatalogEntry, load_catalog
from mlx_engine.models.library.identity import catalog_difference, held_target
from mlx_engine.models.library.library import LocalModel, add_folder, local_models, remove_folder
from mlx_engine.models.library.link_times import link_seconds
from mlx_engine.models.library.measured_costs import measured_costs
from mlx_engine.models.library.pair import Pair
from mlx_engine.models.library.pass_times import RingLink
from mlx_engine.models.library.speeds import MeasuredSpeeds, SpeedKind, SpeedRange, predict_speeds, speed_key, with_measured
from mlx_engine.models.ring_fit import divided


def run(args: argparse.Namespace) -> int:
    command = args.models_command
    if command in ("fit", "pull", "rm") or (command == "check" and (args.target or args.drafter)):
        if (args.id is None) == (args.target is None):
            args.parser.error("specify either a pair ID from the catalog or --target OWNER/NAME.")
        if args.drafter and not args.target:
            args.parser.error("--drafter needs --target.")
        if args.plain and args.drafter:
            args.parser.error("--plain and --drafter can't be used together.")
    if problem := model_folder_problem():
        note(str(problem))
    return _COMMANDS[command](args)


def _pair(args: argparse.Namespace, hub: Hub, known: Catalog) -> Pair:
    if args.id is not None:
        entry = known.find(args.id)
        found = entry.pair(args.bits)
        if args.plain:
            return Pair(found.target)
        if entry.why_not:
            template = "{name} can't run. {reason}"
            raise UserError("pair_not_runnable", template, name=entry.name, reason=entry.why_not)
        return found
    if args.drafter or args.plain:
        return Pair(args.target, args.drafter)
    Pair(args.target)  # checks the name before the hub is asked
    try:
        return find_drafter(hub, known, local_models(), args.target)
    except NoDrafter as error:
        template = "{reason} Specify one with --drafter OWNER/NAME, or use --plain."
        raise UserError("name_drafter", template, reason=error.text) from None
    except NotForDFlash as error:
        raise UserError("use_plain", "{reason} Use the target alone with --plain.", reason=error.text) from None


def _inspected(hub: Hub, cache: HubCache, known: Catalog, pair: Pair) -> Inspection:
    found = inspect_pair(hub, cache, pair, held=held_folder(cache, known, pair))
    if found.problem:
        raise with_alternatives(UserError.of(found.problem), known, pair)
    return found


def _list(args: argparse.Namespace) -> int:
    if args.add_folder:
        add_folder(args.add_folder)
    if args.forget_folder:
        remove_folder(args.forget_folder)
    known, here = load_catalog(), local_models()
    named = [one for one in here if catalog_difference(known, one) is None]
    queued = QueueFile().read()
    if args.json:
        queue = [{**asdict(one.pair), "state": one.state, "words": str(one.reason or "")} for one in queued]
        pairs, on_disk = [_entry(entry, named) for entry in known.entries], [_disk(one) for one in here]
        print_json({"pairs": pairs, "on_disk": on_disk, "queue": queue, "complaints": list(map(str, known.problems))})
        return 0
    say("Catalog (✓ on this disk, ? unconfirmed, ✗ can't run)")
    for entry in known.entries:
        say(_line(entry, named))
    if here:
        say("", "On this disk")
    for one in here:
        kind = "drafter" if one.is_drafter else "target"
        remark = one.problem or catalog_difference(known, one)
        say(f"  {one.repo}  {kind}, {one.bytes / 1e9:,.2f} GB, {one.place}" + (f"  – {remark}" if remark else ""))
    if queued:
        say("", "Downloads")
    for item in queued:
        say(f"  {item.pair.name}  {item.state}" + (f": {item.reason}" if item.reason else ""))
    for problem in known.problems:
        note(str(problem))
    return 0


def _search(args: argparse.Namespace) -> int:
    known, words = load_catalog(), " ".join(args.words)
    here = [one for one in local_models() if catalog_difference(known, one) is None]
    entries = known.search(words)
    repos = [found.name for found in Hub().search(words)] if args.hub else []
    if args.json:
        print_json({"pairs": [_entry(entry, here) for entry in entries], "repos": repos})
        return 0
    for entry in entries:
        say(_line(entry, here))
    for repo in repos:
        say(f"  {repo}  on the hub")
    if not entries and not repos:
        hint = "" if args.hub else " Use --hub to search the model hub too."
        note(f"Nothing in the catalog matches “{words}”.{hint}")
    return 0


def _line(entry: CatalogEntry, here: list[LocalModel]) -> str:
    mark = "✗" if entry.why_not else "✓" if _is_here(entry, here) else " " if entry.confirmed else "?"
    parts = [", ".join(f"{target.bits} bits" for target in entry.targets if target.bits)]
    parts.append(" or ".join(dict.fromkeys(drafter.kind for drafter in entry.drafters if drafter.kind)))
    if reported := [ratio for drafter in entry.drafters for one in drafter.reported for ratio in one.speedup]:
        low, high = min(reported), max(reported)
        parts.append(f"reported speedup {low:g}×" if low == high else f"reported speedup {low:g}–{high:g}×")
    parts += ["gated" if entry.drafters and entry.drafters[0].gated else "", str(entry.why_not or "")]
    return f"{mark} {entry.id:<20} {entry.name:<22} " + " · ".join(filter(None, parts))


def _is_here(entry: CatalogEntry, here: list[LocalModel]) -> bool:
    """Return whether target and drafter are on this disk."""
    if BUILT_IN in entry.tags:
        return True
    repos = {one.repo.lower() for one in here if not one.problem}
    return any(repos.issuperset(repo.lower() for repo in pair.repos) for pair in entry.pairs)


def _entry(entry: CatalogEntry, here: list[LocalModel]) -> dict[str, Any]:
    """Return a catalog entry as JSON; scripts depend on its shape."""
    facts = {name: value for name, value in asdict(entry).items() if name not in ("reason", "custom")}
    why_not = str(entry.why_not or "")
    return {**facts, "confirmed": entry.confirmed, "why_not": why_not, "on_disk": _is_here(entry, here), "own": entry.custom}


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


def _fit(args: argparse.Namespace) -> int:
    known = load_catalog()
    if args.id is not None and BUILT_IN in known.find(args.id).tags:
        reason = "The demo pair comes with Slipstream and runs on every supported machine."
        print_json({"id": args.id, "memory": {"verdict": "comfortable", "reason": reason}}) if args.json else say(reason)
        return 0
    hub, cache = Hub(), HubCache()
    inspection = _inspected(hub, cache, known, _pair(args, hub, known))
    sizes = (*inspection.weight_sizes, 0)
    drafter = inspection.configs[1] if len(inspection.configs) > 1 else None
    facts, no_room = machine.load_facts(), inspection.space_problem(cache)
    target, free, macs = inspection.configs[0], machine.free_memory(), args.macs
    if macs > 1 and (problem := sharding_problem(target, macs)) is not None:
        raise UserError.of(problem)
    result = predict_fit(target, drafter, sizes[0], sizes[1], args.context, facts, free, sees=macs == 1)
    others = None
    if macs > 1:
        result, others = divided(result, target, sizes[0], macs)
    speeds = _speeds(inspection, (sizes[0], sizes[1]), args.context, facts, macs)
    if args.json:
        print_json(
            {
                **asdict(inspection.pair),
                "context": args.context,
                "memory": _memory(result),
                "others_memory": _memory(others) if others else None,
                "speed": {
                    kind: {name: getattr(speed, name) for name in _SPEED} | {"reason": str(speed.reason)}
                    for kind, speed in speeds.items()
                },
                "disk": {
                    "size": inspection.size,
                    "here": inspection.on_disk,
                    "free": cache.free_bytes(),
                    "complaint": str(no_room or ""),
                },
                "licenses": {listing.repo: listing.license for listing in inspection.listings},
                "chat_problem": str(inspection.chat_problem or ""),
            }
        )
        return 0
    say(f"{inspection.pair.name} at {args.context:,} tokens")
    _print_fit(result)
    if others is not None:
        say(f"Each of the other {macs - 1}:" if macs > 2 else "The other Mac:")
        _print_fit(others)
    for kind, speed in speeds.items():
        say(f"{_SPEED_NAMES[kind]}: {speed}. {speed.reason}")
    if facts is None:
        say("Speed: unknown. Measure this machine with “slipstream bench --roofline”.")
    elif macs > 1 and link_seconds(macs) is None:
        say(f"Speed: unknown. The connection is measured when {macs} Macs run a pair with --workers.")
    size, here = inspection.size / 1e9, inspection.on_disk / 1e9
    say(f"Disk: {size:,.2f} GB, {here:,.2f} GB of which are downloaded. {no_room or ''}".rstrip())
    for listing in inspection.listings:
        say(f"License of {listing.repo}: {listing.license or 'unknown'}")
    if inspection.chat_problem:
        say(str(inspection.chat_problem))
    return 0


def _speeds(
    inspection: Inspection, sizes: tuple[int, int], context: int, facts: MachineFacts | None, macs: int
) -> dict[SpeedKind, SpeedRange]:
    if facts is None or (macs > 1 and link_seconds(macs) is None):
        return {}
    pair, measured = inspection.pair, MeasuredSpeeds()
    key, names = speed_key(pair.target, pair.drafter), (pair.target, pair.drafter or "")
    drafter = parse(inspection.configs[1]) if len(inspection.configs) > 1 else None
    if macs > 1:
        link = RingLink(macs, link_seconds(macs) or 0.0)
        return predict_speeds(facts, inspection.configs[0], drafter, sizes, context, measured.acceptance(key), link=link)
    costs = measured_costs().get((names, sizes))
    predicted = predict_speeds(facts, inspection.configs[0], drafter, sizes, context, measured.acceptance(key), costs)
    return with_measured(predicted, measured.rates(key))


def _memory(result: Fit) -> dict[str, Any]:
    lines = [{"what": line.what, "bytes": line.bytes, "how": line.formula} for line in result.lines]
    return {"lines": lines} | {name: getattr(result, name) for name in _MEMORY} | {"reason": str(result.reason)}


def _print_fit(result: Fit) -> None:
    for line in result.lines:
        say(f"  {line.what:<18} {'unknown' if line.bytes is None else f'{line.bytes / 1e9:9.3f} GB'}  {line.formula}")
    say(f"  {'total':<18} {result.needed / 1e9:9.3f} GB  {result.verdict}. {result.reason}")


def _pull(args: argparse.Namespace) -> int:
    known, cache, hub = load_catalog(), HubCache(), Hub()
    if args.target and not args.drafter and not args.plain:
        note(f"Searching {hub.endpoint} for a drafter for {args.target}…")
    return pull(args, hub, cache, known, _pair(args, hub, known))


def _rm(args: argparse.Namespace) -> int:
    known, cache = load_catalog(), HubCache()
    pair = known.find(args.id).pair(args.bits) if args.id else Pair(args.target, args.drafter)
    if args.plain:
        pair = Pair(pair.target)
    here = local_models(cache)
    kept, held = shared_repos(known, here, pair), held_target(known, here, pair.target)
    cache.check_not_downloading(pair.repos)
    freed = {repo: cache.remove(repo) for repo in pair.repos if repo not in kept}
    QueueFile().remove(pair)
    if args.json:
        print_json({**asdict(pair), "freed_bytes": freed, "kept_for": kept})
        return 0
    for repo, other in kept.items():
        say(f"{repo}: kept, because {other} needs it")
    for repo, count in freed.items():
        absent = f"{repo}: kept in “{held.folder}”" if held and repo == pair.target else f"{repo} isn't in {cache.root}"
        say(f"{repo}: {count / 1e9:,.2f} GB freed" if count else absent)
    return 0


def _check(args: argparse.Namespace) -> int:
    """Check downloaded repos, and return the exit code."""
    cache = HubCache()
    if args.id or args.target:
        pair = load_catalog().find(args.id).pair(args.bits) if args.id else Pair(args.target, args.drafter)
        repos = list(pair.repos)
    else:
        repos = sorted({one.repo for one in local_models(cache) if one.place == "hub cache"})
    line, results = ProgressLine(args.json), dict[str, list[str]]()
    for repo in repos:
        line.show(f"Checking {repo}…")
        results[repo] = _faults(cache, repo)
    line.end()
    notes = {repo: [] if faults else _notes(cache, repo) for repo, faults in results.items()}
    if args.json:
        found = [{"repo": repo, "complete": not faults, "faults": faults} for repo, faults in results.items()]
        print_json({"repos": [one | {"notes": notes[repo]} for one, repo in zip(found, results, strict=True)]})
    else:
        for repo, faults in results.items():
            mark = "✗" if faults else "!" if notes[repo] else "✓"
            say(f"{mark} {repo}", *(f"    {text}" for text in (*faults, *notes[repo])))
        if not results:
            say("Nothing has been downloaded yet.")
    return 1 if any(results.values()) else 0


def _notes(cache: HubCache, repo: str) -> list[str]:
    """Return what a complete repo can't be used for."""
    folder = cache.snapshot(repo, cache.main_commit(repo) or "")
    config = read_config(folder)
    if is_head(repo) or looks_like_drafter(config) or (problem := folder_template_problem(folder, config)) is None:
        return []
    return [str(problem)]


def _faults(cache: HubCache, repo: str) -> list[str]:
    """Return the problems of a downloaded repo, without using the network."""
    commit = cache.main_commit(repo)
    snapshot = cache.snapshot(repo, commit) if commit else None
    if snapshot is None or not snapshot.is_dir():
        return [f"{repo} is missing or incomplete. Download it with “slipstream models pull”."]
    faults = []
    files = sorted(snapshot.iterdir())
    for pointer in files:
        if not pointer.resolve().is_relative_to(cache.root.resolve()):
            faults.append(f"{pointer.name} links to a file outside the model folder. {_AGAIN}")
        elif not pointer.exists():
            faults.append(f"{pointer.name} is missing. Download the pair again.")
        elif not pointer.is_file() and not pointer.is_dir():
            faults.append(str(not_regular_file(pointer)))
        elif pointer.is_symlink() and not ((is_head(repo) and pointer.suffix == ".safetensors") or _has_digest(pointer.resolve())):
            faults.append(f"{pointer.name} is damaged. {_AGAIN}")
        elif pointer.suffix == ".safetensors":
            try:
                check_safetensors(pointer, pointer.name)
            except UserError as error:
                damaged = error.text.code == "damaged_weights"
                faults.append(f"{pointer.name} is damaged. {_AGAIN}" if damaged else str(error))
    if not any(pointer.name == "config.json" for pointer in files):
        faults.append("config.json is missing. Download the pair again.")
    return faults


def _has_digest(blob: Path) -> bool:
    """Return whether a blob's content matches the checksum in its name."""
    if len(blob.name) not in (40, 64):
        return False
    digest = hashlib.sha256() if len(blob.name) == 64 else hashlib.sha1(b"blob %d\0" % blob.stat().st_size)
    with blob.open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest() == blob.name


def _login(args: argparse.Namespace) -> int:
    """Save an access token for the hub in use, or remove it."""
    endpoint = Hub().endpoint
    if args.forget:
        removed = delete_token(endpoint)
        if args.json:
            print_json({"endpoint": endpoint, "forgotten": removed})
        else:
            say(f"Removed the token for {endpoint}." if removed else f"No token for {endpoint} is stored in the keychain.")
        return 0
    account = store_token(endpoint, _read_token(endpoint))
    if args.json:
        print_json({"endpoint": endpoint, "account": account})
    else:
        say(f"Logged in to {endpoint} as {account}. The token is stored in the keychain.")
    return 0


def _read_token(endpoint: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.read(_MAX_TOKEN)
    note(f"Create a token with read access at {endpoint}/settings/tokens and paste it here. It won't be shown.")
    try:
        return getpass.getpass("Token: ")
    except EOFError:
        raise UserError("no_token_typed", "No token was entered. Run the command again.") from None


def _move(args: argparse.Namespace) -> int:
    """Move the model folder. Ctrl-C keeps the files copied so far."""
    folder = home_path(args.folder).absolute() if args.folder.parts else args.folder  # an empty path is refused later
    made, before, stop = ModelMove(folder), model_folder(), threading.Event()
    shown = ProgressLine(args.json)

    def show(done: int, total: int) -> None:
        shown.show(f"{done / total if total else 1.0:4.0%} of {total / 1e9:,.2f} GB")

    try:
        in_background(lambda: made.run(stop, show), stop)
    except KeyboardInterrupt:
        note(*([""] if shown.is_live else []), f"The models are still in {model_folder()}. Run the command again to resume.")
        raise
    shown.end()
    now = model_folder()
    if args.json:
        print_json({"from": str(before), "to": str(now), "bytes": made.total, "notes": list(map(str, made.notes))})
        return 0
    for line in made.notes:
        note(str(line))
    say(f"The models are now in {now}. Set HF_HUB_CACHE={now} for other programs.")
    return 0


_AGAIN = "Remove the pair and download it again."
_MAX_TOKEN = 10_000  # characters
_MEMORY = ("needed", "budget", "free", "verdict")
_SPEED = ("low", "middle", "high", "gain", "measured")
_SPEED_NAMES: dict[SpeedKind, str] = {
    "plain": "Plain",
    "dflash": "With drafts",
    "chat": "With drafts, chat",
    "code": "With drafts, code and math",
}

_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": _list,
    "search": _search,
    "fit": _fit,
    "pull": _pull,
    "rm": _rm,
    "check": _check,
    "audit": lambda args: audit(args, load_catalog()),
    "move": _move,
    "login": _login,
}
