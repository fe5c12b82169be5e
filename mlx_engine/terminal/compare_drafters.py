"""`slipstream compare --drafters`: answer one prompt with every drafter of a target."""

import argparse
import re
from pathlib import Path
from typing import Any

from mlx_engine.errors import UserError
from mlx_engine.events import Commit, DrafterResult, DrafterRun, DraftersCompared, Finished, LoadProgress, TuningProgress
from mlx_engine.host import EngineDoor
from mlx_engine.pairs.checkpoint import read_config
from mlx_engine.pairs.drafter_config import parse
from mlx_engine.pairs.installed import installed_drafters
from mlx_engine.pairs.library import model_name
from mlx_engine.requests import CompareDrafters
from mlx_engine.terminal import arguments, generate
from mlx_engine.terminal.compare import STOPPED
from mlx_engine.terminal.console import note, print_json, progress, say
from mlx_engine.terminal.session import cancellable, folders


def run(given: argparse.Namespace, door: EngineDoor) -> int:
    request = arguments.request(given, "dflash")
    target, drafter = folders(given)
    drafters = chosen(given.drafters, installed_drafters(target, drafter))
    asked = CompareDrafters(request, target, drafters, given.drafter_bits, given.repeats, tuned=given.tuned)
    result = _show(door, asked, printing=not given.json)
    if result is None:
        note(STOPPED)
        return 130
    print_json(as_json(result)) if given.json else say(*table(result))
    return 0


def chosen(names: str, installed: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the drafters that the option `--drafters` names: “all”, or repos, folder names, or kinds, separated by commas.

    Raises:
        UserError: a name fits none of the installed drafters, or there are none.
    """
    if not installed:
        raise UserError("no_drafter_installed", "No drafter for this target is on this disk. Download one first.")
    if names == "all":
        return installed
    found: list[Path] = []
    for name in names.split(","):
        fitting = [drafter for drafter in installed if _plain(name) in _names(drafter)]
        if not fitting:
            template = "No installed drafter is called “{name}”. Choose from: {drafters}."
            listed = ", ".join(map(model_name, installed))
            raise UserError("drafter_not_installed", template, name=name.strip()[:80], drafters=listed)
        found += fitting
    return tuple(dict.fromkeys(found))


def _names(drafter: Path) -> set[str]:
    repo = model_name(drafter)
    return {_plain(name) for name in (str(drafter), repo, repo.split("/")[-1], parse(read_config(drafter)).kind)}


def _plain(name: str) -> str:
    return re.sub(r"[\s-]", "", name.lower())


def _show(door: EngineDoor, request: CompareDrafters, printing: bool) -> DraftersCompared | None:
    """Return the result, or None if stopped. If `printing`, print the replies."""
    printed = generate.PrintedReply(printing=False)
    try:
        for event in cancellable(door, request):
            match event:
                case LoadProgress(step=step) | TuningProgress(step=step):
                    progress(f"{step}…")
                case DrafterRun(proposer, kind, _, index, total):
                    progress("")
                    printed.close()
                    if printing:
                        say(f"── {_title(proposer, kind)} ({index + 1} of {total})")
                    printed = generate.PrintedReply(printing)
                case Commit():
                    printed.add(event)
                case Finished():
                    printed.close()
                    if printing:
                        say()
                case DraftersCompared():
                    return event
    finally:
        progress("")
        printed.close()
    return None


def _title(proposer: str, kind: str) -> str:
    return kind or "drafter" if proposer == "drafter" else proposer


def table(result: DraftersCompared) -> list[str]:
    rows = [("", "tok/s", "tokens/round", "memory", "text", "drafter")]
    for one in result.results:
        stats = one.reply.stats if one.reply else None
        rate = "–" if one.tok_s is None else f"{one.tok_s:.0f}"
        per_round = "–" if stats is None or stats.tokens_per_round is None else f"{stats.tokens_per_round:.1f}"
        memory = f"{one.bytes / 1e9:,.2f} GB" if one.bytes else "–"
        rows.append((_title(one.proposer, one.kind), rate, per_round, memory, _text(one), one.drafter))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, "<>>><<", widths, strict=True)) for row in rows]
    problems = [f"{one.drafter or _title(one.proposer, one.kind)}: {one.problem}" for one in result.results if one.problem]
    return [*map(str.rstrip, lines), "", *problems, _fastest(result)]


def _text(one: DrafterResult) -> str:
    if one.proposer == "plain" or one.reply is None:
        return "–"
    if one.first_difference is None:
        return "identical"
    return f"{'rounding' if one.verdict == 'tie' else 'differs'} at token {one.first_difference + 1}"


def _fastest(result: DraftersCompared) -> str:
    best, plain = result.fastest, result.results[0].tok_s
    if best is None:
        return "The replies are too short to measure their speed."
    if best.proposer == "plain":
        return "Plain decoding is the fastest on this prompt."
    name = f"{best.kind} ({best.drafter})" if best.proposer == "drafter" else "Lookup"
    ratio = f": {best.tok_s / plain:.2f}× the plain speed" if best.tok_s and plain else ""
    return f"{name} is the fastest on this prompt{ratio}."


def as_json(result: DraftersCompared) -> dict[str, Any]:
    """Return the object that `--json` prints; scripts depend on its shape."""
    return {
        "results": [_row(one) for one in result.results],
        "fastest": result.results.index(result.fastest) if result.fastest else None,
    }


def _row(one: DrafterResult) -> dict[str, Any]:
    row: dict[str, Any] = {"proposer": one.proposer, "kind": one.kind, "drafter": one.drafter, "bytes": one.bytes}
    if one.reply is None:
        return row | {"problem": str(one.problem)}
    identical = one.first_difference is None
    row |= {"tok_s": one.tok_s, "tokens_per_round": one.reply.stats.tokens_per_round, "identical": identical}
    row |= {} if identical else {"first_difference": one.first_difference, "margin": one.margin, "verdict": one.verdict}
    return row | {"reply": generate.as_json(one.reply)}
