"""`slipstream compare`: answer the same prompt with and without DFlash."""

import argparse
from collections.abc import Iterator
from typing import Any

from mlx_engine.cli import arguments, generate
from mlx_engine.cli.console import note, print_json, say
from mlx_engine.cli.session import cancellable, open_pair
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, CompareResult, CompareRun, Event, Finished
from mlx_engine.contract.requests import CompareRequest

STOPPED = "Stopped. There is nothing to compare."


def run(given: argparse.Namespace, client: EngineClient) -> int:
    request = arguments.request(given, "dflash")
    open_pair(client, given, calibrated=True)
    result = show(cancellable(client, CompareRequest(request, given.repeats)), printing=not given.json)
    if result is None:
        note(STOPPED)
        return 130
    print_json(as_json(result)) if given.json else say(*table(result))
    return 0


def show(events: Iterator[Event], printing: bool) -> CompareResult | None:
    """Return the result, or None if stopped. If `printing`, print the replies."""
    printed = generate.PrintedReply(printing=False)
    try:
        for event in events:
            if isinstance(event, CompareRun):
                if printing:
                    say(f"── {'DFlash' if event.mode == 'dflash' else 'Plain'} ({event.index + 1} of {event.total})")
                printed = generate.PrintedReply(printing)
            elif isinstance(event, Commit):
                printed.add(event)
            elif isinstance(event, Finished):
                printed.close()
                if printing:
                    say()
            elif isinstance(event, CompareResult):
                return event
    except (KeyboardInterrupt, UserError):
        printed.close()
        raise
    return None


def table(result: CompareResult) -> list[str]:
    lines = [f"{'':8}{'tok/s':>8}{'tokens/round':>15}{'first token':>14}{'tokens':>9}"]
    for name, side in (("plain", result.plain), ("DFlash", result.dflash)):
        stats = side.stats
        rate = "–" if stats.decode_tok_s is None else f"{stats.decode_tok_s:.0f}"
        per_round = "–" if stats.tokens_per_round is None else f"{stats.tokens_per_round:.1f}"
        first = "–" if stats.ttft_s is None else f"{stats.ttft_s:.2f} s"
        lines.append(f"{name:8}{rate:>8}{per_round:>15}{first:>14}{stats.tokens:>9}")
    return [*lines, "", speed(result), verdict(result)]


def speed(result: CompareResult) -> str:
    if result.ratio is None:
        return "The reply is too short to measure its speed."
    if result.ratio < 1:
        return f"DFlash is slower on this prompt: {result.ratio:.2f}× the tokens per second of plain decoding."
    return f"DFlash generates {result.ratio:.2f}× the tokens per second of plain decoding on this prompt."


def verdict(result: CompareResult) -> str:
    """Return a sentence on whether the replies are identical."""
    if result.first_difference is None:
        exactly = ", exact mode" if result.plain.stats.exact else ""
        return f"The replies are identical ({len(result.plain.tokens) or result.plain.stats.tokens} tokens{exactly})."
    unit = "character" if result.in_characters else "token"
    where = f"The replies differ starting at {unit} {result.first_difference + 1}."
    if result.margin is None:
        return where
    gap = f"The logits of the two tokens differ by {result.margin:.2g}"
    if result.verdict == "tie":
        return f"{where} {gap}, which is within rounding error."
    return f"{where} {gap}, which is more than rounding error. Please report this problem."


def as_json(result: CompareResult) -> dict[str, Any]:
    """Return the object that `--json` prints; scripts depend on its shape."""
    identical = result.first_difference is None
    return {
        "plain": generate.as_json(result.plain),
        "dflash": generate.as_json(result.dflash),
        "ratio": result.ratio,
        "identical": identical,
        "first_difference": result.first_difference,
        **({} if identical else {"margin": result.margin, "verdict": result.verdict}),
    }
