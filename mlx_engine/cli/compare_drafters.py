"""`slipstream compare --drafters`: answer prompts with every drafter of a target."""

import argparse
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlx_engine.cli import arguments, generate
from mlx_engine.cli.compare import STOPPED
from mlx_engine.cli.console import note, print_json, progress, say
from mlx_engine.cli.session import cancellable, folders
from mlx_engine.cli.tune import read_prompts, saved_prompts
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, DrafterResult, DrafterRun, DraftersCompared, Finished, LoadProgress, TuningProgress
from mlx_engine.contract.requests import CompareDrafters, GenerationRequest, Message
from mlx_engine.drafters.registry import parse
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.library.installed import installed_drafters
from mlx_engine.models.library.library import model_name


def run(given: argparse.Namespace, client: EngineClient) -> int:
    requests = _requests(given)
    target, drafter = folders(given)
    drafters = chosen(given.drafters, installed_drafters(target, drafter))
    asked = CompareDrafters(requests, target, drafters, given.drafter_bits, given.repeats, tuned=given.tuned)
    result = _show(client, asked, printing=not given.json and len(requests) == 1)
    if result is None:
        note(STOPPED)
        return 130
    print_json(as_json(result)) if given.json else say(*table(result))
    return 0


def _requests(given: argparse.Namespace) -> tuple[GenerationRequest, ...]:
    """Return a request per prompt.

    Raises:
        UserError: the prompts can't be read, or there are none.
    """
    if not given.prompts and not given.chats:
        return (arguments.request(given, "dflash"),)
    prompts = [*(read_prompts(given.prompts) if given.prompts else ()), *(saved_prompts() if given.chats else ())]
    if not prompts:
        raise UserError("no_prompts_to_compare", "No prompts were found to compare the drafters with.")
    prompts = [prompt[:-1] if prompt[-1].role == "assistant" else prompt for prompt in prompts]  # without given replies
    system = (Message("system", arguments.check_text(given.system)),) if given.system else ()
    common = arguments.options(given, "dflash")
    return tuple(
        replace(common, messages=prompt if prompt[0].role == "system" else (*system, *prompt))
        for prompt in list(dict.fromkeys(prompts))[-given.most :]
    )


def chosen(names: str, installed: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the drafters that the option `--drafters` names.

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


def _show(client: EngineClient, request: CompareDrafters, printing: bool) -> DraftersCompared | None:
    """Return the result, or None if stopped. If `printing`, print the replies."""
    printed = generate.PrintedReply(printing=False)
    try:
        for event in cancellable(client, request):
            match event:
                case LoadProgress(step=step) | TuningProgress(step=step):
                    progress(f"{step}…")
                case DrafterRun(proposer, kind, _, index, total):
                    progress("" if printing else f"{_title(proposer, kind)}: reply {index + 1} of {total}…")
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
    left_out = {at for at, _ in result.left_out}
    answered = [at + 1 for at in range(len(result.results[0].replies) + len(left_out)) if at not in left_out]
    for one in result.results:
        rate = "–" if one.tok_s is None else f"{one.tok_s:.0f}"
        per_round = "–" if one.tokens_per_round is None else f"{one.tokens_per_round:.1f}"
        memory = f"{one.bytes / 1e9:,.2f} GB" if one.bytes else "–"
        rows.append((_title(one.proposer, one.kind), rate, per_round, memory, _text(one, answered), one.drafter))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, "<>>><<", widths, strict=True)) for row in rows]
    notes = [f"{one.drafter or _title(one.proposer, one.kind)}: {one.problem}" for one in result.results if one.problem]
    if result.left_out:
        notes.append(f"Prompts left out: {len(result.left_out)}. {result.left_out[0][1]}")
    return [*map(str.rstrip, lines), "", *notes, _fastest(result)]


def _text(one: DrafterResult, answered: list[int]) -> str:
    """Return a comparison as text, by the numbers of the prompts in `answered`."""
    if one.proposer == "plain" or not one.replies:
        return "–"
    several = f"identical {one.identical} of {len(one.replies)}" if len(one.replies) > 1 else ""
    if one.first_difference is None:
        return several or "identical"
    where = f"{'rounding' if one.verdict == 'tie' else 'differs'} at token {one.first_difference + 1}"
    return f"{several}, {where} of prompt {answered[one.different_in or 0]}" if several else where


def _fastest(result: DraftersCompared) -> str:
    best, plain = result.fastest, result.results[0]
    count = len(plain.replies)
    prompts = "this prompt" if count == 1 else f"these {count} prompts"
    if best is None:
        return "The replies are too short to measure their speed."
    if best.proposer == "plain":
        return f"Plain decoding is the fastest on {prompts}."
    name = f"{best.kind} ({best.drafter})" if best.proposer == "drafter" else "Lookup"
    ratio = f": {best.tok_s / plain.tok_s:.2f}× the tokens per second of plain decoding" if best.tok_s and plain.tok_s else ""
    return f"{name} is the fastest on {prompts}{ratio}."


def as_json(result: DraftersCompared) -> dict[str, Any]:
    """Return the object that `--json` prints; scripts depend on its shape."""
    return {
        "results": [_row(one) for one in result.results],
        "fastest": result.results.index(result.fastest) if result.fastest else None,
        **({"left_out": [{"prompt": at, "problem": str(why)} for at, why in result.left_out]} if result.left_out else {}),
    }


def _row(one: DrafterResult) -> dict[str, Any]:
    row: dict[str, Any] = {"proposer": one.proposer, "kind": one.kind, "drafter": one.drafter, "bytes": one.bytes}
    if not one.replies:
        return row | {"problem": str(one.problem)}
    identical = one.first_difference is None
    row |= {"tok_s": one.tok_s, "tokens_per_round": one.tokens_per_round, "identical": identical}
    row |= {} if identical else {"first_difference": one.first_difference, "margin": one.margin, "verdict": one.verdict}
    replies = [generate.as_json(reply) for reply in one.replies]
    if len(replies) == 1:
        return row | {"reply": replies[0]}
    row |= {} if identical else {"different_in": one.different_in}
    return row | {"identical_replies": one.identical, "replies": replies}
