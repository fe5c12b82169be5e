"""`slipstream compare`: the same prompt plainly and with DFlash, one after the other."""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from mlx_engine.errors import UserError
from mlx_engine.events import Commit, CompareResult, CompareRun, Event, Failed, Finished
from mlx_engine.requests import CompareRequest
from mlx_engine.terminal import arguments, interrupt, reply_printer
from mlx_engine.terminal.pair import MakeEngine, open_pair


def run(given: argparse.Namespace, make_engine: MakeEngine) -> int:
    """Compare on one prompt; 130 when it was interrupted."""
    request = arguments.request(given, "dflash")
    engine, _ = open_pair(make_engine, given, calibrated=True)
    with interrupt.stops_reply() as cancel:
        result = show(engine.compare(CompareRequest(request, given.repeats), cancel), None if given.json else sys.stdout)
    if result is None:
        print("Stopped; there is nothing to compare.", file=sys.stderr)
        return 130
    print(json.dumps(as_json(result), ensure_ascii=False) if given.json else table(result))
    return 0


def show(events: Iterator[Event], out: TextIO | None) -> CompareResult | None:
    """Write both replies to `out` as they come; the result, or None when the comparison was stopped.

    Raises:
        UserError: the engine could not answer.
    """
    transcript = reply_printer.Transcript(None)
    for event in events:
        if isinstance(event, CompareRun):
            if out is not None:
                name = "DFlash" if event.mode == "dflash" else "Plain"
                print(f"── {name} ({event.index + 1} of {event.total})", file=out, flush=True)
            transcript = reply_printer.Transcript(out)
        elif isinstance(event, Commit):
            transcript.add(event)
        elif isinstance(event, Finished):
            transcript.close()
            if out is not None:
                print(file=out)
        elif isinstance(event, Failed):
            transcript.close()
            raise UserError.of(event)
        elif isinstance(event, CompareResult):
            return event
    return None


def table(result: CompareResult) -> str:
    """Rates, ratio and verdict for a person."""
    lines = [f"{'':8}{'tok/s':>8}{'tokens a round':>17}{'first token':>14}{'tokens':>9}"]
    for name, side in (("plain", result.plain), ("DFlash", result.dflash)):
        stats = side.stats
        rate = "–" if stats.decode_tok_s is None else f"{stats.decode_tok_s:.0f}"
        per_round = "–" if stats.tokens_per_round is None else f"{stats.tokens_per_round:.1f}"
        first = "–" if stats.ttft_s is None else f"{stats.ttft_s:.2f} s"
        lines.append(f"{name:8}{rate:>8}{per_round:>17}{first:>14}{stats.tokens:>9}")
    return "\n".join([*lines, "", speed(result), verdict(result)])


def speed(result: CompareResult) -> str:
    """The ratio in words."""
    if result.ratio is None:
        return "The reply is too short to time."
    if result.ratio < 1:
        return f"DFlash is slower on this prompt: {result.ratio:.2f} × plain's rate."
    return f"DFlash decodes {result.ratio:.2f} × as fast as plain on this prompt."


def verdict(result: CompareResult) -> str:
    """Whether the texts are the same, in words."""
    if result.first_difference is None:
        return f"The text is identical: {len(result.plain.tokens)} of {len(result.plain.tokens)} tokens."
    where = f"The texts part at token {result.first_difference + 1}."
    if result.margin is None:
        return where
    gap = f"Asked afresh, the target scores the two tokens there {result.margin:.2g} apart"
    if result.verdict == "tie":
        return f"{where} {gap}: a tie, within the rounding of this machine's arithmetic."
    return f"{where} {gap}, which rounding does not explain. Please report this."


def as_json(result: CompareResult) -> dict[str, Any]:
    """The object that `--json` prints. Where the texts differ it also tells the margin and the verdict."""
    difference: dict[str, Any] = {}
    if result.first_difference is not None:
        difference = {"margin": result.margin, "verdict": result.verdict}
    return {
        "plain": reply_printer.as_json(result.plain),
        "dflash": reply_printer.as_json(result.dflash),
        "ratio": result.ratio,
        "identical": result.first_difference is None,
        "first_difference": result.first_difference,
        **difference,
    }
