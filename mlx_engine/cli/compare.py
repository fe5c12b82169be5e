"""`slipstream compare`: plain decoding, DFlash, and drafters on the same prompts."""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from mlx_engine.cli import arguments, generate
from mlx_engine.cli.console import note, print_json, progress, say
from mlx_engine.cli.prompt_files import read_prompts
from mlx_engine.cli.session import cancellable, chosen_drafters, folders, open_pair
from mlx_engine.cli.tune import saved_prompts
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import (
    Commit,
    CompareResult,
    ContestantEvent,
    ContestantResult,
    Event,
    Failed,
    Finished,
    LoadProgress,
    NextReply,
    WorkProgress,
)
from mlx_engine.contract.requests import BOTH_MODES, Compare, Contestant, GenerationRequest, Message, with_drafters

STOPPED = "Stopped. There is nothing to compare."


def run(given: argparse.Namespace, client: EngineClient) -> int:
    requests = _requests(given)
    if given.drafters:
        target, _ = folders(given)
        contestants = with_drafters(target, chosen_drafters(given), given.drafter_bits, given.tuned)
    else:
        open_pair(client, given, calibrated=True)
        contestants = BOTH_MODES
    request = Compare(requests, contestants, given.repeats, together=given.together)
    result = show(cancellable(client, request), printing=not given.json and len(requests) == 1)
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


def show(events: Iterator[Event], printing: bool) -> CompareResult | None:
    """Return the result, or None if stopped. If `printing`, print the replies."""
    printed = _PrintedReplies()
    try:
        for event in events:
            match event:
                case LoadProgress(step=step) | WorkProgress(step=step):
                    progress(f"{step}…")
                case NextReply(contestant, index, total):
                    name = _name(contestant.proposer, event.kind if contestant.pair else "")
                    progress("" if printing else f"{name}: reply {index + 1} of {total}…")
                    if printing:
                        printed.begin(contestant, f"── {name} ({index + 1} of {total})")
                case ContestantEvent(contestant, part) if printing:
                    printed.add(contestant, part)
                case CompareResult():
                    return event
    finally:
        progress("")
        printed.close()
    return None


class _PrintedReplies:
    """Replies printed one after the other, even if they arrive at the same time."""

    def __init__(self) -> None:
        self._waiting: dict[Contestant, list[str | Event]] = {}  # a heading and events; those of the first one are printed
        self._printed = generate.PrintedReply()

    def begin(self, contestant: Contestant, heading: str) -> None:
        if contestant in self._waiting:
            self.close()
        self.add(contestant, heading)

    def add(self, contestant: Contestant, part: str | Event) -> None:
        self._waiting.setdefault(contestant, []).append(part)
        while self._waiting and self._print(first := next(iter(self._waiting))):
            del self._waiting[first]
            say()

    def close(self) -> None:
        """Print what has arrived of unfinished replies."""
        for contestant in self._waiting:
            self._print(contestant)
            self._printed.close()
        self._waiting.clear()

    def _print(self, contestant: Contestant) -> bool:
        """Print what has arrived of a reply, and return whether it has ended."""
        parts, self._waiting[contestant] = self._waiting[contestant], []
        for part in parts:
            if isinstance(part, str):
                say(part)
            elif isinstance(part, Commit):
                self._printed.add(part)
        if not any(isinstance(part, Finished | Failed) for part in parts):
            return False
        self._printed.close()
        self._printed = generate.PrintedReply()
        return True


def _name(proposer: str, kind: str = "") -> str:
    return kind or "DFlash" if proposer == "drafter" else proposer


def _title(one: ContestantResult) -> str:
    """Return a drafter's kind, if it was loaded for the comparison."""
    return _name(one.proposer, one.kind if one.contestant.pair else "")


def table(result: CompareResult) -> list[str]:
    """Return the lines of the table, and what they show."""
    drafters = any(one.contestant.pair for one in result.results)
    rows = [["", "tok/s", "tokens/round", *(("memory", "text", "drafter") if drafters else ("first token", "tokens"))]]
    left_out = {at for at, _ in result.left_out}
    answered = [at + 1 for at in range(len(result.results[0].replies) + len(left_out)) if at not in left_out]
    for one in result.results:
        rate = "–" if one.tok_s is None else f"{one.tok_s:.0f}"
        per_round = "–" if one.tokens_per_round is None else f"{one.tokens_per_round:.1f}"
        rows.append([_title(one), rate, per_round])
        if drafters:
            rows[-1] += [f"{one.bytes / 1e9:,.2f} GB" if one.bytes else "–", _text(one, answered), one.drafter]
        else:
            stats = one.replies[0].stats
            rows[-1] += ["–" if stats.ttft_s is None else f"{stats.ttft_s:.2f} s", str(stats.tokens)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = "<>>><<" if drafters else "<>>>>"
    lines = ["  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)) for row in rows]
    notes = [f"{one.drafter or _title(one)}: {one.problem}" for one in result.results if one.problem]
    if result.left_out:
        notes.append(f"Prompts left out: {len(result.left_out)}. {result.left_out[0][1]}")
    speed = _why_no_speed(result) if result.together else _fastest(result) if drafters else _speed(result)
    found = [speed, *(() if drafters else (_verdict(result),))]
    return [*map(str.rstrip, lines), "", *notes, *found]


def _text(one: ContestantResult, answered: list[int]) -> str:
    """Return a comparison as text, by the numbers of the prompts in `answered`."""
    if one.proposer == "plain" or not one.replies:
        return "–"
    several = f"identical {one.identical} of {len(one.replies)}" if len(one.replies) > 1 else ""
    if one.difference is None:
        return several or "identical"
    where = f"{'rounding' if one.difference.tie else 'differs'} at token {one.difference.at + 1}"
    return f"{several}, {where} of prompt {answered[one.difference.prompt]}" if several else where


def _why_no_speed(result: CompareResult) -> str:
    """Return a sentence on replies that ran at the same time."""
    if result.has_shared_passes:
        return "The replies were computed together, so their speeds can't be compared."
    return "The replies took turns instead of being computed together. Their speeds can't be compared."


def _fastest(result: CompareResult) -> str:
    best, count = result.fastest, len(result.results[0].replies)
    prompts = "this prompt" if count == 1 else f"these {count} prompts"
    if best is None:
        return "The replies are too short to measure their speed."
    if best.proposer == "plain":
        return f"Plain decoding is the fastest on {prompts}."
    name = f"{best.kind} ({best.drafter})" if best.proposer == "drafter" else "Lookup"
    ratio = result.ratio(best)
    return f"{name} is the fastest on {prompts}" + (f": {ratio:.2f}× the tokens per second of plain decoding." if ratio else ".")


def _speed(result: CompareResult) -> str:
    ratio = result.ratio(result.results[1])
    if ratio is None:
        return "The reply is too short to measure its speed."
    if ratio < 1:
        return f"DFlash is slower on this prompt: {ratio:.2f}× the tokens per second of plain decoding."
    return f"DFlash generates {ratio:.2f}× the tokens per second of plain decoding on this prompt."


def _verdict(result: CompareResult) -> str:
    """Return a sentence on whether the replies are identical."""
    plain, found = result.results[0].replies[0], result.results[1].difference
    if found is None:
        exactly = ", exact mode" if plain.stats.exact else ""
        return f"The replies are identical ({len(plain.tokens) or plain.stats.tokens} tokens{exactly})."
    where = f"The replies differ starting at {'character' if result.in_characters else 'token'} {found.at + 1}."
    if found.margin is None:
        return where
    gap = f"The logits of the two tokens differ by {found.margin:.2g}"
    if found.tie:
        return f"{where} {gap}, which is within rounding error."
    return f"{where} {gap}, which is more than rounding error. Please report this problem."


def as_json(result: CompareResult) -> dict[str, Any]:
    """Return the object that `--json` prints; scripts depend on its shape."""
    together = {"together": True} if result.together else {}
    if not any(one.contestant.pair for one in result.results):
        plain, drafted = result.results
        found = {"identical": drafted.difference is None, "first_difference": None} | _difference(drafted)
        replies = {name: generate.as_json(one.replies[0]) for name, one in (("plain", plain), ("dflash", drafted))}
        return replies | {"ratio": result.ratio(drafted)} | found | together
    return {
        "results": [_row(one) for one in result.results],
        "fastest": result.results.index(result.fastest) if result.fastest else None,
        **together,
        **({"left_out": [{"prompt": at, "problem": str(why)} for at, why in result.left_out]} if result.left_out else {}),
    }


def _difference(one: ContestantResult) -> dict[str, Any]:
    found = one.difference
    return {} if found is None else {"first_difference": found.at, "margin": found.margin, "verdict": one.verdict}


def _row(one: ContestantResult) -> dict[str, Any]:
    row: dict[str, Any] = {"proposer": one.proposer, "kind": one.kind, "drafter": one.drafter, "bytes": one.bytes}
    if not one.replies:
        return row | {"problem": str(one.problem)}
    identical = one.difference is None
    row |= {"tok_s": one.tok_s, "tokens_per_round": one.tokens_per_round, "identical": identical} | _difference(one)
    replies = [generate.as_json(reply) for reply in one.replies]
    if len(replies) == 1:
        return row | {"reply": replies[0]}
    row |= {"different_in": one.difference.prompt} if one.difference else {}
    return row | {"identical_replies": one.identical, "replies": replies}
